"""What a new server line has from those beside it (haproxy/siblings), and how what runs differs from the file (haproxy/drift)."""

from .mutant import Mutant, room

SIBLINGS = "haproxy/siblings.c"
DRIFT = "haproxy/drift.c"

room("siblings", ("test_siblings",), (
    Mutant("two servers have one id", SIBLINGS, '"id",\n    "guid",', '"guid",'),
    Mutant("two servers have one cookie", SIBLINGS, '"guid",  "cookie",', '"guid",'),
    Mutant("a new server follows another one", SIBLINGS, '"track", "no-backup",', '"no-backup",'),
    Mutant("what a keyword takes is one", SIBLINGS, "size_t next = at + 1 + (k != NULL && cfg_keyword_takes_argument(k) && at + 1 < l->count);", "size_t next = at + 1;"),
    Mutant("quotes are lost", SIBLINGS, "buf_addn(out, l->words[at].raw, l->words[at].raw_len);", "buf_add(out, l->words[at].text);"),
    Mutant("other values are the same", SIBLINGS, "same && n < end - at; n++", "same && n < 1; n++"),
    Mutant("what one line has is in common", SIBLINGS, "        if (has && both)\n            siblings_add_raw", "        if (has)\n            siblings_add_raw"),
    Mutant("what one object has is in common", SIBLINGS, "        if (has && both)\n            json_set", "        if (has)\n            json_set"),
    Mutant("what a bare line lacks is in common", SIBLINGS, "return b == NULL ? NULL : shared_text(a);", "return shared_text(a);"),
    Mutant("what all have is beyond it", SIBLINGS, "else if (!has && !both && text_list_next(&names))\n            buf_add(&names.text, cfg_word", "else if (!has && text_list_next(&names))\n            buf_add(&names.text, cfg_word"),
    Mutant("an object has nothing beyond it", SIBLINGS, "else if (!has && !both && text_list_next(&names))\n            buf_add(&names.text, yyjson", "else if (false && text_list_next(&names))\n            buf_add(&names.text, yyjson"),
    Mutant("values are said", SIBLINGS, "            buf_add(&names.text, cfg_word(&x, i));", "            siblings_add_raw(&names.text, &x, i, next);"),
))
room("drift", ("test_drift",), (
    Mutant("a server that is in maint still is proven", DRIFT, "if (set && !line->maintenance && is->admin == RUNTIME_MAINT)", "if (false)"),
    Mutant("what an update does not set fails it", DRIFT, "bool set = (fields & SERVER_MAINTENANCE) != 0;", "bool set = true;"),
    Mutant("who has no address is at its own", DRIFT, "if (is->unresolved && line->address != NULL && str_ip_family(line->address) != 0)", "if (false)"),
    Mutant("a name that does not resolve has an address", DRIFT, "if (is->unresolved && line->address != NULL && str_ip_family(line->address) != 0)", "if (is->unresolved)"),
    Mutant("who has no address is out of maintenance", DRIFT, "is->admin != RUNTIME_MAINT && !is->unresolved)", "is->admin != RUNTIME_MAINT)"),
    Mutant("what an operator moved is moved back", DRIFT, "manages(arg, line) ? place_problem(line, is) : NULL;\n        const struct change c", "true ? place_problem(line, is) : NULL;\n        const struct change c"),
    Mutant("a line without a port has one", DRIFT, "if (moved != NULL && line->port != 0)", "if (moved != NULL)"),
    Mutant("who is where it should be is moved", DRIFT, "if (moved != NULL && line->port != 0)", "if (line->port != 0)"),
    Mutant("what cannot be read is moved", DRIFT, "for (size_t i = 0, at = 0; r->readable && i <", "for (size_t i = 0, at = 0; i <"),
))

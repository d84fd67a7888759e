"""haproxy.cfg as a text: printed, edited, sent (haproxy/cfg/edit, haproxy/cfg/source and what they are made of)."""

from .mutant import Mutant, Room

EDIT = "haproxy/cfg/edit.c"
FILE = "haproxy/cfg/file.c"
SOURCE = "haproxy/cfg/source.c"
MASK = "haproxy/cfg/mask.c"
LINES = "haproxy/cfg/line_difference.c"

PRINTING = (
    Mutant("a CR is part of the line", FILE, "bool carriage_return = len > 0 && begin[len - 1] == '\\r';", "bool carriage_return = false;"),
    Mutant("an inserted line is glued to the last one", EDIT, "p->open = p->end == NULL && end_len == 0;", "p->open = false;"),
    Mutant("a removed line leaves its end", EDIT, "    else if (own->kind == CFG_EDIT_REPLACE)\n", "    else\n"),
    Mutant("a line that was inserted is a line of before", EDIT, "            *ret_inserted = true;\n", ""),
    Mutant("what was taken out still counts", EDIT, "back->shift += (long)inserted - (long)removed;", "back->shift += (long)inserted;"),
    Mutant("edits are in the order that they came in", EDIT, "at > 0 && e->list[at - 1].line > line", "false"),
    Mutant("inserted lines are turned round", EDIT, "e->list[at - 1].line > line", "e->list[at - 1].line >= line"),
    Mutant("a CR within a line is a blank", "haproxy/cfg/words.c", "        if (c == '\\r') /*", "        if (false) /*"),
)

SENDING = (
    Mutant("a late global says what holds for what follows", SOURCE, "            if (is_for_what_follows(cfg_word(&words, 0)))", "            if (false)"),
    Mutant("a second global is late", SOURCE, "            other = other != NULL ? other : s;\n            continue;\n", "            other = other != NULL ? other : s;\n            continue;\n        }\n        if (other == NULL) {\n            other = s;\n"),
    Mutant("a byte order mark is a word", SOURCE, "    if (f->len >= 3 && memcmp(", "    if (false && memcmp("),
    Mutant("several defaults are sent as they are", SOURCE, "return count_defaults(f) <= 1 && f->len > 0", "return f->len > 0"),
    Mutant("a CR is sent", SOURCE, " && memchr(f->text, '\\r', f->len) == NULL;", ";"),
    Mutant("what has no newline at its end is sent as it is", SOURCE, " && f->text[f->len - 1] == '\\n' &&", " &&"),
    Mutant("64 words are too many", FILE, "words->count > CFGFILE_WORDS_MAX", "words->count >= CFGFILE_WORDS_MAX"),
    Mutant("words behind a name are no matter", SOURCE, "if (words.count > plain && !from)", "if (false)"),
    Mutant("a from is more than a header takes", SOURCE, "if (words.count > plain && !from)", "if (words.count > plain)"),
    Mutant("an empty name is one", SOURCE, "if (words.count == plain && plain > 1 && cfg_word", "if (false && cfg_word"),
    Mutant("any number of words", SOURCE, "if (f->wordy != 0)", "if (false)"),
    Mutant("any bytes", SOURCE, "        if (good < line.len)\n", "        if (false)\n"),
    Mutant("a CR anywhere", SOURCE, "if (!as_it_is && memchr(line.text, '\\r', line.len) != NULL)", "if (false)"),
    Mutant("a NUL is sent", SOURCE, "if (memchr(line.text, '\\0', line.len) != NULL)", "if (false)"),
    Mutant("conditionals are sent", SOURCE, "    if (problem != NULL)\n", "    if (false)\n"),
    Mutant("a line without a section is sent", SOURCE, "    if (lost != NULL)\n", "    if (false)\n"),
    Mutant("a directive needs a section", SOURCE, "if (!cfg_file_is_directive(line))\n            return line;", "if (true)\n            return line;"),
    Mutant("a section may be lost", SOURCE, "if (is_again(list[i - 1], list[i]))", "if (false)"),
    Mutant("sections of other kinds are one", SOURCE, "return str_eq(first->kind, s->kind) && ", "return "),
    Mutant("two global are refused", SOURCE, '{"global", "traces"}', '{"traces"}'),
    Mutant("what inherits nothing is sent", SOURCE, "if (count > 0 && cfg_file_is_proxy", "if (false && cfg_file_is_proxy"),
    Mutant("any name behind from", SOURCE, "if (count > 1 && s->defaults != NULL && ", "if (false && "),
    Mutant("names are asked of a single defaults", SOURCE, "if (count > 1 && s->defaults != NULL && ", "if (s->defaults != NULL && "),
    Mutant("a single defaults gets a name", SOURCE, "count_defaults(f) > 1;", "count_defaults(f) > 0;"),
    Mutant("a name is given twice", FILE, "while (used[number]);", "while (false);"),
    Mutant("names that are only referred to are free", FILE, "{f->sections[i].name, f->sections[i].from}", "{f->sections[i].name}"),
    Mutant("proxies take from the first", FILE, "        last = str_eq(s->kind, \"defaults\") ? s : last;", "        last = last == NULL && str_eq(s->kind, \"defaults\") ? s : last;"),
    Mutant("from is never a name", FILE, "!(words->count == 3 && str_eq", "!(str_eq"),
    Mutant("a backslash swallows the from", SOURCE, " || w->raw[w->raw_len - 1] == '\\\\'", ""),
    Mutant("a quote without an end is sent", SOURCE, "if (f->broken != 0)", "if (false)"),
    Mutant("the last quote without an end is named", FILE, "words->broken && f->broken == 0", "words->broken"),
    Mutant("a comment swallows the from", SOURCE, "(size_t)(w->raw - s->line->text) + w->raw_len;", "s->line->len;"),
    Mutant("CRLF is sent", SOURCE, 'cfg_file_print(f, &edits, "\\n", out);', "cfg_file_print(f, &edits, NULL, out);"),
)

DIFFERENCE = "haproxy/cfg/difference.c"
ENTRIES = "haproxy/cfg/entries.c"
WORDS = "haproxy/cfg/server_words.c"

MEANING = (
    Mutant("a number moves to another keyword", ENTRIES, "if (count > 0 && !cfg_is_among(", "if (false && !cfg_is_among("),
    Mutant("default-server is for the servers before it, too", ENTRIES, "cfg_server_words_add(&given, words, 1);", "break;"),
    Mutant("a header may hold any words", ENTRIES, "return words->count > 1 + ", "return false && words->count > 1 + "),
    Mutant("within quotes a blank is a blank", ENTRIES, "c == '\"' || c == '\\'' ||", "c == '\\'' ||"),
    Mutant("a backslash is a letter", ENTRIES, "|| c == '\\\\';", ";"),
    Mutant("words may begin alike", ENTRIES, "        if ((x < x_end && !ends_word(*x)) ||", "        if ((x < x_end && false) ||"),
    Mutant("the lines of one are enough", ENTRIES, "return !more && !(y < y_end && *y != '#');", "return !more;"),
    Mutant("sections of one name are the first", ENTRIES, "order == 0 && n == 1 && m == 1 &&", "order == 0 &&"),
    Mutant("a section less a line is the same", ENTRIES, "if (a->line_count != b->line_count || ", "if (a->line_count > b->line_count || "),
    Mutant("what it inherits is no matter", ENTRIES, " || !str_eq(inherits_from(a), inherits_from(b)) ||", " ||"),
    Mutant("from is not the place", ENTRIES, "s->from[0] == '\\0' && s->defaults != NULL ?", "false ?"),
    Mutant("peers are proxies", DIFFERENCE, 'bool proxy = str_eq(first->in->kind, "backend") ||', 'bool proxy = str_eq(first->in->kind, "backend") || str_eq(first->in->kind, "peers") ||'),
    Mutant("the first of two sections is all", DIFFERENCE, "proxy && s->was.count == 1 && s->is.count == 1", "proxy"),
    Mutant("a section is compared for each kind of line", DIFFERENCE, "        s->done = true;\n", ""),
    Mutant("what is said later does not count", WORDS, "        *old = item;\n", ""),
    Mutant("a keyword said twice counts as the last", WORDS, "if (!is_overriding(item.word) && ", "if (false && "),
    Mutant("addr and port have no order", WORDS, "(str_eq(old->word, \"addr\") && str_eq(item.word, \"port\")) ||", "false ||"),
    Mutant("port and addr have no order", WORDS, "(str_eq(old->word, \"port\") && str_eq(item.word, \"addr\")))", "false)"),
    Mutant("what is unknown is a word alone", WORDS, "if (k == NULL || k->form > RAWCFG_TIME)\n            return false;",
           "if (k == NULL || k->form > RAWCFG_TIME)\n            continue;"),
    Mutant("sources are sorted", WORDS, "k->form > RAWCFG_TIME", "k->form > RAWCFG_CALL"),
    Mutant("keywords have an order", WORDS, "    if (known && count > 1)\n", "    if (false)\n"),
    Mutant("order is no difference", DIFFERENCE, "if (moved_to[i] != 0 && moved_to[i] < last) {", "if (false) {"),
    Mutant("a server that is gone is not seen", DIFFERENCE, "compare_lone_server(d, &a[i++], false, kind, dynamic);", "i++;"),
    Mutant("the lines of a new section are said, too", DIFFERENCE, "if (!same && !s.done)", "if (!same)"),
    Mutant("sections are one", DIFFERENCE, "if (cfg_entry_is_header(first) || !piece_eq(section, s.name))", "if (s.name.len == 0)"),
    Mutant("any number of default-server lines", ENTRIES, "return count <= CFG_SERVER_WORDS_MAX;", "return count <= 10 * CFG_SERVER_WORDS_MAX;"),
)

COST = (
    Mutant("a name is an address", DIFFERENCE, "if (str_ip_family(host + brackets) == 0)", "if (false)"),
    Mutant("a port may be missing", DIFFERENCE, "if (colon == NULL || str_parse_uint(", "if (colon == NULL)\n        return true;\n    if (str_parse_uint("),
    Mutant("a relative port is one", DIFFERENCE, "str_parse_uint(colon + 1,", "str_parse_uint(colon + 1 + (colon[1] == '+'),"),
    Mutant("weights under any algorithm", DIFFERENCE, "return cfg_is_among(cfg_word(&words, 1), dynamic, array_len(dynamic));", "return true;"),
    Mutant("the algorithm of defaults is none", DIFFERENCE, "for (int i = 0; s != NULL && i < DEFAULTS_CHAIN_MAX; i++, s = s->defaults) {\n        for (size_t k = s->line_count; k-- > 0;)",
           "for (int i = 0; s != NULL && i < DEFAULTS_CHAIN_MAX; i++, s = NULL) {\n        for (size_t k = s->line_count; k-- > 0;)"),
    Mutant("a tracking server has a state", DIFFERENCE, "!has_keyword(was, is, \"track\") &&", "true &&"),
    Mutant("defaults say nothing of servers", DIFFERENCE, "if (str_eq(cfg_word(&words, w), word))", "if (false)"),
    Mutant("any weight by the runtime", DIFFERENCE, "str_parse_uint(number, WEIGHT_MAX, &weight) != 0", "str_parse_uint(number, UINT64_MAX, &weight) != 0"),
    Mutant("new servers under any algorithm", DIFFERENCE, "str_eq(kind, \"server\") && dynamic &&", "str_eq(kind, \"server\") &&"),
    Mutant("a template that goes is a server", DIFFERENCE, "str_eq(kind, \"server\") && dynamic &&", "dynamic &&"),
    Mutant("a server that goes comes", DIFFERENCE, "comes ? CHANGE_ADD_SERVER : CHANGE_REMOVE_SERVER", "CHANGE_ADD_SERVER"),
    Mutant("maintenance is told the other way round", DIFFERENCE, "*ret = find_keyword(s->keywords, (struct piece){\"disabled\", 8}, &item);", "*ret = !find_keyword(s->keywords, (struct piece){\"disabled\", 8}, &item);"),
    Mutant("the weight of before is told", DIFFERENCE, "d->dynamic && take_weight(is, &d->to.weight)", "d->dynamic && take_weight(was, &d->to.weight)"),
    Mutant("a template is a server", DIFFERENCE, "if (s.effect == CFG_EFFECT_NONE || template)", "if (s.effect == CFG_EFFECT_NONE)"),
    Mutant("what has no words is none", DIFFERENCE, "if (s.effect == CFG_EFFECT_NONE || template)", "if (template)"),
    Mutant("the last keyword decides", DIFFERENCE, "runtime && d->effect != CFG_EFFECT_RELOAD ?", "runtime ?"),
    Mutant("the last difference decides", DIFFERENCE, "d->effect = most ? effect : d->effect;", "d->effect = effect;"),
    Mutant("any keyword by the runtime", DIFFERENCE, "return (piece_is(word, \"disabled\") || piece_is(word, \"enabled\")) &&", "return"),
    Mutant("any line by the runtime", DIFFERENCE, "difference_add(d, s, CFG_EFFECT_RELOAD,\n", "difference_add(d, s, CFG_EFFECT_RUNTIME,\n"),
    Mutant("arguments are said", DIFFERENCE, "struct piece word = piece_of(item.text, WITHIN);", "struct piece word = item;"),
)

SHOWING = (
    Mutant("the rest of such a line is shown", MASK, "if (l->broken || i >= from) {", "if (l->broken) {"),
    Mutant("a broken line is shown", MASK, "if (l->broken || i >= from) {", "if (i >= from) {"),
    Mutant("what follows a name is shown", MASK, "bool secret = m.values > 0 || ((m.more", "bool secret = ((m.more"),
    Mutant("one word is all that may follow it", MASK, "(m.more || m.compares) && !mask_ends", "m.compares && !mask_ends"),
    Mutant("what a sample is compared with is shown", MASK, "*m = (struct mask){.compares = true, .to_end = acl};", "*m = (struct mask){0};"),
    Mutant("an acl ends at a word", MASK, "    if (m->to_end)\n        return false;\n", ""),
    Mutant("a condition never ends", MASK, 'return str_eq(word, "}") ||', "return"),
    Mutant("a flag is a value", MASK, "size_t flag = m.compares && m.values == 0 ? mask_flag(l, i) : 0;", "size_t flag = 0;"),
    Mutant("a regular expression is the value", MASK, "array_len(two)) ? 2 : 1,", "array_len(two)) ? 1 : 1,"),
    Mutant("cookies are no secret", MASK, 'strcasestr(word, "cookie") != NULL || ', ""),
    Mutant("a server's name says what follows", MASK, "        (i == first + 1 && cfg_is_among(cfg_word(l, first), named, array_len(named))))\n", "        false)\n"),
    Mutant("a body is shown", MASK, "        *m = (struct mask){.values = 1};\n    if", "        *m = (struct mask){0};\n    if"),
    Mutant("a login in a URL is shown", MASK, "return login != NULL && at < host ? login : NULL;", "return NULL;"),
    Mutant("a hash is shown", MASK, "    if (mask_is_hash(word))\n        return 0;\n", ""),
    Mutant("what a word has behind a name is shown", MASK, "const char *end = mask_named_value(word), *others", "const char *end = NULL, *others"),
    Mutant("headers of a check are shown", MASK, 'strpbrk(word, "\\r\\n")', "NULL"),
    Mutant("a number is a secret", MASK, 'strspn(w->text, "0123456789") == strlen(w->text)', "false"),
    Mutant("parts of words are secrets", MASK, "        at = apart ? end : begin + 1;\n        if (!apart)\n            continue;\n", "        at = apart ? end : end;\n"),
    Mutant("a part of a secret is enough", MASK, "return (x < y) - (x > y);", "return (x > y) - (x < y);"),
    Mutant("quotes hide a secret", MASK, "        if (!w->plain && shown[i] == 0)\n            mask_quote", "        if (false)\n            mask_quote"),
    Mutant("messages quote secrets", "haproxy/dataplane/replacement.c", "    replacement_mask(r, r->request.text);\n", ""),
    Mutant("a second word is shown", "haproxy/cfg/compare.c", "    cfg_mask_line(e->line->text, e->line->len, NAME_SHOWN, &text);\n", "    buf_addn(&text, e->line->text + strspn(e->line->text, \" \"), e->line->len - strspn(e->line->text, \" \"));\n"),
    Mutant("lines of one side alone", LINES, "        if (n > 0)\n            new", "        if (false)\n            new"),
    Mutant("a line is there once", LINES, "        k += n >= 0;\n", "        k += n > 0 || (n == 0 && (i == was.count || !str_eq(a[i]->text, b[k]->text)));\n"),
    Mutant("a default-server makes other servers", LINES, "cfg_entry_is_header(first) && proxy && was.count", "false && was.count"),
    Mutant("proxies are compared twice", LINES, "(first->in == done[0] || first->in == done[1])", "false"),
    Mutant("new lines of a proxy come twice", LINES, "(first->in == done[0] || first->in == done[1])", "first->in == done[0]"),
    Mutant("any line is shown", LINES, "cfg_mask_line(e->line->text, e->line->len,", "cfg_mask_line(e->in->line->text, e->in->line->len,"),
    Mutant("all lines are kept", LINES, "    if (d->count++ >= CFG_LINE_DIFFERENCE_MAX)\n        return;\n", "    d->count++;\n    if (d->count > 99)\n        return;\n"),
)

ROOMS = (
    Room("cfg, printed", ("test_cfg_edit", "test_cfg_words"), PRINTING),
    Room("cfg, sent", ("test_cfg_source",), SENDING),
    Room("cfg, meaning", ("test_cfg_difference", "test_cfg_file"), MEANING),
    Room("cfg, shown", ("test_cfg_mask", "test_cfg_line_difference", "test_replacement", "test_validation_text", "test_cfg_file"), SHOWING),
    Room("cfg, cost", ("test_cfg_difference",), COST),
)

"""Which files are written to (haproxy/cfg/file, cfg_file_compare, haproxy/guard and what asks it)."""

from .mutant import Mutant, Room

FILE = "haproxy/cfg/file.c"
COMPARE = "haproxy/cfg/compare.c"
ENTRIES = "haproxy/cfg/entries.c"
PLAN = "servers/change/plan.c"

READING = (
    Mutant("only the file right before is known", FILE, "b != NULL; b = b->before)", "b != NULL; b = NULL)"),
    Mutant("a name is that of any defaults before", FILE, "(name == NULL || str_eq(b->sections[i].name, name))", "true"),
    Mutant("the first defaults of the file before is the last", FILE, "for (size_t i = b->section_count; i-- > 0;)",
           "for (size_t i = 0; i < b->section_count; i++)"),
    Mutant("each file begins anew", FILE, "*last = cfg_file_find_before(f, NULL);", "*last = NULL;"),
    Mutant("a branch of a conditional is none", FILE, '{".if", ".elif", ".else", ".endif"}', '{".if", ".elif", ".else"}'),
    Mutant("a line of 64 KiB is not too long", FILE, "line.len + carriage_return >= CFGFILE_LINE_MAX_BYTES",
           "line.len + carriage_return > CFGFILE_LINE_MAX_BYTES"),
    Mutant("a default-server before all servers is late", FILE, "if (servers && str_eq(first", "if (str_eq(first"),
    Mutant("servers of the section before count", FILE, "    bool servers = false;\n", "    static bool servers = false;\n"),
    Mutant("templates are no servers", FILE, '"server", "server-template", ', '"server", '),
    Mutant("proxies of the last defaults are in doubt", FILE, "for (size_t i = 0; i < last; i++)", "for (size_t i = 0; i < f->section_count; i++)"),
    Mutant("a proxy with from is in doubt", FILE, " && f->sections[i].from[0] == '\\0')", ")"),
    Mutant("the last version counts", FILE, "if (f->version >= 0 || ", "if ("),
    Mutant("a file has lines without end", FILE, "    f->too_many = f->line_count > LINES_MAX;\n", "    f->too_many = false;\n"),
    Mutant("a NUL is a character", FILE, "if (len > 0 && memchr(text, '\\0', len) != NULL)", "if (false)"),
)

COMPARING = (
    Mutant("an order is no matter", COMPARE, "    else if (i < before.count)\n", "    else if (false)\n"),
    Mutant("what is gone is not seen", COMPARE, "if (i < before.count && !has(&after", "if (false && !has(&after"),
    Mutant("what is new is not seen", COMPARE, "else if (i < after.count && !has(&before", "else if (false && !has(&before"),
    Mutant("other defaults are the same", COMPARE, "if (strcmp(was, is) != 0)", "if (false)"),
    Mutant("a section that is gone is not seen", COMPARE, "    if (after.count == 0) {", "    if (false) {"),
    Mutant("unnamed defaults have no number", FILE, "            number++;\n", "            number = 1;\n"),
    Mutant("servers behind a default-server are as before it", ENTRIES, "server ? defaults : 0", "0"),
    Mutant("checks have no order", ENTRIES, "        return mem_strdup(\"check\");", "        return mem_strdup(second);"),
    Mutant("log formats have no order", ENTRIES, '{"option tcplog", "log format"},', ""),
    Mutant("the first timeout counts", ENTRIES, "{&b->list[b->at - 1], 1}", "{&b->list[begin], 1}"),
    Mutant("conditions have no order", ENTRIES,
           '!str_eq(l->words[end].text, "if") && !str_eq(l->words[end].text, "unless")', "true"),
    Mutant("a variable is a text", "haproxy/cfg/words.c", "bool as_it_is = !w->plain && ", "bool as_it_is = false && "),
    Mutant("secrets are said", COMPARE, "    if (second != NULL)\n", "    if (false)\n"),
    Mutant("ours are compared", ENTRIES, "        if (is_ours(ours, s, cfg_word(words, 0), cfg_word(words, 1)))\n            continue;\n", ""),
    Mutant("kinds are one", ENTRIES, 'mem_printf("%s\\n%s%s%s", section, kind,', 'mem_printf("%s\\n%.0s%s%s", section, kind,'),
)

WRITING = (
    Mutant("what was never looked at has passed", "haproxy/guard.c",
           "bool follows = guard_passed(g, was) && version == was + 1;", "bool follows = true;"),
    Mutant("it is looked at after each write of ours", "haproxy/guard.c",
           "bool follows = guard_passed(g, was) && version == was + 1;", "bool follows = false;"),
    Mutant("what was refused is tried again", "haproxy/guard.c", "    g->refused = version;\n", ""),
    Mutant("a harmful file passes", "haproxy/guard.c", "return found == NULL ?", "return true ?"),
    Mutant("several defaults stop it in any case", "haproxy/guard.c", "if (problem == NULL && g->blind)", "if (problem == NULL)"),
    Mutant("several defaults never stop it", "haproxy/guard.c", "if (problem == NULL && g->blind)", "if (false)"),
    Mutant("an edit while the API is down is not seen", "haproxy/guard.c", "if (guard_is_other(g, file))", "if (false)"),
    Mutant("who showed nothing once is never asked again", "haproxy/guard.c", "    g->blind = false;", ""),
    Mutant("what we wrote is an edit", "haproxy/guard.c", "    if (follows)\n        g->passed = version;\n    guard_hold(g, NULL);\n", "    if (follows)\n        g->passed = version;\n"),
    Mutant("what was refused is forgotten with a failed reload", "haproxy/guard.c",
           "if (behind && (g->passed == version || g->refused == version))", "if (behind && g->passed == version)"),
    Mutant("what passed is refused for what a failed reload put back", "haproxy/guard.c",
           "if (behind && (g->passed == version || g->refused == version))", "if (behind && g->refused == version)"),
    Mutant("SIGHUP forgets what was refused", "haproxy/guard.c", "g->passed = g->unsure = -1;", "g->passed = g->refused = g->unsure = -1;"),
    Mutant("a reload that failed is for ever", "haproxy/instance.c",
           "guard_passed(&in->guard, in->version) || instance_is_split(in),", "guard_passed(&in->guard, in->version),"),
    Mutant("no room after a lost answer stops all", "haproxy/instance_write.c",
           "f.result == TRANSACTION_LIMIT && in->guard.unsure == in->version", "false"),
    Mutant("what no room hides passes", "haproxy/instance_write.c",
           "f.result == TRANSACTION_LIMIT && in->guard.unsure == in->version", "f.result == TRANSACTION_LIMIT"),
    Mutant("a refused begin stops all", "haproxy/instance_write.c", "if (f.result != TRANSACTION_LIMIT && ", "if ("),
    Mutant("drains wait for the file", "servers/change/backend_decision.c", "return in->file_problem != NULL;", "return false;"),
    Mutant("a file that is refused is in step", "haproxy/instance_write.c", "    if (in->guard.problem != NULL) {", "    if (false) {"),
    Mutant("no commit is looked at", "haproxy/instance_write.c",
           "return first && guard_passed(&in->guard, in->version)", "return false && guard_passed(&in->guard, in->version)"),
    Mutant("every commit is looked at", "haproxy/instance_write.c", "in->backends[i].reviewed || in->backends[i].writing;", "false;"),
    Mutant("what is ours may not change", "haproxy/instance_write.c", "previews ? NULL : &ours", "NULL"),
    Mutant("the plan knows nothing of the file", PLAN, "if (rules->file_problem != NULL && ", "if (false && "),
)

LOOKING = (
    Mutant("a dead transaction is an API without a preview", "haproxy/dataplane/transaction.c", "a->version == t->version &&\n", "true &&\n"),
    Mutant("an API without a preview stops it", "haproxy/dataplane/transaction.c", "        t->result = TRANSACTION_PREVIEWED;\n    return next;", "        ;\n    return next;"),
    Mutant("a look is committed", "haproxy/dataplane/transaction.c", "if (t->preview_only || (t->preview_wanted", "if ((t->preview_wanted"),
    Mutant("a problem is none", "haproxy/dataplane/transaction.c", "problem != NULL ? TRANSACTION_HARMFUL : TRANSACTION_PREVIEWED", "TRANSACTION_PREVIEWED"),
    Mutant("anything is a preview", "haproxy/dataplane/transaction.c", "if (transaction_is_success(a) && a->version >= 0)\n        return (struct transaction_action){.type = TRANSACTION_JUDGE};",
           "if (transaction_is_success(a))\n        return (struct transaction_action){.type = TRANSACTION_JUDGE};"),
)

ROOMS = (
    Room("guard, the look", ("test_transaction", "test_transaction_left_behind"), LOOKING),
    Room("guard, the file", ("test_cfg_file",), READING + COMPARING),
    Room("guard, what is written", ("test_instance_guard", "test_plan", "test_inspect_decide"), WRITING),
)

/* src/servers/change/diff: servers that are parked instead of removed, spares, and what waits for a transaction, rule by rule. */
#include "parking_text.h"

struct park_row {
    const char *rule, *with; /* see text_rules */
    unsigned fill;           /* so many lines p00, p01 ... are parked besides, behind backend's */
    const char *backend;     /* its lines whose name ends with x: their nodes do not exist */
    const char *desired;
    enum diff_verdict verdict;
    const char *updates, *reasons; /* NULL: not compared */
    const char *structural;        /* names */
};

static const struct park_row rows[] = {
    {"out: into maintenance, and kept as it is otherwise", "runtime", 0, N1 "\nserver n2 node2:81 weight 7", LIVE1,
     DIFF_WRITE, "~ n2 node2:81 weight 7 disabled (maintenance on (parked))", "n2 lost: " NONE, ""},
    {"without runtime the same, in a transaction", "", 0, N1 "\n" N2, LIVE1, DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))", "n2 lost: " NONE, "n2"},
    {"announced", "runtime", 0, N1 "\n" N2, LIVE1 "; out n2 announced its node is going", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))",
     "n2 lost, announced: node n2: its node is going", ""},
    {"parked: nothing, whatever it looks like", "runtime own-port", 0,
     N1 "\nserver n2 10.0.0.9 port 7 send-proxy-v2 disabled", LIVE1, DIFF_NOTHING, "", "", ""},
    {"after a drain: it stays", "", 0, N1 "\n" N2 " disabled", LIVE1 "; out n2 announced its drain is over",
     DIFF_NOTHING, "", "", ""},
    {"back: maintenance off", "runtime", 0, N1 "\n" N2 " disabled", LIVE1 "; n2 10.0.0.2:80", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 (maintenance off)", "n2: n2 is wanted", ""},
    {"back at another place", "runtime", 0, N1 "\n" N2 " disabled", LIVE1 "; n2 10.0.0.9:81 weight 3", DIFF_WRITE,
     "~ n2 10.0.0.9:81 check weight 3 (maintenance off, address 10.0.0.2 -> 10.0.0.9, port 80 -> 81, weight 100 -> 3)",
     "n2: n2 is wanted", ""},
    {"what is not ours is not parked", "runtime", 0, N1 "\nserver k1 10.0.0.8:80\n" N2 " backup", LIVE1, DIFF_WRITE,
     "~ k1 10.0.0.8:80 disabled (maintenance on (parked))", "k1 lost: " NONE, ""},

    /* what waits for a transaction */
    {"its node is gone: alone it waits", "runtime", 0, N1 "\nserver n2x 10.0.0.2:80 disabled", LIVE1, DIFF_NOTHING, "",
     "", ""},
    {"without runtime too", "", 0, N1 "\nserver n2x 10.0.0.2:80 disabled", LIVE1, DIFF_NOTHING, "", "", ""},
    {"it goes with a new one", "runtime", 0, N1 "\nserver n2x 10.0.0.2:80 disabled", LIVE1 "; n3 10.0.0.3:80",
     DIFF_WRITE, "+ n3 10.0.0.3:80 check weight 100\n- n2x 10.0.0.2:80 disabled, lazy", "n2x: " NO_NODE, "n3,n2x"},
    {"not with what needs none", "runtime", 0, N1 "\nserver n2x 10.0.0.2:80 disabled\n" N3, "n1 10.0.0.9:80",
     DIFF_WRITE,
     "~ n1 10.0.0.9:80 check weight 100 (address 10.0.0.1 -> 10.0.0.9)\n"
     "~ n3 10.0.0.3:80 check weight 100 disabled (maintenance on (parked))",
     NULL, ""},
    {"but without runtime that is one, too", "", 0, N1 "\nserver n2x 10.0.0.2:80 disabled\n" N3, "n1 10.0.0.9:80",
     DIFF_WRITE,
     "~ n1 10.0.0.9:80 check weight 100 (address 10.0.0.1 -> 10.0.0.9)\n"
     "~ n3 10.0.0.3:80 check weight 100 disabled (maintenance on (parked))\n- n2x 10.0.0.2:80 disabled, lazy",
     NULL, "n1,n3,n2x"},
    {"with the settings", "runtime balance=roundrobin", 0, N1 "\nserver n2x 10.0.0.2:80 disabled", LIVE1, DIFF_WRITE,
     "= balance (none) -> roundrobin\n- n2x 10.0.0.2:80 disabled, lazy", "n2x: " NO_NODE, "n2x"},
    {"a live one of no node is parked first", "runtime", 0, N1 "\nserver n2x 10.0.0.2:80", LIVE1, DIFF_WRITE,
     "~ n2x 10.0.0.2:80 disabled (maintenance on (parked))", NULL, ""},

    /* room */
    {"with runtime there is room, for a while", "runtime", 64, N1 "\n" N2, LIVE1, DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))", "n2 lost: " NONE, ""},
    {"otherwise it is removed where there is none", "", 64, N1 "\n" N2, LIVE1 "; out n2 announced so", DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100", "n2 lost, announced: node n2: so", "n2"},
    {"the last place", "", 63, N1 "\n" N2 "\n" N3, LIVE1, DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))\n- n3 10.0.0.3:80 check weight 100",
     "n2 lost: " NONE "\nn3 lost: " NONE, "n2,n3"},
    {"the place of one that goes along", "", 63, N1 "\n" N2 "\nserver n3x 10.0.0.3:80 disabled", LIVE1, DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))\n- n3x 10.0.0.3:80 disabled, lazy", NULL,
     "n2,n3x"},
    {"too many are: the first of them go now", "runtime", 66, N1, LIVE1, DIFF_WRITE,
     "- p00 10.1.0.1:80 disabled\n- p01 10.1.0.1:80 disabled",
     "p00: more than 64 servers are parked, and it is among the longest parked\n"
     "p01: more than 64 servers are parked, and it is among the longest parked",
     "p00,p01"},
    {"what is lazy goes with them", "runtime", 65,
     N1 "\nserver n2x 10.0.0.2:80 disabled\nserver n3x 10.0.0.3:80 disabled", LIVE1, DIFF_WRITE,
     "- n2x 10.0.0.2:80 disabled\n- n3x 10.0.0.3:80 disabled\n- p00 10.1.0.1:80 disabled", NULL, "n2x,n3x,p00"},

    /* spares */
    {"a spare gets a line in maintenance", "runtime", 0, N1, LIVE1 SPARE5, DIFF_WRITE,
     "+ n5 10.0.0.5:80 check weight 100 disabled, parked", "", "n5"},
    {"with all that a server has", "runtime own-port", 0,
     "adv_check httpchk\nhttpchk_params\nserver n1 10.0.0.1:80 check port 7 weight 100",
     LIVE1 SPARE5 " weight 9; check-port 7", DIFF_WRITE, "+ n5 10.0.0.5:80 check port 7 weight 9 disabled, parked", "",
     "n5"},
    {"one that has it stays, though its node is gone, whatever it looks like", "runtime", 0,
     N1 "\nserver n5x 10.0.0.9 disabled", LIVE1 "; spare n5x 10.0.0.5:80", DIFF_NOTHING, "", "", ""},
    {"one that is live is parked", "runtime", 0, N1 "\nserver n5 10.0.0.9:80", LIVE1 SPARE5, DIFF_WRITE,
     "~ n5 10.0.0.9:80 disabled (maintenance on (parked))", "n5 lost: " NONE, ""},
    {"also without room: it is to stay", "", 64, N1 "\nserver n5 10.0.0.9:80", LIVE1 SPARE5, DIFF_WRITE,
     "~ n5 10.0.0.9:80 disabled (maintenance on (parked))", "n5 lost: " NONE, "n5"},
    {"nor does it take the place of another", "", 63, N1 "\n" N2 "\n" N3, LIVE1 "; spare n2 10.0.0.2:80", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))\n"
     "~ n3 10.0.0.3:80 check weight 100 disabled (maintenance on (parked))",
     NULL, "n2,n3"},
    {"no room: no line", "runtime", 64, N1, LIVE1 SPARE5, DIFF_NOTHING, "", "", ""},
    {"the last place is one's only", "runtime", 63, N1, LIVE1 SPARE5 "; spare n6 10.0.0.6:80", DIFF_WRITE,
     "+ n5 10.0.0.5:80 check weight 100 disabled, parked", NULL, "n5"},
    {"that of one that is parked now is taken", "runtime", 63, N1 "\n" N2, LIVE1 SPARE5, DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))", NULL, ""},
    {"that of one that goes along is free", "runtime", 63, N1 "\nserver n2x 10.0.0.2:80 disabled", LIVE1 SPARE5,
     DIFF_WRITE, "+ n5 10.0.0.5:80 check weight 100 disabled, parked\n- n2x 10.0.0.2:80 disabled, lazy", NULL,
     "n5,n2x"},
    {"spares leave room for what was in service", "", 0, N1 "\n" N2 "\n" N3 " disabled\n" N4 " disabled",
     LIVE1 "; spare n3 10.0.0.3:80; spare n4 10.0.0.4:80", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))", NULL, "n2"},
    {"no line where the name cannot be ours, and no word about it", "runtime", 0,
     N1 "\nserver n5 10.0.0.9:80 backup\nserver-template n 6-7", LIVE1 SPARE5 "; spare n6 10.0.0.6:80", DIFF_NOTHING,
     "", "", ""},
    {"in a backend that is made", "runtime create", 0, "missing", LIVE1 SPARE5, DIFF_WRITE,
     "! create\n+ n1 10.0.0.1:80 check weight 100\n+ n5 10.0.0.5:80 check weight 100 disabled, parked", NULL, "n1,n5"},
    {"a line of one that the API has not read", "runtime", 0,
     N1 "\nalien 9 server n5 10.0.0.5:80 check weight 100 disabled|not shown", LIVE1 SPARE5, DIFF_WRITE,
     "+ n5 10.0.0.5:80 check weight 100 disabled, parked", NULL, "n5"},

    /* what cannot be parked */
    {"a wish that clashes", "runtime", 0, N1 "\n" N2 "\nserver-template n 2-3", LIVE1 "; n2 10.0.0.2:80", DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100",
     "n2 lost: the line \"server-template n 2-3\" of the backend makes a server of that name", "n2"},
    {"a line that a server-template makes", "runtime", 0, N1 "\n" N2 "\n" N3 " disabled\nserver-template n 2-3", LIVE1,
     DIFF_WRITE, "- n2 10.0.0.2:80 check weight 100\n- n3 10.0.0.3:80 check weight 100 disabled",
     "n2 lost: " NONE "\nn3: " NONE, "n2,n3"},
    {"a name on several lines", "runtime", 0, N1 "\n" N2 " disabled\nserver n2 10.0.0.7:80", LIVE1, DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100 disabled", "n2: " NONE, "n2"},

    /* draining */
    {"a draining server: its line stays live", "runtime", 0, N1 "\n" N2, LIVE1 "; n2 10.0.0.2:80 draining",
     DIFF_NOTHING, "", "", ""},
    {"or in maintenance", "runtime", 0, N1 "\n" N2 " disabled", LIVE1 "; n2 10.0.0.2:80 draining", DIFF_NOTHING, "", "",
     ""},
    {"its other fields are kept right", "runtime", 0, N1 "\n" N2, LIVE1 "; n2 10.0.0.2:81 draining weight 5",
     DIFF_WRITE, "~ n2 10.0.0.2:81 check weight 5 (port 80 -> 81, weight 100 -> 5)", "n2: n2 is wanted", ""},
    {"without a line it gets none", "runtime", 0, N1, LIVE1 "; n2 10.0.0.2:80 draining", DIFF_NOTHING, "", "", ""},
    {"without runtime: maintenance", "", 0, N1 "\n" N2, LIVE1 "; n2 10.0.0.2:80 draining", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (draining))", "n2 lost, announced: n2 is wanted",
     "n2"},

    /* nothing is left */
    {"nothing usable: the last good ones stay, those that are parked are not among them", "runtime", 2, N1 "\n" N2, "",
     DIFF_NO_ENDPOINT, "", "", ""},
    {"where an empty backend is allowed all are parked", "runtime empty", 0, N1 "\n" N2 "\n" N3 " disabled", "",
     DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 100 disabled (maintenance on (parked))\n"
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (parked))",
     "n1 lost: " NONE "\nn2 lost: " NONE, ""},
};

static char *names_of_structural(const struct diff *d)
{
    struct buf b = {0};
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].structural)
            buf_printf(&b, "%s%s", b.len > 0 ? "," : "", d->changes[i].server.name);
    return buf_take(&b);
}

static void expect(const char *rule, const char *have, const char *want)
{
    ck_assert_msg(want == NULL || strcmp(have, want) == 0, "%s:\n  have %s\n  want %s", rule, have, want);
}

TEST_EACH(every_rule, array_len(rows))
{
    const struct park_row *row = &rows[_i];
    cleanup(rules_text_fini) struct rules_text with;
    text_rules(&with, row->with);
    cleanup(made_fini) struct made m = {.rules = with.rules};
    make(&m, row->fill, row->backend, row->desired);
    cleanup(mem_free_ptr) char *updates = text_of_writes(&m.d), *reasons = text_of_reasons(&m.d),
                               *structural = names_of_structural(&m.d);
    expect(row->rule, updates, row->updates);
    expect(row->rule, reasons, row->reasons);
    expect(row->rule, structural, row->structural);
    ck_assert_msg(m.d.verdict == row->verdict, "%s: verdict %d", row->rule, m.d.verdict);
    ck_assert_msg(m.d.skip_count == (strstr(row->rule, "wish that clashes") != NULL), "%s", row->rule);
}

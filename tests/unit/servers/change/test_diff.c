/* src/servers/change/diff: which lines are ours, and what is written to them. */
#include "../diff_apply.h"
#include "diff_text.h"

static const struct diff_row rows[] = {
    {"in step: nothing", "", "server n1 " GOOD, "n1 10.0.0.1:80", DIFF_NOTHING, "", NULL},
    {"a new server: checked, with an explicit weight", "", "server n1 " GOOD, "n1 10.0.0.1:80; n2 10.0.0.2:80",
     DIFF_WRITE, "+ n2 10.0.0.2:80 check weight 100", NULL},
    {"a new server gets the weight that all those that stay have", "",
     "server n1 10.0.0.1:80 check weight 7\nserver n2 10.0.0.2:80 check weight 7\nserver x 10.0.0.8:80 check weight 3\n"
     "server y 10.0.0.9:80 check weight 3",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80", DIFF_WRITE,
     "+ n3 10.0.0.3:80 check weight 7\n- x 10.0.0.8:80 check weight 3\n- y 10.0.0.9:80 check weight 3", NULL},
    {"where they differ it gets their median", "",
     "server n1 10.0.0.1:80 check weight 7\nserver n2 10.0.0.2:80 check weight 8",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80", DIFF_WRITE, "+ n3 10.0.0.3:80 check weight 7", NULL},
    {"which two that differ much do not move", "",
     "server n1 10.0.0.1:80 check weight 9\nserver n2 10.0.0.2:80 check weight 100\nserver n3 10.0.0.3:80 check weight "
     "1",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80; n4 10.0.0.4:80", DIFF_WRITE, "+ n4 10.0.0.4:80 check weight 9",
     NULL},
    {"a new server has what all of ours have", "",
     "server n1 " GOOD " ssl tfo\nserver n2 10.0.0.2:80 check weight 100 ssl\nserver b 10.9.9.9:80 backup tfo",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80", DIFF_WRITE,
     "+ n3 10.0.0.3:80 check weight 100 ssl\nuneven: server n1 has tfo, which not all servers of the backend have; a "
     "new server "
     "gets none of it: put it on all of them, or into default-server",
     NULL},
    {"a server that follows another one has no check of its own", "own-port", "server n1 10.0.0.1:80 weight 100 track",
     "n1 10.0.0.1:80", DIFF_NOTHING, "", NULL},
    {"nor does it get none as they do", "", "server n1 10.0.0.1:80 check weight 0", "n1 10.0.0.1:80; n2 10.0.0.2:80",
     DIFF_WRITE, "+ n2 10.0.0.2:80 check weight 100", NULL},
    {"a departed one goes", "", "server n1 " GOOD "\nserver n2 10.0.0.2:80 check weight 100", "n1 10.0.0.1:80",
     DIFF_WRITE, "- n2 10.0.0.2:80 check weight 100", NULL},
    {"another address", "", "server n1 " GOOD, "n1 10.0.0.9:80", DIFF_WRITE,
     "~ n1 10.0.0.9:80 check weight 100 (address 10.0.0.1 -> 10.0.0.9)", NULL},
    {"another port, and one that has none", "", "server n1 " GOOD "\nserver n2 10.0.0.2 check weight 5",
     "n1 10.0.0.1:81; n2 10.0.0.2:81", DIFF_WRITE,
     "~ n1 10.0.0.1:81 check weight 100 (port 80 -> 81)\n~ n2 10.0.0.2:81 check weight 5 (port 0 -> 81)", NULL},
    {"a weight that is there stays, 0 too", "",
     "server n1 10.0.0.1:80 check weight 0\nserver n2 10.0.0.2:80 check weight 7", "n1 10.0.0.1:80; n2 10.0.0.2:80",
     DIFF_NOTHING, "", NULL},
    {"a weight that is not there and a check that is off are set", "", "server n1 10.0.0.1:80", "n1 10.0.0.1:80",
     DIFF_WRITE, "~ n1 10.0.0.1:80 check weight 100 (check on, weight 100)", NULL},
    {"two spellings of an IPv6 address are one", "", "server n1 [FD00:0::1]:80 check weight 1", "n1 [fd00::1]:80",
     DIFF_NOTHING, "", NULL},
    {"another IPv6 address is another one", "", "server n1 [fd00::1]:80 check weight 1", "n1 [fd00::2]:80", DIFF_WRITE,
     "~ n1 [fd00::2]:80 check weight 1 (address fd00::1 -> fd00::2)", NULL},
    {"a host name is no address", "", "server n1 node1.example:80 check weight 1", "n1 10.0.0.1:80", DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 1 (address node1.example -> 10.0.0.1)", NULL},
    {"additions, changes, removals, each by name", "", "server z 10.0.0.1:80\nserver c " GOOD "\nserver y 10.0.0.1:80",
     "a 10.0.0.1:80; b 10.0.0.2:80; c 10.0.0.3:80; z 10.0.0.1:80", DIFF_WRITE,
     "+ a 10.0.0.1:80 check weight 100\n+ b 10.0.0.2:80 check weight 100\n"
     "~ c 10.0.0.3:80 check weight 100 (address 10.0.0.1 -> 10.0.0.3)\n"
     "~ z 10.0.0.1:80 check weight 100 (check on, weight 100)\n- y 10.0.0.1:80",
     NULL},

    /* what is not ours */
    {"backup servers stay", "", "server n1 " GOOD "\nserver spare 10.9.9.9:80 backup", "n1 10.0.0.1:80", DIFF_NOTHING,
     "", NULL},
    {"kept servers stay, by glob", "kept=static-*,db?",
     "server n1 " GOOD "\nserver static-a 10.9.9.9:80\nserver db1 10.9.9.8:1\nserver x 10.9.9.7:1", "n1 10.0.0.1:80",
     DIFF_WRITE, "- x 10.9.9.7:1", NULL},
    {"a wish named like a backup server is left out", "", "server n1 " GOOD "\nserver n2 10.9.9.9:81 backup",
     "n1 10.0.0.1:80; n2 10.0.0.2:80", DIFF_NOTHING,
     "? n2: the backend has a backup server of that name (10.9.9.9:81), and backup servers are unmanaged", NULL},
    {"a wish named like a kept server is left out, be it there or not", "kept=n[23]",
     "server n1 " GOOD "\nserver n2 10.9.9.9:81", "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80", DIFF_NOTHING,
     "? n2: the name matches n[23] in HAPROXY_KEEP_SERVERS, so it would never be changed or removed\n? n3: the name "
     "matches n[23] in HAPROXY_KEEP_SERVERS, so it would never be changed or removed",
     NULL},
    {"a wish that a server-template makes is left out; its neighbours are not", "", "server-template n 2-3",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80; n4 10.0.0.4:80", DIFF_WRITE,
     "+ n1 10.0.0.1:80 check weight 100\n+ n4 10.0.0.4:80 check weight 100\n"
     "? n2: the line \"server-template n 2-3\" of the backend makes a server of that name\n? n3: the line "
     "\"server-template n 2-3\" of the backend makes a server of that name",
     NULL},
    {"a template makes its own numbers only", "", "server-template n 1-20",
     "n 10.0.0.1:80; n01 10.0.0.2:80; n1x 10.0.0.3:80; n21 10.0.0.4:80; nx1 10.0.0.5:80", DIFF_WRITE,
     "+ n 10.0.0.1:80 check weight 100\n+ n01 10.0.0.2:80 check weight 100\n+ n1x 10.0.0.3:80 check weight 100\n"
     "+ n21 10.0.0.4:80 check weight 100\n+ nx1 10.0.0.5:80 check weight 100",
     NULL},
    {"one name on two lines of ours: the first is kept right", "",
     "server n1 10.0.0.9:80 check weight 1\nserver n1 " GOOD, "n1 10.0.0.1:80", DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 1 (address 10.0.0.9 -> 10.0.0.1)", NULL},
    {"one name on two lines, the first right", "", "server n1 " GOOD "\nserver n1 10.0.0.9:80", "n1 10.0.0.1:80",
     DIFF_NOTHING, "", NULL},
    {"one name on two lines, not wished: a removal at a time", "",
     "server n1 10.0.0.9:80\nserver n1 10.0.0.8:80\nserver n2 " GOOD, "n2 10.0.0.1:80", DIFF_WRITE, "- n1 10.0.0.9:80",
     NULL},
    {"one name on two lines, one of them not ours: neither is touched", "",
     "server n1 10.0.0.9:80\nserver n1 10.0.0.8:80 backup\nserver n2 " GOOD, "n2 10.0.0.1:80", DIFF_NOTHING, "", NULL},
    {"the same, wished", "", "server n1 10.0.0.9:80\nserver n1 10.0.0.8:80 backup\nserver n2 " GOOD,
     "n1 10.0.0.1:80; n2 10.0.0.1:80", DIFF_NOTHING,
     "? n1: the backend has a backup server of that name (10.0.0.8:80), and backup servers are unmanaged", NULL},

    /* a default-server that takes servers out */
    {"disabled by default: our lines say enabled, those that say so already stay, and what is parked is disabled by "
     "itself",
     "",
     "default-server disabled\nserver n1 " GOOD "\nserver n2 10.0.0.2:80 check weight 100 enabled\nserver n3 " GOOD
     "\nserver k1 10.9.9.9:80 backup",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n4 10.0.0.4:80", DIFF_WRITE,
     "+ n4 10.0.0.4:80 check weight 100 enabled\n~ n1 " GOOD " enabled (maintenance off)\n- n3 " GOOD " disabled",
     NULL},
    {"what is parked says disabled itself, also where it said enabled", "",
     "default-server disabled\nserver n1 " GOOD " enabled\nserver n2 10.0.0.2:80 check weight 100 enabled",
     "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (draining))", NULL},
    {"a line that comes back without such a default does not say enabled", "", "server n1 " GOOD " disabled",
     "n1 10.0.0.1:80", DIFF_WRITE, "~ n1 " GOOD " (maintenance off)", NULL},
    {"backup by default: our lines say no-backup, and backup servers that say so themselves stay", "",
     "default-server backup\nserver n1 " GOOD
     "\nserver n2 10.0.0.2:80 check weight 100 no-backup\nserver b 10.9.9.9:80 backup",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80", DIFF_WRITE,
     "+ n3 10.0.0.3:80 check weight 100 no-backup\n~ n1 " GOOD " no-backup (no-backup)", NULL},
    {"backup by default, and a line that does not say what it is", "kept=k*",
     "default-server backup\nserver n1 " GOOD "\nserver b1 10.9.9.9:80\nserver b2 10.9.9.9:80\nserver b3 10.9.9.9:80\n"
     "server b4 10.9.9.9:80\nserver k1 10.9.9.9:80\nserver old 10.9.9.9:80 no-backup\nserver s1 10.0.0.8:80",
     "n1 10.0.0.1:80; spare s1 10.0.0.8:80", DIFF_REFUSE,
     "because line 5 of haproxy.cfg (default-server backup) makes backup servers of lines in backend web that do not "
     "say so themselves: b1, b2, b3 and 1 more. Add backup to such a line to leave it alone, or no-backup to have it "
     "managed; or remove backup from line 5",
     NULL},

    /* PROXY v2 */
    {"off: taken from our lines, left in default-server and on foreign ones", "",
     "default-server send-proxy-v2\nserver n1 " GOOD " send-proxy-v2\nserver b 10.9.9.9:80 send-proxy-v2 backup",
     "n1 10.0.0.1:80", DIFF_WRITE, "~ n1 10.0.0.1:80 check weight 100 (send-proxy-v2 off)", NULL},
    {"off, and the settings are another engine's: it stays where it is", "keep-settings",
     "server n1 " GOOD " send-proxy-v2", "n1 10.0.0.1:80", DIFF_NOTHING, "", NULL},
    {"in default-server: not on the lines", "proxy", "server n1 " GOOD, "n1 10.0.0.1:80; n2 10.0.0.2:80", DIFF_WRITE,
     "= default-server send-proxy-v2 on\n+ n2 10.0.0.2:80 check weight 100", NULL},
    {"in default-server: what is on a line makes no difference, so it stays", "proxy",
     "default-server send-proxy-v2\nserver n1 " GOOD " send-proxy-v2", "n1 10.0.0.1:80", DIFF_NOTHING, "", NULL},

    /* the backend itself */
    {"balance and check", "balance=roundrobin check=tcp-check", "balance leastconn\nserver n1 " GOOD, "n1 10.0.0.1:80",
     DIFF_WRITE, "= balance leastconn -> roundrobin, adv_check (none) -> tcp-check", NULL},
    {"both right", "balance=roundrobin check=tcp-check", SETTINGS "server n1 " GOOD, "n1 10.0.0.1:80", DIFF_NOTHING, "",
     NULL},
    {"keep", "", "balance leastconn\nadv_check httpchk\nserver n1 " GOOD, "n1 10.0.0.1:80", DIFF_NOTHING, "", NULL},
    {"missing, may be made: with all the servers", "balance=roundrobin check=tcp-check create proxy", "missing",
     "n1 10.0.0.1:80", DIFF_WRITE, "! create\n+ n1 10.0.0.1:80 check weight 100", NULL},
    {"missing", "balance=roundrobin check=tcp-check", "missing", "n1 10.0.0.1:80", DIFF_REFUSE,
     "because HAProxy has no backend web: add it to haproxy.cfg, fix its name in HAPROXY_BACKEND_NAME or "
     "INGRESS_SERVICES, or create it with HAPROXY_CREATE_BACKEND=true",
     NULL},
    {"missing, may be made, but there is nothing to put in", "balance=roundrobin check=tcp-check create", "missing", "",
     DIFF_NO_ENDPOINT, "because none of the Service's 2 endpoints is ready; there is no managed server to keep either",
     NULL},
    {"missing, may be made and may be empty", "balance=roundrobin check=tcp-check create empty", "missing", "",
     DIFF_WRITE, "! create", NULL},
    {"lines that a write would damage", "",
     "server n1 " GOOD "\nalien 12 server x 10.1.1.1 foo|the API does not show it", "n1 10.0.0.9:80", DIFF_REFUSE,
     "because backend web has lines in haproxy.cfg that a write would damage: line 12 \"server x 10.1.1.1 foo\": the "
     "API does not show it",
     NULL},
    {"many of them: some are named", "", "alien 1 a|r\nalien 2 b|r\nalien 3 c|r\nalien 4 d|r\nalien 5 e|r",
     "n1 10.0.0.9:80", DIFF_REFUSE,
     "because backend web has lines in haproxy.cfg that a write would damage: line 1 \"a\": r; line 2 \"b\": r; line 3 "
     "\"c\": r; and 2 more",
     NULL},

    /* nothing left */
    {"no usable endpoint: the last good servers stay, and the settings too", "balance=roundrobin check=tcp-check",
     "balance leastconn\nserver n1 " GOOD "\nserver n2 10.0.0.2:80\nserver b 10.9.9.9:80 backup", "", DIFF_NO_ENDPOINT,
     "because none of the Service's 2 endpoints is ready; ALLOW_EMPTY is false, so the last servers stay (2)", NULL},
    {"no usable endpoint, and that is allowed", "empty", "server n1 " GOOD "\nserver b 10.9.9.9:80 backup", "",
     DIFF_WRITE, "- n1 10.0.0.1:80 check weight 100", NULL},
    {"allowed, and empty already", "empty", "server b 10.9.9.9:80 backup", "", DIFF_NOTHING, "", NULL},
    {"all that is wished clashes: that is nothing left, too", "", "server n1 " GOOD "\nserver n2 10.9.9.9:80 backup",
     "n2 10.0.0.2:80", DIFF_NO_ENDPOINT,
     "? n2: the backend has a backup server of that name (10.9.9.9:80), and backup servers are unmanaged\n"
     "because each server's name clashes with an unmanaged server; ALLOW_EMPTY is false, so the last servers stay (1)",
     NULL},
};

TEST_EACH(every_rule, array_len(rows))
{
    diff_row_check(&rows[_i]);
}

TEST(an_unknown_desired_state_is_never_written)
{
    static const enum desired_state states[] = {DESIRED_NOT_SYNCED, DESIRED_UNDECIDED};
    for (size_t i = 0; i < array_len(states); i++) {
        struct diff_rules with = {.allow_empty = true, .create_backend = true};
        struct desired desired = {.state = states[i], .problem = i == 0 ? NULL : mem_strdup("several ports")};
        struct backend b;
        struct diff d;
        text_backend(&b, "web", "server n1 " GOOD);
        diff_compute(&b, &desired, &with, &d);
        ck_assert_int_eq(d.verdict, DIFF_REFUSE);
        ck_assert_uint_eq(d.change_count, 0);
        ck_assert_str_eq(d.why, i == 0 ? "the desired servers are not known yet" : "several ports");
        diff_fini(&d);
        desired_fini(&desired);
        backend_fini(&b);
    }
}

TEST(counts)
{
    static const char text[] = "server n1 " GOOD "\nserver b1 10.9.9.9:80 backup\nserver b2 10.9.9.8:80 backup "
                               "send-proxy-v2\nserver n2 10.0.0.2:80\nserver-template t 1-3";
    struct diff_rules with = {.proxy_v2 = true};
    struct backend b;
    struct desired desired;
    struct diff d;
    text_desired(&desired, "n1 10.0.0.1:80");
    text_backend(&b, "web", text);
    diff_compute(&b, &desired, &with, &d);
    ck_assert_uint_eq(d.managed_count, 2);
    ck_assert_uint_eq(d.foreign_count, 3);
    ck_assert_msg(d.foreign_inherit_count == 2, "b1 and the template; b2 has it already");
    diff_fini(&d);
    b.default_send_proxy_v2 = true;
    diff_compute(&b, &desired, &with, &d);
    ck_assert_msg(d.foreign_inherit_count == 0, "not by a change of ours");
    diff_fini(&d);
    b.default_send_proxy_v2 = false;
    with.proxy_v2 = false;
    diff_compute(&b, &desired, &with, &d);
    ck_assert_uint_eq(d.foreign_inherit_count, 0);
    diff_fini(&d);
    backend_fini(&b);
    desired_fini(&desired);
}

static const struct {
    const char *with, *backend, *desired;
    bool parts, leaves_live;
    const char *removals, *others; /* NULL: not compared */
} parts[] = {
    {"", "server n1 " GOOD "\nserver n2 10.0.0.2:80", "n1 10.0.0.9:80; n3 10.0.0.3:80", true, true, "- n2 10.0.0.2:80",
     "+ n3 10.0.0.3:80 check weight 100\n~ n1 10.0.0.9:80 check weight 100 (address 10.0.0.1 -> 10.0.0.9)"},
    {"", "server n2 10.0.0.2:80", "n3 10.0.0.3:80", true, false, NULL, NULL},
    {"", "server n1 " GOOD " disabled\nserver n2 10.0.0.2:80", "n3 10.0.0.3:80", true, false, NULL, NULL},
    {"", "server n1 " GOOD " disabled\nserver n2 10.0.0.2:80", "n2 10.0.0.2:80; n3 10.0.0.3:80", true, true, NULL,
     NULL},
    {"", "server n1 " GOOD "\nserver n2 10.0.0.2:80", "n1 10.0.0.1:80", false, true, NULL, NULL},
    {"", "server n1 " GOOD, "n1 10.0.0.9:80", false, true, NULL, NULL},
    {"balance=roundrobin", "balance first\nserver n1 " GOOD "\nserver n2 10.0.0.2:80", "n1 10.0.0.1:80", true, true,
     "- n2 10.0.0.2:80", "= balance first -> roundrobin"},
};

TEST_EACH(removals_and_all_else, array_len(parts))
{
    for (int removals = 0; removals <= 1; removals++) {
        cleanup(rules_text_fini) struct rules_text with;
        cleanup(backend_fini) struct backend b;
        cleanup(desired_fini) struct desired desired;
        cleanup(diff_fini) struct diff d;
        text_rules(&with, parts[_i].with);
        text_backend(&b, "web", parts[_i].backend);
        text_desired(&desired, parts[_i].desired);
        diff_compute(&b, &desired, &with.rules, &d);
        size_t losses = d.loss_count;
        ck_assert_msg(diff_has_parts(&d) == parts[_i].parts && diff_leaves_live(&d) == parts[_i].leaves_live, "%s",
                      parts[_i].backend);
        if (parts[_i].removals == NULL)
            return;
        diff_take_part(&d, removals == 1);
        cleanup(mem_free_ptr) char *writes = text_of_writes(&d);
        ck_assert_str_eq(writes, removals == 1 ? parts[_i].removals : parts[_i].others);
        ck_assert_uint_eq(d.loss_count, removals == 1 ? losses : 0);
    }
}

TEST(json_is_carried_along)
{
    struct diff_rules with = {.balance = NULL};
    struct backend b;
    struct desired desired;
    struct diff d, zero = {0};
    text_backend(&b, "web", "server n1 " GOOD "\nserver n2 " GOOD);
    text_desired(&desired, "n1 10.0.0.9:80");
    diff_compute(&b, &desired, &with, &d);
    ck_assert_str_eq(d.changes[0].server.json, "{\"was\":\"n1\"}");
    ck_assert_str_eq(d.changes[1].server.json, "{\"was\":\"n2\"}");
    diff_fini(&d);
    diff_fini(&d);
    diff_fini(&zero);
    backend_fini(&b);
    desired_fini(&desired);
}

TEST(applying_a_creation)
{
    struct diff_rules with = {DEFAULTS, .create_backend = true, .proxy_v2 = true};
    struct backend b;
    struct desired desired;
    struct diff d;
    text_backend(&b, "web", "missing");
    text_set(&b.mode, "");
    text_desired(&desired, "n1 10.0.0.1:80");
    diff_compute(&b, &desired, &with, &d);
    diff_apply(&d, &with, &b);
    diff_fini(&d);
    ck_assert(b.exists);
    ck_assert_str_eq(b.mode, "tcp");
    ck_assert_int_eq(b.version, 7);
    diff_compute(&b, &desired, &with, &d);
    ck_assert_int_eq(d.verdict, DIFF_NOTHING);
    diff_fini(&d);
    backend_fini(&b);
    desired_fini(&desired);
}

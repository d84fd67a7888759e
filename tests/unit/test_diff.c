#include <check.h>

#include "backend_text.h"
#include "model/diff.h"
#include "model_text.h"

/* The rules, one row each: what is there, what is wished -> verdict, the writes, what was left out, why not. */
struct row {
    const char *rule;
    const char *backend;
    const char *wish;
    const char *globs; /* of HAPROXY_KEEP_SERVERS, separated by commas */
    struct diff_rules with;
    enum diff_verdict verdict;
    const char *writes; /* "+ ADD", "~ CHANGE (detail)", "- REMOVE", "= SETTINGS", "! CREATE", one a line */
    const char *left_out;
    const char *why;
};

#define GOOD "10.0.0.1:80 check weight 100"
#define SETTINGS "balance roundrobin\nadv_check tcp-check\n"
#define DEFAULTS .balance = "roundrobin", .adv_check = "tcp-check"

static const struct row rows[] = {
    {"in step: nothing", "server n1 " GOOD, "n1 10.0.0.1:80", "", {0}, DIFF_NOTHING, "", "", NULL},
    {"a new server: checked, with an explicit weight",
     "server n1 " GOOD,
     "n1 10.0.0.1:80; n2 10.0.0.2:80",
     "",
     {0},
     DIFF_WRITE,
     "+ n2 10.0.0.2:80 check weight 100",
     "",
     NULL},
    {"a departed one goes",
     "server n1 " GOOD "\nserver n2 10.0.0.2:80 check weight 100",
     "n1 10.0.0.1:80",
     "",
     {0},
     DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100",
     "",
     NULL},
    {"another address",
     "server n1 " GOOD,
     "n1 10.0.0.9:80",
     "",
     {0},
     DIFF_WRITE,
     "~ n1 10.0.0.9:80 check weight 100 (address 10.0.0.1 -> 10.0.0.9)",
     "",
     NULL},
    {"another port, and one that has none",
     "server n1 " GOOD "\nserver n2 10.0.0.2 check weight 5",
     "n1 10.0.0.1:81; n2 10.0.0.2:81",
     "",
     {0},
     DIFF_WRITE,
     "~ n1 10.0.0.1:81 check weight 100 (port 80 -> 81)\n~ n2 10.0.0.2:81 check weight 5 (port 0 -> 81)",
     "",
     NULL},
    {"a weight that is there stays, 0 too",
     "server n1 10.0.0.1:80 check weight 0\nserver n2 10.0.0.2:80 check weight 7",
     "n1 10.0.0.1:80; n2 10.0.0.2:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "",
     NULL},
    {"a weight that is not there and a check that is off are set",
     "server n1 10.0.0.1:80",
     "n1 10.0.0.1:80",
     "",
     {0},
     DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 100 (check on, weight 100)",
     "",
     NULL},
    {"maintenance is not our field",
     "server n1 " GOOD " disabled\nserver n2 10.0.0.2:80 check weight 1 disabled",
     "n1 10.0.0.1:80; n2 10.0.0.9:80",
     "",
     {0},
     DIFF_WRITE,
     "~ n2 10.0.0.9:80 check weight 1 disabled (address 10.0.0.2 -> 10.0.0.9)",
     "",
     NULL},
    {"two spellings of an IPv6 address are one",
     "server n1 [FD00:0::1]:80 check weight 1",
     "n1 [fd00::1]:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "",
     NULL},
    {"another IPv6 address is another one",
     "server n1 [fd00::1]:80 check weight 1",
     "n1 [fd00::2]:80",
     "",
     {0},
     DIFF_WRITE,
     "~ n1 [fd00::2]:80 check weight 1 (address fd00::1 -> fd00::2)",
     "",
     NULL},
    {"a host name is no address",
     "server n1 node1.example:80 check weight 1",
     "n1 10.0.0.1:80",
     "",
     {0},
     DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 1 (address node1.example -> 10.0.0.1)",
     "",
     NULL},
    {"additions, changes, removals, each by name",
     "server z 10.0.0.1:80\nserver c " GOOD "\nserver y 10.0.0.1:80",
     "a 10.0.0.1:80; b 10.0.0.2:80; c 10.0.0.3:80; z 10.0.0.1:80",
     "",
     {0},
     DIFF_WRITE,
     "+ a 10.0.0.1:80 check weight 100\n+ b 10.0.0.2:80 check weight 100\n"
     "~ c 10.0.0.3:80 check weight 100 (address 10.0.0.1 -> 10.0.0.3)\n"
     "~ z 10.0.0.1:80 check weight 100 (check on, weight 100)\n- y 10.0.0.1:80",
     "",
     NULL},

    /* what is not ours */
    {"backup servers stay",
     "server n1 " GOOD "\nserver spare 10.9.9.9:80 backup",
     "n1 10.0.0.1:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "",
     NULL},
    {"kept servers stay, by glob",
     "server n1 " GOOD "\nserver static-a 10.9.9.9:80\nserver db1 10.9.9.8:1\nserver x 10.9.9.7:1",
     "n1 10.0.0.1:80",
     "static-*,db?",
     {0},
     DIFF_WRITE,
     "- x 10.9.9.7:1",
     "",
     NULL},
    {"a wish named like a backup server is left out",
     "server n1 " GOOD "\nserver n2 10.9.9.9:81 backup",
     "n1 10.0.0.1:80; n2 10.0.0.2:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "n2: the backend has a backup server of that name (10.9.9.9:81), and those are not ours",
     NULL},
    {"a wish named like a kept server is left out, be it there or not",
     "server n1 " GOOD "\nserver n2 10.9.9.9:81",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80",
     "n[23]",
     {0},
     DIFF_NOTHING,
     "",
     "n2: the name matches n[23] in HAPROXY_KEEP_SERVERS, so that it would never be changed or removed\n"
     "n3: the name matches n[23] in HAPROXY_KEEP_SERVERS, so that it would never be changed or removed",
     NULL},
    {"a wish that a server-template makes is left out; its neighbours are not",
     "server-template n 2-3",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80; n4 10.0.0.4:80",
     "",
     {0},
     DIFF_WRITE,
     "+ n1 10.0.0.1:80 check weight 100\n+ n4 10.0.0.4:80 check weight 100",
     "n2: the line \"server-template n 2-3\" of the backend makes a server of that name\n"
     "n3: the line \"server-template n 2-3\" of the backend makes a server of that name",
     NULL},
    {"a template makes its own numbers only",
     "server-template n 1-20",
     "n 10.0.0.1:80; n01 10.0.0.2:80; n1x 10.0.0.3:80; n21 10.0.0.4:80; nx1 10.0.0.5:80",
     "",
     {0},
     DIFF_WRITE,
     "+ n 10.0.0.1:80 check weight 100\n+ n01 10.0.0.2:80 check weight 100\n+ n1x 10.0.0.3:80 check weight 100\n"
     "+ n21 10.0.0.4:80 check weight 100\n+ nx1 10.0.0.5:80 check weight 100",
     "",
     NULL},
    {"one name on two lines of ours: the first is looked after",
     "server n1 10.0.0.9:80 check weight 1\nserver n1 " GOOD,
     "n1 10.0.0.1:80",
     "",
     {0},
     DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 1 (address 10.0.0.9 -> 10.0.0.1)",
     "",
     NULL},
    {"one name on two lines, the first right",
     "server n1 " GOOD "\nserver n1 10.0.0.9:80",
     "n1 10.0.0.1:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "",
     NULL},
    {"one name on two lines, not wished: a removal at a time",
     "server n1 10.0.0.9:80\nserver n1 10.0.0.8:80\nserver n2 " GOOD,
     "n2 10.0.0.1:80",
     "",
     {0},
     DIFF_WRITE,
     "- n1 10.0.0.9:80",
     "",
     NULL},
    {"one name on two lines, one of them not ours: neither is touched",
     "server n1 10.0.0.9:80\nserver n1 10.0.0.8:80 backup\nserver n2 " GOOD,
     "n2 10.0.0.1:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "",
     NULL},
    {"the same, wished",
     "server n1 10.0.0.9:80\nserver n1 10.0.0.8:80 backup\nserver n2 " GOOD,
     "n1 10.0.0.1:80; n2 10.0.0.1:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "n1: the backend has a backup server of that name (10.0.0.8:80), and those are not ours",
     NULL},

    /* PROXY v2 */
    {"off: taken from our lines, left in default-server and on foreign ones",
     "default-server send-proxy-v2\nserver n1 " GOOD " send-proxy-v2\nserver b 10.9.9.9:80 send-proxy-v2 backup",
     "n1 10.0.0.1:80",
     "",
     {.proxy_v2 = PROXY_V2_OFF},
     DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 100 (send-proxy-v2 off)",
     "",
     NULL},
    {"on our servers",
     "server n1 " GOOD "\nserver b 10.9.9.9:80 backup",
     "n1 10.0.0.1:80; n2 10.0.0.2:80",
     "",
     {.proxy_v2 = PROXY_V2_SERVER},
     DIFF_WRITE,
     "+ n2 10.0.0.2:80 check weight 100 send-proxy-v2\n"
     "~ n1 10.0.0.1:80 check weight 100 send-proxy-v2 (send-proxy-v2 on)",
     "",
     NULL},
    {"in default-server: not on the lines",
     "server n1 " GOOD,
     "n1 10.0.0.1:80; n2 10.0.0.2:80",
     "",
     {.proxy_v2 = PROXY_V2_DEFAULT_SERVER},
     DIFF_WRITE,
     "= default-server send-proxy-v2 on\n+ n2 10.0.0.2:80 check weight 100",
     "",
     NULL},
    {"in default-server: what is on a line makes no difference, so it stays",
     "default-server send-proxy-v2\nserver n1 " GOOD " send-proxy-v2",
     "n1 10.0.0.1:80",
     "",
     {.proxy_v2 = PROXY_V2_DEFAULT_SERVER},
     DIFF_NOTHING,
     "",
     "",
     NULL},

    /* the backend itself */
    {"balance and check",
     "balance leastconn\nserver n1 " GOOD,
     "n1 10.0.0.1:80",
     "",
     {DEFAULTS},
     DIFF_WRITE,
     "= balance leastconn -> roundrobin, adv_check (none) -> tcp-check",
     "",
     NULL},
    {"both right", SETTINGS "server n1 " GOOD, "n1 10.0.0.1:80", "", {DEFAULTS}, DIFF_NOTHING, "", "", NULL},
    {"keep",
     "balance leastconn\nadv_check httpchk\nserver n1 " GOOD,
     "n1 10.0.0.1:80",
     "",
     {0},
     DIFF_NOTHING,
     "",
     "",
     NULL},
    {"missing, may be made: with all the servers",
     "missing",
     "n1 10.0.0.1:80",
     "",
     {DEFAULTS, .create_backend = true, .proxy_v2 = PROXY_V2_DEFAULT_SERVER},
     DIFF_WRITE,
     "! create\n+ n1 10.0.0.1:80 check weight 100",
     "",
     NULL},
    {"missing",
     "missing",
     "n1 10.0.0.1:80",
     "",
     {DEFAULTS},
     DIFF_REFUSE,
     "",
     "",
     "HAProxy has no backend web: add it to haproxy.cfg, or name another one with HAPROXY_BACKEND_NAME, or let it be "
     "made with HAPROXY_CREATE_BACKEND=true"},
    {"missing, may be made, but there is nothing to put in",
     "missing",
     "",
     "",
     {DEFAULTS, .create_backend = true},
     DIFF_HOLD,
     "",
     "",
     "none of the Service's 2 endpoints is ready; ALLOW_EMPTY is false, so the last good servers stay (0)"},
    {"missing, may be made and may be empty",
     "missing",
     "",
     "",
     {DEFAULTS, .create_backend = true, .allow_empty = true},
     DIFF_WRITE,
     "! create",
     "",
     NULL},
    {"lines that a write would damage",
     "server n1 " GOOD "\nalien 12 server x 10.1.1.1 foo|the API does not show it",
     "n1 10.0.0.9:80",
     "",
     {0},
     DIFF_REFUSE,
     "",
     "",
     "backend web has lines in haproxy.cfg that a write would damage: line 12 \"server x 10.1.1.1 foo\": the API does "
     "not show it"},
    {"many of them: some are named",
     "alien 1 a|r\nalien 2 b|r\nalien 3 c|r\nalien 4 d|r\nalien 5 e|r",
     "n1 10.0.0.9:80",
     "",
     {0},
     DIFF_REFUSE,
     "",
     "",
     "backend web has lines in haproxy.cfg that a write would damage: line 1 \"a\": r; line 2 \"b\": r; line 3 \"c\": "
     "r; and 2 more"},

    /* nothing left */
    {"no usable endpoint: the last good servers stay, and the settings too",
     "balance leastconn\nserver n1 " GOOD "\nserver n2 10.0.0.2:80\nserver b 10.9.9.9:80 backup",
     "",
     "",
     {DEFAULTS},
     DIFF_HOLD,
     "",
     "",
     "none of the Service's 2 endpoints is ready; ALLOW_EMPTY is false, so the last good servers stay (2)"},
    {"no usable endpoint, and that is allowed",
     "server n1 " GOOD "\nserver b 10.9.9.9:80 backup",
     "",
     "",
     {.allow_empty = true},
     DIFF_WRITE,
     "- n1 10.0.0.1:80 check weight 100",
     "",
     NULL},
    {"allowed, and empty already",
     "server b 10.9.9.9:80 backup",
     "",
     "",
     {.allow_empty = true},
     DIFF_NOTHING,
     "",
     "",
     NULL},
    {"all that is wished clashes: that is nothing left, too",
     "server n1 " GOOD "\nserver n2 10.9.9.9:80 backup",
     "n2 10.0.0.2:80",
     "",
     {0},
     DIFF_HOLD,
     "",
     "n2: the backend has a backup server of that name (10.9.9.9:80), and those are not ours",
     "each server's name clashes with one that is not ours; ALLOW_EMPTY is false, so the last good servers stay (1)"},
};

static void globs_split(char *text, char **ret, struct diff_rules *rules)
{
    for (char *glob; text[0] != '\0' && (glob = strsep(&text, ",")) != NULL;) {
        ret[rules->keep_count++] = glob;
        if (text == NULL)
            break;
    }
    rules->keep_servers = ret;
}

static char *text_of_writes(const struct diff *d)
{
    struct buf b;
    buf_init(&b, 0);
    if (d->create_backend)
        buf_add(&b, "! create");
    if (d->backend_change)
        buf_printf(&b, "= %s", d->backend_detail);
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        buf_printf(&b, "%s%c ", b.len > 0 ? "\n" : "", "+~-"[c->op]);
        text_print_server(&b, &c->server);
        if (c->op == DIFF_CHANGE)
            buf_printf(&b, " (%s)", c->detail);
        else
            ck_assert_str_eq(c->detail, "");
        ck_assert_msg((c->server.json == NULL) == (c->op == DIFF_ADD), "json of %s", c->server.name);
    }
    return buf_take(&b);
}

static char *text_of_left_out(const struct diff *d)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < d->skip_count; i++)
        buf_printf(&b, "%s%s: %s", i > 0 ? "\n" : "", d->skips[i].name, d->skips[i].reason);
    return buf_take(&b);
}

START_TEST(every_rule)
{
    const struct row *row = &rows[_i];
    struct diff_rules with = row->with;
    struct backend b;
    struct desired wish;
    struct diff d;
    char *globs[4];
    cleanup(mem_free_ptr) char *glob_text = mem_strdup(row->globs);
    globs_split(glob_text, globs, &with);
    text_backend(&b, "web", row->backend);
    text_wish(&wish, row->wish);
    diff_compute(&b, &wish, &with, &d);
    cleanup(mem_free_ptr) char *writes = text_of_writes(&d), *left_out = text_of_left_out(&d);
    ck_assert_msg(d.verdict == row->verdict, "%s: verdict %d, not %d", row->rule, d.verdict, row->verdict);
    ck_assert_msg(strcmp(writes, row->writes) == 0, "%s:\n  have %s\n  want %s", row->rule, writes, row->writes);
    ck_assert_msg(strcmp(left_out, row->left_out) == 0, "%s:\n  have %s\n  want %s", row->rule, left_out,
                  row->left_out);
    ck_assert_msg(str_eq(d.why, row->why), "%s:\n  have %s", row->rule, d.why != NULL ? d.why : "(none)");
    diff_fini(&d);
    desired_fini(&wish);
    backend_fini(&b);
}
END_TEST

START_TEST(an_unknown_wish_is_never_written)
{
    static const enum desired_state states[] = {DESIRED_NOT_SYNCED, DESIRED_UNDECIDED};
    for (size_t i = 0; i < array_len(states); i++) {
        struct diff_rules with = {.allow_empty = true, .create_backend = true};
        struct desired wish = {.state = states[i], .problem = i == 0 ? NULL : mem_strdup("several ports")};
        struct backend b;
        struct diff d;
        text_backend(&b, "web", "server n1 " GOOD);
        diff_compute(&b, &wish, &with, &d);
        ck_assert_int_eq(d.verdict, DIFF_REFUSE);
        ck_assert_uint_eq(d.change_count, 0);
        ck_assert_str_eq(d.why, i == 0 ? "the wanted servers are not known yet" : "several ports");
        diff_fini(&d);
        desired_fini(&wish);
        backend_fini(&b);
    }
}
END_TEST

START_TEST(counts)
{
    static const char text[] = "server n1 " GOOD "\nserver b1 10.9.9.9:80 backup\nserver b2 10.9.9.8:80 backup "
                               "send-proxy-v2\nserver n2 10.0.0.2:80\nserver-template t 1-3";
    struct diff_rules with = {.proxy_v2 = PROXY_V2_DEFAULT_SERVER};
    struct backend b;
    struct desired wish;
    struct diff d;
    text_wish(&wish, "n1 10.0.0.1:80");
    text_backend(&b, "web", text);
    diff_compute(&b, &wish, &with, &d);
    ck_assert_uint_eq(d.ours_count, 2);
    ck_assert_uint_eq(d.foreign_count, 3);
    ck_assert_msg(d.foreign_inherit_count == 2, "b1 and the template; b2 has it already");
    diff_fini(&d);
    b.default_send_proxy_v2 = true;
    diff_compute(&b, &wish, &with, &d);
    ck_assert_msg(d.foreign_inherit_count == 0, "not by a change of ours");
    diff_fini(&d);
    b.default_send_proxy_v2 = false;
    with.proxy_v2 = PROXY_V2_SERVER;
    diff_compute(&b, &wish, &with, &d);
    ck_assert_uint_eq(d.foreign_inherit_count, 0);
    diff_fini(&d);
    backend_fini(&b);
    desired_fini(&wish);
}
END_TEST

START_TEST(json_is_carried_along)
{
    struct diff_rules with = {.balance = NULL};
    struct backend b;
    struct desired wish;
    struct diff d, zero = {0};
    text_backend(&b, "web", "server n1 " GOOD "\nserver n2 " GOOD);
    text_wish(&wish, "n1 10.0.0.9:80");
    diff_compute(&b, &wish, &with, &d);
    ck_assert_str_eq(d.changes[0].server.json, "{\"was\":\"n1\"}");
    ck_assert_str_eq(d.changes[1].server.json, "{\"was\":\"n2\"}");
    diff_fini(&d);
    diff_fini(&d);
    diff_fini(&zero);
    backend_fini(&b);
    desired_fini(&wish);
}
END_TEST

START_TEST(applying_a_creation)
{
    struct diff_rules with = {DEFAULTS, .create_backend = true, .proxy_v2 = PROXY_V2_DEFAULT_SERVER};
    struct backend b;
    struct desired wish;
    struct diff d;
    text_backend(&b, "web", "missing");
    text_set(&b.mode, "");
    text_wish(&wish, "n1 10.0.0.1:80");
    diff_compute(&b, &wish, &with, &d);
    diff_apply(&d, &with, &b);
    diff_fini(&d);
    ck_assert(b.exists);
    ck_assert_str_eq(b.mode, "tcp");
    ck_assert_int_eq(b.version, 7);
    diff_compute(&b, &wish, &with, &d);
    ck_assert_int_eq(d.verdict, DIFF_NOTHING);
    diff_fini(&d);
    backend_fini(&b);
    desired_fini(&wish);
}
END_TEST

/* ---- properties over random states ---- */

static char kept_k[] = "k*", kept_9[] = "?9";
static char *const property_globs[] = {kept_k, kept_9};

static struct diff_rules random_rules(struct dice *dice)
{
    static const char *const balances[] = {NULL, "roundrobin", "leastconn"}, *const checks[] = {NULL, "tcp-check"};
    return (struct diff_rules){.balance = balances[dice_below(dice, 3)],
                               .adv_check = checks[dice_below(dice, 2)],
                               .proxy_v2 = (enum proxy_v2)dice_below(dice, 3),
                               .keep_servers = property_globs,
                               .keep_count = dice_below(dice, array_len(property_globs) + 1),
                               .allow_empty = true};
}

/* Names n0..n9 and k0..k3; each at most once unless `duplicates`. */
static void random_backend(struct dice *dice, struct backend *b, bool duplicates)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    for (unsigned i = 0; i < 14; i++) {
        unsigned lines = duplicates ? dice_below(dice, 3) : dice_below(dice, 2);
        for (unsigned k = 0; k < lines; k++) {
            buf_printf(&text, "server %c%u 10.0.0.%u:%u", i < 10 ? 'n' : 'k', i % 10, dice_below(dice, 3) + 1,
                       80 + dice_below(dice, 2));
            buf_add(&text, dice_one_in(dice, 4) ? "" : " check");
            if (!dice_one_in(dice, 4))
                buf_printf(&text, " weight %u", dice_below(dice, 257));
            buf_add(&text, dice_one_in(dice, 5) ? " backup" : "");
            buf_add(&text, dice_one_in(dice, 5) ? " disabled" : "");
            buf_add(&text, dice_one_in(dice, 3) ? " send-proxy-v2\n" : "\n");
        }
    }
    if (dice_one_in(dice, 3))
        buf_printf(&text, "server-template n 3-%u\n", 3 + dice_below(dice, 3));
    if (dice_one_in(dice, 3))
        buf_add(&text, "default-server send-proxy-v2\n");
    if (dice_one_in(dice, 2))
        buf_add(&text, SETTINGS);
    text_backend(b, "web", buf_str(&text));
}

static void random_wish(struct dice *dice, struct desired *d)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    for (unsigned i = 0; i < 14; i++) {
        bool v6 = dice_one_in(dice, 6);
        if (dice_one_in(dice, 2))
            continue;
        /* k sorts before n */
        buf_printf(&text, "%s%c%u %s%u%s:%u", text.len > 0 ? "; " : "", i < 4 ? 'k' : 'n', i < 4 ? i : i - 4,
                   v6 ? "[fd00::" : "10.0.0.", dice_below(dice, 3) + 1, v6 ? "]" : "", 80 + dice_below(dice, 2));
    }
    text_wish(d, buf_str(&text));
}

/* All the lines that are not ours, in their order. */
static char *foreign_text(const struct backend *b, const struct diff_rules *rules)
{
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < b->server_count; i++)
        if (diff_server_is_foreign(&b->servers[i], rules)) {
            text_print_server(&text, &b->servers[i]);
            buf_printf(&text, " %s\n", b->servers[i].json);
        }
    for (size_t i = 0; i < b->template_count; i++)
        buf_printf(&text, "server-template %s %u %u\n", b->templates[i].prefix, b->templates[i].first,
                   b->templates[i].last);
    return buf_take(&text);
}

static bool is_skipped(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->skip_count; i++)
        if (strcmp(d->skips[i].name, name) == 0)
            return true;
    return false;
}

/* Our part of b is the wish (without what clashed), with weights and maintenance as they were. */
static void check_ours(const struct backend *b, const struct backend *before, const struct desired *wish,
                       const struct diff *d, const struct diff_rules *rules)
{
    size_t ours = 0, wished = 0;
    for (size_t i = 0; i < b->server_count; i++)
        ours += !diff_server_is_foreign(&b->servers[i], rules);
    for (size_t i = 0; i < wish->server_count; i++) {
        const struct desired_server *w = &wish->servers[i];
        if (is_skipped(d, w->name))
            continue;
        wished++;
        const struct backend_server *s = backend_find(b, w->name), *old = backend_find(before, w->name);
        ck_assert_ptr_nonnull(s);
        ck_assert(strcmp(s->address, w->address) == 0 && s->port == w->port && s->check && !s->backup);
        ck_assert_int_eq(s->weight, old != NULL && old->weight >= 0 ? old->weight : DIFF_NEW_WEIGHT);
        ck_assert(s->maintenance == (old != NULL && old->maintenance));
        if (rules->proxy_v2 != PROXY_V2_DEFAULT_SERVER)
            ck_assert(s->send_proxy_v2 == (rules->proxy_v2 == PROXY_V2_SERVER));
    }
    ck_assert_uint_eq(ours, wished);
    ck_assert(rules->balance == NULL || strcmp(b->balance, rules->balance) == 0);
    ck_assert(rules->adv_check == NULL || strcmp(b->adv_check, rules->adv_check) == 0);
    ck_assert(b->default_send_proxy_v2 ==
              (before->default_send_proxy_v2 || rules->proxy_v2 == PROXY_V2_DEFAULT_SERVER));
}

static void backend_copy(struct backend *to, const struct backend *from)
{
    text_backend(to, from->name, "");
    text_set(&to->balance, from->balance);
    text_set(&to->adv_check, from->adv_check);
    to->default_send_proxy_v2 = from->default_send_proxy_v2;
    to->servers = mem_array(from->server_count, sizeof(to->servers[0]));
    to->server_count = from->server_count;
    for (size_t i = 0; i < from->server_count; i++)
        backend_server_copy(&to->servers[i], &from->servers[i]);
    to->templates = mem_array(from->template_count, sizeof(to->templates[0]));
    to->template_count = from->template_count;
    for (size_t i = 0; i < from->template_count; i++) {
        to->templates[i] = from->templates[i];
        to->templates[i].prefix = mem_strdup(from->templates[i].prefix);
    }
}

START_TEST(applying_the_difference_gives_the_wish)
{
    struct dice dice = {987654321987u};
    unsigned wrote = 0, skipped = 0;
    for (unsigned round = 0; round < 4000; round++) {
        struct diff_rules with = random_rules(&dice);
        struct backend b, before;
        struct desired wish;
        struct diff d, again;
        random_backend(&dice, &b, false);
        backend_copy(&before, &b);
        random_wish(&dice, &wish);
        diff_compute(&b, &wish, &with, &d);
        cleanup(mem_free_ptr) char *foreign = foreign_text(&b, &with);
        diff_apply(&d, &with, &b);
        cleanup(mem_free_ptr) char *still = foreign_text(&b, &with);
        ck_assert_str_eq(foreign, still);
        check_ours(&b, &before, &wish, &d, &with);
        diff_compute(&b, &wish, &with, &again);
        ck_assert_msg(again.verdict == DIFF_NOTHING && again.change_count == 0, "round %u", round);
        wrote += d.verdict == DIFF_WRITE;
        skipped += d.skip_count > 0;
        diff_fini(&d);
        diff_fini(&again);
        desired_fini(&wish);
        backend_fini(&b);
        backend_fini(&before);
    }
    ck_assert_msg(wrote > 3000 && skipped > 1000, "the states are worth something: %u, %u", wrote, skipped);
}
END_TEST

START_TEST(duplicates_settle_without_touching_what_is_not_ours)
{
    struct dice dice = {55555555555u};
    for (unsigned round = 0; round < 1500; round++) {
        struct diff_rules with = random_rules(&dice);
        struct backend b;
        struct desired wish;
        struct diff d;
        unsigned writes = 0;
        random_backend(&dice, &b, true);
        random_wish(&dice, &wish);
        cleanup(mem_free_ptr) char *foreign = foreign_text(&b, &with);
        for (;; writes++) {
            diff_compute(&b, &wish, &with, &d);
            if (d.verdict == DIFF_NOTHING)
                break;
            ck_assert_msg(d.verdict == DIFF_WRITE && writes < 4, "round %u", round);
            for (size_t i = 0; i < d.change_count; i++)
                for (size_t k = 0; k < b.server_count; k++)
                    ck_assert_msg(strcmp(b.servers[k].name, d.changes[i].server.name) != 0 ||
                                      !diff_server_is_foreign(&b.servers[k], &with),
                                  "round %u: a write to %s could hit a line that is not ours", round,
                                  b.servers[k].name);
            diff_apply(&d, &with, &b);
            diff_fini(&d);
        }
        diff_fini(&d);
        cleanup(mem_free_ptr) char *still = foreign_text(&b, &with);
        ck_assert_str_eq(foreign, still);
        desired_fini(&wish);
        backend_fini(&b);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("diff");
    TCase *t = tcase_create("rules");
    tcase_add_loop_test(t, every_rule, 0, (int)array_len(rows));
    tcase_add_test(t, an_unknown_wish_is_never_written);
    tcase_add_test(t, counts);
    tcase_add_test(t, json_is_carried_along);
    tcase_add_test(t, applying_a_creation);
    suite_add_tcase(s, t);
    t = tcase_create("properties");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, applying_the_difference_gives_the_wish);
    tcase_add_test(t, duplicates_settle_without_touching_what_is_not_ours);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}

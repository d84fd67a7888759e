/* src/servers/change/diff: draining and live servers, weights, the check's port, why a line changes, and what is lost by it. */
#include "../diff_apply.h"
#include "diff_text.h"

#define N1 "server n1 10.0.0.1:80 check weight 100"
#define N2 "server n2 10.0.0.2:80 check weight 100"
#define OWN_PORT .own_check_port = true
#define HTTPCHK "adv_check httpchk\nhttpchk_params\n"

static const struct diff_row rows[] = {
    /* states */
    {"a draining server: maintenance on its line", "", N1 "\n" N2, "n1 10.0.0.1:80; n2 10.0.0.2:80 draining",
     DIFF_WRITE, "~ n2 10.0.0.2:80 check weight 100 disabled (maintenance on (draining))",
     "n2 lost, announced: n2 is wanted"},
    {"still draining: nothing", "", N1 "\n" N2 " disabled", "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", DIFF_NOTHING, "",
     ""},
    {"a draining server without a line gets none", "", N1, "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", DIFF_NOTHING, "",
     ""},
    {"nor in a backend that is to be made", "create", "missing", "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", DIFF_WRITE,
     "! create\n+ n1 10.0.0.1:80 check weight 100", ""},
    {"a draining server that moved: address, port, check as usual", "", N1 "\nserver n2 10.0.0.3:81 weight 7",
     "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 7 disabled (maintenance on (draining), address 10.0.0.3 -> 10.0.0.2, port 81 -> "
     "80, check on)",
     "n2 lost, announced: n2 is wanted"},
    {"a change of a server that drains already is no loss", "", N1 "\nserver n2 10.0.0.3:80 check weight 7 disabled",
     "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 7 disabled (address 10.0.0.3 -> 10.0.0.2)", "n2: n2 is wanted"},
    {"live again", "", N1 "\n" N2 " disabled", "n1 10.0.0.1:80; n2 10.0.0.2:80", DIFF_WRITE,
     "~ n2 10.0.0.2:80 check weight 100 (maintenance off)", "n2: n2 is wanted"},
    {"out after draining: no loss any more", "", N1 "\n" N2 " disabled",
     "n1 10.0.0.1:80; out n2 announced its drain is over", DIFF_WRITE, "- n2 10.0.0.2:80 check weight 100 disabled",
     "n2: node n2: its drain is over"},
    {"out, announced", "", N1 "\n" N2, "n1 10.0.0.1:80; out n2 announced it is being deleted", DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100", "n2 lost, announced: node n2: it is being deleted"},
    {"out, not announced", "", N1 "\n" N2, "n1 10.0.0.1:80; out n2 its endpoint is not ready", DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100", "n2 lost: node n2: its endpoint is not ready"},
    {"a line that nobody knows", "", N1 "\n" N2, "n1 10.0.0.1:80; out n3 its endpoint is not ready", DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100", "n2 lost: no endpoint of the Service is on a node of that name"},
    {"a foreign line keeps its state", "kept=k",
     N1 "\nserver n2 10.0.0.2:80 backup disabled\nserver k 10.0.0.4:80 disabled",
     "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", DIFF_NOTHING,
     "? n2: the backend has a backup server of that name (10.0.0.2:80), and backup servers are unmanaged", ""},
    {"a line of ours whose name a server-template makes goes, with the reason", "",
     N1 "\n" N2 "\nserver-template n 2-3", "n1 10.0.0.1:80; n2 10.0.0.2:80; out n2 announced nonsense", DIFF_WRITE,
     "- n2 10.0.0.2:80 check weight 100\n"
     "? n2: the line \"server-template n 2-3\" of the backend makes a server of that name",
     "n2 lost: the line \"server-template n 2-3\" of the backend makes a server of that name"},

    /* hold */
    {"only draining ones are left: they stay in service", "", N1 "\n" N2,
     "n1 10.0.0.1:80 draining; n2 10.0.0.2:80 draining", DIFF_NO_ENDPOINT,
     "because only draining servers would be left; ALLOW_EMPTY is false, so the last servers stay (2)", ""},
    {"the only live one clashes: hold, though another drains", "", N1 "\nserver n2 10.0.0.2:80 backup",
     "n1 10.0.0.1:80 draining; n2 10.0.0.2:80", DIFF_NO_ENDPOINT,
     "? n2: the backend has a backup server of that name (10.0.0.2:80), and backup servers are unmanaged\n"
     "because each server's name clashes with an unmanaged server; ALLOW_EMPTY is false, so the last servers stay (1)",
     ""},
    {"the same where an empty backend is allowed", "empty", N1 "\nserver n2 10.0.0.2:80 backup",
     "n1 10.0.0.1:80 draining; n2 10.0.0.2:80", DIFF_WRITE,
     "~ n1 10.0.0.1:80 check weight 100 disabled (maintenance on (draining))\n"
     "? n2: the backend has a backup server of that name (10.0.0.2:80), and backup servers are unmanaged",
     "n1 lost, announced: n1 is wanted"},

    /* weights */
    {"a weight of the wish is written exactly, 0 too; none keeps what is there", "",
     N1 "\n" N2
        "\nserver n3 10.0.0.3:80 check\nserver n4 10.0.0.4:80 check weight 9\nserver n5 10.0.0.5:80 check weight 8",
     "n1 10.0.0.1:80 weight 3; n2 10.0.0.2:80 weight 0; n3 10.0.0.3:80 weight 256; n4 10.0.0.4:80; n5 10.0.0.5:80 "
     "weight 8; n6 10.0.0.6:80 weight 2",
     DIFF_WRITE,
     "+ n6 10.0.0.6:80 check weight 2\n~ n1 10.0.0.1:80 check weight 3 (weight 100 -> 3)\n"
     "~ n2 10.0.0.2:80 check weight 0 (weight 100 -> 0)\n~ n3 10.0.0.3:80 check weight 256 (weight 256)",
     "n1: n1 is wanted\nn2: n2 is wanted\nn3: n3 is wanted"},

    /* the check's port */
    {"not ours: what is there stays, whatever the wish says", "check=tcp-check",
     "adv_check tcp-check\nserver n1 10.0.0.1:80 check port 8080 weight 1", "n1 10.0.0.1:80; check-port 32000",
     DIFF_NOTHING, "", ""},
    {"ours: on each of our lines, by HTTP; not on foreign ones", "check=tcp-check own-port",
     "adv_check tcp-check\n" N1 "\nserver n2 10.0.0.2:80 check port 1 weight 1\nserver n3 10.0.0.3:80 check port 32000 "
     "weight 1\nserver b 10.9.9.9:80 backup",
     "n1 10.0.0.1:80; n2 10.0.0.2:80; n3 10.0.0.3:80; n4 10.0.0.4:80; check-port 32000", DIFF_WRITE,
     "= adv_check tcp-check -> httpchk, httpchk GET /healthz\n+ n4 10.0.0.4:80 check port 32000 weight 1\n"
     "~ n1 10.0.0.1:80 check port 32000 weight 100 (check port 32000)\n"
     "~ n2 10.0.0.2:80 check port 32000 weight 1 (check port 32000)",
     NULL},
    {"also where the kind of check is otherwise left alone", "own-port",
     "adv_check mysql-check\nserver n1 10.0.0.1:80 check port 32000 weight 1", "n1 10.0.0.1:80; check-port 32000",
     DIFF_WRITE, "= adv_check mysql-check -> httpchk, httpchk GET /healthz", ""},
    {"an httpchk that does not say what to ask for", "check=tcp-check own-port",
     "adv_check httpchk\nserver n1 10.0.0.1:80 check port 32000 weight 1", "n1 10.0.0.1:80; check-port 32000",
     DIFF_WRITE, "= httpchk GET /healthz", ""},
    {"one that does: it is an operator's", "check=tcp-check own-port",
     HTTPCHK "server n1 10.0.0.1:80 check port 32000 weight 1", "n1 10.0.0.1:80; check-port 32000", DIFF_NOTHING, "",
     ""},
    {"no check port any more: back to the settings", "check=tcp-check own-port",
     HTTPCHK "server n1 10.0.0.1:80 check port 32000 weight 1", "n1 10.0.0.1:80", DIFF_WRITE,
     "= adv_check httpchk -> tcp-check\n~ n1 10.0.0.1:80 check weight 1 (check port off)", "n1: n1 is wanted"},
    {"an httpchk of the settings without a check port asks for what it likes", "check=httpchk own-port",
     "adv_check httpchk\n" N1, "n1 10.0.0.1:80", DIFF_NOTHING, "", ""},

    /* lines of our own making that the API has not read */
    {"all that our lines may say", "",
     N1 "\nalien 12 server n2 10.0.0.2:80 check port 32000 weight 100 disabled init-addr last,libc,none "
        "send-proxy-v2|not shown",
     "n1 10.0.0.1:80; n2 10.0.0.2:80", DIFF_WRITE, "+ n2 10.0.0.2:80 check weight 100", ""},
    {"an IPv6 address, and a server that drains by now", "",
     N1 "\nalien 12 server n2 [fd00::2]:80 check weight 100|not shown\nalien 13 server n3 10.0.0.3:80 check|not shown",
     "n1 10.0.0.1:80; n2 [fd00::2]:80; n3 10.0.0.3:80 draining", DIFF_WRITE, "+ n2 [fd00::2]:80 check weight 100", ""},
    {"another init-addr is not ours", "", N1 "\nalien 12 server n2 10.0.0.2:80 check init-addr none|not shown",
     "n1 10.0.0.1:80; n2 10.0.0.2:80", DIFF_REFUSE,
     "because backend web has lines in haproxy.cfg that a write would damage: line 12 \"server n2 10.0.0.2:80 check "
     "init-addr none\": not shown",
     ""},
    {"a port without a number is not ours", "", N1 "\nalien 12 server n2 10.0.0.2:80 check port|not shown",
     "n1 10.0.0.1:80; n2 10.0.0.2:80", DIFF_REFUSE,
     "because backend web has lines in haproxy.cfg that a write would damage: line 12 \"server n2 10.0.0.2:80 check "
     "port\": not shown",
     ""},
};

TEST_EACH(every_rule, array_len(rows))
{
    diff_row_check(&rows[_i]);
}

/* One difference, from text. */
struct made {
    struct backend b;
    struct desired desired;
    struct diff_rules rules;
    struct diff d;
};

static void make(struct made *m, const char *backend, const char *desired)
{
    text_backend(&m->b, "web", backend);
    text_desired(&m->desired, desired);
    diff_compute(&m->b, &m->desired, &m->rules, &m->d);
}

static void made_fini(struct made *m)
{
    diff_fini(&m->d);
    desired_fini(&m->desired);
    backend_fini(&m->b);
}

#define FIVE                                                                                             \
    N1 "\n" N2 "\nserver n3 10.0.0.3:80 check weight 1\nserver n4 10.0.0.4:80 check weight 1 disabled\n" \
       "server n5 10.0.0.5:80 check weight 1\nserver b 10.9.9.9:80 backup\nserver c 10.9.9.8:80 backup disabled"

TEST(what_is_live_and_what_is_lost)
{
    cleanup(made_fini) struct made m = {.rules = {.allow_empty = true}};
    make(&m, FIVE, "n1 10.0.0.1:80; n2 10.0.0.2:80 draining; out n3 announced why not; out n4 so; out n5 so");
    ck_assert_uint_eq(m.d.managed_count, 5);
    ck_assert_uint_eq(m.d.foreign_count, 2);
    ck_assert_msg(m.d.live_count == 4, "n4 is in maintenance, b and c are not ours");
    ck_assert_msg(m.d.loss_count == 1, "n5; n2 and n3 are announced, n4 was not live");
}

TEST(a_refusal_and_a_hold_still_count_what_is_live)
{
    cleanup(made_fini) struct made refused = {0}, held = {0};
    make(&refused, N1 "\n" N2 " disabled\nalien 3 x|y", "n1 10.0.0.1:80");
    ck_assert_int_eq(refused.d.verdict, DIFF_REFUSE);
    ck_assert_uint_eq(refused.d.live_count, 1);
    make(&held, N1 "\n" N2, "");
    ck_assert_int_eq(held.d.verdict, DIFF_NO_ENDPOINT);
    ck_assert_uint_eq(held.d.live_count, 2);
    ck_assert_msg(held.d.loss_count == 0, "a hold loses nothing");
}

TEST(losses_are_withheld_and_the_rest_goes_on)
{
    cleanup(made_fini) struct made m = {.rules = {.balance = "roundrobin"}};
    make(&m, FIVE,
         "n1 10.0.0.9:80; n2 10.0.0.2:80 draining; n6 10.0.0.6:80; out n3 announced why not; out n4 so; out n5 so");
    ck_assert(diff_withhold_losses(&m.d, NULL, NULL));
    cleanup(mem_free_ptr) char *left = text_of_reasons(&m.d);
    ck_assert_str_eq(left, "n1: n1 is wanted\nn2 lost, announced: n2 is wanted\n"
                           "n3 lost, announced: node n3: why not\nn4: node n4: so");
    ck_assert_int_eq(m.d.verdict, DIFF_WRITE);
    ck_assert(m.d.backend_change);
    ck_assert_uint_eq(m.d.loss_count, 0);
    ck_assert_uint_eq(m.d.live_count, 4);
    ck_assert_uint_eq(m.d.managed_count, 5);
}

TEST(nothing_is_left_but_losses)
{
    cleanup(made_fini) struct made servers = {0}, settings = {.rules = {.balance = "roundrobin"}}, none = {0};
    make(&servers, N1 "\n" N2, "n1 10.0.0.1:80");
    ck_assert(!diff_withhold_losses(&servers.d, NULL, NULL));
    ck_assert_int_eq(servers.d.verdict, DIFF_NOTHING);
    ck_assert_uint_eq(servers.d.change_count, 0);
    make(&settings, N1 "\n" N2, "n1 10.0.0.1:80");
    ck_assert_msg(diff_withhold_losses(&settings.d, NULL, NULL), "the balance");
    ck_assert_int_eq(settings.d.verdict, DIFF_WRITE);
    ck_assert_uint_eq(settings.d.change_count, 0);
    make(&none, N1, "");
    ck_assert(!diff_withhold_losses(&none.d, NULL, NULL));
    ck_assert_int_eq(none.d.verdict, DIFF_NO_ENDPOINT);
}

TEST(what_the_check_is_to_be)
{
    cleanup(made_fini) struct made by_port = {.rules = {.adv_check = "tcp-check", OWN_PORT}},
                                   by_settings = {.rules = {.adv_check = "tcp-check", OWN_PORT}}, kept = {0};
    make(&by_port, HTTPCHK N1, "n1 10.0.0.1:80; check-port 32000");
    ck_assert_str_eq(by_port.d.settings.adv_check, "httpchk");
    ck_assert(by_port.d.settings.httpchk_healthz);
    make(&by_settings, N1, "n1 10.0.0.1:80");
    ck_assert_str_eq(by_settings.d.settings.adv_check, "tcp-check");
    ck_assert(!by_settings.d.settings.httpchk_healthz);
    make(&kept, N1, "n1 10.0.0.1:80");
    ck_assert_ptr_null(kept.d.settings.adv_check);
}

TEST(a_backend_is_made_with_its_check)
{
    cleanup(made_fini) struct made m = {.rules = {.create_backend = true, OWN_PORT}};
    make(&m, "missing", "n1 10.0.0.1:80; check-port 32000");
    diff_apply(&m.d, &m.rules, &m.b);
    diff_fini(&m.d);
    ck_assert_str_eq(m.b.adv_check, "httpchk");
    ck_assert(m.b.httpchk_params);
    diff_compute(&m.b, &m.desired, &m.rules, &m.d);
    ck_assert_int_eq(m.d.verdict, DIFF_NOTHING);
}

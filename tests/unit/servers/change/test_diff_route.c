/* src/servers/change/diff: what needs a transaction, what the loss limit leaves of parking, and one difference after the other. */
#include "../diff_apply.h"
#include "parking_text.h"
#include "haproxy/backend.h"
#include "servers/change/diff_internal.h"

static bool needs_transaction(const struct backend *actual, const struct diff_change *c, const struct diff_rules *rules)
{
    const struct backend_server *is = NULL;
    for (size_t i = 0; i < actual->server_count; i++) {
        if (strcmp(actual->servers[i].name, c->server.name) != 0)
            continue;
        if (is != NULL)
            return true;
        is = &actual->servers[i];
    }
    return is == NULL || diff_line_needs_transaction(actual, is, c, rules);
}

TEST(what_is_counted)
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME}}, held = {.rules = {RUNTIME}}, empty = {.rules = {RUNTIME}},
                                   unknown = {.rules = {RUNTIME}};
    make(&m, 3,
         N1 "\n" N2 "\n" N3 "\n" N4 " disabled\nserver n5 10.0.0.5:80 disabled\nserver b 10.9.9.9:80 backup disabled",
         LIVE1 SPARE5 "; n4 10.0.0.4:80 draining; out n3 announced so");
    ck_assert_uint_eq(m.d.managed_count, 8);
    ck_assert_uint_eq(m.d.live_count, 3);
    ck_assert_msg(m.d.parked_count == 4, "p00, p01, p02 and the spare n5");
    ck_assert_msg(m.d.loss_count == 1, "n2");
    make(&held, 2, N1 "\n" N2, "");
    ck_assert_uint_eq(held.d.parked_count, 2);
    ck_assert_str_eq(held.d.why,
                     "none of the Service's 2 endpoints is ready; ALLOW_EMPTY is false, so the last servers stay (2)");
    make(&empty, 2, "", "");
    ck_assert_str_eq(empty.d.why,
                     "none of the Service's 2 endpoints is ready; there is no managed server to keep either");
    make(&unknown, 2, N1, LIVE1);
    unknown.desired.state = DESIRED_NOT_SYNCED;
    made_again(&unknown, 2);
    ck_assert_int_eq(unknown.d.verdict, DIFF_REFUSE);
    ck_assert_msg(unknown.d.parked_count == 0, "who is parked is not known without a wish");
}

TEST(a_desired_state_that_is_not_known_parks_nobody)
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME, .allow_empty = true}};
    make(&m, 0, N1 "\n" N2, "");
    m.desired.state = DESIRED_UNDECIDED;
    made_again(&m, 2);
    ck_assert_int_eq(m.d.verdict, DIFF_REFUSE);
    ck_assert_uint_eq(m.d.change_count, 0);
}

TEST(the_loss_limit_holds_parking_back)
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME}};
    make(&m, 0, N1 "\n" N2 "\n" N3 "\n" N4, "n1 10.0.0.9:80; out n3 announced so");
    ck_assert_uint_eq(m.d.loss_count, 2);
    ck_assert(diff_withhold_losses(&m.d, NULL, NULL));
    cleanup(mem_free_ptr) char *left = text_of_reasons(&m.d);
    ck_assert_str_eq(left, "n1: n1 is wanted\nn3 lost, announced: node n3: so");
    ck_assert_uint_eq(m.d.loss_count, 0);
    ck_assert_int_eq(m.d.verdict, DIFF_WRITE);
}

/* What was to go along with a loss that is held back waits again. */
TEST(the_loss_limit_leaves_no_lazy_one_alone)
{
    static const struct {
        bool runtime;
        const char *backend, *desired, *left;
    } cases[] = {
        {false, N1 "\n" N2, LIVE1, ""},
        {false, N1 "\n" N2, LIVE1 "; n3 10.0.0.3:80", "n4x: " NO_NODE},
        {true, N1 "\n" N2 "\nserver-template n 2-2", "n1 10.0.0.1:80 weight 1", "n1: n1 is wanted"},
        {true, N1 "\n" N2 "\nserver-template n 2-2", "n1 10.0.0.1:80", ""},
        {true, N1 "\n" N2 "\nserver-template n 2-2\n" N3, "n1 10.0.0.1:80; n5 10.0.0.5:80", "n4x: " NO_NODE},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        cleanup(made_fini) struct made m = {.rules = {.runtime = cases[i].runtime}};
        cleanup(mem_free_ptr) char *backend = mem_printf("%s\nserver n4x 10.0.0.4:80 disabled", cases[i].backend);
        make(&m, 0, backend, cases[i].desired);
        bool lazy = false;
        for (size_t k = 0; k < m.d.change_count; k++)
            lazy = lazy || m.d.changes[k].lazy;
        ck_assert_msg(lazy, "case %zu: the removal takes it along", i);
        ck_assert(diff_withhold_losses(&m.d, NULL, NULL) == (cases[i].left[0] != '\0'));
        cleanup(mem_free_ptr) char *left = text_of_reasons(&m.d);
        ck_assert_msg(strcmp(left, cases[i].left) == 0, "case %zu: %s", i, left);
        ck_assert_int_eq(m.d.verdict, cases[i].left[0] != '\0' ? DIFF_WRITE : DIFF_NOTHING);
    }
}

static const struct {
    const char *line, *desired;
    unsigned fields;
    bool needs;
} changes[] = {
    {"n1 10.0.0.1:80 check weight 100", "n1 10.0.0.2:80", SERVER_ADDRESS, false},
    {"n1 10.0.0.1:80 check weight 100", "n1 [fd00::1]:80", SERVER_ADDRESS, false},
    {"n1 node1:80 check weight 100", "n1 10.0.0.2:80", SERVER_ADDRESS, true},
    {"n1 10.0.0.1:80 check weight 100", "n1 node1:80", SERVER_ADDRESS, true},
    {"n1 10.0.0.1:80 check weight 100", "n1 10.0.0.1:81", SERVER_PORT, false},
    {"n1 10.0.0.1 check weight 100", "n1 10.0.0.1:81", SERVER_PORT, true},
    {"n1 node1:80 check weight 100", "n1 node1:81", SERVER_PORT, true},
    {"n1 10.0.0.1 check weight 100", "n1 10.0.0.2:81", SERVER_ADDRESS | SERVER_PORT, true},
    {"n1 10.0.0.1:80 check weight 100", "n1 10.0.0.1:80 weight 1", SERVER_WEIGHT, false},
    {"n1 10.0.0.1:80 check weight 100\nbalance source", "n1 10.0.0.1:80 weight 1", SERVER_WEIGHT, true},
    {"n1 10.0.0.1:80 check weight 100\nbalance source", "n1 10.0.0.2:80", SERVER_ADDRESS, false},
    {"n1 10.0.0.1:80 check", "n1 10.0.0.1:80", SERVER_WEIGHT, false},
    {"n1 node1:80 check weight 5", "n1 node1:80 weight 1", SERVER_WEIGHT, false},
    {"n1 10.0.0.1:80 check weight 5 disabled", "n1 10.0.0.1:80", SERVER_MAINTENANCE, false},
    {"n1 node1:80 check weight 5 disabled", "n1 node1:80", SERVER_MAINTENANCE, false},
    {"n1 10.0.0.1:80 weight 5", "n1 10.0.0.1:80", SERVER_CHECK, true},
    {"n1 10.0.0.1:80 check weight 5", "n1 10.0.0.1:80; check-port 7", SERVER_CHECK_PORT, false},
    {"n1 10.0.0.1:80 check port 8 weight 5", "n1 10.0.0.1:80; check-port 7", SERVER_CHECK_PORT, false},
    {"n1 10.0.0.1:80 check port 8 weight 5", "n1 10.0.0.1:80", SERVER_CHECK_PORT, true},
    {"n1 10.0.0.1:80 check weight 5 send-proxy-v2", "n1 10.0.0.1:80", SERVER_PROXY_V2, true},
    {"n1 10.0.0.1:80 check port 8 weight 5 disabled", "n1 10.0.0.2:81 weight 1; check-port 7",
     SERVER_ADDRESS | SERVER_PORT | SERVER_WEIGHT | SERVER_MAINTENANCE | SERVER_CHECK_PORT, false},
    {"n1 10.0.0.1:80 disabled send-proxy-v2 port 8", "n1 10.0.0.2:81",
     SERVER_ADDRESS | SERVER_PORT | SERVER_WEIGHT | SERVER_MAINTENANCE | SERVER_CHECK_PORT | SERVER_CHECK |
         SERVER_PROXY_V2,
     true},
    {"n1 10.0.0.1:80 check weight 100\nserver n1 10.0.0.1:80", "n1 10.0.0.1:80 weight 1", SERVER_WEIGHT, true},
    {"n1 10.0.0.1:80 check weight 100\nserver n2 10.0.0.1:80 disabled\nserver n2 10.0.0.3:80 disabled backup",
     "n1 10.0.0.1:80 weight 1", SERVER_WEIGHT, false},
};

TEST_EACH(every_change, array_len(changes))
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME, .own_check_port = true, .sets_check_port = true}};
    cleanup(mem_free_ptr) char *line = mem_printf("adv_check httpchk\nhttpchk_params\nserver %s", changes[_i].line);
    make(&m, 0, line, changes[_i].desired);
    ck_assert_uint_eq(m.d.change_count, 1);
    const struct diff_change *c = &m.d.changes[0];
    ck_assert_int_eq(c->op, DIFF_CHANGE);
    ck_assert_msg(c->fields == changes[_i].fields, "%s: fields %x", changes[_i].line, c->fields);
    ck_assert_msg(c->structural == changes[_i].needs, "%s", changes[_i].line);
    ck_assert_msg(needs_transaction(&m.b, c, &m.rules) == changes[_i].needs, "%s", changes[_i].line);
}

TEST(a_check_port_where_none_can_be_set)
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME, .own_check_port = true}};
    make(&m, 0, "adv_check httpchk\nhttpchk_params\nserver n1 10.0.0.1:80 check weight 5",
         "n1 10.0.0.1:80; check-port 7");
    ck_assert(m.d.change_count == 1 && m.d.changes[0].fields == SERVER_CHECK_PORT && m.d.changes[0].structural);
}

TEST(lines_that_come_and_go)
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME}};
    make(&m, 65, N1 "\n" N2, "n1 10.0.0.1:80; n3 10.0.0.3:80");
    ck_assert_uint_eq(m.d.change_count, 3);
    ck_assert_msg(needs_transaction(&m.b, &m.d.changes[0], &m.rules), "n3 is new");
    ck_assert_msg(!needs_transaction(&m.b, &m.d.changes[1], &m.rules), "n2 is parked");
    ck_assert_msg(needs_transaction(&m.b, &m.d.changes[2], &m.rules), "p00 goes");
    backend_fini(&m.b);
    text_backend(&m.b, "web", N1);
    ck_assert_msg(needs_transaction(&m.b, &m.d.changes[1], &m.rules), "its line is not there any more");
}

/* n2 goes and comes back, time after time: no line comes or goes, nothing needs a transaction. */
TEST(moving_among_known_nodes_needs_no_transaction)
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME}};
    make(&m, 0, N1 "\n" N2, LIVE1 "; n2 10.0.0.2:80");
    for (unsigned i = 0; i < 20; i++) {
        desired_fini(&m.desired);
        text_desired(&m.desired, i % 2 == 0 ? LIVE1 : LIVE1 "; n2 10.0.0.2:80");
        made_again(&m, 2 + i * 900);
        ck_assert_uint_eq(m.d.change_count, 1);
        ck_assert(!m.d.changes[0].structural && m.d.changes[0].fields == SERVER_MAINTENANCE);
        diff_apply(&m.d, &m.rules, &m.b);
        made_again(&m, 2 + i * 900);
        ck_assert_int_eq(m.d.verdict, DIFF_NOTHING);
    }
    ck_assert_uint_eq(m.b.server_count, 2);
}

/* Of 500 servers nearly all go: some are parked, the others removed, and one such difference is enough. */
TEST(many_at_once)
{
    static const bool runtime[] = {false, true};
    for (size_t k = 0; k < array_len(runtime); k++) {
        cleanup(made_fini) struct made m = {.rules = {.runtime = runtime[k]}};
        cleanup(buf_fini) struct buf lines = {0};
        buf_add(&lines, N1);
        for (unsigned i = 0; i < 500; i++)
            buf_printf(&lines, "\nserver q%03u 10.2.0.1:80", i);
        make(&m, 0, buf_str(&lines), LIVE1);
        size_t parks = 0;
        for (size_t i = 0; i < m.d.change_count; i++)
            parks += m.d.changes[i].parks;
        ck_assert_uint_eq(parks, PARKING_MAX);
        ck_assert_uint_eq(m.d.change_count, 500);
        ck_assert_uint_eq(m.d.loss_count, 500);
        diff_apply(&m.d, &m.rules, &m.b);
        made_again(&m, 2);
        ck_assert_int_eq(m.d.verdict, DIFF_NOTHING);
        ck_assert_uint_eq(m.d.parked_count, PARKING_MAX);
    }
}

/* The desired state that counts is the one of the difference, though who is parked was read with another. */
TEST(a_new_spare_does_not_go)
{
    cleanup(made_fini) struct made m = {.rules = {RUNTIME}};
    make(&m, 0, N1 "\nserver n2x 10.0.0.2:80 disabled", LIVE1 "; n3 10.0.0.3:80");
    ck_assert_uint_eq(m.d.change_count, 2);
    diff_fini(&m.d);
    desired_fini(&m.desired);
    text_desired(&m.desired, LIVE1 "; n3 10.0.0.3:80; spare n2x 10.0.0.2:80");
    diff_compute(&m.b, &m.desired, &m.rules, &m.d);
    ck_assert_uint_eq(m.d.change_count, 1);
    ck_assert_str_eq(m.d.changes[0].server.name, "n3");
}

/* No memory of who is parked: as it was before there was parking. */
TEST(without_parking_spares_are_nothing)
{
    cleanup(made_fini) struct made m = {.rules = {0}};
    make(&m, 1, N1 "\nserver n5 10.0.0.5:80 disabled", LIVE1 SPARE5 "; spare n6 10.0.0.6:80");
    parking_free(m.parking);
    m.parking = NULL;
    made_again(&m, 2);
    cleanup(mem_free_ptr) char *updates = text_of_writes(&m.d);
    ck_assert_str_eq(updates, "- n5 10.0.0.5:80 disabled\n- p00 10.1.0.1:80 disabled");
}

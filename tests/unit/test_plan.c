/* src/sync/plan: verdicts; what the differences are is model/diff's test. */
#include <check.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "sync/plan.h"

static struct backend make_backend(bool exists, const char *server, const char *address)
{
    struct backend b;
    backend_init(&b);
    b.name = mem_strdup("be");
    b.exists = exists;
    b.version = 7;
    b.mode = mem_strdup("tcp");
    b.balance = mem_strdup("roundrobin");
    b.adv_check = mem_strdup("tcp-check");
    b.json = mem_strdup("{\"name\":\"be\"}");
    if (server != NULL) {
        b.servers = mem_array(1, sizeof(*b.servers));
        b.server_count = 1;
        b.servers[0] = (struct backend_server){.name = mem_strdup(server),
                                               .address = mem_strdup(address),
                                               .port = 30443,
                                               .weight = 100,
                                               .check = true,
                                               .json = mem_strdup("{}")};
    }
    return b;
}

static struct desired make_wish(enum desired_state state, const char *server, const char *address)
{
    struct desired d;
    desired_init(&d);
    d.state = state;
    if (state != DESIRED_OK)
        d.problem = mem_strdup("why not");
    if (server != NULL) {
        d.servers = mem_array(1, sizeof(*d.servers));
        d.server_count = 1;
        d.servers[0] =
            (struct desired_server){.name = mem_strdup(server), .address = mem_strdup(address), .port = 30443};
    }
    return d;
}

static const struct {
    const char *what;
    enum desired_state state;
    const char *wanted, *wanted_address;
    bool exists;
    const char *actual;
    bool dirty;
    enum plan_verdict verdict;
} rows[] = {
    {"not synced", DESIRED_NOT_SYNCED, NULL, NULL, true, "n1", false, PLAN_WAIT},
    {"not synced, dirty", DESIRED_NOT_SYNCED, NULL, NULL, true, "n1", true, PLAN_WAIT},
    {"undecided", DESIRED_UNDECIDED, NULL, NULL, true, "n1", true, PLAN_WAIT},
    {"same", DESIRED_OK, "n1", "10.0.0.1", true, "n1", false, PLAN_IN_STEP},
    {"same, dirty", DESIRED_OK, "n1", "10.0.0.1", true, "n1", true, PLAN_RELOAD_AGAIN},
    {"other address", DESIRED_OK, "n1", "10.0.0.2", true, "n1", false, PLAN_WRITE},
    {"other address, dirty", DESIRED_OK, "n1", "10.0.0.2", true, "n1", true, PLAN_WRITE},
    {"other server", DESIRED_OK, "n2", "10.0.0.1", true, "n1", false, PLAN_WRITE},
    {"first server", DESIRED_OK, "n1", "10.0.0.1", true, NULL, false, PLAN_WRITE},
    {"empty", DESIRED_EMPTY, NULL, NULL, true, "n1", false, PLAN_HOLD},
    {"empty, dirty", DESIRED_EMPTY, NULL, NULL, true, "n1", true, PLAN_RELOAD_AGAIN},
    {"no backend", DESIRED_OK, "n1", "10.0.0.1", false, NULL, false, PLAN_REFUSE},
    {"no backend, dirty", DESIRED_OK, "n1", "10.0.0.1", false, NULL, true, PLAN_REFUSE},
};

START_TEST(verdicts)
{
    const struct diff_rules rules = {.balance = "roundrobin", .adv_check = "tcp-check"};
    struct backend actual = make_backend(rows[_i].exists, rows[_i].actual, "10.0.0.1");
    struct desired wish = make_wish(rows[_i].state, rows[_i].wanted, rows[_i].wanted_address);
    struct plan plan;
    plan_make(&actual, &wish, &rules, rows[_i].dirty, &plan);
    ck_assert_msg(plan.verdict == rows[_i].verdict, "%s: %d", rows[_i].what, plan.verdict);
    if (plan.verdict == PLAN_WAIT || plan.verdict == PLAN_HOLD || plan.verdict == PLAN_REFUSE)
        ck_assert_msg(!str_empty(plan.why), "%s: no reason", rows[_i].what);
    if (plan.verdict == PLAN_WAIT)
        ck_assert_uint_eq(plan.diff.change_count, 0);
    plan_fini(&plan);
    plan_fini(&plan);
    backend_fini(&actual);
    desired_fini(&wish);
}
END_TEST

/* What the file lacks, or has more than the API shows, and what that means for a write. */
static const struct {
    const char *text;
    bool only_shown, dirty;
    enum plan_verdict verdict;
} strange[] = {
    {"backend be", true, false, PLAN_REFUSE},
    {"backend be", true, true, PLAN_RELOAD_AGAIN},
    {"server x 10.0.0.9:1 check odd", false, false, PLAN_REFUSE},
    {"server x 10.0.0.9:1 check odd", false, true, PLAN_REFUSE},
    {"server n2 10.0.0.2:30443 check weight 100", false, false, PLAN_WRITE},
    {"server n2 10.0.0.2:30443 check weight 100 send-proxy-v2", false, false, PLAN_WRITE},
    {"server n2 10.0.0.2:30443", false, false, PLAN_WRITE},
    {"server n2 10.0.0.2:304430 check", false, false, PLAN_REFUSE},
    {"server n2 10.0.0.2:30443 check inter 5s", false, false, PLAN_REFUSE},
    {"server n2 10.0.0.2:30443 checks", false, false, PLAN_REFUSE},
    {"server n2 10.0.0.3:30443 check", false, false, PLAN_REFUSE},
    {"server n1 10.0.0.1:30443 check", false, false, PLAN_REFUSE}, /* shown: then it is here for another reason */
};

START_TEST(strange_lines)
{
    const struct diff_rules rules = {.balance = "roundrobin", .adv_check = "tcp-check"};
    struct backend actual = make_backend(true, "n1", "10.0.0.1");
    struct desired wish = make_wish(DESIRED_OK, "n1", "10.0.0.1");
    wish.servers = mem_resize(wish.servers, 2, sizeof(*wish.servers));
    wish.servers[wish.server_count++] =
        (struct desired_server){.name = mem_strdup("n2"), .address = mem_strdup("10.0.0.2"), .port = 30443};
    actual.aliens = mem_array(1, sizeof(*actual.aliens));
    actual.aliens[actual.alien_count++] = (struct backend_alien_line){.line = 9,
                                                                      .text = mem_strdup(strange[_i].text),
                                                                      .reason = mem_strdup("because"),
                                                                      .only_shown = strange[_i].only_shown};
    struct plan plan;
    plan_make(&actual, &wish, &rules, strange[_i].dirty, &plan);
    ck_assert_msg(plan.verdict == strange[_i].verdict, "%s: %d", strange[_i].text, plan.verdict);
    plan_fini(&plan);
    backend_fini(&actual);
    desired_fini(&wish);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *t = tcase_create("plan");
    tcase_add_loop_test(t, verdicts, 0, (int)array_len(rows));
    tcase_add_loop_test(t, strange_lines, 0, (int)array_len(strange));
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* src/daemon/inspect/inspect_report: what each verdict is for the exit status and for JSON. */

#include "inspect_world.h"

/* The plan's own verdicts are made by hand here: how it comes to them is test_plan's. */
static const struct {
    enum plan_verdict plan;
    const char *word;
    int status;
} verdicts[] = {
    {PLAN_IN_SYNC, "in_sync", 0},         {PLAN_WRITE, "changes", 2},         {PLAN_RELOAD_AGAIN, "reload_again", 2},
    {PLAN_NO_ENDPOINT, "no_endpoint", 2}, {PLAN_LOSS_LIMIT, "loss_limit", 2}, {PLAN_NOT_WRITTEN, "not_written", 2},
    {PLAN_REFUSE, "refused", 1},          {PLAN_WAIT, "waiting", 1},
};

static struct inspect_backend *add(enum plan_verdict verdict)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:80");
    b->seen = true;
    b->plan.verdict = verdict;
    return b;
}

FIXTURE(world_set_up, world_tear_down)

TEST_EACH(one_backend, array_len(verdicts))
{
    const struct inspect_backend *b = add(verdicts[_i].plan);
    ck_assert_str_eq(inspect_verdict_word(inspect_verdict(b)), verdicts[_i].word);
    ck_assert_int_eq(inspect_plan_status(&w.report), verdicts[_i].status);
}

/* 1 over 2 over 0, in whatever order they stand. */
TEST_EACH(the_worst_of_two_counts, array_len(verdicts) * array_len(verdicts))
{
    size_t i = (size_t)_i / array_len(verdicts), k = (size_t)_i % array_len(verdicts);
    add(verdicts[i].plan);
    add(verdicts[k].plan);
    int one = verdicts[i].status, two = verdicts[k].status;
    ck_assert_int_eq(inspect_plan_status(&w.report), one == 1 || two == 1 ? 1 : one > two ? one : two);
}

TEST_EACH(the_worst_of_two_haproxies_counts, array_len(verdicts))
{
    w.report.target_count = 2;
    struct inspect_backend *b = add(PLAN_IN_SYNC), *other = world_in(&w, 1, b);
    other->seen = true;
    other->plan.verdict = verdicts[_i].plan;
    ck_assert_int_eq(inspect_plan_status(&w.report), verdicts[_i].status);
    ck_assert_int_eq(inspect_target_status(&w.report, &w.report.targets[0]), 0);
    ck_assert_int_eq(inspect_target_status(&w.report, &w.report.targets[1]), verdicts[_i].status);
}

TEST(what_was_not_read_is_not_known)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:80");
    world_unseen(b, "connection refused");
    ck_assert_str_eq(inspect_verdict_word(inspect_verdict(b)), "unknown");
    ck_assert_int_eq(inspect_plan_status(&w.report), 1);
    world_see(&w, b, "server n1 10.0.0.1:80 check weight 100");
    ck_assert_int_eq(inspect_plan_status(&w.report), 0);
    w.report.incomplete = true;
    ck_assert_int_eq(inspect_plan_status(&w.report), 1);
}

TEST(an_explanation_in_any_backend_is_one)
{
    ck_assert_int_eq(inspect_explain_status(&w.report), 1);
    world_add(&w, "be", "n1 10.0.0.1:80");
    struct inspect_backend *b = world_add(&w, "be2", "n1 10.0.0.1:80");
    ck_assert_int_eq(inspect_explain_status(&w.report), 1);
    world_mapping(b)->node_known = true;
    ck_assert_int_eq(inspect_explain_status(&w.report), 0);
}

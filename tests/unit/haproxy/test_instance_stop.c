/* src/haproxy/instance: asked to stop at any time, it ends soon and leaves no transaction behind; in the world of
 * engine_world.h. */
#include "../engine_world.h"

FIXTURE(world_make_watched, world_end)

TEST_EACH(stop_while_nothing_is_written, 6)
{
    static const char steps[] = "RstwHP";
    instance_start(w.target.instance);
    desired("n2", "event");
    until(steps[_i]);
    stop();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert(!w.busy);
    ck_assert_ptr_null(virtual_next_timer(UINT64_MAX));
}

TEST_EACH(stop_in_each_step_of_a_transaction, 6)
{
    static const char *const rest[] = {"LLRB+-C", "LLB", "BBD", "++D", "--D", "CC"};
    static const char steps[] = "-LB+-C";
    char step = steps[_i];
    if (_i == 0)
        return;
    instance_start(w.target.instance);
    desired("n2", "event");
    until(step);
    buf_clear(&w.trace);
    stop();
    ck_assert_uint_eq(w.stopped, 0);
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(w.transaction, 0);
    ck_assert_uint_eq(w.commits, step == 'C' ? 1 : 0);
    if (step != 'L')
        assert_trace(rest[_i] + 1);
    ck_assert_ptr_null(virtual_next_timer(UINT64_MAX));
}

TEST_EACH(stop_while_the_api_fails, 20)
{
    static const char steps[] = "B+-CD";
    static const int statuses[] = {0, 401, 409, 500};
    char step = steps[_i % 5];
    instance_start(w.target.instance);
    desired("n2", "event");
    fault((struct fault){.step = step, .status = statuses[_i / 5]});
    if (step == 'D')
        fault((struct fault){.step = '+', .status = 500});
    until(step);
    stop();
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.stopped, 1);
}

TEST(stop_while_waiting)
{
    world_in_sync();
    fault((struct fault){.step = 'B', .status = 503, .after_ms = 60000});
    desired("n2", "event");
    settle();
    stop();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_ptr_null(virtual_next_timer(UINT64_MAX));
    instance_refresh(w.target.instance);
    ck_assert(!w.busy);
    ck_assert_uint_eq(w.stopped, 1);
}

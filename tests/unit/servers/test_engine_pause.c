/* The servers engine: paused, holding, and in a dry run: nothing is written, and it says so; in the world of
 * engine_world.h. */
#include "rules_world.h"
#include "scenes.h"

#include "../test.h"

/* ---- pauses and dry runs ---- */

FIXTURE(NULL, world_end)

static const struct scene scenes[] = {
    /* ---- pauses and dry runs ---- */
    {"a pause holds what is to be written",
     "begin 1 | set paused | desired n2 n3 | pass 10min | transactions 0 | out-of-sync | "
     "ready the Service has the annotation haproxy-k8s-sync/paused: nothing is written | logged changes not written | "
     "logged added=n2(10.0.0.2:80),n3(10.0.0.3:80) removed=n1 | metric paused/be 1 | metric changes_pending/be 3 | "
     "unset paused | desired n2 n3 | pass 5000 | settled n2 n3 | metric changes_pending/be 0"},
    {"a paused one in sync is in sync",
     "begin 1 | set paused | desired n1 | pass 0 | settled n1 | ready in sync, paused | "
     "logged paused by the Service's annotation | unset paused | desired n1 | logged no longer paused"},
    /* A Service that nobody made and a backend that is empty: a wrong name must not look good. */
    {"nothing to hold is not ready",
     "world 1 | have | start | desired | pass 0 | "
     "unready no server yet: no usable endpoint; there is no managed server to keep either | desired n1 | pass 5000 | "
     "settled n1"},
    {"sighup is answered while nothing is written",
     "begin 1 | set paused | desired n2 | pass 0 | forget | refresh | pass 0 | logged changes not written"},
    {"a dry run that has nothing to do is in sync", "begin 1 dry | settled n1 | transactions 0"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
}

/* Whoever reads "holding" at night has to find its end, too. */
TEST_EACH(the_end_of_a_hold_is_told, 2)
{
    begin_with(1, no_loss_limit);
    forget_log();
    desired(_i == 0 ? "" : "?", "event");
    pass(0);
    ck_assert(!in_sync());
    ck_assert(!logged("in sync"));
    desired("n1", "it is back");
    pass(0);
    ck_assert(logged("HAProxy is in sync"));
}

/* The transaction in hand goes on; nothing else does, whether it is committed or not. */
TEST_EACH(a_pause_while_a_transaction_is_in_hand, 2)
{
    begin_with(1, no_loss_limit);
    if (_i == 1)
        fault((struct fault){.step = 'C', .status = 409, .times = 1});
    desired("n2", "event");
    until('C');
    w.paused = true;
    desired("n3", "another, and a pause");
    pass(5 * MINUTES_MS);
    ck_assert_str_eq(w.have.of[0], _i == 1 ? "n1" : "n2");
    ck_assert_uint_eq(w.transactions, 1);
    ck_assert_uint_eq(w.transaction, 0);
    w.paused = false;
    desired("n3", "MODIFIED service");
    pass(5000);
    assert_settled("n3");
}

TEST(a_pause_does_not_stop_the_other_backend)
{
    begin_with(2, no_loss_limit);
    w.paused = true;
    desired_of(0, "n2", "event");
    w.paused = false;
    desired_of(1, "n2", "event");
    servers_apply(w.target.servers);
    pass(5000);
    ck_assert(set_eq(w.running.of[0], "n1"));
    assert_settled_two("n2");
}

TEST(a_dry_run_writes_nothing_at_all)
{
    struct plan_rules rules = no_loss_limit;
    rules.dry_run = true;
    world_make_with(1, rules);
    w.reload_list = "[{\"id\":\"r-1\",\"status\":\"failed\",\"response\":\"bad\",\"reload_timestamp\":1}]";
    instance_start(w.target.instance);
    desired("n2", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert_uint_eq(count('D'), 0);
    ck_assert_uint_eq(count('L'), 0);
    ck_assert(!in_sync());
    assert_ready(true, "DRY_RUN=true: nothing is written");
    ck_assert(logged("added=n2(10.0.0.2:80) removed=n1"));
}

/* There is no write of ours that could mend it; whoever does write here may. */
TEST(a_dry_run_sees_that_a_failed_reload_was_mended)
{
    struct plan_rules rules = no_loss_limit;
    rules.dry_run = true;
    world_make_with(1, rules);
    w.reload_list = "[{\"id\":\"r-1\",\"status\":\"failed\",\"response\":\"bad\",\"reload_timestamp\":1}]";
    instance_start(w.target.instance);
    desired("n1", "event");
    pass(10 * MINUTES_MS);
    ck_assert(!in_sync());
    ck_assert(logged("changes not written"));
    ck_assert(logged("reload=true"));
    w.reload_list = "[]"; /* the API started again: that tells nothing of HAProxy */
    pass(10 * MINUTES_MS);
    ck_assert(!in_sync());
    fault((struct fault){.step = 'H', .status = 500});
    pass(10 * MINUTES_MS);
    ck_assert(!in_sync());
    assert_ready(true, "DRY_RUN=true: nothing is written");
    mend();
    w.reload_list = "[{\"id\":\"r-2\",\"status\":\"succeeded\",\"response\":\"\",\"reload_timestamp\":2}]";
    pass(RESYNC_MS + 5000);
    assert_settled("n1");
    ck_assert_uint_eq(w.transactions, 0);
}

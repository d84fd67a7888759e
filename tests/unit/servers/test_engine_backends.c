/* The servers engine: several backends in one transaction, and one that keeps no other up; in the world of
 * engine_world.h. */
#include "rules_world.h"
#include "servers/servers_internal.h"

#include "../test.h"

/* ---- several backends ---- */

FIXTURE(NULL, world_end)

TEST(what_changed_at_once_is_one_transaction)
{
    begin_with(2, no_loss_limit);
    assert_settled("n1");
    desired_both("n2", "n1 n3", "MODIFIED node");
    settle();
    assert_trace("B+-+CR");
    ck_assert_uint_eq(w.commits, 1);
    pass(5000);
    assert_settled("n2");
    assert_settled_two("n1 n3");
    ck_assert(logged("backend=be cause=\"MODIFIED node\" added=n2(10.0.0.2:80) removed=n1"));
    ck_assert(logged("backend=two cause=\"MODIFIED node\" added=n3(10.0.0.3:80)"));
}

TEST(one_that_changed_leaves_the_other_alone)
{
    begin_with(2, no_loss_limit);
    desired_of(1, "n2", "event");
    servers_apply(w.target.servers);
    settle();
    assert_trace("B+-CR");
    pass(5000);
    assert_settled("n1");
    assert_settled_two("n2");
}

static uint64_t plans(size_t backend)
{
    return w.target.servers->backends[backend].planned.made;
}

/* Nor do readings that find what was there plan anything anew. */
TEST(what_did_not_change_is_not_planned)
{
    begin_with(2, no_loss_limit);
    settle();
    uint64_t other = plans(0), own = plans(1);
    desired_of(1, "n2", "event");
    servers_apply(w.target.servers);
    ck_assert_uint_eq(plans(0), other);
    ck_assert_uint_eq(plans(1), own + 1);
    pass(5000);
    assert_settled_two("n2");
    other = plans(0), own = plans(1);
    double reconciles = metric_value(w.telemetry.reconciles, "in_sync", API_URL, NULL);
    pass(3 * RESYNC_MS);
    ck_assert_double_ge(metric_value(w.telemetry.reconciles, "in_sync", API_URL, NULL), reconciles + 6);
    ck_assert_uint_eq(plans(0), other);
    ck_assert_uint_eq(plans(1), own);
}

/* The API is asked for all of them now and then all the same, and where something is or may be another. */
TEST(backends_of_a_file_that_is_as_it_was_are_not_read)
{
    begin_with(2, no_loss_limit);
    pass(RESYNC_MS);
    unsigned lists = w.lists, readings = w.readings;
    pass(20 * RESYNC_MS);
    ck_assert_uint_ge(w.readings, readings + 20);
    ck_assert_uint_eq(w.lists, lists + 2);
    lists = w.lists;
    desired_of(1, "n2", "event");
    servers_apply(w.target.servers);
    pass(RESYNC_MS);
    ck_assert_uint_gt(w.lists, lists);
    assert_settled_two("n2");
    pass(RESYNC_MS);
    lists = w.lists;
    fault((struct fault){.step = 'w', .status = 503, .times = 1});
    pass(2 * RESYNC_MS);
    ck_assert_uint_eq(w.lists, lists + 1); /* another API may be back */
}

TEST(one_that_has_no_desired_state_yet_keeps_no_other_up)
{
    world_make_with(2, no_loss_limit);
    instance_start(w.target.instance);
    desired("n2", "event");
    pass(5000);
    ck_assert(set_eq(w.running.of[0], "n2"));
    ck_assert(set_eq(w.running.of[1], "n1"));
    assert_ready(false, "backend two: waiting for Kubernetes");
    assert_ready(false, "[+]target http://api backend be: in sync");
}

TEST(one_that_is_missing_keeps_no_other_up)
{
    world_make_with(2, no_loss_limit);
    w.absent[0] = true;
    instance_start(w.target.instance);
    desired_both("n2", "n2", "event");
    pass(5000);
    assert_settled_two("n2");
    assert_ready(false, "backend be: not writing to HAProxy: HAProxy has no backend be");
    assert_ready(false, "[+]target http://api backend two: in sync");
    ck_assert_uint_eq(w.commits, 1);
    w.absent[0] = false;
    w.version = ++w.file_version;
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
}

/* HAProxy refuses the transaction for one of them: each alone, and only the wrong one stays behind, whichever it is. */
TEST_EACH(one_that_is_refused_keeps_no_other_up, 2)
{
    begin_with(2, no_loss_limit);
    w.forbidden = "n9";
    desired_both(_i == 0 ? "n9" : "n2", _i == 0 ? "n2" : "n9", "event");
    pass(MINUTES_MS);
    ck_assert_msg(set_eq(w.running.of[_i], "n1"), "%s", w.running.of[_i]);
    ck_assert_msg(set_eq(w.running.of[1 - _i], "n2"), "%s", w.running.of[1 - _i]);
    assert_ready(false,
                 _i == 0 ? "backend be: HAProxy rejected the change" : "backend two: HAProxy rejected the change");
    assert_ready(false,
                 _i == 0 ? "[+]target http://api backend two: in sync" : "[+]target http://api backend be: in sync");
    ck_assert_uint_le(w.transactions, 10);
    /* What comes next for the good one does not wait for the bad one. */
    desired_of(1 - (size_t)_i, "n3", "event");
    servers_apply(w.target.servers);
    pass(5000);
    ck_assert(set_eq(w.running.of[1 - _i], "n3"));
    w.forbidden = NULL;
    pass(10 * MINUTES_MS);
    ck_assert(set_eq(w.running.of[_i], "n9"));
    ck_assert(in_sync());
    assert_ready(true, "in sync");
}

/* A trouble of all is over for the good one, though the other is refused still. */
TEST(a_refusal_keeps_no_old_trouble_alive)
{
    begin_with(2, no_loss_limit);
    w.forbidden = "n9";
    desired_both("n9", "n2", "event");
    pass(MINUTES_MS);
    fault((struct fault){.step = 'w', .status = 503, .times = 2});
    instance_refresh(w.target.instance);
    settle();
    assert_ready(false, "[-]target http://api backend two: cannot read");
    pass(MINUTES_MS);
    assert_ready(false, "[+]target http://api backend two: in sync");
}

/* Each of our own commits moves the version: that is no cure for what was refused. */
TEST(commits_to_the_other_do_not_ask_the_refused_one_again)
{
    begin_with(2, no_loss_limit);
    w.forbidden = "n9";
    desired_both("n9", "n2", "event");
    pass(MINUTES_MS);
    unsigned transactions = w.transactions;
    for (int i = 0; i < 20; i++) {
        desired_of(1, i % 2 == 0 ? "n3" : "n2", "event");
        servers_apply(w.target.servers);
        pass(2000);
    }
    assert_settled_two("n2");
    ck_assert_uint_le(w.transactions, transactions + 20 + 5);
    w.forbidden = NULL;
    stranger("n1"); /* but somebody else's may be */
    pass(RESYNC_MS + 5000);
    ck_assert(set_eq(w.running.of[0], "n9"));
}

TEST(a_reload_that_fails_is_repeated_once_for_all)
{
    begin_with(2, no_loss_limit);
    w.fail_reloads = 1;
    desired_both("n2", "n2", "event");
    pass(10000);
    assert_settled("n2");
    assert_settled_two("n2");
    ck_assert_uint_eq(w.commits, 2);
}

/* ---- what a commit tells ---- */

/* What was planned for it before is no part of a transaction any more. */
TEST(one_that_cannot_be_read_is_in_no_empty_commit)
{
    begin_with(2, no_loss_limit);
    w.fail_reloads = 1;
    desired_both("n2", "n2", "event");
    until('P');
    pass(1000);
    assert_ready(false, "reload failed");
    /* Answers that make no sense: the one about both, and that about the first. */
    fault((struct fault){.step = 'R', .status = 200, .times = 2});
    stranger("n7");
    instance_refresh(w.target.instance);
    pass(5000);
    assert_settled("n2");
    assert_settled_two("n2");
    ck_assert(logged("cannot read HAProxy's configuration"));
    ck_assert(!logged("committed change missing"));
}

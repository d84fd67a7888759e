/* The servers engine: several backends in one transaction, and one that keeps no other up; in the world of
 * engine_world.h. */
#include "rules_world.h"
#include "scenes.h"
#include "servers/servers_internal.h"

FIXTURE(NULL, world_end)

static const struct scene scenes[] = {
    /* ---- several backends ---- */
    {"what changed at once is one transaction",
     "begin 2 | settled n1 | both n2 / n1 n3 because MODIFIED node | settle | trace B+-+CR | commits 1 | pass 5000 | "
     "settled n2 | settled-two n1 n3 | logged backend=be cause=\"MODIFIED node\" added=n2(10.0.0.2:80) removed=n1 | "
     "logged backend=two cause=\"MODIFIED node\" added=n3(10.0.0.3:80)"},
    {"one that changed leaves the other alone",
     "begin 2 | two n2 | settle | trace B+-CR | pass 5000 | settled n1 | settled-two n2"},
    {"one that has no desired state yet keeps no other up",
     "world 2 | start | desired n2 | pass 5000 | running n2 | running-two n1 | "
     "unready backend two: waiting for Kubernetes | unready [+]target http://api backend be: in sync"},
    /* A trouble of all is over for the good one, though the other is refused still. */
    {"a refusal keeps no old trouble alive",
     "begin 2 | forbidden n9 | both n9 / n2 | pass min | fault w 503 x2 | refresh | settle | "
     "unready [-]target http://api backend two: cannot read | pass min | "
     "unready [+]target http://api backend two: in sync"},
    {"a reload that fails is repeated once for all",
     "begin 2 | fail-reloads 1 | both n2 / n2 | pass 10000 | settled n2 | settled-two n2 | commits 2"},

    /* ---- what a commit shows ---- */
    /* What was planned for it before is no part of a transaction any more. */
    {"one that cannot be read is in no empty commit",
     "begin 2 | fail-reloads 1 | both n2 / n2 | until P | pass 1000 | unready reload failed | fault R 200 x2 | "
     "stranger n7 | refresh | pass 5000 | settled n2 | settled-two n2 | logged cannot read HAProxy's configuration | "
     "unlogged committed change missing"},
    {"one that is missing keeps no other up",
     "world 2 | set absent | start | both n2 / n2 | pass 5000 | settled-two n2 | "
     "unready backend be: not writing to HAProxy: HAProxy has no backend be | "
     "unready [+]target http://api backend two: in sync | commits 1 | unset absent | write n1 | pass resync+5000 | "
     "settled n2"},
    /* HAProxy refuses the transaction for one of them: each alone, and only the wrong one stays behind, whichever it is. What
     * comes next for the good one does not wait for it. */
    {"the first that is refused keeps no other up",
     "begin 2 | forbidden n9 | both n9 / n2 | pass min | running n1 | running-two n2 | "
     "unready backend be: HAProxy rejected the change | unready [+]target http://api backend two: in sync | "
     "transactions <=10 | two n3 | pass 5000 | running-two n3 | forbidden | pass 10min | running n9 | in-sync | "
     "ready in sync"},
    {"the second that is refused keeps no other up",
     "begin 2 | forbidden n9 | both n2 / n9 | pass min | running n2 | running-two n1 | "
     "unready backend two: HAProxy rejected the change | unready [+]target http://api backend be: in sync | "
     "transactions <=10 | desired n3 | pass 5000 | running n3 | forbidden | pass 10min | running-two n9 | in-sync | "
     "ready in sync"},
    /* Each of our own commits moves the version: that is no repair of what was refused. But another writer's may be. */
    {"commits to the other do not ask the refused one again",
     "begin 2 | forbidden n9 | both n9 / n2 | pass min | transactions <=10 | "
     "times 10 two n3; pass 2000; two n2; pass 2000 | settled-two n2 | transactions <=30 | forbidden | stranger n1 | "
     "pass resync+5000 | running n9"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
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
    double reconciles = metric_value(w.metrics.reconciles, "in_sync", API_URL, NULL);
    pass(3 * RESYNC_MS);
    ck_assert_double_ge(metric_value(w.metrics.reconciles, "in_sync", API_URL, NULL), reconciles + 6);
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

/* The servers engine: paused, holding, and in a dry run: nothing is written, and it says so; in the world of
 * engine_world.h. */
#include "rules_world.h"
#include "scenes.h"

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
    /* A Service that nobody made and a backend that is empty: a wrong name must not count as good. */
    {"nothing to hold is not ready",
     "world 1 | have | start | desired | pass 0 | "
     "unready no server yet: no usable endpoint; there is no managed server to keep either | desired n1 | pass 5000 | "
     "settled n1"},
    {"sighup is answered while nothing is written",
     "begin 1 | set paused | desired n2 | pass 0 | forget | refresh | pass 0 | logged changes not written"},
    {"a dry run that has nothing to do is in sync", "begin 1 dry | settled n1 | transactions 0"},

    /* An operator who reads "holding" at night has to find its end, too. */
    {"the end of a hold is logged",
     "begin 1 | forget | desired | pass 0 | out-of-sync | unlogged in sync | desired n1 | pass 0 | "
     "logged HAProxy is in sync"},
    {"and of what was undecided",
     "begin 1 | forget | desired ? | pass 0 | out-of-sync | unlogged in sync | desired n1 | pass 0 | "
     "logged HAProxy is in sync"},
    /* The transaction in hand goes on; nothing else does, whether it is committed or not. */
    {"a pause while a transaction is in hand",
     "begin 1 | desired n2 | until C | set paused | desired n3 | pass 5min | configured n2 | transactions 1 | "
     "open 0 | unset paused | desired n3 | pass 5000 | settled n3"},
    {"and while one is that is not committed",
     "begin 1 | fault C 409 x1 | desired n2 | until C | set paused | desired n3 | pass 5min | configured n1 | "
     "transactions 1 | open 0 | unset paused | desired n3 | pass 5000 | settled n3"},
    {"a dry run writes nothing at all",
     "world 1 dry | reload-list failed | start | desired n2 | pass 10min | transactions 0 | count DL 0 | "
     "out-of-sync | ready DRY_RUN=true: nothing is written | logged added=n2(10.0.0.2:80) removed=n1"},
    /* There is no write of ours that could repair it; the one who does write here may. That the API started again shows nothing of HAProxy. */
    {"a dry run sees that a failed reload was mended",
     "world 1 dry | reload-list failed | start | desired n1 | pass 10min | out-of-sync | logged changes not written | "
     "logged reload=true | reload-list none | pass 10min | out-of-sync | fault H 500 | pass 10min | out-of-sync | "
     "ready DRY_RUN=true: nothing is written | mend | reload-list succeeded | pass resync+5000 | settled n1 | "
     "transactions 0"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
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

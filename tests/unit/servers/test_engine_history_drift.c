/* The servers engine: what the history says of drift that was repaired, and of what is none; in the world of
 * engine_world.h. */
#include "history_world.h"

FIXTURE(history_begin, world_end)

#define ONE "world 1 | "
#define THREE "world 1 routes | have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | in-sync | clear | "

static const struct scene scenes[] = {
    /* ---- drift ---- */
    {"a hand edit is repaired",
     ONE "synced | edit n1 n7 | pass 2resync | settled n1 | journal committed drift_repaired in_sync | "
         "entry drift_repaired text=repaired a change of another writer in version 6: removed n7 | edit n1 | "
         "pass 2resync | journal"},
    /* Between the two nobody can tell whose doing it is. */
    {"another desired state is no drift",
     ONE "synced | edit n1 | desired n1 n2 | pass min | journal committed in_sync"},
    /* A drain that was only told has to be written, since what runs cannot be read any more; and our own commit does not stick. */
    {"our own version is no drift",
     THREE "desired n1* n2 n3 | settle | set unreadable | set stubborn | pass 3resync | commits >=1 | unset stubborn | "
           "pass 60min | in-sync | configured n2 n3 n1* | no-drift"},
    {"haproxy that runs something else is repaired",
     THREE "run n1 n2 | pass 3resync | in-sync | journal reload_again drift_repaired in_sync | "
           "entry drift_repaired text~n3 | entry drift_repaired target=http://api | pass hour | journal"},

    /* The same, and the version is that of another backend, whose write made the API reload. */
    {"the version of another backend is no drift",
     "world 2 routes | have n1 n2 | start | both n1 n2 / n1 n2 | pass 0 | in-sync | both n1* n2 / n1 n2 | "
     "pass resync | journal runtime_command | set reloads-fast | both n1* n2 / n1 | pass 60min | in-sync | "
     "configured-two n1 n2* | no-drift"},
    /* Another desired state, a change of ours, a reload that failed: none of them is what a stranger did. */
    {"our own doing is no drift",
     ONE "synced | fail-reloads 2 | times 3 desired n1 n2; pass min; desired n1; pass min | fault C x1 applied | "
         "desired n1 n3 | pass 5min | settled n1 n3 | no-drift"},
    /* Who mends it himself has repaired it himself: we may not write, and see it mended. */
    {"what somebody else mends is not our repair", THREE
     "set paused | desired n1 n2 n3 | run n1 n2 | pass 2resync | logged running HAProxy differs from haproxy.cfg | "
     "run n1 n2 n3 | reload-list succeeded | pass 3resync | in-sync | journal not_written | "
     "entry not_written text=not written: reload without a change | unset paused | reload-list | desired n1 n2 n3 | "
     "pass 2resync | journal"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, history_word);
}

/* The servers engine where several clusters share a backend; in the world of engine_world.h. */
#include "scenes.h"

FIXTURE(NULL, world_end)

/* One of a's nodes is desired. */
#define SHARED                                                                                                         \
    "world 1 routes cluster | have a_n1 b_n1 | start | desired n1 | pass reload+1000 | settled a_n1 b_n1 | written 0 " \
    "| "
#define STAYS "so the last servers of cluster a stay (1)"

static const struct scene scenes[] = {
    {"another cluster's write is nobody's matter",
     SHARED "desired n1 n2 | pass resync | settled a_n1 a_n2 b_n1 | written 1 | stranger a_n1 a_n2 b_n1 b_n2 | "
            "pass resync+5000 | settled a_n1 a_n2 b_n1 b_n2 | stranger a_n1 a_n2 b_n2 c_n1* | pass resync+5000 | "
            "settled a_n1 a_n2 b_n2 c_n1* | stranger a_n1 a_n2 | pass resync+5000 | settled a_n1 a_n2 | written 1 | "
            "metric changes_reverted/be 0 | unlogged drift"},
    /* Nobody has read yet that the other one's server fails. */
    {"it goes by a reading of that moment",
     SHARED "failing b_n1, | clear | desired because no endpoint | pass 1000 | count R >=1 | configured a_n1 b_n1 | "
            "ready no other cluster has a server in this backend that is UP, " STAYS " | failing | pass resync+1000 | "
            "configured a_n1* b_n1 | in-sync"},
    /* It leaves between the reading and the write. */
    {"it stays where the others' last one went first",
     SHARED "desired because no endpoint | until F | stranger a_n1 b_n1* | pass 5000 | configured a_n1 b_n1* | "
            "running a_n1 b_n1* | ready " STAYS},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play(&scenes[_i]);
}

/* A HAProxy with three servers whose changes may go without a reload. */
#ifndef TESTS_RUNTIME_UPDATE_WORLD_H
#define TESTS_RUNTIME_UPDATE_WORLD_H

#include "../engine_world.h"

#define HOUR_MS 3600000ull

static inline void assert_file(const char *set)
{
    ck_assert_msg(set_eq(w.file.of[0], set), "the file has \"%s\", not \"%s\": %s", w.file.of[0], set,
                  buf_str(&w.trace));
}

static inline double proven(void)
{
    return metric_value(w.telemetry.runtime_proven, API_URL, NULL);
}

/* In sync with servers that were there before. */
static inline void in_step_with(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    wish(set, "the first list");
    pass(0);
    ck_assert(in_sync());
    buf_clear(&w.trace);
}

static inline void three_in_sync(void)
{
    world_make_lanes();
    in_step_with("n1 n2 n3");
}

#endif

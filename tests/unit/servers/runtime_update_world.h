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

/* Exactly one of the states is 1. */
static inline const char *verification(void)
{
    const char *found = NULL;
    for (enum verification_state s = 0; s < VERIFICATION_STATES; s++) {
        double value = metric_value(w.telemetry.runtime_verification, API_URL, verification_state_name(s), NULL);
        ck_assert(value <= 0 || (value >= 1 && found == NULL));
        found = value > 0 ? verification_state_name(s) : found;
    }
    ck_assert_ptr_nonnull(found);
    return found;
}

/* In sync with servers that were there before. */
static inline void in_sync_with(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired(set, "the first list");
    pass(0);
    ck_assert(in_sync());
    buf_clear(&w.trace);
}

static inline void three_in_sync(void)
{
    world_make_updates();
    in_sync_with("n1 n2 n3");
}

#endif

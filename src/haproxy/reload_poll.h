/*
 * Follows one Reload-ID to its end, as a machine without I/O: the owner asks the API when `reload_due` and feeds the
 * answer back. A commit only schedules a reload (up to the API's reload_delay later); it is the reload that counts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* How long an unfinished reload may take before it counts as lost. reload_delay is 5 s by default and seldom more. */
#define RELOAD_DEADLINE_MS 120000

enum reload_state {
    RELOAD_NONE,    /* nothing to follow */
    RELOAD_PENDING, /* ask again at next_ms */
    RELOAD_DONE,    /* succeeded */
    RELOAD_BROKEN,  /* failed, or its end will never be known: HAProxy may run something else than the file says */
};

struct reload {
    enum reload_state state;
    char *id;
    uint64_t since_ms, next_ms;
    struct error error; /* RELOAD_BROKEN: why, with HAProxy's own words */
};

/* A newer id replaces an older one: the newer reload carries the older change too. */
void reload_follow(struct reload *r, const char *id, uint64_t now_ms);
void reload_fini(struct reload *r);

/* Time to ask how it stands, and what that showed. */
bool reload_due(const struct reload *r, uint64_t now_ms);
void reload_succeeded(struct reload *r);
void reload_broken(struct reload *r, enum error_kind kind, const char *why); /* ERROR_INVALID: HAProxy refused */
void reload_goes_on(struct reload *r, uint64_t now_ms);

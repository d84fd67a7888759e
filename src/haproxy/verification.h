/*
 * Whether HAProxy applies runtime updates: assumed until one is not applied (then transactions only, until the next
 * reload), or another one is not (for an hour). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum verification_state {
    VERIFICATION_UNTESTED,  /* none was made yet */
    VERIFICATION_VERIFIED,  /* one was read back */
    VERIFICATION_SUSPENDED, /* HAProxy did not apply one: until the next reload */
    VERIFICATION_FAILED,    /* it did not apply another one: until until_ms; or what it runs cannot be read */
    VERIFICATION_DISABLED,  /* runtime updates are switched off; struct verification never is in it */
    VERIFICATION_STATES
};

const char *verification_state_name(enum verification_state s); /* "untested", ..., for metrics and JSON */

struct verification {
    enum verification_state state;
    unsigned failures; /* since one was read back */
    uint64_t until_ms; /* monotonic */
};

/* no_room: the reload that would end a failure cannot be had, so that the next try goes on. */
bool verification_usable(const struct verification *v, bool no_room);
void verification_age(struct verification *v, uint64_t now_ms); /* an hour may be over */
/* by_update: what was read back can come of the update alone. True: that is news. */
bool verification_passed(struct verification *v, bool by_update);
/* True: again. */
bool verification_failed(struct verification *v, uint64_t now_ms);
void verification_reloaded(struct verification *v);
void verification_forget_hour(struct verification *v); /* an operator asks */

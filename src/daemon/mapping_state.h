/* One backend on its way from the caches to the targets: the desired state that they have, and changes that wait. */
#ifndef DAEMON_MAPPING_STATE_H
#define DAEMON_MAPPING_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "servers/desired/desired.h"

struct mapping;

struct mapping_state {
    const struct mapping *mapping;
    const struct desired
        *last;            /* the newest; the targets have this or one that is the same for HAProxy. NULL: none yet */
    char *last_announced; /* with that; NULL: nothing yet */
    bool dirty;           /* something changed since */
    uint64_t event_us;    /* the oldest change that waits */
    char *cause;          /* of the newest; NULL: time alone */
    struct log_limit skip_limit, wait_limit, note_limit;
};

void mapping_state_init(struct mapping_state *w, const struct mapping *mapping); /* the mapping is borrowed */
void mapping_state_fini(struct mapping_state *w);

void mapping_state_set_cause(struct mapping_state *w, const char *cause); /* copied; NULL is allowed */

/* Takes a reference to the desired state, which is shared; false if it is the same as before. */
bool mapping_state_take(struct mapping_state *w, const struct desired *desired) must_check;

/* New targets know nothing: the next desired state is news. */
void mapping_state_forget_sent(struct mapping_state *w);

/* Logs what is notable in a desired state; rate-limited. */
void mapping_state_log(struct mapping_state *w, const struct desired *desired, const struct log *log);
/* Repeats that the mapping is undecided, once a minute for as long as it lasts. */
void mapping_state_log_wait(struct mapping_state *w, const struct log *log);

#endif

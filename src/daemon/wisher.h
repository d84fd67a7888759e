/* One backend on its way from the caches to the targets: what they were told of it, and what waits to be. */
#ifndef DAEMON_WISHER_H
#define DAEMON_WISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "servers/desired/desired.h"

struct mapping;

struct wisher {
    const struct mapping *mapping;
    const struct desired
        *last;            /* the newest; what the targets were told says the same for HAProxy. NULL: nothing yet */
    char *last_announced; /* with that; NULL: nothing yet */
    bool dirty;           /* something changed since */
    uint64_t event_us;    /* the oldest change that waits */
    char *cause;          /* of the newest; NULL: time alone */
    struct log_limit skip_limit, wait_limit, note_limit;
};

void wisher_init(struct wisher *w, const struct mapping *mapping); /* the mapping is borrowed */
void wisher_fini(struct wisher *w);

void wisher_set_cause(struct wisher *w, const char *cause); /* copied; NULL is allowed */

/* Takes a reference to the wish, which is shared; false where it is just what it was. */
bool wisher_take(struct wisher *w, const struct desired *wish) must_check;

/* New targets know nothing: whatever is wished next is news. */
void wisher_forget_told(struct wisher *w);

/* What is worth a line about a wish; rate-limited. */
void wisher_log(struct wisher *w, const struct desired *wish, const struct log *log);
/* That nothing can be decided, as of the last wish: said again once a minute for as long as it lasts. */
void wisher_log_wait(struct wisher *w, const struct log *log);

#endif

/*
 * Two masters: somebody undoes what we wrote, we write it again, and so on, a reload each time. Counts how often that
 * happened lately and says when to stop. Pure.
 */
#ifndef SERVERS_CHANGE_CONFLICT_H
#define SERVERS_CHANGE_CONFLICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFLICT_TIMES 3          /* so often ... */
#define CONFLICT_WINDOW_MS 600000 /* ... within this time is a fight */
#define CONFLICT_PAUSE_MS 600000  /* after which nothing is written for so long */

struct conflict {
    uint64_t undone_ms[CONFLICT_TIMES]; /* the latest ones, oldest first */
    size_t count;
    uint64_t until_ms; /* nothing is written before; the end of the latest pause, 0: none yet */
};

/* What we wrote is not there any more. True: that was once too often, a pause begins. In the CONFLICT_WINDOW_MS after a
 * pause one more is enough; during one nothing counts, since we write nothing. A zeroed struct is a new one. */
bool conflict_undone(struct conflict *r, uint64_t now_ms);
bool conflict_pauses(const struct conflict *r, uint64_t now_ms);
void conflict_forget(struct conflict *r); /* an operator says: go on */

#endif

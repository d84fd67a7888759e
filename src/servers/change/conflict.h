/*
 * A conflict: another writer reverts what the daemon wrote, which writes it again, a reload each time. Counts the
 * latest reverts and says when to pause. Pure.
 */
#ifndef SERVERS_CHANGE_CONFLICT_H
#define SERVERS_CHANGE_CONFLICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFLICT_TIMES 3          /* so often ... */
#define CONFLICT_WINDOW_MS 600000 /* ... within this time: writes pause */
#define CONFLICT_PAUSE_MS 600000  /* for so long */

struct conflict {
    uint64_t reverted_ms[CONFLICT_TIMES]; /* the latest ones, oldest first */
    size_t count;
    uint64_t until_ms; /* nothing is written before; the end of the latest pause, 0: none yet */
};

/* What was written is gone. True: once too often, a pause begins. In the CONFLICT_WINDOW_MS after a pause one more is
 * enough; during a pause nothing counts, because nothing is written. A zeroed struct is a new one. */
bool conflict_reverted(struct conflict *r, uint64_t now_ms);
bool conflict_pauses(const struct conflict *r, uint64_t now_ms);
void conflict_forget(struct conflict *r); /* an operator asks to go on (SIGHUP) */

#endif

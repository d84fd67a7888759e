/*
 * A conflict: another writer reverts what the daemon wrote, which writes it again, a reload each time. Counts the
 * latest reverts and says when to pause. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REVERT_PAUSE_TIMES 3          /* so often ... */
#define REVERT_PAUSE_WINDOW_MS 600000 /* ... within this time: writes pause */
#define REVERT_PAUSE_MS 600000        /* for so long */

struct revert_pause {
    uint64_t reverted_ms[REVERT_PAUSE_TIMES]; /* the latest ones, oldest first */
    size_t count;
    uint64_t until_ms; /* nothing is written before; the end of the latest pause, 0: none yet */
};

/* What was written is gone. True: once too often, a pause begins. In the REVERT_PAUSE_WINDOW_MS after a pause one more is
 * enough; during a pause nothing counts, because nothing is written. A zeroed struct is a new one. */
bool revert_pause_count(struct revert_pause *p, uint64_t now_ms);
bool revert_pause_holds(const struct revert_pause *p, uint64_t now_ms);
void revert_pause_end(struct revert_pause *p); /* an operator asks to go on (SIGHUP) */

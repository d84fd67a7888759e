/*
 * The brake: when more servers would be lost at once than a share of the live ones, that is more often a fault of a
 * control plane than a wish, so the losses wait for a while. Pure.
 */
#ifndef SYNC_BRAKE_H
#define SYNC_BRAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct brake {
    uint64_t since_ms; /* of the loss that is held */
    size_t worst;      /* the most servers that it was about: more of them begin the time anew; 0: none is held */
    size_t live;       /* of which they are a share: new ones that came since make no loss smaller */
};

/* live: servers in rotation now; lost: how many of them would go, without those whose going was announced. True: hold
 * them back until *ret_until_ms. After period_ms of the same loss (or a smaller one that is still too large): false, until
 * it is over or grows. max_percent 100: never. A zeroed brake is a new one. */
bool brake_holds(struct brake *b, size_t live, size_t lost, unsigned max_percent, uint64_t period_ms, uint64_t now_ms,
                 uint64_t *ret_until_ms);

#endif

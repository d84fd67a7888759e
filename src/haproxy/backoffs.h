/* The backoffs of one HAProxy: when it may be asked and written to again after what failed, by pauses that grow or that the
 * API asked for (429, Retry-After), and when there is room for transactions. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"

struct backoffs {
    struct backoff request; /* the API cannot be reached or is busy */
    struct backoff room, reload, drift, reject;
    uint64_t quiet_until_ms;       /* nothing is sent before */
    uint64_t failed_until_ms;      /* that, where it is a pause after what failed, */
    uint64_t asked_until_ms;       /* and how much of it the API asked for (Retry-After) */
    uint64_t write_after_ms;       /* nothing is written before, unless what is desired changes */
    uint64_t transaction_after_ms; /* no transaction before: the first at once, later ones gather changes */
    uint64_t asked_room_until_ms;  /* where there is no room: so much of that the API asked for */
    bool no_room;                  /* of the API for another one: until transaction_after_ms none is begun */
    bool write_failing; /* a reading that succeeds in between must not make the pauses between writes short again */
    unsigned conflicts; /* in a row */
};

void backoffs_init(struct backoffs *b, unsigned seed);
/* For what HAProxy or its API rejected: the same again would be rejected again, so these pauses are longer. */
void backoffs_init_rejected(struct backoff *b, unsigned seed);
/* Nothing is sent for a while. harmless: what failed has written nothing for sure, so that trying again costs HAProxy
 * nothing, and what is repaired is soon noticed. at_least_ms: -1 for none. */
void backoffs_pause(struct backoffs *b, bool harmless, int64_t at_least_ms, uint64_t now_ms);
void backoffs_write_not_before(struct backoffs *b, uint64_t when_ms); /* unless it waits for longer already */
void backoffs_write_sooner(struct backoffs *b, uint64_t when_ms);
/* Something else is to be written than what failed: its pauses end then, but for what the API asked for. */
void backoffs_begin_anew(struct backoffs *b, uint64_t when_ms);
/* A reload failed; differs: HAProxy does not run haproxy.cfg, whatever the API says. */
void backoffs_reload_failed(struct backoffs *b, bool differs, uint64_t now_ms);
void backoffs_drift(struct backoffs *b, uint64_t now_ms); /* the first is repaired at once */
void backoffs_wait_for_room(struct backoffs *b, int64_t at_least_ms, uint64_t now_ms);
/* True: the first ones in a row, which are tried again at once. */
bool backoffs_conflict(struct backoffs *b, uint64_t now_ms);
void backoffs_write_failed(struct backoffs *b);
void backoffs_read(struct backoffs *b);                       /* a reading went well */
void backoffs_updated(struct backoffs *b);                    /* so did a runtime update, */
void backoffs_committed(struct backoffs *b, uint64_t now_ms); /* a transaction, */
void backoffs_nothing_to_write(struct backoffs *b);           /* or nothing is in the way any more */
void backoffs_forget(struct backoffs *b);                     /* an operator asks: no pause */

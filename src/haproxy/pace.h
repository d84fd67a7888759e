/* When one HAProxy may be asked and written to again: pauses after what failed, longer each time, and room for
 * transactions. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"

struct pace {
    struct backoff backoff; /* the API cannot be reached or is busy */
    struct backoff room_backoff, reload_backoff, drift_backoff, reject_backoff;
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

void pace_init(struct pace *p, unsigned seed);
/* For what HAProxy or its API rejected: the same again would be rejected again, so these pauses are longer. */
void pace_init_rejected(struct backoff *b, unsigned seed);
/* Nothing is sent for a while. harmless: what failed has written nothing for sure, so that trying again costs HAProxy
 * nothing, and what is repaired is soon noticed. at_least_ms: -1 for none. */
void pace_pause(struct pace *p, bool harmless, int64_t at_least_ms, uint64_t now_ms);
void pace_write_not_before(struct pace *p, uint64_t when_ms); /* unless it waits for longer already */
void pace_write_sooner(struct pace *p, uint64_t when_ms);
/* Something else is to be written than what failed: its pauses end then, but for what the API asked for. */
void pace_begin_anew(struct pace *p, uint64_t when_ms);
/* A reload failed; differs: HAProxy does not run haproxy.cfg, whatever the API says. */
void pace_reload_failed(struct pace *p, bool differs, uint64_t now_ms);
void pace_drift(struct pace *p, uint64_t now_ms); /* the first is repaired at once */
void pace_wait_for_room(struct pace *p, int64_t at_least_ms, uint64_t now_ms);
/* True: the first ones in a row, which are tried again at once. */
bool pace_conflict(struct pace *p, uint64_t now_ms);
void pace_write_failed(struct pace *p);
void pace_read(struct pace *p);                       /* a reading went well */
void pace_updated(struct pace *p);                    /* so did a runtime update, */
void pace_committed(struct pace *p, uint64_t now_ms); /* a transaction, */
void pace_nothing_to_write(struct pace *p);           /* or nothing is in the way any more */
void pace_forget(struct pace *p);                     /* an operator asks: no pause */

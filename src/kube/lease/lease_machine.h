/*
 * The rules of leader election by a Lease: (state, event, now) -> actions, over a plain struct. No I/O and no clock:
 * its driver (kube/lease/election) moves the bytes, hands in the time of one clock that never goes back, and carries
 * out what each step answers.
 *
 *     IDLE --start--> READING --free--> UPDATING or CREATING --written--> WAITING --2 s--> UPDATING ...
 *                             --another's--> WAITING --2 s, or a hint--> READING ...
 *
 * The protocol is that of client-go's leaderelection. Why at most one may act: a holder acts for 10 s from the moment
 * at which it *sent* the renewal that succeeded; another one takes the Lease over only when it has seen no change of it
 * for the whole duration that it names (15 s), counted from when it *saw* the last one, which is later; and the server
 * takes a write only on top of the version that was seen. No time of another machine is ever used. Clocks may show any
 * time, but have to run at the same speed to within a third.
 *
 * Beyond client-go:
 *   - a Lease that is deleted, or loses its holder without being given up properly, is taken only when the last holder
 *     that was seen must have stopped;
 *   - renewTime differs in each renewal even if the wall clock stands still: a renewal without a change is invisible;
 *   - the pause between tries has 10 % of jitter. client-go's (up to 2.2 times as long) spreads thousands of clients in
 *     a cluster; here there are two or three, and it would only make a take-over late.
 *
 * What no Lease can prevent: a process that is stopped between asking lease_machine_may_act() and its write.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/lease/lease.h"

#define LEASE_DURATION_S 15
#define LEASE_RENEW_DEADLINE_MS 10000u
#define LEASE_CLEAN_UP_MS 14000u /* the lease, less a second for what is under way */
#define LEASE_RETRY_MS 2000u
#define LEASE_JITTER_MS 200u
#define LEASE_SOON_MS 250u /* between tries that follow a hint */
#define LEASE_MAX_RETRY_AFTER_MS 5000u
#define LEASE_MAX_REQUESTS 4u /* in one try: PUT, GET, PUT or POST, GET */
/* A duration that a record names; more would lock all replicas out after a typing error. */
#define LEASE_MAX_DURATION_S 600

enum lease_machine_state {
    LEASE_IDLE,
    LEASE_WAITING,
    LEASE_READING,
    LEASE_CREATING,
    LEASE_UPDATING,
    LEASE_RELEASING,
    LEASE_OVER, /* released, or nothing to release */
};

enum lease_machine_event_type {
    LEASE_EVENT_START,
    LEASE_EVENT_TIMER,
    LEASE_EVENT_HINT, /* the Lease may be free, or what was wrong may be repaired */
    LEASE_EVENT_RELEASE,
    /* and these end the request under way */
    LEASE_EVENT_RECORD,   /* 2xx: lease */
    LEASE_EVENT_MISSING,  /* 404 */
    LEASE_EVENT_CONFLICT, /* 409 */
    LEASE_EVENT_FAILED,   /* anything else, or no answer: retry_after_ms */
};

struct lease_machine_event {
    enum lease_machine_event_type type;
    const struct lease *lease;
    int64_t retry_after_ms; /* negative: none */
};

/* Carried out in this order; at most one of the requests. */
enum lease_machine_action {
    LEASE_DEPOSED = 1 << 0,
    LEASE_ELECTED = 1 << 1,
    LEASE_CANCEL = 1 << 2, /* the request under way: its answer is not waited for */
    LEASE_GET = 1 << 3,
    LEASE_POST = 1 << 4, /* lease_machine_next() */
    LEASE_PUT = 1 << 5,  /* likewise */
    LEASE_DONE = 1 << 6, /* the answer to LEASE_EVENT_RELEASE: nothing follows */
};

struct lease_machine {
    char identity[LEASE_MAX_HOLDER_BYTES + 1];
    uint64_t random;

    enum lease_machine_state state;
    uint64_t due_ms;   /* WAITING */
    uint64_t round_ms; /* when this try began */
    uint64_t sent_ms;  /* the request under way */
    unsigned requests; /* in this try */
    bool again;        /* a hint came while a request was under way */
    bool stopping;

    /* the Lease, as last seen */
    bool known;   /* read, or known to be missing */
    bool missing; /* 404 */
    bool stale;   /* the result of the last write is unknown: read it before the next */
    struct lease lease;
    uint64_t taken_until_ms; /* another holder may rely on it until then, as far as was seen; 0: none */
    uint64_t written_us;     /* this replica's last renewTime */

    /* this replica's */
    bool held;           /* a write of this replica succeeded, and no other holder was seen since */
    bool leading;        /* LEASE_ELECTED was said, LEASE_DEPOSED was not */
    uint64_t renewed_ms; /* held: when the last successful write was sent */
};

void lease_machine_init(struct lease_machine *l, const char *identity, unsigned seed);

/* Bits of enum lease_machine_action. An event that means nothing in the present state is 0. */
unsigned lease_machine_step(struct lease_machine *l, const struct lease_machine_event *e, uint64_t now_ms) must_check;

/* When LEASE_EVENT_TIMER is due next; 0: not at all. */
uint64_t lease_machine_due_ms(const struct lease_machine *l);

/* What LEASE_POST or LEASE_PUT is to write; asked once for each. wall_us: since the epoch, for people only. */
void lease_machine_next(struct lease_machine *l, uint64_t wall_us, struct lease *ret);

/* Right before each write, since the process may have been stopped in between. */
bool lease_machine_may_act(const struct lease_machine *l, uint64_t now_ms);
/* As long as no other replica can have it. */
bool lease_machine_may_clean_up(const struct lease_machine *l, uint64_t now_ms);

bool lease_machine_is_held(const struct lease_machine *l); /* the record, as last seen */

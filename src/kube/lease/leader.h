/*
 * The rules of leader election by a Lease: (state, event, now) -> actions, over a plain struct. No I/O and no clock: who
 * drives it (kube/lease/election) moves the bytes, hands in the time of one clock that never goes back, and carries out what each
 * step answers.
 *
 *     IDLE --start--> READING --free--> UPDATING or CREATING --written--> WAITING --2 s--> UPDATING ...
 *                             --somebody else's--> WAITING --2 s, or a hint--> READING ...
 *
 * The protocol is that of client-go's leaderelection. Why at most one may act: a holder acts for 10 s from the moment at which it
 * *sent* the renewal that succeeded; another one takes the Lease over only when it has seen no change of it for the whole duration
 * that it names (15 s), counted from when it *saw* the last one, which is later; and the server takes a write only on top of the
 * version that was seen. No time of another machine is ever looked at. Clocks may tell any time, but have to run at the same speed
 * to within a third.
 *
 * Beyond client-go:
 *   - a Lease that is deleted, or loses its holder without being given up properly, is taken only when whoever was seen to have it
 *     must have stopped;
 *   - renewTime is different in each renewal even where the wall clock stands still: a renewal that changes nothing is invisible;
 *   - the pause between tries has 10 % of jitter. client-go's (up to 2.2 times as long) spreads thousands of clients in a cluster;
 *     here there are two or three, and it would only make a take-over late.
 *
 * What no Lease can prevent: a process that is stopped between asking leader_may_act() and its write.
 */
#ifndef KUBE_LEASE_LEADER_H
#define KUBE_LEASE_LEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "kube/lease/lease.h"

#define LEADER_LEASE_S 15
#define LEADER_RENEW_DEADLINE_MS 10000u
#define LEADER_CLEAN_UP_MS 14000u /* the lease, less a second for what is under way */
#define LEADER_RETRY_MS 2000u
#define LEADER_JITTER_MS 200u
#define LEADER_SOON_MS 250u /* between tries that follow a hint */
#define LEADER_MAX_RETRY_AFTER_MS 5000u
#define LEADER_MAX_REQUESTS 4u /* in one try: PUT, GET, PUT or POST, GET */
/* A duration that a record names; more would lock everybody out after a slip of the hand. */
#define LEADER_MAX_LEASE_S 600

enum leader_state {
    LEADER_IDLE,
    LEADER_WAITING,
    LEADER_READING,
    LEADER_CREATING,
    LEADER_UPDATING,
    LEADER_RELEASING,
    LEADER_OVER, /* released, or nothing to release */
};

enum leader_event_type {
    LEADER_EVENT_START,
    LEADER_EVENT_TIMER,
    LEADER_EVENT_HINT, /* the Lease may be free, or what was wrong may be mended */
    LEADER_EVENT_RELEASE,
    /* and these end the request under way */
    LEADER_EVENT_RECORD,   /* 2xx: lease */
    LEADER_EVENT_MISSING,  /* 404 */
    LEADER_EVENT_CONFLICT, /* 409 */
    LEADER_EVENT_FAILED,   /* anything else, or no answer: retry_after_ms */
};

struct leader_event {
    enum leader_event_type type;
    const struct lease *lease;
    int64_t retry_after_ms; /* negative: none */
};

/* Carried out in this order; at most one of the requests. */
enum leader_action {
    LEADER_DEPOSED = 1 << 0,
    LEADER_ELECTED = 1 << 1,
    LEADER_CANCEL = 1 << 2, /* the request under way: its answer is not waited for */
    LEADER_GET = 1 << 3,
    LEADER_POST = 1 << 4, /* leader_next() */
    LEADER_PUT = 1 << 5,  /* likewise */
    LEADER_DONE = 1 << 6, /* the answer to LEADER_EVENT_RELEASE: nothing follows */
};

struct leader {
    char identity[LEASE_MAX_HOLDER_BYTES + 1];
    uint64_t random;

    enum leader_state state;
    uint64_t due_ms;   /* WAITING */
    uint64_t round_ms; /* when this try began */
    uint64_t sent_ms;  /* the request under way */
    unsigned requests; /* in this try */
    bool again;        /* a hint came while a request was under way */
    bool stopping;

    /* the Lease, as last seen */
    bool known;   /* read, or known to be missing */
    bool missing; /* 404 */
    bool stale;   /* a write of ours had no clear end: read it before the next */
    struct lease lease;
    uint64_t taken_until_ms; /* somebody else may believe to have it until then, as far as was seen; 0: nobody */
    uint64_t written_us;     /* the last renewTime of ours */

    /* ours */
    bool held;           /* a write of ours succeeded, and nobody else was seen as holder since */
    bool leading;        /* LEADER_ELECTED was said, LEADER_DEPOSED was not */
    uint64_t renewed_ms; /* held: when the last successful write was sent */
};

void leader_init(struct leader *l, const char *identity, unsigned seed);

/* Bits of enum leader_action. An event that means nothing in the present state is 0. */
unsigned leader_step(struct leader *l, const struct leader_event *e, uint64_t now_ms) must_check;

/* When LEADER_EVENT_TIMER is wanted next; 0: not at all. */
uint64_t leader_due_ms(const struct leader *l);

/* What LEADER_POST or LEADER_PUT is to write; asked once for each. wall_us: since the epoch, for people only. */
void leader_next(struct leader *l, uint64_t wall_us, struct lease *ret);

/* Right before each write, since the process may have been stopped in between. */
bool leader_may_act(const struct leader *l, uint64_t now_ms);
/* As long as nobody else can have it. */
bool leader_may_clean_up(const struct leader *l, uint64_t now_ms);

bool leader_is_ours(const struct leader *l); /* the record, as last seen */

#endif

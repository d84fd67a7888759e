/*
 * What a watch decides: (state, event) -> actions, over a plain struct. No I/O and no clock: etcd/watch moves the bytes
 * and hands in the monotonic time.
 *
 *     STOPPED --start--> ASKING --created--> RUNNING --lost--> WAITING --backoff is over--> ASKING
 *
 * What shows that a stream lives: etcd ends it where its member has lost the leader (it is asked to), TCP ends it where
 * the member's machine is gone. A member that hangs does neither: so, while nothing comes, that member is asked every
 * 30 s for the newest change below the key, which it has to agree upon with the cluster. Where it does not answer, the
 * stream is as dead; and so it is where that change does not come by it within 10 s. 25 min without a word (etcd sends a
 * progress notification every 10 min) end it, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/compiler.h"

#define ETCD_WATCH_ANSWER_MS 15000
#define ETCD_WATCH_CHECK_MS 30000
#define ETCD_WATCH_DEAF_MS 10000
#define ETCD_WATCH_SILENCE_MS 1500000
#define ETCD_WATCH_STABLE_MS 10000 /* a stream that lasts so long, or brings news, is worth a quick second try */
#define ETCD_WATCH_BACKOFF_BASE_MS 200
#define ETCD_WATCH_BACKOFF_CAP_MS 10000
#define ETCD_WATCH_BACKOFF_MIN_MS 100

enum etcd_watch_state { ETCD_WATCH_STOPPED, ETCD_WATCH_ASKING, ETCD_WATCH_RUNNING, ETCD_WATCH_WAITING };

enum etcd_watch_event_type {
    ETCD_WATCH_START, /* revision: the first that is asked for */
    ETCD_WATCH_STOP,
    ETCD_WATCH_TIMER,       /* the time of etcd_watch_due_ms has come, or any other time */
    ETCD_WATCH_CREATED,     /* revision: of the member */
    ETCD_WATCH_BYTES,       /* something came, if only a part of a line */
    ETCD_WATCH_EVENTS,      /* revision: of the last of them */
    ETCD_WATCH_PROGRESS,    /* revision: all up to it was sent */
    ETCD_WATCH_COMPACTED,   /* revision: the oldest that there is */
    ETCD_WATCH_UNREADABLE,  /* what comes next can never be taken: too much, or no sense in it */
    ETCD_WATCH_NO_TOKEN,    /* it was refused */
    ETCD_WATCH_LOST,        /* the stream ended, or never began */
    ETCD_WATCH_CHECKED,     /* newest, and the cluster's revision */
    ETCD_WATCH_CHECK_FAILED /* it does not answer */
};

struct etcd_watch_input {
    enum etcd_watch_event_type type;
    int64_t revision, newest;
};

/* Carried out in this order. */
enum etcd_watch_action {
    ETCD_WATCH_REPORT_CHANGED = 1 << 0, /* the events that came */
    ETCD_WATCH_CANCEL = 1 << 1,         /* end the request and the check under way; what they bring is ignored */
    ETCD_WATCH_REPORT_CONNECTED = 1 << 2,
    ETCD_WATCH_REPORT_LOST = 1 << 3,      /* why: `reason`, or as the event said */
    ETCD_WATCH_REPORT_COMPACTED = 1 << 4, /* `oldest` */
    ETCD_WATCH_RENEW_TOKEN = 1 << 5,
    ETCD_WATCH_NEXT_ENDPOINT = 1 << 6,
    ETCD_WATCH_REQUEST = 1 << 7, /* from `next` on */
    ETCD_WATCH_CHECK = 1 << 8,   /* what is the newest change? */
};

struct etcd_watch_machine {
    enum etcd_watch_state state;
    int64_t next;       /* the first revision that has not come */
    int64_t oldest;     /* REPORT_COMPACTED */
    const char *reason; /* REPORT_LOST: where no event says why; NULL: the event does */
    struct backoff backoff;
    uint64_t since_ms;   /* ASKING: asked; RUNNING: created; WAITING: until then */
    uint64_t heard_ms;   /* RUNNING: something came */
    uint64_t check_ms;   /* RUNNING: when to check; 0: a check is under way */
    int64_t missing;     /* RUNNING: a change that has to come; 0: none is known */
    uint64_t missing_ms; /* until then */
    bool token_renewed;  /* since the last stream that began */
};

void etcd_watch_machine_init(struct etcd_watch_machine *m, unsigned seed);
/* Bits of enum etcd_watch_action. Every event may come in every state; one that means nothing there is 0. */
unsigned etcd_watch_step(struct etcd_watch_machine *m, const struct etcd_watch_input *e, uint64_t now_ms) must_check;
/* When ETCD_WATCH_TIMER is due next; 0: not at all. */
uint64_t etcd_watch_due_ms(const struct etcd_watch_machine *m);

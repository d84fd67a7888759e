/*
 * The list/watch machine of one resource: (state, event) -> actions, over a plain struct. No I/O and no clock: the
 * driver (kube/informer) moves the bytes, hands in the monotonic time, and carries out what each step answers.
 *
 *     IDLE --start--> STREAMING or LISTING --complete--> WATCHING --ended--> WATCHING, WAITING, STREAMING or LISTING
 *
 * STREAMING: a watch that sends the initial state first and marks its end (Kubernetes API concepts, "Streaming lists").
 * LISTING:   a LIST in pages ("Retrieving large results sets in chunks"), where the server refuses the former.
 * WATCHING:  changes from the last version on ("Efficient detection of changes").
 * WAITING:   no request is under way until the backoff is over.
 *
 * What ends a request and what follows is one table, which event is answered how in which state another. A
 * resourceVersion is an opaque string.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/compiler.h"

#define WATCH_PAGE_SIZE 500 /* items are split while a page streams in, so that a page costs no memory */

/* How long is too long. API servers send a bookmark about every 60 s; a request may queue before it is answered. */
struct watch_deadlines {
    uint64_t answer_ms;       /* from the start of a request to its headers */
    uint64_t list_silence_ms; /* without a byte in the middle of a list */
    uint64_t list_ms;         /* a page as a whole */
    uint64_t silence_ms;      /* without a byte in a watch, once a bookmark was seen */
    uint64_t grace_ms;        /* beyond the timeoutSeconds that was asked for */
    unsigned timeout_least_s; /* timeoutSeconds is random, so that the watches of many clients do not end together */
    unsigned timeout_most_s;
};

/* 60 s, 60 s, 300 s, 150 s, 30 s, 300 to 600 s. */
extern const struct watch_deadlines watch_usual_deadlines;

#define WATCH_STABLE_MS 1000 /* a watch that lives this long, or brings news, is in contact */
/* An API server that starts refuses everything until it has read its roles: what was allowed before counts as denied
 * only after this long. */
#define WATCH_DENIED_MS 10000
#define WATCH_LIST_SPACING_MS 5000 /* lists that follow trouble in the stream */
#define WATCH_RETRY_STREAMING_MS 3600000
#define WATCH_DENIED_HINT_MS 60000 /* changes_only: a right that is missing comes with an edit by hand */
#define WATCH_SHORT_TRIES 3        /* watches that ended at once, in a row: what they do not report is listed */
#define WATCH_STREAMING_TRIES 3    /* streaming lists cut in a row before pages are tried */
#define WATCH_MAX_RETRY_AFTER_MS 120000

#define WATCH_MAX_VERSION_BYTES 1025 /* what kube/decode/decode lets through */
#define WATCH_MAX_CONTINUE_BYTES 8192
#define WATCH_DETAIL_BYTES 512

/* What is known of one API server; shared by all of its watches. All zero: nothing. */
struct watch_server {
    uint64_t no_streaming_until_ms; /* it refused streaming lists; asked again after this, for servers get upgraded */
};

enum watch_state { WATCH_IDLE, WATCH_STREAMING, WATCH_LISTING, WATCH_WATCHING, WATCH_WAITING, WATCH_STATES };

enum watch_event_type {
    WATCH_EVENT_START,
    WATCH_EVENT_STOP,
    WATCH_EVENT_POKE,   /* do not wait any longer */
    WATCH_EVENT_FORGET, /* the cache was emptied: changes alone are of no use, list first */
    WATCH_EVENT_TIMER,  /* the time of watch_due_ms() has come, or any other time */
    /* of the request under way */
    WATCH_EVENT_HEAD,     /* headers: status, readable */
    WATCH_EVENT_BYTES,    /* something arrived */
    WATCH_EVENT_ITEM,     /* an element of a list's page */
    WATCH_EVENT_OBJECT,   /* ADDED, MODIFIED or DELETED: version, deleted */
    WATCH_EVENT_BOOKMARK, /* version, initial_end */
    WATCH_EVENT_ERROR,    /* a Status in the stream: status, reason, too_large, retry_after_ms, detail */
    WATCH_EVENT_GARBLED,  /* what arrived cannot be split or decoded: detail */
    /* and these end it */
    WATCH_EVENT_PAGE,   /* a page is complete: version, continue_token */
    WATCH_EVENT_ANSWER, /* a complete answer other than 200: status, reason, too_large, retry_after_ms, detail */
    WATCH_EVENT_CLOSED, /* the body of a 200 ended as it should */
    WATCH_EVENT_LOST,   /* the connection failed, or never came to be: detail; status 401: for want of credentials */
    WATCH_EVENTS
};

struct watch_event {
    enum watch_event_type type;
    int status;             /* HTTP's, or the Status object's code */
    bool readable;          /* HEAD: the content type is one that can be read */
    bool deleted;           /* OBJECT */
    bool initial_end;       /* BOOKMARK: k8s.io/initial-events-end */
    bool other_encoding;    /* GARBLED: the next request is for another encoding than this one's */
    bool too_large;         /* a Status with the cause ResourceVersionTooLarge */
    int64_t retry_after_ms; /* header or Status details; negative: none */
    const char *version;
    const char *continue_token; /* PAGE: NULL or "" on the last one */
    const char *reason;         /* of a Status: "Expired", ... */
    const char *detail;         /* for people */
};

/* Carried out in this order. What a request brings after WATCH_CANCEL is ignored. */
enum watch_action {
    WATCH_PUT = 1 << 0, /* the event's object goes to the cache (to the new set while a replace is open) */
    WATCH_DELETE = 1 << 1,
    WATCH_CANCEL = 1 << 2, /* end the request under way */
    WATCH_REPLACE_ABORT = 1 << 3,
    WATCH_REPLACE_END = 1 << 4,
    WATCH_REPLACE_BEGIN = 1 << 5,
    WATCH_CREDENTIALS = 1 << 6,   /* they were refused: read them again before the next request */
    WATCH_REQUEST = 1 << 7,       /* GET watch_request_path() */
    WATCH_ENDED = 1 << 8,         /* a watch ended, why: `reason` */
    WATCH_LISTED = 1 << 9,        /* a list was started, why: `reason` */
    WATCH_CONTACT_LOST = 1 << 10, /* or still not there: `reason`, `detail` */
    WATCH_CONTACT_BACK = 1 << 11,
};

struct watch {
    struct watch_server *server; /* borrowed */
    char *path;                  /* with selectors; ends with '?' or '&' */
    bool changes_only; /* never LISTING or STREAMING: a watch from whatever the server has, which begins with that */
    unsigned page_size;
    struct watch_deadlines deadlines;
    struct backoff backoff;
    uint64_t random;

    enum watch_state state;
    uint64_t wait_until_ms; /* WAITING */
    bool wait_for_watch;    /* WAITING: a watch follows, otherwise a list */

    /* the request under way */
    uint64_t started_ms;
    uint64_t answered_ms; /* a good answer began, or a streaming list became a watch; 0: not yet */
    uint64_t last_byte_ms;
    unsigned timeout_s;     /* as asked of the server */
    bool spoke;             /* WATCHING: anything came behind the headers */
    unsigned short_watches; /* ended without news and before WATCH_STABLE_MS, in a row since the last list */
    bool stable;            /* WATCHING: brought news or lived long enough */

    /* the list under way, or the last one */
    uint64_t listed_ms;
    unsigned page;        /* 1 for the first */
    bool paged;           /* streaming failed: pages until one list is complete */
    bool unlimited;       /* no pages: they expired while they were read */
    unsigned cut_streams; /* in a row */
    char list_version[WATCH_MAX_VERSION_BYTES];
    char *continue_token;

    char version[WATCH_MAX_VERSION_BYTES]; /* where the next watch goes on */
    bool synced;                           /* a complete list was seen */
    bool contact;                          /* in contact with the server, as far as is known */
    bool progress;                         /* news since the last list that followed at once */
    bool bookmarks_seen;
    bool credentials_refused; /* 401 since the last other answer */
    uint64_t refused_ms;      /* since then every answer was 403 or 404; 0: the last one was not */
    int denied_status;        /* which of them, once it counts (WATCH_DENIED_MS); otherwise 0 */

    const char *reason;              /* of the last thing that happened; a fixed set, used as metric label */
    char detail[WATCH_DETAIL_BYTES]; /* the same for people, printable */
};

/* path: "/api/v1/nodes"; selectors unencoded or NULL. Everything but server is copied. */
void watch_init(struct watch *w, struct watch_server *server, const char *path, const char *label_selector,
                const char *field_selector, unsigned seed);
void watch_fini(struct watch *w);

/* Bits of enum watch_action. Every event may come in every state; one that means nothing there is 0. */
unsigned watch_step(struct watch *w, const struct watch_event *e, uint64_t now_ms) must_check;

/* When WATCH_EVENT_TIMER is due next; 0: not at all. */
uint64_t watch_due_ms(const struct watch *w);

/* Path and query of the request that WATCH_REQUEST asked for. Allocates. */
char *watch_request_path(const struct watch *w) must_check;

/* Whether that request is a LIST: its body is one object, and may be compressed. */
bool watch_request_is_list(const struct watch *w);

/* The inside of haproxy/local/driver, for its own files: driver.c (the file, commands), driver_read.c (what runs),
 * driver_reload.c. */
#ifndef HAPROXY_LOCAL_DRIVER_INTERNAL_H
#define HAPROXY_LOCAL_DRIVER_INTERNAL_H

#include "haproxy/local/cli.h"
#include "haproxy/local/driver.h"
#include "haproxy/local/helper.h"
#include "haproxy/readout.h"
#include "host/timer.h"

enum local_reload_step {
    LOCAL_RELOAD_NONE,
    LOCAL_RELOAD_BEFORE,  /* who runs? */
    LOCAL_RELOAD_ASKED,   /* the helper was told to reload */
    LOCAL_RELOAD_WATCHED, /* who runs now? */
    LOCAL_RELOAD_SUCCEEDED,
    LOCAL_RELOAD_FAILED,
    LOCAL_RELOAD_LOST, /* nobody knows */
};

/* The last one that was asked for. */
struct local_reload {
    enum local_reload_step step;
    unsigned number; /* of its id */
    int64_t loads;   /* the version that the file had then */
    int64_t worker;  /* before it; -1: not known */
    unsigned failed; /* reloads that the master counted as failed before it */
    uint64_t until_ms;
    char *why;            /* LOCAL_RELOAD_FAILED, LOCAL_RELOAD_LOST */
    char *unanswered;     /* what the last question ended with; NULL: an answer */
    struct reload *waits; /* that is to be told; NULL: nobody asked yet */
    struct timer again;
    struct local_request *request;
};

struct local_driver {
    struct driver base; /* the first one: a struct driver * is one of it */
    struct local_driver_options options;

    int64_t version;                /* counts the contents that the file had, as far as they were seen */
    struct local_identity identity; /* of the last one */
    struct cfg_content *file;       /* its bytes */
    bool unloaded;                  /* it was written here, and no reload has loaded it */

    struct local_request *request, *command; /* under way; NULL: none */
    struct readout *to;
    size_t at; /* the backend whose servers are read */

    struct replacement_request replacement;
    struct written written; /* to be told from the loop */
    struct replaced replaced;
    void (*tells)(struct driver *d); /* which of them */
    struct timer tell;
    char *reload_id;
    struct local_reload reload;
};

static inline struct local_driver *local_driver_of(struct driver *d)
{
    return (struct local_driver *)(void *)d;
}

/* driver.c: calls it from the loop, once. */
void local_driver_tell(struct local_driver *d, void (*tells)(struct driver *d));

/* driver_read.c: after the file. */
void local_driver_read_running(struct local_driver *d);

/* driver_reload.c */
void local_driver_reload_init(struct local_driver *d, struct event_base *base);
void local_driver_reload_fini(struct local_driver *d);
void local_driver_reload(struct local_driver *d); /* begins another one */
void local_driver_ask_reload(struct driver *base, struct reload *r);

#endif

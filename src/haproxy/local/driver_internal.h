/* The inside of haproxy/local/driver, for its own files: driver.c (the file, commands), driver_read.c (what runs),
 * driver_write.c (changes of it), driver_reload.c. */
#ifndef HAPROXY_LOCAL_DRIVER_INTERNAL_H
#define HAPROXY_LOCAL_DRIVER_INTERNAL_H

#include "haproxy/cfg/content.h"
#include "haproxy/cfg/edit.h"
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

/* One server, in the file and in the running HAProxy. */
struct local_update {
    char *backend;
    struct backend_server wanted; /* the line as it is in the file then */
    unsigned fields;
    bool hurry;
    unsigned next;  /* command */
    unsigned reads; /* of what runs, so far */
    uint64_t begin_us, write_us;
    struct updated news; /* to be told */
    struct timer again;
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

    struct cfg_edits edits;      /* of the write to come */
    struct cfg_content *writing; /* what is being written; NULL: nothing */
    uint64_t begin_us;
    struct local_update update;
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

/* driver.c */
void local_driver_tell(struct local_driver *d, void (*tells)(struct driver *d)); /* from the loop, once */

/* driver_write.c */
int local_driver_add(struct driver *d, const struct change *list, size_t count, struct error *err) must_check;
void local_driver_write(struct driver *d, int64_t version, bool review);
void local_driver_abort(struct driver *d);
int local_driver_update(struct driver *d, int64_t version, const struct update_request *request,
                        struct error *err) must_check;
void local_driver_update_again(void *driver); /* of its timer */
void local_driver_write_fini(struct local_driver *d);
/* The file is that now. */
void local_driver_wrote(struct local_driver *d, const struct local_answer *a, struct cfg_content *text);
/* Of a request about the file that did not go well. wrote: it might have. */
enum transaction_result local_driver_failed(const struct local_driver *d, const struct local_answer *a, bool wrote,
                                            struct error *err);
/* What `haproxy -c` said of that text, by the user's lines. */
void local_driver_rejected(const struct local_driver *d, const char *said, const struct cfg_edits *edits,
                           const struct cfg_content *text, struct error *err);

/* driver_read.c: one row of `show servers state`. */
void local_driver_take_server(struct runtime_server *ret, const struct cli_server *s);

/* driver_read.c: after the file. */
void local_driver_read_running(struct local_driver *d);

/* driver_reload.c */
void local_driver_reload_init(struct local_driver *d, struct event_base *base);
void local_driver_reload_fini(struct local_driver *d);
void local_driver_reload(struct local_driver *d); /* begins another one */
void local_driver_ask_reload(struct driver *base, struct reload *r);

#endif

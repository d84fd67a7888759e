/* The inside of haproxy/dataplane/driver, for its own files: driver.c (reading, reloads, commands), driver_write.c
 * (several changes, runtime updates), driver_file.c (the whole file, and those beside it), driver_served.c (what HAProxy
 * serves). */
#pragma once

#include "haproxy/cfg/edit.h"
#include "haproxy/change.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/driver.h"
#include "haproxy/dataplane/reader.h"
#include "haproxy/dataplane/replacement.h"
#include "haproxy/dataplane/runtime_update.h"
#include "haproxy/dataplane/storage.h"
#include "haproxy/dataplane/transaction.h"
#include "haproxy/served.h"
#include "haproxy/verification.h"
#include "host/timer.h"

/* What is asked one after the other. */
enum served_step { SERVED_WORKER, SERVED_FRONTENDS, SERVED_BACKENDS, SERVED_SERVERS, SERVED_STEPS };

struct dataplane_driver;

/* The same changes as the steps of a transaction, for a write without one. */
struct dataplane_servers {
    struct changes changes;
    bool any;    /* one of them comes or goes */
    bool beyond; /* and a backend itself changes, too */
    int64_t version;
    bool review;                       /* of a transaction in its place */
    struct cfg_content *before, *text; /* the file that is there, and with them; NULL: not made */
    struct cfg_edits edits;
    void (*ended)(struct dataplane_driver *d, const struct replaced *r); /* of that write; NULL: none is under way */
};

struct dataplane_driver {
    struct driver base; /* the first one: a struct driver * is one of it */
    struct dataplane_client *client, *runtime;
    struct reader reader;
    struct reload *reload; /* that is asked about */
    enum runtime_admin commanded;

    struct transaction transaction;
    struct transaction_step *steps; /* of the one to come */
    size_t step_count;
    bool cleaned; /* transactions of earlier runs were searched and deleted */
    struct dataplane_servers servers;
    char *load_why; /* of the transaction under way, which only loads a file that was written; NULL: it says nothing */

    struct runtime_update update;
    struct timer again;                                                          /* what runs is read once more: */
    struct transaction_action reading;                                           /* so, */
    void (*reads)(struct dataplane_driver *d, struct transaction_action action); /* of the machine that reads */
    bool hurry;

    struct replacement replacement;
    struct cfg_content *file;         /* what it made of the text; NULL: nothing that is known */
    struct verification verification; /* whether HAProxy applies the runtime commands of a whole file's write */
    struct storage storage;

    struct served served; /* what was answered of it so far */
    enum served_step serving;
    bool serves_servers; /* they are asked for, too */
};

static inline struct dataplane_driver *dataplane_driver_of(struct driver *d)
{
    return (struct dataplane_driver *)(void *)d;
}

/* driver.c */
void dataplane_driver_forget_steps(struct dataplane_driver *d); /* what was added for a write */
/* After the action's delay. */
void dataplane_driver_read_again(struct dataplane_driver *d, struct transaction_action action,
                                 void (*reads)(struct dataplane_driver *d, struct transaction_action action));

/* driver_write.c */
int dataplane_driver_add(struct driver *d, const struct change *list, size_t count, struct error *err) must_check;
void dataplane_driver_write(struct driver *d, int64_t version, bool review, bool reload);
void dataplane_driver_abort(struct driver *d);
void dataplane_driver_clean(struct driver *d);
void dataplane_driver_preview(struct driver *d, int64_t version);
int dataplane_driver_update(struct driver *d, int64_t version, const struct update_request *request,
                            struct error *err) must_check;

/* driver_served.c */
void dataplane_driver_ask_served(struct driver *d, bool servers);

/* driver_file.c */
int dataplane_driver_foresee(const struct driver *d, const struct cfg_file *to, const struct changes *changes,
                             struct buf *ret, struct error *err) must_check;
void dataplane_driver_replace(struct driver *d, int64_t version, const struct replacement_request *request);
void dataplane_driver_store(struct driver *d, const struct storage_request *request);

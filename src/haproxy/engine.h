/*
 * What drives a HAProxy: an engine decides what a part of its configuration should be, the instance (haproxy/instance) reads,
 * writes, reloads and verifies. Several engines may drive one instance; each owns its part, which instance_new checks:
 *
 *   ENGINE_SERVERS    the server lines of a backend
 *   ENGINE_SETTINGS   its settings (balance, checks, default-server)
 *   rest              all of the file that no other engine owns
 *
 * One write at a time: a transaction may carry the changes of several engines. What one engine writes is told to the others
 * (`committed`, `updated`), so that it is no drift, no conflict and no surprise to them.
 *
 * Callbacks may be NULL but for decide and collect. They run on the loop, within a call of the instance; of its functions they
 * may call those of haproxy/instance.h that are "for engines", and start nothing but what they are asked for.
 */
#ifndef HAPROXY_ENGINE_H
#define HAPROXY_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/runtime.h"

struct instance;
struct runtime_update;
struct transaction;
struct transaction_step;

enum engine_part { ENGINE_SERVERS = 1, ENGINE_SETTINGS = 2 };

struct engine_claim {
    const char *backend;
    unsigned parts; /* of engine_part */
};

/* A backend that an engine claims, as it was read last. Only the instance writes to it (in runtime_read, who owns its servers may
 * correct what runs). */
struct instance_backend {
    const char *name;
    bool was_read;
    struct backend actual;
    struct error unreadable; /* of actual; kind NONE: it can be believed */
    struct runtime runtime;  /* what HAProxy runs */
    bool runtime_lost;       /* it cannot be read, and the log has that */
    bool was_readable;       /* at the reading before */
    bool writing;            /* the transaction or runtime update in hand is for it */
    bool reviewed; /* a transaction with its changes was seen to be harmless since another writer's last one */
    const struct engine *servers_of, *settings_of; /* who owns these; NULL: nobody */
};

/* What an engine has to do; false in all: nothing. */
struct engine_wants {
    bool waits;       /* there is something to write, but not now (`due` says when) */
    bool update;      /* a runtime update: `update` starts it */
    bool transaction; /* `collect` has its steps */
    bool overdue;     /* the transaction does not wait for runtime updates any longer */
    bool reload;      /* an empty commit */
};

struct engine_ops {
    const char *name; /* for messages */
    void (*attach)(void *self, struct instance *in);

    /* ---- reading */
    void (*read)(void *self);                            /* the backends are what was read now */
    bool (*runtime_read)(void *self, bool other_worker); /* so is what runs; true: read again soon */
    void (*concluded)(void *self);                       /* reload and drift are judged by it */
    void (*read_failed)(void *self);
    void (*resync)(void *self);  /* each RESYNC_PERIOD */
    void (*refresh)(void *self); /* an operator asks: what was put off is tried now */

    /* ---- deciding */
    bool (*has_desired)(const void *self);                      /* it knows what should be, of any backend */
    bool (*may_write)(const void *self);                        /* ever: no dry run, not all paused */
    uint64_t (*due)(const void *self, uint64_t now_ms);         /* the next moment after now to decide again; 0: none */
    void (*decide)(void *self, struct engine_wants *ret_wants); /* ret_wants is all false before */
    /* The line is one of those that it writes, in a backend whose servers it owns. */
    bool (*manages)(const void *self, const struct instance_backend *b, const struct backend_server *line);

    /* ---- a transaction */
    /* Appends its steps, and calls instance_writes for each backend that they are for. */
    void (*collect)(void *self, struct transaction_step **steps, size_t *count);
    /* The transaction in hand may change this line of the file: the section's kind and name, the first two words; first NULL: the
     * section itself. */
    bool (*may_change)(const void *self, const char *kind, const char *name, const char *first, const char *second);
    void (*committed)(void *self, const struct transaction *t); /* whether it had changes of this engine or not */
    void (*not_committed)(void *self);                          /* it comes again, or is refused: */
    void (*rejected)(void *self, const char *what, const struct error *err); /* what it writes would be refused again */
    void (*reload_failed)(void *self); /* the file is perhaps not what was committed */

    /* ---- a runtime update: one server, in the file and in the running HAProxy, without a reload */
    void (*update)(void *self); /* calls instance_update, or not */
    /* u->result says how: written, by a reload, or unverified. was: the version before. b may be another engine's. */
    void (*updated)(void *self, const struct instance_backend *b, const struct runtime_update *u, int64_t was);

    /* ---- runtime commands: the state of one server in the running HAProxy alone */
    void (*command_sent)(void *self, const struct instance_backend *b, const struct runtime_command *c);
    /* crossed: a reading is under way that may show what was before. event_us: as given. */
    void (*command_done)(void *self, const struct instance_backend *b, const struct runtime_command *c, bool crossed,
                         uint64_t took_us, uint64_t event_us);
    /* unanswered: it may be carried out yet. */
    void (*command_failed)(void *self, const struct instance_backend *b, const struct runtime_command *c,
                           bool unanswered, const struct error *err);
    void (*commands_done)(void *self); /* none is left */

    /* ---- the end */
    /* The next server line that is to be written before the end, by a runtime update; ret is the caller's to free. */
    bool (*last_update)(void *self, const struct instance_backend **ret_b, struct backend_server *ret);
    void (*last_updated)(void *self, const struct instance_backend *b, const struct runtime_update *u);

    /* Something is wrong with this HAProxy as a whole. out_of_sync: no backend is in sync for that time. */
    void (*trouble)(void *self, bool out_of_sync);
};

struct engine {
    const struct engine_ops *ops;
    void *self;
    const struct engine_claim *claims; /* borrowed */
    size_t claim_count;
    bool rest;
};

#endif

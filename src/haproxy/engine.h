/*
 * What drives a HAProxy: an engine decides what a part of its configuration should be, the instance (haproxy/instance)
 * reads, writes, reloads and verifies. Several engines may drive one instance; each owns its part, which instance_new
 * checks:
 *
 *   ENGINE_SERVERS    the server lines of a backend
 *   ENGINE_SETTINGS   its settings (balance, checks, default-server)
 *   rest              all of the file that no other engine owns
 *
 * One write at a time: a transaction may carry the changes of several engines. The other engines learn what one engine
 * wrote (`committed`, `updated`), so that it is no drift and no conflict to them.
 *
 * Callbacks may be NULL but for decide. They run on the loop, within a call of the instance; of its
 * functions they may call those of haproxy/instance.h that are "for engines", and start nothing but what they are asked
 * for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/runtime.h"

struct instance;
struct replaced;
struct replacement_request;
struct served;
struct storage_request;
struct stored;
struct updated;
struct written;

enum engine_part { ENGINE_SERVERS = 1, ENGINE_SETTINGS = 2 };

struct engine_claim {
    const char *backend;
    unsigned parts; /* of engine_part */
};

/* A backend that an engine claims, as it was read last. Only the instance writes to it (in runtime_read, the owner of
 * its servers may correct what runs). */
struct instance_backend {
    const char *name;
    bool was_read;
    struct backend actual;
    struct error unreadable; /* of actual; kind NONE: actual is valid */
    struct runtime runtime;  /* what HAProxy runs */
    bool runtime_lost;       /* it cannot be read, and that was logged */
    bool was_readable;       /* at the reading before */
    bool as_read;            /* `actual` is what was read, all at one version, and not touched since */
    bool as_before;          /* the last reading found what was known already, but for the version */
    bool runs_file;          /* what runs was compared with it, and does not differ */
    bool writing;            /* the transaction or runtime update in hand is for it */
    bool reviewed;           /* a preview of its changes was harmless since another writer's last write */
    const struct engine *servers_of, *settings_of; /* their owners; NULL: none */
};

/* What an engine has to do; false in all: nothing. */
struct engine_wants {
    bool waits;       /* there is something to write, but not now (`due` says when) */
    bool failed;      /* because it could not be written: that problem is not resolved */
    bool update;      /* a runtime update: `update` starts it */
    bool transaction; /* `collect` has its changes */
    bool many;        /* thousands of changes: collected in a round of the loop of their own */
    bool overdue;     /* the transaction or replacement does not wait for runtime updates any longer */
    bool reload;      /* an empty commit */
    bool replacement; /* `replace` says of what; of the engine that owns the rest */
    bool storage;     /* before that: `store` says which files */
    bool served;      /* what HAProxy serves, before all of these: `served` is called */
    bool reading;     /* before anything is written: what was read is too old for it */
};

struct engine_ops {
    const char *name; /* for messages */
    void (*attach)(void *self, struct instance *in);

    /* ---- reading */
    void (*read)(void *self);                            /* the backends are what was read now, and instance_file */
    bool (*runtime_read)(void *self, bool other_worker); /* so is what runs; true: read again soon */
    void (*concluded)(void *self);                       /* reload and drift are judged by it */
    void (*read_failed)(void *self);
    void (*resync)(void *self);  /* each RESYNC_PERIOD */
    void (*refresh)(void *self); /* an operator asks: what was put off is tried now */

    /* ---- deciding */
    bool (*has_desired)(const void *self);                      /* it has a desired state, of any backend */
    bool (*may_write)(const void *self);                        /* ever: no dry run, not all paused */
    uint64_t (*due)(const void *self, uint64_t now_ms);         /* the next moment after now to decide again; 0: none */
    void (*decide)(void *self, struct engine_wants *ret_wants); /* ret_wants is all false before */
    /* The line is one of those that it writes, in a backend whose servers it owns. */
    bool (*manages)(const void *self, const struct instance_backend *b, const struct backend_server *line);

    /* ---- a transaction */
    void (*collect)(void *self); /* calls instance_change for each backend that has changes */
    /* The transaction in hand may change this line of the file: the section's kind and name, the first two words; first
     * NULL: the section itself. */
    bool (*may_change)(const void *self, const char *kind, const char *name, const char *first, const char *second);
    void (*committed)(void *self, const struct written *w); /* whether it had changes of this engine or not */
    void (*not_committed)(void *self);                      /* it is repeated, or rejected: */
    void (*rejected)(void *self, const char *what, const struct error *err); /* the same would be rejected again */
    /* The file is perhaps not what was committed. lost: it is unknown whether HAProxy tried to load it. */
    void (*reload_failed)(void *self, bool lost);
    void (*reload_ended)(void *self);  /* not so: what runs by it is read next */
    void (*reloads_known)(void *self); /* it is known how those before the start ended */

    /* ---- the whole file, validated or written without a reload */
    void (*replace)(void *self, struct replacement_request *ret);
    /* r->result says how it ended; what was written is read back next (`read` follows at once where the answer has all
     * of it), and loaded by an empty commit. */
    void (*replaced)(void *self, const struct replaced *r);
    void (*rewritten)(void *self, int64_t was, int64_t version); /* of all engines: one has written the whole file */

    /* ---- the files beside it */
    void (*store)(void *self, struct storage_request *ret);
    void (*stored)(void *self, const struct stored *s);

    /* ---- what HAProxy serves; s NULL: err says why that is not known (haproxy/driver) */
    void (*served)(void *self, const struct served *s, const struct error *err);

    /* ---- a runtime update: one server, in the file and in the running HAProxy, without a reload */
    void (*update)(void *self); /* calls instance_update, or not */
    /* u->result says how: written, by a reload, or unverified. was: the version before. b may be another engine's. */
    void (*updated)(void *self, const struct instance_backend *b, const struct updated *u, int64_t was);

    /* ---- runtime commands: the state of one server in the running HAProxy alone */
    void (*command_sent)(void *self, const struct instance_backend *b, const struct runtime_command *c);
    /* crossed: a reading is under way that may show what was before. event_us: as given. */
    void (*command_done)(void *self, const struct instance_backend *b, const struct runtime_command *c, bool crossed,
                         uint64_t took_us, uint64_t event_us);
    /* unanswered: it may still be carried out. */
    void (*command_failed)(void *self, const struct instance_backend *b, const struct runtime_command *c,
                           bool unanswered, const struct error *err);
    void (*commands_done)(void *self); /* none is left */

    /* ---- the end */
    /* The next server line that is to be written before the end, by a runtime update; ret is the caller's to free. */
    bool (*last_update)(void *self, const struct instance_backend **ret_b, struct backend_server *ret);
    void (*last_updated)(void *self, const struct instance_backend *b, const struct updated *u);

    /* Something is wrong with this HAProxy as a whole. out_of_sync: no backend is in sync for that time. */
    void (*trouble)(void *self, bool out_of_sync);
};

/* *due: the earliest moment after now of those that it was called with; 0 before the first. */
static inline void engine_sooner(uint64_t *due, uint64_t when, uint64_t now)
{
    if (when > now && (*due == 0 || when < *due))
        *due = when;
}

struct engine {
    const struct engine_ops *ops;
    void *self;
    const struct engine_claim *claims; /* borrowed */
    size_t claim_count;
    bool rest;
};

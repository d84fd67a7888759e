/*
 * A way to one HAProxy: its Data Plane API (haproxy/dataplane/driver), or its own files and sockets on this machine
 * (haproxy/local/driver). Its owner (haproxy/instance) asks for one thing at a time and gets the result once, from the loop, how
 * it ended; a command to the running HAProxy goes beside that, one at a time, too. What it gets is there for that
 * call alone.
 *
 * Versions count the writes to the file, the owner's and everybody else's: a write names the version that it is for, and
 * is a conflict where the file has another one by then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/runtime.h"
#include "haproxy/storage_files.h"

struct buf;
struct cfg_content;
struct cfg_edits;
struct cfg_file;
struct change;
struct changes;
struct driver;
struct readout;
struct reload;
struct served;
struct storage_foresight;

/* ---- a write of several changes that take effect as one, and what is done before and after it */

/* How it ended: the label of transactions_total{result}. */
enum transaction_result {
    TRANSACTION_COMMITTED, /* reload_id and version are set */
    TRANSACTION_CLEANED,   /* of `clean`: nothing was to be written */
    TRANSACTION_PREVIEWED, /* of `preview`: harmless, or (http_status of error) not possible */
    TRANSACTION_HARMFUL,   /* what it would write changes the meaning of unmanaged lines: an operator has to act */
    TRANSACTION_CONFLICT,  /* another writer was first: read and try again at once */
    TRANSACTION_LIMIT,     /* there is no room for it, and cleaning did not help: back off */
    TRANSACTION_REJECTED,  /* by HAProxy or its API: the same again will fail: long backoff */
    TRANSACTION_UNAUTHORIZED,
    TRANSACTION_UNAVAILABLE, /* nothing was written */
    TRANSACTION_UNKNOWN,     /* the commit was sent and its answer lost: read again to know */
    TRANSACTION_ABORTED,
};

const char *transaction_result_name(enum transaction_result r);

struct written {
    enum transaction_result result;
    struct error error;     /* why, with what was being done; kind NONE where committed */
    int64_t version;        /* after TRANSACTION_COMMITTED the new one */
    const char *reload_id;  /* NULL: none comes, it is applied already */
    const char *reload_why; /* it could not be without; NULL: not tried, or nothing is to be said */
    int64_t retry_after_ms;
    bool unloaded; /* perhaps committed all the same, or it was to load what had been written before */
    uint64_t begin_us, change_us, commit_us; /* time spent in requests of each part */
    char *const *foreign;                    /* other clients' dead transactions that were deleted to make room */
    size_t foreign_count;
};

/* ---- the whole file */

struct replacement_request {
    struct cfg_content *text; /* no NUL in it; ends with a newline */
    /* The file that is there, to go back; NULL: only validate. Both are borrowed until the end. */
    struct cfg_content *before;
    bool restores;                 /* text is a file from before, too, which perhaps was no document */
    const struct cfg_edits *edits; /* that text was printed with; NULL: none. Borrowed, too */
    /* All in which text differs from what is there, which HAProxy runs: to be changed there instead of a reload, as far as this
     * way can. NULL: a reload has to come. Borrowed, too. */
    const struct changes *changes;
    bool plain;      /* and there is nothing in them that HAProxy could refuse */
    bool files_stay; /* and no file beside it was changed for them */
};

struct replaced {
    /* PREVIEWED: valid. COMMITTED: written, not loaded yet, unless reload_id is set or it `runs`. HARMFUL: it would mean
     * something else, the file from before is back; with UNKNOWN it may not be. All others as of a write. */
    enum transaction_result result;
    struct error error; /* why; kind NONE with PREVIEWED and COMMITTED */
    int64_t version;
    const char *reload_id;
    bool runs;              /* the running HAProxy has all of its changes, and was read back: no reload */
    const char *reload_why; /* it could not be without; NULL: not tried, or nothing is to be said */
    int64_t retry_after_ms;
    uint64_t took_us;
    struct cfg_content *file; /* after COMMITTED: as it is now; NULL: not known */
};

/* ---- the files beside it */

enum storage_part {
    STORAGE_ADD, /* before the configuration is validated: what is new or has changed; of a map that loses lines, those
                    * that it gains, added to what it has (not where they change `alone`) */
    STORAGE_FINAL, /* the configuration is written, what HAProxy runs is to come: these maps as they are to be */
    STORAGE_RUN,   /* the same by the runtime, instead of a reload: maps and certificates that HAProxy has loaded under
                    * the same name, all of a file or nothing of it, and read back */
    STORAGE_END,   /* that runs: what is in the list no more is deleted */
    STORAGE_BACK,  /* it will not run: what was changed gets its former bytes, as far as they are known, and what was
                    * added is deleted */
    STORAGE_CHECK, /* that runs: are the files there still as they were put? (Of a certificate in an API only by its
                    * serial number and its size.) */
};

struct storage_request {
    enum storage_part part;
    const struct storage_files *files; /* borrowed until the end */
    bool alone; /* of STORAGE_ADD: haproxy.cfg stays as it is, so that maps lose their lines at once */
    /* Of STORAGE_CHECK: it says there of each file of the list, in their order, then of those that go, what the other parts
     * would come to with this haproxy.cfg. HAProxy is asked what it has. NULL: nothing is. Borrowed, too. */
    struct storage_foresight *foresight;
    const struct cfg_content *config;
};

struct stored {
    enum transaction_result result; /* COMMITTED, or as of a write */
    struct error error;
    int64_t retry_after_ms;
    unsigned written, deleted, in_use;
    unsigned certificates; /* of those written */
    unsigned differing;    /* of STORAGE_CHECK: so many files, */
    const char *differs;   /* the first of which is this one, "maps/hosts.map"; NULL: none */
    bool unfinished;       /* maps wait for STORAGE_FINAL */
    bool changed;          /* files are not what runs: a reload is to load them */
    const char *why;       /* of STORAGE_RUN with `changed`: one needs the reload; NULL: none */
    unsigned ran;          /* of STORAGE_RUN: so many files are what runs by now */
};

/* ---- one server, in the file and in the running HAProxy, without a reload */

/* How it ended: the label of runtime_updates_total{result}. */
enum update_result {
    UPDATE_WRITTEN,    /* the file has it (version), and the running HAProxy shows it */
    UPDATE_RELOADS,    /* the file has it, and a reload comes by itself (reload_id) */
    UPDATE_UNVERIFIED, /* the file has it, but the running HAProxy shows something else, or cannot be read: commit */
    UPDATE_CONFLICT,   /* the version or the server is not what it was: read again */
    UPDATE_REJECTED,   /* the same again will fail */
    UPDATE_UNAUTHORIZED,
    UPDATE_UNAVAILABLE, /* nothing was written */
    UPDATE_UNKNOWN,     /* sent, and the answer lost: read again to know */
};

const char *update_result_name(enum update_result r);

struct update_request {
    const char *backend;
    const struct backend_server *server; /* as it is to be */
    unsigned fields;                     /* bits of server_field, those that differ from the line */
    bool keep_maintenance;               /* the old line's maintenance stays as it is */
    bool hurry;                          /* the daemon ends: no time to wait for what comes about later */
};

struct updated {
    enum update_result result;
    struct error error;                  /* why; kind NONE with WRITTEN */
    const struct backend_server *wanted; /* the line as the file has it once it is written */
    unsigned fields;                     /* that were written */
    int64_t version;                     /* with WRITTEN, RELOADS, UNVERIFIED the new one */
    const char *reload_id;               /* with RELOADS */
    int64_t retry_after_ms;              /* -1 */
    uint64_t write_us, read_us;
};

/* ---- reloads that others asked for */

/* In any order: how the last one that ended did end, and whether one is still to come. */
struct reload_history {
    bool pending;
    bool last_failed;
    char *response; /* of the last one that ended: HAProxy's own words; NULL where none ended */
    bool unlisted;  /* this way keeps no list of them: the notes beside the file say whether it was loaded */
};

void reload_history_fini(struct reload_history *h);

/* ---- the way */

/* How each of them ended. */
struct driver_events {
    void (*was_read)(void *arg, const struct error *err); /* NULL: the readout is complete; else how to go on */
    /* Before a commit (previews: of nothing) the file as it would be; the answer says what of it the write would damage:
     * NULL: nothing. Allocated. */
    char *(*judge)(void *arg, const char *text, size_t len, bool previews);
    void (*cleaned)(void *arg, const struct written *w);
    void (*previewed)(void *arg, const struct written *w);
    void (*written)(void *arg, const struct written *w);
    void (*replaced)(void *arg, const struct replaced *r);
    void (*stored)(void *arg, const struct stored *s);
    void (*updated)(void *arg, const struct updated *u);
    void (*running_set)(void *arg, const struct error *err);                 /* NULL: HAProxy has done all of it */
    void (*commanded)(void *arg, uint64_t took_us, const struct error *err); /* NULL: it is in that state */
    void (*reload_told)(void *arg);
    void (*last_reload_told)(void *arg, const struct reload_history *h, const struct error *err);
    /* s NULL: err says why it is not known; ERROR_GONE: this way never shows it. That HAProxy does not answer is known. */
    void (*served_told)(void *arg, const struct served *s, const struct error *err);
    /* At any time: the file may be another by now. waited: `waits` is over, what failed by it may be tried again. */
    void (*go_on)(void *arg, bool waited);
};

struct driver_ops {
    void (*read)(struct driver *d, struct readout *to); /* which is borrowed until the end */
    /* Into the write to come, behind what is there; copies what it needs. -1: it cannot be put into words
     * (ERROR_INVALID), nothing was added. */
    int (*add)(struct driver *d, const struct change *list, size_t count, struct error *err);
    /* Writes what was added (nothing: a reload of what is there). review: `judge` is asked before it is committed. reload:
     * what runs may not be the file, so that one has to follow. */
    void (*write)(struct driver *d, int64_t version, bool review, bool reload);
    void (*abort)(struct driver *d); /* at the end of the daemon: what was not committed is not committed any more */
    /* Deletes what earlier runs left behind, where it says that there is something. NULL: there never is. */
    bool (*wants_cleaning)(const struct driver *d);
    void (*clean)(struct driver *d);
    void (*resync)(struct driver *d); /* what could not be cleaned is tried again. NULL: nothing to do */
    /* What a write would make of the file as it is. NULL: nothing, a write changes the lines that it is for, and no
     * other. */
    void (*preview)(struct driver *d, int64_t version);
    void (*replace)(struct driver *d, int64_t version, const struct replacement_request *request);
    /* What `replace` would send to the running HAProxy for these changes, from the file that was read last to `to`: commands, one
     * a line, that may be shown. -1: it takes a reload, and why (ERROR_INVALID). Sends nothing. NULL: by reloads alone. */
    int (*foresee)(const struct driver *d, const struct cfg_file *to, const struct changes *changes, struct buf *ret,
                   struct error *err);
    void (*store)(struct driver *d, const struct storage_request *request);
    int (*update)(struct driver *d, int64_t version, const struct update_request *request, struct error *err);
    /* Addresses and ports in the running HAProxy alone: the file has them. CHANGE_SET_SERVER; borrowed until it returns.
     * -1: they fit into no command. NULL: by reloads alone. */
    int (*set_running)(struct driver *d, const struct changes *changes, struct error *err);
    void (*command)(struct driver *d, const char *backend, const char *server, enum runtime_admin state);
    void (*ask_reload)(struct driver *d, struct reload *r); /* and sets its state */
    void (*ask_last_reload)(struct driver *d);
    /* What HAProxy serves now (haproxy/served); servers: and which of them are down by their checks. */
    void (*ask_served)(struct driver *d, bool servers);
    /* It refused the credentials, on the way that commands go or on the other. True: there are new credentials by now. */
    bool (*renew)(struct driver *d, bool commands);
    void (*cancel)(struct driver *d, bool commands); /* what is under way there: nothing is reported of it any more */
    void (*login)(const struct driver *d, const char **ret_user, const char **ret_password); /* NULL: there is none */
    void (*free)(struct driver *d);                                                          /* and cancels */
};

struct driver {
    const struct driver_ops *ops;
    const char *name;  /* for messages and metrics: a URL without userinfo, or a path */
    bool runtime;      /* the running HAProxy is read and written to, too; else all goes by the file and reloads */
    bool regroups;     /* what it writes it writes by kinds of lines, in an order of its own */
    bool adds;         /* servers come and go without a reload, where HAProxy lets them */
    bool tells_ends;   /* of reloads, by itself: ask_reload may be asked at once, and once for each */
    const char *fails; /* what to say of it where it fails without an answer */
    const char *waits; /* for another daemon, which has the file: what to say of it; NULL: for none */
    const struct driver_events *events; /* the owner sets it and arg */
    void *arg;
};

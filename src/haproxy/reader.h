/*
 * Reads backends from the Data Plane API: base fields, servers and server-templates of each, and the file itself, all
 * at the same configuration version; and what the running HAProxy has of them, where that is asked for and can be read.
 * Reads only.
 */
#ifndef HAPROXY_READER_H
#define HAPROXY_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/runtime.h"

struct cfg_content;
struct dataplane_answer;
struct dataplane_client;

enum reader_step {
    READER_IDLE,
    READER_BACKEND,
    READER_SERVERS,
    READER_TEMPLATES,
    READER_RAW,
    READER_WORKER,  /* of the running HAProxy; */
    READER_RUNTIME, /* each backend of it */
};

struct reading {
    struct backend backend;
    struct runtime runtime;  /* not readable: why says so */
    struct error unreadable; /* kind NONE, or what of this one cannot be understood: backend is not valid */
};

#define READER_VERSION_BYTES 32

struct reader {
    struct dataplane_client *client;
    const char *const *names; /* borrowed */
    size_t count;             /* 0: the file and the worker alone */
    int64_t version;          /* that all of it was read at */
    bool split;               /* the file says another one: after a failed reload the API puts the last good file back,
                               * but goes on answering with what failed */
    enum reader_step step;
    size_t at;          /* the backend that is being read */
    bool with_runtime;  /* set it after reader_init: the running HAProxy is read, too */
    bool worker_silent; /* the API answers for it, with an error: it is not running, or its socket is gone */
    int64_t worker_pid; /* of the HAProxy that answered; -1: not known */
    int64_t worker_uptime_s;
    char haproxy[READER_VERSION_BYTES]; /* its version as read last; "": not known */
    unsigned restarts;                  /* the version changed during the reading */
    struct reading *found;              /* `count` of them */
    /* The file as read, to be compared with a preview of a write; and what of it a write would change in meaning: for
     * sure, or perhaps (haproxy/cfg/file). NULL: nothing. Until the next start, unless it is let go before. Where only
     * the comments at its top are others than before, which count the API's versions, it is the one from before. */
    struct cfg_content *file, *before;
    bool unloaded; /* a replacement wrote it, and no commit has loaded it since */
    char *file_problem, *defaults_problem;
    /* err NULL: found is complete, and each may be moved out. Otherwise its kind says how to go on. */
    void (*done)(void *arg, struct reading *found, const struct error *err);
    void *arg;
};

void reader_init(struct reader *o, struct dataplane_client *client, const char *const *names, size_t count,
                 void (*done)(void *arg, struct reading *found, const struct error *err), void *arg);
void reader_fini(struct reader *o);
void reader_start(struct reader *o);
/* It is another one by now, or not needed any more. keep: it may be compared with the next one. */
void reader_let_file_go(struct reader *o, bool keep);

#endif

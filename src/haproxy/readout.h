/*
 * What was read of one HAProxy: its backends and the file itself, all at the same version of the configuration; and what
 * the running HAProxy has of them, where that is asked for and can be read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/runtime.h"

struct cfg_content;

struct reading {
    /* As it was read last, and is still known to be; NULL: not so. Borrowed until the reading ends. */
    const struct backend *last;
    bool as_last; /* and so it was read now: of `backend` there is what readout_as_last gives it */
    struct backend backend;
    struct runtime runtime;  /* not readable: why says so */
    struct error unreadable; /* kind NONE, or what of this one cannot be understood: backend is not valid */
};

#define READOUT_VERSION_BYTES 32

struct readout {
    const char *const *names; /* borrowed */
    size_t count;             /* 0: the file and the worker alone */
    struct reading *found;    /* `count` of them; each may be moved out */
    int64_t version;    /* that all of it was read at; of `outdated` that of its oldest part, so that a write for it
                               * is a conflict */
    bool outdated;      /* others wrote while it was read, time and again: its parts are not all of one version */
    bool split;         /* the file says another one: after a failed reload the API puts the last good file back,
                               * but goes on answering with what failed */
    bool worker_silent; /* it is not running, or its socket is gone */
    int64_t worker_pid; /* of the HAProxy that answered; -1: not known */
    int64_t worker_uptime_s;
    char haproxy[READOUT_VERSION_BYTES]; /* its version as read last; "": not known */
    /* The file as read, to be compared with a preview of a write; and what of it a write would change in meaning: for
     * sure, or perhaps (haproxy/cfg/file). NULL: nothing. Until the next reading, unless it is let go before. Where only
     * the comments at its top are others than before, which count the API's versions, it is the one from before. */
    struct cfg_content *file, *before;
    bool loaded;   /* a daemon wrote the whole of it, and noted that HAProxy runs it, or had it loaded right after */
    bool unloaded; /* the whole of it was written, and has not been loaded since */
    char *file_problem, *defaults_problem;
};

void readout_init(struct readout *o, const char *const *names, size_t count);
void readout_fini(struct readout *o);
/* All of it is to be read; the file from before is kept. */
void readout_begin(struct readout *o);
/* The same but for what runs, which stays as it was read. */
void readout_begin_configuration(struct readout *o);
/* All of it is of that version. */
void readout_read_at(struct readout *o, int64_t version);
/* It was not read anew, as the file is the same. */
void readout_as_last(struct reading *r, int64_t version);
/* The one that was read, or the last one. */
const struct backend *readout_backend(const struct reading *r);
/* The file is another one by now, or not needed any more. keep: it may be compared with the next one. */
void readout_let_file_go(struct readout *o, bool keep);

/*
 * What comes of a configuration that was applied, as one HAProxy shows it: a machine over readings of what it serves
 * (haproxy/served), without I/O and clock. It compares them with the baseline, a reading from before the write, and with
 * what the configuration promises (configuration/promised):
 *
 *   worker     one that answered before does not, three readings in a row; or after one another process does, or twice another one, which
 *              no reload of the daemon and no other writer's version of the file explains. (Once may be a reload that
 *              another writer asked for.)
 *   listener   one that took connections before, or is new, does not, in two readings in a row
 *   backend    one that had servers up has none, in four readings in a row, or from the write to the end of the time in
 *              which that counts; whether that says anything of the configuration, the owner knows (probation_judge)
 *
 * Not evidence: what the configuration removes or disables, listeners that were stopped and backends that had none before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "haproxy/served.h"

#define PROBATION_READ_MS 500u
#define PROBATION_LEAST_MS 10000u /* after each change; and as long it counts that a backend has no server up */

struct cfg_file;

enum probation_state {
    PROBATION_NONE,    /* nothing is watched */
    PROBATION_GOES_ON, /* ask probation_due when to read */
    PROBATION_GOOD,
    PROBATION_BAD, /* `reason`, `evidence` */
};

enum probation_reason { PROBATION_WORKER, PROBATION_LISTENER, PROBATION_BACKEND };

const char *probation_reason_name(enum probation_reason r); /* the label of a metric */

struct probation_item {
    char *name;
    unsigned bad; /* readings in a row */
    bool was_up;  /* since the write */
    bool lost, judged;
};

struct probation_items {
    struct probation_item *list;
    size_t count;
};

/* Of the process that is expected to answer. */
struct probation_worker {
    int64_t pid, before; /* 0: not known; and the one before it */
    int64_t uptime_s;
    unsigned reloads;    /* of the daemon, when it answered */
    int64_t version;     /* and of the file; -1: not known */
    uint64_t settled_ms; /* until then another process is the reload's */
    unsigned changes;    /* of the process, that no known writer asked for */
    bool gap;            /* the last reading was not answered */
};

/* Zeroed: nothing is known, nothing is watched. */
struct probation {
    enum probation_state state;
    enum probation_reason reason;
    struct error evidence;
    bool asked;             /* for the baseline, which answers or does not */
    struct served baseline; /* before the write */
    struct served last;     /* the last reading that was answered */
    struct probation_worker worker;
    struct probation_items listeners, backends;
    uint64_t since_ms, time_ms, next_ms;
    unsigned silent; /* readings in a row */
};

void probation_fini(struct probation *w); /* which is as zeroed then */

/* Before the write; s NULL: it cannot be read. Kept until probation_forget: what comes before that is compared with the same.
 * reloads: how many the daemon has caused so far, here and below. */
void probation_baseline(struct probation *w, const struct served *s, unsigned reloads);
/* It runs. file: what is in haproxy.cfg now. */
void probation_begin(struct probation *w, const struct cfg_file *file, uint64_t now_ms, uint64_t time_ms);
/* A reading. While nothing is watched it is only remembered (probation_has_none). */
void probation_read(struct probation *w, const struct served *s, unsigned reloads, uint64_t now_ms);
/* It could not be asked, which says nothing; never: it never can be, and all that is known is the reload's end. */
void probation_unread(struct probation *w, bool never, uint64_t now_ms);
/* The next reading is due; 0: none. */
uint64_t probation_due(const struct probation *w);
void probation_end(struct probation *w);    /* another configuration comes; the baseline stays */
void probation_forget(struct probation *w); /* all is well: the next one has a baseline of its own */

/* This backend had servers up in the baseline, and none by the last reading. */
bool probation_has_none(const struct probation *w, const char *backend);
/* Backends were lost that the owner has not been asked about. */
bool probation_is_to_judge(const struct probation *w);
/* Asks about each whether it is lost elsewhere, too (NULL: all are). Those that are not make it PROBATION_BAD; of the others *ret_elsewhere
 * (kind NONE: there are none) names them. */
void probation_judge(struct probation *w, bool (*elsewhere)(const void *arg, const char *backend), const void *arg,
                     struct error *ret_elsewhere);

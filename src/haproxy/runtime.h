/*
 * What the running HAProxy has of one backend, by its runtime API (`show servers state`, HAProxy management guide 9.3).
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum runtime_admin { RUNTIME_READY, RUNTIME_DRAIN, RUNTIME_MAINT };

/* Its texts are base/shared_text's. */
struct runtime_server {
    const char *name;
    const char *address; /* an IP literal; of a line that names a host, what that resolved to */
    uint16_t port;
    /* As a person set it, or the daemon: by the forced bits alone. What HAProxy itself has of a tracked server, of DNS or of
     * checks is none of it. Of an unresolved one in a Data Plane API it may be either. */
    enum runtime_admin admin : 8;
    bool unresolved; /* HAProxy has no address for it, and keeps it in maintenance: its line names a host */
    bool
        unchecked; /* its health check is configured and not enabled; never in a Data Plane API, which does not show it */
    /* Its line was in maintenance when HAProxy loaded it, whatever became of it; never in a Data Plane API. */
    bool from_file;
    bool down;             /* by its health check, or because it is in maint; without a check it never is by itself */
    int weight;            /* -1: not shown (Data Plane API 3.0) */
    uint32_t down_since_s; /* clock_mono_ms / 1000 of the first reading at which it failed its check; 0: it does not */
};

struct runtime {
    bool readable;                  /* false: nothing below is known */
    char *why;                      /* it is not; NULL: it was not asked for */
    struct runtime_server *servers; /* ordered by name */
    size_t count;
};

void runtime_init(struct runtime *r);
void runtime_fini(struct runtime *r);                     /* a zeroed one is allowed; leaves it as runtime_init does */
void runtime_give_up(struct runtime *r, const char *why); /* why it is not read, unless it was, or that is known */
void runtime_unreadable(struct runtime *r, const char *why);
void runtime_server_fini(struct runtime_server *s);
void runtime_sort(struct runtime *r);                                /* after it was filled */
bool runtime_same(const struct runtime *a, const struct runtime *b); /* in all that was read; texts by place */
const struct runtime_server *runtime_find(const struct runtime *r, const char *name); /* NULL: not there */
/* The same, of one name after the other: *at is where the next is searched first, as lists mostly have the same order;
 * 0 at the beginning. */
const struct runtime_server *runtime_find_next(const struct runtime *r, const char *name, size_t *at);

/* To the running HAProxy alone: the state of one server, which is lost at the next reload. */
struct runtime_command {
    const char *name; /* of the server; borrowed */
    enum runtime_admin state;
    const char *why; /* constant, as "it drains": WHY_... of servers/change/route.c */
};

/* The process that answers for HAProxy, since it was read last. */
enum worker_change {
    WORKER_SAME,
    WORKER_OTHER,         /* reloaded or started again: what is ready may have had another state, which no one ended */
    WORKER_BY_OUR_RELOAD, /* by a reload of the daemon that has just ended: the state of a live line was set by no one;
                           * it stood in the file when HAProxy read it, before the last write */
};

/* The row after HAProxy applied the state: a server that leaves maint is up until a check fails. */
void runtime_set_admin(struct runtime_server *s, enum runtime_admin admin);

/* Takes traffic by its state, and its health check says that it is down. */
bool runtime_fails_check(const struct runtime_server *s);
/* After a reading: since when those fail that failed before is in `before`, those that did not fail since now_s. */
void runtime_keep_since(struct runtime *r, const struct runtime *before, uint32_t now_s);

const char *runtime_admin_name(enum runtime_admin a); /* "ready", "drain", "maint": the API's own words */

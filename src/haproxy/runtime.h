/*
 * What the running HAProxy has of one backend, as its runtime API tells (`show servers state`, HAProxy management guide
 * 9.3), and how that differs from the file. Pure.
 */
#ifndef HAPROXY_RUNTIME_H
#define HAPROXY_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct backend;
struct backend_server;

enum runtime_admin { RUNTIME_READY, RUNTIME_DRAIN, RUNTIME_MAINT };

struct runtime_server {
    char *name;
    char *address; /* an IP literal; of a line that names a host, what that resolved to */
    uint16_t port;
    int weight; /* -1: not shown (Data Plane API 3.0) */
    enum runtime_admin admin;
    bool down; /* by its health check, or because it is in maint; without a check it never is by itself */
};

struct runtime {
    bool readable;                  /* false: nothing below is known */
    char *why;                      /* it is not; NULL: it was not asked for */
    struct runtime_server *servers; /* ordered by name */
    size_t count;
};

void runtime_init(struct runtime *r);
void runtime_fini(struct runtime *r); /* a zeroed one is allowed; leaves it as runtime_init does */
void runtime_server_fini(struct runtime_server *s);
void runtime_sort(struct runtime *r);                                                 /* after it was filled */
const struct runtime_server *runtime_find(const struct runtime *r, const char *name); /* NULL: not there */

/* To the running HAProxy alone: the state of one server, which is lost at the next reload. */
struct runtime_command {
    const char *name; /* of the server; borrowed */
    enum runtime_admin state;
    const char *why; /* constant: "it drains", "it leaves", "it is wanted again", "it is held by the loss limit" (not
                      * wanted, and not among the changes), "the file has it in maintenance", "an operator has set it, and
                      * HAProxy forgot it" */
};

/* The process that answers for HAProxy, since it was read last. */
enum worker_change {
    WORKER_SAME,
    WORKER_OTHER, /* reloaded or started again: what is ready may have been something else without anybody's wish */
    WORKER_OURS, /* by a reload of ours that has just ended: what a live line is in is nobody's wish either, but what stood
                   * in the file when HAProxy read it, a write of ours ago */
};

/* For the proof of a write: why this server does not run as its line says. Address and port (where the line has an IP
 * literal), and that a line in maintenance is in maint. Not compared, since both may be somebody's wish and only who wrote
 * knows better: drain and maint of a line that is live, and weights. "HAProxy runs it at 10.0.0.1:80, not at
 * 10.0.0.2:80". NULL: it runs so, or nothing can be told. Allocates. */
char *runtime_server_problem(const struct backend_server *line, const struct runtime_server *is) must_check;

/* For reloads: what only they mend. A line that does not run; something that runs and has no line (not told where
 * server-templates make that name, or where the file has lines that the API does not show); an address or port that
 * differs, but for lines that we do not manage, which an operator may move by hand. No states: a call sets them.
 * "backend be: server n1: HAProxy does not have it; ..." with at most three of them; NULL: nothing, or not readable. Allocates. */
typedef bool runtime_manages(const void *arg, const struct backend_server *line);
char *runtime_problem(const struct backend *file, const struct runtime *r, runtime_manages *manages,
                      const void *arg) must_check;

/* What HAProxy makes of it when it is told so: who leaves maint is up until a check says otherwise. */
void runtime_set_admin(struct runtime_server *s, enum runtime_admin admin);

/* Takes traffic by its state, and its health check says that it is down. */
bool runtime_fails_check(const struct runtime_server *s);

const char *runtime_admin_name(enum runtime_admin a); /* "ready", "drain", "maint": the API's own words */

#endif

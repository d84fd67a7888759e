/*
 * What the running HAProxy has of one backend, as its runtime API tells (`show servers state`, HAProxy management guide
 * 9.3), and how that differs from the file. Pure.
 */
#ifndef MODEL_RUNTIME_H
#define MODEL_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct backend;
struct backend_server;

enum runtime_admin { RUNTIME_READY, RUNTIME_DRAIN, RUNTIME_MAINT };

struct runtime_server {
    char *name;
    char *address;
    uint16_t port;
    int weight; /* -1: not shown (Data Plane API 3.0) */
    enum runtime_admin admin;
};

struct runtime {
    bool readable;                  /* false: nothing below is known */
    char *why;                      /* it is not; NULL: it was not asked for */
    struct runtime_server *servers; /* ordered by name */
    size_t count;
};

void runtime_init(struct runtime *r);
void runtime_fini(struct runtime *r);
void runtime_server_fini(struct runtime_server *s);
void runtime_sort(struct runtime *r);                                                 /* after it was filled */
const struct runtime_server *runtime_find(const struct runtime *r, const char *name); /* NULL: not there */

/* Why this server does not run as its line says, but for drain and maint of a line that is live, which may be somebody's
 * wish: "HAProxy runs it at 10.0.0.1:80". NULL: it does, or nothing can be told (an address that is a name). Allocates. */
char *runtime_server_problem(const struct backend_server *line, const struct runtime_server *is) must_check;

/* What only a reload mends: a line that does not run, something that runs and has no line (server-templates aside), an
 * address or a port that differs. "server n1: HAProxy does not have it; ..." with at most three of them; NULL: nothing, or
 * not readable. Allocates. */
char *runtime_problem(const struct backend *file, const struct runtime *r) must_check;

const char *runtime_admin_name(enum runtime_admin a); /* "ready", "drain", "maint": the API's own words */

#endif

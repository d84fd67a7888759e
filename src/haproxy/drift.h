/* Drift: how the running HAProxy differs from haproxy.cfg. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct backend;
struct backend_server;
struct change;
struct changes;
struct runtime;
struct runtime_server;

/* Whether a runtime update of these fields was applied: address and port (if the line has an IP literal), and maintenance
 * where it was set: what was not set may be anyone's. Not compared, because another writer or an operator may want them:
 * drain of a live line, and weights. "HAProxy runs it at 10.0.0.1:80, not at 10.0.0.2:80". NULL: no difference, or none
 * that can be known. Allocates. */
char *drift_of_server(const struct backend_server *line, unsigned fields, const struct runtime_server *is) must_check;

/* Whether a change came about in the running HAProxy, which has that server so; is NULL: it has none of that name. What the
 * change is about alone: "HAProxy has it in maint". A server that is removed may be there as long as it is in use, in maint.
 * NULL: it came about. Allocates. */
char *drift_of_change(const struct change *c, const struct runtime_server *is) must_check;

/* The same of all changes of one backend, which stand together in the list from `at` on: of the first that did not come
 * about, "backend be: server n1: ...". *ret_next: the first behind them. *ret_comes: it may come about yet; from HAProxy 3.0
 * on a task of its own brings addresses about. */
char *drift_of_changes(const struct changes *all, size_t at, const struct runtime *r, size_t *ret_next,
                       bool *ret_comes) must_check;

/* What may come about yet is read so often again, the nth time after so many ms: 20, 40, .. 320, which is 620 in all, of
 * which 20 were needed on a busy machine. */
#define DRIFT_READS_AGAIN 5u
#define DRIFT_AGAIN_MS(n) (10u << (n))

/* What only a reload repairs: a line that does not run; a server that runs without a line (not reported if a
 * server-template makes that name, or the file has lines that the API does not show); an address or port that differs,
 * except for unmanaged lines, which an operator may move. No states: a runtime command sets them. "backend be: server
 * n1: HAProxy does not run it; ..." with at most three of them; NULL: none, or what runs is not readable. Allocates. */
typedef bool drift_manages(const void *arg, const struct backend_server *line);
char *drift_of_backend(const struct backend *file, const struct runtime *r, drift_manages *manages,
                       const void *arg) must_check;

/* Adds to ret what sets each managed server that runs at another place than its line has to that place. */
void drift_places(const struct backend *file, const struct runtime *r, drift_manages *manages, const void *arg,
                  struct changes *ret);

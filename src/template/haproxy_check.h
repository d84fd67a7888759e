/* `haproxy -c` over what templates gave: rendered into a folder of its own, which is gone after it. */
#ifndef TEMPLATE_HAPROXY_CHECK_H
#define TEMPLATE_HAPROXY_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

struct rendered;

struct haproxy_check {
    char *folder;     /* NULL: there is none */
    char *folders[3]; /* for path(), each with a slash at its end: of maps, certificates and other files */
};

/* -1: it cannot be made. */
int haproxy_check_init(struct haproxy_check *c, struct error *err) must_check;
void haproxy_check_fini(struct haproxy_check *c); /* for cleanup(); a zeroed one is allowed */

/* What was rendered with c's folders. -1 with ERROR_INVALID: what HAProxy says against it, "haproxy -c: line 7: ...", or which
 * file cannot be stored; another kind: it could not be asked. program: a path. */
int haproxy_check_run(const struct haproxy_check *c, const struct rendered *r, const char *program,
                      char *const *environment, uint64_t timeout_ms, struct error *err) must_check;

/* HAPROXY_BIN, otherwise haproxy; of PATH or an sbin folder. NULL: none is named, and there is none. To be freed. */
char *haproxy_check_program(char *const *environment) must_check;

#endif

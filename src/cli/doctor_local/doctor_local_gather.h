/* Reads what is there in the file system, without changing anything. */
#ifndef CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_GATHER_H
#define CLI_DOCTOR_LOCAL_DOCTOR_LOCAL_GATHER_H

#include <stddef.h>

#include "base/compiler.h"

struct local_facts;
struct local_global;
struct local_socket_facts;
struct settings_local;

/* The user of this process, and the file: also what is in it, as far as it can be read. */
void local_gather_file(const struct settings_local *l, struct local_facts *f);
/* path NULL: none is set. */
void local_gather_socket(const char *path, struct local_socket_facts *s);
/* A path, or a name in PATH; NULL: there is no such program that this user may run. Allocates. */
char *local_gather_program(const char *name) must_check;

/* ---- pure ---- */

/* text: of haproxy.cfg, len bytes. */
void local_global_read(const char *text, size_t len, struct local_global *ret);

#endif

/*
 * What HAProxy, 2.6 to 3.4, answers on its stats socket about the files that it has loaded (management guide, 9.3): which
 * there are, and what is in a map or a certificate. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

struct map_entries;
struct pem_identity;

enum cli_list { CLI_MAPS, CLI_ACLS, CLI_CERTIFICATES, CLI_CA_FILES, CLI_CRL_FILES };
#define CLI_LISTS 5

const char *cli_list_command(enum cli_list list);

/* As haproxy.cfg has them: "/etc/haproxy/maps/hosts.map"; a zeroed one is empty. */
struct cli_names {
    char **list;
    size_t count;
};

/* ERROR_INVALID: no such answer. */
int cli_names_init(struct cli_names *n, enum cli_list list, const char *answer, struct error *err) must_check;
void cli_names_fini(struct cli_names *n);

/* `prepare map`: the number of the version. */
int cli_read_version(const char *answer, unsigned *ret, struct error *err) must_check;
/* `show map NAME`: adds the entries, which point into answer. */
int cli_read_map(const char *answer, struct map_entries *ret, struct error *err) must_check;

/* `set ssl cert`, `commit ssl cert`: done, or what HAProxy says (ERROR_INVALID). */
int cli_read_certificate_set(const char *answer, struct error *err) must_check;
int cli_read_certificate_committed(const char *answer, struct error *err) must_check;

/* `show ssl cert NAME`. */
int cli_read_certificate(const char *answer, struct pem_identity *ret, struct error *err) must_check;

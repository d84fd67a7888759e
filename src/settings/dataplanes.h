/* HAPROXY_DATAPLANE_URL: where the Data Plane APIs are. */
#ifndef SETTINGS_DATAPLANES_H
#define SETTINGS_DATAPLANES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

struct settings;
struct settings_findings;

/* One URL, without white space around it. *ret_url is its checked form (struct settings_dataplane), *ret_socket (may be
 * NULL) the path in it or NULL; both allocated. -1: note may say why, and holds no part of the text. */
int dataplane_url_check(const char *text, char **ret_url, char **ret_socket, struct buf *note) must_check;

/* Whether two checked forms are of the same place: names of hosts are the same in any case. */
bool dataplane_url_same(const char *a, const char *b);

bool dataplanes_any_https(const struct settings *c);

/* Reports which of the TLS settings do not go together, or have no effect. */
void dataplanes_check_tls(const struct settings *c, struct settings_findings *found);

#endif

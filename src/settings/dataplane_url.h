/* The URL of one Data Plane API. */
#ifndef SETTINGS_DATAPLANE_URL_H
#define SETTINGS_DATAPLANE_URL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

/* One URL, without white space around it. *ret_url is its checked form (struct settings_dataplane), *ret_socket (may be
 * NULL) the path in it or NULL; both allocated. -1: note may say why, and holds no part of the text. */
int dataplane_url_check(const char *text, char **ret_url, char **ret_socket, struct buf *note) must_check;

/* Whether two checked forms are of the same place: names of hosts are the same in any case. */
bool dataplane_url_same(const char *a, const char *b);

/* The path of a unix socket in it, in whichever form; NULL: it is none. Not checked. Part of text. */
const char *dataplane_url_socket(const char *text);

#endif

/* URLs of settings and kubeconfigs: checked strictly, shown without what may be secret in them. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

enum url_rules {
    URL_PLAIN = 0,     /* http or https, host, optional port and path */
    URL_NEED_PORT = 1, /* the port must be written */
    URL_PROXY = 2,     /* also socks5 and socks5h; user name and password are allowed; no path */
};

/* Query and fragment are refused always. *ret_url is the same URL in the form that libcurl gives it, without a slash at
 * its end. -1: *ret_why says why in a phrase that holds no part of the URL (a constant). */
int url_check(const char *text, unsigned rules, char **ret_url, const char **ret_why) must_check;

/* Whether its host is localhost or an address of this machine alone: what is sent there leaves it by no network. */
bool url_is_local(const char *url);

/* The text as it may be shown: what stands before its last '@' and behind a '?' or '#' is replaced. Allocates. */
char *url_masked(const char *text) must_check;

/* ---- of a Data Plane API, by TCP or a unix socket ---- */

/* One URL, without white space around it. *ret_url is its checked form (struct settings_dataplane), *ret_socket (may be
 * NULL) the path in it or NULL; both allocated. -1: note may say why, and holds no part of the text. */
int dataplane_url_check(const char *text, char **ret_url, char **ret_socket, struct buf *note) must_check;

/* Whether two checked forms are of the same place: names of hosts are the same in any case. */
bool dataplane_url_same(const char *a, const char *b);

/* The path of a unix socket in it, in whichever form; NULL: it is none. Not checked. Part of text. */
const char *dataplane_url_socket(const char *text);

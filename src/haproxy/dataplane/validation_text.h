/*
 * What HAProxy said of a configuration that it refused, out of the Data Plane API's answer to only_validate (400; lines
 * `msg="config parsing [FILE:LINE] TEXT"`), for people: "line 19: unknown keyword 'bogus' in 'backend' section".
 * Pure.
 */
#ifndef HAPROXY_DATAPLANE_VALIDATION_TEXT_H
#define HAPROXY_DATAPLANE_VALIDATION_TEXT_H

#include <stdbool.h>

#include "base/compiler.h"

struct cfg_edits;

/* edits: that what was sent was printed with, as lines are those of the file before; NULL: none. rewritten: HAProxy had
 * the file as the API writes it anew, whose lines are nobody's.
 * The messages that name something, separated by "; "; all of it where it has another form. Allocates. */
char *validation_text(const char *message, const struct cfg_edits *edits, bool rewritten) must_check;

#endif

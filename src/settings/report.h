/* What there is to say about the environment, collected (struct settings_report of settings/settings.h). */
#ifndef SETTINGS_REPORT_H
#define SETTINGS_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

struct settings_report;

void report_error(struct settings_report *r, const char *fmt, ...) printf_like(2, 3);
void report_warning(struct settings_report *r, const char *fmt, ...) printf_like(2, 3);

/* Whether it looks like a URL: any of the values could by mistake be one with a password in it, and no other holds what
 * makes it look so. Then no part of it may be shown but by report_name_value. */
bool report_is_delicate(const char *value);

/* NAME="value", quoted and cut; where it looks like a URL, without what may be secret in it. Not for secrets. Allocates. */
char *report_name_value(const char *name, const char *value) must_check;

/* Appends s in double quotes as printable ASCII, cut where it is long: nobody can forge a line by it. */
void report_quote(struct buf *out, const char *s);

/* The same as a string of its own. Allocates. */
char *report_quoted(const char *s) must_check;

#endif

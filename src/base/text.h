/*
 * Text that others chose, made fit for where it goes: one cutter, which never cuts a character of UTF-8 (RFC 3629) or
 * an escape, and one escaper, with a mode for each place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

enum text_mode {
    TEXT_AS_IS,    /* for cutting alone */
    TEXT_FLAT,     /* one line: white space and controls, however many, become one blank, none at either end */
    TEXT_LINE,     /* the same, and "?" for what else is not shown */
    TEXT_MESSAGE,  /* a blank for each tab and line break, \x1b for other controls; twice is as once */
    TEXT_TERMINAL, /* \x1b, \u{202e}, \xff for a byte that is no UTF-8 */
    TEXT_QUOTED,   /* between the quotes of JSON and logfmt: \" \\ \n \u202e; what is no UTF-8 becomes U+FFFD */
    TEXT_ASCII,    /* between quotes: \" \\ \n, and \xc3\xa4 for all that is not printable ASCII */
    TEXT_LABEL,    /* the value of a Prometheus label: \" \\ \n, and "?" for a byte that is no UTF-8 */
    TEXT_HELP,     /* a Prometheus help text: \\ \n */
};

#define TEXT_WHOLE SIZE_MAX /* for max_bytes: it is not cut */

/* Adds s (len bytes of it) as mode has it. Of more than max_bytes (at least 3) it adds the beginning, and "...":
 * together no more. */
void text_addn(struct buf *out, const char *s, size_t len, enum text_mode mode, size_t max_bytes);
void text_add(struct buf *out, const char *s, enum text_mode mode, size_t max_bytes);
/* The same as a string of its own. Allocates. */
char *text_shown(const char *s, enum text_mode mode, size_t max_bytes) must_check;

/* How much of s is left of at most max_bytes: up to where a character ends. What is no UTF-8 counts as characters of a
 * byte. */
size_t text_cut(const char *s, size_t max_bytes);

/* What is named on one line, of as many as there are: "n1, n2 and 3 more". Begins zeroed, with `between` and `max`. */
struct text_list {
    const char *between; /* ", " or "; " */
    size_t max, count;   /* those beyond max are only counted */
    struct buf text;
};

bool text_list_next(struct text_list *l);             /* one more; true: text takes it, behind what is between */
char *text_list_take(struct text_list *l) must_check; /* NULL: there is none. Allocates; the list is empty after */

bool text_is_utf8(const char *s);
/* How many of len bytes, from the first on, are well-formed UTF-8; NUL is a character like any other. */
size_t text_utf8_len(const char *s, size_t len);

/* The first C0 control (NUL, too) or DEL in len bytes of s; NULL: there is none. */
const char *text_control(const char *s, size_t len);

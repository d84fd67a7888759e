/* What there is to say about the environment, collected. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

/* One problem of the environment. */
struct settings_finding {
    bool is_error; /* otherwise a warning */
    /* "HAPROXY_BACKEND_PORT=\"70000\": expected a port number, 1 to 65535". One line of printable ASCII; never a
     * secret's value, nor what a URL holds before '@'. */
    char *text;
};

struct settings_findings {
    struct settings_finding *list;
    size_t count;
    size_t error_count;
};

void settings_findings_fini(struct settings_findings *found);

void finding_add(struct settings_findings *found, bool is_error, const char *fmt, ...) printf_like(3, 4);
#define finding_error(found, ...) finding_add((found), true, __VA_ARGS__)
#define finding_warning(found, ...) finding_add((found), false, __VA_ARGS__)

/* A password goes there: a warning where it leaves this machine unencrypted. row: the setting's name. */
void finding_plain_password(struct settings_findings *found, const char *row, const char *url);

/* Whether it may be a URL: any of the values could by mistake be one with a password in it, and no other holds what
 * makes it seem one. Then no part of it may be shown but by finding_name_value. */
bool finding_is_delicate(const char *value);

/* NAME="value", quoted and cut; of what looks like a URL, no part that may be secret. Not for secrets. Allocates. */
char *finding_name_value(const char *name, const char *value) must_check;

/* Appends s in double quotes as printable ASCII, cut where it is long: no value can forge a line. */
void finding_quote(struct buf *out, const char *s);

/* The same as a string of its own. Allocates. */
char *finding_quoted(const char *s) must_check;

/* note says why; -1. */
static inline int value_refuse(struct buf *note, const char *why)
{
    buf_add(note, why);
    return -1;
}

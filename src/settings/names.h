/* What names in Kubernetes and HAProxy are made of. */
#ifndef SETTINGS_NAMES_H
#define SETTINGS_NAMES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

#define NAME_LOWER "abcdefghijklmnopqrstuvwxyz"
#define NAME_UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NAME_DIGITS "0123456789"
#define NAME_ALNUM NAME_LOWER NAME_UPPER NAME_DIGITS

/* Only of these characters, and at least one. */
bool name_made_of(const char *s, const char *characters);

/* Digits only, and short enough to be repeated in a hint. */
bool name_is_short_number(const char *s);

/* Each: -1 where s is none. What is put into note then says more than that, and holds no part of s. */

/* Of a namespace or Service. */
int name_check_label(const char *s, struct buf *note) must_check;
/* Of most other objects: labels with dots between (RFC 1123). */
int name_check_subdomain(const char *s, struct buf *note) must_check;
/* Of a Service's port, or its number. */
int name_check_port(const char *s, struct buf *note) must_check;
/* Of a label: a name, perhaps behind a prefix and a slash. */
int name_check_label_key(const char *s, struct buf *note) must_check;
int name_check_backend(const char *s, struct buf *note) must_check;

#endif

/* What names in Kubernetes, HAProxy and SPIFFE are made of. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/* SPIFFE IDs (the SPIFFE-ID specification, section 2): spiffe://TRUST-DOMAIN/PATH. */
#define SPIFFE_ID_MAX_BYTES 2048

/* What is wrong with it; NULL: it is one. That of a trust domain alone has no path. */
const char *spiffe_id_problem(const char *id);

/* How many bytes of an ID are that of its trust domain: "spiffe://example.org". */
size_t spiffe_id_domain_len(const char *id);

/* Small questions about strings that C leaves out. Nothing here allocates except where it says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

bool str_eq(const char *a, const char *b); /* NULL equals only NULL */
bool str_empty(const char *s);             /* NULL or "" */
bool str_has_prefix(const char *s, const char *prefix);
bool str_has_suffix(const char *s, const char *suffix);
bool str_has_control(const char *s); /* a byte below ' ', or DEL */

/* For qsort and bsearch over an array of strings: a and b point to its elements. */
int str_order(const void *a, const void *b);

/* Decimal digits only, whole string, at most max. -1 otherwise; *ret is untouched then. */
int str_parse_uint(const char *s, uint64_t max, uint64_t *ret) must_check;

/* true/false/1/0/yes/no/on/off in any case. -1 otherwise. */
int str_parse_bool(const char *s, bool *ret) must_check;

/* Go's time.ParseDuration ("1m30s", "250ms", "1.5h") in milliseconds, not negative. A bare "0" is allowed, a bare "30"
 * is not. Fractions of a millisecond are cut. -1 otherwise or past max_ms. */
int str_parse_duration_ms(const char *s, uint64_t max_ms, uint64_t *ret_ms) must_check;

/* AF_INET, AF_INET6, or 0 where s is no IP address literal. */
int str_ip_family(const char *s);

/* "10.0.0.1:80", "[::1]:80": an IPv6 address in brackets, as in a URL. Allocates. */
char *str_host_port(const char *host, unsigned port) must_check;

/* Percent-encodes everything outside RFC 3986 "unreserved". Allocates. */
char *str_url_encode(const char *s) must_check;

/* Edits (insert, delete, replace, swap of neighbours) from a to b, at most limit + 1. For "did you mean". */
size_t str_distance(const char *a, const char *b, size_t limit);

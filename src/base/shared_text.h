/*
 * One copy of a text for all who hold the same one: the names, addresses and lines of servers, which sixteen HAProxies
 * and each of their readings have alike. Texts that are the same are at the same place, so comparing two of them is
 * comparing pointers.
 *
 * Of the loop's thread alone.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

/* NULL gives NULL. The caller's until shared_text_free. */
const char *shared_text(const char *s) must_check;
const char *shared_text_take(char *s) must_check;     /* of one that was allocated, which is freed */
void shared_text_set(const char **at, const char *s); /* in place of what it held, which is freed; s may be NULL */
void shared_text_free(const char *s); /* one that shared_text gave; the last one frees it; NULL is allowed */
size_t shared_text_count(void);       /* different ones */

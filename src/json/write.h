/*
 * Writing JSON of what others said: every string becomes valid UTF-8, and the text is printable ASCII, so that neither
 * a browser nor a terminal that shows it can be driven by it. Out of memory aborts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct buf;
struct yyjson_mut_doc;
struct yyjson_mut_val;

struct yyjson_mut_doc *json_new(struct yyjson_mut_val **ret_root) must_check; /* the root is an object */
void json_free(struct yyjson_mut_doc *doc);
void json_free_ptr(struct yyjson_mut_doc **doc); /* for cleanup() */

/* A byte that is no UTF-8 is shown as \xff (base/text). s is copied. NULL: null. */
struct yyjson_mut_val *json_text(struct yyjson_mut_doc *doc, const char *s) must_check;

/* In the place of what has that key, else at the end: for documents that others wrote. Keys are constants here and
 * below. */
void json_set(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, struct yyjson_mut_val *value);
/* At the end. */
void json_put(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, struct yyjson_mut_val *value);
void json_put_text(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, const char *s);
void json_put_bool(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, bool b);
void json_put_count(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, uint64_t n);
void json_put_int_or_null(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key,
                          int64_t n); /* negative: null */
/* Milliseconds since the epoch as "2026-11-21T23:59:59.123Z"; not above 0: null. */
void json_put_time(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, int64_t wall_ms);
struct yyjson_mut_val *json_put_list(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key);
/* A list of texts. */
void json_put_texts(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, const char *const *texts,
                    size_t count);
struct yyjson_mut_val *json_put_object(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key);
void json_add(struct yyjson_mut_val *list, struct yyjson_mut_val *value);
struct yyjson_mut_val *json_add_object(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list);

/* The whole as it is to be sent, on one line and with no more escapes than needed; the document is freed. Allocates. */
char *json_take(struct yyjson_mut_doc *doc) must_check;

/* Adds the whole, without a line break at its end. pretty: two spaces; otherwise there is no line break at all. */
void json_write(struct yyjson_mut_doc *doc, bool pretty, struct buf *out);

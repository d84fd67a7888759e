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

enum json_field_type {
    JSON_FIELD_END,
    JSON_FIELD_STR,
    JSON_FIELD_BOOL,
    JSON_FIELD_UINT,
    JSON_FIELD_INT,
    JSON_FIELD_MS
};

struct json_field {
    enum json_field_type type;
    const char *key;
    const char *str;
    int64_t num;
};

#define json_str(k, v) ((struct json_field){JSON_FIELD_STR, (k), (v), 0})
#define json_bool(k, v) ((struct json_field){JSON_FIELD_BOOL, (k), NULL, (v) ? 1 : 0})
#define json_uint(k, v) ((struct json_field){JSON_FIELD_UINT, (k), NULL, (int64_t)(v)})
#define json_int(k, v) ((struct json_field){JSON_FIELD_INT, (k), NULL, (v)}) /* negative: null */
/* Milliseconds since the epoch as "2026-11-21T23:59:59.123Z"; not above 0: null. */
#define json_ms(k, v) ((struct json_field){JSON_FIELD_MS, (k), NULL, (v)})
/* In that order at the end: json_fields(doc, obj, json_str("name", name), json_uint("port", port)). */
#define json_fields(doc, obj, ...) \
    json_put_fields((doc), (obj), (const struct json_field[]){__VA_ARGS__, {JSON_FIELD_END, NULL, NULL, 0}})
void json_put_fields(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const struct json_field *fields);

struct yyjson_mut_val *json_put_list(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key);
/* A list of texts. */
void json_put_texts(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key, const char *const *texts,
                    size_t count);
struct yyjson_mut_val *json_put_object(struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, const char *key);
void json_add(struct yyjson_mut_val *list, struct yyjson_mut_val *value);
struct yyjson_mut_val *json_add_object(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list);

/* The whole as it is to be sent, on one line and with no more escapes than needed; the document is freed. Allocates. */
char *json_take(struct yyjson_mut_doc *doc) must_check;

/* Adds the whole for people, in lines of two spaces, and frees the document. */
void json_print(struct yyjson_mut_doc *doc, struct buf *out);
/* Adds the whole, without a line break at its end. pretty: two spaces; otherwise there is no line break at all. */
void json_write(struct yyjson_mut_doc *doc, bool pretty, struct buf *out);

/*
 * Reading JSON that others wrote: typed access to the fields of an object, with errors that name the field, how it is
 * and how it should be; who reads an object puts its name in front (error_prefix). Absent and null are the same. What
 * is returned is borrowed from the document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"

void json_doc_free_ptr(yyjson_doc **doc); /* for cleanup() */

/* NULL with err set where the text is no JSON; what names it: "the list of servers". */
yyjson_doc *json_parse(const char *json, size_t len, yyjson_read_flag flags, const char *what,
                       struct error *err) must_check;

/* "a number", "an object", "absent", ... */
const char *json_type(const yyjson_val *value);
/* what: how the message calls the value, "the backend". */
int json_is_object(yyjson_val *value, const char *what, struct error *err) must_check;

/* The object that the document is. doc NULL: -1, for json_parse. */
int json_object_of(yyjson_doc *doc, const char *what, yyjson_val **ret, struct error *err) must_check;
/* The list that it is, which may be null instead of an empty one: then *ret is NULL. doc NULL: -1. */
int json_list_of(yyjson_doc *doc, const char *what, yyjson_val **ret, struct error *err) must_check;

/* *ret NULL where absent. */
int json_get_object(yyjson_val *of, const char *key, yyjson_val **ret, struct error *err) must_check;
int json_get_array(yyjson_val *of, const char *key, yyjson_val **ret, struct error *err) must_check;
int json_get_bool(yyjson_val *of, const char *key, bool absent, bool *ret, struct error *err) must_check;
/* A whole number. */
int json_get_int(yyjson_val *of, const char *key, int64_t min, int64_t max, int64_t absent, int64_t *ret,
                 struct error *err) must_check;
/* "" where absent. A NUL in it is an error, for it would end it. */
int json_get_string(yyjson_val *of, const char *key, const char **ret, struct error *err) must_check;
/* As json_get_string, but absent and "" are errors. */
int json_need_string(yyjson_val *of, const char *key, const char **ret, struct error *err) must_check;
/* A string of at most max_bytes without control characters; *ret NULL where absent. */
int json_get_line(yyjson_val *of, const char *key, size_t max_bytes, const char **ret, struct error *err) must_check;
/* The same of a value that is not in an object; what: how the message calls it. */
int json_line(yyjson_val *value, const char *what, size_t max_bytes, const char **ret, struct error *err) must_check;

/* The text of one value, as it was read; free(). */
char *json_text_of(const yyjson_val *val) must_check;

/* What the parts of the codec share: typed access to a JSON object with errors that name the object and the field. */
#ifndef HAPROXY_DATAPLANE_CODEC_JSON_H
#define HAPROXY_DATAPLANE_CODEC_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"

void codec_doc_free_ptr(yyjson_doc **doc);         /* for cleanup() */
void codec_mut_doc_free_ptr(yyjson_mut_doc **doc); /* for cleanup() */

/* NULL with err set where the text is no JSON; what names the answer: "the list of servers". */
yyjson_doc *codec_parse(const char *json, size_t len, const char *what, struct error *err) must_check;

/* Absent and null fields give "" (borrowed from the document otherwise). */
int codec_get_string(yyjson_val *obj, const char *key, const char *object, const char **ret,
                     struct error *err) must_check;
/* As codec_get_string, but absent, null and "" are errors. */
int codec_need_string(yyjson_val *obj, const char *key, const char *object, const char **ret,
                      struct error *err) must_check;
/* Absent and null fields give `absent`. */
int codec_get_int(yyjson_val *obj, const char *key, const char *object, int64_t min, int64_t max, int64_t absent,
                  int64_t *ret, struct error *err) must_check;
/* "enabled" or "disabled"; absent, null and "" give false. */
int codec_get_switch(yyjson_val *obj, const char *key, const char *object, bool *ret, struct error *err) must_check;

/* The text of one value; free(). */
char *codec_text_of(const yyjson_val *val) must_check;

#endif

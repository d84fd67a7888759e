/*
 * Where something is in a JSON object: the part of JSONPath (RFC 9535) that names fields, as Kubernetes and the older
 * template controller write it: "metadata.labels['kubernetes.io/name']", with or without "$." or "{.}" around it, "[0]",
 * and "[*]" for each element.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"

struct json_path_step {
    enum { STEP_FIELD, STEP_INDEX, STEP_EACH } kind;
    char *field;
    uint32_t index;
};

struct json_path {
    struct json_path_step *steps;
    size_t count;
};

/* NULL with ERROR_INVALID: what is wrong with it, and where. */
struct json_path *json_path_parse(const char *text, struct error *err) must_check;
void json_path_free(struct json_path *p); /* NULL is allowed */

/* The first that it leads to; NULL: nothing. */
yyjson_val *json_path_first(const struct json_path *p, yyjson_val *from);
/* fn for each that it leads to, in order, until fn returns false. */
void json_path_each(const struct json_path *p, yyjson_val *from, bool (*fn)(void *arg, yyjson_val *found), void *arg);

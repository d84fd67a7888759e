#include "json/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

void json_doc_free_ptr(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}

yyjson_doc *json_parse(const char *json, size_t len, yyjson_read_flag flags, const char *what, struct error *err)
{
    yyjson_read_err why = {0};
    /* The parser does not write to its input without YYJSON_READ_INSITU; the cast is its interface's. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, len, flags, NULL, &why);
    if (doc == NULL)
        (void)error_set(err, ERROR_INVALID, "%s is not JSON: %s at byte %zu of %zu", what,
                        why.msg ? why.msg : "unreadable", why.pos, len);
    return doc;
}

const char *json_type(const yyjson_val *value)
{
    switch (yyjson_get_type((yyjson_val *)(uintptr_t)value)) {
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return "a boolean";
    case YYJSON_TYPE_NUM:
    case YYJSON_TYPE_RAW: /* one that is too long for a machine */
        return "a number";
    case YYJSON_TYPE_STR:
        return "a string";
    case YYJSON_TYPE_ARR:
        return "an array";
    case YYJSON_TYPE_OBJ:
        return "an object";
    default:
        return "absent";
    }
}

static int wrong_type(const yyjson_val *value, const char *what, const char *wanted, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s is %s, not %s", what, json_type(value), wanted);
}

int json_is_object(yyjson_val *value, const char *what, struct error *err)
{
    return yyjson_is_obj(value) ? 0 : wrong_type(value, what, "an object", err);
}

int json_object_of(yyjson_doc *doc, const char *what, yyjson_val **ret, struct error *err)
{
    *ret = yyjson_doc_get_root(doc);
    return doc == NULL ? -1 : json_is_object(*ret, what, err);
}

int json_list_of(yyjson_doc *doc, const char *what, yyjson_val **ret, struct error *err)
{
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (doc == NULL)
        return -1;
    if (!yyjson_is_arr(root) && !yyjson_is_null(root))
        return wrong_type(root, what, "an array", err);
    *ret = yyjson_is_arr(root) ? root : NULL;
    return 0;
}

/* NULL where absent or null. */
static yyjson_val *get(yyjson_val *of, const char *key)
{
    yyjson_val *value = yyjson_obj_get(of, key);
    return yyjson_is_null(value) ? NULL : value;
}

int json_get_object(yyjson_val *of, const char *key, yyjson_val **ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_obj(value))
        return wrong_type(value, key, "an object", err);
    *ret = value;
    return 0;
}

int json_get_array(yyjson_val *of, const char *key, yyjson_val **ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_arr(value))
        return wrong_type(value, key, "an array", err);
    *ret = value;
    return 0;
}

int json_get_bool(yyjson_val *of, const char *key, bool absent, bool *ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_bool(value))
        return wrong_type(value, key, "a boolean", err);
    *ret = value != NULL ? yyjson_get_bool(value) : absent;
    return 0;
}

int json_get_int(yyjson_val *of, const char *key, int64_t min, int64_t max, int64_t absent, int64_t *ret,
                 struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value == NULL) {
        *ret = absent;
        return 0;
    }
    if (yyjson_is_real(value))
        return error_set(err, ERROR_INVALID, "%s is %g, not a whole number", key, yyjson_get_real(value));
    if (!yyjson_is_int(value))
        return wrong_type(value, key, "a whole number", err);
    if (yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX)
        return error_set(err, ERROR_INVALID, "%s is %" PRIu64 ", not in %" PRId64 "..%" PRId64, key,
                         yyjson_get_uint(value), min, max);
    int64_t n = yyjson_get_sint(value);
    if (n < min || n > max)
        return error_set(err, ERROR_INVALID, "%s is %" PRId64 ", not in %" PRId64 "..%" PRId64, key, n, min, max);
    *ret = n;
    return 0;
}

int json_get_string(yyjson_val *of, const char *key, const char **ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_str(value))
        return wrong_type(value, key, "a string", err);
    const char *s = value != NULL ? yyjson_get_str(value) : "";
    if (strlen(s) != yyjson_get_len(value))
        return error_set(err, ERROR_INVALID, "%s holds a NUL character", key);
    *ret = s;
    return 0;
}

int json_need_string(yyjson_val *of, const char *key, const char **ret, struct error *err)
{
    const char *s;
    if (json_get_string(of, key, &s, err) != 0)
        return -1;
    if (s[0] == '\0')
        return error_set(err, ERROR_INVALID, "%s is missing or empty", key);
    *ret = s;
    return 0;
}

int json_line(yyjson_val *value, const char *what, size_t max_bytes, const char **ret, struct error *err)
{
    if (!yyjson_is_str(value))
        return wrong_type(value, what, "a string", err);
    const char *text = yyjson_get_str(value);
    size_t len = yyjson_get_len(value);
    if (len > max_bytes)
        return error_set(err, ERROR_INVALID, "%s has %zu bytes (\"%.40s...\"), at most %zu are accepted", what, len,
                         text, max_bytes);
    const char *bad = text_control(text, len);
    if (bad != NULL)
        return error_set(err, ERROR_INVALID, "%s (\"%.80s\") has a control character, 0x%02x", what, text,
                         (unsigned char)*bad);
    *ret = text;
    return 0;
}

int json_get_line(yyjson_val *of, const char *key, size_t max_bytes, const char **ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL)
        return json_line(value, key, max_bytes, ret, err);
    *ret = NULL;
    return 0;
}

char *json_text_of(const yyjson_val *val)
{
    size_t len = 0;
    cleanup(mem_free_ptr) char *text = yyjson_val_write(val, YYJSON_WRITE_NOFLAG, &len);
    if (text == NULL)
        abort(); /* it was parsed a moment ago: only memory can be short */
    return mem_strndup(text, len);
}

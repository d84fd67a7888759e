#include "haproxy/dataplane/codec_json.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void codec_doc_free_ptr(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}

void codec_mut_doc_free_ptr(yyjson_mut_doc **doc)
{
    yyjson_mut_doc_free(*doc);
}

yyjson_doc *codec_parse(const char *json, size_t len, const char *what, struct error *err)
{
    yyjson_read_err why = {0};
    /* Numbers beyond 64 bits are kept as they are written: they may be somebody's, and go back with the next write. The
     * parser does not write to its input without YYJSON_READ_INSITU; the cast is its interface's. */
    yyjson_doc *doc = yyjson_read_opts((char *)json, len, YYJSON_READ_BIGNUM_AS_RAW, NULL, &why);
    if (doc == NULL)
        (void)error_set(err, ERROR_INVALID, "%s is no JSON: %s at byte %zu of %zu", what,
                        why.msg ? why.msg : "unreadable", why.pos, len);
    return doc;
}

static int wrong_type(yyjson_val *val, const char *key, const char *object, const char *expected, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s: field \"%s\" is %s, expected %s", object, key, yyjson_get_type_desc(val),
                     expected);
}

int codec_get_string(yyjson_val *obj, const char *key, const char *object, const char **ret, struct error *err)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (val == NULL || yyjson_is_null(val)) {
        *ret = "";
        return 0;
    }
    if (!yyjson_is_str(val))
        return wrong_type(val, key, object, "a string", err);
    const char *s = yyjson_get_str(val);
    if (strlen(s) != yyjson_get_len(val))
        return error_set(err, ERROR_INVALID, "%s: field \"%s\" holds a NUL character", object, key);
    *ret = s;
    return 0;
}

int codec_need_string(yyjson_val *obj, const char *key, const char *object, const char **ret, struct error *err)
{
    const char *s;
    if (codec_get_string(obj, key, object, &s, err) != 0)
        return -1;
    if (s[0] == '\0')
        return error_set(err, ERROR_INVALID, "%s: field \"%s\" is missing or empty", object, key);
    *ret = s;
    return 0;
}

int codec_get_int(yyjson_val *obj, const char *key, const char *object, int64_t min, int64_t max, int64_t absent,
                  int64_t *ret, struct error *err)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (val == NULL || yyjson_is_null(val)) {
        *ret = absent;
        return 0;
    }
    if (!yyjson_is_int(val))
        return wrong_type(val, key, object, "a whole number", err);
    bool huge = yyjson_is_uint(val) && yyjson_get_uint(val) > INT64_MAX;
    int64_t n = huge ? INT64_MAX : yyjson_get_sint(val);
    if (n < min || n > max)
        return error_set(err, ERROR_INVALID, "%s: field \"%s\" is %s%" PRId64 ", expected %" PRId64 " to %" PRId64,
                         object, key, huge ? "over " : "", n, min, max);
    *ret = n;
    return 0;
}

int codec_get_switch(yyjson_val *obj, const char *key, const char *object, bool *ret, struct error *err)
{
    const char *s;
    if (codec_get_string(obj, key, object, &s, err) != 0)
        return -1;
    if (!str_eq(s, "enabled") && !str_eq(s, "disabled") && s[0] != '\0')
        return error_set(err, ERROR_INVALID, "%s: field \"%s\" is \"%s\", expected \"enabled\" or \"disabled\"", object,
                         key, s);
    *ret = str_eq(s, "enabled");
    return 0;
}

char *codec_text_of(const yyjson_val *val)
{
    size_t len = 0;
    cleanup(mem_free_ptr) char *text = yyjson_val_write(val, YYJSON_WRITE_NOFLAG, &len);
    if (text == NULL)
        abort(); /* it was parsed a moment ago: only memory can be short */
    return mem_strndup(text, len);
}

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "kube/decode/decode_field.h"

#define PATH_BYTES 128

struct error *decode_part_error(const struct decode *d)
{
    return d->left_out == 0 ? d->partial : NULL;
}

void decode_left_out(struct decode *d, const char *path_fmt, ...)
{
    if (d->left_out++ > 0)
        return;
    char path[PATH_BYTES];
    va_list ap;
    va_start(ap, path_fmt);
    vsnprintf(path, sizeof(path), path_fmt, ap);
    va_end(ap);
    error_prefix(d->partial, "%s", path);
}

int decode_count(struct decode *d, size_t more, const char *field, struct error *err)
{
    d->parts += more;
    if (d->parts <= KUBE_MAX_PARTS)
        return 0;
    return error_set(err, ERROR_INVALID, "%s: more than %u ports, endpoints and subsets in one object", field,
                     KUBE_MAX_PARTS);
}

const char *value_type(yyjson_val *value)
{
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return "a boolean";
    case YYJSON_TYPE_NUM:
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

static int wrong_type(yyjson_val *value, const char *what, const char *wanted, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s is %s, not %s", what, value_type(value), wanted);
}

/* NULL where absent or null. */
static yyjson_val *get(yyjson_val *of, const char *key)
{
    yyjson_val *value = yyjson_obj_get(of, key);
    return yyjson_is_null(value) ? NULL : value;
}

int field_object(yyjson_val *of, const char *key, yyjson_val **ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_obj(value))
        return wrong_type(value, key, "an object", err);
    *ret = value;
    return 0;
}

int field_array(yyjson_val *of, const char *key, yyjson_val **ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_arr(value))
        return wrong_type(value, key, "an array", err);
    *ret = value;
    return 0;
}

int field_bool(yyjson_val *of, const char *key, bool fallback, bool *ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_bool(value))
        return wrong_type(value, key, "a boolean", err);
    *ret = value != NULL ? yyjson_get_bool(value) : fallback;
    return 0;
}

int value_text(yyjson_val *value, const char *what, size_t max_bytes, const char **ret, struct error *err)
{
    if (!yyjson_is_str(value))
        return wrong_type(value, what, "a string", err);
    const char *text = yyjson_get_str(value);
    size_t len = yyjson_get_len(value);
    if (len > max_bytes)
        return error_set(err, ERROR_INVALID, "%s has %zu bytes (\"%.40s...\"), at most %zu are taken", what, len, text,
                         max_bytes);
    const char *bad = text_control(text, len);
    if (bad != NULL)
        return error_set(err, ERROR_INVALID, "%s (\"%.80s\") has a control character, 0x%02x", what, text,
                         (unsigned char)*bad);
    *ret = text;
    return 0;
}

int field_text(yyjson_val *of, const char *key, size_t max_bytes, const char **ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL)
        return value_text(value, key, max_bytes, ret, err);
    *ret = NULL;
    return 0;
}

int field_port(yyjson_val *of, const char *key, uint16_t min, uint16_t *ret, struct error *err)
{
    yyjson_val *value = get(of, key);
    if (value != NULL && !yyjson_is_int(value) && yyjson_is_num(value))
        return error_set(err, ERROR_INVALID, "%s is %g, not a whole number", key, yyjson_get_num(value));
    if (value != NULL && !yyjson_is_int(value))
        return wrong_type(value, key, "a number", err);
    /* a negative one is a huge one here */
    if (value != NULL && (yyjson_get_uint(value) < min || yyjson_get_uint(value) > UINT16_MAX))
        return error_set(err, ERROR_INVALID, "%s is %.0f, not in %u..65535", key, yyjson_get_num(value), min);
    *ret = value != NULL ? (uint16_t)yyjson_get_uint(value) : 0;
    return 0;
}

int field_switch(yyjson_val *of, const char *key, bool *ret, struct error *err)
{
    static const char *const off[] = {"0", "f", "F", "false", "FALSE", "False"}; /* Go's strconv.ParseBool */
    yyjson_val *value = yyjson_obj_get(of, key);
    *ret = value != NULL;
    for (size_t i = 0; i < array_len(off); i++)
        if (yyjson_equals_str(value, off[i]))
            *ret = false;
    if (value == NULL || yyjson_is_str(value) || yyjson_is_null(value)) /* null is "" in a map of strings */
        return 0;
    return wrong_type(value, key, "a string", err);
}

/* To many at once: HAProxy cannot connect to that. 240.0.0.0/4 is in use as private space. */
static bool is_group(int family, const unsigned char *bytes)
{
    static const unsigned char broadcast[4] = {255, 255, 255, 255};
    if (family == AF_INET6)
        return bytes[0] == 0xff;
    return (bytes[0] & 0xf0) == 0xe0 || memcmp(bytes, broadcast, sizeof(broadcast)) == 0;
}

static const char *why_not_ip(int family, const unsigned char *bytes)
{
    static const unsigned char unspecified[16]; /* 0.0.0.0 and ::, which HAProxy takes for "where the client went to" */
    if (memcmp(bytes, unspecified, sizeof(unspecified)) == 0)
        return "the unspecified address, not that of a machine";
    if (is_group(family, bytes))
        return "a multicast or broadcast address, not that of a machine";
    if (family == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80)
        return "link-local: it means nothing without its link";
    return NULL;
}

int check_ip(const char *text, const char *what, int family, struct error *err)
{
    unsigned char bytes[16] = {0};
    int is = str_ip_family(text);
    if (is == 0 || (family != 0 && is != family))
        return error_set(err, ERROR_INVALID, "%s \"%.80s\" is no %s address", what, text,
                         family == AF_INET    ? "IPv4"
                         : family == AF_INET6 ? "IPv6"
                                              : "IP");
    const char *why = inet_pton(is, text, bytes) == 1 ? why_not_ip(is, bytes) : "not readable";
    return why == NULL ? 0 : error_set(err, ERROR_INVALID, "%s %s is %s", what, text, why);
}

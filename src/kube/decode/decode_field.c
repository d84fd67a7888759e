#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
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

int field_port(yyjson_val *of, const char *key, uint16_t min, uint16_t *ret, struct error *err)
{
    int64_t port;
    if (json_get_int(of, key, min, UINT16_MAX, 0, &port, err) != 0)
        return -1;
    *ret = (uint16_t)port;
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
    return error_set(err, ERROR_INVALID, "%s is %s, not a string", key, json_type(value));
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
        return "link-local, which needs an interface";
    return NULL;
}

int check_ip(const char *text, const char *what, int family, struct error *err)
{
    unsigned char bytes[16] = {0};
    int is = str_ip_family(text);
    if (is == 0 || (family != 0 && is != family))
        return error_set(err, ERROR_INVALID, "%s \"%.80s\" is not an %s address", what, text,
                         family == AF_INET    ? "IPv4"
                         : family == AF_INET6 ? "IPv6"
                                              : "IP");
    const char *why = inet_pton(is, text, bytes) == 1 ? why_not_ip(is, bytes) : "not readable";
    return why == NULL ? 0 : error_set(err, ERROR_INVALID, "%s %s is %s", what, text, why);
}

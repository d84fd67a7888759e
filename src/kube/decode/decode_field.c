#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
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

int decode_list(struct decode *d, yyjson_val *of, const char *path, const char *key, struct decode_list *l,
                struct error *err)
{
    size_t i, max;
    yyjson_val *list, *each;
    if (json_get_array(of, key, &list, err) != 0 || decode_count(d, yyjson_arr_size(list), key, err) != 0)
        return -1;
    if (yyjson_arr_size(list) > 0)
        l->items = mem_resize(l->items, l->count + yyjson_arr_size(list), l->item_bytes);
    yyjson_arr_foreach (list, i, max, each) {
        struct error *why = decode_part_error(d);
        void *item = (char *)l->items + l->count * l->item_bytes;
        memset(item, 0, l->item_bytes);
        int rc = yyjson_is_obj(each) ? l->read(each, item, l->arg, why)
                                     : error_set(why, ERROR_INVALID, "is %s, not an object", json_type(each));
        if (rc < 0)
            decode_left_out(d, "%s%s[%zu]", path, key, i);
        l->count += rc == 0;
    }
    return 0;
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

int check_ip(const char *text, const char *what, int family, struct error *err)
{
    unsigned char bytes[16] = {0};
    int is = str_ip_family(text);
    if (is == 0 || (family != 0 && is != family))
        return error_set(err, ERROR_INVALID, "%s \"%.80s\" is not an %s address", what, text,
                         family == AF_INET    ? "IPv4"
                         : family == AF_INET6 ? "IPv6"
                                              : "IP");
    static const unsigned char unspecified[16], broadcast[4] = {255, 255, 255, 255};
    bool v6 = is == AF_INET6, readable = inet_pton(is, text, bytes) == 1;
    const char *why = NULL;
    if (!readable)
        why = "not readable";
    else if (memcmp(bytes, unspecified, sizeof(unspecified)) == 0)
        why = "the unspecified address, not that of a machine"; /* HAProxy takes it for "where the client went to" */
    else if (v6 ? bytes[0] == 0xff : (bytes[0] & 0xf0) == 0xe0 || memcmp(bytes, broadcast, sizeof(broadcast)) == 0)
        why = "a multicast or broadcast address, not that of a machine"; /* 240.0.0.0/4 is in use as private space */
    else if (v6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80)
        why = "link-local, which needs an interface";
    return why == NULL ? 0 : error_set(err, ERROR_INVALID, "%s %s is %s", what, text, why);
}

#include "base/mem.h"
#include "base/str.h"
#include "kube/decode_internal.h"

#define ADDRESS_TYPE_MAX_BYTES 64u
#define ADDRESS_MAX_BYTES 253u /* some types are host names */

/* *ret stays NULL where the address is of another type. */
static int internal_ip_of(yyjson_val *address, const char **ret, struct error *err)
{
    const char *type, *text;
    if (!yyjson_is_obj(address))
        return error_set(err, ERROR_INVALID, "is %s, not an object", value_type(address));
    if (field_text(address, "type", ADDRESS_TYPE_MAX_BYTES, &type, err) != 0)
        return -1;
    if (!str_eq(type, "InternalIP"))
        return 0;
    if (field_text(address, "address", ADDRESS_MAX_BYTES, &text, err) != 0)
        return -1;
    if (str_empty(text))
        return error_set(err, ERROR_INVALID, "address is absent");
    if (check_ip(text, "address", 0, err) != 0)
        return -1;
    *ret = text;
    return 0;
}

/* The first that can be used. None although there is one: an error, so that the state before it is kept. */
static int find_internal_ip(struct decode *d, yyjson_val *addresses, const char **ret, struct error *err)
{
    size_t i, max;
    yyjson_val *address;
    yyjson_arr_foreach (addresses, i, max, address) {
        if (internal_ip_of(address, ret, decode_part_error(d)) != 0)
            decode_left_out(d, "status.addresses[%zu]", i);
        else if (*ret != NULL)
            return 0;
    }
    if (d->left_out == 0)
        return 0;
    *err = *d->partial;
    return -1;
}

struct node *decode_node(struct decode *d, yyjson_val *object, struct error *err)
{
    yyjson_val *status, *addresses = NULL;
    const char *ip = NULL;
    if (field_object(object, "status", &status, err) != 0)
        return NULL;
    if (status != NULL && field_array(status, "addresses", &addresses, err) != 0) {
        error_prefix(err, "status");
        return NULL;
    }
    if (find_internal_ip(d, addresses, &ip, err) != 0)
        return NULL;
    struct node *n = mem_alloc(sizeof(*n));
    n->name = mem_strdup(d->name);
    n->uid_hash = d->uid_hash;
    n->internal_ip = mem_strdup(ip);
    return n;
}

#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/schema.h"

#define ADDRESS_MAX_BYTES 64u
#define PATH_BYTES 48

static int endpoints_address_of(yyjson_val *address, void *item, const void *arg, struct error *err)
{
    struct endpoint *ret = item;
    const bool *ready = arg;
    const char *ip, *node_name;
    if (json_get_line(address, "ip", ADDRESS_MAX_BYTES, &ip, err) != 0 ||
        json_get_line(address, "nodeName", KUBE_NAME_MAX_BYTES, &node_name, err) != 0)
        return -1;
    if (str_empty(ip))
        return error_set(err, ERROR_INVALID, "ip is absent");
    if (check_ip(ip, "ip", 0, err) != 0)
        return -1;
    ret->address = mem_strdup(ip);
    ret->node_name = str_empty(node_name) ? NULL : mem_strdup(node_name);
    ret->ready = ret->serving = *ready; /* Endpoints have no terminating state */
    return 0;
}

static int endpoints_fill_group(struct decode *d, yyjson_val *subset, size_t index, struct endpoint_group *g,
                                struct error *err)
{
    static const bool states[] = {true, false};
    struct decode_list l = {.item_bytes = sizeof(*g->endpoints), .read = endpoints_address_of};
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "subsets[%zu].", index);
    if (!yyjson_is_obj(subset))
        return error_set(err, ERROR_INVALID, "is %s, not an object", json_type(subset));
    int rc = decode_ports(d, subset, path, g, err);
    for (size_t i = 0; rc == 0 && i < array_len(states); i++) {
        l.arg = &states[i];
        rc = decode_list(d, subset, path, states[i] ? "addresses" : "notReadyAddresses", &l, err);
    }
    g->endpoints = l.items;
    g->endpoint_count = l.count;
    return rc;
}

static int decode_endpoints(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct endpoint_set *s = object;
    size_t i, max;
    yyjson_val *subsets, *subset;
    if (json_get_array(from, "subsets", &subsets, err) != 0 ||
        decode_count(d, yyjson_arr_size(subsets), "subsets", err) != 0)
        return -1;
    s->uid_hash = d->uid_hash;
    s->group_count = (uint32_t)yyjson_arr_size(subsets);
    s->groups = s->group_count > 0 ? mem_array(s->group_count, sizeof(*s->groups)) : NULL;
    yyjson_arr_foreach (subsets, i, max, subset)
        if (endpoints_fill_group(d, subset, i, &s->groups[i], err) != 0)
            return error_prefix(err, "subsets[%zu]", i);
    return 0;
}

const struct kube_resource kube_endpoints = {
    .kind = "endpoints",
    .plural = "endpoints",
    .api = "/api/v1",
    .record = &endpoint_set_record,
    .decode = decode_endpoints,
    .message = &proto_endpoints,
    .message_kind = "Endpoints",
};

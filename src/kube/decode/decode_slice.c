#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/message.h"

#define ADDRESS_MAX_BYTES 64u
#define ENUM_MAX_BYTES 64u
#define PATH_BYTES 48

/* One that is not TCP, or without a number, is of no use. */
static int slice_port_of(yyjson_val *port, void *item, const void *arg, struct error *err)
{
    struct endpoint_port *ret = item;
    const char *name, *protocol;
    (void)arg;
    if (json_get_line(port, "protocol", ENUM_MAX_BYTES, &protocol, err) != 0 ||
        json_get_line(port, "name", KUBE_NAME_MAX_BYTES, &name, err) != 0)
        return -1;
    if (!str_empty(protocol) && !str_eq(protocol, "TCP"))
        return 1;
    if (field_port(port, "port", 1, &ret->number, err) != 0)
        return -1;
    if (ret->number == 0)
        return 1;
    ret->name = mem_strdup(name != NULL ? name : "");
    return 0;
}

/* Those of a slice or of a subset (path: "" or "subsets[1]."), as far as they are usable. */
static int decode_ports(struct decode *d, yyjson_val *of, const char *path, struct endpoint_group *g, struct error *err)
{
    struct decode_list l = {.item_bytes = sizeof(*g->ports), .read = slice_port_of};
    int rc = decode_list(d, of, path, "ports", &l, err);
    g->ports = l.items;
    g->port_count = l.count;
    return rc;
}

static int slice_endpoint_of(yyjson_val *endpoint, void *item, const void *arg, struct error *err)
{
    struct endpoint *ret = item;
    const int *family = arg;
    const char *address, *node_name;
    yyjson_val *addresses, *conditions;
    if (json_get_array(endpoint, "addresses", &addresses, err) != 0)
        return -1;
    yyjson_val *first = yyjson_arr_get_first(addresses);
    if (first == NULL)
        return error_set(err, ERROR_INVALID, "addresses has none");
    if (json_line(first, "addresses[0]", ADDRESS_MAX_BYTES, &address, err) != 0 ||
        check_ip(address, "addresses[0]", *family, err) != 0 ||
        json_get_object(endpoint, "conditions", &conditions, err) != 0)
        return -1;
    if (json_get_bool(conditions, "ready", true, &ret->ready, err) != 0 ||
        json_get_bool(conditions, "serving", ret->ready, &ret->serving, err) != 0 ||
        json_get_bool(conditions, "terminating", false, &ret->terminating, err) != 0)
        return error_prefix(err, "conditions");
    if (json_get_line(endpoint, "nodeName", KUBE_NAME_MAX_BYTES, &node_name, err) != 0)
        return -1;
    ret->address = mem_strdup(address);
    ret->node_name = str_empty(node_name) ? NULL : mem_strdup(node_name);
    return 0;
}

static int decode_slice(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct endpoint_set *s = object;
    const char *type;
    if (json_get_line(from, "addressType", ENUM_MAX_BYTES, &type, err) != 0)
        return -1;
    int family = str_eq(type, "IPv4") ? AF_INET : str_eq(type, "IPv6") ? AF_INET6 : 0;
    if (type == NULL)
        return error_set(err, ERROR_INVALID, "addressType is absent");
    if (family == 0)
        return error_set(err, ERROR_INVALID, "addressType is \"%s\": only IPv4 and IPv6 are supported", type);
    s->uid_hash = d->uid_hash;
    s->groups = mem_array(1, sizeof(*s->groups));
    s->group_count = 1;
    struct endpoint_group *g = &s->groups[0];
    if (decode_ports(d, from, "", g, err) != 0)
        return -1;
    struct decode_list l = {.item_bytes = sizeof(*g->endpoints), .read = slice_endpoint_of, .arg = &family};
    int rc = decode_list(d, from, "", "endpoints", &l, err);
    g->endpoints = l.items;
    g->endpoint_count = l.count;
    return rc;
}

const struct kube_resource kube_slices = {
    .kind = "endpointslice",
    .plural = "endpointslices",
    .api = "/apis/discovery.k8s.io/v1",
    .record = &endpoint_set_record,
    .decode = decode_slice,
    .message = &proto_endpoint_slice,
    .message_kind = "EndpointSlice",
};

/* ---- those of all Services ---- */

#define SERVICE_LABEL "kubernetes.io/service-name"

static int decode_service_slice(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct service_slice *s = object;
    yyjson_val *metadata = yyjson_obj_get(from, "metadata"), *labels;
    const char *service, *slash = strchr(d->name, '/');
    if (json_get_object(metadata, "labels", &labels, err) != 0 ||
        json_get_line(labels, SERVICE_LABEL, KUBE_NAME_MAX_BYTES, &service, err) != 0)
        return error_prefix(err, "metadata.labels");
    if (!str_empty(service) && slash != NULL)
        s->service = mem_printf("%.*s/%s", (int)(slash - d->name), d->name, service);
    return decode_slice(d, from, &s->set, err);
}

const struct kube_resource kube_service_slices = {
    .kind = "endpointslice",
    .plural = "endpointslices",
    .api = "/apis/discovery.k8s.io/v1",
    .record = &service_slice_record,
    .decode = decode_service_slice,
    .message = &proto_endpoint_slice,
    .message_kind = "EndpointSlice",
    .by_namespace = true,
};

/* ---- Endpoints ---- */

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

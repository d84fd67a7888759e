#include <arpa/inet.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/schema.h"

#define ADDRESS_MAX_BYTES 64u
#define ENUM_MAX_BYTES 64u

/* *ret->number stays 0 where this is a port that is not usable: not TCP, or without a number. */
static int slice_port_of(yyjson_val *port, struct endpoint_port *ret, struct error *err)
{
    const char *name, *protocol;
    if (!yyjson_is_obj(port))
        return error_set(err, ERROR_INVALID, "is %s, not an object", json_type(port));
    if (json_get_line(port, "protocol", ENUM_MAX_BYTES, &protocol, err) != 0 ||
        json_get_line(port, "name", KUBE_NAME_MAX_BYTES, &name, err) != 0)
        return -1;
    if (!str_empty(protocol) && !str_eq(protocol, "TCP"))
        return 0;
    if (field_port(port, "port", 1, &ret->number, err) != 0)
        return -1;
    if (ret->number != 0)
        ret->name = mem_strdup(name != NULL ? name : "");
    return 0;
}

int decode_ports(struct decode *d, yyjson_val *of, const char *path, struct endpoint_group *g, struct error *err)
{
    size_t i, max;
    yyjson_val *ports, *port;
    if (json_get_array(of, "ports", &ports, err) != 0 || decode_count(d, yyjson_arr_size(ports), "ports", err) != 0)
        return -1;
    if (yyjson_arr_size(ports) == 0)
        return 0;
    g->ports = mem_array(yyjson_arr_size(ports), sizeof(*g->ports));
    yyjson_arr_foreach (ports, i, max, port) {
        struct endpoint_port *p = &g->ports[g->port_count];
        if (slice_port_of(port, p, decode_part_error(d)) != 0)
            decode_left_out(d, "%sports[%zu]", path, i);
        else if (p->number != 0)
            g->port_count++;
    }
    return 0;
}

static int conditions_of(yyjson_val *endpoint, struct endpoint *ret, struct error *err)
{
    yyjson_val *conditions;
    if (json_get_object(endpoint, "conditions", &conditions, err) != 0)
        return -1;
    if (json_get_bool(conditions, "ready", true, &ret->ready, err) != 0 ||
        json_get_bool(conditions, "serving", ret->ready, &ret->serving, err) != 0 ||
        json_get_bool(conditions, "terminating", false, &ret->terminating, err) != 0)
        return error_prefix(err, "conditions");
    return 0;
}

static int slice_address_of(yyjson_val *endpoint, int family, const char **ret, struct error *err)
{
    yyjson_val *addresses;
    if (json_get_array(endpoint, "addresses", &addresses, err) != 0)
        return -1;
    yyjson_val *first = yyjson_arr_get_first(addresses);
    if (first == NULL)
        return error_set(err, ERROR_INVALID, "addresses has none");
    if (json_line(first, "addresses[0]", ADDRESS_MAX_BYTES, ret, err) != 0)
        return -1;
    return check_ip(*ret, "addresses[0]", family, err);
}

static int endpoint_of(yyjson_val *endpoint, int family, struct endpoint *ret, struct error *err)
{
    const char *address, *node_name;
    if (!yyjson_is_obj(endpoint))
        return error_set(err, ERROR_INVALID, "is %s, not an object", json_type(endpoint));
    if (slice_address_of(endpoint, family, &address, err) != 0 || conditions_of(endpoint, ret, err) != 0 ||
        json_get_line(endpoint, "nodeName", KUBE_NAME_MAX_BYTES, &node_name, err) != 0)
        return -1;
    ret->address = mem_strdup(address);
    ret->node_name = str_empty(node_name) ? NULL : mem_strdup(node_name);
    return 0;
}

static int family_of(yyjson_val *object, int *ret, struct error *err)
{
    const char *type;
    if (json_get_line(object, "addressType", ENUM_MAX_BYTES, &type, err) != 0)
        return -1;
    *ret = str_eq(type, "IPv4") ? AF_INET : str_eq(type, "IPv6") ? AF_INET6 : 0;
    if (*ret != 0)
        return 0;
    if (type == NULL)
        return error_set(err, ERROR_INVALID, "addressType is absent");
    return error_set(err, ERROR_INVALID, "addressType is \"%s\": only IPv4 and IPv6 are supported", type);
}

static int decode_slice(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct endpoint_set *s = object;
    int family;
    if (family_of(from, &family, err) != 0)
        return -1;
    s->uid_hash = d->uid_hash;
    s->groups = mem_array(1, sizeof(*s->groups));
    s->group_count = 1;
    struct endpoint_group *g = &s->groups[0];
    size_t i, max;
    yyjson_val *endpoints, *endpoint;
    if (decode_ports(d, from, "", g, err) != 0 || json_get_array(from, "endpoints", &endpoints, err) != 0 ||
        decode_count(d, yyjson_arr_size(endpoints), "endpoints", err) != 0)
        return -1;
    if (yyjson_arr_size(endpoints) == 0)
        return 0;
    g->endpoints = mem_array(yyjson_arr_size(endpoints), sizeof(*g->endpoints));
    yyjson_arr_foreach (endpoints, i, max, endpoint) {
        if (endpoint_of(endpoint, family, &g->endpoints[g->endpoint_count], decode_part_error(d)) != 0)
            decode_left_out(d, "endpoints[%zu]", i);
        else
            g->endpoint_count++;
    }
    return 0;
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

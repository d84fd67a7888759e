#include <arpa/inet.h>
#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/message.h"
#include "model/protection.h"

#define ENUM_MAX_BYTES 64u
#define TIME_MAX_BYTES 64u
#define VALUE_MAX_BYTES 4096u
#define PAUSED_ANNOTATION "haproxy-k8s-sync/paused"

/* Which of the names it is; the first where it is absent, as where it is unknown. */
static int choice_of(yyjson_val *spec, const char *key, const char *const *names, size_t count, size_t *ret,
                     struct error *err)
{
    const char *text;
    *ret = 0;
    if (json_get_line(spec, key, ENUM_MAX_BYTES, &text, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (str_eq(text, names[i])) {
            *ret = i;
            return 0;
        }
    return str_empty(text)
               ? 0
               : error_set(err, ERROR_INVALID, "%s is \"%s\", which is unknown: %s is used", key, text, names[0]);
}

static int add_family(yyjson_val *family, struct service *s, struct error *err)
{
    int number = yyjson_equals_str(family, "IPv4") ? AF_INET : yyjson_equals_str(family, "IPv6") ? AF_INET6 : 0;
    if (!yyjson_is_str(family))
        return error_set(err, ERROR_INVALID, "is %s, not a string", json_type(family));
    if (number == 0)
        return error_set(err, ERROR_INVALID, "is \"%.40s\", neither IPv4 nor IPv6", yyjson_get_str(family));
    if (s->families[0] == 0)
        s->families[0] = number;
    else if (s->families[0] != number)
        s->families[1] = number;
    return 0;
}

/* One that is not TCP is of no use. */
static int service_port_of(yyjson_val *port, void *item, const void *arg, struct error *err)
{
    struct service_port *ret = item;
    const char *name, *protocol;
    (void)arg;
    if (json_get_line(port, "protocol", ENUM_MAX_BYTES, &protocol, err) != 0)
        return -1;
    if (!str_empty(protocol) && !str_eq(protocol, "TCP"))
        return 1;
    if (json_get_line(port, "name", KUBE_NAME_MAX_BYTES, &name, err) != 0 ||
        field_port(port, "port", 1, &ret->number, err) != 0 ||
        field_port(port, "nodePort", 0, &ret->node_port, err) != 0)
        return -1;
    if (ret->number == 0)
        return error_set(err, ERROR_INVALID, "port is absent");
    ret->name = mem_strdup(name != NULL ? name : "");
    return 0;
}

static int decode_service(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct service *s = object;
    struct decode_list l = {.item_bytes = sizeof(*s->ports), .read = service_port_of};
    yyjson_val *spec, *annotations;
    s->uid_hash = d->uid_hash;
    s->uid = mem_strdup(d->uid);
    if (json_get_object(from, "spec", &spec, err) != 0)
        return -1;
    int rc = decode_list(d, spec, "spec.", "ports", &l, err);
    s->ports = l.items;
    s->port_count = l.count;
    if (rc != 0)
        return error_prefix(err, "spec");
    /* Annotations that cannot be read may well pause. */
    if (json_get_object(yyjson_obj_get(from, "metadata"), "annotations", &annotations, err) != 0)
        return error_prefix(err, "metadata");
    if (field_switch(annotations, PAUSED_ANNOTATION, &s->paused, decode_part_error(d)) != 0)
        decode_left_out(d, "metadata.annotations");
    static const char *const policies[] = {"Cluster", "Local"};
    size_t type, policy;
    if (choice_of(spec, "type", service_type_names, SERVICE_EXTERNAL_NAME + 1, &type, decode_part_error(d)) != 0)
        decode_left_out(d, "spec");
    if (choice_of(spec, "externalTrafficPolicy", policies, 2, &policy, decode_part_error(d)) != 0)
        decode_left_out(d, "spec");
    s->type = (enum service_type)type;
    s->local = policy == 1;
    if (field_port(spec, "healthCheckNodePort", 0, &s->health_check_node_port, decode_part_error(d)) != 0)
        decode_left_out(d, "spec");
    size_t i, max;
    yyjson_val *families = NULL, *family;
    if (json_get_array(spec, "ipFamilies", &families, decode_part_error(d)) != 0)
        decode_left_out(d, "spec");
    yyjson_arr_foreach (families, i, max, family)
        if (add_family(family, s, decode_part_error(d)) != 0)
            decode_left_out(d, "spec.ipFamilies[%zu]", i);
    return 0;
}

const struct kube_resource kube_services = {
    .kind = "service",
    .plural = "services",
    .api = "/api/v1",
    .record = &service_record,
    .decode = decode_service,
    .message = &proto_service,
    .message_kind = "Service",
};

/* ---- those that say by annotations how HAProxy is to serve them ---- */

static int read_annotation(yyjson_val *key, yyjson_val *value, struct annotated_service *s, struct error *err)
{
    if (!yyjson_is_str(value))
        return error_set(err, ERROR_INVALID, "is %s, not a string", json_type(value));
    if (yyjson_get_len(value) > VALUE_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "has %zu bytes, more than %u", yyjson_get_len(value), VALUE_MAX_BYTES);
    if (strlen(yyjson_get_str(value)) != yyjson_get_len(value))
        return error_set(err, ERROR_INVALID, "has a NUL");
    s->annotations[s->annotation_count++] =
        (struct object_annotation){mem_strdup(yyjson_get_str(key)), mem_strdup(yyjson_get_str(value))};
    return 0;
}

static int decode_annotated(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct annotated_service *s = object;
    const char *created;
    yyjson_val *metadata = yyjson_obj_get(from, "metadata");
    if (decode_service(d, from, &s->service, err) != 0)
        return -1;
    if (json_get_line(metadata, "creationTimestamp", TIME_MAX_BYTES, &created, err) != 0)
        return error_prefix(err, "metadata");
    if (created != NULL && rfc3339_parse(created, &s->created_us) != 0)
        return error_set(err, ERROR_INVALID, "metadata.creationTimestamp is \"%s\", no time of RFC 3339", created);
    size_t i, max;
    yyjson_val *all, *key, *value;
    if (json_get_object(metadata, "annotations", &all, err) != 0 ||
        decode_count(d, yyjson_obj_size(all), "annotations", err) != 0)
        return error_prefix(err, "metadata");
    if (yyjson_obj_size(all) == 0)
        return 0;
    s->annotations = mem_array(yyjson_obj_size(all), sizeof(s->annotations[0]));
    const struct annotated_prefixes *p = d->of->arg;
    yyjson_obj_foreach (all, i, max, key, value) {
        const char *name = yyjson_get_str(key);
        bool kept = yyjson_is_str(value) && asks_for_protection(name, yyjson_get_str(value));
        for (size_t k = 0; k < array_len(p->list); k++)
            kept = kept || (p->list[k] != NULL && str_has_prefix(name, p->list[k]));
        if (kept && read_annotation(key, value, s, decode_part_error(d)) != 0)
            decode_left_out(d, "metadata.annotations[\"%s\"]", name);
    }
    return 0;
}

struct kube_resource kube_annotated_services(const struct annotated_prefixes *prefixes)
{
    return (struct kube_resource){
        .kind = "service",
        .plural = "services",
        .api = "/api/v1",
        .record = &annotated_service_record,
        .decode = decode_annotated,
        .message = &proto_service,
        .message_kind = "Service",
        .by_namespace = true,
        .arg = prefixes,
    };
}

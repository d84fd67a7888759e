#include "kube/decode/decode_annotated.h"

#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/schema.h"
#include "model/protection.h"

#define TIME_MAX_BYTES 64u
#define VALUE_MAX_BYTES 4096u

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
    if (kube_services.decode(d, from, &s->service, err) != 0)
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

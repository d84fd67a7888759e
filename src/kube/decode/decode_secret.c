#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "base/base64.h"

#define VALUE_MAX_BYTES (4u << 20) /* an API server takes 1 MiB in all, before base64 */
#define VERSION_MAX_BYTES 1024u

static int read_value(yyjson_val *key, yyjson_val *from, struct secret_object *s, struct error *err)
{
    const char *base64;
    size_t len = 0;
    if (json_line(from, yyjson_get_str(key), VALUE_MAX_BYTES, &base64, err) != 0)
        return -1;
    char *bytes = base64_decode(base64 != NULL ? base64 : "", &len);
    if (bytes == NULL)
        return error_set(err, ERROR_INVALID, "%s is no base64", yyjson_get_str(key));
    s->values[s->value_count++] = (struct secret_value){mem_strdup(yyjson_get_str(key)), bytes, len};
    return 0;
}

/* Annotations that cannot be read may well pause. */
static int read_annotations(struct decode *d, yyjson_val *metadata, struct secret_object *s, struct error *err)
{
    static const char *const pauses[] = {"haproxy-k8s-sync/paused", SECRET_ANNOTATIONS "paused"};
    size_t i, max;
    yyjson_val *all, *key, *value;
    if (json_get_object(metadata, "annotations", &all, err) != 0 ||
        decode_count(d, yyjson_obj_size(all), "annotations", err) != 0)
        return error_prefix(err, "metadata");
    for (i = 0; i < array_len(pauses); i++) {
        bool on;
        if (field_switch(all, pauses[i], &on, decode_part_error(d)) != 0)
            decode_left_out(d, "metadata.annotations");
        s->paused = s->paused || on;
    }
    if (all == NULL)
        return 0;
    s->annotations = mem_array(yyjson_obj_size(all), sizeof(s->annotations[0]));
    yyjson_obj_foreach (all, i, max, key, value)
        if (yyjson_is_str(value) && str_has_prefix(yyjson_get_str(key), SECRET_ANNOTATIONS))
            s->annotations[s->annotation_count++] =
                (struct object_annotation){mem_strdup(yyjson_get_str(key)), mem_strdup(yyjson_get_str(value))};
    return 0;
}

static int read_text(yyjson_val *key, yyjson_val *from, struct secret_object *s, struct error *err)
{
    const char *text = yyjson_get_str(from);
    size_t len = yyjson_get_len(from);
    if (text == NULL || len > VALUE_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "%s is %s, not a text", yyjson_get_str(key), json_type(from));
    char *bytes = mem_alloc(len + 1);
    memcpy(bytes, text, len);
    s->values[s->value_count++] = (struct secret_value){mem_strdup(yyjson_get_str(key)), bytes, len};
    return 0;
}

/* What it has as text (a ConfigMap's data) and as bytes (its binaryData, a Secret's data), one list. */
static int decode_values(struct decode *d, yyjson_val *from, struct secret_object *s, const char *text_key,
                         const char *bytes_key, struct error *err)
{
    const char *version;
    yyjson_val *metadata = yyjson_obj_get(from, "metadata"), *text = NULL, *binary, *key, *value;
    size_t i, max;
    s->uid = mem_strdup(d->uid);
    if (json_get_line(metadata, "resourceVersion", VERSION_MAX_BYTES, &version, err) != 0)
        return error_prefix(err, "metadata");
    s->version = mem_strdup(version);
    if ((text_key != NULL && json_get_object(from, text_key, &text, err) != 0) ||
        json_get_object(from, bytes_key, &binary, err) != 0)
        return -1;
    size_t count = yyjson_obj_size(text) + yyjson_obj_size(binary);
    if (decode_count(d, count, "data", err) != 0)
        return -1;
    s->values = count > 0 ? mem_array(count, sizeof(s->values[0])) : NULL;
    if (text != NULL)
        yyjson_obj_foreach (text, i, max, key, value)
            if (read_text(key, value, s, decode_part_error(d)) != 0)
                decode_left_out(d, "%s", text_key);
    if (binary != NULL)
        yyjson_obj_foreach (binary, i, max, key, value)
            if (read_value(key, value, s, decode_part_error(d)) != 0)
                decode_left_out(d, "%s", bytes_key);
    return read_annotations(d, metadata, s, err);
}

static int decode_secret(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    return decode_values(d, from, object, NULL, "data", err);
}

static int decode_config_map(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    return decode_values(d, from, object, "data", "binaryData", err);
}

const struct kube_resource kube_config_maps = {
    .kind = "configmap",
    .plural = "configmaps",
    .api = "/api/v1",
    .record = &secret_record,
    .decode = decode_config_map,
};

const struct kube_resource kube_secrets = {
    .kind = "secret",
    .plural = "secrets",
    .api = "/api/v1",
    .record = &secret_record,
    .decode = decode_secret,
};

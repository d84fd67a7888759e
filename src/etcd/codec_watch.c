#include "etcd/codec_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "etcd/codec_internal.h"
#include "json/read.h"
#include "json/write.h"

char *etcd_codec_watch(const char *key, bool prefix, int64_t revision)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    struct yyjson_mut_val *create = json_put_object(doc, root, "create_request");
    etcd_codec_put_key(doc, create, key, prefix);
    etcd_codec_put_int64(doc, create, "start_revision", revision);
    json_put_bool(doc, create, "progress_notify", true);
    json_put_bool(doc, create, "fragment", true);
    return json_take(doc);
}

char *etcd_codec_newest(const char *key, bool prefix)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    etcd_codec_put_key(doc, root, key, prefix);
    json_put_text(doc, root, "sort_order", "DESCEND");
    json_put_text(doc, root, "sort_target", "MOD");
    etcd_codec_put_int64(doc, root, "limit", 1);
    json_put_bool(doc, root, "keys_only", true);
    return json_take(doc);
}

void etcd_watch_message_fini(struct etcd_watch_message *m)
{
    for (size_t i = 0; i < m->count; i++)
        etcd_kv_fini(&m->items[i].kv);
    free(m->items);
    *m = (struct etcd_watch_message){0};
}

static int read_item(yyjson_val *event, struct etcd_watch_item *ret, struct error *err)
{
    const char *type;
    yyjson_val *kv;
    if (json_is_object(event, "the event", err) != 0 || json_get_string(event, "type", &type, err) != 0 ||
        json_get_object(event, "kv", &kv, err) != 0)
        return -1;
    ret->deleted = strcmp(type, "DELETE") == 0;
    if (!ret->deleted && type[0] != '\0' && strcmp(type, "PUT") != 0)
        return error_set(err, ERROR_INVALID, "type is \"%.40s\", neither PUT nor DELETE", type);
    if (kv == NULL)
        return error_set(err, ERROR_INVALID, "kv is missing");
    return etcd_codec_read_kv(kv, &ret->kv, err);
}

static int read_result(yyjson_val *result, struct etcd_watch_message *ret, struct error *err)
{
    const char *why;
    yyjson_val *events;
    if (etcd_codec_read_header(result, &ret->revision, err) != 0 ||
        json_get_bool(result, "created", false, &ret->created, err) != 0 ||
        json_get_bool(result, "canceled", false, &ret->canceled, err) != 0 ||
        json_get_bool(result, "fragment", false, &ret->fragment, err) != 0 ||
        etcd_codec_get_int64(result, "compact_revision", &ret->compact_revision, err) != 0 ||
        json_get_string(result, "cancel_reason", &why, err) != 0 || json_get_array(result, "events", &events, err) != 0)
        return -1;
    if (ret->canceled)
        etcd_refusal_of_message(why[0] != '\0' ? why : "etcd ended the watch without a reason", &ret->refusal);
    size_t i, max;
    yyjson_val *event;
    if (yyjson_arr_size(events) > 0)
        ret->items = mem_array(yyjson_arr_size(events), sizeof(ret->items[0]));
    yyjson_arr_foreach (events, i, max, event) {
        if (read_item(event, &ret->items[i], err) != 0)
            return error_prefix(err, "events[%zu]", i);
        ret->bytes += ret->items[i].kv.key_len + ret->items[i].kv.value_len;
        ret->count++;
    }
    return 0;
}

int etcd_codec_read_watch(const char *json, size_t len, struct etcd_watch_message *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the line", err);
    yyjson_val *root, *result;
    *ret = (struct etcd_watch_message){0};
    if (json_object_of(doc, "the line", &root, err) != 0)
        return -1;
    if (etcd_refusal_of_object(root, &ret->refusal)) {
        ret->canceled = true;
        return 0;
    }
    if (json_get_object(root, "result", &result, err) != 0)
        return -1;
    if (result == NULL)
        return error_set(err, ERROR_INVALID, "the line has neither result nor error");
    if (read_result(result, ret, err) == 0)
        return 0;
    etcd_watch_message_fini(ret);
    return error_prefix(err, "result");
}

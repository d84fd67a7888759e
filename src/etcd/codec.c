#include "etcd/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/read.h"
#include "json/write.h"

/* ---- requests ---- */

static void put_bytes(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, const char *bytes, size_t len)
{
    cleanup(mem_free_ptr) char *text = base64_encode(bytes, len);
    json_fields(doc, to, json_str(name, text));
}

static void put_int64(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, int64_t n)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, n);
    json_fields(doc, to, json_str(name, text));
}

/* key, and range_end where it is a prefix; "" with prefix: all keys. */
static void put_key(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key, bool prefix)
{
    size_t len = strlen(key), end_len = len;
    put_bytes(doc, to, "key", key, prefix && len == 0 ? 1 : len); /* a single NUL: the first there can be */
    if (!prefix)
        return;
    /* All that begin so: up to the first key that is greater than all of them. A single NUL stands for "all there are". */
    while (end_len > 0 && (unsigned char)key[end_len - 1] == 0xff)
        end_len--;
    cleanup(mem_free_ptr) char *end = mem_strndup(key, end_len);
    if (end_len > 0)
        end[end_len - 1]++;
    put_bytes(doc, to, "range_end", end, end_len > 0 ? end_len : 1);
}

char *etcd_codec_get(const struct etcd_get *get)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    put_key(doc, root, get->key, get->prefix);
    if (get->revision != 0)
        put_int64(doc, root, "revision", get->revision);
    if (get->limit != 0)
        put_int64(doc, root, "limit", (int64_t)get->limit);
    if (get->keys_only)
        json_fields(doc, root, json_bool("keys_only", true));
    return json_take(doc);
}

char *etcd_codec_txn(const struct etcd_txn *txn)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *compares = json_put_list(doc, root, "compare");
    for (size_t i = 0; i < txn->compare_count; i++) {
        const struct etcd_compare *c = &txn->compares[i];
        yyjson_mut_val *to = json_add_object(doc, compares);
        put_key(doc, to, c->key, false);
        json_fields(doc, to, json_str("target", "MOD"), json_str("result", "EQUAL"));
        put_int64(doc, to, "mod_revision", c->mod_revision);
    }
    yyjson_mut_val *list = json_put_list(doc, root, "success");
    for (size_t i = 0; i < txn->delete_count; i++)
        put_key(doc, json_put_object(doc, json_add_object(doc, list), "request_delete_range"), txn->deletes[i].key,
                txn->deletes[i].prefix);
    for (size_t i = 0; i < txn->put_count; i++) {
        const struct etcd_put *p = &txn->puts[i];
        yyjson_mut_val *to = json_put_object(doc, json_add_object(doc, list), "request_put");
        put_key(doc, to, p->key, false);
        put_bytes(doc, to, "value", p->value, p->value_len);
        if (p->lease != 0)
            put_int64(doc, to, "lease", p->lease);
    }
    return json_take(doc);
}

/* ---- answers ---- */

/* Text or number; 0 where absent. */
static int get_int64(yyjson_val *of, const char *name, int64_t *ret, struct error *err)
{
    const char *text;
    if (!yyjson_is_str(yyjson_obj_get(of, name)))
        return json_get_int(of, name, INT64_MIN, INT64_MAX, 0, ret, err);
    if (json_get_string(of, name, &text, err) != 0)
        return -1;
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    bool digit = text[0] == '-' ? text[1] >= '0' && text[1] <= '9' : text[0] >= '0' && text[0] <= '9';
    if (!digit || *end != '\0' || errno != 0)
        return error_set(err, ERROR_INVALID, "%s is \"%.40s\", not a 64-bit number", name, text);
    *ret = n;
    return 0;
}

static int get_bytes(yyjson_val *of, const char *name, char **ret, size_t *ret_len, struct error *err)
{
    const char *text;
    if (json_get_string(of, name, &text, err) != 0)
        return -1;
    *ret = base64_decode(text, ret_len);
    return *ret != NULL ? 0 : error_set(err, ERROR_INVALID, "%s is no base64: \"%.40s\"", name, text);
}

void etcd_kv_fini(struct etcd_kv *kv)
{
    free(kv->key);
    mem_wiping_free(kv->value);
    *kv = (struct etcd_kv){0};
}

static int read_kv(yyjson_val *from, struct etcd_kv *ret, struct error *err)
{
    *ret = (struct etcd_kv){0};
    int rc = json_is_object(from, "kv", err);
    if (rc == 0 &&
        (get_bytes(from, "key", &ret->key, &ret->key_len, err) != 0 ||
         get_bytes(from, "value", &ret->value, &ret->value_len, err) != 0 ||
         get_int64(from, "create_revision", &ret->create_revision, err) != 0 ||
         get_int64(from, "mod_revision", &ret->mod_revision, err) != 0 ||
         get_int64(from, "version", &ret->version, err) != 0 || get_int64(from, "lease", &ret->lease, err) != 0))
        rc = -1;
    else if (rc == 0 && ret->key_len == 0)
        rc = error_set(err, ERROR_INVALID, "key is missing or empty");
    else if (rc == 0 && ret->mod_revision <= 0)
        rc = error_set(err, ERROR_INVALID, "mod_revision is %" PRId64 ", not above 0", ret->mod_revision);
    if (rc != 0)
        etcd_kv_fini(ret);
    return rc;
}

/* The revision of the header, which has to be there; 0 where it says none. */
static int read_header(yyjson_val *answer, int64_t *ret_revision, struct error *err)
{
    yyjson_val *header;
    if (json_get_object(answer, "header", &header, err) != 0)
        return -1;
    if (header == NULL)
        return error_set(err, ERROR_INVALID, "header is missing");
    return get_int64(header, "revision", ret_revision, err) == 0 ? 0 : error_prefix(err, "header");
}

/* An answer that shows the state of the store has its revision, which begins at 1. */
static int read_revision(yyjson_val *answer, int64_t *ret, struct error *err)
{
    if (read_header(answer, ret, err) != 0)
        return -1;
    return *ret > 0 ? 0 : error_set(err, ERROR_INVALID, "header: revision is %" PRId64 ", not above 0", *ret);
}

void etcd_got_fini(struct etcd_got *got)
{
    for (size_t i = 0; i < got->count; i++)
        etcd_kv_fini(&got->list[i]);
    free(got->list);
    *got = (struct etcd_got){0};
}

int etcd_codec_read_got(const char *json, size_t len, struct etcd_got *ret, struct error *err)
{
    *ret = (struct etcd_got){0};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the answer", err);
    yyjson_val *root, *kvs, *kv;
    if (json_object_of(doc, "the answer", &root, err) != 0 || read_revision(root, &ret->revision, err) != 0 ||
        json_get_bool(root, "more", false, &ret->more, err) != 0 || json_get_array(root, "kvs", &kvs, err) != 0) {
        ret->revision = 0;
        return -1;
    }
    size_t i, max;
    ret->list = mem_array(yyjson_arr_size(kvs) + 1, sizeof(ret->list[0]));
    yyjson_arr_foreach (kvs, i, max, kv) {
        if (read_kv(kv, &ret->list[i], err) != 0) {
            etcd_got_fini(ret);
            return error_prefix(err, "kvs[%zu]", i);
        }
        ret->count++;
    }
    return 0;
}

int etcd_codec_read_txn(const char *json, size_t len, bool *ret_succeeded, int64_t *ret_revision, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the answer", err);
    yyjson_val *root;
    if (json_object_of(doc, "the answer", &root, err) != 0 || read_revision(root, ret_revision, err) != 0)
        return -1;
    return json_get_bool(root, "succeeded", false, ret_succeeded, err);
}

/* ---- leases and the token ---- */

#define TOKEN_MAX_BYTES 8192 /* a JWT has some hundreds */

static char *one_number(const char *name, int64_t n)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    put_int64(doc, root, name, n);
    return json_take(doc);
}

char *etcd_codec_grant(int64_t ttl_s)
{
    return one_number("TTL", ttl_s);
}

char *etcd_codec_lease(int64_t id)
{
    return one_number("ID", id);
}

int etcd_codec_read_grant(const char *json, size_t len, int64_t *ret_id, int64_t *ret_ttl_s, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the answer", err);
    yyjson_val *root;
    if (json_object_of(doc, "the answer", &root, err) != 0 || get_int64(root, "ID", ret_id, err) != 0 ||
        get_int64(root, "TTL", ret_ttl_s, err) != 0)
        return -1;
    if (*ret_id == 0 || *ret_ttl_s <= 0)
        return error_set(err, ERROR_INVALID, "the answer has no lease: ID %" PRId64 ", TTL %" PRId64, *ret_id,
                         *ret_ttl_s);
    return 0;
}

int etcd_codec_read_keep_alive(const char *json, size_t len, int64_t *ret_ttl_s, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, YYJSON_READ_STOP_WHEN_DONE, "the answer", err);
    yyjson_val *root, *result;
    if (json_object_of(doc, "the answer", &root, err) != 0 || json_get_object(root, "result", &result, err) != 0)
        return -1;
    if (result == NULL)
        return error_set(err, ERROR_INVALID, "result is missing");
    if (get_int64(result, "TTL", ret_ttl_s, err) != 0)
        return error_prefix(err, "result");
    if (*ret_ttl_s < 0)
        *ret_ttl_s = 0;
    return 0;
}

/* By hand: the writer leaves copies of what it was given in memory. */
char *etcd_codec_authenticate(const char *user, const char *password)
{
    cleanup(buf_fini) struct buf out;
    buf_init_secret(&out, 0);
    buf_add(&out, "{\"name\":\"");
    text_add(&out, user, TEXT_QUOTED, TEXT_WHOLE);
    buf_add(&out, "\",\"password\":\"");
    text_add(&out, password, TEXT_QUOTED, TEXT_WHOLE);
    buf_add(&out, "\"}");
    return buf_take(&out);
}

int etcd_codec_read_token(const char *json, size_t len, char **ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the answer", err);
    yyjson_val *root;
    const char *token;
    if (json_object_of(doc, "the answer", &root, err) != 0 ||
        json_get_line(root, "token", TOKEN_MAX_BYTES, &token, err) != 0)
        return -1;
    if (token == NULL || token[0] == '\0')
        return error_set(err, ERROR_INVALID, "token is missing or empty");
    *ret = mem_strdup(token);
    return 0;
}

/* ---- a watch ---- */

char *etcd_codec_watch(const char *key, bool prefix, int64_t revision)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *create = json_put_object(doc, root, "create_request");
    put_key(doc, create, key, prefix);
    put_int64(doc, create, "start_revision", revision);
    json_fields(doc, create, json_bool("progress_notify", true), json_bool("fragment", true));
    return json_take(doc);
}

char *etcd_codec_newest(const char *key, bool prefix)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    put_key(doc, root, key, prefix);
    json_fields(doc, root, json_str("sort_order", "DESCEND"), json_str("sort_target", "MOD"));
    put_int64(doc, root, "limit", 1);
    json_fields(doc, root, json_bool("keys_only", true));
    return json_take(doc);
}

void etcd_watch_message_fini(struct etcd_watch_message *m)
{
    for (size_t i = 0; i < m->count; i++)
        etcd_kv_fini(&m->items[i].kv);
    free(m->items);
    *m = (struct etcd_watch_message){0};
}

static int read_result(yyjson_val *result, struct etcd_watch_message *ret, struct error *err)
{
    const char *why;
    yyjson_val *events;
    if (read_header(result, &ret->revision, err) != 0 ||
        json_get_bool(result, "created", false, &ret->created, err) != 0 ||
        json_get_bool(result, "canceled", false, &ret->canceled, err) != 0 ||
        json_get_bool(result, "fragment", false, &ret->fragment, err) != 0 ||
        get_int64(result, "compact_revision", &ret->compact_revision, err) != 0 ||
        json_get_string(result, "cancel_reason", &why, err) != 0 || json_get_array(result, "events", &events, err) != 0)
        return -1;
    if (ret->canceled)
        etcd_refusal_of_message(why[0] != '\0' ? why : "etcd ended the watch without a reason", &ret->refusal);
    size_t i, max;
    yyjson_val *event;
    if (yyjson_arr_size(events) > 0)
        ret->items = mem_array(yyjson_arr_size(events), sizeof(ret->items[0]));
    yyjson_arr_foreach (events, i, max, event) {
        const char *type;
        yyjson_val *kv;
        if (json_is_object(event, "the event", err) != 0 || json_get_string(event, "type", &type, err) != 0 ||
            json_get_object(event, "kv", &kv, err) != 0)
            return error_prefix(err, "events[%zu]", i);
        bool deleted = strcmp(type, "DELETE") == 0;
        if (!deleted && type[0] != '\0' && strcmp(type, "PUT") != 0)
            return error_set(err, ERROR_INVALID, "events[%zu]: type is \"%.40s\", neither PUT nor DELETE", i, type);
        if (kv == NULL)
            return error_set(err, ERROR_INVALID, "events[%zu]: kv is missing", i);
        ret->items[i].deleted = deleted;
        if (read_kv(kv, &ret->items[i].kv, err) != 0)
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

#include "etcd/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "json/read.h"
#include "json/write.h"
#include "etcd/codec_internal.h"

/* ---- requests ---- */

void etcd_codec_put_bytes(struct yyjson_mut_doc *doc, struct yyjson_mut_val *to, const char *name, const char *bytes,
                          size_t len)
{
    cleanup(mem_free_ptr) char *text = base64_encode(bytes, len);
    json_put_text(doc, to, name, text);
}

void etcd_codec_put_int64(struct yyjson_mut_doc *doc, struct yyjson_mut_val *to, const char *name, int64_t n)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, n);
    json_put_text(doc, to, name, text);
}

/* All that begin so: up to the first key that is greater than all of them. A single NUL stands for "all there are". */
static void put_prefix(struct yyjson_mut_doc *doc, struct yyjson_mut_val *to, const char *key)
{
    size_t len = strlen(key), end_len = len;
    etcd_codec_put_bytes(doc, to, "key", len == 0 ? "" : key, len == 0 ? 1 : len);
    while (end_len > 0 && (unsigned char)key[end_len - 1] == 0xff)
        end_len--;
    if (end_len == 0) {
        etcd_codec_put_bytes(doc, to, "range_end", "", 1);
        return;
    }
    cleanup(mem_free_ptr) char *end = mem_strndup(key, end_len);
    end[end_len - 1]++;
    etcd_codec_put_bytes(doc, to, "range_end", end, end_len);
}

void etcd_codec_put_key(struct yyjson_mut_doc *doc, struct yyjson_mut_val *to, const char *key, bool prefix)
{
    if (prefix)
        put_prefix(doc, to, key);
    else
        etcd_codec_put_bytes(doc, to, "key", key, strlen(key));
}

char *etcd_codec_get(const struct etcd_get *get)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    etcd_codec_put_key(doc, root, get->key, get->prefix);
    if (get->revision != 0)
        etcd_codec_put_int64(doc, root, "revision", get->revision);
    if (get->limit != 0)
        etcd_codec_put_int64(doc, root, "limit", (int64_t)get->limit);
    if (get->keys_only)
        json_put_bool(doc, root, "keys_only", true);
    return json_take(doc);
}

char *etcd_codec_txn(const struct etcd_txn *txn)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    struct yyjson_mut_val *compares = json_put_list(doc, root, "compare");
    for (size_t i = 0; i < txn->compare_count; i++) {
        const struct etcd_compare *c = &txn->compares[i];
        struct yyjson_mut_val *to = json_add_object(doc, compares);
        etcd_codec_put_key(doc, to, c->key, false);
        json_put_text(doc, to, "target", "MOD");
        json_put_text(doc, to, "result", "EQUAL");
        etcd_codec_put_int64(doc, to, "mod_revision", c->mod_revision);
    }
    struct yyjson_mut_val *list = json_put_list(doc, root, "success");
    for (size_t i = 0; i < txn->delete_count; i++)
        etcd_codec_put_key(doc, json_put_object(doc, json_add_object(doc, list), "request_delete_range"),
                           txn->deletes[i].key, txn->deletes[i].prefix);
    for (size_t i = 0; i < txn->put_count; i++) {
        const struct etcd_put *p = &txn->puts[i];
        struct yyjson_mut_val *to = json_put_object(doc, json_add_object(doc, list), "request_put");
        etcd_codec_put_key(doc, to, p->key, false);
        etcd_codec_put_bytes(doc, to, "value", p->value, p->value_len);
        if (p->lease != 0)
            etcd_codec_put_int64(doc, to, "lease", p->lease);
    }
    return json_take(doc);
}

/* ---- answers ---- */

static int text_to_int64(const char *text, const char *name, int64_t *ret, struct error *err)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    bool digit = text[0] == '-' ? text[1] >= '0' && text[1] <= '9' : text[0] >= '0' && text[0] <= '9';
    if (!digit || *end != '\0' || errno != 0)
        return error_set(err, ERROR_INVALID, "%s is \"%.40s\", not a 64-bit number", name, text);
    *ret = n;
    return 0;
}

int etcd_codec_get_int64(yyjson_val *of, const char *name, int64_t *ret, struct error *err)
{
    const char *text;
    if (!yyjson_is_str(yyjson_obj_get(of, name)))
        return json_get_int(of, name, INT64_MIN, INT64_MAX, 0, ret, err);
    if (json_get_string(of, name, &text, err) != 0)
        return -1;
    return text_to_int64(text, name, ret, err);
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

static int read_kv_fields(yyjson_val *from, struct etcd_kv *ret, struct error *err)
{
    if (get_bytes(from, "key", &ret->key, &ret->key_len, err) != 0 ||
        get_bytes(from, "value", &ret->value, &ret->value_len, err) != 0 ||
        etcd_codec_get_int64(from, "create_revision", &ret->create_revision, err) != 0 ||
        etcd_codec_get_int64(from, "mod_revision", &ret->mod_revision, err) != 0 ||
        etcd_codec_get_int64(from, "version", &ret->version, err) != 0 ||
        etcd_codec_get_int64(from, "lease", &ret->lease, err) != 0)
        return -1;
    if (ret->key_len == 0)
        return error_set(err, ERROR_INVALID, "key is missing or empty");
    if (ret->mod_revision <= 0)
        return error_set(err, ERROR_INVALID, "mod_revision is %" PRId64 ", not above 0", ret->mod_revision);
    return 0;
}

int etcd_codec_read_kv(yyjson_val *from, struct etcd_kv *ret, struct error *err)
{
    *ret = (struct etcd_kv){0};
    if (json_is_object(from, "kv", err) == 0 && read_kv_fields(from, ret, err) == 0)
        return 0;
    etcd_kv_fini(ret);
    return -1;
}

int etcd_codec_read_header(yyjson_val *answer, int64_t *ret_revision, struct error *err)
{
    yyjson_val *header;
    if (json_get_object(answer, "header", &header, err) != 0)
        return -1;
    if (header == NULL)
        return error_set(err, ERROR_INVALID, "header is missing");
    return etcd_codec_get_int64(header, "revision", ret_revision, err) == 0 ? 0 : error_prefix(err, "header");
}

/* An answer that shows the state of the store has its revision, which begins at 1. */
static int read_revision(yyjson_val *answer, int64_t *ret, struct error *err)
{
    if (etcd_codec_read_header(answer, ret, err) != 0)
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

static int read_list(yyjson_val *kvs, struct etcd_got *ret, struct error *err)
{
    size_t i, max;
    yyjson_val *kv;
    ret->list = mem_array(yyjson_arr_size(kvs) + 1, sizeof(ret->list[0]));
    yyjson_arr_foreach (kvs, i, max, kv) {
        if (etcd_codec_read_kv(kv, &ret->list[i], err) != 0)
            return error_prefix(err, "kvs[%zu]", i);
        ret->count++;
    }
    return 0;
}

int etcd_codec_read_got(const char *json, size_t len, struct etcd_got *ret, struct error *err)
{
    *ret = (struct etcd_got){0};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the answer", err);
    yyjson_val *root, *kvs;
    if (json_object_of(doc, "the answer", &root, err) == 0 && read_revision(root, &ret->revision, err) == 0 &&
        json_get_bool(root, "more", false, &ret->more, err) == 0 && json_get_array(root, "kvs", &kvs, err) == 0 &&
        read_list(kvs, ret, err) == 0)
        return 0;
    etcd_got_fini(ret);
    return -1;
}

int etcd_codec_read_txn(const char *json, size_t len, bool *ret_succeeded, int64_t *ret_revision, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the answer", err);
    yyjson_val *root;
    if (json_object_of(doc, "the answer", &root, err) != 0 || read_revision(root, ret_revision, err) != 0)
        return -1;
    return json_get_bool(root, "succeeded", false, ret_succeeded, err);
}

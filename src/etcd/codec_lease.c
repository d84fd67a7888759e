/* Leases and the token: what is no key. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "etcd/codec.h"
#include "etcd/codec_internal.h"
#include "json/read.h"
#include "json/write.h"

#define TOKEN_MAX_BYTES 8192 /* a JWT has some hundreds */

static char *one_number(const char *name, int64_t n)
{
    struct yyjson_mut_val *root;
    struct yyjson_mut_doc *doc = json_new(&root);
    etcd_codec_put_int64(doc, root, name, n);
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
    if (json_object_of(doc, "the answer", &root, err) != 0 || etcd_codec_get_int64(root, "ID", ret_id, err) != 0 ||
        etcd_codec_get_int64(root, "TTL", ret_ttl_s, err) != 0)
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
    if (etcd_codec_get_int64(result, "TTL", ret_ttl_s, err) != 0)
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

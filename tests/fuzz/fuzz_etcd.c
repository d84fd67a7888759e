/*
 * Everything that reads an answer of etcd's gateway, over the same bytes: what is no answer is an error that says
 * where, what is one has nothing that callers do not expect. And as a watch's stream, which gives the same messages
 * whole and byte by byte.
 */
#include "base/mem.h"
#include "etcd/codec.h"
#include "etcd/refusal.h"
#include "etcd/watch_stream.h"
#include "fuzz.h"

static void check_result(int result, const struct error *err)
{
    check(result == 0 || (result == -1 && err->kind == ERROR_INVALID && err->message[0] != '\0'));
}

static void check_kv(const struct etcd_kv *kv)
{
    check(kv->key != NULL && kv->key_len > 0 && kv->key[kv->key_len] == '\0' && kv->mod_revision > 0);
    check(kv->value != NULL && kv->value[kv->value_len] == '\0');
}

static void check_refusal(const struct etcd_refusal *r)
{
    check(strlen(r->message) < ETCD_REFUSAL_BYTES);
    for (const char *s = r->message; *s != '\0'; s++)
        check((unsigned char)*s >= 0x20 && *s != 0x7f);
}

static void feed_answers(const char *json, size_t len)
{
    struct etcd_got got;
    struct etcd_refusal refusal;
    struct error err = {0};
    bool succeeded;
    int64_t revision = 0, id, ttl_s = 0;
    char *token = NULL;
    int result = etcd_codec_read_got(json, len, &got, &err);
    check_result(result, &err);
    check(result == 0 ? got.revision > 0 : got.list == NULL);
    for (size_t i = 0; i < got.count; i++)
        check_kv(&got.list[i]);
    etcd_got_fini(&got);
    result = etcd_codec_read_txn(json, len, &succeeded, &revision, &err);
    check_result(result, &err);
    check(result != 0 || revision > 0);
    result = etcd_codec_read_grant(json, len, &id, &ttl_s, &err);
    check_result(result, &err);
    check(result != 0 || (id != 0 && ttl_s > 0));
    result = etcd_codec_read_keep_alive(json, len, &ttl_s, &err);
    check_result(result, &err);
    check(result != 0 || ttl_s >= 0);
    result = etcd_codec_read_token(json, len, &token, &err);
    check_result(result, &err);
    check(result != 0 || (token[0] != '\0' && strpbrk(token, "\r\n") == NULL));
    mem_wipe_free(token);
    etcd_refusal_read(503, json, len, &refusal);
    check_refusal(&refusal);
    (void)etcd_refusal_in_stream(json, len, &refusal);
    check_refusal(&refusal);
}

/* A number for all that came. */
static uint64_t feed_stream(const char *bytes, size_t size, size_t piece)
{
    struct etcd_watch_stream s;
    struct etcd_watch_message m;
    struct error err = {0};
    uint64_t sum = 0;
    int result = 0;
    etcd_watch_stream_init(&s);
    s.status = 200;
    for (size_t at = 0; at < size && result == 0; at += piece)
        result = etcd_watch_stream_feed(&s, bytes + at, size - at < piece ? size - at : piece, &err);
    check_result(result, &err);
    if (result == 0)
        etcd_watch_stream_end(&s);
    while (etcd_watch_stream_take(&s, &m)) {
        for (size_t i = 0; i < m.count; i++)
            check_kv(&m.items[i].kv);
        check_refusal(&m.refusal);
        sum = sum * 31 + (uint64_t)m.revision + m.count * 7 + m.bytes * 11 + m.canceled * 3u + m.created * 5u +
              m.fragment + 1;
        etcd_watch_message_fini(&m);
    }
    etcd_watch_stream_fini(&s);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(mem_free_ptr) char *text = mem_strndup((const char *)data, size);
    feed_answers(text, size);
    if (size > 0)
        check(feed_stream(text, size, size) == feed_stream(text, size, 1));
    return 0;
}

/*
 * What etcd's JSON gateway is asked and answers: etcd's rpc.proto and kv.proto by protobuf's JSON mapping, with the
 * names as they stand there. Bytes are base64, 64-bit numbers strings, and what is zero, false or empty is left out.
 * Pure: no I/O.
 *
 * Requests allocate. A reader's failure is ERROR_INVALID with the place in the answer; nothing of the answer is left
 * then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etcd/client.h"
#include "etcd/refusal.h"

char *etcd_codec_get(const struct etcd_get *get) must_check;
char *etcd_codec_txn(const struct etcd_txn *txn) must_check;

/* etcd_got_fini frees what was read. */
int etcd_codec_read_got(const char *json, size_t len, struct etcd_got *ret, struct error *err) must_check;
void etcd_got_fini(struct etcd_got *got);

int etcd_codec_read_txn(const char *json, size_t len, bool *ret_succeeded, int64_t *ret_revision,
                        struct error *err) must_check;

/* id of a grant or of a keep-alive, and what is left of it. The answer to a keep-alive is a stream of one line. */
char *etcd_codec_grant(int64_t ttl_s) must_check;
char *etcd_codec_lease(int64_t id) must_check; /* to keep it alive */
int etcd_codec_read_grant(const char *json, size_t len, int64_t *ret_id, int64_t *ret_ttl_s,
                          struct error *err) must_check;
int etcd_codec_read_keep_alive(const char *json, size_t len, int64_t *ret_ttl_s,
                               struct error *err) must_check; /* 0: it is gone */

/* Both are secrets: mem_wipe_free. */
char *etcd_codec_authenticate(const char *user, const char *password) must_check;
int etcd_codec_read_token(const char *json, size_t len, char **ret, struct error *err) must_check;

struct etcd_watch_item {
    struct etcd_kv kv;
    bool deleted;
};

struct etcd_watch_message {
    int64_t revision; /* of the header; 0: none */
    bool created;
    bool canceled;            /* by etcd, also where created: why is in `refusal`, unless */
    int64_t compact_revision; /* above 0: that is why */
    bool fragment;            /* more of the same follows */
    struct etcd_watch_item *items;
    size_t count, bytes; /* of keys and values */
    struct etcd_refusal refusal;
};

/* From that revision on; in pieces of no more than a request may have, and with progress notifications. */
char *etcd_codec_watch(const char *key, bool prefix, int64_t revision) must_check;
int etcd_codec_read_watch(const char *json, size_t len, struct etcd_watch_message *ret, struct error *err) must_check;
void etcd_watch_message_fini(struct etcd_watch_message *m);

/* The newest change of what is there now: of the key, or of those that begin so; answered as a get. */
char *etcd_codec_newest(const char *key, bool prefix) must_check;

/*
 * What etcd's JSON gateway is asked and answers: etcd's rpc.proto and kv.proto by protobuf's JSON mapping, with the
 * names as they stand there. Bytes are base64, 64-bit numbers strings, and what is zero, false or empty is left out.
 * Pure: no I/O.
 *
 * Requests allocate. A reader's failure is ERROR_INVALID with the place in the answer; nothing of the answer is left
 * then.
 */
#ifndef ETCD_CODEC_H
#define ETCD_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etcd/client.h"

char *etcd_codec_get(const struct etcd_get *get) must_check;
char *etcd_codec_txn(const struct etcd_txn *txn) must_check;

/* etcd_got_fini frees what was read. */
int etcd_codec_read_got(const char *json, size_t len, struct etcd_got *ret, struct error *err) must_check;
void etcd_got_fini(struct etcd_got *got);

int etcd_codec_read_txn(const char *json, size_t len, bool *ret_succeeded, int64_t *ret_revision,
                        struct error *err) must_check;

/* id of a grant or of a keep-alive, and what is left of it. The answer to a keep-alive is a stream of one line. */
char *etcd_codec_grant(int64_t ttl_s) must_check;
char *etcd_codec_lease(int64_t id) must_check; /* to keep alive, or to revoke */
int etcd_codec_read_grant(const char *json, size_t len, int64_t *ret_id, int64_t *ret_ttl_s,
                          struct error *err) must_check;
int etcd_codec_read_keep_alive(const char *json, size_t len, int64_t *ret_ttl_s,
                               struct error *err) must_check; /* 0: it is gone */

/* Both are secrets: mem_wipe_free. */
char *etcd_codec_authenticate(const char *user, const char *password) must_check;
int etcd_codec_read_token(const char *json, size_t len, char **ret, struct error *err) must_check;

#endif

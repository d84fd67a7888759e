/* A line of /v3/watch: {"result":WatchResponse} or {"error":...} (etcd's rpc.proto), and what is asked there. Pure;
 * as etcd/codec.h. */
#ifndef ETCD_CODEC_WATCH_H
#define ETCD_CODEC_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etcd/client.h"
#include "etcd/refusal.h"

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

#endif

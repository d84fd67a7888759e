/*
 * One etcd cluster, version 3.4 or newer, by the JSON gateway that it serves beside gRPC: /v3/kv, /v3/lease, /v3/auth
 * (etcd's "API reference: gRPC gateway"; keys and values are base64 there, 64-bit numbers are strings). Each request
 * goes to one of the endpoints, first to the one that answered last; where that does not answer, or has no leader, the
 * next one is asked, within the time of the request. An endpoint that says nothing takes half of what is left of that;
 * while a leader is elected all are asked again. With a user the token is fetched first, and anew when etcd refuses it
 * (the gateway ignores the name in a client's certificate); where etcd has no authentication enabled, that is logged
 * once, and requests go without. No call blocks, nothing is called back before it returned; everything that comes back
 * is capped: an answer at 64 MiB, as it is sent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

struct etcd_call;
struct etcd_client;
struct http;
struct http_tls;

#define ETCD_VALUE_MAX_BYTES (1536u << 10) /* etcd's own limit of a request (--max-request-bytes) */

/* Borrowed for as long as the client lives. */
struct etcd_client_options {
    char *const *endpoints; /* "https://10.0.0.1:2379", without a slash at the end */
    size_t endpoint_count;
    const struct http_tls
        *tls; /* NULL: the system's trust store; what is in it may change from one request to the next */
    const char *user, *password; /* NULL: no authentication */
    uint64_t timeout_ms;         /* of one request, failover included; 0: 10 s */
    const struct log *log;
};

/* NULL, ERROR_FATAL: no endpoint. */
struct etcd_client *etcd_client_new(struct http *http, const struct etcd_client_options *options,
                                    struct error *err) must_check;
void etcd_client_free(struct etcd_client *c); /* cancels its calls; NULL is allowed */
/* Another one from the next request for a token on; NULL: none. Copied. */
void etcd_client_set_password(struct etcd_client *c, const char *password);

/* A key with its value; NUL-terminated, may have NULs inside. */
struct etcd_kv {
    char *key, *value;
    size_t key_len, value_len;
    int64_t create_revision, mod_revision, version, lease;
};
void etcd_kv_fini(struct etcd_kv *kv);

/* One key, or all that begin so, as they were at a revision. */
struct etcd_get {
    const char *key;
    bool prefix;
    int64_t revision; /* 0: the newest */
    size_t limit;     /* 0: none */
    bool keys_only;
};

struct etcd_got {
    int64_t revision;     /* of the cluster when it was read */
    struct etcd_kv *list; /* by key; owned by the answer */
    size_t count;
    bool more;
};

/*
 * err NULL: done. Otherwise its kind, and a message with the endpoints, what each said, and what to do where that is
 * known:
 *   ERROR_RETRY    no endpoint answers, or none can at the moment (no leader, no space)
 *   ERROR_AUTH     the user, the password or the right
 *   ERROR_GONE     the revision is compacted; of a transaction: the lease of a put has ended
 *   ERROR_INVALID  what came is no JSON, no base64, not etcd's, or over a cap; a certificate that is not trusted; or
 *                  etcd does not take what was asked (a revision of the future, one key twice in a transaction, more
 *                  than --max-request-bytes)
 * The call is over: it is not cancelled from there.
 */
typedef void etcd_got_fn(void *arg, const struct etcd_got *got, const struct error *err);

struct etcd_call *etcd_get(struct etcd_client *c, const struct etcd_get *get, etcd_got_fn *done, void *arg) must_check;

/* All of it or nothing, deletions first. Etcd takes a key once: a put may not lie in what is deleted; and 128 of
 * each (--max-txn-ops). */
struct etcd_compare {
    const char *key;
    int64_t mod_revision; /* that it has; 0: it does not exist */
};
struct etcd_put {
    const char *key;
    const char *value;
    size_t value_len;
    int64_t lease; /* 0: none */
};
struct etcd_delete {
    const char *key;
    bool prefix;
};
struct etcd_txn {
    const struct etcd_compare *compares;
    size_t compare_count;
    const struct etcd_put *puts;
    size_t put_count;
    const struct etcd_delete *deletes;
    size_t delete_count;
};
/* succeeded: every compare was true. It is sent a second time only where it was certainly not carried out before: an
 * error of another kind than ERROR_AUTH and ERROR_GONE leaves open whether it was. A connection of its own is made
 * for each. */
typedef void etcd_txn_fn(void *arg, bool succeeded, int64_t revision, const struct error *err);
struct etcd_call *etcd_txn(struct etcd_client *c, const struct etcd_txn *txn, etcd_txn_fn *done, void *arg) must_check;

/* id 0 with err set. ttl_s is what etcd grants or has left; of a lease that is gone: 0, without an error. */
typedef void etcd_lease_fn(void *arg, int64_t id, int64_t ttl_s, const struct error *err);
struct etcd_call *etcd_lease_grant(struct etcd_client *c, int64_t ttl_s, etcd_lease_fn *done, void *arg) must_check;
struct etcd_call *etcd_lease_keep_alive(struct etcd_client *c, int64_t id, etcd_lease_fn *done, void *arg) must_check;

/* Nothing is called back. NULL is allowed. What was sent may be carried out. */
void etcd_call_cancel(struct etcd_call *call);

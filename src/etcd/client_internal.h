/* What watch.c uses of client.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "etcd/client.h"
#include "etcd/refusal.h"
#include "host/timer.h"
#include "net/http.h"

/* A member that has no leader refuses at once, and ends its streams, instead of letting each wait for its end
 * (etcd's own clients ask for it: clientv3.WithRequireLeader; the gateway hands on what has this beginning). */
#define ETCD_REQUIRE_LEADER "Grpc-Metadata-Hasleader: true"

/* What waits for a token. came, once: there is one, or, by err, none can be had; it may start a request. */
struct etcd_token_wait {
    LIST_ENTRY(etcd_token_wait) entry;
    bool waits;
    void (*came)(void *arg, const struct error *err);
    void *arg;
};

struct etcd_client {
    struct http *http;
    const struct log *log;
    struct http_endpoint *endpoints;
    size_t endpoint_count;
    size_t current;        /* is asked first: that answered last, or the one behind it since it did not */
    char *user, *password; /* NULL: none */
    uint64_t timeout_ms;
    LIST_HEAD(etcd_calls, etcd_call) calls;

    /* who this is to etcd */
    char *token;           /* NULL: none */
    unsigned token_number; /* of tokens so far */
    bool auth_off;         /* etcd says that it wants none */
    bool auth_off_logged;
    struct etcd_call *authenticating; /* NULL: it is not under way */
    LIST_HEAD(etcd_token_waits, etcd_token_wait) token_waits;
};

/* That endpoint answered, or did not. */
void etcd_client_answered(struct etcd_client *c, size_t endpoint);
void etcd_client_failed(struct etcd_client *c, size_t endpoint);

/* True: a request may go out, with etcd_token_header. False: the token is fetched first, and w waits for it. */
bool etcd_token_ready(struct etcd_client *c, struct etcd_token_wait *w) must_check;
void etcd_token_wait_end(struct etcd_token_wait *w);             /* also of what does not wait */
char *etcd_token_header(const struct etcd_client *c) must_check; /* a secret; NULL: none */
/* Refused it was, that token number: another one is fetched for the next request. False: there is no user to fetch
 * one for. */
bool etcd_token_refused(struct etcd_client *c, unsigned number);

/* What to do about a connection that was not made, behind what http says of it. */
void etcd_explain_transport(const struct http_endpoint *e, const struct http_response *r, struct error *err);

/* The newest change at or below the key, as that endpoint says in agreement with the cluster: a get of one key or none,
 * without its value. */
struct etcd_call *etcd_newest(struct etcd_client *c, size_t endpoint, const char *key, bool prefix, etcd_got_fn *done,
                              void *arg) must_check;

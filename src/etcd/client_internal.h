/* Shared by client.c (what callers ask), call.c (one request, from endpoint to endpoint), token.c and watch.c only. */
#ifndef ETCD_CLIENT_INTERNAL_H
#define ETCD_CLIENT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "etcd/client.h"
#include "etcd/refusal.h"
#include "host/timer.h"
#include "net/http.h"

struct etcd_watch;

/* A member that has no leader refuses at once, and ends its streams, instead of letting each wait for its end
 * (etcd's own clients ask for it: clientv3.WithRequireLeader; the gateway hands on what has this beginning). */
#define ETCD_REQUIRE_LEADER "Grpc-Metadata-Hasleader: true"

struct etcd_client {
    struct http *http;
    const struct log *log;
    struct http_endpoint *endpoints;
    size_t endpoint_count;
    size_t current;        /* is asked first: that answered last, or the one behind it since it did not */
    const char *answered;  /* the URL of that; NULL: none yet */
    char *user, *password; /* NULL: none */
    uint64_t timeout_ms;
    LIST_HEAD(etcd_calls, etcd_call) calls;
    LIST_HEAD(etcd_watches, etcd_watch) watches;

    /* token.c */
    char *token;           /* NULL: none */
    unsigned token_number; /* of tokens so far */
    bool auth_off;         /* etcd says that it wants none */
    bool auth_off_logged;
    struct etcd_call *authenticating; /* NULL: it is not under way */
};

enum etcd_answer { ETCD_GOT, ETCD_TXN, ETCD_GRANT, ETCD_KEEP_ALIVE, ETCD_REVOKE, ETCD_TOKEN };

/* What a call asks. */
struct etcd_call_kind {
    enum etcd_answer answer;
    const char *path;
    bool once;          /* carried out twice is not as once: no second try where that is possible */
    bool gone_is_ended; /* a lease that is gone is an answer, not an error */
    bool without_token;
    bool stream; /* the answer is a line of one: an error may stand in it, too */
};

struct etcd_call {
    LIST_ENTRY(etcd_call) entry;
    struct etcd_client *client;
    const struct etcd_call_kind *kind;
    char *body;  /* may be a secret */
    char *about; /* for messages: which keys; NULL: none */
    void *arg;
    union {
        etcd_got_fn *got;
        etcd_txn_fn *txn;
        etcd_lease_fn *lease;
    } done;
    union {
        struct etcd_got got;
        struct {
            bool succeeded;
            int64_t revision;
        } txn;
        struct {
            int64_t id, ttl_s;
        } lease;
        char *token;
    } result;

    /* call.c */
    struct http_request *request;
    struct timer timer; /* what comes next: the first try, the next one, or no token in time */
    uint64_t deadline_ms;
    size_t first, tried; /* which endpoint was the first, and how many of them were asked since */
    bool only_one;       /* that one alone is asked */
    bool passing;        /* what was wrong with one of them may be over in a moment */
    bool renewed_token;
    bool waits_for_token;
    bool without_hope;     /* no token came: why */
    unsigned token_number; /* with which it was sent */
    struct error why;      /* not, by the endpoint that was asked last but for those that only were not there */
    struct buf tries;      /* what each of them said */
};

/* Takes over what is needed of its answer; -1: what came is no such answer. */
int etcd_call_read(struct etcd_call *call, const char *body, size_t len, struct error *err) must_check;
/* Reports it to who asked; err NULL: it was read. */
void etcd_call_report(struct etcd_call *call, const struct error *err);

struct etcd_call *etcd_call_new(struct etcd_client *c, const struct etcd_call_kind *kind, char *body,
                                void *arg) must_check;
void etcd_call_free(struct etcd_call *call);
/* That endpoint answered, or did not. */
void etcd_client_answered(struct etcd_client *c, size_t endpoint);
void etcd_client_failed(struct etcd_client *c, size_t endpoint);

/* The last thing that touches it. */
void etcd_call_end(struct etcd_call *call, const struct error *err);
/* There is a token now, or none is needed; or why there is none. */
void etcd_call_token_came(struct etcd_call *call, const struct error *err);

/* True: a request may go out, with etcd_token_header. False: the token is fetched first. */
bool etcd_token_ready(struct etcd_client *c) must_check;
char *etcd_token_header(const struct etcd_client *c) must_check; /* a secret; NULL: none */
/* Etcd knows no users: requests go without a token. */
void etcd_token_unwanted(struct etcd_client *c);
/* Refused it was, that token number: another one is fetched for the next request. False: there is no user to fetch
 * one for. */
bool etcd_token_refused(struct etcd_client *c, unsigned number);

/* What to do about a connection that was not made, behind what http says of it. */
void etcd_explain_transport(const struct http_endpoint *e, const struct http_response *r, struct error *err);

/* The newest change at or below the key, as that endpoint says in agreement with the cluster: a get of one key or none,
 * without its value. */
struct etcd_call *etcd_newest(struct etcd_client *c, size_t endpoint, const char *key, bool prefix, etcd_got_fn *done,
                              void *arg) must_check;

/* watch.c */
void etcd_watches_token_came(struct etcd_client *c, const struct error *err);
void etcd_watches_end(struct etcd_client *c); /* it goes: they stay stopped */

#endif

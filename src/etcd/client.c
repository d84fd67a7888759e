#include "etcd/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "etcd/client_internal.h"
#include "etcd/codec.h"

#define TIMEOUT_MS 10000

/* ---- life ---- */

struct etcd_client *etcd_client_new(struct http *http, const struct etcd_client_options *options, struct error *err)
{
    if (options->endpoint_count == 0) {
        error_set(err, ERROR_FATAL, "etcd: no endpoint is given");
        return NULL;
    }
    struct etcd_client *c = mem_alloc(sizeof(*c));
    c->http = http;
    c->log = options->log;
    c->endpoint_count = options->endpoint_count;
    c->endpoints = mem_array(c->endpoint_count, sizeof(c->endpoints[0]));
    for (size_t i = 0; i < c->endpoint_count; i++) {
        c->endpoints[i].base_url = mem_strdup(options->endpoints[i]);
        c->endpoints[i].tls = options->tls;
    }
    c->user = mem_strdup(options->user);
    c->password = mem_strdup(options->password);
    c->timeout_ms = options->timeout_ms != 0 ? options->timeout_ms : TIMEOUT_MS;
    LIST_INIT(&c->calls);
    LIST_INIT(&c->watches);
    return c;
}

void etcd_client_free(struct etcd_client *c)
{
    if (c == NULL)
        return;
    etcd_watches_end(c);
    while (!LIST_EMPTY(&c->calls))
        etcd_call_free(LIST_FIRST(&c->calls));
    for (size_t i = 0; i < c->endpoint_count; i++)
        http_endpoint_fini(&c->endpoints[i]);
    free(c->endpoints);
    free(c->user);
    mem_wipe_free(c->password);
    mem_wipe_free(c->token);
    free(c);
}

void etcd_client_set_password(struct etcd_client *c, const char *password)
{
    mem_wipe_free(c->password);
    c->password = mem_strdup(password);
}

const char *etcd_client_endpoint(const struct etcd_client *c)
{
    return c->answered != NULL ? c->answered : "";
}

void etcd_client_answered(struct etcd_client *c, size_t endpoint)
{
    c->current = endpoint;
    c->answered = c->endpoints[endpoint].base_url;
}

void etcd_client_failed(struct etcd_client *c, size_t endpoint)
{
    if (c->current == endpoint)
        c->current = (endpoint + 1) % c->endpoint_count;
}

void etcd_call_cancel(struct etcd_call *call)
{
    if (call != NULL)
        etcd_call_free(call);
}

/* ---- answers ---- */

int etcd_call_read(struct etcd_call *call, const char *body, size_t len, struct error *err)
{
    bool unused;
    int64_t revision;
    switch (call->kind->answer) {
    case ETCD_GOT:
        return etcd_codec_read_got(body, len, &call->result.got, err);
    case ETCD_TXN:
        return etcd_codec_read_txn(body, len, &call->result.txn.succeeded, &call->result.txn.revision, err);
    case ETCD_GRANT:
        return etcd_codec_read_grant(body, len, &call->result.lease.id, &call->result.lease.ttl_s, err);
    case ETCD_KEEP_ALIVE:
        return etcd_codec_read_keep_alive(body, len, &call->result.lease.ttl_s, err);
    case ETCD_REVOKE: /* nothing in it is of use */
        return etcd_codec_read_txn(body, len, &unused, &revision, err);
    case ETCD_TOKEN:
        break;
    }
    return etcd_codec_read_token(body, len, &call->result.token, err);
}

static void token_came(struct etcd_call *call, const struct error *err)
{
    struct etcd_client *c = call->client;
    c->authenticating = NULL;
    c->token_number++;
    if (err == NULL)
        c->token = call->result.token;
    struct etcd_call *each;
    LIST_FOREACH (each, &c->calls, entry)
        etcd_call_token_came(each, err);
    etcd_watches_token_came(c, err);
}

void etcd_call_report(struct etcd_call *call, const struct error *err)
{
    bool good = err == NULL;
    switch (call->kind->answer) {
    case ETCD_GOT:
        call->done.got(call->arg, good ? &call->result.got : NULL, err);
        if (good)
            etcd_got_fini(&call->result.got);
        break;
    case ETCD_TXN:
        call->done.txn(call->arg, good && call->result.txn.succeeded, good ? call->result.txn.revision : 0, err);
        break;
    case ETCD_GRANT:
    case ETCD_KEEP_ALIVE:
    case ETCD_REVOKE:
        call->done.lease(call->arg, good ? call->result.lease.id : 0, good ? call->result.lease.ttl_s : 0, err);
        break;
    case ETCD_TOKEN:
        token_came(call, err);
        break;
    }
}

/* ---- reading ---- */

struct etcd_call *etcd_get(struct etcd_client *c, const struct etcd_get *get, etcd_got_fn *done, void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_GOT, .path = "/v3/kv/range"};
    struct etcd_call *call = etcd_call_new(c, &kind, etcd_codec_get(get), arg);
    call->done.got = done;
    call->about = mem_printf("%s \"%s\"", get->prefix ? "the keys that begin with" : "the key", get->key);
    return call;
}

struct etcd_call *etcd_newest(struct etcd_client *c, size_t endpoint, const char *key, bool prefix, etcd_got_fn *done,
                              void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_GOT, .path = "/v3/kv/range"};
    struct etcd_call *call = etcd_call_new(c, &kind, etcd_codec_newest(key, prefix), arg);
    call->first = endpoint;
    call->only_one = true;
    call->done.got = done;
    return call;
}

/* ---- writing ---- */

/* Etcd does not say which of them it was. */
static char *keys_of(const struct etcd_txn *txn)
{
    struct text_list keys = {.between = ", ", .max = 3};
    for (size_t i = 0; i < txn->compare_count; i++)
        if (text_list_next(&keys))
            buf_printf(&keys.text, "\"%s\"", txn->compares[i].key);
    for (size_t i = 0; i < txn->put_count; i++)
        if (text_list_next(&keys))
            buf_printf(&keys.text, "\"%s\"", txn->puts[i].key);
    for (size_t i = 0; i < txn->delete_count; i++)
        if (text_list_next(&keys))
            buf_printf(&keys.text, "\"%s\"%s", txn->deletes[i].key,
                       txn->deletes[i].prefix ? " and what begins so" : "");
    return text_list_take(&keys);
}

struct etcd_call *etcd_txn(struct etcd_client *c, const struct etcd_txn *txn, etcd_txn_fn *done, void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_TXN, .path = "/v3/kv/txn", .once = true};
    struct etcd_call *call = etcd_call_new(c, &kind, etcd_codec_txn(txn), arg);
    call->done.txn = done;
    cleanup(mem_free_ptr) char *keys = keys_of(txn);
    call->about = mem_printf("one of the keys %s", keys != NULL ? keys : "");
    return call;
}

/* ---- leases ---- */

static struct etcd_call *lease_call(struct etcd_client *c, const struct etcd_call_kind *kind, char *body, int64_t id,
                                    etcd_lease_fn *done, void *arg)
{
    struct etcd_call *call = etcd_call_new(c, kind, body, arg);
    call->done.lease = done;
    call->result.lease.id = id;
    return call;
}

/* A grant whose answer was lost left a lease that nobody keeps: it ends by itself. */
struct etcd_call *etcd_lease_grant(struct etcd_client *c, int64_t ttl_s, etcd_lease_fn *done, void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_GRANT, .path = "/v3/lease/grant"};
    return lease_call(c, &kind, etcd_codec_grant(ttl_s), 0, done, arg);
}

struct etcd_call *etcd_lease_keep_alive(struct etcd_client *c, int64_t id, etcd_lease_fn *done, void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_KEEP_ALIVE, .path = "/v3/lease/keepalive", .gone_is_ended = true,
                                               .stream = true};
    return lease_call(c, &kind, etcd_codec_lease(id), id, done, arg);
}

struct etcd_call *etcd_lease_revoke(struct etcd_client *c, int64_t id, etcd_lease_fn *done, void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_REVOKE, .path = "/v3/lease/revoke", .gone_is_ended = true};
    return lease_call(c, &kind, etcd_codec_lease(id), id, done, arg);
}

/* ---- who this is to etcd ---- */

/* The token of a user is fetched before the first request and when etcd knows it no more (a simple token ends five
 * minutes after its last use, and with the member that made it). */
bool etcd_token_ready(struct etcd_client *c)
{
    static const struct etcd_call_kind kind = {ETCD_TOKEN, .path = "/v3/auth/authenticate", .without_token = true};
    if (c->user == NULL || c->token != NULL || c->auth_off)
        return true;
    if (c->authenticating == NULL)
        c->authenticating =
            etcd_call_new(c, &kind, etcd_codec_authenticate(c->user, c->password != NULL ? c->password : ""), NULL);
    return false;
}

char *etcd_token_header(const struct etcd_client *c)
{
    return c->token != NULL ? mem_join("Authorization: ", c->token) : NULL;
}

void etcd_token_unwanted(struct etcd_client *c)
{
    c->auth_off = true;
    if (!c->auth_off_logged)
        log_warn(c->log, "etcd has no authentication enabled; the user is not used", log_str("user", c->user));
    c->auth_off_logged = true;
}

bool etcd_token_refused(struct etcd_client *c, unsigned number)
{
    if (c->user == NULL)
        return false;
    if (c->token_number == number) {
        mem_wipe_free(c->token);
        c->token = NULL;
        c->auth_off = false;
    }
    return true;
}

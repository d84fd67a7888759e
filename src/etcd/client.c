#include "etcd/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "etcd/client_internal.h"
#include "etcd/codec.h"

#define TIMEOUT_MS 10000
#define ANSWER_MAX_BYTES (64u << 20)
#define TRY_LEAST_MS 500
#define PAUSE_MS 250 /* until all endpoints are asked again, where a leader is being elected */
#define SAID_BYTES 480
#define EXCERPT_BYTES 200

enum etcd_answer { ETCD_GOT, ETCD_TXN, ETCD_GRANT, ETCD_KEEP_ALIVE, ETCD_TOKEN };

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

    /* from endpoint to endpoint */
    struct http_request *request;
    struct timer timer; /* what comes next: the first try, the next one, or no token in time */
    uint64_t deadline_ms;
    size_t first, tried; /* which endpoint was the first, and how many of them were asked since */
    bool only_one;       /* that one alone is asked */
    bool passing;        /* what was wrong with one of them may be over in a moment */
    bool renewed_token;
    bool without_hope; /* no token came: why */
    struct etcd_token_wait token;
    unsigned token_number; /* with which it was sent */
    struct error why;      /* not, by the endpoint that was asked last but for those that only were not there */
    struct buf tries;      /* what each of them said */
};

static struct etcd_call *call_new(struct etcd_client *c, const struct etcd_call_kind *kind, char *body, void *arg);
static void call_token_came(void *arg, const struct error *err);
static void next_try(void *arg);

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
    LIST_INIT(&c->token_waits);
    return c;
}

void etcd_client_free(struct etcd_client *c)
{
    if (c == NULL)
        return;
    for (struct etcd_call *call = LIST_FIRST(&c->calls), *next; call != NULL; call = next) {
        next = LIST_NEXT(call, entry);
        etcd_call_cancel(call);
    }
    for (size_t i = 0; i < c->endpoint_count; i++)
        http_endpoint_fini(&c->endpoints[i]);
    mem_free_all(c->endpoints, c->user);
    mem_wipe_free(c->password);
    mem_wipe_free(c->token);
    free(c);
}

void etcd_client_set_password(struct etcd_client *c, const char *password)
{
    mem_wipe_free(c->password);
    c->password = mem_strdup(password);
}

void etcd_client_answered(struct etcd_client *c, size_t endpoint)
{
    c->current = endpoint;
}

void etcd_client_failed(struct etcd_client *c, size_t endpoint)
{
    if (c->current == endpoint)
        c->current = (endpoint + 1) % c->endpoint_count;
}

/* ---- who this is to etcd ---- */

void etcd_token_wait_end(struct etcd_token_wait *w)
{
    if (w->waits)
        LIST_REMOVE(w, entry);
    w->waits = false;
}

/* The token of a user is fetched before the first request and when etcd knows it no more (a simple token ends five
 * minutes after its last use, and with the member that made it). */
bool etcd_token_ready(struct etcd_client *c, struct etcd_token_wait *w)
{
    static const struct etcd_call_kind kind = {ETCD_TOKEN, .path = "/v3/auth/authenticate", .without_token = true};
    etcd_token_wait_end(w);
    if (c->user == NULL || c->token != NULL || c->auth_off)
        return true;
    if (c->authenticating == NULL)
        c->authenticating =
            call_new(c, &kind, etcd_codec_authenticate(c->user, c->password != NULL ? c->password : ""), NULL);
    w->waits = true;
    LIST_INSERT_HEAD(&c->token_waits, w, entry);
    return false;
}

char *etcd_token_header(const struct etcd_client *c)
{
    return c->token != NULL ? mem_join("Authorization: ", c->token) : NULL;
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

/* ---- answers ---- */

/* Takes over what is needed of its answer; -1: what came is no such answer. */
static int call_read(struct etcd_call *call, const char *body, size_t len, struct error *err)
{
    switch (call->kind->answer) {
    case ETCD_GOT:
        return etcd_codec_read_got(body, len, &call->result.got, err);
    case ETCD_TXN:
        return etcd_codec_read_txn(body, len, &call->result.txn.succeeded, &call->result.txn.revision, err);
    case ETCD_GRANT:
        return etcd_codec_read_grant(body, len, &call->result.lease.id, &call->result.lease.ttl_s, err);
    case ETCD_KEEP_ALIVE:
        return etcd_codec_read_keep_alive(body, len, &call->result.lease.ttl_s, err);
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
    for (struct etcd_token_wait *w; (w = LIST_FIRST(&c->token_waits)) != NULL;) {
        etcd_token_wait_end(w);
        w->came(w->arg, err);
    }
}

/* Reports it to the caller; err NULL: it was read. */
static void call_report(struct etcd_call *call, const struct error *err)
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
        call->done.lease(call->arg, good ? call->result.lease.id : 0, good ? call->result.lease.ttl_s : 0, err);
        break;
    case ETCD_TOKEN:
        token_came(call, err);
        break;
    }
}

/* ---- one call, from endpoint to endpoint until one of them answers, within its time ---- */

static struct etcd_call *call_new(struct etcd_client *c, const struct etcd_call_kind *kind, char *body, void *arg)
{
    struct etcd_call *call = mem_alloc(sizeof(*call));
    call->client = c;
    call->kind = kind;
    call->body = body;
    call->arg = arg;
    call->first = c->current;
    call->deadline_ms = clock_mono_ms() + c->timeout_ms;
    LIST_INSERT_HEAD(&c->calls, call, entry);
    call->token = (struct etcd_token_wait){.came = call_token_came, .arg = call};
    timer_init(&call->timer, http_base(c->http), next_try, call);
    timer_set(&call->timer, 0);
    return call;
}

static void free_parts(struct etcd_call *call)
{
    etcd_token_wait_end(&call->token);
    timer_fini(&call->timer);
    mem_wipe_free(call->body);
    free(call->about);
    buf_fini(&call->tries);
    free(call);
}

void etcd_call_cancel(struct etcd_call *call)
{
    if (call == NULL)
        return;
    if (call->client->authenticating == call)
        call->client->authenticating = NULL;
    LIST_REMOVE(call, entry);
    http_cancel(call->request);
    free_parts(call);
}

/* The callback may do anything with the client, so that the call is none of its calls any more. */
static void call_end(struct etcd_call *call, const struct error *err)
{
    LIST_REMOVE(call, entry);
    timer_cancel(&call->timer);
    call_report(call, err);
    free_parts(call);
}

/* ---- the end of a try ---- */

void etcd_explain_transport(const struct http_endpoint *e, const struct http_response *r, struct error *err)
{
    struct http_connection connection = http_response_connection(r);
    bool tls = str_has_prefix(e->base_url, "https:"), has_cert = e->tls != NULL && e->tls->cert_pem != NULL;
    struct error why = *err;
    if (connection.verify != 0)
        error_set(err, why.kind, "%s; ETCD_CA_FILE names the CA of its certificate", why.message);
    else if (tls && !has_cert && connection.reached >= HTTP_REACHED_PEER && why.kind == ERROR_RETRY && r->status == 0)
        error_set(err, why.kind, "%s; where etcd asks for a client certificate, ETCD_CERT_FILE names it", why.message);
}

static size_t index_of(const struct etcd_call *call)
{
    return (call->first + call->tried) % call->client->endpoint_count;
}

static const struct http_endpoint *endpoint_of(const struct etcd_call *call)
{
    return &call->client->endpoints[index_of(call)];
}

static size_t endpoints_of(const struct etcd_call *call)
{
    return call->only_one ? 1 : call->client->endpoint_count;
}

static void end_as_written(struct etcd_call *call, struct error *why)
{
    error_prefix(why, "etcd");
    call_end(call, why);
}

/* All were asked. */
static void end_without_answer(struct etcd_call *call)
{
    struct error err = {0};
    if (endpoints_of(call) == 1) {
        err = call->why;
        end_as_written(call, &err);
        return;
    }
    error_set(&err, call->why.kind, "no endpoint answers: %s", buf_str(&call->tries));
    end_as_written(call, &err);
}

/* What may be over another time beats what one of them said for good. */
static void note_try(struct etcd_call *call, const struct error *why)
{
    if (call->tries.len > 0)
        buf_add(&call->tries, "; ");
    text_add(&call->tries, why->message, TEXT_MESSAGE, SAID_BYTES);
    if (call->why.kind != ERROR_RETRY)
        call->why = *why;
}

/* Nothing of it was carried out, or twice is as once. */
static void try_elsewhere(struct etcd_call *call, const struct error *why)
{
    etcd_client_failed(call->client, index_of(call));
    log_debug(call->client->log, "request to an etcd endpoint failed", log_str("error", why->message));
    note_try(call, why);
    /* The next endpoint; or, behind the last one, all of them again where that may be of use. */
    uint64_t now = clock_mono_ms();
    call->tried++;
    if (call->tried < endpoints_of(call) && now < call->deadline_ms) {
        timer_set(&call->timer, 0);
    } else if (call->passing && now + PAUSE_MS + TRY_LEAST_MS < call->deadline_ms) {
        call->tried = 0;
        call->passing = false;
        error_clear(&call->why);
        buf_clear(&call->tries);
        timer_set(&call->timer, PAUSE_MS);
    } else {
        end_without_answer(call);
    }
}

static void end_unsure(struct etcd_call *call, const struct error *why)
{
    struct error err = {0};
    etcd_client_failed(call->client, index_of(call));
    error_set(&err, why->kind, "%s (it may have been carried out)", why->message);
    end_as_written(call, &err);
}

/* ---- answers ---- */

/* What is no refusal to the caller. */
static bool is_settled(struct etcd_call *call, const struct etcd_refusal *r)
{
    struct etcd_client *c = call->client;
    bool token = r->kind == ETCD_REFUSED_TOKEN || r->kind == ETCD_REFUSED_NO_USER;
    if (r->kind == ETCD_REFUSED_NO_LEASE && call->kind->gone_is_ended) {
        call->result.lease.ttl_s = 0;
        call_end(call, NULL);
    } else if (r->kind == ETCD_REFUSED_AUTH_OFF && call->kind->without_token) {
        if (!c->auth_off_logged)
            log_warn(c->log, "etcd has no authentication enabled; the user is not used", log_str("user", c->user));
        c->auth_off = c->auth_off_logged = true;
        call_end(call, NULL);
    } else if (token && !call->kind->without_token && !call->renewed_token &&
               etcd_token_refused(c, call->token_number)) {
        call->renewed_token = true;
        timer_set(&call->timer, 0); /* the same endpoint */
    } else {
        return false;
    }
    return true;
}

static void on_refused(struct etcd_call *call, int status, const struct etcd_refusal *r)
{
    struct error err = {0};
    bool unknown = r->kind == ETCD_REFUSED_UNKNOWN, not_now = r->kind == ETCD_REFUSED_NOT_NOW;
    bool trouble = r->kind == ETCD_REFUSED_UNSURE || r->kind == ETCD_REFUSED_GATEWAY;
    bool unsure = trouble || (unknown && status < 300);
    if (!unknown && !not_now && !trouble)
        etcd_client_answered(call->client, index_of(call));
    if (is_settled(call, r))
        return;
    etcd_refusal_explain(r, status, call->client->user, call->about, &err);
    error_prefix(&err, "POST %s%s", endpoint_of(call)->base_url, call->kind->path);
    call->passing = call->passing || trouble || not_now;
    if (unsure && call->kind->once)
        end_unsure(call, &err);
    else if (trouble || not_now || unknown)
        try_elsewhere(call, &err);
    else
        end_as_written(call, &err);
}

static void on_good(struct etcd_call *call, const struct http_response *r)
{
    struct etcd_refusal refusal;
    struct error err = {0};
    const char *body = buf_str(r->body);
    if (call->kind->stream && etcd_refusal_in_stream(body, r->body->len, &refusal)) {
        on_refused(call, r->status, &refusal);
    } else if (call_read(call, body, r->body->len, &err) == 0) {
        etcd_client_answered(call->client, index_of(call));
        call_end(call, NULL);
    } else {
        cleanup(mem_free_ptr) char *excerpt = text_shown(body, TEXT_LINE, EXCERPT_BYTES);
        struct error whole = {0};
        error_set(&whole, ERROR_INVALID, "POST %s%s: %s; is this etcd? It answered: %s", endpoint_of(call)->base_url,
                  call->kind->path, err.message, excerpt);
        if (call->kind->once)
            end_unsure(call, &whole);
        else
            try_elsewhere(call, &whole);
    }
}

static void call_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct etcd_call *call = arg;
    struct etcd_refusal refusal;
    call->request = NULL;
    if (err != NULL) {
        struct error why = *err;
        etcd_explain_transport(endpoint_of(call), r, &why);
        if (call->kind->once && r->progress != HTTP_NOT_SENT)
            end_unsure(call, &why);
        else if (why.kind == ERROR_INVALID && r->status == 200)
            end_as_written(call, &why); /* over the cap: it would be elsewhere */
        else
            try_elsewhere(call, &why);
    } else if (r->status == 200) {
        on_good(call, r);
    } else {
        etcd_refusal_read(r->status, buf_str(r->body), r->body->len, &refusal);
        on_refused(call, r->status, &refusal);
    }
}

/* ---- a try ---- */

static int start_try(struct etcd_call *call, uint64_t left, struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = call_on_done};
    struct etcd_client *c = call->client;
    char *headers[2] = {call->kind->without_token ? NULL : etcd_token_header(c), NULL};
    struct http_request_options o = {
        .method = "POST",
        .path = call->kind->path,
        .content_type = "application/json",
        .body = call->body,
        .body_len = strlen(call->body),
        .header = ETCD_REQUIRE_LEADER,
        .headers = headers,
        .max_body_bytes = ANSWER_MAX_BYTES,
        /* On one that was kept libcurl would send it a second time where that turned out dead. */
        .new_connection = call->kind->once};
    /* An endpoint that says nothing takes half of what is left, the last one all; a write that was sent waits for its
     * answer. */
    bool last = call->tried + 1 >= endpoints_of(call);
    uint64_t half = left / 2 > TRY_LEAST_MS ? left / 2 : TRY_LEAST_MS, share = last ? left : half;
    o.connect_timeout_ms = share < left ? share : left;
    o.total_timeout_ms = call->kind->once ? left : o.connect_timeout_ms;
    call->token_number = c->token_number;
    call->request = http_start(c->http, endpoint_of(call), &o, &callbacks, call, err);
    mem_wipe_free(headers[0]);
    return call->request != NULL ? 0 : -1;
}

static void next_try(void *arg)
{
    struct etcd_call *call = arg;
    struct error err = {0};
    uint64_t now = clock_mono_ms();
    if (call->without_hope) {
        err = call->why;
        call_end(call, &err);
        return;
    }
    if (now >= call->deadline_ms) {
        if (call->why.kind == ERROR_NONE)
            error_set(&call->why, ERROR_RETRY, "POST %s%s: no time is left", endpoint_of(call)->base_url,
                      call->kind->path);
        note_try(call, &call->why);
        end_without_answer(call);
        return;
    }
    if (!call->kind->without_token && !etcd_token_ready(call->client, &call->token))
        timer_set(&call->timer, call->deadline_ms - now);
    else if (start_try(call, call->deadline_ms - now, &err) != 0)
        try_elsewhere(call, &err);
}

/* Reported in a turn of the loop of its own: a callback may do anything with the other calls. */
static void call_token_came(void *arg, const struct error *err)
{
    struct etcd_call *call = arg;
    call->without_hope = err != NULL;
    if (err != NULL)
        call->why = *err;
    timer_set(&call->timer, 0);
}

/* ---- reading ---- */

struct etcd_call *etcd_get(struct etcd_client *c, const struct etcd_get *get, etcd_got_fn *done, void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_GOT, .path = "/v3/kv/range"};
    struct etcd_call *call = call_new(c, &kind, etcd_codec_get(get), arg);
    call->done.got = done;
    call->about = mem_printf("%s \"%s\"", get->prefix ? "the keys that begin with" : "the key", get->key);
    return call;
}

struct etcd_call *etcd_newest(struct etcd_client *c, size_t endpoint, const char *key, bool prefix, etcd_got_fn *done,
                              void *arg)
{
    static const struct etcd_call_kind kind = {ETCD_GOT, .path = "/v3/kv/range"};
    struct etcd_call *call = call_new(c, &kind, etcd_codec_newest(key, prefix), arg);
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
    struct etcd_call *call = call_new(c, &kind, etcd_codec_txn(txn), arg);
    call->done.txn = done;
    cleanup(mem_free_ptr) char *keys = keys_of(txn);
    call->about = mem_printf("one of the keys %s", keys != NULL ? keys : "");
    return call;
}

/* ---- leases ---- */

static struct etcd_call *lease_call(struct etcd_client *c, const struct etcd_call_kind *kind, char *body, int64_t id,
                                    etcd_lease_fn *done, void *arg)
{
    struct etcd_call *call = call_new(c, kind, body, arg);
    call->done.lease = done;
    call->result.lease.id = id;
    return call;
}

/* A grant whose answer was lost left a lease that is not kept alive: it ends by itself. */
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

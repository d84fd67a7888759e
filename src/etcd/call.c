/* One call, from endpoint to endpoint until one of them answers, within its time. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "etcd/client_internal.h"

#define ANSWER_MAX_BYTES (64u << 20)
#define TRY_LEAST_MS 500
#define PAUSE_MS 250 /* until all endpoints are asked again, where a leader is being elected */
#define SAID_BYTES 480
#define EXCERPT_BYTES 200

static void next_try(void *arg);

/* ---- life ---- */

struct etcd_call *etcd_call_new(struct etcd_client *c, const struct etcd_call_kind *kind, char *body, void *arg)
{
    struct etcd_call *call = mem_alloc(sizeof(*call));
    call->client = c;
    call->kind = kind;
    call->body = body;
    call->arg = arg;
    call->first = c->current;
    call->deadline_ms = clock_mono_ms() + c->timeout_ms;
    LIST_INSERT_HEAD(&c->calls, call, entry);
    timer_init(&call->timer, http_base(c->http), next_try, call);
    timer_set(&call->timer, 0);
    return call;
}

static void free_parts(struct etcd_call *call)
{
    timer_fini(&call->timer);
    mem_wipe_free(call->body);
    free(call->about);
    buf_fini(&call->tries);
    free(call);
}

void etcd_call_free(struct etcd_call *call)
{
    if (call->client->authenticating == call)
        call->client->authenticating = NULL;
    LIST_REMOVE(call, entry);
    http_cancel(call->request);
    free_parts(call);
}

/* Who is told may do anything with the client, so that the call is none of its calls any more. */
void etcd_call_end(struct etcd_call *call, const struct error *err)
{
    LIST_REMOVE(call, entry);
    timer_cancel(&call->timer);
    etcd_call_report(call, err);
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
    etcd_call_end(call, why);
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

/* What is no refusal to who asked. */
static bool is_settled(struct etcd_call *call, const struct etcd_refusal *r)
{
    bool token = r->kind == ETCD_REFUSED_TOKEN || r->kind == ETCD_REFUSED_NO_USER;
    if (r->kind == ETCD_REFUSED_NO_LEASE && call->kind->gone_is_ended) {
        call->result.lease.ttl_s = 0;
        etcd_call_end(call, NULL);
    } else if (r->kind == ETCD_REFUSED_AUTH_OFF && call->kind->without_token) {
        etcd_token_unwanted(call->client);
        etcd_call_end(call, NULL);
    } else if (token && !call->kind->without_token && !call->renewed_token &&
               etcd_token_refused(call->client, call->token_number)) {
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
    } else if (etcd_call_read(call, body, r->body->len, &err) == 0) {
        etcd_client_answered(call->client, index_of(call));
        etcd_call_end(call, NULL);
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
        etcd_call_end(call, &err);
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
    call->waits_for_token = !call->kind->without_token && !etcd_token_ready(call->client);
    if (call->waits_for_token)
        timer_set(&call->timer, call->deadline_ms - now);
    else if (start_try(call, call->deadline_ms - now, &err) != 0)
        try_elsewhere(call, &err);
}

/* Told in a turn of the loop of its own: who is told may do anything with the other calls. */
void etcd_call_token_came(struct etcd_call *call, const struct error *err)
{
    if (!call->waits_for_token)
        return;
    call->waits_for_token = false;
    call->without_hope = err != NULL;
    if (err != NULL)
        call->why = *err;
    timer_set(&call->timer, 0);
}

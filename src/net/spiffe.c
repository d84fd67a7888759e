#include "net/spiffe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "host/timer.h"
#include "net/grpc.h"
#include "net/spiffe_identity.h"

#define FETCH_PATH "/SpiffeWorkloadAPI/FetchX509SVID"
#define MESSAGE_MAX_BYTES (4u << 20) /* what gRPC takes by default */
#define CONNECT_TIMEOUT_MS 2000
#define MESSAGE_TIMEOUT_MS 5000 /* for the first one, and from the first byte of a later one to its last */
#define RETRY_BASE_MS 500
#define RETRY_MAX_MS 15000
#define RETRY_MIN_MS 100
#define TROUBLE_LOG_PERIOD_MS 300000
#define TIMER_MAX_MS (24u * 3600 * 1000)

/* A server whose ID was seen. */
struct peer {
    LIST_ENTRY(peer) entry;
    char *url, *id;
};

struct spiffe {
    struct spiffe_options options;
    struct http *http;
    struct http_endpoint endpoint;
    struct http_request *request; /* NULL: there is no stream */
    struct grpc_frames frames;
    struct error stream_error; /* why we ended it */
    struct timer retry, patience, expiry, news;
    struct backoff backoff;
    struct spiffe_identity *identity; /* NULL: none yet */
    struct http_spiffe verification;
    struct http_tls tls;
    bool settled;
    struct error problem; /* why the stream is down */
    struct log_limit trouble;
    LIST_HEAD(peers, peer) peers;
};

static int64_t now_s(void)
{
    return (int64_t)(clock_wall_ms() / 1000);
}

static bool expired(const struct spiffe *s)
{
    return s->identity->not_after_s <= now_s();
}

static void end_text(const struct spiffe_identity *i, char text[RFC3339_BYTES])
{
    rfc3339_format(i->not_after_s * 1000000, 0, text);
}

/* ---- the identity ---- */

static void settle(struct spiffe *s, bool news)
{
    if (!s->settled || news)
        timer_set(&s->news, 0);
    s->settled = true;
}

static void spiffe_on_news(void *arg)
{
    const struct spiffe *s = arg;
    if (s->options.news != NULL)
        s->options.news(s->options.arg);
}

static void await_expiry(struct spiffe *s)
{
    int64_t left_s = s->identity->not_after_s - now_s();
    timer_set(&s->expiry, left_s <= 0 ? 0 : left_s < TIMER_MAX_MS / 1000 ? (uint64_t)left_s * 1000 : TIMER_MAX_MS);
}

static void spiffe_use(struct spiffe *s, struct spiffe_identity *fresh)
{
    struct spiffe_identity *old = s->identity;
    bool news = old == NULL || expired(s);
    if (old != NULL && spiffe_identity_same(old, fresh)) {
        spiffe_identity_unref(fresh);
        return;
    }
    s->identity = s->verification.identity = fresh;
    s->tls.cert_pem = fresh->cert_pem;
    s->tls.key_pem = fresh->key_pem;
    s->tls.ca_pem = fresh->bundles_pem;
    const struct spiffe_identity *i = s->identity;
    char end[RFC3339_BYTES];
    end_text(i, end);
    bool svid = old != NULL && !str_eq(old->cert_pem, i->cert_pem);
    bool bundle = old != NULL && !str_eq(old->bundles_pem, i->bundles_pem);
    log_info(s->options.log,
             old == NULL ? "SPIFFE identity received" : "SPIFFE identity renewed; new connections use it",
             log_str("spiffe_id", i->id), log_str("expires", end), log_if(old != NULL, log_bool("svid_changed", svid)),
             log_if(old != NULL, log_bool("bundle_changed", bundle)));
    await_expiry(s);
    settle(s, news);
    spiffe_identity_unref(old);
}

/* ---- the stream ---- */

static int spiffe_on_message(void *arg, const char *message, size_t len, struct error *err)
{
    struct spiffe *s = arg;
    timer_cancel(&s->patience);
    struct spiffe_identity *fresh = spiffe_identity_parse(message, len, err);
    if (fresh == NULL)
        return -1;
    if (s->problem.kind != ERROR_NONE)
        log_info(s->options.log, "SPIFFE Workload API answers again", log_str("socket", s->options.socket));
    error_clear(&s->problem);
    log_limit_reset(&s->trouble);
    spiffe_use(s, fresh);
    if (!expired(s))
        backoff_reset(&s->backoff);
    return 0;
}

static int spiffe_on_data(void *arg, const char *bytes, size_t len)
{
    struct spiffe *s = arg;
    if (grpc_frames_feed(&s->frames, bytes, len, spiffe_on_message, s, &s->stream_error) != 0)
        return -1;
    if (s->frames.in.len > 0 && !timer_is_set(&s->patience))
        timer_set(&s->patience, MESSAGE_TIMEOUT_MS);
    return 0;
}

static void spiffe_failed(struct spiffe *s, const struct error *why)
{
    unsigned held_back;
    uint64_t wait_ms = backoff_next_ms(&s->backoff);
    s->problem = *why;
    if (log_limit_pass_message(&s->trouble, clock_mono_ms(), why->message, &held_back))
        log_warn(s->options.log,
                 s->identity != NULL ? "SPIFFE Workload API does not answer; keeping the identity"
                                     : "SPIFFE Workload API does not answer; waiting for an identity",
                 log_str("socket", s->options.socket), log_str("error", why->message),
                 log_if(held_back > 0, log_int("repeated", held_back)));
    timer_cancel(&s->patience);
    timer_set(&s->retry, wait_ms);
    settle(s, false);
}

/* An agent that has not renewed it in time, and says nothing, is asked anew. */
static void on_expiry(void *arg)
{
    struct spiffe *s = arg;
    struct error why = {0};
    if (!expired(s)) {
        await_expiry(s);
        return;
    }
    log_error(s->options.log, "X.509 SVID expired; nothing is sent to the Data Plane API until there is a new one",
              log_str("spiffe_id", s->identity->id), log_str("socket", s->options.socket),
              log_str("error", s->problem.kind != ERROR_NONE ? s->problem.message : NULL));
    if (s->request == NULL)
        return;
    http_cancel(s->request);
    s->request = NULL;
    error_set(&why, ERROR_RETRY, "the agent sent no other SVID before this one expired");
    spiffe_failed(s, &why);
}

/* What the agent says of the end is in its trailers, or, without a message, in its headers. */
static void explain_end(const struct spiffe *s, const struct http_response *r, struct error *err)
{
    const char *code = http_response_trailer(r, "grpc-status"), *text = http_response_trailer(r, "grpc-message");
    uint64_t status = GRPC_OK;
    if (code == NULL) {
        code = http_response_header(r, "grpc-status");
        text = http_response_header(r, "grpc-message");
    }
    if (r->status != 200)
        error_set(err, ERROR_RETRY, "HTTP %d from %s: is it the socket of a SPIFFE Workload API?", r->status,
                  s->options.socket);
    else if (code == NULL || str_parse_uint(code, UINT32_MAX, &status) != 0)
        error_set(err, ERROR_RETRY, "the agent ended the stream without a status");
    else if (status == GRPC_OK)
        error_set(err, ERROR_RETRY, "the agent ended the stream");
    else if (status == GRPC_PERMISSION_DENIED)
        error_set(err, ERROR_RETRY,
                  "PERMISSION_DENIED: no identity is registered for this process (%s): make a registration entry whose "
                  "selectors match it, its parent being this node's agent",
                  text != NULL ? text : "no message");
    else
        error_set(err, ERROR_RETRY, "%s: %s", grpc_status_name((unsigned long)status),
                  text != NULL ? text : "no message");
}

static void spiffe_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct spiffe *s = arg;
    struct error why = {0};
    s->request = NULL;
    if (s->stream_error.kind != ERROR_NONE)
        why = s->stream_error;
    else if (err != NULL)
        why = *err;
    else
        explain_end(s, r, &why);
    spiffe_failed(s, &why);
}

static void out_of_patience(void *arg)
{
    struct spiffe *s = arg;
    struct error why = {0};
    http_cancel(s->request);
    s->request = NULL;
    error_set(&why, ERROR_RETRY, "no whole message came within %d s", MESSAGE_TIMEOUT_MS / 1000);
    spiffe_failed(s, &why);
}

static void spiffe_open(void *arg)
{
    static const struct http_callbacks callbacks = {.on_data = spiffe_on_data, .on_done = spiffe_on_done};
    static const char empty_message[GRPC_HEADER_BYTES] = {0};
    static const struct http_request_options options = {.method = "POST",
                                                        .path = FETCH_PATH,
                                                        .content_type = GRPC_CONTENT_TYPE,
                                                        .accept = GRPC_CONTENT_TYPE,
                                                        .grpc = true,
                                                        .header = "workload.spiffe.io: true",
                                                        .body = empty_message,
                                                        .body_len = sizeof(empty_message),
                                                        .new_connection = true,
                                                        .connect_timeout_ms = CONNECT_TIMEOUT_MS};
    struct spiffe *s = arg;
    struct error err = {0};
    grpc_frames_fini(&s->frames);
    error_clear(&s->stream_error);
    timer_set(&s->patience, MESSAGE_TIMEOUT_MS);
    s->request = http_start(s->http, &s->endpoint, &options, &callbacks, s, &err);
    if (s->request == NULL)
        spiffe_failed(s, &err);
}

/* ---- for requests ---- */

bool spiffe_settled(const struct spiffe *s)
{
    return s->settled;
}

int spiffe_usable(const struct spiffe *s, struct error *err)
{
    const char *problem = s->problem.kind != ERROR_NONE ? s->problem.message : "it has not answered yet";
    if (s->identity == NULL)
        return error_set(err, ERROR_RETRY, "no identity from the SPIFFE Workload API at %s (SPIRE_AGENT_SOCKET): %s",
                         s->options.socket, problem);
    if (!expired(s))
        return 0;
    char end[RFC3339_BYTES];
    end_text(s->identity, end);
    return error_set(err, ERROR_RETRY,
                     "the X.509 SVID %s expired at %s, and the SPIFFE Workload API at %s (SPIRE_AGENT_SOCKET) has "
                     "sent no other: %s",
                     s->identity->id, end, s->options.socket, problem);
}

const struct http_tls *spiffe_tls(const struct spiffe *s)
{
    return &s->tls;
}

struct spiffe_state spiffe_state(const struct spiffe *s)
{
    const struct spiffe_identity *i = s->identity;
    return (struct spiffe_state){.socket = s->options.socket,
                                 .id = i != NULL ? i->id : NULL,
                                 .not_after_s = i != NULL ? i->not_after_s : INT64_MAX,
                                 .peer_id = s->options.peer_id,
                                 .expired = i != NULL && expired(s),
                                 .problem = s->problem.kind != ERROR_NONE ? s->problem.message : NULL};
}

/* ---- servers ---- */

static struct peer *find_peer(const struct spiffe *s, const char *url)
{
    struct peer *p = LIST_FIRST(&s->peers);
    while (p != NULL && !str_eq(p->url, url))
        p = LIST_NEXT(p, entry);
    return p;
}

const char *spiffe_peer_seen(const struct spiffe *s, const char *base_url)
{
    const struct peer *p = find_peer(s, base_url);
    return p != NULL ? p->id : NULL;
}

static void on_seen(void *arg, const char *base_url, const char *id)
{
    struct spiffe *s = arg;
    struct peer *p = find_peer(s, base_url);
    if (p == NULL) {
        p = mem_alloc(sizeof(*p));
        p->url = mem_strdup(base_url);
        LIST_INSERT_HEAD(&s->peers, p, entry); /* there are no more than the settings name */
    }
    if (str_eq(p->id, id))
        return;
    free(p->id);
    p->id = mem_strdup(id);
    if (s->options.peer_id != NULL)
        return;
    cleanup(mem_free_ptr) char *fix = mem_printf("SPIFFE_PEER_ID=%s", id);
    log_warn(s->options.log,
             "any SPIFFE ID of the trust domain is accepted as the Data Plane API's; set the one that was seen",
             log_str("target", base_url), log_str("spiffe_id", id), log_str("fix", fix));
}

/* ---- life ---- */

struct spiffe *spiffe_new(struct event_base *base, struct http *http, const struct spiffe_options *options)
{
    struct spiffe *s = mem_alloc(sizeof(*s));
    s->options = *options;
    s->http = http;
    s->endpoint.base_url = mem_strdup("http://localhost");
    s->endpoint.unix_socket = mem_strdup(options->socket);
    s->verification = (struct http_spiffe){.peer_id = options->peer_id, .seen = on_seen, .arg = s};
    s->tls.spiffe = &s->verification;
    s->trouble.period_ms = TROUBLE_LOG_PERIOD_MS;
    LIST_INIT(&s->peers);
    grpc_frames_init(&s->frames, MESSAGE_MAX_BYTES);
    backoff_init(&s->backoff, RETRY_BASE_MS, RETRY_MAX_MS, RETRY_MIN_MS, backoff_random_seed());
    timer_init(&s->retry, base, spiffe_open, s);
    timer_init(&s->patience, base, out_of_patience, s);
    timer_init(&s->expiry, base, on_expiry, s);
    timer_init(&s->news, base, spiffe_on_news, s);
    timer_set(&s->retry, 0);
    return s;
}

void spiffe_free(struct spiffe *s)
{
    if (s == NULL)
        return;
    http_cancel(s->request);
    struct peer *p;
    while ((p = LIST_FIRST(&s->peers)) != NULL) {
        LIST_REMOVE(p, entry);
        mem_free_all(p->url, p->id, p);
    }
    spiffe_identity_unref(s->identity);
    grpc_frames_fini(&s->frames);
    http_endpoint_fini(&s->endpoint);
    timer_fini(&s->retry);
    timer_fini(&s->patience);
    timer_fini(&s->expiry);
    timer_fini(&s->news);
    free(s);
}

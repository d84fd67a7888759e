#include "etcd/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "etcd/client_internal.h"
#include "etcd/codec.h"
#include "etcd/watch_machine.h"
#include "etcd/watch_stream.h"

#define PATH "/v3/watch"
#define CONNECT_MS 5000
#define COLLECTED_MAX_BYTES (64u << 20) /* of one batch that came in pieces */

enum reported { REPORTED_NOTHING, REPORTED_CONNECTED, REPORTED_LOST };

struct etcd_watch {
    struct etcd_client *client;
    char *key;
    bool prefix;
    struct etcd_watch_callbacks callbacks;
    void *arg;
    struct etcd_watch_machine machine;
    struct timer timer;
    size_t endpoint;
    enum reported reported;
    enum error_kind reported_kind;
    unsigned calling; /* depth of what may call back */
    bool freed;       /* meanwhile: its memory goes at the end of that */
    unsigned turn;    /* steps so far: one within a callback makes the rest of the outer one void */

    /* the request under way */
    struct http_request *request;
    struct etcd_call *check;
    struct etcd_token_wait token;
    unsigned token_number;
    struct etcd_watch_stream stream;
    bool bytes_came; /* since the last turn */
    bool ended;
    struct error end;                /* why it ended, which is reported behind what came before */
    struct error why;                /* of the step that is taken */
    struct etcd_watch_message batch; /* its items: what came of it so far */
};

static void etcd_watch_act(struct etcd_watch *w, unsigned actions);

/* ---- while callers may do what they like, this watch included ---- */

static void watch_destroy(struct etcd_watch *w)
{
    timer_fini(&w->timer);
    mem_free_all(w->key, w);
}

static void watch_leave(struct etcd_watch *w)
{
    w->calling--;
    if (w->calling == 0 && w->freed)
        watch_destroy(w);
}

/* ---- steps ---- */

static void watch_step(struct etcd_watch *w, enum etcd_watch_event_type type, int64_t revision, int64_t newest)
{
    const struct etcd_watch_input e = {.type = type, .revision = revision, .newest = newest};
    etcd_watch_act(w, etcd_watch_step(&w->machine, &e, clock_mono_ms()));
}

/* ---- what comes ---- */

static const struct http_endpoint *watch_endpoint(const struct etcd_watch *w)
{
    return &w->client->endpoints[w->endpoint % w->client->endpoint_count];
}

static void on_canceled(struct etcd_watch *w, const struct etcd_watch_message *m)
{
    const struct etcd_refusal *r = &m->refusal;
    if (m->compact_revision > 0 || r->kind == ETCD_REFUSED_COMPACTED) {
        watch_step(w, ETCD_WATCH_COMPACTED, m->compact_revision, 0);
        return;
    }
    etcd_refusal_explain(r, w->stream.status, w->client->user, "the keys that are watched", &w->why);
    error_prefix(&w->why, "etcd: POST %s%s", watch_endpoint(w)->base_url, PATH);
    bool token = r->kind == ETCD_REFUSED_TOKEN || r->kind == ETCD_REFUSED_NO_USER;
    watch_step(w, token && w->client->user != NULL ? ETCD_WATCH_NO_TOKEN : ETCD_WATCH_LOST, 0, 0);
}

static void on_events(struct etcd_watch *w, struct etcd_watch_message *m)
{
    if (m->bytes > COLLECTED_MAX_BYTES - w->batch.bytes) {
        error_set(&w->why, ERROR_INVALID, "events of one batch have more than %u bytes; all keys are read again",
                  COLLECTED_MAX_BYTES);
        watch_step(w, ETCD_WATCH_UNREADABLE, 0, 0);
        return;
    }
    if (m->count > 0) {
        /* Takes the items over. */
        struct etcd_watch_message *b = &w->batch;
        b->items = mem_resize(b->items, b->count + m->count, sizeof(b->items[0]));
        memcpy(b->items + b->count, m->items, m->count * sizeof(m->items[0]));
        b->count += m->count;
        b->bytes += m->bytes;
        m->count = 0;
    }
    if (!m->fragment && w->batch.count > 0)
        watch_step(w, ETCD_WATCH_EVENTS, w->batch.items[w->batch.count - 1].kv.mod_revision, 0);
}

static void watch_turn(void *arg)
{
    struct etcd_watch *w = arg;
    struct etcd_watch_message m;
    w->calling++;
    while (etcd_watch_stream_take(&w->stream, &m)) {
        if (m.canceled) {
            on_canceled(w, &m);
        } else if (m.created) {
            etcd_client_answered(w->client, w->endpoint % w->client->endpoint_count);
            watch_step(w, ETCD_WATCH_CREATED, m.revision, 0);
        } else if (m.count > 0 || m.fragment) {
            on_events(w, &m);
        } else {
            watch_step(w, ETCD_WATCH_PROGRESS, m.revision, 0);
        }
        etcd_watch_message_fini(&m);
    }
    if (w->bytes_came)
        watch_step(w, ETCD_WATCH_BYTES, 0, 0);
    w->bytes_came = false;
    if (w->ended) {
        w->ended = false;
        w->why = w->end;
        watch_step(w, w->stream.over_cap ? ETCD_WATCH_UNREADABLE : ETCD_WATCH_LOST, 0, 0);
    }
    watch_step(w, ETCD_WATCH_TIMER, 0, 0);
    watch_leave(w);
}

/* ---- the request ---- */

static void watch_end(struct etcd_watch *w, const struct error *why)
{
    if (why != NULL)
        w->end = *why;
    w->ended = true;
    timer_set(&w->timer, 0);
}

static int watch_on_head(void *arg, const struct http_response *r)
{
    struct etcd_watch *w = arg;
    w->stream.status = r->status;
    return 0;
}

static int watch_on_data(void *arg, const char *bytes, size_t len)
{
    struct etcd_watch *w = arg;
    int result = etcd_watch_stream_feed(&w->stream, bytes, len, &w->end);
    if (result != 0)
        error_prefix(&w->end, "etcd: POST %s%s", watch_endpoint(w)->base_url, PATH);
    w->bytes_came = true;
    timer_set(&w->timer, 0);
    return result;
}

static void watch_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct etcd_watch *w = arg;
    struct error why = {0};
    w->request = NULL;
    if (w->end.kind != ERROR_NONE) {
        watch_end(w, NULL); /* it was stopped for that */
        return;
    }
    etcd_watch_stream_end(&w->stream);
    if (err != NULL) {
        why = *err;
        etcd_explain_transport(watch_endpoint(w), r, &why);
        error_prefix(&why, "etcd");
    } else {
        error_set(&why, ERROR_RETRY, "etcd: POST %s%s: the watch ended", watch_endpoint(w)->base_url, PATH);
    }
    watch_end(w, &why);
}

static int watch_request(struct etcd_watch *w, struct error *err)
{
    static const struct http_callbacks callbacks = {
        .on_head = watch_on_head, .on_data = watch_on_data, .on_done = watch_on_done};
    struct etcd_client *c = w->client;
    cleanup(mem_free_ptr) char *body = etcd_codec_watch(w->key, w->prefix, w->machine.next);
    char *headers[2] = {etcd_token_header(c), NULL};
    const struct http_request_options o = {.method = "POST",
                                           .path = PATH,
                                           .content_type = "application/json",
                                           .body = body,
                                           .body_len = strlen(body),
                                           .header = ETCD_REQUIRE_LEADER,
                                           .headers = headers,
                                           .new_connection = true,
                                           .connect_timeout_ms = CONNECT_MS};
    w->token_number = c->token_number;
    w->request = http_start(c->http, watch_endpoint(w), &o, &callbacks, w, err);
    mem_wipe_free(headers[0]);
    return w->request != NULL ? 0 : error_prefix(err, "etcd");
}

static void watch_token_came(void *arg, const struct error *err)
{
    struct etcd_watch *w = arg;
    struct error why = {0};
    if (err != NULL)
        watch_end(w, err);
    else if (watch_request(w, &why) != 0)
        watch_end(w, &why);
}

static void on_checked(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct etcd_watch *w = arg;
    w->check = NULL;
    if (err != NULL) {
        w->why = *err;
        watch_step(w, ETCD_WATCH_CHECK_FAILED, 0, 0);
        return;
    }
    watch_step(w, ETCD_WATCH_CHECKED, got->revision, got->count > 0 ? got->list[0].mod_revision : 0);
}

/* ---- actions ---- */

static void watch_cancel(struct etcd_watch *w)
{
    http_cancel(w->request);
    w->request = NULL;
    etcd_call_cancel(w->check);
    w->check = NULL;
    etcd_token_wait_end(&w->token);
    w->bytes_came = w->ended = false;
    error_clear(&w->end);
    etcd_watch_message_fini(&w->batch);
    etcd_watch_stream_fini(&w->stream);
}

static void report_changed(struct etcd_watch *w)
{
    struct etcd_watch_message batch = w->batch;
    struct etcd_event *events = mem_array(batch.count, sizeof(events[0]));
    w->batch = (struct etcd_watch_message){0};
    for (size_t i = 0; i < batch.count; i++)
        events[i] = (struct etcd_event){.kv = &batch.items[i].kv, .deleted = batch.items[i].deleted};
    w->callbacks.changed(w->arg, events, batch.count, batch.items[batch.count - 1].kv.mod_revision);
    free(events);
    etcd_watch_message_fini(&batch);
}

static void report_lost(struct etcd_watch *w)
{
    struct error err = w->why;
    if (w->machine.reason != NULL || err.kind == ERROR_NONE)
        error_set(&err, ERROR_RETRY, "etcd: POST %s%s: %s", watch_endpoint(w)->base_url, PATH,
                  w->machine.reason != NULL ? w->machine.reason : "lost");
    error_clear(&w->why);
    bool news = w->reported != REPORTED_LOST || w->reported_kind != err.kind;
    w->reported = REPORTED_LOST;
    w->reported_kind = err.kind;
    error_prefix(&err, "watch of \"%s\"", w->key);
    log_debug(w->client->log, "etcd watch lost", log_str("error", err.message));
    if (news && w->callbacks.state != NULL)
        w->callbacks.state(w->arg, false, &err);
}

/* Carries out one of them. */
static void etcd_watch_do(struct etcd_watch *w, enum etcd_watch_action action)
{
    size_t count = w->client->endpoint_count;
    struct error err = {0};
    bool news;
    switch (action) {
    case ETCD_WATCH_REPORT_CHANGED:
        report_changed(w);
        break;
    case ETCD_WATCH_CANCEL:
        watch_cancel(w);
        break;
    case ETCD_WATCH_REPORT_CONNECTED:
        news = w->reported != REPORTED_CONNECTED;
        w->reported = REPORTED_CONNECTED;
        if (news && w->callbacks.state != NULL)
            w->callbacks.state(w->arg, true, NULL);
        break;
    case ETCD_WATCH_REPORT_LOST:
        report_lost(w);
        break;
    case ETCD_WATCH_REPORT_COMPACTED:
        w->callbacks.compacted(w->arg, w->machine.oldest);
        break;
    case ETCD_WATCH_RENEW_TOKEN:
        error_clear(&w->why);
        etcd_token_refused(w->client, w->token_number);
        break;
    case ETCD_WATCH_NEXT_ENDPOINT:
        etcd_client_failed(w->client, w->endpoint % count);
        w->endpoint = (w->endpoint + 1) % count;
        break;
    case ETCD_WATCH_REQUEST:
        if (etcd_token_ready(w->client, &w->token) && watch_request(w, &err) != 0)
            watch_end(w, &err);
        break;
    case ETCD_WATCH_CHECK:
        w->check = etcd_newest(w->client, w->endpoint % count, w->key, w->prefix, on_checked, w);
        break;
    }
}

/* In the order of the bits, until a callback takes another step or frees it. */
static void etcd_watch_act(struct etcd_watch *w, unsigned actions)
{
    unsigned turn = ++w->turn;
    w->calling++;
    for (unsigned bit = 1; bit <= actions && w->turn == turn; bit <<= 1)
        if (actions & bit)
            etcd_watch_do(w, bit);
    uint64_t due = etcd_watch_due_ms(&w->machine), now = clock_mono_ms();
    if (w->ended || etcd_watch_stream_has(&w->stream))
        timer_set(&w->timer, 0);
    else if (due != 0)
        timer_set(&w->timer, due > now ? due - now : 0);
    else
        timer_cancel(&w->timer);
    watch_leave(w);
}

/* ---- life ---- */

struct etcd_watch *etcd_watch_new(struct event_base *base, struct etcd_client *c, const char *key, bool prefix,
                                  const struct etcd_watch_callbacks *callbacks, void *arg)
{
    struct etcd_watch *w = mem_alloc(sizeof(*w));
    w->client = c;
    w->key = mem_strdup(key);
    w->prefix = prefix;
    w->callbacks = *callbacks;
    w->arg = arg;
    etcd_watch_machine_init(&w->machine, backoff_random_seed());
    etcd_watch_stream_init(&w->stream);
    w->token = (struct etcd_token_wait){.came = watch_token_came, .arg = w};
    timer_init(&w->timer, base, watch_turn, w);
    return w;
}

void etcd_watch_free(struct etcd_watch *w)
{
    if (w == NULL)
        return;
    const struct etcd_watch_input stop = {.type = ETCD_WATCH_STOP};
    if (etcd_watch_step(&w->machine, &stop, 0) & ETCD_WATCH_CANCEL)
        watch_cancel(w);
    timer_cancel(&w->timer);
    w->turn++;
    w->freed = true;
    if (w->calling == 0)
        watch_destroy(w);
}

void etcd_watch_start(struct etcd_watch *w, int64_t revision)
{
    w->endpoint = w->client->current;
    error_clear(&w->why);
    watch_step(w, ETCD_WATCH_START, revision, 0);
}

void etcd_watch_stop(struct etcd_watch *w)
{
    watch_step(w, ETCD_WATCH_STOP, 0, 0);
}

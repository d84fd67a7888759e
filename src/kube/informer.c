/*
 * The shell around kube/watch: bytes in, actions out. Requests are started and cancelled from the timer alone, never
 * from inside one of libcurl's callbacks, which must not call back into it.
 */
#include "kube/informer.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/answer.h"
#include "kube/client.h"
#include "kube/informer_log.h"
#include "kube/outage.h"
#include "kube/watch.h"
#include "model/cache.h"
#include "net/http.h"
#include "host/timer.h"

#define MAX_ERROR_BODY_BYTES (64u << 10)
#define TRIM_OBJECTS 200 /* a list of this many left freed memory behind that is worth giving back */

struct informer {
    struct kube_client *client;
    struct informer_sink sink;
    const struct kube_resource *of;
    char *scope; /* NULL: none */
    struct informer_callbacks callbacks;
    void *arg;

    struct watch watch;
    struct timer timer;
    struct http_request *request; /* NULL: none */
    char *path;                   /* and query of it, or of the last one */
    bool cancelled;               /* it is over for us, but not yet ended */
    bool to_start;                /* another one is to be started */
    bool is_list;                 /* it is a LIST */
    bool asked_protobuf;          /* as the encoding that it would rather have */
    bool good;                    /* its headers promise objects */
    bool counted;                 /* the request under way */
    bool failed;                  /* the last one did not come to its end */
    struct kube_answer answer;
    struct buf error_body;

    struct kube_event *event; /* being fed to the machine */
    uint64_t received_us;
    uint64_t last_byte_ms;
    uint64_t list_started_us;
    size_t listed;
    struct informer_log log;
    struct informer_status reported_status; /* as of the last status callback */
};

/* ---- status ---- */

void informer_get_status(const struct informer *i, struct informer_status *ret)
{
    int denied = i->watch.denied_status;
    *ret = (struct informer_status){
        .synced = i->watch.synced,
        .denied = denied == 403   ? INFORMER_FORBIDDEN
                  : denied == 404 ? INFORMER_NOT_SERVED
                                  : INFORMER_ALLOWED,
        .last_byte_ms = i->last_byte_ms,
    };
    ret->stale = ret->synced && !i->watch.contact;
    ret->outage = !i->watch.contact && kube_outage_is(i->watch.reason, i->watch.detail);
    if (!i->watch.contact)
        snprintf(ret->problem, sizeof(ret->problem), "%s", i->watch.detail);
}

static void report_status(struct informer *i)
{
    struct informer_status now;
    informer_get_status(i, &now);
    const struct informer_status *old = &i->reported_status;
    if (now.synced == old->synced && now.stale == old->stale && now.denied == old->denied &&
        str_eq(now.problem, old->problem))
        return;
    i->reported_status = now;
    if (i->callbacks.status != NULL)
        i->callbacks.status(i->arg);
}

/* ---- objects ---- */

static bool informer_sink_take(struct informer *i, enum sink_step step, void *object, const char *name)
{
    size_t unused;
    return i->sink.take(i->sink.arg, &(struct sink_change){.step = step, .object = object, .name = name}, &unused);
}

static bool take_into_cache(void *arg, const struct sink_change *change, size_t *ret_count)
{
    struct cache *c = arg;
    switch (change->step) {
    case SINK_BEGIN:
        cache_replace_begin(c);
        return false;
    case SINK_PUT:
        return cache_put(c, change->object);
    case SINK_REMOVE:
        return cache_delete(c, change->name);
    case SINK_KEEP:
        cache_keep(c, change->name);
        return false;
    case SINK_ABORT:
        cache_replace_abort(c);
        return false;
    case SINK_END: {
        bool changed = cache_replace_end(c);
        *ret_count = cache_count(c);
        return changed;
    }
    case SINK_FORGET:
        cache_forget(c);
        return false;
    }
    return false;
}

struct informer_sink informer_sink_cache(struct cache *c)
{
    return (struct informer_sink){.take = take_into_cache, .arg = c};
}

static char *cause_of(const struct informer *i, const char *verb, const char *kind, const char *name)
{
    const char *space = name != NULL ? " " : "", *shown = name != NULL ? name : "";
    if (i->scope == NULL)
        return mem_printf("%s %s%s%s", verb, kind, space, shown);
    const char *slash = strchr(i->scope, '/');
    if (slash == NULL) /* the names say it, too */
        return name != NULL ? mem_printf("%s %s %s", verb, kind, name)
                            : mem_printf("%s %s in %s", verb, kind, i->scope);
    if (str_eq(slash + 1, name)) /* "service ns/web", not "service web of ns/web" */
        return mem_printf("%s %s %s", verb, kind, i->scope);
    return mem_printf("%s %s%s%s of %s", verb, kind, space, shown, i->scope);
}

static void report_changed(struct informer *i, const char *verb, const char *kind, const char *name)
{
    if (i->callbacks.changed == NULL)
        return;
    cleanup(mem_free_ptr) char *cause = cause_of(i, verb, kind, name);
    i->callbacks.changed(i->arg, cause, i->received_us);
}

static void informer_apply(struct informer *i, unsigned actions)
{
    static const char *const types[] = {
        [KUBE_ADDED] = "ADDED", [KUBE_MODIFIED] = "MODIFIED", [KUBE_DELETED] = "DELETED"};
    struct kube_event *e = i->event;
    if ((actions & (WATCH_PUT | WATCH_DELETE)) == 0 || e == NULL)
        return;
    informer_log_object(&i->log, e);
    bool changed = false;
    if ((actions & WATCH_PUT) && e->object != NULL) {
        void *object = e->object;
        e->object = NULL; /* it belongs to the sink now */
        changed = informer_sink_take(i, SINK_PUT, object, NULL);
    } else if (e->name != NULL) {
        /* What cannot be used is not put: its last good state stays. */
        changed = informer_sink_take(i, actions & WATCH_PUT ? SINK_KEEP : SINK_REMOVE, NULL, e->name);
    }
    i->listed += (actions & WATCH_PUT) != 0;
    if (changed)
        report_changed(i, types[e->type], i->of->kind, e->name);
}

/* ---- what the machine says ---- */

static void count_request(struct informer *i, int code)
{
    if (!i->counted && i->callbacks.requested != NULL)
        i->callbacks.requested(i->arg, code);
    i->counted = true;
}

/* In the order of the bits. Requests are started and ended from the timer. */
static void informer_carry_out(struct informer *i, unsigned actions, uint64_t now_ms)
{
    informer_apply(i, actions);
    if (actions & WATCH_CANCEL) {
        i->to_start = false;
        if (i->request != NULL) {
            count_request(i, 0);
            i->cancelled = i->failed = true;
            timer_set(&i->timer, 0);
        }
    }
    if (actions & WATCH_REPLACE_ABORT)
        informer_sink_take(i, SINK_ABORT, NULL, NULL);
    if (actions & WATCH_REPLACE_END) {
        size_t count = 0;
        bool changed = i->sink.take(i->sink.arg, &(struct sink_change){.step = SINK_END}, &count);
        if (i->listed >= TRIM_OBJECTS)
            malloc_trim(0);
        informer_log_synced(&i->log, count, i->is_list, clock_mono_us() - i->list_started_us);
        if (changed)
            report_changed(i, "list of", i->of->plural, NULL);
    }
    if (actions & WATCH_REPLACE_BEGIN) {
        informer_sink_take(i, SINK_BEGIN, NULL, NULL);
        i->list_started_us = clock_mono_us();
        i->listed = 0;
    }
    if (actions & WATCH_CREDENTIALS)
        kube_client_credentials_refused(i->client);
    if (actions & WATCH_REQUEST)
        i->to_start = true;
    informer_log_step(&i->log, actions, &i->watch, now_ms);
    if ((actions & WATCH_ENDED) && i->callbacks.watch_restarted != NULL)
        i->callbacks.watch_restarted(i->arg, i->of->plural, i->watch.reason);
    if ((actions & WATCH_LISTED) && i->callbacks.relisted != NULL)
        i->callbacks.relisted(i->arg, i->of->plural, i->watch.reason);
}

static void informer_set_timer(struct informer *i)
{
    if (i->cancelled || (i->to_start && i->request == NULL)) {
        timer_set(&i->timer, 0);
        return;
    }
    uint64_t due = watch_due_ms(&i->watch), now = clock_mono_ms();
    if (due == 0)
        timer_cancel(&i->timer);
    else if (i->timer.due_ms == 0 || due < i->timer.due_ms)
        timer_set(&i->timer, due > now ? due - now : 0);
}

static void informer_feed(struct informer *i, const struct watch_event *e)
{
    uint64_t now_ms = clock_mono_ms();
    unsigned actions = watch_step(&i->watch, e, now_ms);
    informer_carry_out(i, actions, now_ms);
    /* Thousands of objects and chunks of a list change no status. */
    if ((actions & ~(unsigned)(WATCH_PUT | WATCH_DELETE)) != 0 || e->type == WATCH_EVENT_HEAD)
        report_status(i);
    informer_set_timer(i);
}

static void informer_feed_type(struct informer *i, enum watch_event_type type, const char *detail)
{
    informer_feed(i, &(struct watch_event){.type = type, .detail = detail});
}

/* ---- frames ---- */

static int informer_on_event(void *arg, struct kube_event *e, struct error *err)
{
    struct informer *i = arg;
    static const enum watch_event_type types[] = {
        [KUBE_ADDED] = WATCH_EVENT_OBJECT,   [KUBE_MODIFIED] = WATCH_EVENT_OBJECT,
        [KUBE_DELETED] = WATCH_EVENT_OBJECT, [KUBE_BOOKMARK] = WATCH_EVENT_BOOKMARK,
        [KUBE_ERROR] = WATCH_EVENT_ERROR,    [KUBE_UNKNOWN] = WATCH_EVENT_BYTES};
    i->event = e;
    informer_feed(i, &(struct watch_event){
                         .type = i->is_list ? WATCH_EVENT_ITEM : types[e->type],
                         .status = e->status_code,
                         .deleted = e->type == KUBE_DELETED,
                         .initial_end = e->initial_events_end,
                         .too_large = e->cause_too_large,
                         .retry_after_ms = (int64_t)e->retry_after_seconds * 1000,
                         .version = e->resource_version,
                         .reason = e->status_reason,
                         .detail = e->status_message,
                     });
    i->event = NULL;
    return i->cancelled ? error_set(err, ERROR_RETRY, "ended") : 0;
}

/* ---- the request under way ---- */

/* What came as protobuf cannot be read. JSON says what was meant, or that the fault is not the encoding's. */
static void informer_on_garbled(struct informer *i, const struct error *err)
{
    bool is_protobuf = i->answer.encoding == KUBE_PROTOBUF;
    if (is_protobuf)
        kube_client_protobuf_failed(i->client, i->of->plural, err->message);
    informer_feed(i, &(struct watch_event){.type = WATCH_EVENT_GARBLED,
                                           .other_encoding = is_protobuf && i->asked_protobuf,
                                           .detail = err->message});
}

static int informer_on_head(void *arg, const struct http_response *r)
{
    struct informer *i = arg;
    if (i->cancelled)
        return -1;
    i->last_byte_ms = clock_mono_ms();
    i->good =
        r->status == 200 && kube_answer_head(&i->answer, http_response_header(r, "Content-Type")) != KUBE_NOT_READABLE;
    count_request(i, r->status);
    informer_log_warning(&i->log, http_response_header(r, "Warning"));
    informer_feed(i, &(struct watch_event){.type = WATCH_EVENT_HEAD,
                                           .status = r->status,
                                           .readable = i->good,
                                           .detail = http_response_header(r, "Content-Type")});
    return i->cancelled ? -1 : 0;
}

static int informer_on_data(void *arg, const char *bytes, size_t len)
{
    struct informer *i = arg;
    if (i->cancelled)
        return -1;
    i->received_us = clock_mono_us();
    i->last_byte_ms = i->received_us / 1000;
    informer_feed_type(i, WATCH_EVENT_BYTES, NULL);
    if (!i->good) {
        size_t room = MAX_ERROR_BODY_BYTES - i->error_body.len;
        return buf_append(&i->error_body, bytes, len < room ? len : room);
    }
    struct error err;
    if (kube_answer_feed(&i->answer, bytes, len, informer_on_event, i, &err) != 0 && !i->cancelled)
        informer_on_garbled(i, &err);
    return i->cancelled ? -1 : 0;
}

static void answer_done(struct informer *i, const struct http_response *r)
{
    cleanup(kube_event_fini) struct kube_event status = {0};
    kube_decode_status(buf_str(&i->error_body), i->error_body.len, &status);
    int64_t retry_after_ms = http_response_retry_after_ms(r);
    if (retry_after_ms < 0)
        retry_after_ms = (int64_t)status.retry_after_seconds * 1000;
    cleanup(mem_free_ptr) char *detail =
        mem_printf("HTTP %d%s%s", r->status, str_empty(status.status_message) ? "" : ": ",
                   status.status_message != NULL ? status.status_message : "");
    informer_feed(i, &(struct watch_event){.type = WATCH_EVENT_ANSWER,
                                           .status = r->status,
                                           .too_large = status.cause_too_large,
                                           .retry_after_ms = retry_after_ms,
                                           .reason = status.status_reason,
                                           .detail = detail});
}

static void connection_lost(struct informer *i, int status, const struct error *err)
{
    /* The query of our requests says nothing to an operator and is long. */
    const char *at = strstr(err->message, i->path), *query = strchr(i->path, '?');
    cleanup(mem_free_ptr) char *detail =
        at == NULL || query == NULL
            ? mem_strdup(err->message)
            : mem_printf("%.*s%s", (int)(at - err->message + (query - i->path)), err->message, at + strlen(i->path));
    informer_feed(i, &(struct watch_event){.type = WATCH_EVENT_LOST, .status = status, .detail = detail});
}

static void informer_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct informer *i = arg;
    struct error cut = {0};
    struct kube_list_meta meta = {NULL, NULL};
    i->request = NULL;
    if (i->cancelled) { /* the machine is past it */
        i->cancelled = false;
        informer_set_timer(i);
        return;
    }
    count_request(i, r->status);
    i->failed = err != NULL;
    if (err != NULL)
        connection_lost(i, 0, err);
    else if (!i->good)
        answer_done(i, r);
    else if (kube_answer_end(&i->answer, &meta, &cut) != 0 && i->is_list)
        informer_on_garbled(i, &cut);
    else if (i->is_list)
        informer_feed(i, &(struct watch_event){.type = WATCH_EVENT_PAGE,
                                               .version = meta.resource_version,
                                               .continue_token = meta.continue_token});
    else
        informer_feed_type(i, cut.kind != ERROR_NONE ? WATCH_EVENT_LOST : WATCH_EVENT_CLOSED,
                           cut.kind != ERROR_NONE ? cut.message : NULL);
    kube_list_meta_fini(&meta);
}

static void informer_start_request(struct informer *i)
{
    static const struct http_callbacks callbacks = {
        .on_head = informer_on_head, .on_data = informer_on_data, .on_done = informer_on_done};
    i->to_start = i->counted = i->good = false;
    i->is_list = watch_request_is_list(&i->watch);
    i->asked_protobuf = kube_client_wants_protobuf(i->client);
    kube_answer_fini(&i->answer);
    kube_answer_init(&i->answer, i->of, i->is_list);
    buf_clear(&i->error_body);
    free(i->path);
    i->path = watch_request_path(&i->watch);
    /* No gzip: a list of 5,000 nodes packed costs three times the CPU and the time, on our side alone. */
    struct http_request_options options = {.method = "GET",
                                           .path = i->path,
                                           .accept = kube_answer_accept(i->of, i->asked_protobuf),
                                           .new_connection = i->failed};
    struct error err;
    i->request = kube_client_start(i->client, &options, &callbacks, i, &err);
    if (i->request == NULL)
        connection_lost(i, kube_client_lacks_credentials(i->client) ? 401 : 0, &err);
}

/* ---- the timer: all that talks to libcurl ---- */

static void informer_on_timer(void *arg)
{
    struct informer *i = arg;
    if (i->cancelled) {
        http_cancel(i->request);
        i->request = NULL;
        i->cancelled = false;
    }
    if (i->to_start)
        informer_start_request(i);
    else
        informer_feed_type(i, WATCH_EVENT_TIMER, NULL);
    informer_set_timer(i);
}

void informer_start(struct informer *i)
{
    informer_feed_type(i, WATCH_EVENT_START, NULL);
}

void informer_stop(struct informer *i)
{
    informer_feed_type(i, WATCH_EVENT_STOP, NULL);
}

void informer_poke(struct informer *i)
{
    informer_feed_type(i, WATCH_EVENT_POKE, NULL);
}

void informer_forget(struct informer *i)
{
    informer_sink_take(i, SINK_FORGET, NULL, NULL);
    informer_feed_type(i, WATCH_EVENT_FORGET, NULL);
    report_status(i); /* where it waits nothing else follows */
}

void informer_set_quiet(struct informer *i, bool quiet)
{
    i->log.quiet = quiet;
}

struct informer *informer_new(struct event_base *base, struct kube_client *client, const struct informer_sink *sink,
                              const struct log *log, const struct informer_options *options,
                              const struct informer_callbacks *callbacks, void *arg)
{
    struct informer *i = mem_alloc(sizeof(*i));
    i->client = client;
    i->sink = *sink;
    i->of = options->resource;
    i->scope = mem_strdup(options->scope);
    i->callbacks = *callbacks;
    i->arg = arg;
    cleanup(mem_free_ptr) char *path =
        mem_printf("%s%s%s/%s", i->of->api, options->namespace != NULL ? "/namespaces/" : "",
                   options->namespace != NULL ? options->namespace : "", i->of->plural);
    watch_init(&i->watch, kube_client_watch_server(client), path, options->label_selector, options->field_selector,
               backoff_random_seed());
    i->watch.changes_only = options->changes_only;
    if (options->deadlines != NULL)
        i->watch.deadlines = *options->deadlines;
    timer_init(&i->timer, base, informer_on_timer, i);
    kube_answer_init(&i->answer, i->of, false);
    buf_init(&i->error_body, MAX_ERROR_BODY_BYTES);
    informer_log_init(&i->log, log, kube_client_outage(client), i->of->plural, i->scope, options->scope_is);
    i->log.may_be_denied = options->may_be_denied;
    i->log.quiet = i->log.is_hint = options->changes_only;
    return i;
}

void informer_free(struct informer *i)
{
    if (i == NULL)
        return;
    http_cancel(i->request);
    timer_fini(&i->timer);
    kube_answer_fini(&i->answer);
    buf_fini(&i->error_body);
    watch_fini(&i->watch);
    mem_free_all(i->path, i->scope, i);
}

/* Events from the history to requests, in virtual time: the API is what a test answers, in place of kube/writer. */
#pragma once

#include "daemon/events.h"

#include <event2/event.h>
#include <sys/mman.h>

#include "../log_text.h"
#include "kube/client.h"
#include "kube/writer.h"
#include "kube/outage.h"
#include "model/cache.h"
#include "net/http.h"
#include "report/metric_table.h"
#include "report/history.h"
#include "daemon/mappings.h"
#include "daemon/sources.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

#define MINUTE_MS 60000ull
#define URL "http://lb1:5555"

static struct {
    uint64_t now_us;
    struct timer *timers[4]; /* of the events, and of the client */

    void (*done)(void *arg, enum event_outcome outcome, int64_t retry_after_ms, const struct error *err);
    void *arg;
    bool busy, freed;
    bool no_credentials;
    /* the request in hand, and the last one that was made */
    char namespace[16], name[96], service[16], uid[16], reason[32], message[1200];
    bool warning, again;
    unsigned count;
    uint64_t first_ms, last_ms;
    unsigned posts, patches;

    struct event_base *base; /* of the client, which is asked about an outage alone */
    struct http *http;
    struct kube_client *client;
    struct object_caches caches[2];
    struct metrics *registry;
    struct metric *written;
    struct history *history;
    int log_fd;
    struct log log;
    struct settings settings;
    struct metric_table metrics;
    struct daemon in;
    struct events *events;
} w;

/* ---- the world ---- */

#define VIRTUAL_TIME (&w)
#define VIRTUAL_WALL_MS 1795302000000u
#include "../../virtual_time.h"

struct event_writer *event_writer_new(struct kube_client *client,
                                      void (*done)(void *arg, enum event_outcome outcome, int64_t retry_after_ms,
                                                   const struct error *err),
                                      void *arg)
{
    w.done = done;
    w.arg = arg;
    return (struct event_writer *)&w;
}

void event_writer_free(struct event_writer *writer)
{
    w.freed = true;
}

int event_writer_send(struct event_writer *writer, const struct event_object *e, bool again, struct error *err)
{
    ck_assert_msg(!w.busy, "two requests at once");
    if (w.no_credentials)
        return error_set(err, ERROR_RETRY, "waiting for the credential plugin");
    snprintf(w.namespace, sizeof(w.namespace), "%s", e->namespace);
    snprintf(w.name, sizeof(w.name), "%s", e->name);
    snprintf(w.service, sizeof(w.service), "%s", e->about);
    snprintf(w.uid, sizeof(w.uid), "%s", e->uid != NULL ? e->uid : "");
    snprintf(w.reason, sizeof(w.reason), "%s", e->reason);
    snprintf(w.message, sizeof(w.message), "%s", e->message);
    ck_assert(e->host[0] != '\0');
    w.warning = e->warning;
    w.again = again;
    w.count = e->count;
    w.first_ms = e->first_ms;
    w.last_ms = e->last_ms;
    w.busy = true;
    w.posts += !again;
    w.patches += again;
    return 0;
}

const struct object_caches *sources_caches(const struct sources *s, size_t service)
{
    return &w.caches[service];
}

/* ---- what a test does ---- */

static inline void fire(struct timer *t)
{
    w.now_us = t->due_ms > clock_mono_ms() ? t->due_ms * 1000 : w.now_us;
    t->due_ms = 0;
    t->fn(t->arg);
}

/* Up to where something is asked, or nothing will be. */
static inline bool asked(void)
{
    for (struct timer *t; !w.busy && (t = virtual_next_timer(UINT64_MAX)) != NULL;)
        fire(t);
    return w.busy;
}

static inline void answer_after(enum event_outcome outcome, int64_t retry_after_ms)
{
    ck_assert_msg(w.busy, "nothing is asked");
    w.busy = false;
    if (outcome != EVENT_WRITTEN)
        error_set(&flaw, ERROR_RETRY, "words of the API");
    w.done(w.arg, outcome, retry_after_ms, outcome != EVENT_WRITTEN ? &flaw : NULL);
}

static inline void answer(enum event_outcome outcome)
{
    answer_after(outcome, -1);
}

static inline void all_is_written(void)
{
    while (asked())
        answer(EVENT_WRITTEN);
}

static inline void pass(uint64_t ms)
{
    uint64_t end = clock_mono_ms() + ms;
    for (struct timer *t; !w.busy && (t = virtual_next_timer(end)) != NULL;)
        fire(t);
    w.now_us = end * 1000;
}

static inline void happens_to(const char *backend, enum history_kind kind, const char *text)
{
    history_add(w.history, &(struct history_entry){.kind = kind, .target = URL, .backend = backend, .text = text});
}

static inline void happens(enum history_kind kind, const char *text)
{
    happens_to("web", kind, text);
}

static inline void in_sync_is_asked(void)
{
    happens(HISTORY_IN_SYNC, "in sync");
    ck_assert(asked());
}

static inline void in_sync_is_answered(enum event_outcome outcome)
{
    in_sync_is_asked();
    answer(outcome);
}

static inline unsigned result(const char *which)
{
    return (unsigned)metric_value(w.written, which, NULL);
}

static inline bool logged(const char *text)
{
    return log_count(w.log_fd, text) > 0;
}

static inline void forget_log(void)
{
    log_forget(w.log_fd);
}

/* Backends web and tls are for the Service ing/web, shop for two/shop. */
static struct mapping mappings_list[] = {
    {.backend = "web", .service = 0}, {.backend = "tls", .service = 0}, {.backend = "shop", .service = 1}};
static struct sources_service services[] = {{"ing", "web"}, {"two", "shop"}};
static const struct mappings mappings = {.list = mappings_list, .count = 3, .services = services, .service_count = 2};

static inline void knows(size_t cache, const char *name, const char *uid)
{
    struct service *s = mem_alloc(sizeof(*s));
    s->name = mem_strdup(name);
    s->uid = mem_strdup(uid);
    cache_put(w.caches[cache].services, s);
}

static inline void make_client(void)
{
    struct kube_access access = {.server = (char *)"https://api"};
    w.base = event_base_new();
    w.http = http_new(w.base, "test", &flaw);
    w.client = kube_client_new(w.http, &access, &w.log, &flaw);
    ck_assert_msg(w.client != NULL, "%s", flaw.message);
}

static inline void setup(void)
{
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000;
    w.caches[0].services = cache_new(&service_record);
    w.caches[1].services = cache_new(&service_record);
    knows(0, "web", "uid-web");
    w.registry = metrics_new();
    w.written = metrics_register(w.registry, METRIC_COUNTER, "kubernetes_events_total", "help", "result");
    w.history = history_new();
    w.log_fd = memfd_create("log", 0);
    w.log = (struct log){.level = LOG_LEVEL_DEBUG, .fd = w.log_fd};
    make_client();
    w.metrics.kubernetes_events = w.written;
    w.settings.emit_events = true;
    w.in = (struct daemon){
        .settings = &w.settings, .metrics = &w.metrics, .history = w.history, .kube = w.client, .log = &w.log};
    w.events = events_new(&w.in, &mappings, NULL, NULL, NULL);
}

static inline void teardown(void)
{
    events_free(w.events);
    kube_client_free(w.client);
    http_free(w.http);
    event_base_free(w.base);
    history_free(w.history);
    metrics_free(w.registry);
    cache_free(w.caches[0].services);
    cache_free(w.caches[1].services);
    close(w.log_fd);
}

#include "daemon/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/writer.h"
#include "host/process.h"
#include "host/timer.h"
#include "report/metric_table.h"
#include "settings/settings.h"
#include "report/event_correlator.h"
#include "report/history.h"
#include "daemon/mappings.h"
#include "daemon/sources.h"

#define QUEUE_MAX 1064      /* what is reported of objects, all at once, and others */
#define NAMESPACES_MAX 1000 /* those beyond share their limits */
#define ITEM_AGE_MAX_MS 300000
#define ITEM_TRIES_MAX 30
#define ITEM_TRIES_AT_ONCE 3
#define DENIED_PAUSE_MS 600000
#define LOG_PERIOD_MS 300000
#define DENIED_LOG_MS 86400000
#define COMBINED "(combined from similar events): "

_Static_assert(EVENT_REASONS <= (int)CORRELATOR_REASONS, "the correlator has a place for each");

/* An Event that waits, or is under way. */
struct item {
    struct about *about;
    struct events_object object; /* of events_tell_about: owned texts; kind NULL: the place of `about` */
    enum event_reason reason;
    uint64_t id;
    char *message;
    unsigned count, tries;
    uint64_t first_wall_ms, last_wall_ms, since_ms;
};

/* One Service, the Secret or ConfigMap, or all other objects of a namespace: no other one's Events are affected by these. */
struct about {
    UT_hash_handle hh;
    char *namespace; /* of objects; NULL: of none */
    struct correlator correlator;
    uint64_t denied_until_ms; /* nothing is written on it before; 0: it was not denied */
    bool in_trouble;          /* a failure was logged */
    struct log_limit denied_limit, trouble_limit;
    bool done; /* with this Event: a history entry may be about several backends of one Service */
};

struct events {
    const struct daemon *in;
    const struct mappings *mappings;
    const struct sources *sources;
    const struct config_source *source; /* of the Secret or ConfigMap; NULL: none */
    events_source_object_fn *source_object;
    char host[HOST_NAME_BYTES];
    struct history_listener listener;
    struct timer timer;
    struct event_writer *writer;
    struct about *about;   /* one for each Service of the mappings, that of the Secret or ConfigMap */
    struct about *objects; /* of other objects, by their namespaces */
    uint64_t first_id;
    struct item queue[QUEUE_MAX];
    size_t count;
    bool busy; /* queue[0] is under way */
    uint64_t not_before_ms;
    struct backoff backoff;
    struct log_limit dropped_limit;
};

/* ---- which history entries are Events, and their texts ---- */

enum event_reason event_reason_of(const struct history_entry *e)
{
    switch (e->kind) {
    case HISTORY_IN_SYNC:
        return EVENT_SYNCED;
    case HISTORY_COMMITTED:
    case HISTORY_RUNTIME_UPDATE:
    case HISTORY_RUNTIME_COMMAND:
        return str_eq(e->state, "drain") ? EVENT_DRAINING : EVENT_NONE;
    case HISTORY_REMOVAL_DELAYED:
        return EVENT_REMOVAL_DELAYED;
    case HISTORY_KEPT:
        return EVENT_SERVERS_KEPT;
    case HISTORY_APPLY_FAILED:
        return EVENT_APPLY_FAILED;
    case HISTORY_RELOAD_FAILED:
        return EVENT_RELOAD_FAILED;
    case HISTORY_DRIFT_REPAIRED:
        return EVENT_DRIFT_REPAIRED;
    case HISTORY_RELOAD_AGAIN:
    case HISTORY_PAUSED:
    case HISTORY_NOT_WRITTEN:
    case HISTORY_CONFIG_APPLIED: /* daemon/config/config_report makes those */
    case HISTORY_CONFIG_REJECTED:
    case HISTORY_CONFIG_DRIFTED:
    case HISTORY_CONFIG_ROLLED_BACK:
    case HISTORY_KINDS:
        break;
    }
    return EVENT_NONE;
}

const char *event_reason_name(enum event_reason r)
{
    static const char *const names[EVENT_REASONS] = {
        [EVENT_NONE] = "",
        [EVENT_SYNCED] = "Synced",
        [EVENT_DRAINING] = "Draining",
        [EVENT_REMOVAL_DELAYED] = "RemovalDelayed",
        [EVENT_SERVERS_KEPT] = "ServersKept",
        [EVENT_APPLY_FAILED] = "ApplyFailed",
        [EVENT_RELOAD_FAILED] = "ReloadFailed",
        [EVENT_DRIFT_REPAIRED] = "DriftRepaired",
        [EVENT_VALIDATION_PASSED] = "ValidationPassed",
        [EVENT_APPLY_SUCCEEDED] = "ApplySucceeded",
        [EVENT_CONFIG_UNCHANGED] = "ConfigUnchanged",
        [EVENT_CERT_SYNCED] = "CertSynced",
        [EVENT_CANARY_PASSED] = "CanaryPassed",
        [EVENT_CERT_SYNC_FAILED] = "CertSyncFailed",
        [EVENT_CONFIG_REJECTED] = "ConfigRejected",
        [EVENT_AUTH_ERROR] = "AuthError",
        [EVENT_TLS_CONNECTION_ERROR] = "TLSConnectionError",
        [EVENT_CONNECTION_ERROR] = "ConnectionError",
        [EVENT_CONFLICT_ERROR] = "ConflictError",
        [EVENT_TRANSIENT_ERROR] = "TransientError",
        [EVENT_CONFIG_DRIFT] = "ConfigDrift",
        [EVENT_CANARY_FAILED] = "CanaryFailed",
        [EVENT_CONFIG_DEGRADED] = "ConfigDegraded",
        [EVENT_CONFIG_ROLLED_BACK] = "ConfigRolledBack",
        [EVENT_LEFT_OUT] = "LeftOut",
        [EVENT_CHANGE_REFUSED] = "ChangeRefused",
        [EVENT_TEMPLATE_NOTE] = "TemplateNote",
        [EVENT_ANNOTATION_NOTE] = "AnnotationIgnored",
    };
    return names[r];
}

bool event_reason_warns(enum event_reason r)
{
    return r == EVENT_REMOVAL_DELAYED || r == EVENT_SERVERS_KEPT || r == EVENT_APPLY_FAILED ||
           r == EVENT_RELOAD_FAILED || r >= EVENT_CONFIG_REJECTED;
}

char *event_text_of(const struct history_entry *e)
{
    bool one = e->backend != NULL;
    return mem_printf("%s%s at %s: %s%s%s", one ? "backend " : "HAProxy", one ? e->backend : "", e->target, e->text,
                      str_empty(e->why) ? "" : ": ", str_empty(e->why) ? "" : e->why);
}

/* ---- what they are about ---- */

/* The last is that of the Secret or ConfigMap. */
static size_t events_places(const struct events *e)
{
    return e->mappings->service_count + 1;
}

/* Its uid may not be known. */
static struct events_object events_place(const struct events *e, const struct item *item)
{
    const struct mappings *m = e->mappings;
    const struct settings *s = e->in->settings;
    if (item->object.kind != NULL)
        return item->object;
    size_t i = (size_t)(item->about - e->about);
    if (i < m->service_count) {
        const struct sources_service *of = &m->services[i];
        const struct service *known = cache_find(sources_caches(e->sources, i)->services, of->name);
        return (struct events_object){
            .kind = "Service", .namespace = of->namespace, .name = of->name, .uid = known != NULL ? known->uid : NULL};
    }
    const struct secret_object *object = e->source_object(e->source);
    bool is_secret = s->config_source == SETTINGS_CONFIG_SECRET;
    return (struct events_object){.kind = is_secret ? "Secret" : "ConfigMap",
                                  .namespace = is_secret ? s->config_secret_namespace : s->template_from.namespace,
                                  .name = is_secret                   ? s->config_secret_name
                                          : settings_template_pods(s) ? "config"
                                                                      : s->template_from.name,
                                  .uid = object != NULL ? object->uid : NULL};
}

static void item_fini(struct item *item)
{
    free(item->message);
    const char *const texts[] = {item->object.api_version, item->object.kind, item->object.namespace, item->object.name,
                                 item->object.uid};
    for (size_t i = 0; i < array_len(texts); i++)
        free((char *)(uintptr_t)texts[i]);
}

static void count(const struct events *e, const char *result)
{
    metric_add(e->in->metrics->kubernetes_events, 1, result, NULL);
}

/* ---- the queue ---- */

static void take_out(struct events *e, size_t at, const char *result)
{
    count(e, result);
    item_fini(&e->queue[at]);
    e->count--;
    memmove(&e->queue[at], &e->queue[at + 1], (e->count - at) * sizeof(e->queue[0]));
}

/* One of the same Event that was not sent yet: it is both. */
static struct item *waiting(struct events *e, const struct about *about, uint64_t id)
{
    for (size_t i = e->busy ? 1 : 0; i < e->count; i++)
        if (e->queue[i].about == about && e->queue[i].id == id)
            return &e->queue[i];
    return NULL;
}

static void put_in(struct events *e, struct about *about, const struct events_object *object, enum event_reason reason,
                   const struct correlated *c, const char *text)
{
    unsigned held_back;
    cleanup(mem_free_ptr) char *whole = mem_printf("%s%s", c->combined ? COMBINED : "", text);
    struct item *item = waiting(e, about, c->id);
    if (item == NULL) {
        if (e->count == QUEUE_MAX) {
            take_out(e, e->busy ? 1 : 0, "dropped");
            if (log_limit_pass(&e->dropped_limit, clock_mono_ms(), "", &held_back))
                log_warn(e->in->log, "Kubernetes Event queue full; dropping the oldest", log_int("waiting", e->count),
                         log_if(held_back > 0, log_int("repeated", held_back)));
        }
        item = &e->queue[e->count++];
        *item = (struct item){.about = about, .reason = reason, .id = c->id, .since_ms = clock_mono_ms()};
        if (object != NULL)
            item->object = (struct events_object){mem_strdup(object->api_version), mem_strdup(object->kind),
                                                  mem_strdup(object->namespace), mem_strdup(object->name),
                                                  mem_strdup(object->uid)};
    } else {
        count(e, "merged");
    }
    free(item->message);
    item->message = text_shown(whole, TEXT_LINE, EVENT_MESSAGE_MAX_BYTES);
    item->count = c->count;
    item->first_wall_ms = c->first_wall_ms;
    item->last_wall_ms = clock_wall_ms();
}

static void events_step(void *arg);

/* ---- from the history ---- */

/* object NULL: it is about the place of `about`. */
static void happened(struct events *e, struct about *about, const struct events_object *object,
                     enum event_reason reason, const char *text)
{
    struct correlated c;
    uint64_t now_ms = clock_mono_ms();
    /* The same of another object is another Event. */
    cleanup(mem_free_ptr) char *key =
        object != NULL ? mem_printf("%s %s/%s: %s", object->kind, object->namespace, object->name, text) : NULL;
    correlator_take(&about->correlator, reason, event_reason_warns(reason), key != NULL ? key : text, now_ms,
                    clock_wall_ms(), &c);
    if (!c.send)
        count(e, "limited");
    else if (now_ms < about->denied_until_ms)
        count(e, "denied");
    else
        put_in(e, about, object, reason, &c, text);
    if (e->count > 0 && !e->busy)
        timer_set_sooner(&e->timer, 0);
}

/* What is about a whole HAProxy is about each Service, once. */
static void on_entry(void *arg, const struct history_entry *entry)
{
    struct events *e = arg;
    const struct mappings *m = e->mappings;
    enum event_reason reason = event_reason_of(entry);
    if (reason == EVENT_NONE)
        return;
    cleanup(mem_free_ptr) char *text = event_text_of(entry);
    for (size_t i = 0; i < m->service_count; i++)
        e->about[i].done = false;
    for (size_t i = 0; i < m->count; i++) {
        struct about *about = &e->about[m->list[i].service];
        if (about->done || (entry->backend != NULL && !str_eq(entry->backend, m->list[i].backend)))
            continue;
        about->done = true;
        happened(e, about, NULL, reason, text);
    }
}

void events_tell(struct events *e, enum event_reason reason, const char *text)
{
    if (e != NULL && e->source != NULL)
        happened(e, &e->about[events_places(e) - 1], NULL, reason, text);
}

static void about_init(struct about *a, const struct events *e)
{
    correlator_init(&a->correlator, a->namespace != NULL, e->first_id, clock_mono_ms());
    a->denied_limit.period_ms = DENIED_LOG_MS;
    a->trouble_limit.period_ms = LOG_PERIOD_MS;
}

void events_tell_about(struct events *e, const struct events_object *o, enum event_reason reason, const char *text)
{
    if (e == NULL)
        return;
    struct events_object place = *o;
    struct about *about;
    place.namespace = o->namespace != NULL ? o->namespace : "default";
    HASH_FIND_STR(e->objects, place.namespace, about);
    if (about == NULL && HASH_COUNT(e->objects) == NAMESPACES_MAX)
        about = e->objects;
    if (about == NULL) {
        about = mem_alloc(sizeof(*about));
        about->namespace = mem_strdup(place.namespace);
        about_init(about, e);
        HASH_ADD_KEYPTR(hh, e->objects, about->namespace, strlen(about->namespace), about);
    }
    happened(e, about, &place, reason, text);
}

/* ---- what the API says ---- */

/* Of the log. */
static const char *events_field(const struct events_object *p)
{
    return str_eq(p->kind, "Service") ? "service" : str_eq(p->kind, "Secret") ? "secret" : "object";
}

static void log_trouble(struct events *e, struct log_limit *limit, const char *what, const char *hint,
                        const struct item *item, const struct error *err)
{
    const struct events_object place = events_place(e, item);
    unsigned held_back;
    if (kube_client_has_logged(e->in->kube, err->message) ||
        !log_limit_pass_message(limit, clock_mono_ms(), err->message, &held_back))
        return;
    item->about->in_trouble = true;
    log_warn(e->in->log, what, log_str("namespace", place.namespace), log_str(events_field(&place), place.name),
             log_str("event", event_reason_name(item->reason)), log_str("error", err->message), log_str("hint", hint),
             log_if(held_back > 0, log_int("repeated", held_back)));
}

static void denied(struct events *e, const struct item *item, const struct error *err)
{
    struct about *about = item->about;
    log_trouble(e, &about->denied_limit, "Kubernetes Events may not be written",
                "a rule in a Role of that namespace: apiGroups [\"\"], resources [events], verbs [create, patch]; or "
                "EMIT_EVENTS=false, CONFIG_REPORT=annotation",
                item, err);
    about->denied_until_ms = clock_mono_ms() + DENIED_PAUSE_MS;
    for (size_t i = e->count; i-- > 0;)
        if (e->queue[i].about == about)
            take_out(e, i, "denied");
}

static void later(struct events *e, const struct item *item, int64_t retry_after_ms, const struct error *err)
{
    uint64_t wait_ms = backoff_next_ms(&e->backoff);
    if (retry_after_ms > ITEM_AGE_MAX_MS)
        retry_after_ms = ITEM_AGE_MAX_MS; /* an answer may say 68 years */
    if (retry_after_ms > (int64_t)wait_ms)
        wait_ms = (uint64_t)retry_after_ms;
    e->not_before_ms = clock_mono_ms() + wait_ms;
    log_trouble(e, &item->about->trouble_limit, "cannot write a Kubernetes Event; retrying for 5 min", NULL, item, err);
}

static void events_on_done(void *arg, enum event_outcome outcome, int64_t retry_after_ms, const struct error *err)
{
    struct events *e = arg;
    struct item *item = &e->queue[0];
    struct about *about = item->about;
    const struct events_object place = events_place(e, item);
    e->busy = false;
    switch (outcome) {
    case EVENT_WRITTEN:
        correlator_set_written(&about->correlator, item->id, true);
        about->denied_until_ms = 0;
        backoff_reset(&e->backoff);
        if (about->in_trouble)
            log_info(e->in->log, "Kubernetes Events are written again", log_str("namespace", place.namespace),
                     log_str(events_field(&place), place.name));
        about->in_trouble = false;
        log_limit_reset(&about->denied_limit);
        log_limit_reset(&about->trouble_limit);
        take_out(e, 0, "written");
        break;
    case EVENT_GONE:
    case EVENT_EXISTS: /* at once, the other way */
        correlator_set_written(&item->about->correlator, item->id, outcome == EVENT_EXISTS);
        if (item->tries >= ITEM_TRIES_AT_ONCE)
            later(e, item, -1, err);
        break;
    case EVENT_DENIED:
        denied(e, item, err);
        break;
    case EVENT_LATER:
        later(e, item, retry_after_ms, err);
        break;
    case EVENT_REFUSED:
        log_trouble(e, &item->about->trouble_limit, "Kubernetes Event refused; dropped", NULL, item, err);
        take_out(e, 0, "refused");
        break;
    }
    events_step(e);
}

/* ---- to the API ---- */

static void send_first(struct events *e)
{
    struct item *item = &e->queue[0];
    struct about *about = item->about;
    const struct events_object place = events_place(e, item);
    cleanup(mem_free_ptr) char *name = mem_printf("%s.%016" PRIx64, place.name, item->id);
    const struct event_object object = {.namespace = place.namespace,
                                        .name = name,
                                        .api_version = place.api_version,
                                        .kind = place.kind,
                                        .about = place.name,
                                        .uid = place.uid,
                                        .reason = event_reason_name(item->reason),
                                        .warning = event_reason_warns(item->reason),
                                        .message = item->message,
                                        .host = e->host,
                                        .first_ms = item->first_wall_ms,
                                        .last_ms = item->last_wall_ms,
                                        .count = item->count};
    struct error err = {0};
    item->tries++;
    e->busy = event_writer_send(e->writer, &object, correlator_is_written(&about->correlator, item->id), &err) == 0;
    if (!e->busy)
        later(e, item, -1, &err);
}

static void events_step(void *arg)
{
    struct events *e = arg;
    uint64_t now_ms = clock_mono_ms();
    if (e->busy)
        return;
    for (size_t i = e->count; i-- > 0;)
        if (now_ms - e->queue[i].since_ms >= ITEM_AGE_MAX_MS || e->queue[i].tries >= ITEM_TRIES_MAX)
            take_out(e, i, "dropped");
    if (e->count > 0 && now_ms >= e->not_before_ms)
        send_first(e);
    if (e->count > 0 && !e->busy)
        timer_set(&e->timer, e->not_before_ms > now_ms ? e->not_before_ms - now_ms : 1);
}

static void about_retry(struct about *a)
{
    a->denied_until_ms = 0;
    log_limit_reset(&a->denied_limit);
}

void events_poke(struct events *e)
{
    if (e == NULL)
        return;
    for (size_t i = 0; i < events_places(e); i++)
        about_retry(&e->about[i]);
    for (struct about *a = e->objects; a != NULL; a = a->hh.next)
        about_retry(a);
    e->not_before_ms = 0;
    if (e->count > 0 && !e->busy)
        timer_set(&e->timer, 0);
}

/* ---- life ---- */

struct events *events_new(const struct daemon *in, const struct mappings *mappings, const struct sources *sources,
                          const struct config_source *source, events_source_object_fn *source_object)
{
    const struct settings *s = in->settings;
    bool by_secret = s->config_source == SETTINGS_CONFIG_SECRET,
         by_template = s->config_source == SETTINGS_CONFIG_TEMPLATE,
         by_services = s->config_source == SETTINGS_CONFIG_SERVICES;
    bool of_secret = by_secret && (s->emit_events || s->config_report == SETTINGS_REPORT_EVENTS);
    bool of_others = s->emit_events && (by_template || by_services || mappings->count > 0);
    if (s->dry_run || (!of_secret && !of_others))
        return NULL;
    struct events *e = mem_alloc(sizeof(*e));
    unsigned seed = backoff_random_seed();
    bool by_object = by_secret || (by_template && s->template_from.namespace != NULL);
    *e = (struct events){.in = in,
                         .mappings = mappings,
                         .sources = sources,
                         .source = by_object ? source : NULL,
                         .source_object = source_object};
    host_name(e->host);
    if (e->host[0] == '\0')
        snprintf(e->host, sizeof(e->host), "unknown");
    timer_init(&e->timer, in->base, events_step, e);
    e->writer = event_writer_new(in->kube, events_on_done, e);
    e->about = mem_array(events_places(e), sizeof(e->about[0]));
    e->first_id = clock_wall_ms() * 1000000u + seed % 1000000u;
    for (size_t i = 0; i < events_places(e); i++)
        about_init(&e->about[i], e);
    backoff_init(&e->backoff, 1000, 60000, 500, seed);
    e->dropped_limit.period_ms = LOG_PERIOD_MS;
    e->listener = (struct history_listener){.added = on_entry, .arg = e};
    if (s->emit_events)
        history_listen(in->history, &e->listener);
    return e;
}

void events_free(struct events *e)
{
    if (e == NULL)
        return;
    if (e->in->settings->emit_events)
        history_forget_listener(&e->listener);
    event_writer_free(e->writer);
    timer_fini(&e->timer);
    for (size_t i = 0; i < e->count; i++)
        item_fini(&e->queue[i]);
    struct about *a, *next;
    HASH_ITER (hh, e->objects, a, next) {
        HASH_DEL(e->objects, a); /* NOLINT(clang-analyzer-unix.Malloc) */
        mem_free_all(a->namespace, a);
    }
    mem_free_all(e->about, e);
}

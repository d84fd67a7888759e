#include "daemon/template/watches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/mappings.h"
#include "daemon/source.h"
#include "daemon/template/losses.h"
#include "daemon/template/namespace_sink.h"
#include "daemon/template/template_source.h"
#include "host/timer.h"
#include "kube/client.h"
#include "kube/decode/decode_field.h"
#include "kube/discovery.h"
#include "kube/outage.h"
#include "model/cache.h"
#include "report/checks.h"
#include "template/json_path.h"
#include "template/keep.h"
#include "template/objects.h"
#include "template/set.h"

#define ASK_FIRST_MS 1000
#define ASK_MAX_MS 30000

/* All of a resource, or its objects in one namespace. */
struct part {
    struct watch_entry *of;
    char *namespace; /* NULL: all, or it has none */
    struct source source;
    struct namespace_sink *sink; /* NULL: all namespaces, or none */
};

/* One resource of the set. */
struct watch_entry {
    struct watches *in;
    const struct template_watch *watch;
    size_t number;
    char *text; /* "networking.k8s.io/v1 Ingress" */
    struct discovery *discovery;
    struct timer ask;
    struct backoff backoff;
    struct error problem;          /* of the last time that it was looked up; GONE: it is not served */
    struct discovered found;       /* plural NULL: not found yet */
    struct kube_resource resource; /* made of it */
    char *kind, *api;
    struct part **parts;
    size_t part_count;
    struct log_limit limit;
};

struct watches {
    unsigned references;      /* besides the first */
    struct template_set *set; /* the first that is watched so */
    struct template_set *now; /* the one whose namespaces are watched */
    struct event_base *base;
    struct template_source_options options;
    void (*changed)(void *arg, const char *cause);
    void *arg;
    struct objects *objects;
    struct losses *losses;
    struct watch_entry *list;
    size_t count;
    struct timer tell; /* out of libcurl's callbacks */
    char *cause;       /* of the first change that is not reported yet */
    struct kube_client_listener listener;
    bool running, settled;
    bool complete; /* it was settled once: what is new and may not be read holds up no other */
};

static void watches_note(struct watches *w, const char *cause)
{
    if (w->cause == NULL)
        w->cause = mem_strdup(cause);
    timer_set_sooner(&w->tell, 0);
}

static void watches_on_tell(void *arg)
{
    struct watches *w = arg;
    cleanup(mem_free_ptr) char *cause = w->cause;
    w->cause = NULL;
    w->changed(w->arg, cause != NULL ? cause : "");
}

/* ---- one that was found: its informers ---- */

static int watch_decode(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct template_object *o = object, *kept = template_keep(d->of->arg, from, err);
    if (kept == NULL)
        return -1;
    o->json = kept->json; /* its name is there */
    kept->json = NULL;
    record_free(&template_object_record, kept);
    return 0;
}

static void part_on_changed(void *arg, const char *cause, uint64_t received_us)
{
    const struct part *p = arg;
    (void)received_us;
    watches_note(p->of->in, cause);
}

static void part_on_moved(void *arg)
{
    const struct part *p = arg;
    if (!p->of->in->settled) /* how a watch stands is no other object */
        watches_note(p->of->in, "what can be watched");
}

static void part_begin(struct watch_entry *e, const char *namespace)
{
    const struct watches *w = e->in;
    struct cache *cache = objects_cache(w->objects, e->number);
    struct part *p = mem_alloc(sizeof(*p));
    p->of = e;
    p->namespace = mem_strdup(namespace);
    p->source = (struct source){.scope = p->namespace,
                                .metrics = w->options.metrics,
                                .changed = part_on_changed,
                                .moved = part_on_moved,
                                .arg = p};
    if (namespace != NULL)
        p->sink = namespace_sink_new(cache, namespace);
    const struct informer_sink sink = p->sink != NULL ? namespace_sink_of(p->sink) : informer_sink_cache(cache);
    const struct informer_options options = {.resource = &e->resource,
                                             .namespace = p->namespace,
                                             .label_selector = e->watch->label_selector,
                                             .field_selector = e->watch->field_selector,
                                             .scope = p->namespace,
                                             .scope_is = "namespace"};
    source_init(&p->source, w->base, w->options.kube, w->options.log, &options, &sink);
    e->parts = mem_resize(e->parts, e->part_count + 1, sizeof(e->parts[0]));
    e->parts[e->part_count++] = p;
    informer_start(p->source.informer);
}

static void part_free(struct part *p)
{
    source_fini(&p->source);
    namespace_sink_free(p->sink);
    mem_free_all(p->namespace, p);
}

/* Those that its namespaces ask for, and no other. */
static void watch_follow(struct watch_entry *e)
{
    char *const *namespaces = e->found.namespaced ? e->in->now->watches[e->number].namespaces : NULL;
    struct losses *losses = e->in->losses;
    size_t kept = 0;
    if (namespaces == NULL) {
        if (e->part_count == 0)
            part_begin(e, NULL);
        return;
    }
    for (size_t i = 0; i < e->part_count; i++) {
        struct part *p = e->parts[i];
        char *const *name = namespaces;
        while (*name != NULL && !str_eq(*name, p->namespace))
            name++;
        if (*name != NULL) {
            e->parts[kept++] = p;
            continue;
        }
        informer_stop(p->source.informer);
        losses_announce(losses, true);
        informer_forget(p->source.informer); /* its objects go with it */
        losses_announce(losses, false);
        part_free(p);
    }
    e->part_count = kept;
    for (char *const *name = namespaces; *name != NULL; name++) {
        size_t i = 0;
        while (i < e->part_count && !str_eq(e->parts[i]->namespace, *name))
            i++;
        if (i == e->part_count)
            part_begin(e, *name);
    }
}

/* ---- lookups ---- */

static void watch_on_found(void *arg, struct discovered *found, const struct error *err)
{
    struct watch_entry *e = arg;
    unsigned held_back;
    e->discovery = NULL;
    if (found != NULL) {
        e->found = *found;
        *found = (struct discovered){0};
        if (e->problem.kind != ERROR_NONE)
            log_info(e->in->options.log, "resource of the templates is served now", log_str("resource", e->text));
        error_clear(&e->problem);
        e->kind = mem_strdup(e->found.kind);
        for (char *at = e->kind; *at != '\0'; at++)
            *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
        e->api = discovery_path(e->watch->api_version);
        e->resource = (struct kube_resource){.kind = e->kind,
                                             .plural = e->found.plural,
                                             .api = e->api,
                                             .record = &template_object_record,
                                             .decode = watch_decode,
                                             .by_namespace = e->found.namespaced,
                                             .arg = e->watch};
        watch_follow(e);
        if (e->part_count == 0) /* of no namespace: no informer reports it */
            watches_note(e->in, "what can be watched");
        return;
    }
    if (kube_client_has_logged(e->in->options.kube, err->message))
        log_debug(e->in->options.log, "resource of the templates out of reach", log_str("resource", e->text),
                  log_str("error", err->message));
    else if (log_limit_pass_message(&e->limit, clock_mono_ms(), err->message, &held_back))
        log_warn(e->in->options.log, "resource of the templates cannot be watched; asked for again",
                 log_str("name", e->watch->name), log_str("resource", e->text), log_str("error", err->message));
    e->problem = *err;
    timer_set(&e->ask, backoff_next_ms(&e->backoff));
    watches_note(e->in, "what can be watched");
}

static void watch_ask(void *arg)
{
    struct watch_entry *e = arg;
    struct error err = {0};
    if (e->found.plural != NULL || e->discovery != NULL || !e->in->running)
        return;
    e->discovery = discovery_start(e->in->options.kube, e->watch->api_version, e->watch->kind, e->watch->plural,
                                   watch_on_found, e, &err);
    if (e->discovery == NULL)
        watch_on_found(e, NULL, &err);
}

/* ---- how it stands ---- */

bool watches_decides(const struct informer_status *status, bool complete)
{
    return status->synced || status->denied == INFORMER_NOT_SERVED ||
           (status->denied == INFORMER_FORBIDDEN && complete);
}

bool watches_settled(struct watches *w)
{
    w->settled = true;
    for (size_t i = 0; i < w->count; i++) {
        const struct watch_entry *e = &w->list[i];
        bool found = e->found.plural != NULL;
        w->settled = w->settled && (found || e->problem.kind == ERROR_GONE);
        for (size_t k = 0; found && k < e->part_count; k++) {
            const struct informer_status status = source_status(&e->parts[k]->source);
            w->settled = w->settled && watches_decides(&status, w->complete);
        }
    }
    w->complete = w->complete || w->settled;
    return w->settled;
}

bool watches_ready(const struct watches *w, struct checks *checks)
{
    bool all = true;
    for (size_t i = 0; w != NULL && i < w->count; i++) {
        const struct watch_entry *e = &w->list[i];
        bool gone = e->problem.kind == ERROR_GONE;
        if (e->found.plural == NULL)
            checks_add(
                checks, gone ? CHECK_WARN : CHECK_FAIL, mem_printf("watch %s", e->text),
                e->problem.kind == ERROR_NONE
                    ? mem_strdup("waiting for the first answer")
                    : mem_printf("cannot be watched%s: %s", gone ? ", continuing without it" : "", e->problem.message),
                e->problem.http_status == 403 ? mem_strdup(kube_refusal_hint(e->problem.message)) : NULL);
        all = all && (gone || e->found.plural != NULL);
        char *delayed = losses_text(w->losses, i);
        if (delayed != NULL)
            checks_add(checks, CHECK_WARN, mem_printf("removals of %s", e->watch->name), delayed, NULL);
        for (size_t k = 0; k < e->part_count; k++)
            all = source_ready(&e->parts[k]->source, source_status(&e->parts[k]->source).denied != INFORMER_NOT_SERVED,
                               checks) &&
                  all;
    }
    return all;
}

struct objects *watches_objects(const struct watches *w)
{
    return w->objects;
}

struct losses *watches_losses(const struct watches *w)
{
    return w->losses;
}

size_t watches_count(const struct watches *w)
{
    return w->count;
}

/* The worst of its parts. */
static const char *watch_state(const struct watch_entry *e)
{
    const char *state = "synced";
    if (e->found.plural == NULL)
        return e->problem.kind == ERROR_GONE                                    ? "not served"
               : e->problem.http_status == 401 || e->problem.http_status == 403 ? "refused"
                                                                                : "waiting";
    for (size_t k = 0; k < e->part_count; k++) {
        struct informer_status status = source_status(&e->parts[k]->source);
        if (status.denied != INFORMER_ALLOWED)
            return status.denied == INFORMER_NOT_SERVED ? "not served" : "refused";
        if (!status.synced)
            state = "waiting";
        else if (status.stale && str_eq(state, "synced"))
            state = "stale";
    }
    return state;
}

void watches_view(const struct watches *w, size_t i, struct watch_view *ret)
{
    const struct watch_entry *e = &w->list[i];
    const struct cache *cache = objects_cache(w->objects, i);
    *ret = (struct watch_view){.name = e->watch->name,
                               .resource = e->text,
                               .state = watch_state(e),
                               .objects = cache_count(cache),
                               .bytes = cache_bytes(cache),
                               .delayed = losses_view(w->losses, i).delayed};
    ret->synced = str_eq(ret->state, "synced") || str_eq(ret->state, "stale");
    snprintf(ret->problem, sizeof(ret->problem), "%.500s", e->problem.message);
    for (size_t k = 0; k < e->part_count && ret->problem[0] == '\0'; k++)
        snprintf(ret->problem, sizeof(ret->problem), "%s", source_status(&e->parts[k]->source).problem);
}

/* ---- what two sets share ---- */

static bool paths_same(const struct template_paths *a, const struct template_paths *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct json_path *x = a->list[i], *y = b->list[i];
        if (x->count != y->count)
            return false;
        for (size_t k = 0; k < x->count; k++)
            if (x->steps[k].kind != y->steps[k].kind || !str_eq(x->steps[k].field, y->steps[k].field) ||
                x->steps[k].index != y->steps[k].index)
                return false;
    }
    return true;
}

static bool namespaces_same(char *const *a, char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    for (; *a != NULL && *b != NULL; a++, b++)
        if (!str_eq(*a, *b))
            return false;
    return *a == *b; /* both end with NULL */
}

/* follows: they may list other namespaces. */
static bool watch_same(const struct template_watch *a, const struct template_watch *b, bool follows)
{
    return str_eq(a->name, b->name) && str_eq(a->api_version, b->api_version) && str_eq(a->kind, b->kind) &&
           str_eq(a->plural, b->plural) && (a->namespaces == NULL) == (b->namespaces == NULL) &&
           (follows || namespaces_same(a->namespaces, b->namespaces)) && str_eq(a->label_selector, b->label_selector) &&
           str_eq(a->field_selector, b->field_selector) && paths_same(&a->index_by, &b->index_by) &&
           paths_same(&a->keep, &b->keep) && paths_same(&a->drop, &b->drop);
}

struct watches *watches_share(struct watches *w, struct template_set *set, bool follows)
{
    if (w == NULL || w->set->watch_count != set->watch_count)
        return NULL;
    for (size_t i = 0; i < set->watch_count; i++)
        if (!watch_same(&w->set->watches[i], &set->watches[i], follows))
            return NULL;
    w->references++;
    if (!follows)
        return w;
    template_set_free(w->now);
    w->now = template_set_ref(set);
    for (size_t i = 0; i < w->count; i++)
        if (w->list[i].found.plural != NULL)
            watch_follow(&w->list[i]);
    w->settled = false;
    return w;
}

/* ---- life ---- */

static void watches_on_credentials(void *arg)
{
    watches_poke(arg);
}

struct watches *watches_new(struct event_base *base, struct template_set *set,
                            const struct template_source_options *options,
                            void (*changed)(void *arg, const char *cause), void *arg)
{
    struct watches *w = mem_alloc(sizeof(*w));
    *w = (struct watches){.set = template_set_ref(set),
                          .now = template_set_ref(set),
                          .base = base,
                          .options = *options,
                          .changed = changed,
                          .arg = arg,
                          .objects = objects_new(set)};
    const struct plan_rules rules = rules_for_plan(options->settings);
    w->losses = losses_new(set, w->objects, rules.max_loss_percent, rules.loss_window_ms);
    timer_init(&w->tell, base, watches_on_tell, w);
    w->count = set->watch_count;
    w->list = mem_array(w->count, sizeof(w->list[0]));
    for (size_t i = 0; i < w->count; i++) {
        struct watch_entry *e = &w->list[i];
        const struct template_watch *t = &set->watches[i];
        *e = (struct watch_entry){.in = w, .watch = t, .number = i};
        e->text = mem_printf("%s %s", t->api_version, template_watch_kind(t));
        e->limit.period_ms = 600000;
        backoff_init(&e->backoff, ASK_FIRST_MS, ASK_MAX_MS, ASK_FIRST_MS / 2, backoff_random_seed());
        timer_init(&e->ask, w->base, watch_ask, e);
    }
    w->listener = (struct kube_client_listener){.on_credentials = watches_on_credentials, .arg = w};
    kube_client_on_credentials(options->kube, &w->listener);
    return w;
}

void watches_free(struct watches *w)
{
    if (w == NULL || w->references-- > 0)
        return;
    kube_client_forget_listener(&w->listener);
    for (size_t i = 0; i < w->count; i++) {
        struct watch_entry *e = &w->list[i];
        discovery_free(e->discovery);
        timer_fini(&e->ask);
        for (size_t k = 0; k < e->part_count; k++)
            part_free(e->parts[k]);
        free(e->parts);
        discovered_fini(&e->found);
        mem_free_all(e->kind, e->api, e->text);
    }
    free(w->list);
    timer_fini(&w->tell);
    objects_free(w->objects);
    losses_free(w->losses);
    template_set_free(w->set);
    template_set_free(w->now);
    mem_free_all(w->cause, w);
}

void watches_start(struct watches *w)
{
    w->running = true;
    for (size_t i = 0; i < w->count; i++)
        timer_set(&w->list[i].ask, 0);
    watches_note(w, "a template set");
}

void watches_stop(struct watches *w)
{
    w->running = false;
    for (size_t i = 0; i < w->count; i++) {
        timer_cancel(&w->list[i].ask);
        for (size_t k = 0; k < w->list[i].part_count; k++)
            informer_stop(w->list[i].parts[k]->source.informer);
    }
}

void watches_poke(struct watches *w)
{
    for (size_t i = 0; w->running && i < w->count; i++) {
        timer_set(&w->list[i].ask, 0);
        for (size_t k = 0; k < w->list[i].part_count; k++)
            informer_poke(w->list[i].parts[k]->source.informer);
    }
}

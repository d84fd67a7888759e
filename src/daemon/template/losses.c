#include "daemon/template/losses.h"

#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/write.h"
#include "model/cache.h"
#include "servers/change/loss_limit.h"
#include "template/objects.h"
#include "template/pods.h"
#include "template/set.h"

enum losses_kind { LOSSES_OF_OBJECTS, LOSSES_OF_CLASSES, LOSSES_OF_PODS, LOSSES_OF_ENDPOINTS };

/* An object as it was; of several lost endpoints one. */
struct past {
    size_t references;
    char *name, *json;
};

/* There is one for each endpoint of the cluster: small, and in the C library's tree (model/cache). */
struct member {
    unsigned there; /* in so many objects that are there now */
    unsigned since; /* the number of the last decision before it came: what no render has seen is no loss */
    unsigned lost;  /* its place in the group's list, from 1 on; 0: it is not lost */
    char name[];
};

struct lost {
    struct member *member;
    struct past *past; /* as it was last */
};

struct group {
    UT_hash_handle hh;
    void *members; /* of pointers to the names of members */
    size_t member_count;
    struct lost *lost;
    size_t lost_count;
    size_t there, fresh; /* members that are there; of those that came since decision fresh_since */
    unsigned fresh_since;
    struct loss_limit limit;
    char name[];
};

struct followed {
    struct losses *in;
    enum losses_kind kind;
    const struct template_watch *watch;
    struct cache *cache;
    struct group *groups;
};

struct losses {
    unsigned max_percent;
    uint64_t period_ms;
    bool announced;
    bool changed;  /* since it was asked last */
    bool recalled; /* and nothing was decided since: what is lost is not known */
    bool (*withheld)(void *arg, const char *resource, const char *name); /* NULL: nothing is */
    void *withheld_arg;
    unsigned decisions;
    struct followed *list;
    size_t count;
};

/* ---- groups and members ---- */

static void past_drop(struct past *p)
{
    if (p == NULL || --p->references > 0)
        return;
    mem_free_all(p->name, p->json, p);
}

static struct group *group_need(struct followed *f, const char *name)
{
    struct group *g;
    HASH_FIND_STR(f->groups, name, g);
    if (g != NULL)
        return g;
    size_t bytes = strlen(name) + 1;
    g = mem_alloc(sizeof(*g) + bytes);
    memcpy(g->name, name, bytes);
    HASH_ADD_STR(f->groups, name, g);
    return g;
}

static int member_order(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct member *member_of(void *const *node)
{
    return node != NULL ? (struct member *)((uintptr_t)*node - offsetof(struct member, name)) : NULL;
}

static struct member *member_find(const struct group *g, const char *name)
{
    return member_of(tfind(name, &g->members, member_order));
}

static void member_drop_unused(struct group *g, struct member *m)
{
    if (m->there > 0 || m->lost > 0)
        return;
    (void)tdelete(m->name, &g->members, member_order);
    g->member_count--;
    free(m);
}

/* It is back, announced, or need not stay any longer. */
static void member_unlose(struct group *g, struct member *m)
{
    if (m->lost == 0)
        return;
    struct lost *place = &g->lost[m->lost - 1];
    past_drop(place->past);
    *place = g->lost[--g->lost_count];
    place->member->lost = m->lost;
    m->lost = 0;
}

static void member_free(void *name)
{
    void *const node = name;
    free(member_of(&node));
}

static void group_free(struct followed *f, struct group *g)
{
    HASH_DEL(f->groups, g); /* NOLINT(clang-analyzer-unix.Malloc) */
    for (size_t i = 0; i < g->lost_count; i++)
        past_drop(g->lost[i].past);
    tdestroy(g->members, member_free);
    loss_limit_fini(&g->limit);
    mem_free_all(g->lost, g);
}

void losses_free(struct losses *l)
{
    for (size_t i = 0; l != NULL && i < l->count; i++) {
        struct group *g, *next;
        HASH_ITER (hh, l->list[i].groups, g, next)
            group_free(&l->list[i], g);
    }
    if (l != NULL)
        free(l->list);
    free(l);
}

/* ---- what comes and goes: of one that changes first what it was goes, then what it is comes ---- */

struct losses_event {
    struct followed *f;
    bool announced;
    struct past *past; /* of one that goes; NULL: it comes */
};

struct seen_member {
    const char *group, *name;
    bool ready, announced;
};

static void member_goes(const struct losses_event *e, const struct seen_member *seen)
{
    struct group *g = group_need(e->f, seen->group);
    struct member *m = seen->ready ? member_find(g, seen->name) : NULL;
    if (m == NULL || m->there == 0 || --m->there > 0)
        return;
    bool fresh = m->since == e->f->in->decisions;
    g->there--;
    g->fresh -= fresh;
    if (!fresh && !seen->announced && !e->announced) {
        g->lost = mem_resize(g->lost, g->lost_count + 1, sizeof(g->lost[0]));
        g->lost[g->lost_count++] = (struct lost){m, e->past};
        m->lost = (unsigned)g->lost_count;
        e->past->references++;
    }
    member_drop_unused(g, m);
}

static void member_comes(const struct losses_event *e, const struct seen_member *seen)
{
    struct group *g = group_need(e->f, seen->group);
    struct member *m = member_find(g, seen->name);
    if (m == NULL && seen->ready) {
        size_t bytes = strlen(seen->name) + 1;
        m = mem_alloc(sizeof(*m) + bytes);
        memcpy(m->name, seen->name, bytes);
        if (tsearch(m->name, &g->members, member_order) == NULL)
            abort(); /* as base/mem without memory */
        g->member_count++;
    }
    if (seen->ready && m->there++ == 0) {
        bool fresh = m->lost == 0;
        m->since = fresh ? e->f->in->decisions : m->since;
        g->fresh = (g->fresh_since == e->f->in->decisions ? g->fresh : 0) + fresh;
        g->fresh_since = e->f->in->decisions;
        g->there++;
    }
    if (m == NULL || (!seen->ready && !seen->announced))
        return;
    member_unlose(g, m);
    member_drop_unused(g, m);
}

static bool is_condition(yyjson_val *endpoint, const char *name, bool otherwise)
{
    yyjson_val *v = yyjson_obj_get(yyjson_obj_get(endpoint, "conditions"), name);
    return yyjson_is_bool(v) ? yyjson_get_bool(v) : otherwise;
}

static const char *endpoint_address(yyjson_val *endpoint)
{
    return yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(endpoint, "addresses")));
}

/* Its members: the endpoints of an EndpointSlice, else itself. */
static void object_moves(const struct losses_event *e, const struct template_object *o)
{
    void (*fn)(const struct losses_event *e, const struct seen_member *seen) =
        e->past != NULL ? member_goes : member_comes;
    enum losses_kind kind = e->f->kind;
    yyjson_doc *doc = yyjson_read(o->json, strlen(o->json), 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *meta = yyjson_obj_get(root, "metadata"), *one;
    size_t namespace_len = strchr(o->name, '/') != NULL ? strcspn(o->name, "/") : 0, i, max;
    cleanup(mem_free_ptr) char *namespace = mem_strndup(o->name, namespace_len);
    if (kind != LOSSES_OF_ENDPOINTS) {
        const struct seen_member m = {.group = kind == LOSSES_OF_PODS      ? namespace
                                               : kind == LOSSES_OF_CLASSES ? o->name
                                                                           : "",
                                      .name = o->name,
                                      .ready = kind != LOSSES_OF_PODS || pods_is_ready(root),
                                      .announced = yyjson_obj_get(meta, "deletionTimestamp") != NULL};
        fn(e, &m);
        yyjson_doc_free(doc);
        return;
    }
    const char *service = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(meta, "labels"), "kubernetes.io/service-name"));
    cleanup(mem_free_ptr) char *group =
        namespace_len > 0 && service != NULL ? mem_printf("%s/%s", namespace, service) : NULL;
    yyjson_arr_foreach (yyjson_obj_get(root, "endpoints"), i, max, one) {
        const struct seen_member m = {.group = group,
                                      .name = endpoint_address(one),
                                      .ready = is_condition(one, "ready", true),
                                      .announced = is_condition(one, "terminating", false)};
        if (group != NULL && m.name != NULL)
            fn(e, &m);
    }
    yyjson_doc_free(doc);
}

static void followed_goes(void *arg, const void *object)
{
    struct followed *f = arg;
    const struct template_object *o = object;
    struct losses *l = f->in;
    l->changed = true;
    bool withheld = l->withheld != NULL && l->withheld(l->withheld_arg, f->watch->name, o->name);
    const struct losses_event e = {.f = f, .announced = l->announced || withheld, .past = mem_alloc(sizeof(*e.past))};
    *e.past = (struct past){.references = 1, .name = mem_strdup(o->name), .json = mem_strdup(o->json)};
    object_moves(&e, o);
    past_drop(e.past);
}

static void followed_comes(void *arg, const void *object)
{
    const struct losses_event e = {.f = arg};
    e.f->in->changed = true;
    object_moves(&e, object);
}

static enum losses_kind losses_kind_of(const struct template_watch *w)
{
    if (str_has_prefix(w->api_version, "discovery.k8s.io/") &&
        (str_eq(w->kind, "EndpointSlice") || str_eq(w->plural, "endpointslices")))
        return LOSSES_OF_ENDPOINTS;
    if (str_eq(w->api_version, "v1") && (str_eq(w->kind, "Pod") || str_eq(w->plural, "pods")))
        return LOSSES_OF_PODS;
    return (w->kind != NULL && str_has_suffix(w->kind, "Class")) ||
                   (w->plural != NULL && str_has_suffix(w->plural, "classes"))
               ? LOSSES_OF_CLASSES
               : LOSSES_OF_OBJECTS;
}

struct losses *losses_new(const struct template_set *set, const struct objects *of, unsigned max_percent,
                          uint64_t period_ms)
{
    struct losses *l = mem_alloc(sizeof(*l));
    *l =
        (struct losses){.max_percent = max_percent, .period_ms = period_ms, .changed = true, .count = set->watch_count};
    l->list = mem_array(l->count, sizeof(l->list[0]));
    for (size_t i = 0; i < l->count; i++) {
        struct followed *f = &l->list[i];
        const struct template_watch *w = &set->watches[i];
        *f = (struct followed){.in = l, .kind = losses_kind_of(w), .watch = w, .cache = objects_cache(of, i)};
        if (max_percent < 100)
            cache_follow(f->cache, followed_comes, followed_goes, f);
    }
    return l;
}

void losses_withhold(struct losses *l, bool (*withheld)(void *arg, const char *resource, const char *name), void *arg)
{
    l->withheld = withheld;
    l->withheld_arg = arg;
}

void losses_announce(struct losses *l, bool announced)
{
    l->announced = announced;
}

/* ---- which stay ---- */

static bool member_returned(const void *arg, const char *name)
{
    const struct member *m = member_find(arg, name);
    return m != NULL && m->there > 0;
}

/* Live is what the render before was given. An object that is the only one may go. */
static uint64_t group_decide(struct losses *l, const struct followed *f, struct group *g, uint64_t now_ms)
{
    uint64_t due_ms = 0, until_ms;
    if (g->lost_count == 0 && g->limit.count == 0)
        return 0;
    size_t live = g->there + g->lost_count - (g->fresh_since + 1 == l->decisions ? g->fresh : 0);
    cleanup(mem_free_ptr) const char **lost = mem_array(g->lost_count, sizeof(lost[0]));
    for (size_t i = 0; i < g->lost_count; i++)
        lost[i] = g->lost[i].member->name;
    const struct loss_limit_report report = {.lost = lost,
                                             .lost_count = g->lost_count,
                                             .live = f->kind == LOSSES_OF_OBJECTS && live == 1 ? 2 : live,
                                             .max_percent = l->max_percent,
                                             .period_ms = l->period_ms,
                                             .now_ms = now_ms,
                                             .returned = member_returned,
                                             .arg = g};
    loss_limit_report(&g->limit, &report);
    for (size_t i = g->lost_count; i-- > 0;) { /* another one takes the place of one that goes */
        struct member *m = g->lost[i].member;
        if (!loss_limit_delays(&g->limit, m->name, now_ms, &until_ms)) {
            l->changed = true;
            member_unlose(g, m);
            member_drop_unused(g, m);
        } else if (due_ms == 0 || until_ms < due_ms) {
            due_ms = until_ms;
        }
    }
    return due_ms;
}

uint64_t losses_decide(struct losses *l, uint64_t now_ms)
{
    uint64_t due_ms = 0;
    l->decisions++;
    l->recalled = false;
    for (size_t i = 0; i < l->count; i++) {
        struct group *g, *next;
        HASH_ITER (hh, l->list[i].groups, g, next) {
            uint64_t due = group_decide(l, &l->list[i], g, now_ms);
            due_ms = due != 0 && (due_ms == 0 || due < due_ms) ? due : due_ms;
            if (g->member_count == 0 && g->limit.count == 0)
                group_free(&l->list[i], g);
        }
    }
    return due_ms;
}

/* ---- given to a render ---- */

static void put_past(struct cache *to, const char *name, char *json)
{
    struct template_object *o = mem_alloc(sizeof(*o));
    *o = (struct template_object){mem_strdup(name), json};
    (void)cache_put(to, o);
}

/* A slice of those endpoints of the group that are lost and were in this one. */
static char *slice_of_lost(const struct group *g, const struct past *past)
{
    yyjson_doc *was = yyjson_read(past->json, strlen(past->json), 0);
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(was, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *list = yyjson_mut_arr(doc);
    yyjson_val *one;
    size_t i, max;
    yyjson_arr_foreach (yyjson_obj_get(yyjson_doc_get_root(was), "endpoints"), i, max, one) {
        const char *name = endpoint_address(one);
        const struct member *m = name != NULL ? member_find(g, name) : NULL;
        if (m != NULL && m->lost > 0 && g->lost[m->lost - 1].past == past)
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, one));
    }
    yyjson_mut_obj_put(root, yyjson_mut_str(doc, "endpoints"), list);
    yyjson_doc_free(was);
    return json_take(doc);
}

static void group_apply(const struct followed *f, const struct group *g, struct cache *to)
{
    size_t number = 0;
    for (size_t i = 0; i < g->lost_count; i++) {
        const struct past *past = g->lost[i].past;
        bool first = true;
        if (f->kind != LOSSES_OF_ENDPOINTS) {
            put_past(to, past->name, mem_strdup(past->json));
            continue;
        }
        for (size_t k = 0; k < i && first; k++)
            first = g->lost[k].past != past;
        if (first) {
            cleanup(mem_free_ptr) char *name = mem_printf("%s~%zu", past->name, ++number);
            put_past(to, name, slice_of_lost(g, past));
        }
    }
}

void losses_apply(const struct losses *l, struct objects *to)
{
    for (size_t i = 0; i < l->count; i++) {
        cache_follow(objects_cache(to, i), NULL, NULL, NULL); /* what is added was not seen */
        for (const struct group *g = l->list[i].groups; g != NULL; g = g->hh.next)
            group_apply(&l->list[i], g, objects_cache(to, i));
    }
}

/* ---- over a restart ---- */

/* How it is watched: of one that is watched otherwise now nothing is recalled. */
static void print_watch(const struct template_watch *w, struct buf *to)
{
    buf_printf(to, "# %s %s %s", w->name, w->api_version, template_watch_kind(w));
    buf_printf(to, " %s %s", w->label_selector != NULL ? w->label_selector : "",
               w->field_selector != NULL ? w->field_selector : "");
    for (char *const *namespace = w->namespaces; namespace != NULL && *namespace != NULL; namespace ++)
        buf_printf(to, " %s", *namespace);
    buf_add(to, "\n");
}

static void print_object(void *arg, const void *object)
{
    const struct template_object *o = object;
    buf_add(arg, o->name);
    buf_add(arg, " ");
    buf_add(arg, o->json);
    buf_add(arg, "\n");
}

void losses_print(const struct losses *l, struct buf *to)
{
    for (size_t i = 0; l->max_percent < 100 && i < l->count; i++) {
        const struct followed *f = &l->list[i];
        struct cache *lost = cache_new(&template_object_record);
        for (const struct group *g = f->groups; g != NULL; g = g->hh.next)
            group_apply(f, g, lost);
        print_watch(f->watch, to);
        cache_each(f->cache, print_object, to);
        cache_each(lost, print_object, to);
        cache_free(lost);
    }
}

static struct followed *losses_watched_as(const struct losses *l, const char *line)
{
    for (size_t i = 0; i < l->count; i++) {
        cleanup(buf_fini) struct buf own = {0};
        print_watch(l->list[i].watch, &own);
        if (strncmp(buf_str(&own), line, own.len - 1) == 0 && line[own.len - 1] == '\0')
            return &l->list[i];
    }
    return NULL;
}

/* As if each had come, been given to a render, and gone: a list that has it brings it back. */
void losses_recall(struct losses *l, const char *text)
{
    cleanup(mem_free_ptr) char *lines = mem_strdup(text);
    struct followed *f = NULL;
    char *rest = lines;
    l->recalled = true;
    for (char *line; l->max_percent < 100 && (line = strsep(&rest, "\n")) != NULL;) {
        char *json = strstr(line, " {");
        if (*line == '#')
            f = losses_watched_as(l, line);
        yyjson_doc *doc = *line != '#' && f != NULL && json != NULL ? yyjson_read(json + 1, strlen(json + 1), 0) : NULL;
        if (doc != NULL) {
            *json = '\0';
            const struct template_object o = {line, json + 1};
            followed_comes(f, &o);
            l->decisions++;
            followed_goes(f, &o);
        }
        yyjson_doc_free(doc);
    }
}

bool losses_changed(struct losses *l)
{
    bool changed = l->changed;
    l->changed = false;
    return changed;
}

/* ---- said of it ---- */

struct losses_view losses_view(const struct losses *l, size_t resource)
{
    const struct followed *f = &l->list[resource];
    struct losses_view v = {.endpoints = f->kind == LOSSES_OF_ENDPOINTS};
    for (const struct group *g = l->recalled ? NULL : f->groups; g != NULL; g = g->hh.next) {
        v.delayed += g->lost_count;
        v.groups += g->lost_count > 0;
    }
    return v;
}

char *losses_text(const struct losses *l, size_t resource)
{
    const struct losses_view v = losses_view(l, resource);
    if (v.delayed == 0)
        return NULL;
    cleanup(mem_free_ptr) char *of =
        v.endpoints ? mem_printf(" of %zu Service%s", v.groups, v.groups == 1 ? "" : "s") : NULL;
    return mem_printf(
        "%zu %s%s%s vanished unannounced, more than MAX_LOSS_PERCENT=%u at once: the removal of each is delayed by "
        "one RESYNC_PERIOD",
        v.delayed, v.endpoints ? "endpoint" : "object", v.delayed == 1 ? "" : "s", of != NULL ? of : "",
        l->max_percent);
}

#include "model/service_slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "model/cache.h"

struct group {
    UT_hash_handle hh;
    char *service;
    uint64_t changed; /* the number of its last change */
    size_t first, count;
};

struct service_slices {
    struct cache *cache;
    struct group *groups;             /* by service */
    const struct endpoint_set **sets; /* group by group */
    uint64_t changes;
    bool stale; /* the index is older than the cache */
};

struct service_slices *service_slices_new(void)
{
    struct service_slices *s = mem_alloc(sizeof(*s));
    s->cache = cache_new(&service_slice_record);
    return s;
}

static void group_drop(struct service_slices *s, struct group *g)
{
    /* The analyzer does not see that the table's own list has no g any more. */
    HASH_DEL(s->groups, g); /* NOLINT(clang-analyzer-unix.Malloc) */
    mem_free_all(g->service, g);
}

void service_slices_free(struct service_slices *s)
{
    struct group *g, *next;
    if (s == NULL)
        return;
    HASH_ITER (hh, s->groups, g, next)
        group_drop(s, g);
    cache_free(s->cache);
    mem_free_all(s->sets, s);
}

static struct group *group_find(struct service_slices *s, const char *service)
{
    struct group *g;
    HASH_FIND_STR(s->groups, service, g);
    return g;
}

static struct group *group_need(struct service_slices *s, const char *service)
{
    struct group *g = group_find(s, service);
    if (g != NULL)
        return g;
    g = mem_alloc(sizeof(*g));
    g->service = mem_strdup(service);
    HASH_ADD_STR(s->groups, service, g);
    return g;
}

/* ---- changes ---- */

static void note(struct service_slices *s, const char *service)
{
    s->stale = true;
    if (service != NULL)
        group_need(s, service)->changed = ++s->changes;
}

static void note_all(struct service_slices *s)
{
    s->changes++;
    s->stale = true;
    for (struct group *g = s->groups; g != NULL; g = g->hh.next)
        g->changed = s->changes;
}

bool service_slices_put(struct service_slices *s, struct service_slice *slice)
{
    const struct service_slice *was = cache_find(s->cache, slice->set.name);
    cleanup(mem_free_ptr) char *from = was != NULL ? mem_strdup(was->service) : NULL;
    cleanup(mem_free_ptr) char *to = mem_strdup(slice->service);
    bool changed = cache_put(s->cache, slice);
    if (changed) {
        note(s, from);
        note(s, to);
    }
    return changed;
}

bool service_slices_delete(struct service_slices *s, const char *name)
{
    const struct service_slice *was = cache_find(s->cache, name);
    cleanup(mem_free_ptr) char *from = was != NULL ? mem_strdup(was->service) : NULL;
    bool changed = cache_delete(s->cache, name);
    if (changed)
        note(s, from);
    return changed;
}

void service_slices_keep(struct service_slices *s, const char *name)
{
    cache_keep(s->cache, name);
}

void service_slices_begin(struct service_slices *s)
{
    cache_replace_begin(s->cache);
}

void service_slices_abort(struct service_slices *s)
{
    cache_replace_abort(s->cache);
}

bool service_slices_end(struct service_slices *s, size_t *ret_count)
{
    bool changed = cache_replace_end(s->cache);
    if (changed)
        note_all(s);
    *ret_count = cache_count(s->cache);
    return changed;
}

void service_slices_forget(struct service_slices *s)
{
    cache_forget(s->cache);
    note_all(s);
}

/* ---- the index ---- */

static void count_slice(void *arg, const void *object)
{
    struct service_slices *s = arg;
    const struct service_slice *slice = object;
    if (slice->service == NULL)
        return;
    struct group *g = group_need(s, slice->service);
    if (g->changed == 0) /* listed */
        g->changed = s->changes;
    g->count++;
}

static void place_slice(void *arg, const void *object)
{
    struct service_slices *s = arg;
    const struct service_slice *slice = object;
    if (slice->service == NULL)
        return;
    struct group *g = group_need(s, slice->service); /* it was counted */
    s->sets[g->first + g->count++] = &slice->set;
}

/* A group that has none left is dropped: 0 is another number than it had. */
static void slices_index(struct service_slices *s)
{
    struct group *g, *next;
    size_t at = 0;
    for (g = s->groups; g != NULL; g = g->hh.next)
        g->count = 0;
    cache_each(s->cache, count_slice, s);
    HASH_ITER (hh, s->groups, g, next) {
        g->first = at;
        at += g->count;
        if (g->count == 0)
            group_drop(s, g);
        else
            g->count = 0;
    }
    free(s->sets);
    s->sets = mem_array(at, sizeof(s->sets[0]));
    cache_each(s->cache, place_slice, s);
    s->stale = false;
}

struct service_slices_found service_slices_of(struct service_slices *s, const char *service)
{
    if (s->stale)
        slices_index(s);
    const struct group *g = group_find(s, service);
    if (g == NULL)
        return (struct service_slices_found){.count = 0};
    return (struct service_slices_found){&s->sets[g->first], g->count, g->changed};
}

#include "daemon/template/namespace_sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/cache.h"
#include "model/record.h"

struct seen {
    char *name;
};

static const struct record_member seen_members[] = {RECORD_TEXT(struct seen, name)};
static const struct record seen_record = {.bytes = sizeof(struct seen), .members = seen_members, .member_count = 1};

struct namespace_sink {
    struct cache *to;
    char *prefix;
    struct cache *seen; /* in the list that comes in; NULL: none does */
    bool synced;
    size_t count; /* by the last sweep */
};

struct sweep {
    const struct namespace_sink *sink;
    char **gone;
    size_t gone_count, there;
};

static void sink_forget_seen(struct namespace_sink *s)
{
    cache_free(s->seen);
    s->seen = NULL;
}

static void sink_see(struct namespace_sink *s, const char *name)
{
    if (s->seen == NULL)
        return;
    struct seen *seen = mem_alloc(sizeof(*seen));
    seen->name = mem_strdup(name);
    (void)cache_put(s->seen, seen);
}

static void sweep_one(void *arg, const void *object)
{
    struct sweep *w = arg;
    const char *name = record_name(object);
    if (!str_has_prefix(name, w->sink->prefix))
        return;
    if (w->sink->seen != NULL && cache_find(w->sink->seen, name) != NULL) {
        w->there++;
        return;
    }
    w->gone = mem_resize(w->gone, w->gone_count + 1, sizeof(w->gone[0]));
    w->gone[w->gone_count++] = mem_strdup(name);
}

/* Of the namespace's, those that were not seen go. */
static bool sink_sweep(struct namespace_sink *s)
{
    struct sweep w = {.sink = s};
    cache_each(s->to, sweep_one, &w);
    for (size_t i = 0; i < w.gone_count; i++) {
        (void)cache_delete(s->to, w.gone[i]);
        free(w.gone[i]);
    }
    free(w.gone);
    s->count = w.there;
    return w.gone_count > 0;
}

static bool namespace_sink_take(void *arg, const struct sink_change *change, size_t *ret_count)
{
    struct namespace_sink *s = arg;
    switch (change->step) {
    case SINK_BEGIN:
        sink_forget_seen(s);
        s->seen = cache_new(&seen_record);
        return false;
    case SINK_PUT: /* at once, within a list, too: it is how the object is now */
        sink_see(s, record_name(change->object));
        return cache_put(s->to, change->object);
    case SINK_REMOVE:
        if (s->seen != NULL)
            (void)cache_delete(s->seen, change->name);
        return cache_delete(s->to, change->name);
    case SINK_KEEP:
        sink_see(s, change->name);
        return false;
    case SINK_ABORT:
        sink_forget_seen(s);
        return false;
    case SINK_END: {
        bool changed = sink_sweep(s) || !s->synced;
        s->synced = true;
        sink_forget_seen(s);
        *ret_count = s->count;
        return changed;
    }
    case SINK_FORGET:
        sink_forget_seen(s);
        (void)sink_sweep(s);
        s->synced = false;
        return false;
    }
    return false;
}

struct namespace_sink *namespace_sink_new(struct cache *to, const char *namespace)
{
    struct namespace_sink *s = mem_alloc(sizeof(*s));
    *s = (struct namespace_sink){.to = to, .prefix = mem_printf("%s/", namespace)};
    return s;
}

void namespace_sink_free(struct namespace_sink *s)
{
    if (s == NULL)
        return;
    sink_forget_seen(s);
    mem_free_all(s->prefix, s);
}

struct informer_sink namespace_sink_of(struct namespace_sink *s)
{
    return (struct informer_sink){.take = namespace_sink_take, .arg = s};
}

#include "model/cache.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/record.h"

/* An object and everything it points to, in one allocation: with 50,000 nodes malloc's own overhead for three small
 * blocks each would be as much as the data. */
struct cached {
    uint64_t version; /* of the cache, when it became live */
    unsigned listed;  /* number of the last replace that listed it unchanged */
    unsigned bytes;   /* of the object */
    void *object[];   /* packed */
};

/* By name, in the C library's tree: for each entry that is 32 bytes in place of the 58 of uthash. */
struct entries {
    void *tree; /* of what the entries point to as object, whose first member is the name */
    size_t count;
};

/* live is what readers see. While a replace is open, aside holds what it listed and live does not have like that; what
 * live has already is marked by its number instead. */
struct cache {
    const struct record *record;
    struct entries live, aside;
    struct entries past; /* as they were, of those that went since cache_forget_past */
    bool keeps_past;
    size_t bytes; /* of live */
    uint64_t version, removed;
    unsigned replace;
    bool replacing;
    bool synced;
    void (*comes)(void *arg, const void *object); /* NULL, as goes: it is not followed */
    void (*goes)(void *arg, const void *object);
    void *arg;
};

struct cache *cache_new(const struct record *of)
{
    struct cache *c = mem_alloc(sizeof(*c));
    c->record = of;
    return c;
}

/* ---- entries ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(record_name(a), record_name(b));
}

static struct cached *entry_of(const void *object)
{
    return (struct cached *)((uintptr_t)object - offsetof(struct cached, object));
}

static struct cached *entries_find(const struct entries *in, const char *name)
{
    void *const *found = tfind(&name, &in->tree, by_name);
    return found != NULL ? entry_of(*found) : NULL;
}

static void entries_add(struct entries *to, struct cached *e)
{
    if (tsearch(e->object, &to->tree, by_name) == NULL)
        abort(); /* as base/mem without memory */
    to->count++;
}

static void keep_entry(void *object)
{
    (void)object;
}

static void free_entry(void *object)
{
    free(entry_of(object));
}

static void entries_clear(struct entries *all, void (*each)(void *object))
{
    tdestroy(all->tree, each);
    *all = (struct entries){0};
}

struct visitor {
    void (*fn)(void *arg, struct cached *e);
    void *arg;
};

static void visit(const void *node, VISIT when, void *arg)
{
    const struct visitor *v = arg;
    if (when == postorder || when == leaf)
        v->fn(v->arg, entry_of(*(void *const *)node));
}

/* By name. fn must add and remove none. */
static void entries_each(const struct entries *all, void (*fn)(void *arg, struct cached *e), void *arg)
{
    struct visitor v = {fn, arg};
    twalk_r(all->tree, visit, &v);
}

static void list_entry(void *arg, struct cached *e)
{
    struct cached ***end = arg;
    *(*end)++ = e;
}

/* All of them, for who adds or removes some meanwhile. The caller frees it. */
static struct cached **entries_list(const struct entries *all)
{
    struct cached **list = mem_array(all->count, sizeof(struct cached *)), **end = list;
    entries_each(all, list_entry, &end);
    return list;
}

/* ---- the cache ---- */

static void remove_entry(struct cache *c, struct entries *from, struct cached *e)
{
    if (from == &c->live) {
        c->bytes -= e->bytes;
        c->version++;
        if (c->goes != NULL)
            c->goes(c->arg, e->object);
    }
    (void)tdelete(e->object, &from->tree, by_name);
    from->count--;
    if (from == &c->live && c->keeps_past && entries_find(&c->past, record_name(e->object)) == NULL)
        entries_add(&c->past, e);
    else
        free(e);
}

void cache_free(struct cache *c)
{
    if (c == NULL)
        return;
    cache_forget(c);
    free(c);
}

static void cache_insert(struct cache *c, struct entries *to, struct cached *e)
{
    if (to == &c->live) {
        c->bytes += e->bytes;
        e->version = ++c->version;
        if (c->comes != NULL)
            c->comes(c->arg, e->object);
    }
    entries_add(to, e);
}

static bool put_changed(struct cache *c, const void *object, struct cached *live)
{
    struct entries *to = c->replacing ? &c->aside : &c->live;
    struct cached *old = entries_find(to, record_name(object));
    size_t bytes;
    if (old != NULL)
        remove_entry(c, to, old);
    struct cached *e = record_pack(c->record, object, sizeof(struct cached), &bytes);
    e->bytes = (unsigned)bytes;
    cache_insert(c, to, e);
    /* An earlier listing of the same name may have been like the live one; it is not the latest state any more. */
    if (c->replacing && live != NULL)
        live->listed = 0;
    return !c->replacing;
}

bool cache_put(struct cache *c, void *object)
{
    struct cached *live = entries_find(&c->live, record_name(object));
    bool same = live != NULL && record_eq(c->record, live->object, object), changed = false;
    if (!same) {
        changed = put_changed(c, object, live);
    } else if (c->replacing) { /* this is the latest state of the name so far */
        struct cached *earlier = entries_find(&c->aside, record_name(object));
        if (earlier != NULL)
            remove_entry(c, &c->aside, earlier);
        live->listed = c->replace;
    }
    record_free(c->record, object);
    return changed;
}

void cache_keep(struct cache *c, const char *name)
{
    struct cached *e = entries_find(&c->live, name);
    if (c->replacing && e != NULL && entries_find(&c->aside, name) == NULL)
        e->listed = c->replace;
}

bool cache_delete(struct cache *c, const char *name)
{
    struct cached *e = entries_find(&c->live, name);
    if (!c->replacing) {
        if (e != NULL) {
            remove_entry(c, &c->live, e);
            c->removed = c->version;
        }
        return e != NULL;
    }
    if (e != NULL)
        e->listed = 0;
    e = entries_find(&c->aside, name);
    if (e != NULL)
        remove_entry(c, &c->aside, e);
    return false;
}

void cache_replace_begin(struct cache *c)
{
    entries_clear(&c->aside, free_entry);
    c->replacing = true;
    if (++c->replace == 0) /* 0 means "not listed" */
        c->replace = 1;
}

void cache_replace_abort(struct cache *c)
{
    entries_clear(&c->aside, free_entry);
    c->replacing = false;
}

void cache_put_copy(struct cache *c, const void *object)
{
    (void)put_changed(c, object, NULL);
}

void cache_keep_past(struct cache *c)
{
    c->keeps_past = true;
}

const void *cache_past(const struct cache *c, const char *name)
{
    const struct cached *e = entries_find(&c->past, name);
    return e != NULL ? e->object : NULL;
}

void cache_forget_past(struct cache *c)
{
    entries_clear(&c->past, free_entry);
}

static void first_version(void *arg, struct cached *e)
{
    struct cache *c = arg;
    c->bytes += e->bytes;
    e->version = c->version + 1;
    if (c->comes != NULL)
        c->comes(c->arg, e->object);
}

void cache_follow(struct cache *c, void (*comes)(void *arg, const void *object),
                  void (*goes)(void *arg, const void *object), void *arg)
{
    c->comes = comes;
    c->goes = goes;
    c->arg = arg;
}

bool cache_replace_end(struct cache *c)
{
    if (!c->replacing)
        return false;
    bool changed = !c->synced || c->aside.count != 0;
    cleanup(mem_free_ptr) struct cached **all = entries_list(&c->live);
    for (size_t i = 0, count = c->live.count; i < count; i++) {
        if (all[i]->listed == c->replace)
            continue;
        remove_entry(c, &c->live, all[i]);
        c->removed = c->version;
        changed = true;
    }
    if (c->live.count == 0) { /* the usual first list: no need to build the tree twice */
        c->live = c->aside;
        entries_each(&c->live, first_version, c);
    } else {
        cleanup(mem_free_ptr) struct cached **came = entries_list(&c->aside);
        for (size_t i = 0; i < c->aside.count; i++)
            cache_insert(c, &c->live, came[i]);
        entries_clear(&c->aside, keep_entry);
    }
    c->aside = (struct entries){0};
    c->replacing = false;
    c->synced = true;
    c->version += changed;
    return changed;
}

bool cache_synced(const struct cache *c)
{
    return c->synced;
}

void cache_forget(struct cache *c)
{
    cache_replace_abort(c);
    cache_forget_past(c);
    entries_clear(&c->live, free_entry);
    c->bytes = 0;
    c->synced = false;
    c->removed = ++c->version;
}

size_t cache_count(const struct cache *c)
{
    return c->live.count;
}

size_t cache_bytes(const struct cache *c)
{
    return c->bytes;
}

const void *cache_find(const struct cache *c, const char *name)
{
    const struct cached *e = entries_find(&c->live, name);
    return e != NULL ? e->object : NULL;
}

struct reader {
    void (*fn)(void *arg, const void *object);
    void *arg;
    uint64_t since;
};

static void read_entry(void *arg, struct cached *e)
{
    const struct reader *r = arg;
    if (e->version > r->since)
        r->fn(r->arg, e->object);
}

void cache_each(const struct cache *c, void (*fn)(void *arg, const void *object), void *arg)
{
    cache_each_since(c, 0, fn, arg);
}

uint64_t cache_version(const struct cache *c)
{
    return c->version;
}

uint64_t cache_removed(const struct cache *c)
{
    return c->removed;
}

void cache_each_since(const struct cache *c, uint64_t version, void (*fn)(void *arg, const void *object), void *arg)
{
    struct reader r = {fn, arg, version};
    entries_each(&c->live, read_entry, &r);
}

#include "model/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "model/record.h"

/* An object and everything it points to, in one allocation: with 50,000 nodes malloc's own overhead for three small
 * blocks each would be as much as the data. */
struct entry {
    UT_hash_handle hh;
    uint64_t version; /* of the cache, when it became live */
    unsigned listed;  /* number of the last replace that listed it unchanged */
    unsigned bytes;   /* of the object */
    void *object[];   /* packed */
};

/* live is what readers see. While a replace is open, aside holds what it listed and live does not have like that; what
 * live has already is marked by its number instead. */
struct cache {
    const struct record *record;
    struct entry *live;
    struct entry *aside;
    size_t bytes; /* of live */
    uint64_t version, removed;
    unsigned replace;
    bool replacing;
    bool synced;
};

struct cache *cache_new(const struct record *of)
{
    struct cache *c = mem_alloc(sizeof(*c));
    c->record = of;
    return c;
}

static void remove_entry(struct cache *c, struct entry **head, struct entry *e)
{
    if (head == &c->live) {
        c->bytes -= e->bytes;
        c->version++;
    }
    /* The analyzer does not see that the table's own list has no e any more. */
    HASH_DEL(*head, e); /* NOLINT(clang-analyzer-unix.Malloc) */
    free(e);
}

static void remove_all(struct entry **head)
{
    struct entry *e = *head, *next;
    HASH_CLEAR(hh, *head); /* frees the table; the list through the entries stays readable */
    for (; e != NULL; e = next) {
        next = e->hh.next;
        free(e);
    }
}

void cache_free(struct cache *c)
{
    if (c == NULL)
        return;
    cache_forget(c);
    free(c);
}

static struct entry *cache_lookup(struct entry *head, const char *name)
{
    struct entry *e = NULL;
    HASH_FIND_STR(head, name, e);
    return e;
}

static void cache_insert(struct cache *c, struct entry **head, struct entry *e)
{
    const char *name = record_name(e->object);
    if (head == &c->live) {
        c->bytes += e->bytes;
        e->version = ++c->version;
    }
    HASH_ADD_KEYPTR(hh, *head, name, strlen(name), e);
}

/* Live has just that already: in a replace this is the latest state of the name so far. */
static void put_unchanged(struct cache *c, struct entry *live, const char *name)
{
    if (!c->replacing)
        return;
    struct entry *earlier = cache_lookup(c->aside, name);
    if (earlier != NULL)
        remove_entry(c, &c->aside, earlier);
    live->listed = c->replace;
}

static bool put_changed(struct cache *c, const void *object, struct entry *live)
{
    struct entry **head = c->replacing ? &c->aside : &c->live;
    struct entry *old = cache_lookup(*head, record_name(object));
    size_t bytes;
    if (old != NULL)
        remove_entry(c, head, old);
    struct entry *e = record_pack(c->record, object, sizeof(struct entry), &bytes);
    e->bytes = (unsigned)bytes;
    cache_insert(c, head, e);
    /* An earlier listing of the same name may have been like the live one; it is not the latest state any more. */
    if (c->replacing && live != NULL)
        live->listed = 0;
    return !c->replacing;
}

bool cache_put(struct cache *c, void *object)
{
    struct entry *live = cache_lookup(c->live, record_name(object));
    bool changed = false;
    if (live != NULL && record_eq(c->record, live->object, object))
        put_unchanged(c, live, record_name(object));
    else
        changed = put_changed(c, object, live);
    record_free(c->record, object);
    return changed;
}

void cache_keep(struct cache *c, const char *name)
{
    struct entry *e = cache_lookup(c->live, name);
    if (c->replacing && e != NULL && cache_lookup(c->aside, name) == NULL)
        e->listed = c->replace;
}

bool cache_delete(struct cache *c, const char *name)
{
    struct entry *e = cache_lookup(c->live, name);
    if (!c->replacing) {
        if (e != NULL) {
            remove_entry(c, &c->live, e);
            c->removed = c->version;
        }
        return e != NULL;
    }
    if (e != NULL)
        e->listed = 0;
    e = cache_lookup(c->aside, name);
    if (e != NULL)
        remove_entry(c, &c->aside, e);
    return false;
}

void cache_replace_begin(struct cache *c)
{
    remove_all(&c->aside);
    c->replacing = true;
    if (++c->replace == 0) /* 0 means "not listed" */
        c->replace = 1;
}

void cache_replace_abort(struct cache *c)
{
    remove_all(&c->aside);
    c->replacing = false;
}

bool cache_replace_end(struct cache *c)
{
    struct entry *e, *next;
    if (!c->replacing)
        return false;
    bool changed = !c->synced || c->aside != NULL;
    HASH_ITER (hh, c->live, e, next) {
        if (e->listed == c->replace)
            continue;
        remove_entry(c, &c->live, e);
        c->removed = c->version;
        changed = true;
    }
    if (c->live == NULL) { /* the usual first list: no need to build the table twice */
        c->live = c->aside;
        c->aside = NULL;
        for (e = c->live; e != NULL; e = e->hh.next) {
            c->bytes += e->bytes;
            e->version = c->version + 1;
        }
    }
    HASH_ITER (hh, c->aside, e, next) {
        HASH_DEL(c->aside, e);
        cache_insert(c, &c->live, e);
    }
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
    remove_all(&c->live);
    c->bytes = 0;
    c->synced = false;
    c->removed = ++c->version;
}

size_t cache_count(const struct cache *c)
{
    return HASH_COUNT(c->live);
}

size_t cache_bytes(const struct cache *c)
{
    return c->bytes;
}

const void *cache_find(const struct cache *c, const char *name)
{
    const struct entry *e = cache_lookup(c->live, name);
    return e != NULL ? e->object : NULL;
}

static int by_key(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return strcmp((*x)->hh.key, (*y)->hh.key);
}

/* Sorted aside rather than with HASH_SORT: reading must not reorder the table. */
void cache_each(const struct cache *c, void (*fn)(void *arg, const void *object), void *arg)
{
    size_t count = 0;
    cleanup(mem_free_ptr) const struct entry **list = mem_array(cache_count(c), sizeof(struct entry *));
    for (const struct entry *e = c->live; e != NULL; e = e->hh.next)
        list[count++] = e;
    if (count > 1)
        qsort(list, count, sizeof(struct entry *), by_key);
    for (size_t i = 0; i < count; i++)
        fn(arg, list[i]->object);
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
    for (const struct entry *e = c->live; e != NULL; e = e->hh.next)
        if (e->version > version)
            fn(arg, e->object);
}

#include "model/cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"

/* An object and everything it points to, in one allocation: with 50,000 nodes malloc's own overhead for three small
 * blocks each would be as much as the data. */
struct entry {
    UT_hash_handle hh;
    unsigned listed; /* number of the last replace that listed it unchanged */
    union payload {  /* allocated as large as the member in use, see entry_new */
        struct node node;
        struct endpoint_set set;
        struct service service;
    } as;
};

/* live is what everybody sees. While a replace is open, aside holds what it listed and live does not have like that; what
 * live has already is marked by its number instead. */
struct shelf {
    struct entry *live;
    struct entry *aside;
    unsigned replace;
    bool replacing;
    bool synced;
};

struct cache {
    struct shelf shelves[CACHE_KINDS];
};

struct cache *cache_new(void)
{
    return mem_alloc(sizeof(struct cache));
}

static void remove_entry(struct entry **head, struct entry *e)
{
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
    for (int kind = 0; kind < CACHE_KINDS; kind++)
        cache_forget(c, kind);
    free(c);
}

static struct entry *find(struct entry *head, const char *name)
{
    struct entry *e = NULL;
    HASH_FIND_STR(head, name, e);
    return e;
}

static void insert(struct entry **head, struct entry *e, const char *name)
{
    HASH_ADD_KEYPTR(hh, *head, name, strlen(name), e);
}

/* Lays strings one behind the other into the tail of an entry. */
static char *pack_name(char **tail, const char *s)
{
    size_t bytes = strlen(s) + 1;
    char *at = memcpy(*tail, s, bytes);
    *tail += bytes;
    return at;
}

static char *pack_string(char **tail, const char *s)
{
    return s != NULL ? pack_name(tail, s) : NULL;
}

static size_t string_bytes(const char *s)
{
    return s != NULL ? strlen(s) + 1 : 0;
}

/* Room for an object and, from *tail on, for `more` bytes of what it points to. */
static struct entry *entry_new(size_t object_bytes, size_t more, char **tail)
{
    struct entry *e = mem_alloc(offsetof(struct entry, as) + object_bytes + more);
    *tail = (char *)&e->as + object_bytes;
    return e;
}

static void *pack_array(char **tail, const void *from, size_t count, size_t bytes)
{
    void *at = *tail;
    if (count > 0)
        memcpy(at, from, count * bytes);
    *tail += count * bytes;
    return at;
}

/* The Hostname of nearly every node is its name: one string for both. */
static bool is_name(const struct node *n, const struct node_address *a)
{
    return str_eq(a->text, n->name);
}

static struct entry *pack_node(const struct node *n)
{
    char *tail;
    size_t bytes = n->address_count * sizeof(n->addresses[0]) + string_bytes(n->name);
    for (size_t i = 0; i < n->address_count; i++)
        bytes += is_name(n, &n->addresses[i]) ? 0 : string_bytes(n->addresses[i].text);
    struct entry *e = entry_new(sizeof(*n), bytes, &tail);
    struct node *to = &e->as.node;
    *to = *n;
    to->addresses = pack_array(&tail, n->addresses, n->address_count, sizeof(n->addresses[0]));
    to->name = pack_name(&tail, n->name);
    for (size_t i = 0; i < n->address_count; i++) {
        bool shared = is_name(n, &n->addresses[i]);
        to->addresses[i].text = shared ? to->name : pack_string(&tail, n->addresses[i].text);
    }
    return e;
}

static struct entry *pack_service(const struct service *s)
{
    char *tail;
    size_t bytes = s->port_count * sizeof(s->ports[0]) + string_bytes(s->name) + string_bytes(s->uid);
    for (size_t i = 0; i < s->port_count; i++)
        bytes += string_bytes(s->ports[i].name);
    struct entry *e = entry_new(sizeof(*s), bytes, &tail);
    struct service *to = &e->as.service;
    *to = *s;
    to->ports = pack_array(&tail, s->ports, s->port_count, sizeof(s->ports[0]));
    to->name = pack_name(&tail, s->name);
    to->uid = pack_string(&tail, s->uid);
    for (size_t i = 0; i < s->port_count; i++)
        to->ports[i].name = pack_string(&tail, s->ports[i].name);
    return e;
}

static size_t set_string_bytes(const struct endpoint_set *s)
{
    size_t bytes = string_bytes(s->name);
    for (size_t g = 0; g < s->group_count; g++) {
        const struct endpoint_group *group = &s->groups[g];
        for (size_t i = 0; i < group->port_count; i++)
            bytes += string_bytes(group->ports[i].name);
        for (size_t i = 0; i < group->endpoint_count; i++)
            bytes += string_bytes(group->endpoints[i].address) + string_bytes(group->endpoints[i].node_name);
    }
    return bytes;
}

static char *pack_groups(struct endpoint_set *to, const struct endpoint_set *from, char *tail)
{
    to->groups = pack_array(&tail, from->groups, from->group_count, sizeof(from->groups[0]));
    for (size_t g = 0; g < from->group_count; g++) {
        struct endpoint_group *group = &to->groups[g];
        group->endpoints = pack_array(&tail, group->endpoints, group->endpoint_count, sizeof(group->endpoints[0]));
        group->ports = pack_array(&tail, group->ports, group->port_count, sizeof(group->ports[0]));
    }
    return tail;
}

/* Arrays first, for their alignment (each element type has that of a pointer), then the strings. */
static struct entry *pack_set(const struct endpoint_set *s)
{
    size_t bytes = set_string_bytes(s) + s->group_count * sizeof(s->groups[0]);
    for (size_t g = 0; g < s->group_count; g++)
        bytes += s->groups[g].port_count * sizeof(struct endpoint_port) +
                 s->groups[g].endpoint_count * sizeof(struct endpoint);
    char *tail;
    struct entry *e = entry_new(sizeof(*s), bytes, &tail);
    struct endpoint_set *to = &e->as.set;
    *to = *s;
    tail = pack_groups(to, s, tail);
    to->name = pack_name(&tail, s->name);
    for (size_t g = 0; g < to->group_count; g++) {
        struct endpoint_group *group = &to->groups[g];
        for (size_t i = 0; i < group->port_count; i++)
            group->ports[i].name = pack_string(&tail, group->ports[i].name);
        for (size_t i = 0; i < group->endpoint_count; i++) {
            group->endpoints[i].address = pack_string(&tail, group->endpoints[i].address);
            group->endpoints[i].node_name = pack_string(&tail, group->endpoints[i].node_name);
        }
    }
    return e;
}

/* Live has just that already: in a replace this is the last word on the name so far. */
static void put_unchanged(struct shelf *s, struct entry *live, const char *name)
{
    if (!s->replacing)
        return;
    struct entry *earlier = find(s->aside, name);
    if (earlier != NULL)
        remove_entry(&s->aside, earlier);
    live->listed = s->replace;
}

static bool put_changed(struct shelf *s, struct entry *e, const char *name)
{
    struct entry **head = s->replacing ? &s->aside : &s->live;
    struct entry *old = find(*head, name);
    if (old != NULL)
        remove_entry(head, old);
    insert(head, e, name);
    if (!s->replacing)
        return true;
    /* An earlier listing of the same name may have been like the live one; it is not the last word any more. */
    old = find(s->live, name);
    if (old != NULL)
        old->listed = 0;
    return false;
}

bool cache_put_node(struct cache *c, struct node *n)
{
    struct shelf *s = &c->shelves[CACHE_NODES];
    struct entry *old = find(s->live, n->name);
    bool changed = false;
    if (old != NULL && node_eq(&old->as.node, n)) {
        put_unchanged(s, old, n->name);
    } else {
        struct entry *e = pack_node(n);
        changed = put_changed(s, e, e->as.node.name);
    }
    node_free(n);
    return changed;
}

bool cache_put_set(struct cache *c, enum cache_kind kind, struct endpoint_set *set)
{
    struct shelf *s = &c->shelves[kind];
    struct entry *old = find(s->live, set->name);
    bool changed = false;
    if (old != NULL && endpoint_set_eq(&old->as.set, set)) {
        put_unchanged(s, old, set->name);
    } else {
        struct entry *e = pack_set(set);
        changed = put_changed(s, e, e->as.set.name);
    }
    endpoint_set_free(set);
    return changed;
}

bool cache_put_service(struct cache *c, struct service *service)
{
    struct shelf *s = &c->shelves[CACHE_SERVICES];
    struct entry *old = find(s->live, service->name);
    bool changed = false;
    if (old != NULL && service_eq(&old->as.service, service)) {
        put_unchanged(s, old, service->name);
    } else {
        struct entry *e = pack_service(service);
        changed = put_changed(s, e, e->as.service.name);
    }
    service_free(service);
    return changed;
}

void cache_keep(struct cache *c, enum cache_kind kind, const char *name)
{
    struct shelf *s = &c->shelves[kind];
    struct entry *e = find(s->live, name);
    if (s->replacing && e != NULL && find(s->aside, name) == NULL)
        e->listed = s->replace;
}

bool cache_delete(struct cache *c, enum cache_kind kind, const char *name)
{
    struct shelf *s = &c->shelves[kind];
    struct entry *e = find(s->live, name);
    if (!s->replacing) {
        if (e != NULL)
            remove_entry(&s->live, e);
        return e != NULL;
    }
    if (e != NULL)
        e->listed = 0;
    e = find(s->aside, name);
    if (e != NULL)
        remove_entry(&s->aside, e);
    return false;
}

void cache_replace_begin(struct cache *c, enum cache_kind kind)
{
    struct shelf *s = &c->shelves[kind];
    remove_all(&s->aside);
    s->replacing = true;
    if (++s->replace == 0) /* 0 means "not listed" */
        s->replace = 1;
}

void cache_replace_abort(struct cache *c, enum cache_kind kind)
{
    struct shelf *s = &c->shelves[kind];
    remove_all(&s->aside);
    s->replacing = false;
}

bool cache_replace_end(struct cache *c, enum cache_kind kind)
{
    struct shelf *s = &c->shelves[kind];
    struct entry *e, *next;
    if (!s->replacing)
        return false;
    bool changed = !s->synced || s->aside != NULL;
    HASH_ITER (hh, s->live, e, next) {
        if (e->listed == s->replace)
            continue;
        remove_entry(&s->live, e);
        changed = true;
    }
    if (s->live == NULL) { /* the usual first list: no need to build the table twice */
        s->live = s->aside;
        s->aside = NULL;
    }
    HASH_ITER (hh, s->aside, e, next) {
        HASH_DEL(s->aside, e);
        insert(&s->live, e, e->hh.key);
    }
    s->replacing = false;
    s->synced = true;
    return changed;
}

bool cache_synced(const struct cache *c, enum cache_kind kind)
{
    return c->shelves[kind].synced;
}

void cache_forget(struct cache *c, enum cache_kind kind)
{
    struct shelf *s = &c->shelves[kind];
    cache_replace_abort(c, kind);
    remove_all(&s->live);
    s->synced = false;
}

size_t cache_count(const struct cache *c, enum cache_kind kind)
{
    return HASH_COUNT(c->shelves[kind].live);
}

const struct node *cache_node(const struct cache *c, const char *name)
{
    const struct entry *e = find(c->shelves[CACHE_NODES].live, name);
    return e != NULL ? &e->as.node : NULL;
}

const struct service *cache_service(const struct cache *c, const char *name)
{
    const struct entry *e = find(c->shelves[CACHE_SERVICES].live, name);
    return e != NULL ? &e->as.service : NULL;
}

static int by_key(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return strcmp((*x)->hh.key, (*y)->hh.key);
}

/* Sorted aside rather than with HASH_SORT: looking must not reorder what is looked at. */
static const struct entry **sorted(const struct entry *head, size_t count)
{
    const struct entry **list = mem_array(count, sizeof(struct entry *));
    size_t n = 0;
    for (const struct entry *e = head; e != NULL; e = e->hh.next)
        list[n++] = e;
    if (n > 1)
        qsort(list, n, sizeof(struct entry *), by_key);
    return list;
}

void cache_each_set(const struct cache *c, enum cache_kind kind, void (*fn)(void *arg, const struct endpoint_set *s),
                    void *arg)
{
    size_t count = cache_count(c, kind);
    cleanup(mem_free_ptr) const struct entry **list = sorted(c->shelves[kind].live, count);
    for (size_t i = 0; i < count; i++)
        fn(arg, &list[i]->as.set);
}

void cache_each_node(const struct cache *c, void (*fn)(void *arg, const struct node *n), void *arg)
{
    size_t count = cache_count(c, CACHE_NODES);
    cleanup(mem_free_ptr) const struct entry **list = sorted(c->shelves[CACHE_NODES].live, count);
    for (size_t i = 0; i < count; i++)
        fn(arg, &list[i]->as.node);
}

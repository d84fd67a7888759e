#include "template/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "json/read.h"
#include "model/cache.h"
#include "template/json_path.h"
#include "template/set.h"

static const struct record_member members[] = {
    RECORD_TEXT(struct template_object, name),
    RECORD_TEXT(struct template_object, json),
};

const struct record template_object_record = {
    .bytes = sizeof(struct template_object), .members = members, .member_count = array_len(members)};

/* As a render has read it. */
struct read_object {
    const char *key;
    const yyjson_val *root;
    bool left_out;
};

/* An object under the keys of its index, each with a NUL behind it, so that their bytes are in the order of the keys. An object has
 * a row for each combination. */
struct index_row {
    const char *keys;
    size_t len;
    const yyjson_val *object;
    size_t order; /* of the object among all */
};

struct resource {
    struct objects *in;
    const struct template_watch *watch;
    struct cache *cache;

    bool read;
    struct read_object *objects;
    size_t object_count;
    struct read_object **by_root; /* in the order of addresses; NULL: not asked for yet */
    const yyjson_val **list;      /* those that are not hidden */
    size_t list_count;
    bool indexed;
    struct index_row *rows;
    size_t row_count, row_room;
};

struct objects {
    struct resource *resources;
    size_t count;
    objects_shown_fn *shown; /* NULL: all are, as they are */
    void *shown_arg;
    struct arena
        memory; /* of what was read, of the keys of the indexes and of what was fetched, which the templates may keep */
};

struct objects *objects_new(const struct template_set *set)
{
    struct objects *o = mem_alloc(sizeof(*o));
    o->count = set->watch_count;
    o->resources = mem_array(o->count, sizeof(o->resources[0]));
    for (size_t i = 0; i < o->count; i++)
        o->resources[i] =
            (struct resource){.in = o, .watch = &set->watches[i], .cache = cache_new(&template_object_record)};
    return o;
}

static void resource_forget_index(struct resource *r)
{
    free(r->rows);
    r->rows = NULL;
    r->row_count = r->row_room = 0;
    r->indexed = false;
}

void objects_forget_read(struct objects *o)
{
    for (size_t i = 0; i < o->count; i++) {
        struct resource *r = &o->resources[i];
        resource_forget_index(r);
        mem_free_all(r->objects, r->by_root, r->list);
        r->objects = NULL;
        r->by_root = NULL;
        r->list = NULL;
        r->object_count = r->list_count = 0;
        r->read = false;
    }
    arena_fini(&o->memory);
}

void objects_free(struct objects *o)
{
    if (o == NULL)
        return;
    objects_forget_read(o);
    for (size_t i = 0; i < o->count; i++)
        cache_free(o->resources[i].cache);
    mem_free_all(o->resources, o);
}

size_t objects_resource_count(const struct objects *o)
{
    return o != NULL ? o->count : 0;
}

const struct template_watch *objects_watch(const struct objects *o, size_t resource)
{
    return o->resources[resource].watch;
}

struct cache *objects_cache(const struct objects *o, size_t resource)
{
    return o->resources[resource].cache;
}

void objects_show_by(struct objects *o, objects_shown_fn *fn, void *arg)
{
    o->shown = fn;
    o->shown_arg = arg;
}

/* ---- reading ---- */

static void *read_malloc(void *arena, size_t bytes)
{
    return arena_alloc(arena, bytes);
}

static void *read_realloc(void *arena, void *old, size_t old_bytes, size_t bytes)
{
    void *new = arena_alloc(arena, bytes);
    memcpy(new, old, old_bytes < bytes ? old_bytes : bytes);
    return new;
}

static void read_free(void *arena, void *old)
{
    (void)arena;
    (void)old; /* with all others */
}

static void resource_read_one(void *arg, const void *object)
{
    const struct template_object *t = object;
    struct resource *r = arg;
    struct objects *o = r->in;
    const char *json = o->shown != NULL ? o->shown(o->shown_arg, r->watch->name, t) : t->json;
    if (json == NULL)
        return;
    const yyjson_alc alc = {read_malloc, read_realloc, read_free, &o->memory};
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, strlen(json), 0, &alc, NULL);
    if (doc == NULL)
        return; /* it was JSON when it was put there */
    yyjson_val *root = yyjson_doc_get_root(doc);
    arena_cut(&o->memory, root + yyjson_doc_get_val_count(doc)); /* yyjson asks for more than it needs */
    r->objects[r->object_count++] = (struct read_object){t->name, root, false};
    r->list[r->list_count++] = root;
}

static void resource_read(struct resource *r)
{
    if (r->read)
        return;
    r->read = true;
    r->objects = mem_array(cache_count(r->cache), sizeof(r->objects[0]));
    r->list = mem_array(cache_count(r->cache), sizeof(r->list[0]));
    cache_each(r->cache, resource_read_one, r);
}

size_t objects_list(struct objects *o, size_t resource, const yyjson_val *const **ret)
{
    struct resource *r = &o->resources[resource];
    resource_read(r);
    *ret = r->list;
    return r->list_count;
}

/* ---- which object a value is ---- */

static int by_root_compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)(*(struct read_object *const *)a)->root,
              y = (uintptr_t)(*(struct read_object *const *)b)->root;
    return (x > y) - (x < y);
}

/* In whichever resource; NULL: none of them. */
static struct read_object *objects_find_read(struct objects *o, const yyjson_val *object, size_t *ret_resource)
{
    struct read_object wanted = {.root = object}, *key = &wanted;
    for (*ret_resource = 0; *ret_resource < o->count; ++*ret_resource) {
        struct resource *r = &o->resources[*ret_resource];
        if (r->object_count == 0)
            continue;
        if (r->by_root == NULL) {
            r->by_root = mem_array(r->object_count, sizeof(r->by_root[0]));
            for (size_t i = 0; i < r->object_count; i++)
                r->by_root[i] = &r->objects[i];
            qsort(r->by_root, r->object_count, sizeof(r->by_root[0]), by_root_compare);
        }
        struct read_object **found = bsearch(&key, r->by_root, r->object_count, sizeof(r->by_root[0]), by_root_compare);
        if (found != NULL)
            return *found;
    }
    return NULL;
}

bool objects_find(struct objects *o, const yyjson_val *object, size_t *ret_resource, const char **ret_key)
{
    size_t resource;
    const struct read_object *found = objects_find_read(o, object, &resource);
    if (found == NULL)
        return false;
    *ret_resource = resource;
    *ret_key = found->key;
    return true;
}

bool objects_leave_out(struct objects *o, const yyjson_val *object)
{
    size_t resource;
    struct read_object *found = objects_find_read(o, object, &resource);
    if (found == NULL || found->left_out)
        return false;
    found->left_out = true;
    return true;
}

void objects_hide_left_out(struct objects *o)
{
    for (size_t i = 0; i < o->count; i++) {
        struct resource *r = &o->resources[i];
        size_t left = 0;
        for (size_t k = 0; k < r->object_count; k++)
            if (!r->objects[k].left_out)
                r->list[left++] = r->objects[k].root;
        if (left == r->list_count)
            continue;
        r->list_count = left;
        resource_forget_index(r);
    }
}

/* ---- the index ---- */

struct index_add {
    struct resource *r;
    const yyjson_val *object;
    size_t order, key;
    struct buf keys;
};

static void index_add(struct index_add *a);

static bool index_add_key(void *arg, yyjson_val *found)
{
    struct index_add *a = arg;
    size_t before = a->keys.len;
    if (yyjson_is_str(found)) {
        buf_addn(&a->keys, yyjson_get_str(found), strlen(yyjson_get_str(found)));
    } else {
        cleanup(mem_free_ptr) char *text = json_text_of(found);
        buf_add(&a->keys, text);
    }
    buf_addn(&a->keys, "", 1);
    a->key++;
    index_add(a);
    a->key--;
    a->keys.len = before;
    return true;
}

static void index_add(struct index_add *a)
{
    struct resource *r = a->r;
    if (a->key < r->watch->index_by.count) {
        json_path_each(r->watch->index_by.list[a->key], (yyjson_val *)(uintptr_t)a->object, index_add_key, a);
        return;
    }
    if (r->row_count == r->row_room) {
        r->row_room = r->row_room > 0 ? 2 * r->row_room : r->list_count;
        r->rows = mem_resize(r->rows, r->row_room, sizeof(r->rows[0]));
    }
    char *keys = arena_alloc(&r->in->memory, a->keys.len);
    memcpy(keys, buf_str(&a->keys), a->keys.len);
    r->rows[r->row_count++] = (struct index_row){keys, a->keys.len, a->object, a->order};
}

/* By as many bytes as both have: 0 where one begins with the other. */
static int index_compare_keys(const struct index_row *row, const char *keys, size_t len)
{
    return memcmp(row->keys, keys, row->len < len ? row->len : len);
}

static int index_compare(const void *a, const void *b)
{
    const struct index_row *x = a, *y = b;
    int order = index_compare_keys(x, y->keys, y->len);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static void resource_index(struct resource *r)
{
    struct index_add a = {.r = r};
    resource_read(r);
    if (r->indexed)
        return;
    r->indexed = true;
    for (size_t i = 0; i < r->list_count; i++) {
        a.object = r->list[i];
        a.order = i;
        index_add(&a);
    }
    buf_fini(&a.keys);
    if (r->row_count > 0)
        qsort(r->rows, r->row_count, sizeof(r->rows[0]), index_compare);
}

static int index_compare_row(const void *key, const void *row)
{
    const struct index_row *x = key, *y = row;
    return index_compare_keys(x, y->keys, y->len);
}

size_t objects_fetch(struct objects *o, size_t resource, const char *keys, size_t len, const yyjson_val *const **ret)
{
    struct resource *r = &o->resources[resource];
    resource_index(r);
    const struct index_row key = {.keys = keys, .len = len};
    size_t first = sorted_place(&key, r->rows, r->row_count, sizeof(r->rows[0]), index_compare_row);
    size_t end = first, found = 0;
    while (end < r->row_count && index_compare_keys(&r->rows[end], keys, len) == 0)
        end++;
    const yyjson_val **list = arena_alloc(&o->memory, (end - first) * sizeof(list[0]));
    for (size_t i = first; i < end; i++) /* one that has a key twice is found once */
        if (found == 0 || list[found - 1] != r->rows[i].object)
            list[found++] = r->rows[i].object;
    *ret = list;
    return found;
}

#include "template/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
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
    yyjson_doc *doc;
    const yyjson_val *root;
    bool left_out;
};

/* An object under the keys of its index, each with a NUL behind it. An object has a row for each combination. */
struct index_row {
    char *keys;
    const yyjson_val *object;
    size_t order; /* of the object among all */
};

struct resource {
    char *name, *kind;
    struct json_path *const *index_by;
    size_t key_count;
    struct cache *cache;

    bool read;
    struct read_object *objects;
    size_t object_count;
    struct read_object **by_root; /* in the order of addresses; NULL: not asked for yet */
    const yyjson_val **list;      /* those that are not hidden */
    size_t list_count;
    bool indexed;
    struct index_row *rows;
    size_t row_count;
};

/* What was fetched: the templates may keep it. */
struct fetched {
    struct fetched *next;
    const yyjson_val *list[];
};

struct objects {
    struct resource **resources;
    size_t count;
    struct fetched *fetched;
};

struct objects *objects_new(void)
{
    return mem_alloc(sizeof(struct objects));
}

static void resource_forget_index(struct resource *r)
{
    for (size_t i = 0; i < r->row_count; i++)
        free(r->rows[i].keys);
    free(r->rows);
    r->rows = NULL;
    r->row_count = 0;
    r->indexed = false;
}

static void resource_forget_read(struct resource *r)
{
    resource_forget_index(r);
    for (size_t i = 0; i < r->object_count; i++)
        yyjson_doc_free(r->objects[i].doc);
    free(r->objects);
    free(r->by_root);
    free(r->list);
    r->objects = NULL;
    r->by_root = NULL;
    r->list = NULL;
    r->object_count = r->list_count = 0;
    r->read = false;
}

void objects_forget_read(struct objects *o)
{
    for (size_t i = 0; i < o->count; i++)
        resource_forget_read(o->resources[i]);
    for (struct fetched *f; (f = o->fetched) != NULL;) {
        o->fetched = f->next;
        free(f);
    }
}

void objects_free(struct objects *o)
{
    if (o == NULL)
        return;
    objects_forget_read(o);
    for (size_t i = 0; i < o->count; i++) {
        cache_free(o->resources[i]->cache);
        free(o->resources[i]->name);
        free(o->resources[i]->kind);
        free(o->resources[i]);
    }
    free(o->resources);
    free(o);
}

size_t objects_add_resource(struct objects *o, const char *name, const char *kind, struct json_path *const *index_by,
                            size_t key_count)
{
    struct resource *r = mem_alloc(sizeof(*r));
    *r = (struct resource){.name = mem_strdup(name),
                           .kind = mem_strdup(kind),
                           .index_by = index_by,
                           .key_count = key_count,
                           .cache = cache_new(&template_object_record)};
    o->resources = mem_resize(o->resources, o->count + 1, sizeof(o->resources[0]));
    o->resources[o->count] = r;
    return o->count++;
}

size_t objects_add_watch(struct objects *o, const struct template_watch *w)
{
    const char *kind = w->kind != NULL ? w->kind : w->plural;
    return objects_add_resource(o, w->name, kind, w->index_by.list, w->index_by.count);
}

size_t objects_resource_count(const struct objects *o)
{
    return o->count;
}

const char *objects_resource_name(const struct objects *o, size_t resource)
{
    return o->resources[resource]->name;
}

const char *objects_resource_kind(const struct objects *o, size_t resource)
{
    return o->resources[resource]->kind;
}

size_t objects_key_count(const struct objects *o, size_t resource)
{
    return o->resources[resource]->key_count;
}

struct cache *objects_cache(const struct objects *o, size_t resource)
{
    return o->resources[resource]->cache;
}

/* ---- reading ---- */

static void resource_read_one(void *arg, const void *object)
{
    struct resource *r = arg;
    const struct template_object *t = object;
    yyjson_doc *doc = yyjson_read(t->json, strlen(t->json), 0);
    if (doc == NULL)
        return; /* it was JSON when it was put there */
    r->objects[r->object_count++] = (struct read_object){t->name, doc, yyjson_doc_get_root(doc), false};
    r->list[r->list_count++] = yyjson_doc_get_root(doc);
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
    struct resource *r = o->resources[resource];
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

static struct read_object *resource_find(struct resource *r, const yyjson_val *object)
{
    struct read_object wanted = {.root = object}, *key = &wanted;
    if (r->object_count == 0)
        return NULL;
    if (r->by_root == NULL) {
        r->by_root = mem_array(r->object_count, sizeof(r->by_root[0]));
        for (size_t i = 0; i < r->object_count; i++)
            r->by_root[i] = &r->objects[i];
        qsort(r->by_root, r->object_count, sizeof(r->by_root[0]), by_root_compare);
    }
    struct read_object **found = bsearch(&key, r->by_root, r->object_count, sizeof(r->by_root[0]), by_root_compare);
    return found != NULL ? *found : NULL;
}

static struct read_object *objects_find_read(struct objects *o, const yyjson_val *object, size_t *ret_resource)
{
    struct read_object *found = NULL;
    for (*ret_resource = 0; *ret_resource < o->count; ++*ret_resource)
        if ((found = resource_find(o->resources[*ret_resource], object)) != NULL)
            break;
    return found;
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
        struct resource *r = o->resources[i];
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
    if (a->key < r->key_count) {
        json_path_each(r->index_by[a->key], (yyjson_val *)(uintptr_t)a->object, index_add_key, a);
        return;
    }
    r->rows = mem_resize(r->rows, r->row_count + 1, sizeof(r->rows[0]));
    char *keys = mem_alloc(a->keys.len + 1);
    memcpy(keys, buf_str(&a->keys), a->keys.len);
    r->rows[r->row_count++] = (struct index_row){keys, a->object, a->order};
}

/* The first `count` keys. */
static int index_compare_keys(const char *a, const char *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int order = strcmp(a, b);
        if (order != 0)
            return order;
        a += strlen(a) + 1;
        b += strlen(b) + 1;
    }
    return 0;
}

static int index_compare(const void *a, const void *b, void *arg)
{
    const struct index_row *x = a, *y = b;
    const struct resource *r = arg;
    int order = index_compare_keys(x->keys, y->keys, r->key_count);
    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static void resource_index(struct resource *r)
{
    resource_read(r);
    if (r->indexed)
        return;
    r->indexed = true;
    for (size_t i = 0; i < r->list_count; i++) {
        struct index_add a = {.r = r, .object = r->list[i], .order = i};
        buf_init(&a.keys, 0);
        index_add(&a);
        buf_fini(&a.keys);
    }
    if (r->row_count > 0)
        qsort_r(r->rows, r->row_count, sizeof(r->rows[0]), index_compare, r);
}

static size_t index_first(const struct resource *r, const char *keys, size_t count)
{
    size_t low = 0, high = r->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index_compare_keys(r->rows[middle].keys, keys, count) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t objects_fetch(struct objects *o, size_t resource, const char *const *keys, size_t count,
                     const yyjson_val *const **ret)
{
    struct resource *r = o->resources[resource];
    struct buf wanted;
    resource_index(r);
    buf_init(&wanted, 0);
    for (size_t i = 0; i < count; i++)
        buf_addn(&wanted, keys[i], strlen(keys[i]) + 1);
    size_t first = index_first(r, buf_str(&wanted), count), end = first, found = 0;
    while (end < r->row_count && index_compare_keys(r->rows[end].keys, buf_str(&wanted), count) == 0)
        end++;
    struct fetched *f = mem_alloc(sizeof(*f) + (end - first) * sizeof(f->list[0]));
    for (size_t i = first; i < end; i++) /* one that has a key twice is found once */
        if (found == 0 || f->list[found - 1] != r->rows[i].object)
            f->list[found++] = r->rows[i].object;
    f->next = o->fetched;
    o->fetched = f;
    buf_fini(&wanted);
    *ret = f->list;
    return found;
}

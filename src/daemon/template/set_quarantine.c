#include "daemon/template/set_quarantine.h"

#include <string.h>
#include <yyjson.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/quarantine.h"
#include "model/cache.h"
#include "template/json_path.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

/* Allocates: "ingresses web/shop". */
static char *key_of(const char *resource, const char *object)
{
    return mem_printf("%s %s", resource, object);
}

bool set_quarantine_leaves_out(void *quarantine, const char *resource, const char *object)
{
    cleanup(mem_free_ptr) char *key = key_of(resource, object);
    return quarantine_leaves_out(quarantine, key);
}

/* ---- what an object has, and those that it names ---- */

struct hashing {
    struct quarantine *q;
    struct objects *objects;
    const struct template_watch *watch;
    const struct template_object *of;
    const struct cache *used; /* the objects that it names now */
    uint64_t hash;
};

static bool hash_used(void *arg, yyjson_val *name)
{
    struct hashing *h = arg;
    if (!yyjson_is_str(name))
        return true;
    cleanup(mem_free_ptr) char *key =
        mem_printf("%.*s/%s", (int)strcspn(h->of->name, "/"), h->of->name, yyjson_get_str(name));
    const struct template_object *used = cache_find(h->used, key);
    h->hash = hash_string(h->hash, used != NULL ? used->json : "");
    return true;
}

static const struct cache *cache_of(const struct objects *objects, const char *resource)
{
    for (size_t i = 0; i < objects_resource_count(objects); i++)
        if (str_eq(objects_resource_name(objects, i), resource))
            return objects_cache(objects, i);
    return NULL;
}

static void see_object(void *arg, const void *object)
{
    struct hashing *h = arg;
    h->of = object;
    h->hash = hash_string(HASH_START, h->of->json);
    yyjson_doc *doc = h->watch->use_count > 0 ? yyjson_read(h->of->json, strlen(h->of->json), 0) : NULL;
    for (size_t i = 0; doc != NULL && i < h->watch->use_count; i++) {
        const struct template_use *use = &h->watch->uses[i];
        h->used = cache_of(h->objects, use->resource);
        for (size_t k = 0; h->used != NULL && k < use->names.count; k++)
            json_path_each(use->names.list[k], yyjson_doc_get_root(doc), hash_used, h);
    }
    yyjson_doc_free(doc);
    cleanup(mem_free_ptr) char *key = key_of(h->watch->name, h->of->name);
    quarantine_see(h->q, key, h->hash);
}

void set_quarantine_prepare(struct quarantine *q, const struct template_set *set, struct objects *objects)
{
    quarantine_begin(q);
    for (size_t i = 0; q != NULL && i < set->watch_count; i++) {
        struct hashing h = {.q = q, .objects = objects, .watch = &set->watches[i]};
        if (h.watch->quarantine)
            cache_each(objects_cache(objects, i), see_object, &h);
    }
    quarantine_end(q);
    objects_withhold(objects, q != NULL ? set_quarantine_leaves_out : NULL, q);
}

/* ---- what is told ---- */

struct telling {
    const struct template_set *set;
    struct rendered *rendered;
};

static void tell(void *arg, const char *key, const char *why)
{
    const struct telling *t = arg;
    const char *space = strchr(key, ' ');
    for (size_t i = 0; space != NULL && i < t->set->watch_count; i++) {
        const char *name = t->set->watches[i].name;
        if (strlen(name) != (size_t)(space - key) || strncmp(name, key, strlen(name)) != 0)
            continue;
        struct rendered *r = t->rendered;
        r->remarks = mem_resize(r->remarks, r->remark_count + 1, sizeof(r->remarks[0]));
        r->remarks[r->remark_count++] = (struct render_remark){
            .left_out = true, .resource = i, .key = mem_strdup(space + 1), .text = mem_strdup(why)};
    }
}

void set_quarantine_remark(const struct quarantine *q, const struct template_set *watched, struct rendered *r)
{
    quarantine_each(q, tell, &(struct telling){watched, r});
}

#include "template/budget.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "model/cache.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

struct budgeted {
    const struct template_object *object; /* borrowed */
    char *created;
};

struct budget_search {
    size_t namespace_bytes;
    struct budgeted *list; /* of one namespace: a cache has them side by side */
    size_t count, bytes;
    char **names; /* of the excess */
    size_t name_count;
};

/* RFC 3339 in UTC sorts as text. */
static int budget_order(const void *a, const void *b)
{
    const struct budgeted *x = a, *y = b;
    int order = strcmp(x->created, y->created);
    return order != 0 ? order : strcmp(x->object->name, y->object->name);
}

static void budget_end_namespace(struct budget_search *s)
{
    size_t bytes = 0;
    bool over = s->bytes > s->namespace_bytes;
    for (size_t i = 0; over && i < s->count; i++) {
        const char *json = s->list[i].object->json;
        yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
        yyjson_val *meta = yyjson_obj_get(yyjson_doc_get_root(doc), "metadata");
        const char *created = yyjson_get_str(yyjson_obj_get(meta, "creationTimestamp"));
        s->list[i].created = mem_strdup(created != NULL ? created : "");
        yyjson_doc_free(doc);
    }
    if (over)
        qsort(s->list, s->count, sizeof(s->list[0]), budget_order);
    for (size_t i = 0; over && i < s->count; i++) {
        bytes += strlen(s->list[i].object->json);
        free(s->list[i].created);
        if (bytes <= s->namespace_bytes)
            continue;
        s->names = mem_one_more(s->names, s->name_count, sizeof(s->names[0]));
        s->names[s->name_count++] = mem_strdup(s->list[i].object->name);
    }
    s->count = s->bytes = 0;
}

/* One that is in no namespace is alone. */
static void budget_count(void *arg, const void *object)
{
    struct budget_search *s = arg;
    const struct template_object *o = object;
    const char *before = s->count > 0 ? s->list[0].object->name : o->name;
    size_t len = strcspn(o->name, "/");
    if (strcspn(before, "/") != len || strncmp(before, o->name, len) != 0)
        budget_end_namespace(s);
    s->list = mem_one_more(s->list, s->count, sizeof(s->list[0]));
    s->list[s->count++] = (struct budgeted){.object = o};
    s->bytes += strlen(o->json);
}

/* Their names; each is to be freed, and the list. */
static size_t budget_excess(const struct cache *c, size_t namespace_bytes, char ***ret_names)
{
    struct budget_search s = {.namespace_bytes = namespace_bytes};
    *ret_names = NULL;
    if (namespace_bytes == 0 || cache_bytes(c) <= namespace_bytes)
        return 0;
    cache_each(c, budget_count, &s);
    budget_end_namespace(&s);
    free(s.list);
    *ret_names = s.names;
    return s.name_count;
}

void budget_apply(const struct template_set *set, const struct objects *objects)
{
    for (size_t i = 0; i < set->watch_count; i++) {
        char **names;
        struct cache *cache = objects_cache(objects, i);
        size_t count = budget_excess(cache, set->watches[i].namespace_bytes, &names);
        for (size_t k = 0; k < count; k++) {
            (void)cache_delete(cache, names[k]);
            free(names[k]);
        }
        free(names);
    }
}

void budget_add_remarks(const struct template_set *set, const struct objects *objects, struct rendered *to)
{
    for (size_t i = 0; i < set->watch_count; i++) {
        char **names;
        const struct template_watch *w = &set->watches[i];
        size_t count = budget_excess(objects_cache(objects, i), w->namespace_bytes, &names);
        for (size_t k = 0; k < count; k++)
            rendered_remark(to,
                            &(struct render_remark){
                                .left_out = true,
                                .resource = i,
                                .key = names[k],
                                .text = mem_printf("the older %s of its namespace take the %zu bytes that those of "
                                                   "one namespace may: watch.%s.namespace_bytes of the template set",
                                                   w->name, w->namespace_bytes, w->name)});
        free(names);
    }
}

#include "template/budget.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/tally.h"
#include "model/cache.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

struct budgeted {
    const struct template_object *object; /* borrowed */
    char *namespace, *created;
};

struct budget_search {
    struct tally bytes;
    size_t namespace_bytes;
    struct budgeted *list;
    size_t count;
};

/* One that is in no namespace is alone. */
static char *budget_namespace(const struct template_object *o)
{
    return mem_strndup(o->name, strcspn(o->name, "/"));
}

static void budget_count(void *arg, const void *object)
{
    struct budget_search *s = arg;
    const struct template_object *o = object;
    cleanup(mem_free_ptr) char *namespace = budget_namespace(o);
    (void)tally_add(&s->bytes, namespace, strlen(o->json));
}

static char *budget_created(const struct template_object *o)
{
    yyjson_doc *doc = yyjson_read(o->json, strlen(o->json), 0);
    yyjson_val *meta = yyjson_obj_get(yyjson_doc_get_root(doc), "metadata");
    const char *created = yyjson_get_str(yyjson_obj_get(meta, "creationTimestamp"));
    char *copy = mem_strdup(created != NULL ? created : "");
    yyjson_doc_free(doc);
    return copy;
}

/* Of namespaces that have too much. */
static void budget_list(void *arg, const void *object)
{
    struct budget_search *s = arg;
    const struct template_object *o = object;
    char *namespace = budget_namespace(o);
    if (tally_add(&s->bytes, namespace, 0) <= s->namespace_bytes) {
        free(namespace);
        return;
    }
    s->list = mem_one_more(s->list, s->count, sizeof(s->list[0]));
    s->list[s->count++] = (struct budgeted){o, namespace, budget_created(o)};
}

/* RFC 3339 in UTC sorts as text. */
static int budget_order(const void *a, const void *b)
{
    const struct budgeted *x = a, *y = b;
    int order = strcmp(x->created, y->created);
    return order != 0 ? order : strcmp(x->object->name, y->object->name);
}

size_t budget_excess(const struct cache *c, size_t namespace_bytes, char ***ret_names)
{
    struct budget_search s = {.namespace_bytes = namespace_bytes};
    cleanup(tally_fini) struct tally taken = {0};
    size_t count = 0;
    *ret_names = NULL;
    if (namespace_bytes == 0 || cache_bytes(c) <= namespace_bytes)
        return 0;
    cache_each(c, budget_count, &s);
    cache_each(c, budget_list, &s);
    *ret_names = mem_array(s.count, sizeof(char *));
    if (s.count > 0)
        qsort(s.list, s.count, sizeof(s.list[0]), budget_order);
    for (size_t i = 0; i < s.count; i++) {
        size_t bytes = strlen(s.list[i].object->json);
        if (tally_add(&taken, s.list[i].namespace, bytes) + bytes > namespace_bytes)
            (*ret_names)[count++] = mem_strdup(s.list[i].object->name);
        free(s.list[i].namespace);
        free(s.list[i].created);
    }
    free(s.list);
    tally_fini(&s.bytes);
    return count;
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
        to->remarks = mem_resize(to->remarks, to->remark_count + count, sizeof(to->remarks[0]));
        for (size_t k = 0; k < count; k++)
            to->remarks[to->remark_count++] = (struct render_remark){
                .left_out = true,
                .resource = i,
                .key = names[k],
                .text = mem_printf("the older %s of its namespace take the %zu bytes that those of one namespace may: "
                                   "watch.%s.namespace_bytes of the template set",
                                   w->name, w->namespace_bytes, w->name)};
        free(names);
    }
}

#include "template/fixtures.h"

#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "model/cache.h"
#include "template/keep.h"
#include "template/objects.h"
#include "template/set.h"

struct objects *fixtures_new(const struct template_set *set)
{
    struct objects *o = objects_new();
    for (size_t i = 0; i < set->watch_count; i++) {
        const struct template_watch *w = &set->watches[i];
        (void)objects_add_resource(o, w->name, w->kind != NULL ? w->kind : w->plural, w->index_by.list, w->index_by.count);
    }
    return o;
}

static int fixtures_add_each(struct cache *to, const struct template_watch *w, yyjson_val *list, struct error *err)
{
    size_t i, max;
    yyjson_val *from;
    yyjson_arr_foreach (list, i, max, from) {
        struct template_object *object = template_keep(w, from, err);
        if (object == NULL)
            return error_prefix(err, "fixture %s[%zu]", w->name, i);
        (void)cache_put(to, object);
    }
    return 0;
}

int fixtures_add(struct objects *o, const struct template_set *set, yyjson_val *fixtures, struct error *err)
{
    size_t i, max, at;
    yyjson_val *key, *list;
    if (json_is_object(fixtures, "fixtures", err) != 0)
        return -1;
    yyjson_obj_foreach (fixtures, i, max, key, list) {
        for (at = 0; at < set->watch_count; at++)
            if (str_eq(set->watches[at].name, yyjson_get_str(key)))
                break;
        if (at == set->watch_count)
            return error_set(err, ERROR_INVALID, "fixtures: the set watches no %s", yyjson_get_str(key));
        if (!yyjson_is_arr(list))
            return error_set(err, ERROR_INVALID, "fixtures: %s: expected a list of objects", yyjson_get_str(key));
        if (fixtures_add_each(objects_cache(o, at), &set->watches[at], list, err) != 0)
            return -1;
    }
    return 0;
}

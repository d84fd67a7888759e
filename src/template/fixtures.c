#include "template/fixtures.h"

#include <stdlib.h>

#include "base/buf.h"
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
    for (size_t i = 0; i < set->watch_count; i++)
        (void)objects_add_watch(o, &set->watches[i]);
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

int fixtures_add(struct objects *o, const struct template_set *set, yyjson_val *fixtures, bool others,
                 struct error *err)
{
    size_t i, max, at;
    yyjson_val *key, *list;
    if (json_is_object(fixtures, "fixtures", err) != 0)
        return -1;
    yyjson_obj_foreach (fixtures, i, max, key, list) {
        for (at = 0; at < set->watch_count; at++)
            if (str_eq(set->watches[at].name, yyjson_get_str(key)))
                break;
        if (at == set->watch_count && others)
            continue;
        if (at == set->watch_count)
            return error_set(err, ERROR_INVALID, "fixtures: the set watches no %s", yyjson_get_str(key));
        if (!yyjson_is_arr(list))
            return error_set(err, ERROR_INVALID, "fixtures: %s: expected a list of objects", yyjson_get_str(key));
        if (fixtures_add_each(objects_cache(o, at), &set->watches[at], list, err) != 0)
            return -1;
    }
    return 0;
}

static void fixtures_put(void *arg, const void *object)
{
    struct buf *out = arg;
    buf_add(out, out->data[out->len - 1] == '[' ? "" : ",");
    buf_add(out, ((const struct template_object *)object)->json);
}

yyjson_doc *fixtures_document(const struct objects *o, const struct template_set *set)
{
    cleanup(buf_fini) struct buf out = {0};
    cleanup(mem_free_ptr) char *extra =
        set->extra != NULL ? json_text_of(yyjson_doc_get_root(set->extra)) : mem_strdup("{}");
    buf_add(&out, "{\"resources\":{");
    for (size_t i = 0; i < objects_resource_count(o); i++) {
        buf_printf(&out, "%s\"%s\":[", i > 0 ? "," : "",
                   objects_resource_name(o, i)); /* a name has nothing to escape */
        cache_each(objects_cache(o, i), fixtures_put, &out);
        buf_add(&out, "]");
    }
    buf_printf(&out, "},\"extra\":%s}", extra);
    yyjson_doc *doc = yyjson_read(buf_str(&out), out.len, 0);
    if (doc == NULL)
        abort(); /* out of memory: all of it was JSON before */
    return doc;
}

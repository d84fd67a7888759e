#include "haproxy/dataplane/map_repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/map_text.h"
#include "json/read.h"

static const char what[] = "the list of map entries";

static int repair_take(struct map_repair *r, yyjson_val *val, struct error *err)
{
    const char *id;
    if (json_is_object(val, "an entry", err) != 0 || json_need_string(val, "id", &id, err) != 0)
        return -1;
    if (r->count == MAP_REPAIR_MAX || id[strspn(id, "0123456789abcdefx")] != '\0')
        return error_set(err, ERROR_INVALID, "%s: too many entries, or one with an odd id", what);
    r->ids[r->count++] = mem_strdup(id);
    return 0;
}

int map_repair_init(struct map_repair *r, const char *json, size_t len, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, what, err);
    yyjson_val *root, *val;
    *r = (struct map_repair){0};
    if (json_list_of(doc, what, &root, err) != 0)
        return -1;
    yyjson_arr_iter iter = yyjson_arr_iter_with(root);
    while ((val = yyjson_arr_iter_next(&iter)) != NULL)
        if (repair_take(r, val, err) != 0) {
            map_repair_fini(r);
            return -1;
        }
    return 0;
}

void map_repair_fini(struct map_repair *r)
{
    while (r->count > 0)
        free(r->ids[--r->count]);
}

static int repair_read(yyjson_val *val, const char **id, struct map_entry *e, struct error *err)
{
    if (json_is_object(val, "an entry", err) != 0 || json_get_string(val, "id", id, err) != 0 ||
        json_get_string(val, "key", &e->key, err) != 0 || json_get_string(val, "value", &e->value, err) != 0)
        return -1;
    e->key_len = strlen(e->key);
    e->value_len = strlen(e->value);
    return 0;
}

int map_repair_compare(const struct map_repair *r, const char *json, size_t len, const struct map_entries *entries,
                       struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, what, err);
    cleanup(map_entries_fini) struct map_entries is = {0};
    yyjson_val *root, *val;
    size_t count = 0, former = 0;
    if (json_list_of(doc, what, &root, err) != 0)
        return -1;
    yyjson_arr_iter iter = yyjson_arr_iter_with(root);
    for (; (val = yyjson_arr_iter_next(&iter)) != NULL; count++) {
        struct map_entry e;
        const char *id;
        if (repair_read(val, &id, &e, err) != 0)
            return -1;
        if (count >= r->count)
            map_entries_add(&is, &e);
        else
            former += str_eq(id, r->ids[count]);
    }
    if (former < r->count || !map_entries_same(&is, entries))
        return error_set(err, ERROR_INVALID, "HAProxy has other entries (%zu, not %zu, or others)", count,
                         entries->count);
    return 0;
}

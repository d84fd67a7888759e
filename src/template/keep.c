#include "template/keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "template/json_path.h"
#include "template/objects.h"
#include "template/set.h"

static const char *const identity[] = {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"};

static void keep_copy(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from, const char *key)
{
    yyjson_val *value = yyjson_obj_get(from, key);
    if (value != NULL && yyjson_mut_obj_get(to, key) == NULL)
        yyjson_mut_obj_add(to, yyjson_mut_strcpy(doc, key), yyjson_val_mut_copy(doc, value));
}

static yyjson_mut_val *keep_container(yyjson_mut_doc *doc, yyjson_val *like)
{
    return yyjson_is_arr(like) ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
}

/* Copies what the rest of a path leads to; elements of arrays that it does not lead to are left empty, so that the others
 * keep their place. */
static void keep_path(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from, const struct json_path *p, size_t step)
{
    const struct json_path_step *s = &p->steps[step];
    bool last = step + 1 == p->count;
    if (s->kind == STEP_FIELD) {
        yyjson_val *value = yyjson_obj_get(from, s->field);
        if (value == NULL)
            return;
        yyjson_mut_val *there = yyjson_mut_obj_get(to, s->field);
        if (last && there != NULL)
            yyjson_mut_obj_remove_str(to, s->field);
        if (last || there == NULL) {
            there = last ? yyjson_val_mut_copy(doc, value) : keep_container(doc, value);
            yyjson_mut_obj_add(to, yyjson_mut_strcpy(doc, s->field), there);
        }
        if (!last && yyjson_is_ctn(value))
            keep_path(doc, there, value, p, step + 1);
        return;
    }
    size_t i, max;
    yyjson_val *element;
    yyjson_arr_foreach (from, i, max, element) {
        yyjson_mut_val *there = yyjson_mut_arr_get(to, i);
        if (there == NULL) {
            there = yyjson_is_ctn(element) && !last ? keep_container(doc, element) : yyjson_val_mut_copy(doc, element);
            yyjson_mut_arr_append(to, there);
        }
        if (!last && yyjson_is_ctn(element) && (s->kind == STEP_EACH || s->index == i))
            keep_path(doc, there, element, p, step + 1);
    }
}

static void keep_drop(yyjson_mut_val *at, const struct json_path *p, size_t step)
{
    const struct json_path_step *s = &p->steps[step];
    bool last = step + 1 == p->count;
    if (at == NULL)
        return;
    if (s->kind == STEP_FIELD && last) {
        yyjson_mut_obj_remove_str(at, s->field);
    } else if (s->kind == STEP_FIELD) {
        keep_drop(yyjson_mut_obj_get(at, s->field), p, step + 1);
    } else if (!last) {
        size_t i, max;
        yyjson_mut_val *element;
        yyjson_mut_arr_foreach (at, i, max, element)
            if (s->kind == STEP_EACH || s->index == i)
                keep_drop(element, p, step + 1);
    }
}

static yyjson_mut_val *keep_all(yyjson_mut_doc *doc, yyjson_val *from)
{
    yyjson_mut_val *to = yyjson_val_mut_copy(doc, from);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(to, "metadata");
    yyjson_mut_obj_remove_str(metadata, "managedFields");
    yyjson_mut_val *annotations = yyjson_mut_obj_get(metadata, "annotations");
    yyjson_mut_obj_remove_str(annotations, "kubectl.kubernetes.io/last-applied-configuration");
    return to;
}

static yyjson_mut_val *keep_some(yyjson_mut_doc *doc, const struct template_watch *w, yyjson_val *from)
{
    yyjson_mut_val *to = yyjson_mut_obj(doc), *metadata = yyjson_mut_obj(doc);
    keep_copy(doc, to, from, "apiVersion");
    keep_copy(doc, to, from, "kind");
    yyjson_mut_obj_add_val(doc, to, "metadata", metadata);
    for (size_t i = 0; i < array_len(identity); i++)
        keep_copy(doc, metadata, yyjson_obj_get(from, "metadata"), identity[i]);
    for (size_t i = 0; i < w->keep.count; i++)
        keep_path(doc, to, from, w->keep.list[i], 0);
    return to;
}

struct template_object *template_keep(const struct template_watch *w, yyjson_val *from, struct error *err)
{
    yyjson_val *metadata;
    const char *name, *namespace;
    if (json_is_object(from, "it", err) != 0 || json_get_object(from, "metadata", &metadata, err) != 0 ||
        json_need_string(metadata, "name", &name, err) != 0 || json_get_string(metadata, "namespace", &namespace, err) != 0)
        return NULL;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    if (doc == NULL)
        abort(); /* out of memory */
    yyjson_mut_val *root = w->keep.count > 0 ? keep_some(doc, w, from) : keep_all(doc, from);
    for (size_t i = 0; i < w->drop.count; i++)
        keep_drop(root, w->drop.list[i], 0);
    yyjson_mut_doc_set_root(doc, root);
    struct template_object *object = mem_alloc(sizeof(*object));
    object->name = namespace[0] != '\0' ? mem_printf("%s/%s", namespace, name) : mem_strdup(name);
    object->json = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    if (object->json == NULL)
        abort(); /* out of memory */
    return object;
}

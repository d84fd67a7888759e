#include "template/keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

static void keep_path(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from, const struct json_path *p,
                      size_t step);

/* What a path leads to next: `there` as far as it was kept already, else NULL. NULL: nothing to put there. */
static yyjson_mut_val *keep_value(yyjson_mut_doc *doc, yyjson_mut_val *there, yyjson_val *value,
                                  const struct json_path *p, size_t step)
{
    if (step == p->count)
        return yyjson_val_mut_copy(doc, value);
    if (!yyjson_is_ctn(value))
        return there; /* the path goes on where the object does not */
    if (there == NULL)
        there = keep_container(doc, value);
    keep_path(doc, there, value, p, step);
    return there;
}

static void keep_member(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key, yyjson_val *value,
                        const struct json_path *p, size_t step)
{
    yyjson_mut_val *there = yyjson_mut_obj_get(to, key), *now = keep_value(doc, there, value, p, step);
    if (now == there)
        return;
    yyjson_mut_obj_remove_str(to, key);
    yyjson_mut_obj_add(to, yyjson_mut_strcpy(doc, key), now);
}

/* Elements that the path does not lead to are left empty, so that the others keep their place. */
static void keep_elements(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from, const struct json_path *p,
                          size_t step)
{
    const struct json_path_step *s = &p->steps[step];
    yyjson_mut_val *elements = yyjson_mut_arr(doc);
    size_t i, max;
    yyjson_val *element;
    yyjson_arr_foreach (from, i, max, element) {
        yyjson_mut_val *there = yyjson_mut_arr_remove_first(to); /* NULL: no path came here before */
        bool leads = s->kind == STEP_EACH || s->index == i;
        yyjson_mut_val *value = leads ? keep_value(doc, there, element, p, step + 1) : there;
        if (value == NULL)
            value = yyjson_is_ctn(element) ? keep_container(doc, element) : yyjson_mut_null(doc);
        yyjson_mut_arr_append(elements, value);
    }
    while (yyjson_mut_arr_size(elements) > 0)
        yyjson_mut_arr_append(to, yyjson_mut_arr_remove_first(elements));
}

/* Copies what the rest of a path leads to. */
static void keep_path(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from, const struct json_path *p, size_t step)
{
    const struct json_path_step *s = &p->steps[step];
    if (yyjson_is_arr(from)) {
        if (s->kind != STEP_FIELD)
            keep_elements(doc, to, from, p, step);
        return;
    }
    yyjson_val *key, *value;
    if (s->kind == STEP_FIELD && (value = yyjson_obj_get(from, s->field)) != NULL)
        keep_member(doc, to, s->field, value, p, step + 1);
    yyjson_obj_iter each = yyjson_obj_iter_with(s->kind == STEP_EACH ? from : NULL);
    while ((key = yyjson_obj_iter_next(&each)) != NULL)
        keep_member(doc, to, yyjson_get_str(key), yyjson_obj_iter_get_val(key), p, step + 1);
}

static void keep_drop(yyjson_mut_doc *doc, yyjson_mut_val *at, const struct json_path *p, size_t step)
{
    const struct json_path_step *s = &p->steps[step];
    bool last = step + 1 == p->count;
    size_t i, max;
    yyjson_mut_val *key, *value;
    if (s->kind == STEP_FIELD && last) {
        yyjson_mut_obj_remove_str(at, s->field);
    } else if (s->kind == STEP_EACH && last) {
        yyjson_mut_arr_clear(at);
        yyjson_mut_obj_clear(at);
    } else if (s->kind == STEP_INDEX && last) {
        if (s->index < yyjson_mut_arr_size(at)) /* the others keep their place */
            yyjson_mut_arr_replace(at, s->index, yyjson_mut_null(doc));
    } else if (s->kind == STEP_FIELD) {
        keep_drop(doc, yyjson_mut_obj_get(at, s->field), p, step + 1);
    } else if (s->kind == STEP_INDEX) {
        keep_drop(doc, yyjson_mut_arr_get(at, s->index), p, step + 1);
    } else {
        yyjson_mut_arr_foreach (at, i, max, value)
            if (yyjson_mut_is_ctn(value))
                keep_drop(doc, value, p, step + 1);
        yyjson_mut_obj_foreach (at, i, max, key, value)
            if (yyjson_mut_is_ctn(value))
                keep_drop(doc, value, p, step + 1);
    }
}

/* What is not there yet. */
static void keep_identity(yyjson_mut_doc *doc, yyjson_mut_val *to, yyjson_val *from)
{
    keep_copy(doc, to, from, "apiVersion");
    keep_copy(doc, to, from, "kind");
    yyjson_mut_val *metadata = yyjson_mut_obj_get(to, "metadata");
    if (metadata == NULL) {
        metadata = yyjson_mut_obj(doc);
        yyjson_mut_obj_add_val(doc, to, "metadata", metadata);
    }
    for (size_t i = 0; i < array_len(identity); i++)
        keep_copy(doc, metadata, yyjson_obj_get(from, "metadata"), identity[i]);
}

struct template_object *template_keep(const struct template_watch *w, yyjson_val *from, struct error *err)
{
    yyjson_val *metadata;
    const char *name, *namespace;
    if (json_is_object(from, "it", err) != 0 || json_get_object(from, "metadata", &metadata, err) != 0 ||
        json_need_string(metadata, "name", &name, err) != 0 ||
        json_get_string(metadata, "namespace", &namespace, err) != 0)
        return NULL;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    if (doc == NULL)
        abort(); /* out of memory */
    yyjson_mut_val *root;
    if (w->keep.count > 0) {
        root = yyjson_mut_obj(doc);
        keep_identity(doc, root, from);
        for (size_t i = 0; i < w->keep.count; i++)
            keep_path(doc, root, from, w->keep.list[i], 0);
    } else {
        root = yyjson_val_mut_copy(doc, from);
        yyjson_mut_val *kept = yyjson_mut_obj_get(root, "metadata");
        yyjson_mut_obj_remove_str(kept, "managedFields");
        yyjson_mut_val *annotations = yyjson_mut_obj_get(kept, "annotations");
        yyjson_mut_obj_remove_str(annotations, "kubectl.kubernetes.io/last-applied-configuration");
    }
    for (size_t i = 0; i < w->drop.count; i++)
        keep_drop(doc, root, w->drop.list[i], 0);
    keep_identity(doc, root, from);
    yyjson_mut_doc_set_root(doc, root);
    struct template_object *object = mem_alloc(sizeof(*object));
    object->name = namespace[0] != '\0' ? mem_printf("%s/%s", namespace, name) : mem_strdup(name);
    object->json = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    if (object->json == NULL)
        abort(); /* out of memory */
    return object;
}

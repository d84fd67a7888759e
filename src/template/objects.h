/*
 * What the templates of a set see of a cluster: the objects of each watched resource, kept as JSON text (which takes the
 * least memory) in the order of namespace and name. A render, in a process of its own, reads those that it asks for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"
#include "model/record.h"

struct cache;
struct objects;
struct template_set;
struct template_watch;

/* In the caches. */
struct template_object {
    char *name; /* "namespace/name", or "name" where it is in no namespace */
    char *json; /* one object, with metadata.name */
};
extern const struct record template_object_record;

/* Empty, with a resource for each watch of the set, which has to stay. */
struct objects *objects_new(const struct template_set *set) must_check;
void objects_free(struct objects *o);                   /* NULL is allowed */
size_t objects_resource_count(const struct objects *o); /* o NULL: 0 */
const struct template_watch *objects_watch(const struct objects *o, size_t resource);
struct cache *objects_cache(const struct objects *o,
                            size_t resource); /* of template_objects; what is put there is seen */

/* What renders see of an object: its own JSON text, another one, which has to stay, or NULL: they do not see it. resource: its name. */
typedef const char *objects_shown_fn(void *arg, const char *resource, const struct template_object *object);
void objects_show_by(struct objects *o, objects_shown_fn *fn, void *arg); /* fn NULL: all are seen as they are */

/* ---- what a render sees; what is in the caches must not change from here on until objects_forget_read */

/* To be left out; false: it is already, or is none of them. */
bool objects_leave_out(struct objects *o, const yyjson_val *object);
/* Leaves those out of all that follows, until objects_forget_read. */
void objects_hide_left_out(struct objects *o);
/* Borrowed, until something is hidden. */
size_t objects_list(struct objects *o, size_t resource, const yyjson_val *const **ret);
/* Those with these first keys, each with a NUL behind it; borrowed until objects_forget_read. */
size_t objects_fetch(struct objects *o, size_t resource, const char *keys, size_t len, const yyjson_val *const **ret);
void objects_forget_read(struct objects *o);
/* Which one it is; false: none of them. *ret_key: its name in the cache, borrowed. */
bool objects_find(struct objects *o, const yyjson_val *object, size_t *ret_resource, const char **ret_key);

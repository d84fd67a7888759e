#include "daemon/template/set_quarantine.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/tally.h"
#include "daemon/quarantine.h"
#include "model/cache.h"
#include "template/json_path.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

/* Of a last good form: the object itself, or one that it names. */
struct part {
    char *key;         /* "ingresses web/shop" */
    const char *json;  /* shared: a thousand objects may name the same certificate */
    UT_hash_handle hh; /* where renders see it */
};

struct form {
    UT_hash_handle hh;
    struct part *parts; /* the first is the object itself */
    size_t count;
};

struct set_quarantine {
    struct quarantine *q;
    struct form *forms; /* by the object's key */
    struct part *shown; /* in place of what is in the caches, by its key; of the forms */
    struct tally held;  /* namespaces: each is 1 */
};

/* Allocates. */
static char *key_of(const char *resource, const char *object)
{
    return mem_printf("%s %s", resource, object);
}

/* ---- last good forms ---- */

static struct form *form_find(const struct set_quarantine *s, const char *key)
{
    struct form *found;
    HASH_FIND_STR(s->forms, key, found);
    return found;
}

static void form_drop(struct set_quarantine *s, struct form *f)
{
    if (f == NULL)
        return;
    HASH_DEL(s->forms, f); /* NOLINT(clang-analyzer-unix.Malloc) */
    for (size_t i = 0; i < f->count; i++) {
        free(f->parts[i].key);
        shared_text_free(f->parts[i].json);
    }
    mem_free_all(f->parts, f);
}

void set_quarantine_forget(struct set_quarantine *s)
{
    struct form *f, *next;
    HASH_CLEAR(hh, s->shown);
    HASH_ITER (hh, s->forms, f, next)
        form_drop(s, f);
}

struct set_quarantine *set_quarantine_new(struct quarantine *q)
{
    struct set_quarantine *s = mem_alloc(sizeof(*s));
    s->q = q;
    return s;
}

void set_quarantine_free(struct set_quarantine *s)
{
    if (s == NULL)
        return;
    set_quarantine_forget(s);
    tally_fini(&s->held);
    free(s);
}

/* A form that is not known is none. */
static enum culprits_form form_of(const struct set_quarantine *s, const char *key)
{
    enum culprits_form form = culprits_form(quarantine_culprits(s->q), key);
    return form == CULPRITS_AS_BEFORE && form_find(s, key) == NULL ? CULPRITS_LEFT_OUT : form;
}

bool set_quarantine_withholds(void *arg, const char *resource, const char *object)
{
    const struct set_quarantine *s = arg;
    cleanup(mem_free_ptr) char *key = key_of(resource, object);
    return culprits_form(quarantine_culprits(s->q), key) != CULPRITS_AS_IT_IS;
}

static const char *shown_json(void *arg, const char *resource, const struct template_object *o)
{
    const struct set_quarantine *s = arg;
    struct part *instead;
    cleanup(mem_free_ptr) char *key = key_of(resource, o->name);
    HASH_FIND_STR(s->shown, key, instead);
    if (instead != NULL)
        return instead->json;
    return form_of(s, key) == CULPRITS_LEFT_OUT ? NULL : o->json;
}

bool set_quarantine_holds(struct set_quarantine *s, const char *namespace)
{
    return tally_add(&s->held, namespace, 0) > 0;
}

/* ---- what an object has, and those that it names ---- */

/* In the caches: hashed and copied once, however many name it, and however often. */
struct once {
    UT_hash_handle hh;
    const struct template_object *object;
    uint64_t hash;
    const char *json; /* shared; NULL: no form has it */
};

struct seeing {
    struct set_quarantine *s;
    const struct template_set *set;
    struct objects *objects;
    const struct template_watch *watch;
    struct cache *cache; /* of it */
    const struct template_object *of;
    size_t used; /* the resource of the objects that it names now */
    uint64_t hash;
    struct form *form;
    struct once *seen; /* objects that others name, or that forms have */
};

static struct once *once(struct seeing *e, const struct template_object *object)
{
    struct once *found;
    HASH_FIND_PTR(e->seen, &object, found);
    if (found != NULL)
        return found;
    found = mem_alloc(sizeof(*found));
    found->object = object;
    found->hash = hash_string(HASH_START, object->json);
    HASH_ADD_PTR(e->seen, object, found);
    return found;
}

static void form_add(struct seeing *e, const char *resource, const struct template_object *o)
{
    struct form *f = e->form;
    struct once *one = once(e, o);
    for (size_t i = 0; i < f->count; i++)
        if (f->parts[i].json == one->json)
            return;
    if (one->json == NULL)
        one->json = shared_text(o->json);
    f->parts = mem_resize(f->parts, f->count + 1, sizeof(f->parts[0]));
    f->parts[f->count++] = (struct part){.key = key_of(resource, o->name), .json = shared_text(one->json)};
}

static size_t watch_number(const struct seeing *e, const char *resource)
{
    return (size_t)(template_set_find_watch(e->set, resource) - e->set->watches);
}

static void each_used(struct seeing *e, const char *json, bool (*fn)(void *arg, yyjson_val *name))
{
    yyjson_doc *doc = e->watch->use_count > 0 ? yyjson_read(json, strlen(json), 0) : NULL;
    for (size_t i = 0; doc != NULL && i < e->watch->use_count; i++) {
        const struct template_use *use = &e->watch->uses[i];
        e->used = watch_number(e, use->resource);
        for (size_t k = 0; k < use->names.count; k++)
            json_path_each(use->names.list[k], yyjson_doc_get_root(doc), fn, e);
    }
    yyjson_doc_free(doc);
}

/* Allocates; NULL: it is no name. */
static char *used_name(const struct seeing *e, yyjson_val *name)
{
    return yyjson_is_str(name)
               ? mem_printf("%.*s/%s", (int)strcspn(e->of->name, "/"), e->of->name, yyjson_get_str(name))
               : NULL;
}

static bool hash_used(void *arg, yyjson_val *name)
{
    struct seeing *e = arg;
    cleanup(mem_free_ptr) char *key = used_name(e, name);
    const struct template_object *used = key != NULL ? cache_find(objects_cache(e->objects, e->used), key) : NULL;
    if (key != NULL) {
        uint64_t hash = used != NULL ? once(e, used)->hash : 0;
        e->hash = hash_bytes(e->hash, (const char *)&hash, sizeof(hash));
    }
    return true;
}

/* What did not change with it stays as it is at any time: a certificate goes on to be renewed. */
static bool keep_used(void *arg, yyjson_val *name)
{
    struct seeing *e = arg;
    cleanup(mem_free_ptr) char *key = used_name(e, name);
    const struct template_object *was = key != NULL ? cache_past(objects_cache(e->objects, e->used), key) : NULL;
    if (was != NULL)
        form_add(e, e->set->watches[e->used].name, was);
    return true;
}

static void see_object(void *arg, const void *object)
{
    struct seeing *e = arg;
    e->of = object;
    e->hash = hash_string(HASH_START, e->of->json);
    each_used(e, e->of->json, hash_used);
    cleanup(mem_free_ptr) char *key = key_of(e->watch->name, e->of->name);
    if (!quarantine_see(e->s->q, key, e->hash))
        return;
    const struct template_object *was = cache_past(e->cache, e->of->name);
    form_drop(e->s, form_find(e->s, key));
    e->form = mem_alloc(sizeof(*e->form));
    form_add(e, e->watch->name, was != NULL ? was : e->of);
    each_used(e, e->form->parts[0].json, keep_used);
    HASH_ADD_KEYPTR(hh, e->s->forms, e->form->parts[0].key, strlen(e->form->parts[0].key), e->form);
}

/* ---- what a render sees ---- */

static void hold_namespace(void *arg, const void *object)
{
    const struct seeing *e = arg;
    const struct template_object *o = object;
    cleanup(mem_free_ptr) char *key = key_of(e->watch->name, o->name);
    cleanup(mem_free_ptr) char *namespace = mem_strndup(o->name, strcspn(o->name, "/"));
    if (form_of(e->s, key) == CULPRITS_LEFT_OUT)
        (void)tally_add(&e->s->held, namespace, 1);
}

/* Of two that keep another form of what both name, the first one's is seen. */
static void show_forms(struct set_quarantine *s)
{
    struct form *f, *next;
    HASH_ITER (hh, s->forms, f, next) {
        if (!culprits_has_former(quarantine_culprits(s->q), f->parts[0].key)) {
            form_drop(s, f);
            continue;
        }
        if (form_of(s, f->parts[0].key) != CULPRITS_AS_BEFORE)
            continue;
        for (size_t i = 0; i < f->count; i++) {
            struct part *p = &f->parts[i], *other;
            HASH_FIND_STR(s->shown, p->key, other);
            if (other == NULL)
                HASH_ADD_KEYPTR(hh, s->shown, p->key, strlen(p->key), p);
        }
    }
}

/* Each object of a watch with `quarantine`. */
static void each_object(struct seeing *e, void (*fn)(void *arg, const void *object))
{
    for (size_t i = 0; e->s->q != NULL && i < e->set->watch_count; i++) {
        e->watch = &e->set->watches[i];
        e->cache = objects_cache(e->objects, i);
        if (!e->watch->quarantine)
            continue;
        cache_keep_past(e->cache);
        for (size_t k = 0; k < e->watch->use_count; k++)
            cache_keep_past(objects_cache(e->objects, watch_number(e, e->watch->uses[k].resource)));
        cache_each(e->cache, fn, e);
    }
}

void set_quarantine_prepare(struct set_quarantine *s, const struct template_set *set, struct objects *objects)
{
    struct seeing e = {.s = s, .set = set, .objects = objects};
    struct once *one, *next;
    HASH_CLEAR(hh, s->shown);
    tally_fini(&s->held);
    quarantine_begin(s->q);
    each_object(&e, see_object);
    quarantine_end(s->q);
    HASH_ITER (hh, e.seen, one, next) {
        HASH_DEL(e.seen, one); /* NOLINT(clang-analyzer-unix.Malloc) */
        shared_text_free(one->json);
        free(one);
    }
    for (size_t i = 0; i < objects_resource_count(objects); i++)
        cache_forget_past(objects_cache(objects, i));
    bool any = culprits_leaves_any_out(quarantine_culprits(s->q));
    show_forms(s);
    if (any)
        each_object(&e, hold_namespace);
    objects_show_by(objects, any ? shown_json : NULL, s);
}

/* ---- what is said of it ---- */

struct telling {
    const struct set_quarantine *s;
    const struct template_set *set;
    struct rendered *rendered;
};

static void tell(void *arg, const char *key, const char *why)
{
    const struct telling *t = arg;
    const char *space = strchr(key, ' ');
    cleanup(mem_free_ptr) char *resource = mem_strndup(key, strcspn(key, " "));
    const struct template_watch *w = space != NULL ? template_set_find_watch(t->set, resource) : NULL;
    bool served = form_of(t->s, key) == CULPRITS_AS_BEFORE;
    (void)why;
    if (w == NULL)
        return;
    rendered_remark(t->rendered, &(struct render_remark){.left_out = !served,
                                                         .as_before = served,
                                                         .resource = (size_t)(w - t->set->watches),
                                                         .key = mem_strdup(space + 1),
                                                         .text = quarantine_why(t->s->q, key, served)});
}

void set_quarantine_remark(const struct set_quarantine *s, const struct template_set *watched, struct rendered *r)
{
    culprits_each(quarantine_culprits(s->q), tell, &(struct telling){s, watched, r});
}

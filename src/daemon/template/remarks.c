#include "daemon/template/remarks.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tally.h"
#include "daemon/events.h"
#include "model/cache.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

struct remarks {
    enum remarks_of of;
    const struct log *log;
    struct events *events; /* NULL: none are written, or another replica leads */
    struct remark *list;
    size_t count;
};

struct remarks *remarks_new(enum remarks_of of, const struct log *log)
{
    struct remarks *r = mem_alloc(sizeof(*r));
    r->of = of;
    r->log = log;
    return r;
}

static void remark_fini(struct remark *m)
{
    mem_free_all(m->resource, m->api_version, m->kind, m->namespace, m->name, m->uid, m->text);
}

static void remarks_drop(struct remark *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        remark_fini(&list[i]);
    free(list);
}

void remarks_free(struct remarks *r)
{
    if (r == NULL)
        return;
    remarks_drop(r->list, r->count);
    free(r);
}

static char *remark_text_at(yyjson_val *object, const char *key)
{
    return mem_strdup(yyjson_get_str(yyjson_obj_get(object, key)));
}

static struct remark remark_of(const struct template_set *watched, const struct objects *objects,
                               const struct render_remark *from)
{
    const struct template_watch *w = &watched->watches[from->resource];
    const struct template_object *o = cache_find(objects_cache(objects, from->resource), from->key);
    yyjson_doc *doc = o != NULL ? yyjson_read(o->json, strlen(o->json), 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *slash = strchr(from->key, '/');
    struct remark m = {.resource = mem_strdup(w->name),
                       .api_version = mem_strdup(w->api_version),
                       .kind = remark_text_at(root, "kind"),
                       .namespace = slash != NULL ? mem_strndup(from->key, (size_t)(slash - from->key)) : NULL,
                       .name = mem_strdup(slash != NULL ? slash + 1 : from->key),
                       .uid = remark_text_at(yyjson_obj_get(root, "metadata"), "uid"),
                       .text = mem_strdup(from->text),
                       .left_out = from->left_out,
                       .as_before = from->as_before};
    if (m.kind == NULL) /* items of a list have none */
        m.kind = mem_strdup(template_watch_kind(w));
    yyjson_doc_free(doc);
    return m;
}

static bool remarks_has(const struct remark *list, size_t count, const struct remark *m)
{
    for (const struct remark *one = list; one < list + count; one++)
        if (one->left_out == m->left_out && str_eq(one->text, m->text) && str_eq(one->name, m->name) &&
            str_eq(one->namespace, m->namespace) && str_eq(one->kind, m->kind) && str_eq(one->uid, m->uid))
            return true;
    return false;
}

static void remark_tell(const struct remarks *r, const struct remark *m)
{
    const struct events_object object = {m->api_version, m->kind, m->namespace, m->name, m->uid};
    events_tell_about(r->events, &object,
                      m->as_before                      ? EVENT_CHANGE_REFUSED
                      : m->left_out                     ? EVENT_LEFT_OUT
                      : r->of == REMARKS_OF_ANNOTATIONS ? EVENT_ANNOTATION_NOTE
                                                        : EVENT_TEMPLATE_NOTE,
                      m->text);
}

static const char *remark_log_message(enum remarks_of of, const struct remark *m)
{
    if (m->as_before)
        return "HAProxy refuses a change of an object, which is served as before";
    if (of == REMARKS_OF_ANNOTATIONS)
        return m->left_out ? "a port of a Service is not served" : "an annotation has no effect";
    return m->part       ? "part of an object is left out"
           : m->left_out ? "templates leave an object out"
                         : "a template has a note about an object";
}

void remarks_replace(struct remarks *r, struct remark *list, size_t count)
{
    size_t taken = 0, share = count;
    cleanup(tally_fini) struct tally counts = {0}, namespaces = {0};
    for (size_t i = 0; i < count && count > REMARKS_MAX; i++)
        (void)tally_add(&namespaces, list[i].namespace, 1);
    if (count > REMARKS_MAX)
        share = tally_count(&namespaces) < REMARKS_MAX ? REMARKS_MAX / tally_count(&namespaces) : 1;
    for (size_t i = 0; i < count; i++) {
        struct remark m = list[i];
        if (taken == REMARKS_MAX || tally_add(&counts, m.namespace, 1) >= share || remarks_has(list, taken, &m)) {
            remark_fini(&m);
            continue;
        }
        list[taken++] = m;
        if (remarks_has(r->list, r->count, &m))
            continue;
        log_warn(r->log, remark_log_message(r->of, &m), log_str("kind", m.kind), log_str("namespace", m.namespace),
                 log_str("name", m.name), log_str("text", m.text));
        remark_tell(r, &m);
    }
    remarks_drop(r->list, r->count);
    r->list = list;
    r->count = taken;
}

void remarks_take(struct remarks *r, const struct template_set *watched, const struct objects *objects,
                  const struct rendered *rendered)
{
    struct remark *list = mem_array(rendered->remark_count, sizeof(list[0]));
    for (size_t i = 0; i < rendered->remark_count; i++)
        list[i] = remark_of(watched, objects, &rendered->remarks[i]);
    remarks_replace(r, list, rendered->remark_count);
}

void remarks_tell_to(struct remarks *r, struct events *events)
{
    bool begins = r->events == NULL && events != NULL;
    r->events = events;
    for (size_t i = 0; begins && i < r->count; i++)
        remark_tell(r, &r->list[i]);
}

size_t remarks_count(const struct remarks *r)
{
    return r->count;
}

size_t remarks_left_out(const struct remarks *r, const char *resource)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        n += r->list[i].left_out && str_eq(r->list[i].resource, resource);
    return n;
}

const struct remark *remarks_at(const struct remarks *r, size_t i)
{
    return &r->list[i];
}

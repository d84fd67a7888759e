#include <yyjson.h>

#include "daemon/status/status_parts.h"
#include "daemon/template/remarks.h"
#include "daemon/template/template_source.h"
#include "daemon/template/watches.h"
#include "json/write.h"

#define REMARKS_LISTED 50

static void status_templates_put_watch(const struct watch_view *v, size_t left_out, yyjson_mut_doc *doc,
                                       yyjson_mut_val *list)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "name", v->name);
    json_put_text(doc, obj, "resource", v->resource);
    json_put_text(doc, obj, "state", v->state);
    json_put_count(doc, obj, "objects", v->objects);
    json_put_count(doc, obj, "bytes", v->bytes);
    json_put_count(doc, obj, "removal_delayed", v->delayed);
    json_put_count(doc, obj, "left_out", left_out);
    json_put_text(doc, obj, "problem", v->problem[0] != '\0' ? v->problem : NULL);
}

static void status_templates_put_set(const struct template_view *v, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (v->set_hash == NULL) {
        json_put_text(doc, root, "set", NULL);
        return;
    }
    yyjson_mut_val *obj = json_put_object(doc, root, "set");
    json_put_text(doc, obj, "sha256", v->set_hash);
    json_put_count(doc, obj, "bytes", v->set_bytes);
    json_put_count(doc, obj, "templates", v->templates);
    json_put_text(doc, obj, "last_good", v->good_hash);
}

static void status_templates_put_change(const struct renders_view *v, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (v->changed_wall_ms == 0) {
        json_put_text(doc, root, "change", NULL);
        return;
    }
    yyjson_mut_val *obj = json_put_object(doc, root, "change");
    json_put_time(doc, obj, "at", v->changed_wall_ms);
    json_put_bool(doc, obj, "first", v->first);
    json_put_count(doc, obj, "added", v->added);
    json_put_count(doc, obj, "removed", v->removed);
    json_put_count(doc, obj, "file_count", v->change_count);
    yyjson_mut_val *list = json_put_list(doc, obj, "files");
    for (size_t i = 0; i < v->change_count && i < RENDERS_CHANGES_MAX; i++) {
        const struct render_change *c = &v->changes[i];
        yyjson_mut_val *file = json_add_object(doc, list);
        json_put_text(doc, file, "kind", c->kind);
        json_put_text(doc, file, "name", c->name);
        json_put_text(doc, file, "change", c->what);
        json_put_int_or_null(doc, file, "added", c->counted ? (int64_t)c->added : -1);
        json_put_int_or_null(doc, file, "removed", c->counted ? (int64_t)c->removed : -1);
    }
}

static void status_templates_put_renders(const struct renders_view *v, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    json_put_time(doc, root, "rendered_at", v->succeeded_wall_ms);
    json_put_int_or_null(doc, root, "took_us", v->succeeded_wall_ms != 0 ? (int64_t)v->took_us : -1);
    json_put_count(doc, root, "files", v->files);
    yyjson_mut_val *renders = json_put_object(doc, root, "renders");
    json_put_count(doc, renders, "changed", v->changed);
    json_put_count(doc, renders, "unchanged", v->unchanged);
    json_put_count(doc, renders, "failed", v->failed);
    status_templates_put_change(v, doc, root);
    if (v->failure == NULL) {
        json_put_text(doc, root, "failure", NULL);
        return;
    }
    yyjson_mut_val *failure = json_put_object(doc, root, "failure");
    json_put_time(doc, failure, "at", v->failed_wall_ms);
    json_put_text(doc, failure, "text", v->failure);
}

static size_t status_templates_put_some(const struct remarks *remarks, bool left_out, size_t room, yyjson_mut_doc *doc,
                                        yyjson_mut_val *list)
{
    size_t listed = 0;
    for (size_t i = 0; remarks != NULL && i < remarks_count(remarks) && listed < room; i++) {
        const struct remark *m = remarks_at(remarks, i);
        if (m->left_out != left_out)
            continue;
        yyjson_mut_val *obj = json_add_object(doc, list);
        json_put_text(doc, obj, "resource", m->resource);
        json_put_text(doc, obj, "kind", m->kind);
        json_put_text(doc, obj, "namespace", m->namespace);
        json_put_text(doc, obj, "name", m->name);
        json_put_bool(doc, obj, "left_out", m->left_out);
        json_put_bool(doc, obj, "as_before", m->as_before);
        json_put_text(doc, obj, "text", m->text);
        listed++;
    }
    return listed;
}

/* What was left out comes first. */
static void status_templates_put_remarks(const struct template_view *v, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    size_t count = remarks_count(v->remarks) + (v->of_pods != NULL ? remarks_count(v->of_pods) : 0), listed = 0;
    json_put_count(doc, root, "remarks", count);
    yyjson_mut_val *list = json_put_list(doc, root, "remark_list");
    listed += status_templates_put_some(v->of_pods, true, REMARKS_LISTED, doc, list);
    listed += status_templates_put_some(v->remarks, true, REMARKS_LISTED - listed, doc, list);
    status_templates_put_some(v->remarks, false, REMARKS_LISTED - listed, doc, list);
}

void status_templates_put(const struct template_source *t, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (t == NULL) {
        json_put_text(doc, root, "templates", NULL);
        return;
    }
    const struct template_view v = template_source_view(t);
    yyjson_mut_val *obj = json_put_object(doc, root, "templates");
    json_put_text(doc, obj, "from", v.from);
    status_templates_put_set(&v, doc, obj);
    status_templates_put_renders(&v.renders, doc, obj);
    status_templates_put_remarks(&v, doc, obj);
    json_put_text(doc, obj, "problem", v.problem->kind != ERROR_NONE ? v.problem->message : NULL);
    yyjson_mut_val *list = json_put_list(doc, obj, "watches");
    for (size_t i = 0; v.watches != NULL && i < watches_count(v.watches); i++) {
        struct watch_view watch;
        watches_view(v.watches, i, &watch);
        status_templates_put_watch(&watch, remarks_left_out(v.remarks, watch.name), doc, list);
    }
}

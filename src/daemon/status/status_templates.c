#include <yyjson.h>

#include "daemon/status/status_parts.h"
#include "daemon/template/template_source.h"
#include "daemon/template/watches.h"
#include "json/write.h"

static void status_templates_put_watch(const struct watch_view *v, yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "name", v->name);
    json_put_text(doc, obj, "resource", v->resource);
    json_put_text(doc, obj, "state", v->synced ? "synced" : "waiting");
    json_put_count(doc, obj, "objects", v->objects);
    json_put_count(doc, obj, "bytes", v->bytes);
    json_put_text(doc, obj, "problem", v->problem[0] != '\0' ? v->problem : NULL);
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
    json_put_time(doc, obj, "rendered_at", v.rendered_wall_ms);
    json_put_int_or_null(doc, obj, "took_us", v.rendered_wall_ms != 0 ? (int64_t)v.took_us : -1);
    json_put_count(doc, obj, "files", v.files);
    json_put_count(doc, obj, "remarks", v.remarks);
    json_put_text(doc, obj, "problem", v.problem->kind != ERROR_NONE ? v.problem->message : NULL);
    yyjson_mut_val *list = json_put_list(doc, obj, "watches");
    for (size_t i = 0; v.watches != NULL && i < watches_count(v.watches); i++) {
        struct watch_view watch;
        watches_view(v.watches, i, &watch);
        status_templates_put_watch(&watch, doc, list);
    }
}

#include <yyjson.h>

#include "daemon/services/service_report.h"
#include "daemon/services/services_source.h"
#include "daemon/status/status_parts.h"
#include "daemon/template/remarks.h"
#include "json/write.h"

#define REMARKS_LISTED 50

static void put_route(const struct reported_route *r, yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "host", r->host);
    json_put_text(doc, obj, "path", r->path);
    json_put_text(doc, obj, "service", r->service);
    json_put_text(doc, obj, "port", r->port);
    json_put_text(doc, obj, "backend", r->backend);
    json_put_text(doc, obj, "redirect", r->sends);
}

static void put_frontend(const struct reported_frontend *f, yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "address", f->address);
    json_put_count(doc, obj, "port", f->port);
    json_put_text(doc, obj, "mode", f->tcp ? "tcp" : "http");
    json_put_bool(doc, obj, "tls", f->tls);
    json_put_count(doc, obj, "route_count", f->route_count);
    yyjson_mut_val *routes = json_put_list(doc, obj, "routes");
    for (size_t i = 0; i < f->kept; i++)
        put_route(&f->routes[i], doc, routes);
}

static void put_some(const struct remarks *remarks, bool left_out, size_t *room, yyjson_mut_doc *doc,
                     yyjson_mut_val *list)
{
    for (size_t i = 0; i < remarks_count(remarks) && *room > 0; i++) {
        const struct remark *m = remarks_at(remarks, i);
        if (m->left_out != left_out)
            continue;
        yyjson_mut_val *obj = json_add_object(doc, list);
        json_put_text(doc, obj, "namespace", m->namespace);
        json_put_text(doc, obj, "name", m->name);
        json_put_bool(doc, obj, "left_out", m->left_out);
        json_put_bool(doc, obj, "as_before", m->as_before);
        json_put_text(doc, obj, "text", m->text);
        (*room)--;
    }
}

void status_services_put(const struct services_source *s, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (s == NULL) {
        json_put_text(doc, root, "services", NULL);
        return;
    }
    const struct services_view v = services_source_view(s);
    size_t room = REMARKS_LISTED;
    yyjson_mut_val *obj = json_put_object(doc, root, "services");
    json_put_count(doc, obj, "services", v.services);
    json_put_count(doc, obj, "served", v.served);
    json_put_count(doc, obj, "refused", v.refused);
    json_put_count(doc, obj, "no_endpoint", v.no_endpoint);
    json_put_count(doc, obj, "removal_delayed", v.delayed);
    json_put_text(doc, obj, "problem", v.problem);
    json_put_count(doc, obj, "frontend_count", v.report->frontend_count);
    yyjson_mut_val *frontends = json_put_list(doc, obj, "frontends");
    for (size_t i = 0; i < v.report->count; i++)
        put_frontend(&v.report->frontends[i], doc, frontends);
    json_put_count(doc, obj, "remarks", remarks_count(v.remarks));
    yyjson_mut_val *list = json_put_list(doc, obj, "remark_list");
    put_some(v.remarks, true, &room, doc, list);
    put_some(v.remarks, false, &room, doc, list);
}

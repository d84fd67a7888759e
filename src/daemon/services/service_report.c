#include "daemon/services/service_report.h"

#include <yyjson.h>

#include "base/mem.h"
#include "json/write.h"
#include "services/plan.h"

static void report_frontend(const struct service_frontend *f, size_t *room, yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "address", f->served->place);
    json_put_count(doc, obj, "port", f->served->listen_port);
    json_put_text(doc, obj, "mode", f->served->options.tcp ? "tcp" : "http");
    json_put_bool(doc, obj, "tls", f->served->options.tls && !f->served->redirect);
    json_put_count(doc, obj, "route_count", f->count);
    yyjson_mut_val *routes = json_put_list(doc, obj, "routes");
    for (size_t i = 0; i<f->count && * room> 0; i++, (*room)--) {
        const struct service_route *r = f->routes[i];
        cleanup(mem_free_ptr) char *redirect = r->redirect ? services_redirect_text(r) : NULL;
        yyjson_mut_val *route = json_add_object(doc, routes);
        json_put_text(doc, route, "host", r->options.hostname);
        json_put_text(doc, route, "path", r->options.path);
        json_put_text(doc, route, "service", r->service->service.name);
        json_put_text(doc, route, "port", r->port->name);
        json_put_text(doc, route, "backend", r->redirect ? NULL : r->backend);
        json_put_text(doc, route, "redirect", redirect);
    }
}

yyjson_mut_doc *service_report_new(const struct services_plan *p)
{
    size_t room = SERVICE_REPORT_MAX;
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_put_count(doc, root, "frontend_count", p->frontend_count);
    yyjson_mut_val *list = json_put_list(doc, root, "frontends");
    for (size_t i = 0; i < p->frontend_count && room > 0; i++)
        report_frontend(&p->frontends[i], &room, doc, list);
    return doc;
}

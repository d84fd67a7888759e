#include "daemon/services/service_report.h"

#include <stdlib.h>

#include "base/mem.h"
#include "services/plan.h"

static void reported_route_fini(struct reported_route *r)
{
    free(r->host);
    free(r->path);
    free(r->service);
    free(r->port);
    free(r->backend);
    free(r->sends);
}

void service_report_fini(struct service_report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct reported_frontend *f = &r->frontends[i];
        for (size_t k = 0; k < f->kept; k++)
            reported_route_fini(&f->routes[k]);
        free(f->routes);
        free(f->address);
    }
    free(r->frontends);
    *r = (struct service_report){0};
}

static struct reported_route reported_route(const struct service_route *r)
{
    return (struct reported_route){.host = mem_strdup(r->options.hostname),
                                   .path = mem_strdup(r->options.path),
                                   .service = mem_strdup(r->service->service.name),
                                   .port = mem_strdup(r->port->name),
                                   .backend = r->redirect ? NULL : mem_strdup(r->backend),
                                   .sends = r->redirect ? services_redirect_text(r) : NULL};
}

static void report_frontend(struct service_report *r, const struct service_frontend *of, size_t *room)
{
    struct reported_frontend f = {.port = of->served->listen_port,
                                  .tcp = of->served->options.tcp,
                                  .tls = of->served->options.tls && !of->served->redirect};
    f.routes = mem_array(of->count < *room ? of->count : *room, sizeof(f.routes[0]));
    for (size_t i = 0; i < of->count; i++) {
        f.route_count++;
        if (*room == 0)
            continue;
        f.routes[f.kept++] = reported_route(of->routes[i]);
        (*room)--;
    }
    f.address = mem_strdup(of->served->place);
    r->frontends[r->count++] = f;
}

void service_report_take(struct service_report *r, const struct services_plan *p)
{
    size_t room = SERVICE_REPORT_MAX;
    service_report_fini(r);
    r->frontends = mem_array(p->frontend_count < SERVICE_REPORT_MAX ? p->frontend_count : SERVICE_REPORT_MAX,
                             sizeof(r->frontends[0]));
    for (size_t i = 0; i < p->frontend_count; i++) {
        r->frontend_count++;
        if (room > 0)
            report_frontend(r, &p->frontends[i], &room);
    }
}

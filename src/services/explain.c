#include "services/plan.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

static const struct service_route *route_of(const struct services_plan *p, const struct annotated_service *s,
                                            const struct service_port *port)
{
    for (size_t i = 0; i < p->route_count; i++)
        if (p->routes[i].service == s && p->routes[i].port == port && !p->routes[i].redirect)
            return &p->routes[i];
    return NULL;
}

static void explain_option(const struct service_notes *notes, const struct service_port *port,
                           const struct service_option *o, struct buf *out)
{
    const struct object_annotation *a = service_notes_find(notes, port->name, o->name);
    buf_printf(out, "    %-24s ", o->name);
    if (a == NULL) {
        buf_printf(out, "%s (default)\n", o->fallback);
        return;
    }
    text_add(out, a->value, TEXT_TERMINAL, 200);
    buf_printf(out, " (%s)\n", a->name);
}

static void explain_port(const struct services_plan *p, const struct annotated_service *s,
                         const struct service_port *port, const struct service_notes *notes, struct buf *out)
{
    const struct service_route *r = route_of(p, s, port);
    buf_printf(out, "port %s%s%u", port->name, *port->name != '\0' ? ", " : "", port->number);
    if (port->node_port != 0)
        buf_printf(out, ", nodePort %u", port->node_port);
    if (r != NULL && !r->refused) {
        cleanup(mem_free_ptr) char *at = str_host_port(r->place, r->listen_port);
        buf_printf(out, ": served at %s by backend %s\n", at, r->backend);
    } else {
        buf_add(out, ": not served\n");
    }
    for (size_t i = 0; i < service_option_count; i++)
        explain_option(notes, port, &service_options[i], out);
}

void services_explain(const struct services_plan *p, const struct annotated_service *s,
                      const struct services_rules *rules, struct buf *out)
{
    cleanup(service_notes_fini) struct service_notes notes;
    service_notes_init(&notes, s, rules->prefix);
    buf_printf(out, "Service %s\n", s->service.name);
    for (size_t i = 0; i < s->service.port_count; i++)
        explain_port(p, s, &s->service.ports[i], &notes, out);
    for (size_t i = 0; i < p->remark_count; i++) {
        if (p->remarks[i].service != s)
            continue;
        buf_add(out, p->remarks[i].refused ? "not served: " : "no effect: ");
        text_add(out, p->remarks[i].text, TEXT_TERMINAL, TEXT_WHOLE);
        buf_add(out, "\n");
    }
}

/* What is said about a Service as a whole: what its user has to decide, why it has no server, settings without
 * effect. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "servers/desired/desired_internal.h"

/* ---- undecided ---- */

static int port_by_number(const void *a, const void *b)
{
    const struct run_port *x = a, *y = b;
    return x->number != y->number ? (int)x->number - (int)y->number : strcmp(x->name, y->name);
}

char *problem_several_ports(struct run *r)
{
    struct buf b = {0};
    size_t shown = r->port_count < PORTS_SHOWN ? r->port_count : PORTS_SHOWN;
    qsort(r->ports, shown, sizeof(r->ports[0]), port_by_number);
    buf_printf(&b, "HAPROXY_BACKEND_PORT is not set and Service %s has ", r->where);
    buf_printf(&b, shown < r->port_count ? "more than %zu ports (" : "%zu ports (", shown);
    for (size_t i = 0; i < shown; i++)
        buf_printf(&b, "%s%s%s%u", i > 0 ? ", " : "", r->ports[i].name, str_empty(r->ports[i].name) ? "" : " ",
                   r->ports[i].number);
    buf_printf(&b,
               "%s): set INGRESS_SERVICE_PORT to the name of one (or give it in INGRESS_SERVICES), or "
               "HAPROXY_BACKEND_PORT to the NodePort",
               shown < r->port_count ? ", ..." : "");
    return buf_take(&b);
}

const char *service_lack(const struct run *r)
{
    return r->in->service_denied ? "may not be read" : "does not exist";
}

char *problem_all_needs_port(const struct run *r)
{
    const char *lack = r->service != NULL ? "has no nodePort for its port" : service_lack(r);
    return mem_printf("NODE_MODE is all, which needs a port that every node serves, and Service %s %s: set "
                      "HAPROXY_BACKEND_PORT to the NodePort, or NODE_MODE to endpoints",
                      r->where, lack);
}

char *problem_of_place(const struct run *r, const struct place *p)
{
    const struct tally *t = p->ready.first != NULL ? &p->ready : &p->leaving;
    if (p->cause == CAUSE_NO_PORT_AT_ALL)
        return mem_printf("HAPROXY_BACKEND_PORT is not set and endpoint %s has no port of its own: set "
                          "HAPROXY_BACKEND_PORT to the port that HAProxy should connect to",
                          t->first->endpoint->address);
    const char *fix = r->service != NULL ? "set HAPROXY_BACKEND_PORT to the port that the nodes serve, or give the "
                                           "Service a NodePort (type NodePort or LoadBalancer)"
                      : r->in->service_denied
                          ? "set HAPROXY_BACKEND_PORT to the NodePort, or grant list and watch on services"
                          : "the Service does not exist; create it, or set HAPROXY_BACKEND_PORT to the NodePort";
    return mem_printf("HAPROXY_BACKEND_PORT is not set and endpoint %s with port %u is not at the address of its node "
                      "%s, %s (it is not on host network, so that port is not the node's): %s",
                      t->elsewhere->endpoint->address, t->elsewhere->port, p->name, p->address, fix);
}

/* ---- empty ---- */

char *problem_empty(const struct run *r, const struct desired *d)
{
    if (r->set_count == 0) {
        const char *kind = r->cache == NULL || r->cache == r->in->caches->slices ? "EndpointSlice" : "Endpoints";
        if (r->service != NULL)
            return mem_printf("Service %s has no %s: does it have a selector that matches pods?", r->where, kind);
        if (cache_synced(r->in->caches->services))
            return mem_printf(
                "Service %s does not exist: check INGRESS_NAMESPACE and INGRESS_SERVICE_NAME, or INGRESS_SERVICES",
                r->where);
        return mem_printf("Service %s has no %s: does it exist? Check INGRESS_NAMESPACE and INGRESS_SERVICE_NAME, or "
                          "INGRESS_SERVICES",
                          r->where, kind);
    }
    if (r->endpoint_count == 0)
        return mem_strdup("the Service has no endpoints: no pod matches its selector");
    if (r->all && cache_count(r->in->caches->nodes) == 0)
        return mem_strdup("NODE_MODE is all, and no node is known");
    for (size_t i = 0; i < d->skip_count; i++)
        if (!d->skips[i].ordinary) {
            cleanup(mem_free_ptr) char *why = desired_skip_text(d, &d->skips[i]);
            return mem_printf("none of the Service's %zu endpoints can be used; %s", r->endpoint_count, why);
        }
    return mem_printf("none of the Service's %zu endpoints is ready", r->endpoint_count);
}

/* ---- settings without effect ---- */

bool run_counts_endpoints(const struct run *r)
{
    return !r->all && (r->service == NULL || r->service->local || !r->node_port);
}

/* NULL: the health check port is used. */
static const char *no_check_port(const struct run *r)
{
    const struct service *s = r->service;
    if (s == NULL)
        return r->in->service_denied ? "the Service may not be read" : "the Service does not exist";
    if (s->type != SERVICE_LOAD_BALANCER)
        return "the Service is not of type LoadBalancer";
    if (!s->local)
        return "externalTrafficPolicy is Cluster";
    if (s->health_check_node_port == 0)
        return "the Service has no healthCheckNodePort";
    bool alone = r->rest.alone;
    for (size_t i = 0; i < r->place_count && !alone; i++)
        alone = !r->places[i].named && r->places[i].cause == CAUSE_NONE;
    return alone ? "an endpoint of the Service names no node, and only nodes have that port" : NULL;
}

char *run_notes(const struct run *r, uint16_t *ret_check_port)
{
    struct text_list notes = {.between = "; ", .max = 3};
    if (r->rules->node_mode == NODE_MODE_ALL && !r->all && text_list_next(&notes))
        buf_printf(&notes.text, "NODE_MODE=all is not used: %s, so only nodes with usable endpoints serve",
                   r->service->local ? "externalTrafficPolicy is Local"
                                     : "the Service is not of type NodePort or LoadBalancer");
    if (r->rules->weights == WEIGHTS_ENDPOINTS && !run_counts_endpoints(r) && text_list_next(&notes))
        buf_printf(&notes.text,
                   "SERVER_WEIGHTS=endpoints is not used: kube-proxy on each node balances over all endpoints (%s), "
                   "so all weights are equal",
                   r->all ? "NODE_MODE=all" : "externalTrafficPolicy is Cluster");
    const char *lack = r->rules->node_port_check ? no_check_port(r) : NULL;
    if (r->rules->node_port_check && lack == NULL)
        *ret_check_port = r->service->health_check_node_port;
    else if (lack != NULL && text_list_next(&notes))
        buf_printf(&notes.text, "HAPROXY_HEALTH_CHECK=node-port is not used: %s", lack);
    return text_list_take(&notes);
}

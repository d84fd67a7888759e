/* The checks of each Service: the object, its port, its endpoints, the nodes, and what servers come of it. */
#include "cli/doctor/doctor_service.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "daemon/sources.h"
#include "model/cache.h"
#include "model/node_rules.h"
#include "model/objects.h"
#include "model/service_port.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "daemon/inspect/inspect_report.h"

#define NAMES_SHOWN 6
#define LIMIT "500" /* Services of a namespace that are named where one is missing */

/* ---- counts ---- */

void doctor_group_add(struct doctor_group *groups, const char *reason, const char *name)
{
    size_t i = 0;
    while (i + 1 < DOCTOR_REASONS_MAX && groups[i].names.count > 0 && !str_eq(groups[i].reason, reason))
        i++;
    struct doctor_group *g = &groups[i];
    if (g->names.count == 0)
        *g = (struct doctor_group){.reason = reason, .names = {.between = ", ", .max = DOCTOR_NAMES_SHOWN}};
    if (!str_eq(g->reason, reason))
        g->reason = "several reasons";
    if (text_list_next(&g->names))
        buf_add(&g->names.text, name);
}

char *doctor_groups_text(struct doctor_group *groups)
{
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < DOCTOR_REASONS_MAX && groups[i].names.count > 0; i++) {
        cleanup(mem_free_ptr) char *names = text_list_take(&groups[i].names);
        buf_printf(&text, "%s%s: %s", text.len > 0 ? "; " : "", names, groups[i].reason);
    }
    return buf_take(&text);
}

struct counting {
    const struct node_rules *rules;
    const struct service *service;
    bool strict;
    struct doctor_nodes *ret;
};

static void count_node(void *arg, const void *node)
{
    const struct node *n = node;
    const struct counting *c = arg;
    const char *why = node_exclusion(n, c->rules);
    if (why == NULL && node_address_choose(n, c->rules, c->service, c->strict) == NULL)
        why = "no address of the configured type and family";
    c->ret->all++;
    if (why != NULL) {
        doctor_group_add(c->ret->left_out, why, n->name);
        return;
    }
    c->ret->usable++;
}

void doctor_count_nodes(const struct object_caches *caches, const struct node_rules *rules,
                        const struct service *service, bool strict, struct doctor_nodes *ret)
{
    *ret = (struct doctor_nodes){0};
    struct counting c = {.rules = rules, .service = service, .strict = strict, .ret = ret};
    cache_each(caches->nodes, count_node, &c);
}

void doctor_nodes_fini(struct doctor_nodes *n)
{
    for (size_t i = 0; i < DOCTOR_REASONS_MAX; i++)
        buf_fini(&n->left_out[i].names.text);
}

static void count_set(void *arg, const void *object)
{
    const struct endpoint_set *set = object;
    struct doctor_endpoints *ret = arg;
    ret->objects++;
    for (size_t g = 0; g < set->group_count; g++) {
        for (size_t i = 0; i < set->groups[g].endpoint_count; i++) {
            const struct endpoint *e = &set->groups[g].endpoints[i];
            ret->all++;
            ret->ready += e->ready;
        }
    }
}

void doctor_count_endpoints(const struct object_caches *caches, struct doctor_endpoints *ret)
{
    *ret = (struct doctor_endpoints){.slices = cache_synced(caches->slices)};
    cache_each(ret->slices ? caches->slices : caches->endpoints, count_set, ret);
}

/* ---- the object and its port ---- */

static void report_absent(const struct inspect_mapping *m, struct doctor *d, struct doctor_section *s)
{
    const struct mapping_rules *of = m->rules;
    cleanup(nearest_fini) struct nearest here, other;
    cleanup(mem_free_ptr) char *in_namespace = mem_printf("/api/v1/namespaces/%s/services?limit=" LIMIT, of->namespace);
    cleanup(mem_free_ptr) char *anywhere =
        mem_printf("/api/v1/services?fieldSelector=metadata.name%%3D%s&limit=" LIMIT, of->service);
    nearest_init_all(&here, of->service);
    nearest_init_all(&other, of->namespace);
    doctor_kubernetes_names(d, in_namespace, "name", &here);
    doctor_kubernetes_names(d, anywhere, "namespace", &other);
    cleanup(mem_free_ptr) char *near = nearest_text(&here), *elsewhere = nearest_text(&other);
    doctor_set_if(s, "near", "; there are ", near, "");
    doctor_set_if(s, "elsewhere", "; one of that name is in ", elsewhere, "");
    bool served = m->desired->state == DESIRED_OK; /* by endpoints that another controller manages */
    doctor_say(s, served ? CHECK_WARN : CHECK_FAIL, "service.object", "object",
               "there is no Service {service} in namespace {namespace}{near}{elsewhere}");
    if (near == NULL && elsewhere == NULL)
        doctor_help(s, "fix find its name:\n  kubectl get services -A\n"
                       "or correct the settings (or INGRESS_SERVICES):\n"
                       "  INGRESS_NAMESPACE=...\n  INGRESS_SERVICE_NAME=...");
    doctor_set(s, "first", near != NULL ? here.list[0].name : NULL);
    if (near != NULL)
        doctor_help(s, "fix if that is meant (or in INGRESS_SERVICES):\n  INGRESS_SERVICE_NAME={first}");
    doctor_set(s, "first", elsewhere != NULL ? other.list[0].name : NULL);
    if (elsewhere != NULL)
        doctor_help(s, "or if the namespace is wrong (or in INGRESS_SERVICES):\n  INGRESS_NAMESPACE={first}");
}

static bool has_node_ports(const struct service *svc)
{
    return svc != NULL && (svc->type == SERVICE_NODE_PORT || svc->type == SERVICE_LOAD_BALANCER);
}

static void report_object(const struct inspect_mapping *m, struct doctor *d, struct doctor_section *s)
{
    bool denied = m->service_state == INSPECT_SERVICE_DENIED;
    if (m->service_state == INSPECT_SERVICE_ABSENT) {
        report_absent(m, d, s);
        return;
    }
    if (m->service != NULL) {
        /* "NodePort, policy Local: http 80 (nodePort 30080), https 443 (nodePort 30443)" */
        cleanup(buf_fini) struct buf text = {0};
        for (size_t i = 0; i < m->service->port_count; i++) {
            const struct service_port *p = &m->service->ports[i];
            buf_printf(&text, "%s%s%s%u", text.len > 0 ? ", " : "", p->name, p->name[0] != '\0' ? " " : "", p->number);
            if (p->node_port != 0)
                buf_printf(&text, " (nodePort %u)", p->node_port);
        }
        doctor_word(s, "object", "%s%s: %s", service_type_names[m->service->type],
                    !has_node_ports(m->service) ? ""
                    : m->service->local         ? ", policy Local"
                                                : ", policy Cluster",
                    text.len > 0 ? buf_str(&text) : "no TCP port");
    }
    const struct doctor_row rows[] = {
        {denied, CHECK_SKIP, "may not be read, see the permission for services"},
        {m->service == NULL, CHECK_SKIP, "not read, see the permissions"},
        {m->service != NULL && m->service->type == SERVICE_EXTERNAL_NAME, CHECK_FAIL,
         "its type is ExternalName\n"
         "why such a Service is a DNS name and has neither endpoints nor node ports"},
        {true, CHECK_OK, "{object}"},
    };
    doctor_first(s, "service.object", "object", rows);
    if (!denied && m->service != NULL && m->service->type != SERVICE_EXTERNAL_NAME && m->service->paused)
        doctor_say(s, CHECK_WARN, "service.paused", "pause",
                   "paused by its annotation: nothing is written\n"
                   "fix resume:\n"
                   "  kubectl -n {namespace} annotate service {service} haproxy-k8s-sync/paused-");
}

static void report_port(const struct inspect_mapping *m, struct doctor_section *s)
{
    static const char id[] = "service.port", label[] = "port";
    cleanup(port_choice_fini) struct port_choice choice = {0};
    cleanup(mem_free_ptr) char *where = mem_printf("%s/%s", m->rules->namespace, m->rules->service);
    if (m->service_state == INSPECT_SERVICE_ABSENT || m->service_state == INSPECT_SERVICE_WAITING) {
        doctor_skip(s, id, label, "needs the object");
        return;
    }
    service_port_choose(m->service, where, m->rules->port, m->rules->fixed_port, &choice);
    if (choice.source == PORT_ENDPOINT)
        doctor_ok(s, id, label, "%s; correct only for pods on the host's network", choice.reason);
    else if (choice.source != PORT_UNDECIDED)
        doctor_ok(s, id, label, "%u: %s", choice.number, choice.reason);
    else
        doctor_fail(s, id, label, "%s", choice.problem);
    for (size_t i = 0; choice.source == PORT_UNDECIDED && m->service != NULL && i < m->service->port_count; i++) {
        const struct service_port *p = &m->service->ports[i];
        doctor_set(s, "port", p->name);
        if (p->name[0] == '\0')
            doctor_word(s, "port", "%u", p->number);
        doctor_help(s, i == 0 ? "fix choose one (or set it in INGRESS_SERVICES):\n  INGRESS_SERVICE_PORT={port}"
                              : "or choose:\n  INGRESS_SERVICE_PORT={port}");
    }
}

/* ---- endpoints and nodes ---- */

static void report_endpoints(const struct object_caches *caches, const struct inspect_mapping *m,
                             struct doctor_section *s)
{
    bool synced = cache_synced(caches->slices) || cache_synced(caches->endpoints);
    struct doctor_endpoints e = {0};
    if (synced)
        doctor_count_endpoints(caches, &e);
    doctor_word(s, "ready", "%zu ready of %zu, from %zu %s", e.ready, e.all, e.objects,
                !e.slices        ? "Endpoints"
                : e.objects == 1 ? "EndpointSlice"
                                 : "EndpointSlices");
    doctor_word(s, "found", "%zu, none of them ready", e.all);
    if (e.all == 0)
        doctor_set(s, "found", "none");
    const struct doctor_row rows[] = {
        {!synced, CHECK_SKIP, "not read, see the permissions"},
        {e.ready > 0, CHECK_OK, "{ready}"},
        {e.all == 0 && m->service_state == INSPECT_SERVICE_ABSENT, CHECK_SKIP, "needs the object"},
        {true, CHECK_FAIL,
         "{found}\n"
         "why no pod of the ingress controller is ready; HAProxy keeps its servers until one is\n"
         "fix check its pods and the Service's selector:\n"
         "  kubectl -n {namespace} get pods -o wide\n  kubectl -n {namespace} describe service {service}"},
    };
    doctor_first(s, "service.endpoints", "endpoints", rows);
}

static void report_nodes(const struct object_caches *caches, const struct inspect_mapping *m,
                         const struct settings *settings, struct doctor_section *s)
{
    cleanup(doctor_nodes_fini) struct doctor_nodes n = {0};
    bool strict = has_node_ports(m->service) && m->rules->fixed_port == 0, synced = cache_synced(caches->nodes);
    if (synced)
        doctor_count_nodes(caches, &m->rules->nodes, m->service, strict, &n);
    cleanup(mem_free_ptr) char *out = doctor_groups_text(n.left_out);
    cleanup(mem_free_ptr) char *required = node_rules_text(&m->rules->nodes, m->service, strict);
    doctor_word(s, "all", "%zu", n.all);
    doctor_word(s, "usable", "%zu", n.usable);
    doctor_sets(
        s, {"required", required}, {"out", out}, {"selector", settings->node_selector},
        {"labelled", strstr(out, SETTING(node_exclude_label)->fallback) != NULL
                         ? "if all nodes of the cluster are control-plane nodes, to which kubeadm gives that label"
                         : ""});
    const struct doctor_row rows[] = {
        {!synced, CHECK_SKIP, "not read, see the permission for nodes"},
        {n.all == 0 && settings->node_selector == NULL, CHECK_FAIL,
         "the cluster has none\n"
         "fix check that this is the right cluster:\n  kubectl config current-context; kubectl get nodes"},
        {n.all == 0, CHECK_FAIL,
         "none selected by NODE_SELECTOR={selector}\n"
         "fix see their labels:\n  kubectl get nodes --show-labels"},
        {n.usable == n.all, CHECK_OK, "{all}, all with an address ({required})"},
        {n.usable > 0, CHECK_OK, "{usable} of {all} may have a server ({required}); not {out}"},
        {true, CHECK_FAIL,
         "none of {all} may have a server ({required}): {out}\n"
         "fix {labelled}:\n  NODE_EXCLUDE_LABEL=ignore\n"
         "or see their addresses and labels:\n  kubectl get nodes -o wide --show-labels\n"
         "or use another address type or family:\n"
         "  NODE_ADDRESS_TYPES=InternalIP,ExternalIP\n  IP_FAMILY=dual"},
    };
    doctor_first(s, "service.nodes", "nodes", rows);
}

/* ---- the desired servers ---- */

static void report_desired(const struct inspect_mapping *m, struct doctor_section *s)
{
    const struct desired *desired = m->desired;
    struct text_list servers = {.between = ", ", .max = NAMES_SHOWN};
    size_t count = 0, first = 0; /* of the skips that are worth a line */
    for (size_t i = 0; i < desired->server_count; i++)
        if (text_list_next(&servers))
            buf_add(&servers.text, desired->servers[i].name);
    for (size_t i = 0; i < desired->skip_count; i++)
        if (!desired->skips[i].ordinary && !desired->skips[i].announced)
            first = count++ == 0 ? i : first;
    cleanup(mem_free_ptr) char *names = text_list_take(&servers);
    bool none = desired->state == DESIRED_EMPTY || desired->state == DESIRED_UNDECIDED;
    doctor_set(s, "names", names);
    doctor_word(s, "servers", "%zu", desired->server_count);
    doctor_sets(s, {"backend", m->backend},
                {"problem", desired->problem != NULL ? desired->problem
                            : none                   ? "unknown"
                                                     : "some objects were not read"});
    const struct doctor_row rows[] = {
        {desired->state == DESIRED_OK, CHECK_OK, "{servers} for backend {backend}: {names}"},
        {none, CHECK_FAIL,
         "none for backend {backend}: {problem}\n"
         "fix see why a node gets no server, rule by rule:\n  haproxy-k8s-sync explain NODE"},
        {true, CHECK_SKIP, "unknown: {problem}"},
    };
    doctor_first(s, "service.servers", "servers", rows);
    if (count > 0) {
        cleanup(mem_free_ptr) char *why = desired_skip_text(desired, &desired->skips[first]);
        doctor_warn(s, "service.left-out", "left out", "%zu: %s%s", count, why, count > 1 ? ", ..." : "");
        doctor_help(s, "fix see all of them:\n  haproxy-k8s-sync plan");
    }
    if (desired->note != NULL)
        doctor_warn(s, "service.note", "setting", "%s", desired->note);
}

void doctor_services_report(const struct inspect_report *seen, struct doctor *d)
{
    if (seen->sources == NULL) {
        /* Of all of them, where Kubernetes was not read: that is said once. */
        struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
        for (size_t i = 0; i < seen->mapping_count; i++)
            if (text_list_next(&names))
                buf_printf(&names.text, "%s/%s", seen->mappings[i].rules->namespace, seen->mappings[i].rules->service);
        cleanup(mem_free_ptr) char *subject = text_list_take(&names);
        cleanup(mem_free_ptr) char *remark =
            seen->mapping_count == 1 ? mem_printf("for backend %s", seen->mappings[0].backend) : NULL;
        if (subject != NULL)
            doctor_skip(doctor_section(d->report, "service", subject, remark), "service.object", "object",
                        "needs Kubernetes, see there");
    }
    for (size_t i = 0; seen->sources != NULL && i < seen->mapping_count; i++) {
        const struct inspect_mapping *m = &seen->mappings[i];
        const struct object_caches *caches = sources_caches(seen->sources, m->source);
        cleanup(mem_free_ptr) char *subject = mem_printf("%s/%s", m->rules->namespace, m->rules->service);
        cleanup(mem_free_ptr) char *remark = mem_printf("for backend %s", m->backend);
        struct doctor_section *s = doctor_section(d->report, "service", subject, remark);
        doctor_sets(s, {"namespace", m->rules->namespace}, {"service", m->rules->service});
        report_object(m, d, s);
        report_port(m, s);
        report_endpoints(caches, m, s);
        report_nodes(caches, m, d->settings, s);
        report_desired(m, s);
    }
}

#include "cli/doctor/doctor_service.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "model/cache.h"
#include "model/node_rules.h"
#include "model/objects.h"
#include "model/service_port.h"
#include "cli/doctor/doctor_count.h"
#include "cli/doctor/doctor_names.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect_report.h"
#include "daemon/sources.h"

#define NAMES_SHOWN 6

/* ---- the object ---- */

static bool has_node_ports(const struct service *svc)
{
    return svc != NULL && (svc->type == SERVICE_NODE_PORT || svc->type == SERVICE_LOAD_BALANCER);
}

/* "http 80 (nodePort 30080), https 443 (nodePort 30443)" */
static char *ports_text(const struct service *svc)
{
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < svc->port_count; i++) {
        const struct service_port *p = &svc->ports[i];
        buf_printf(&text, "%s%s%s%u", text.len > 0 ? ", " : "", p->name, p->name[0] != '\0' ? " " : "", p->number);
        if (p->node_port != 0)
            buf_printf(&text, " (nodePort %u)", p->node_port);
    }
    return text.len > 0 ? buf_take(&text) : mem_strdup("no TCP port");
}

static void report_absent(const struct inspect_mapping *m, const struct doctor_names *names, struct doctor_section *s)
{
    const struct mapping_rules *of = m->rules;
    cleanup(mem_free_ptr) char *here = names->here != NULL ? mem_printf("; there are %s", names->here) : mem_strdup("");
    cleanup(mem_free_ptr) char *other =
        names->other != NULL ? mem_printf("; one of that name is in %s", names->other) : mem_strdup("");
    bool served = m->desired.state == DESIRED_OK; /* by endpoints that another controller manages */
    struct doctor_check *c =
        doctor_add(s, served ? CHECK_WARN : CHECK_FAIL, "service.object", "object",
                   "there is no Service %s in namespace %s%s%s", of->service, of->namespace, here, other);
    if (names->here == NULL && names->other == NULL) {
        doctor_fix(c, "find its name", "kubectl get services -A");
        doctor_fix(c, "correct the settings (or INGRESS_SERVICES)", "INGRESS_NAMESPACE=...\nINGRESS_SERVICE_NAME=...");
        doctor_also(c);
        return;
    }
    if (names->first != NULL)
        doctor_fix(c, "if that is meant (or in INGRESS_SERVICES)", "INGRESS_SERVICE_NAME=%s", names->first);
    if (names->other != NULL)
        doctor_fix(c, "if the namespace is wrong (or in INGRESS_SERVICES)", "INGRESS_NAMESPACE=%.*s",
                   (int)strcspn(names->other, ", "), names->other);
}

static void report_object(const struct inspect_mapping *m, const struct doctor_names *names, struct doctor_section *s)
{
    static const char id[] = "service.object", label[] = "object";
    if (m->service_state == INSPECT_SERVICE_ABSENT) {
        report_absent(m, names, s);
    } else if (m->service_state == INSPECT_SERVICE_DENIED) {
        doctor_skip(s, id, label, "may not be read, see the permission for services");
    } else if (m->service == NULL) {
        doctor_skip(s, id, label, "not read, see the permissions");
    } else if (m->service->type == SERVICE_EXTERNAL_NAME) {
        struct doctor_check *c = doctor_fail(s, id, label, "its type is ExternalName");
        doctor_why(c, "such a Service is a DNS name and has neither endpoints nor node ports");
    } else {
        cleanup(mem_free_ptr) char *ports = ports_text(m->service);
        doctor_ok(s, id, label, "%s%s: %s", service_type_names[m->service->type],
                  !has_node_ports(m->service) ? ""
                  : m->service->local         ? ", policy Local"
                                              : ", policy Cluster",
                  ports);
        if (m->service->paused) {
            struct doctor_check *c =
                doctor_warn(s, "service.paused", "pause", "paused by its annotation: nothing is written");
            doctor_fix(c, "resume", "kubectl -n %s annotate service %s haproxy-k8s-sync/paused-", m->rules->namespace,
                       m->rules->service);
        }
    }
}

/* ---- its port ---- */

static void fail_port(const struct inspect_mapping *m, const char *problem, struct doctor_section *s)
{
    struct doctor_check *c = doctor_fail(s, "service.port", "port", "%s", problem);
    for (size_t i = 0; m->service != NULL && i < m->service->port_count; i++) {
        const struct service_port *p = &m->service->ports[i];
        const char *how = i == 0 ? "choose one (or set it in INGRESS_SERVICES)" : "choose";
        if (p->name[0] != '\0')
            doctor_fix(c, how, "INGRESS_SERVICE_PORT=%s", p->name);
        else
            doctor_fix(c, how, "INGRESS_SERVICE_PORT=%u", p->number);
    }
}

static void report_port(const struct inspect_mapping *m, struct doctor_section *s)
{
    cleanup(port_choice_fini) struct port_choice choice = {0};
    cleanup(mem_free_ptr) char *where = mem_printf("%s/%s", m->rules->namespace, m->rules->service);
    if (m->service_state == INSPECT_SERVICE_ABSENT || m->service_state == INSPECT_SERVICE_WAITING) {
        doctor_skip(s, "service.port", "port", "needs the object");
        return;
    }
    service_port_choose(m->service, where, m->rules->port, m->rules->fixed_port, &choice);
    if (choice.source == PORT_UNDECIDED) {
        fail_port(m, choice.problem, s);
    } else if (choice.source == PORT_ENDPOINT) {
        doctor_ok(s, "service.port", "port", "%s; correct only for pods on the host's network", choice.reason);
    } else {
        doctor_ok(s, "service.port", "port", "%u: %s", choice.number, choice.reason);
    }
}

/* ---- endpoints and nodes ---- */

static void report_endpoints(const struct inspect_report *seen, const struct inspect_mapping *m,
                             struct doctor_section *s)
{
    static const char id[] = "service.endpoints", label[] = "endpoints";
    struct doctor_endpoints e;
    const struct object_caches *caches = sources_caches(seen->sources, m->source);
    if (!cache_synced(caches->slices) && !cache_synced(caches->endpoints)) {
        doctor_skip(s, id, label, "not read, see the permissions");
        return;
    }
    doctor_count_endpoints(caches, &e);
    if (e.ready > 0) {
        doctor_ok(s, id, label, "%zu ready of %zu, from %zu %s", e.ready, e.all, e.objects,
                  e.slices ? (e.objects == 1 ? "EndpointSlice" : "EndpointSlices") : "Endpoints");
        return;
    }
    if (e.all == 0 && m->service_state == INSPECT_SERVICE_ABSENT) {
        doctor_skip(s, id, label, "needs the object");
        return;
    }
    cleanup(mem_free_ptr) char *found = e.all > 0 ? mem_printf("%zu, none of them ready", e.all) : mem_strdup("none");
    struct doctor_check *c = doctor_fail(s, id, label, "%s", found);
    doctor_why(c, "no pod of the ingress controller is ready; HAProxy keeps its servers until one is");
    doctor_fix(c, "check its pods and the Service's selector",
               "kubectl -n %s get pods -o wide\nkubectl -n %s describe service %s", m->rules->namespace,
               m->rules->namespace, m->rules->service);
}

static void no_nodes(const struct settings *settings, struct doctor_section *s)
{
    if (settings->node_selector == NULL) {
        struct doctor_check *none = doctor_fail(s, "service.nodes", "nodes", "the cluster has none");
        doctor_fix(none, "check that this is the right cluster", "kubectl config current-context; kubectl get nodes");
        return;
    }
    struct doctor_check *c =
        doctor_fail(s, "service.nodes", "nodes", "none selected by NODE_SELECTOR=%s", settings->node_selector);
    doctor_fix(c, "see their labels", "kubectl get nodes --show-labels");
}

static void report_nodes(const struct inspect_report *seen, const struct inspect_mapping *m,
                         const struct settings *settings, struct doctor_section *s)
{
    static const char id[] = "service.nodes", label[] = "nodes";
    cleanup(doctor_nodes_fini) struct doctor_nodes n = {0};
    const struct object_caches *caches = sources_caches(seen->sources, m->source);
    bool strict = has_node_ports(m->service) && m->rules->fixed_port == 0;
    if (!cache_synced(caches->nodes)) {
        doctor_skip(s, id, label, "not read, see the permission for nodes");
        return;
    }
    doctor_count_nodes(caches, &m->rules->nodes, m->service, strict, &n);
    cleanup(mem_free_ptr) char *out = doctor_groups_text(n.left_out);
    cleanup(mem_free_ptr) char *required = node_rules_text(&m->rules->nodes, m->service, strict);
    if (n.all == 0) {
        no_nodes(settings, s);
    } else if (n.usable == n.all) {
        doctor_ok(s, id, label, "%zu, all with an address (%s)", n.all, required);
    } else if (n.usable > 0) {
        doctor_ok(s, id, label, "%zu of %zu may have a server (%s); not %s", n.usable, n.all, required, out);
    } else {
        struct doctor_check *c =
            doctor_fail(s, id, label, "none of %zu may have a server (%s): %s", n.all, required, out);
        if (strstr(out, SETTING(node_exclude_label)->fallback) != NULL)
            doctor_fix(c, "if all nodes of the cluster are control-plane nodes, to which kubeadm gives that label",
                       "NODE_EXCLUDE_LABEL=ignore");
        doctor_fix(c, "see their addresses and labels", "kubectl get nodes -o wide --show-labels");
        doctor_fix(c, "use another address type or family", "NODE_ADDRESS_TYPES=InternalIP,ExternalIP\nIP_FAMILY=dual");
    }
}

/* ---- the desired servers ---- */

static char *names_of(const struct desired *desired)
{
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < desired->server_count; i++)
        if (text_list_next(&names))
            buf_add(&names.text, desired->servers[i].name);
    return text_list_take(&names);
}

static void report_left_out(const struct desired *desired, struct doctor_section *s)
{
    size_t count = 0, first = 0;
    for (size_t i = 0; i < desired->skip_count; i++) {
        if (desired->skips[i].ordinary || desired->skips[i].announced)
            continue;
        first = count++ == 0 ? i : first;
    }
    if (count == 0)
        return;
    cleanup(mem_free_ptr) char *why = desired_skip_text(desired, &desired->skips[first]);
    struct doctor_check *c =
        doctor_warn(s, "service.left-out", "left out", "%zu: %s%s", count, why, count > 1 ? ", ..." : "");
    doctor_fix(c, "see all of them", "haproxy-k8s-sync plan");
}

static void report_desired(const struct inspect_mapping *m, struct doctor_section *s)
{
    static const char id[] = "service.servers", label[] = "servers";
    const struct desired *desired = &m->desired;
    if (desired->state == DESIRED_OK) {
        cleanup(mem_free_ptr) char *names = names_of(desired);
        doctor_ok(s, id, label, "%zu for backend %s: %s", desired->server_count, m->backend,
                  names != NULL ? names : "");
    } else if (desired->state == DESIRED_EMPTY || desired->state == DESIRED_UNDECIDED) {
        struct doctor_check *c = doctor_fail(s, id, label, "none for backend %s: %s", m->backend,
                                             desired->problem != NULL ? desired->problem : "unknown");
        doctor_fix(c, "see why a node gets no server, rule by rule", "haproxy-k8s-sync explain NODE");
    } else {
        doctor_skip(s, id, label, "unknown: %s",
                    desired->problem != NULL ? desired->problem : "some objects were not read");
    }
    report_left_out(desired, s);
    if (desired->note != NULL)
        doctor_warn(s, "service.note", "setting", "%s", desired->note);
}

void doctor_services_report_unread(const struct inspect_report *seen, struct doctor_report *r)
{
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < seen->mapping_count; i++)
        if (text_list_next(&names))
            buf_printf(&names.text, "%s/%s", seen->mappings[i].rules->namespace, seen->mappings[i].rules->service);
    cleanup(mem_free_ptr) char *subject = text_list_take(&names);
    cleanup(mem_free_ptr) char *remark =
        seen->mapping_count == 1 ? mem_printf("for backend %s", seen->mappings[0].backend) : NULL;
    if (subject != NULL)
        doctor_skip(doctor_section(r, "service", subject, remark), "service.object", "object",
                    "needs Kubernetes, see there");
}

void doctor_service_report(const struct inspect_report *seen, size_t at, const struct settings *settings,
                           const struct doctor_names *names, struct doctor_report *r)
{
    const struct inspect_mapping *m = &seen->mappings[at];
    cleanup(mem_free_ptr) char *subject = mem_printf("%s/%s", m->rules->namespace, m->rules->service);
    cleanup(mem_free_ptr) char *remark = mem_printf("for backend %s", m->backend);
    struct doctor_section *s = doctor_section(r, "service", subject, remark);
    report_object(m, names, s);
    report_port(m, s);
    report_endpoints(seen, m, s);
    report_nodes(seen, m, settings, s);
    report_desired(m, s);
}

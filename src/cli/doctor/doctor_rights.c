#include "cli/doctor/doctor_rights.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/leadership.h"
#include "settings/settings.h"
#include "kube/discovery.h"
#include "cli/doctor/doctor_report.h"
#include "template/pods.h"

static const char label[] = "permission";

static const char *const list_watch[] = {"list", "watch", NULL}, *const patch[] = {"patch", NULL},
                         *const create[] = {"create", NULL}, *const create_patch[] = {"create", "patch", NULL},
                         *const get_watch_update[] = {"get", "watch", "update", NULL};

#define SLICES_GROUP "discovery.k8s.io"
#define LEASE_GROUP "coordination.k8s.io"
#define ID(name) "kubernetes.rights." name

static const struct need {
    const char *group, *resource, *const *verbs;
    const char *id;
    bool warns;          /* the daemon runs without it */
    bool by_name;        /* the role is for the one object */
    const char *without; /* what the daemon does without it */
} needs[] = {
    [DOCTOR_NODES] = {"", "nodes", list_watch, ID("nodes"), false, false,
                      "without Nodes no server has an address: nothing is written"},
    [DOCTOR_SLICES] = {SLICES_GROUP, "endpointslices", list_watch, ID("endpointslices"), false, false,
                       "without EndpointSlices and Endpoints the serving nodes are unknown: nothing is written"},
    [DOCTOR_SERVICE] = {"", "services", list_watch, ID("services"), false, false,
                        "without the Service its node ports, traffic policy and pause are unknown"},
    [DOCTOR_ENDPOINTS] = {"", "endpoints", list_watch, ID("endpoints"), false, false,
                          "they would replace EndpointSlices, which may not be read"},
    [DOCTOR_SECRET] = {"", "secrets", list_watch, ID("secret"), false, true,
                       "CONFIG_SOURCE=secret: without the Secret there is no configuration to apply"},
    [DOCTOR_SECRET_REPORT] = {"", "secrets", patch, ID("secret-report"), true, true,
                              "CONFIG_REPORT=annotation: without this right the Secret does not say what became of it; "
                              "CONFIG_REPORT=events needs no right to change a Secret"},
    [DOCTOR_CONFIGMAP_REPORT] = {"", "configmaps", patch, ID("configmap-report"), true, true,
                                 "CONFIG_REPORT_CONFIGMAP: without this right it does not say what became of the "
                                 "Secret"},
    [DOCTOR_HOST_OWNERS] = {"", "configmaps", list_watch, ID("host-owners"), false, true,
                            "HOST_OWNERS_CONFIGMAP: nothing is made before it is known who owns which host name"},
    [DOCTOR_HOST_OWNERS_WRITE] = {"", "configmaps", patch, ID("host-owners-write"), true, true,
                                  "HOST_OWNERS_CONFIGMAP: without this right a host name may go to another namespace "
                                  "when another replica leads"},
    [DOCTOR_TEMPLATES] = {"", "configmaps", list_watch, ID("templates"), false, true,
                          "CONFIG_SOURCE=template: without the ConfigMap there are no templates to render"},
    [DOCTOR_TEMPLATE_KEYS] =
        {"", "secrets", list_watch, ID("template-keys"), false, true,
         "TEMPLATE_FROM=pods: the certificates' keys are in this Secret; nothing is rendered while "
         "it is not known"},
    [DOCTOR_PODS] = {"", "pods", list_watch, ID("pods"), true, false,
                     "TEMPLATE_FROM=pods: while the pods of a service's namespace may not be read nothing is rendered, "
                     "unless something was before"},
    [DOCTOR_ANNOTATED] = {"", "services", list_watch, ID("annotated-services"), false, false,
                          "CONFIG_SOURCE=services: without the Services there is no configuration to apply"},
    /* Rights by the names of Secrets will do. */
    [DOCTOR_ANNOTATED_SECRETS] = {"", "secrets", list_watch, ID("annotated-secrets"), true, false,
                                  "SERVICES_SECRET_NAMESPACES: ports whose certificate is in a Secret that may not be "
                                  "read are not served"},
    [DOCTOR_ANNOTATED_SLICES] = {SLICES_GROUP, "endpointslices", list_watch, ID("annotated-slices"), false, false,
                                 "CONFIG_SOURCE=services: while it is not known which nodes have pods nothing is made"},
    [DOCTOR_LEASE] = {LEASE_GROUP, "leases", get_watch_update, ID("lease"), false, true,
                      "LEADER_ELECT is set, and without the Lease no replica ever leads"},
    [DOCTOR_LEASE_CREATE] = {LEASE_GROUP, "leases", create, ID("lease-create"), false, false,
                             "LEADER_ELECT is set, and the daemon must create the Lease if it does not exist"},
    [DOCTOR_EVENTS] = {"", "events", create_patch, ID("events"), true, false,
                       "EMIT_EVENTS is set, or CONFIG_REPORT=events; without this right the daemon runs but records no "
                       "Events"},
};

/* ---- which are needed ---- */

static void add(struct doctor_rights *r, enum doctor_need need, const char *namespace, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].need == need && str_eq(r->list[i].namespace, namespace) && str_eq(r->list[i].name, name))
            return;
    r->list = mem_resize(r->list, r->count + 1, sizeof(r->list[0]));
    r->list[r->count++] = (struct doctor_right){.need = need, .namespace = namespace, .name = name};
}

void doctor_rights_init(struct doctor_rights *r, const struct settings *c, const char *pod_namespace)
{
    *r = (struct doctor_rights){0};
    const char *lease_namespace = leadership_namespace(c, pod_namespace);
    bool annotated = c->config_source == SETTINGS_CONFIG_SERVICES;
    if (c->mapping_count > 0 || annotated)
        add(r, DOCTOR_NODES, NULL, NULL);
    if (annotated)
        add(r, DOCTOR_ANNOTATED, NULL, NULL);
    for (size_t i = 0; i < c->services_secret_namespaces.count && annotated; i++)
        add(r, DOCTOR_ANNOTATED_SECRETS, c->services_secret_namespaces.list[i], NULL);
    if (annotated)
        add(r, DOCTOR_ANNOTATED_SLICES, NULL, NULL);
    if (c->config_source == SETTINGS_CONFIG_SECRET)
        add(r, DOCTOR_SECRET, c->config_secret_namespace, c->config_secret_name);
    if (c->host_owners_configmap != NULL)
        add(r, DOCTOR_HOST_OWNERS, lease_namespace, c->host_owners_configmap);
    if (c->host_owners_configmap != NULL && !c->dry_run)
        add(r, DOCTOR_HOST_OWNERS_WRITE, lease_namespace, c->host_owners_configmap);
    if (c->template_from.name != NULL)
        add(r, DOCTOR_TEMPLATES, c->template_from.namespace, c->template_from.name);
    for (enum pods_object o = 0; settings_template_pods(c) && o < PODS_OBJECTS; o++)
        add(r, o == PODS_KEYS ? DOCTOR_TEMPLATE_KEYS : DOCTOR_TEMPLATES, c->template_from.namespace,
            pods_object_name(o));
    if (settings_template_pods(c))
        add(r, DOCTOR_PODS, NULL, NULL);
    for (size_t i = 0; i < c->config_certs_secrets.count; i++)
        add(r, DOCTOR_SECRET, c->config_secret_namespace, c->config_certs_secrets.list[i]);
    for (size_t i = 0; i < c->mapping_count; i++) {
        const struct settings_mapping *m = &c->mappings[i];
        add(r, DOCTOR_SLICES, m->namespace, NULL);
        add(r, DOCTOR_SERVICE, m->namespace, m->service);
        add(r, DOCTOR_ENDPOINTS, m->namespace, m->service);
    }
    /* A dry run neither leads nor records Events. */
    if (c->leader_elect && !c->dry_run) {
        add(r, DOCTOR_LEASE, lease_namespace, c->lease_name);
        add(r, DOCTOR_LEASE_CREATE, lease_namespace, NULL); /* the name is no part of what a server decides by */
    }
    for (size_t i = 0; i < c->mapping_count && c->emit_events && !c->dry_run; i++)
        add(r, DOCTOR_EVENTS, c->mappings[i].namespace, NULL);
    if (annotated && c->emit_events && !c->dry_run)
        add(r, DOCTOR_EVENTS, NULL, NULL);
    if (c->config_source != SETTINGS_CONFIG_SECRET || c->dry_run)
        return;
    if (c->emit_events || c->config_report == SETTINGS_REPORT_EVENTS)
        add(r, DOCTOR_EVENTS, c->config_secret_namespace, NULL);
    if (c->config_report_configmap != NULL)
        add(r, DOCTOR_CONFIGMAP_REPORT, c->config_secret_namespace, c->config_report_configmap);
    else if (c->config_report == SETTINGS_REPORT_ANNOTATION)
        add(r, DOCTOR_SECRET_REPORT, c->config_secret_namespace, c->config_secret_name);
}

void doctor_rights_fini(struct doctor_rights *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->list[i].reason);
    free(r->list);
    *r = (struct doctor_rights){0};
}

/* ---- asking ---- */

bool doctor_rights_next(const struct doctor_rights *r, size_t *at, size_t *verb)
{
    for (*at = 0; *at < r->count; (*at)++)
        for (*verb = 0; needs[r->list[*at].need].verbs[*verb] != NULL; (*verb)++)
            if (r->list[*at].answers[*verb] == DOCTOR_UNASKED)
                return true;
    return false;
}

struct access_right doctor_rights_question(const struct doctor_rights *r, size_t at, size_t verb)
{
    const struct doctor_right *right = &r->list[at];
    const struct need *n = &needs[right->need];
    return (struct access_right){.group = n->group,
                                 .resource = n->resource,
                                 .verb = n->verbs[verb],
                                 .namespace = right->namespace,
                                 .name = right->name};
}

void doctor_rights_answer(struct doctor_rights *r, size_t at, size_t verb, const struct access_review *review,
                          const struct error *problem)
{
    struct doctor_right *right = &r->list[at];
    if (problem != NULL) {
        right->answers[verb] = DOCTOR_UNANSWERED;
        right->problem = *problem;
        return;
    }
    right->answers[verb] = review->allowed ? DOCTOR_ALLOWED : DOCTOR_DENIED;
    if (!review->allowed && right->reason == NULL && !str_empty(review->reason))
        right->reason = mem_strdup(review->reason);
}

/* ---- the report ---- */

static bool any(const struct doctor_right *right, enum doctor_answer answer)
{
    for (size_t i = 0; needs[right->need].verbs[i] != NULL; i++)
        if (right->answers[i] == answer)
            return true;
    return false;
}

bool doctor_rights_denied(const struct doctor_rights *r, enum doctor_need need)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].need == need && any(&r->list[i], DOCTOR_DENIED))
            return true;
    return false;
}

/* "list, watch", of those with that answer; DOCTOR_UNASKED: of all. */
static char *verbs_text(const struct doctor_right *right, enum doctor_answer answer, const char *between)
{
    cleanup(buf_fini) struct buf text = {0};
    const char *const *verbs = needs[right->need].verbs;
    for (size_t i = 0; verbs[i] != NULL; i++)
        if (answer == DOCTOR_UNASKED || right->answers[i] == answer)
            buf_printf(&text, "%s%s", text.len > 0 ? between : "", verbs[i]);
    return buf_take(&text);
}

/* Of the same namespace; it decides how bad a denial of this one is. */
static bool other_is_denied(const struct doctor_rights *r, const struct doctor_right *of, enum doctor_need need)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].need == need && str_eq(r->list[i].namespace, of->namespace))
            return any(&r->list[i], DOCTOR_DENIED);
    return need == DOCTOR_ENDPOINTS; /* there is none in place of the slices */
}

/* Quoted for a shell where necessary. Allocates. */
static char *quoted(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (text[strspn(text, plain)] == '\0')
        return mem_strdup(text);
    cleanup(buf_fini) struct buf out = {0};
    for (const char *at = text; *at != '\0'; at++)
        buf_printf(&out, *at == '\'' ? "'\\%c'" : "%c", *at);
    return mem_printf("'%s'", buf_str(&out));
}

static void set_words(const struct doctor_right *right, struct doctor_section *s)
{
    const struct need *n = &needs[right->need];
    const char *namespace = right->namespace, *name = right->name, *kind = namespace != NULL ? "" : "cluster";
    cleanup(mem_free_ptr) char *all = verbs_text(right, DOCTOR_UNASKED, ", ");
    cleanup(mem_free_ptr) char *granted = verbs_text(right, DOCTOR_UNASKED, ",");
    cleanup(mem_free_ptr) char *denied = verbs_text(right, DOCTOR_DENIED, ", ");
    doctor_sets(s, {"verbs", all}, {"granted", granted}, {"denied", denied});
    /* "nodes", "services ingress/web", "endpointslices in ingress" */
    doctor_word(s, "what", "%s%s%s%s%s", n->resource,
                namespace == NULL ? ""
                : name != NULL    ? " "
                                  : " in ",
                namespace != NULL ? namespace : "", name != NULL ? "/" : "", name != NULL ? name : "");
    doctor_set_if(s, "in", " -n ", namespace, "");
    doctor_set(s, "kind", kind);
    doctor_word(s, "role", "haproxy-k8s-sync-%s", strrchr(n->id, '.') + 1); /* it clashes with no existing one */
    doctor_word(s, "resource", "%s%s%s%s%s", n->resource, str_empty(n->group) ? "" : ".", n->group,
                n->by_name ? " --resource-name=" : "", n->by_name ? name : "");
    doctor_set_if(s, "reason", " (", right->reason, ")");
    doctor_set(s, "problem", right->problem.message);
}

static void report(const struct doctor_rights *r, const struct doctor_right *right, const struct settings *c,
                   struct doctor_section *s)
{
    const struct need *n = &needs[right->need];
    bool denied = any(right, DOCTOR_DENIED), slices = right->need == DOCTOR_SLICES;
    bool service = right->need == DOCTOR_SERVICE, port_lacks = service && c->backend_port == 0;
    bool replaced = slices && !other_is_denied(r, right, DOCTOR_ENDPOINTS);
    bool superfluous = right->need == DOCTOR_ENDPOINTS && !other_is_denied(r, right, DOCTOR_SLICES);
    bool warns = n->warns || replaced || (service && !port_lacks);
    set_words(right, s);
    doctor_set(s, "without",
               replaced     ? "Endpoints replace EndpointSlices: at most 1,000 addresses, and no draining"
               : port_lacks ? "without the Service its node ports are unknown, and HAPROXY_BACKEND_PORT is not set"
                            : n->without);
    const struct doctor_row rows[] = {
        {denied && superfluous, CHECK_OK, "{denied} {what}: not allowed, and not needed: EndpointSlices may be read"},
        {denied, warns ? CHECK_WARN : CHECK_FAIL,
         "{denied} {what}: not allowed{reason}\n"
         "why {without}\n"
         "fix as a cluster administrator, run:\n"
         "  kubectl{in} create {kind}role {role} --verb={granted} --resource={resource}\n"
         "  kubectl{in} create {kind}rolebinding {role} --{kind}role={role} {subject}"},
        {any(right, DOCTOR_UNANSWERED), CHECK_SKIP, "{verbs} {what}: the API server does not say: {problem}"},
        {any(right, DOCTOR_UNASKED), CHECK_SKIP, "{verbs} {what}: not asked"},
        {true, CHECK_OK, "{verbs} {what}"},
    };
    doctor_first(s, n->id, label, rows);
    if (denied && port_lacks)
        doctor_help(s, "or set the port that the nodes serve:\n  HAPROXY_BACKEND_PORT=30443");
    if (denied && right->need == DOCTOR_NODES)
        doctor_help(s, "or apply deploy/rbac.yaml, or the chart with rbac.create=true; either grants all rights");
}

void doctor_rights_report(const struct doctor_rights *r, const struct settings *settings, const char *user,
                          struct doctor_section *s)
{
    static const char account[] = "system:serviceaccount:";
    /* The subject of the binding, an argument of kubectl. The API server chose this name: it must stay one word of the command. */
    if (user == NULL || str_has_control(user)) {
        doctor_word(s, "subject", "--serviceaccount=%s:haproxy-k8s-sync", settings_first_namespace(settings));
    } else {
        bool is_account = str_has_prefix(user, account);
        cleanup(mem_free_ptr) char *name = quoted(is_account ? user + strlen(account) : user);
        doctor_word(s, "subject", "--%s=%s", is_account ? "serviceaccount" : "user", name);
    }
    for (size_t i = 0; i < r->count; i++)
        report(r, &r->list[i], settings, s);
}

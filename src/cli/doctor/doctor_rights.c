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

static const struct need {
    const char *group, *resource, *verbs[DOCTOR_VERBS_MAX];
    const char *id;
    const char *without; /* what the daemon does without it */
} needs[] = {
    [DOCTOR_NODES] = {"",
                      "nodes",
                      {"list", "watch"},
                      "kubernetes.rights.nodes",
                      "without Nodes no server has an address: nothing is written"},
    [DOCTOR_SLICES] = {"discovery.k8s.io",
                       "endpointslices",
                       {"list", "watch"},
                       "kubernetes.rights.endpointslices",
                       "without EndpointSlices and Endpoints the serving nodes are unknown: nothing is written"},
    [DOCTOR_SERVICE] = {"",
                        "services",
                        {"list", "watch"},
                        "kubernetes.rights.services",
                        "without the Service its node ports, traffic policy and pause are unknown"},
    [DOCTOR_ENDPOINTS] = {"",
                          "endpoints",
                          {"list", "watch"},
                          "kubernetes.rights.endpoints",
                          "they would replace EndpointSlices, which may not be read"},
    [DOCTOR_SECRET] = {"",
                       "secrets",
                       {"list", "watch"},
                       "kubernetes.rights.secret",
                       "CONFIG_SOURCE=secret: without the Secret there is no configuration to apply"},
    [DOCTOR_SECRET_REPORT] = {"",
                              "secrets",
                              {"patch"},
                              "kubernetes.rights.secret-report",
                              "CONFIG_REPORT=annotation: without this right the Secret does not say what became of it; "
                              "CONFIG_REPORT=events needs no right to change a Secret"},
    [DOCTOR_CONFIGMAP_REPORT] =
        {"",
         "configmaps",
         {"patch"},
         "kubernetes.rights.configmap-report",
         "CONFIG_REPORT_CONFIGMAP: without this right it does not say what became of the Secret"},
    [DOCTOR_TEMPLATES] = {"",
                          "configmaps",
                          {"list", "watch"},
                          "kubernetes.rights.templates",
                          "CONFIG_SOURCE=template: without the ConfigMap there are no templates to render"},
    [DOCTOR_TEMPLATE_KEYS] =
        {"",
         "secrets",
         {"list", "watch"},
         "kubernetes.rights.template-keys",
         "TEMPLATE_FROM=pods: the certificates' keys are in this Secret; nothing is rendered while "
         "it is not known"},
    [DOCTOR_PODS] = {"",
                     "pods",
                     {"list", "watch"},
                     "kubernetes.rights.pods",
                     "TEMPLATE_FROM=pods: while the pods of a service's namespace may not be read nothing is rendered, "
                     "unless something was before"},
    [DOCTOR_ANNOTATED] = {"",
                          "services",
                          {"list", "watch"},
                          "kubernetes.rights.annotated-services",
                          "CONFIG_SOURCE=services: without the Services there is no configuration to apply"},
    [DOCTOR_ANNOTATED_SECRETS] =
        {"",
         "secrets",
         {"list", "watch"},
         "kubernetes.rights.annotated-secrets",
         "SERVICES_SECRET_NAMESPACES: ports whose certificate is in a Secret that may not be read are not served"},
    [DOCTOR_ANNOTATED_SLICES] = {"discovery.k8s.io",
                                 "endpointslices",
                                 {"list", "watch"},
                                 "kubernetes.rights.annotated-slices",
                                 "CONFIG_SOURCE=services: while it is not known which nodes have pods nothing is made"},
    [DOCTOR_LEASE] = {"coordination.k8s.io",
                      "leases",
                      {"get", "watch", "update"},
                      "kubernetes.rights.lease",
                      "LEADER_ELECT is set, and without the Lease no replica ever leads"},
    [DOCTOR_LEASE_CREATE] = {"coordination.k8s.io",
                             "leases",
                             {"create"},
                             "kubernetes.rights.lease-create",
                             "LEADER_ELECT is set, and the daemon must create the Lease if it does not exist"},
    [DOCTOR_EVENTS] = {"",
                       "events",
                       {"create", "patch"},
                       "kubernetes.rights.events",
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

static size_t verb_count(const struct doctor_right *right)
{
    size_t count = 0;
    while (count < DOCTOR_VERBS_MAX && needs[right->need].verbs[count] != NULL)
        count++;
    return count;
}

bool doctor_rights_next(const struct doctor_rights *r, size_t *at, size_t *verb)
{
    for (*at = 0; *at < r->count; (*at)++)
        for (*verb = 0; *verb < verb_count(&r->list[*at]); (*verb)++)
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
    for (size_t i = 0; i < verb_count(right); i++)
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
    for (size_t i = 0; i < verb_count(right); i++)
        if (answer == DOCTOR_UNASKED || right->answers[i] == answer)
            buf_printf(&text, "%s%s", text.len > 0 ? between : "", needs[right->need].verbs[i]);
    return buf_take(&text);
}

/* "nodes", "services ingress/web", "endpointslices in ingress" */
static char *what_text(const struct doctor_right *right)
{
    const char *resource = needs[right->need].resource;
    if (right->namespace == NULL)
        return mem_strdup(resource);
    if (right->name != NULL)
        return mem_printf("%s %s/%s", resource, right->namespace, right->name);
    return mem_printf("%s in %s", resource, right->namespace);
}

static const struct doctor_right *same_place(const struct doctor_rights *r, const struct doctor_right *of,
                                             enum doctor_need need)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].need == need && str_eq(r->list[i].namespace, of->namespace))
            return &r->list[i];
    return NULL;
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

/* The subject of the binding, an argument of kubectl. */
static char *subject_text(const char *user, const struct settings *c)
{
    static const char account[] = "system:serviceaccount:";
    /* The API server chose this name: it must stay one word of the command. */
    if (user == NULL || str_has_control(user))
        return mem_printf("--serviceaccount=%s:haproxy-k8s-sync", settings_first_namespace(c));
    bool is_account = str_has_prefix(user, account);
    cleanup(mem_free_ptr) char *name = quoted(is_account ? user + strlen(account) : user);
    return mem_printf("--%s=%s", is_account ? "serviceaccount" : "user", name);
}

static void add_fix(struct doctor_check *check, const struct doctor_right *right, const struct settings *c,
                    const char *user)
{
    const struct need *n = &needs[right->need];
    const char *dot = str_empty(n->group) ? "" : ".";
    cleanup(mem_free_ptr) char *verbs = verbs_text(right, DOCTOR_UNASKED, ",");
    cleanup(mem_free_ptr) char *subject = subject_text(user, c);
    /* Distinct, so that it clashes with no existing one. */
    cleanup(mem_free_ptr) char *role = mem_printf("haproxy-k8s-sync-%s", strrchr(n->id, '.') + 1);
    bool by_name = right->need == DOCTOR_LEASE || right->need == DOCTOR_SECRET || right->need == DOCTOR_TEMPLATES ||
                   right->need == DOCTOR_TEMPLATE_KEYS || right->need == DOCTOR_SECRET_REPORT ||
                   right->need == DOCTOR_CONFIGMAP_REPORT;
    if (right->namespace == NULL)
        doctor_fix(check, "as a cluster administrator, run",
                   "kubectl create clusterrole %s --verb=%s --resource=%s%s%s\n"
                   "kubectl create clusterrolebinding %s --clusterrole=%s %s",
                   role, verbs, n->resource, dot, n->group, role, role, subject);
    else
        doctor_fix(check, "as a cluster administrator, run",
                   "kubectl -n %s create role %s --verb=%s --resource=%s%s%s%s%s\n"
                   "kubectl -n %s create rolebinding %s --role=%s %s",
                   right->namespace, role, verbs, n->resource, dot, n->group, by_name ? " --resource-name=" : "",
                   by_name ? right->name : "", right->namespace, role, role, subject);
}

/* How bad a denial is. */
static enum check_state severity(const struct doctor_rights *r, const struct doctor_right *right,
                                 const struct settings *c)
{
    const struct doctor_right *other;
    switch (right->need) {
    case DOCTOR_SLICES:
        other = same_place(r, right, DOCTOR_ENDPOINTS);
        return other != NULL && !any(other, DOCTOR_DENIED) ? CHECK_WARN : CHECK_FAIL;
    case DOCTOR_ENDPOINTS:
        other = same_place(r, right, DOCTOR_SLICES);
        return other != NULL && any(other, DOCTOR_DENIED) ? CHECK_FAIL : CHECK_OK;
    case DOCTOR_SERVICE:
        return c->backend_port != 0 ? CHECK_WARN : CHECK_FAIL;
    case DOCTOR_EVENTS:
    case DOCTOR_SECRET_REPORT:
    case DOCTOR_CONFIGMAP_REPORT:
    case DOCTOR_PODS:
    case DOCTOR_ANNOTATED_SECRETS: /* rights by the names of Secrets will do */
        return CHECK_WARN;
    case DOCTOR_NODES:
    case DOCTOR_SECRET:
    case DOCTOR_TEMPLATES:
    case DOCTOR_TEMPLATE_KEYS:
    case DOCTOR_ANNOTATED:
    case DOCTOR_ANNOTATED_SLICES:
    case DOCTOR_LEASE:
    case DOCTOR_LEASE_CREATE:
        break;
    }
    return CHECK_FAIL;
}

static const char *why_text(const struct doctor_right *right, enum check_state state)
{
    if (right->need == DOCTOR_SLICES && state == CHECK_WARN)
        return "Endpoints replace EndpointSlices: at most 1,000 addresses, and no draining";
    if (right->need == DOCTOR_SERVICE && state == CHECK_FAIL)
        return "without the Service its node ports are unknown, and HAPROXY_BACKEND_PORT is not set";
    return needs[right->need].without;
}

static void report_denied(const struct doctor_rights *r, const struct doctor_right *right, const struct settings *c,
                          const char *user, struct doctor_section *s)
{
    const struct need *n = &needs[right->need];
    enum check_state state = severity(r, right, c);
    cleanup(mem_free_ptr) char *missing = verbs_text(right, DOCTOR_DENIED, ", ");
    cleanup(mem_free_ptr) char *what = what_text(right);
    if (state == CHECK_OK) {
        doctor_ok(s, n->id, label, "%s %s: not allowed, and not needed: EndpointSlices may be read", missing, what);
        return;
    }
    struct doctor_check *check =
        doctor_add(s, state, n->id, label, "%s %s: not allowed%s%s%s", missing, what, right->reason != NULL ? " (" : "",
                   right->reason != NULL ? right->reason : "", right->reason != NULL ? ")" : "");
    doctor_why(check, "%s", why_text(right, state));
    add_fix(check, right, c, user);
    if (right->need == DOCTOR_SERVICE && state == CHECK_FAIL)
        doctor_fix(check, "set the port that the nodes serve", "HAPROXY_BACKEND_PORT=30443");
    else if (right->need == DOCTOR_NODES)
        doctor_advice(check, "apply deploy/rbac.yaml, or the chart with rbac.create=true; either grants all rights");
}

static void report(const struct doctor_rights *r, const struct doctor_right *right, const struct settings *c,
                   const char *user, struct doctor_section *s)
{
    const struct need *n = &needs[right->need];
    cleanup(mem_free_ptr) char *verbs = verbs_text(right, DOCTOR_UNASKED, ", ");
    cleanup(mem_free_ptr) char *what = what_text(right);
    if (any(right, DOCTOR_DENIED))
        report_denied(r, right, c, user, s);
    else if (any(right, DOCTOR_UNANSWERED))
        doctor_skip(s, n->id, label, "%s %s: the API server does not say: %s", verbs, what, right->problem.message);
    else if (any(right, DOCTOR_UNASKED))
        doctor_skip(s, n->id, label, "%s %s: not asked", verbs, what);
    else
        doctor_ok(s, n->id, label, "%s %s", verbs, what);
}

void doctor_rights_report(const struct doctor_rights *r, const struct settings *settings, const char *user,
                          struct doctor_section *s)
{
    for (size_t i = 0; i < r->count; i++)
        report(r, &r->list[i], settings, user, s);
}

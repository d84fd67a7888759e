/* cli/doctor/doctor_rights: which permissions the settings need, and what is said of those that are missing. */
#include "cli/doctor/doctor_rights.h"

#include "kube/discovery.h"

#include "../settings_text.h"
#include "doctor_text.h"

#define SERVICE LOGIN, "INGRESS_NAMESPACE=ing", "INGRESS_SERVICE_NAME=web"
#define ACCOUNT "system:serviceaccount:ops:sync"

/* "list nodes; list ing/services web; ...": all requests in their order; the answer is yes, unless `denied` has it. */
static char *ask_all(struct doctor_rights *r, const char *denied, const char *reason)
{
    cleanup(buf_fini) struct buf text = {0};
    for (size_t at, verb; doctor_rights_next(r, &at, &verb);) {
        struct access_right q = doctor_rights_question(r, at, verb);
        cleanup(mem_free_ptr) char *question =
            mem_printf("%s %s%s%s%s%s%s%s", q.verb, q.namespace != NULL ? q.namespace : "",
                       q.namespace != NULL ? "/" : "", q.resource, q.group[0] != '\0' ? "." : "", q.group,
                       q.name != NULL ? " " : "", q.name != NULL ? q.name : "");
        bool no = denied != NULL && strstr(denied, question) != NULL;
        struct access_review review = {.allowed = !no, .reason = mem_strdup(no && reason != NULL ? reason : "")};
        doctor_rights_answer(r, at, verb, &review, NULL);
        access_review_fini(&review);
        buf_printf(&text, "%s%s", text.len > 0 ? "; " : "", question);
    }
    return buf_take(&text);
}

#define BASIC "list nodes; watch nodes; " OF("ing", "web")
#define OF(ns, name)                                                                                           \
    "list " ns "/endpointslices.discovery.k8s.io; watch " ns "/endpointslices.discovery.k8s.io; "              \
    "list " ns "/services " name "; watch " ns "/services " name "; list " ns "/endpoints " name "; watch " ns \
    "/endpoints " name
#define LEASE(ns, name)                                                                                              \
    "; get " ns "/leases.coordination.k8s.io " name "; watch " ns "/leases.coordination.k8s.io " name "; update " ns \
    "/leases.coordination.k8s.io " name "; create " ns "/leases.coordination.k8s.io"
#define EVENTS(ns) "; create " ns "/events; patch " ns "/events"

#define OF_SECRET LOGIN, "CONFIG_SOURCE=secret", "CONFIG_SECRET_NAMESPACE=lb", "CONFIG_SECRET_NAME=cfg"
#define SECRET "list lb/secrets cfg; watch lb/secrets cfg"

static const struct {
    const char *env[8];
    const char *pod_namespace;
    const char *questions;
} needed[] = {
    {{SERVICE}, NULL, BASIC},
    {{SERVICE, "LEADER_ELECT=true"}, NULL, BASIC LEASE("ing", "haproxy-k8s-sync")},
    {{SERVICE, "LEADER_ELECT=true"}, "pod", BASIC LEASE("pod", "haproxy-k8s-sync")},
    {{SERVICE, "LEADER_ELECT=true", "LEASE_NAME=l", "LEASE_NAMESPACE=x"}, "pod", BASIC LEASE("x", "l")},
    {{SERVICE, "EMIT_EVENTS=true"}, "pod", BASIC EVENTS("ing")},
    {{SERVICE, "LEADER_ELECT=true", "EMIT_EVENTS=true", "DRY_RUN=true"}, NULL, BASIC},
    {{LOGIN, "INGRESS_SERVICES=ing/web:http=a,ing/web:https=b"}, NULL, BASIC},
    {{OF_SECRET}, NULL, SECRET EVENTS("lb")},
    {{OF_SECRET, "DRY_RUN=true"}, NULL, SECRET},
    {{OF_SECRET, "CONFIG_REPORT=annotation"}, NULL, SECRET "; patch lb/secrets cfg"},
    {{OF_SECRET, "CONFIG_REPORT=annotation", "EMIT_EVENTS=true"}, NULL, SECRET EVENTS("lb") "; patch lb/secrets cfg"},
    {{OF_SECRET, "CONFIG_REPORT=annotation", "CONFIG_REPORT_CONFIGMAP=m"}, NULL, SECRET "; patch lb/configmaps m"},
    {{LOGIN, "CONFIG_SOURCE=template", "TEMPLATE_FROM=configmap:lb/t"},
     NULL,
     "list lb/configmaps t; watch lb/configmaps t"},
    {{LOGIN, "CONFIG_SOURCE=template", "TEMPLATE_FROM=file:/t"}, NULL, ""},
    {{LOGIN, "CONFIG_SOURCE=template", "TEMPLATE_FROM=file:/t", "HOST_OWNERS_CONFIGMAP=m"},
     "lb",
     "list lb/configmaps m; watch lb/configmaps m; patch lb/configmaps m"},
    {{LOGIN, "CONFIG_SOURCE=template", "TEMPLATE_FROM=file:/t", "HOST_OWNERS_CONFIGMAP=m", "DRY_RUN=true"},
     "lb",
     "list lb/configmaps m; watch lb/configmaps m"},
    {{LOGIN, "CONFIG_SOURCE=template", "TEMPLATE_FROM=pods:lb"},
     NULL,
     "list lb/configmaps services; watch lb/configmaps services; list lb/configmaps config; watch lb/configmaps "
     "config; "
     "list lb/configmaps certificates; watch lb/configmaps certificates; list lb/secrets keys; watch lb/secrets keys; "
     "list pods; watch pods"},
};

TEST_EACH(what_is_needed, array_len(needed))
{
    cleanup(parsed_fini) struct parsed p = parse_env(needed[_i].env);
    cleanup(doctor_rights_fini) struct doctor_rights r;
    ck_assert_int_eq(p.rc, 0);
    doctor_rights_init(&r, &p.settings, needed[_i].pod_namespace);
    cleanup(mem_free_ptr) char *asked = ask_all(&r, NULL, NULL);
    ck_assert_str_eq(asked, needed[_i].questions);
}

TEST(of_several_services)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "INGRESS_SERVICES=a/x=b1,b/y=b2,a/z=b3", "EMIT_EVENTS=true");
    cleanup(doctor_rights_fini) struct doctor_rights r;
    doctor_rights_init(&r, &p.settings, NULL);
    cleanup(mem_free_ptr) char *asked = ask_all(&r, NULL, NULL);
    ck_assert_str_eq(
        asked,
        "list nodes; watch nodes; " OF("a", "x") "; " OF(
            "b", "y") "; list a/services z; watch a/services z; list a/endpoints z; watch a/endpoints z" EVENTS("a")
            EVENTS("b"));
}

static const struct {
    const char *setting, *denied, *reason, *user, *says;
} denials[] = {
    {"", "list nodes; watch nodes", NULL, ACCOUNT,
     "fail permission: list, watch nodes: not allowed\n  why without Nodes no server has an address: nothing is "
     "written\n"
     "  fix as a cluster administrator, run\n"
     "kubectl create clusterrole haproxy-k8s-sync-nodes --verb=list,watch --resource=nodes\n"
     "kubectl create clusterrolebinding haproxy-k8s-sync-nodes --clusterrole=haproxy-k8s-sync-nodes "
     "--serviceaccount=ops:sync\n"},
    {"", "watch nodes", "RBAC: no", ACCOUNT, "fail permission: watch nodes: not allowed (RBAC: no)\n"},
    {"", "list nodes", NULL, "jane", "--clusterrole=haproxy-k8s-sync-nodes --user=jane\n"},
    {"", "list nodes", NULL, "CN=it's me", "--clusterrole=haproxy-k8s-sync-nodes --user='CN=it'\\''s me'\n"},
    {"", "list nodes", NULL, "system:serviceaccount:a:b; reboot", "--serviceaccount='a:b; reboot'\n"},
    {"", "list nodes", NULL, "a\nreboot", "--serviceaccount=ing:haproxy-k8s-sync\n"},
    {"", "list nodes", NULL, NULL, "--clusterrole=haproxy-k8s-sync-nodes --serviceaccount=ing:haproxy-k8s-sync\n"},
    {"", "list ing/endpointslices.discovery.k8s.io", NULL, ACCOUNT,
     "warn permission: list endpointslices in ing: not allowed\n  why Endpoints replace EndpointSlices"},
    {"", "list ing/endpointslices.discovery.k8s.io", NULL, ACCOUNT,
     "kubectl -n ing create role haproxy-k8s-sync-endpointslices --verb=list,watch "
     "--resource=endpointslices.discovery.k8s.io\n"
     "kubectl -n ing create rolebinding haproxy-k8s-sync-endpointslices --role=haproxy-k8s-sync-endpointslices "
     "--serviceaccount=ops:sync\n"},
    {"", "list ing/endpointslices.discovery.k8s.io; watch ing/endpoints web", NULL, ACCOUNT,
     "fail permission: list endpointslices in ing: not allowed\n"},
    {"", "list ing/endpointslices.discovery.k8s.io; watch ing/endpoints web", NULL, ACCOUNT,
     "fail permission: watch endpoints ing/web: not allowed\n"},
    {"", "list ing/endpoints web; watch ing/endpoints web", NULL, ACCOUNT,
     "ok permission: list, watch endpoints ing/web: not allowed, and not needed: EndpointSlices may be read\n"},
    {"", "list ing/services web", NULL, ACCOUNT, "fail permission: list services ing/web: not allowed\n"},
    {"HAPROXY_BACKEND_PORT=30443", "list ing/services web", NULL, ACCOUNT,
     "warn permission: list services ing/web: not allowed\n"},
    {"LEADER_ELECT=true", "update ing/leases.coordination.k8s.io haproxy-k8s-sync", NULL, ACCOUNT,
     "--verb=get,watch,update --resource=leases.coordination.k8s.io --resource-name=haproxy-k8s-sync\n"},
    {"LEADER_ELECT=true", "create ing/leases.coordination.k8s.io", NULL, ACCOUNT,
     "fail permission: create leases in ing: not allowed\n"},
    {"EMIT_EVENTS=true", "patch ing/events", NULL, ACCOUNT, "warn permission: patch events in ing: not allowed\n"},
};

TEST_EACH(what_is_said, array_len(denials))
{
    cleanup(parsed_fini) struct parsed p = parse(SERVICE, denials[_i].setting[0] != '\0' ? denials[_i].setting : "X=");
    cleanup(doctor_rights_fini) struct doctor_rights r;
    cleanup(doctored_fini) struct doctored d = doctored_new();
    doctor_rights_init(&r, &p.settings, NULL);
    cleanup(mem_free_ptr) char *asked = ask_all(&r, denials[_i].denied, denials[_i].reason);
    doctor_rights_report(&r, &p.settings, denials[_i].user, d.section);
    expect_text(&d, denials[_i].says);
}

TEST(no_answer)
{
    cleanup(parsed_fini) struct parsed p = parse(SERVICE);
    cleanup(doctor_rights_fini) struct doctor_rights r;
    cleanup(doctored_fini) struct doctored d = doctored_new();
    error_set_http(&flaw, 403, "HTTP 403: no");
    doctor_rights_init(&r, &p.settings, NULL);
    doctor_rights_answer(&r, 0, 0, NULL, &flaw);
    doctor_rights_report(&r, &p.settings, NULL, d.section);
    expect_text(&d, "skip permission: list, watch nodes: the API server does not say: HTTP 403: no\n");
    expect_text(&d, "skip permission: list, watch services ing/web: not asked\n");
    expect_no_text(&d, "fail");
    expect_no_text(&d, "ok permission");
}

/* What the Kubernetes API said, as checks. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "report/checks.h"
#include "settings/settings.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "net/tls_files.h"
#include "cli/doctor/doctor_connection.h"
#include "cli/doctor/doctor_kubernetes.h"
#include "cli/doctor/doctor_report.h"

static void report_access(const struct kube_access *access, const struct error *no_access,
                          const struct settings *settings, struct doctor_section *s)
{
    if (no_access == NULL) {
        const char *how = access->exec != NULL                                     ? "credentials by a plugin"
                          : access->token_path != NULL                             ? "token in a file"
                          : access->token != NULL                                  ? "token"
                          : access->cert.text != NULL || access->cert.path != NULL ? "client certificate"
                          : access->username != NULL                               ? "user name and password"
                                                                                   : "no credentials";
        doctor_ok(s, "kubernetes.access", "access", "%s, %s", access->source, how);
        return;
    }
    struct doctor_check *c = doctor_fail(s, "kubernetes.access", "access", "%s", no_access->message);
    if (settings->kubeconfig != NULL) {
        doctor_fix(c, "check it with kubectl", "KUBECONFIG=%s kubectl get --raw /version", settings->kubeconfig);
        return;
    }
    doctor_why(c, "without KUBECONFIG, only a pod with a service account has access");
    doctor_fix(c, "outside a pod, set", "KUBECONFIG=/etc/haproxy-k8s-sync/kubeconfig");
    doctor_fix(c, "in a pod, mount the token of its service account; in the pod's spec",
               "automountServiceAccountToken: true");
}

static void skip_all(const char *first, const char *why, struct doctor_section *s)
{
    static const struct {
        const char *id, *label;
    } checks[] = {{"kubernetes.connection", "connection"},
                  {"kubernetes.version", "version"},
                  {"kubernetes.credentials", "credentials"},
                  {"kubernetes.rights", "permission"}};
    bool begun = first == NULL;
    for (size_t i = 0; i < array_len(checks); i++) {
        begun = begun || str_eq(checks[i].label, first);
        if (begun)
            doctor_skip(s, checks[i].id, checks[i].label, "%s", why);
    }
}

static struct doctor_peer peer_of(const struct doctor_kubernetes *k, const struct kube_access *access,
                                  const struct settings *settings)
{
    return (struct doctor_peer){
        .kind = DOCTOR_PEER_KUBERNETES,
        .url = access->server,
        .proxy = access->proxy_url != NULL          ? "through the kubeconfig's proxy-url"
                 : settings->proxy_from_environment ? "a proxy may be in between (PROXY_FROM_ENVIRONMENT)"
                                                    : NULL,
        .ca_setting = access->insecure ? "the kubeconfig's insecure-skip-tls-verify"
                                       : "the kubeconfig's certificate-authority(-data)",
        .name_setting = "the kubeconfig's tls-server-name",
        .refused_why = "nothing listens at that address: the API server is down, or the address or port is wrong",
        .look = settings->kubeconfig != NULL ? "kubectl cluster-info" : NULL,
        .insecure = access->insecure,
        .now_s = (int64_t)(clock_wall_ms() / 1000),
        .ca_s = tls_files_ca_not_after_s(kube_client_tls(k->client)),
        .client_s = tls_files_client_not_after_s(kube_client_tls(k->client)),
        .server_s = kube_client_server_not_after_s(k->client)};
}

/* ---- credentials ---- */

static void refused(const char *words, const struct kube_access *access, const struct settings *settings,
                    struct doctor_section *s)
{
    struct doctor_check *c = doctor_fail(s, "kubernetes.credentials", "credentials", "refused: %s", words);
    doctor_why(c, "the API server does not accept them: they are wrong or have expired (%s)", access->source);
    if (access->token_path != NULL)
        doctor_fix(c, "see when the token expires; a new one is read without a restart",
                   "cut -d. -f2 %s | base64 -d 2>/dev/null; date +%%s", access->token_path);
    doctor_fix(c, "create a long-lived token, for use outside a pod",
               "kubectl -n %s create token haproxy-k8s-sync --duration=8760h",
               access->namespace != NULL ? access->namespace : settings_first_namespace(settings));
}

static void report_credentials(const struct doctor_kubernetes *k, const struct kube_access *access,
                               const struct settings *settings, struct doctor_section *s)
{
    static const char id[] = "kubernetes.credentials", label[] = "credentials";
    const struct doctor_reply *self = &k->self;
    if (k->reached.status == 401 || self->status == 401) {
        refused((k->reached.status == 401 ? &k->reached : self)->error.message, access, settings, s);
    } else if (self->status == 404) {
        doctor_ok(s, id, label, "accepted; only Kubernetes 1.28 and later name the user");
    } else if (k->user != NULL && str_eq(k->user, "system:anonymous")) {
        struct doctor_check *c = doctor_fail(s, id, label, "not accepted: the API server sees the user %s", k->user);
        doctor_advice(c, "the access (%s) has no credentials, or none that this server accepts", access->source);
    } else if (k->user != NULL) {
        doctor_ok(s, id, label, "%s", k->user);
    } else if (self->status == 403) {
        struct doctor_check *c = doctor_fail(s, id, label, "%s", self->error.message);
        doctor_why(c, "every authenticated user may ask this: either no credentials are sent, or the role "
                      "system:basic-user was removed");
        doctor_advice(c, "add credentials to the access (%s)", access->source);
    } else {
        doctor_skip(s, id, label, "the API server does not name the user: %s",
                    self->error.kind != ERROR_NONE ? self->error.message : "not asked before the timeout");
    }
}

/* Why there is no version. */
static const char *no_version(const struct doctor_kubernetes *k)
{
    return k->reached.error.kind != ERROR_NONE ? k->reached.error.message : "the answer to /version has no version";
}

static void fail_none(const struct doctor_kubernetes *k, const struct kube_access *access, struct doctor_section *s)
{
    struct doctor_check *c =
        doctor_fail(s, "kubernetes.version", "version", "no Kubernetes API answers at this URL: %s", no_version(k));
    doctor_why(c, "something else listens there, such as a web server or a login page, or the URL lacks a path, or the "
                  "API server is unhealthy");
    doctor_fix(c, "see what answers", "curl -sk -i -m 5 %s/version | head -n 20", access->server);
}

static void report_version(const struct doctor_kubernetes *k, struct doctor_section *s)
{
    static const char id[] = "kubernetes.version", label[] = "version";
    if (k->version != NULL)
        doctor_ok(s, id, label, "Kubernetes %s", k->version);
    else if (k->reached.status == 401)
        doctor_skip(s, id, label, "needs credentials");
    else
        doctor_skip(s, id, label, "the API does not say: %s", no_version(k));
}

void doctor_kubernetes_report(const struct doctor_kubernetes *k, const struct kube_access *access,
                              const struct error *no_access, const struct settings *settings, struct doctor_section *s)
{
    report_access(access, no_access, settings, s);
    if (k->client == NULL) {
        skip_all(NULL, "needs access", s);
        return;
    }
    if (k->reached.unsent) {
        struct doctor_check *c =
            doctor_fail(s, "kubernetes.credentials", "credentials", "%s", k->reached.error.message);
        doctor_advice(c, "run the kubeconfig's exec command as this user, and see what it prints");
        skip_all("permission", "needs credentials", s);
        return;
    }
    struct doctor_peer peer = peer_of(k, access, settings);
    if (!doctor_connection_report(&peer, &k->connection, k->reached.status == 0 ? &k->reached.error : NULL, s)) {
        skip_all("version", "needs a connection", s);
        return;
    }
    if (!doctor_kubernetes_is_one(k)) {
        fail_none(k, access, s);
        skip_all("credentials", "needs a Kubernetes API", s);
        return;
    }
    report_version(k, s);
    report_credentials(k, access, settings, s);
    if (doctor_kubernetes_usable(k))
        doctor_rights_report(&k->rights, settings, k->user, s);
    else
        skip_all("permission", "needs credentials", s);
}

void doctor_kubernetes_report_missing(const struct checks *seen, const struct doctor_report *r,
                                      struct doctor_section *s)
{
    const struct check *first = checks_failed(seen, NULL);
    if (first == NULL || doctor_count(r, CHECK_FAIL) > 0)
        return;
    cleanup(mem_free_ptr) char *line = checks_line(first);
    struct doctor_check *c = doctor_fail(s, "kubernetes.objects", "objects", "not all were received: %s", line);
    doctor_why(c, "the daemon would wait for these objects, too");
    doctor_fix(c, "if the API is only slow, allow more time", "haproxy-k8s-sync doctor --timeout 60s");
}

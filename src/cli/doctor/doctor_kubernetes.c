/* What `doctor` asks a Kubernetes API, one request after the other, and what it says of the answers. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "host/timer.h"
#include "json/read.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "kube/decode/decode.h"
#include "net/tls_files.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "cli/run.h"

#define CONNECT_TIMEOUT_MS 5000
#define ANSWER_TIMEOUT_MS 10000
#define LIST_TIMEOUT_MS 5000
#define LIST_MAX_BYTES ((size_t)16 << 20)

/* ---- asking ---- */

struct question {
    struct doctor *d;
    struct kube_client_listener listener;
    struct timer deadline; /* of all requests together */
    size_t max_bytes;      /* of an answer */
    struct http_request *request;
    struct http_connection connection;
    bool plugin_ended; /* credentials that are missing now stay missing */
    bool late, over;
    struct doctor_reply reply;
    struct buf body;
    struct doctor_skew skew;
};

static void on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct question *q = arg;
    q->request = NULL;
    q->connection = http_response_connection(r);
    q->skew = doctor_skew_of(http_response_header(r, "Date"), clock_wall_ms(), r->duration_us);
    q->reply = (struct doctor_reply){.asked = true, .status = err == NULL ? r->status : 0};
    if (err != NULL)
        q->reply.error = *err;
    buf_addn(&q->body, buf_str(r->body), r->body->len);
    q->over = true;
}

static void on_credentials(void *arg)
{
    struct question *q = arg;
    if (q->request == NULL)
        q->plugin_ended = q->over = true;
}

static void on_deadline(void *arg)
{
    struct question *q = arg;
    q->late = q->over = true;
}

/* POST where there is a body. The answer, or why there is none, is in q->reply and q->body. */
static void ask(struct question *q, const char *path, const char *body)
{
    static const struct http_callbacks callbacks = {.on_done = on_done};
    struct http_request_options o = {.method = body != NULL ? "POST" : "GET",
                                     .path = path,
                                     .content_type = body != NULL ? "application/json" : NULL,
                                     .body = body,
                                     .body_len = body != NULL ? strlen(body) : 0,
                                     .max_body_bytes = q->max_bytes,
                                     .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                     .total_timeout_ms = ANSWER_TIMEOUT_MS};
    struct kube_client *client = q->d->clients.kube;
    struct error err = {0};
    bool waits = true;
    buf_clear(&q->body);
    q->reply = (struct doctor_reply){0};
    while (!q->late && waits) {
        q->over = false;
        q->request = kube_client_start(client, &o, &callbacks, q, &err);
        /* A plugin that runs calls on_credentials when it ends. */
        waits =
            q->request == NULL && kube_client_lacks_credentials(client) && err.kind == ERROR_RETRY && !q->plugin_ended;
        if (q->request != NULL || waits)
            run_until_over(q->d->base, &q->over);
        else
            q->reply = (struct doctor_reply){.asked = true, .unsent = true, .error = err};
    }
    if (q->late && !q->reply.asked) {
        q->connection = http_request_connection(q->request);
        http_cancel(q->request);
        q->request = NULL;
        q->reply.asked = true;
        error_set(&q->reply.error, ERROR_RETRY, "no answer in time (--timeout)");
    }
}

static bool is_success(int status)
{
    return status == 200 || status == 201;
}

/* The message of a refusal, from the Status object. */
static void read_refusal(struct question *q)
{
    struct kube_event e = {0};
    kube_decode_status(buf_str(&q->body), q->body.len, &e);
    error_set_http(&q->reply.error, q->reply.status, "HTTP %d%s%s", q->reply.status,
                   str_empty(e.status_message) ? "" : ": ", str_empty(e.status_message) ? "" : e.status_message);
    kube_event_fini(&e);
}

/* A server that does not answer the first of them does not answer the others either. */
static void ask_rights(struct doctor_kubernetes *k, struct question *q)
{
    bool known = true;
    for (size_t at, verb; known && doctor_rights_next(&k->rights, &at, &verb);) {
        const struct access_right right = doctor_rights_question(&k->rights, at, verb);
        cleanup(mem_free_ptr) char *body = access_review_encode(&right);
        cleanup(access_review_fini) struct access_review review = {0};
        ask(q, ACCESS_REVIEW_PATH, body);
        if (q->late) {
            if (!k->rights_reply.asked)
                k->rights_reply = q->reply;
            return;
        }
        if (q->reply.status != 0 && !is_success(q->reply.status))
            read_refusal(q);
        known = q->reply.error.kind == ERROR_NONE &&
                access_review_decode(buf_str(&q->body), q->body.len, &review, &q->reply.error) == 0;
        k->rights_reply = q->reply;
        if (!q->reply.unsent)
            doctor_rights_answer(&k->rights, at, verb, &review, known ? NULL : &q->reply.error);
    }
}

static void ask_all(struct doctor_kubernetes *k, struct question *q)
{
    ask(q, "/version", NULL);
    k->connection = q->connection;
    k->skew = q->skew;
    if (q->reply.status == 200) {
        cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(buf_str(&q->body), q->body.len, 0, "the version", NULL);
        yyjson_val *root = yyjson_doc_get_root(doc);
        const char *git = yyjson_get_str(yyjson_obj_get(root, "gitVersion"));
        const char *major = yyjson_get_str(yyjson_obj_get(root, "major")),
                   *minor = yyjson_get_str(yyjson_obj_get(root, "minor"));
        if (git != NULL && !str_has_prefix(git, "v0."))
            k->version = mem_strdup(git);
        else if (major != NULL && minor != NULL)
            k->version = mem_printf("v%s.%s", major, minor);
    } else if (q->reply.status != 0) {
        read_refusal(q);
    }
    k->reached = q->reply;
    if (k->reached.status == 0 || k->reached.status == 401)
        return;
    ask(q, SELF_REVIEW_PATH, self_review_body);
    if (q->reply.status != 0 && !is_success(q->reply.status))
        read_refusal(q);
    else if (q->reply.status != 0 && self_review_decode(buf_str(&q->body), q->body.len, &k->user, &q->reply.error) != 0)
        error_prefix(&q->reply.error, "%s", SELF_REVIEW_PATH);
    k->self = q->reply;
    if (k->self.status != 0 && k->self.status != 401)
        ask_rights(k, q);
}

static void question_init(struct question *q, struct doctor *d, uint64_t timeout_ms, size_t max_bytes)
{
    *q = (struct question){.d = d, .max_bytes = max_bytes, .listener = {.on_credentials = on_credentials, .arg = q}};
    kube_client_on_credentials(d->clients.kube, &q->listener);
    timer_init(&q->deadline, d->base, on_deadline, q);
    timer_set(&q->deadline, timeout_ms);
}

static void question_fini(struct question *q)
{
    timer_fini(&q->deadline);
    kube_client_forget_listener(&q->listener);
    buf_fini(&q->body);
}

void doctor_kubernetes_ask(struct doctor_kubernetes *k, struct doctor *d)
{
    cleanup(question_fini) struct question q;
    question_init(&q, d, d->options->timeout_ms, ACCESS_REVIEW_MAX_BYTES);
    doctor_rights_init(&k->rights, d->settings, d->options->access->namespace);
    ask_all(k, &q);
}

void doctor_kubernetes_names(struct doctor *d, const char *path, const char *key, struct nearest *into)
{
    cleanup(question_fini) struct question q;
    question_init(&q, d, LIST_TIMEOUT_MS, LIST_MAX_BYTES);
    ask(&q, path, NULL);
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        q.reply.status == 200 ? json_parse(buf_str(&q.body), q.body.len, 0, "the list", NULL) : NULL;
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(doc), "items"), *item;
    size_t i, max;
    yyjson_arr_foreach (items, i, max, item) {
        const char *name = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(item, "metadata"), key));
        if (name != NULL)
            nearest_add(into, name, nearest_distance(into, name));
    }
}

void doctor_kubernetes_fini(struct doctor_kubernetes *k)
{
    doctor_rights_fini(&k->rights);
    mem_free_all(k->version, k->user);
    *k = (struct doctor_kubernetes){0};
}

static bool is_refusal(int status)
{
    return status == 401 || status == 403;
}

/* At least one answer was that of a Kubernetes API, or a refusal. Otherwise something else may listen there. */
static bool is_one(const struct doctor_kubernetes *k)
{
    return k->version != NULL || k->user != NULL || is_refusal(k->reached.status) || is_refusal(k->self.status) ||
           (k->rights_reply.asked && k->rights_reply.error.kind == ERROR_NONE);
}

bool doctor_kubernetes_usable(const struct doctor_kubernetes *k)
{
    bool anonymous = k->self.status == 403 && k->rights_reply.status == 403; /* such as system:anonymous */
    return k->reached.status != 0 && k->reached.status != 401 && k->self.status != 401 && !anonymous && is_one(k);
}

/* ---- the section ---- */

static void report_access(const struct doctor *d, struct doctor_section *s)
{
    const struct kube_access *access = d->options->access;
    if (access != NULL && d->clients.kube != NULL) {
        const char *how = access->exec != NULL                                     ? "credentials by a plugin"
                          : access->token_path != NULL                             ? "token in a file"
                          : access->token != NULL                                  ? "token"
                          : access->cert.text != NULL || access->cert.path != NULL ? "client certificate"
                          : access->username != NULL                               ? "user name and password"
                                                                                   : "no credentials";
        doctor_ok(s, "kubernetes.access", "access", "%s, %s", access->source, how);
        return;
    }
    doctor_fail(s, "kubernetes.access", "access", "%s", d->no_kube.message);
    doctor_set(s, "kubeconfig", d->settings->kubeconfig);
    doctor_help(s, d->settings->kubeconfig != NULL
                       ? "fix check it with kubectl:\n  KUBECONFIG={kubeconfig} kubectl get --raw /version"
                       : "why without KUBECONFIG, only a pod with a service account has access\n"
                         "fix outside a pod, set:\n  KUBECONFIG=/etc/haproxy-k8s-sync/kubeconfig\n"
                         "or in a pod, mount the token of its service account; in the pod's spec:\n"
                         "  automountServiceAccountToken: true");
}

enum { SKIP_CONNECTION, SKIP_VERSION, SKIP_CREDENTIALS, SKIP_PERMISSION, SKIPS };

static void skip_from(size_t first, const char *why, struct doctor_section *s)
{
    static const struct {
        const char *id, *label;
    } checks[SKIPS] = {{"kubernetes.connection", "connection"},
                       {"kubernetes.version", "version"},
                       {"kubernetes.credentials", "credentials"},
                       {"kubernetes.rights", "permission"}};
    for (size_t i = first; i < SKIPS; i++)
        doctor_skip(s, checks[i].id, checks[i].label, "%s", why);
}

static struct doctor_peer peer_of(const struct doctor *d)
{
    const struct kube_access *access = d->options->access;
    struct kube_client *client = d->clients.kube;
    return (struct doctor_peer){
        .kind = DOCTOR_PEER_KUBERNETES,
        .url = access->server,
        .proxy = access->proxy_url != NULL ? "through the kubeconfig's proxy-url" : NULL,
        .ca_setting = access->insecure ? "the kubeconfig's insecure-skip-tls-verify"
                                       : "the kubeconfig's certificate-authority(-data)",
        .name_setting = "the kubeconfig's tls-server-name",
        .refused_why = "nothing listens at that address: the API server is down, or the address or port is wrong",
        .shown_by = d->settings->kubeconfig != NULL ? "kubectl cluster-info" : NULL,
        .insecure = access->insecure,
        .now_s = (int64_t)(clock_wall_ms() / 1000),
        .ca_s = tls_files_ca_not_after_s(kube_client_tls(client)),
        .client_s = tls_files_client_not_after_s(kube_client_tls(client)),
        .server_s = kube_client_server_not_after_s(client)};
}

static void report_credentials(const struct doctor_kubernetes *k, const struct doctor *d, struct doctor_section *s)
{
    const struct kube_access *access = d->options->access;
    const struct doctor_reply *self = &k->self;
    bool refused = k->reached.status == 401 || self->status == 401;
    doctor_sets(s, {"refusal", k->reached.status == 401 ? k->reached.error.message : self->error.message},
                {"source", access->source}, {"user", k->user}, {"token", access->token_path},
                {"namespace", access->namespace != NULL ? access->namespace : settings_first_namespace(d->settings)},
                {"silence", self->error.kind != ERROR_NONE ? self->error.message : "not asked before the timeout"});
    const struct doctor_row rows[] = {
        {refused, CHECK_FAIL,
         "refused: {refusal}\n"
         "why the API server does not accept them: they are wrong or have expired ({source})"},
        {self->status == 404, CHECK_OK, "accepted; only Kubernetes 1.28 and later name the user"},
        {k->user != NULL && str_eq(k->user, "system:anonymous"), CHECK_FAIL,
         "not accepted: the API server sees the user {user}\n"
         "fix the access ({source}) has no credentials, or none that this server accepts"},
        {k->user != NULL, CHECK_OK, "{user}"},
        {self->status == 403, CHECK_FAIL,
         "{refusal}\n"
         "why every authenticated user may ask this: either no credentials are sent, or the role system:basic-user was "
         "removed\n"
         "fix add credentials to the access ({source})"},
        {true, CHECK_SKIP, "the API server does not name the user: {silence}"},
    };
    doctor_first(s, "kubernetes.credentials", "credentials", rows);
    if (refused && access->token_path != NULL)
        doctor_help(s, "fix see when the token expires; a new one is read without a restart:\n"
                       "  cut -d. -f2 {token} | base64 -d 2>/dev/null; date +%s");
    if (refused)
        doctor_help(s, "or create a long-lived token, for use outside a pod:\n"
                       "  kubectl -n {namespace} create token haproxy-k8s-sync --duration=8760h");
}

static void report_version(const struct doctor_kubernetes *k, const struct doctor *d, struct doctor_section *s)
{
    doctor_sets(s, {"url", d->options->access->server}, {"version", k->version},
                {"no-version", k->reached.error.kind != ERROR_NONE ? k->reached.error.message
                                                                   : "the answer to /version has no version"});
    const struct doctor_row rows[] = {
        {!is_one(k), CHECK_FAIL,
         "no Kubernetes API answers at this URL: {no-version}\n"
         "why something else listens there, such as a web server or a login page, or the URL lacks a path, or the API "
         "server is unhealthy\n"
         "fix see what answers:\n  curl -sk -i -m 5 {url}/version | head -n 20"},
        {k->version != NULL, CHECK_OK, "Kubernetes {version}"},
        {k->reached.status == 401, CHECK_SKIP, "needs credentials"},
        {true, CHECK_SKIP, "the API does not say: {no-version}"},
    };
    doctor_first(s, "kubernetes.version", "version", rows);
}

struct doctor_section *doctor_kubernetes_report(const struct doctor_kubernetes *k, const struct doctor *d)
{
    const struct kube_access *access = d->options->access;
    struct doctor_section *s = doctor_section(d->report, "kubernetes", access != NULL ? access->server : NULL, NULL);
    report_access(d, s);
    if (d->clients.kube == NULL) {
        skip_from(SKIP_CONNECTION, "needs access", s);
        return s;
    }
    if (k->reached.unsent) {
        doctor_fail(s, "kubernetes.credentials", "credentials", "%s", k->reached.error.message);
        doctor_help(s, "fix run the kubeconfig's exec command as this user, and see what it prints");
        skip_from(SKIP_PERMISSION, "needs credentials", s);
        return s;
    }
    const struct doctor_peer peer = peer_of(d);
    if (!doctor_connection_report(&peer, &k->connection, k->reached.status == 0 ? &k->reached.error : NULL, s)) {
        skip_from(SKIP_VERSION, "needs a connection", s);
        return s;
    }
    report_version(k, d, s);
    if (!is_one(k)) {
        skip_from(SKIP_CREDENTIALS, "needs a Kubernetes API", s);
        return s;
    }
    report_credentials(k, d, s);
    if (doctor_kubernetes_usable(k))
        doctor_rights_report(&k->rights, d->settings, k->user, s);
    else
        skip_from(SKIP_PERMISSION, "needs credentials", s);
    return s;
}

void doctor_kubernetes_report_missing(const struct checks *seen, const struct doctor_report *r,
                                      struct doctor_section *s)
{
    const struct check *first = checks_failed(seen, NULL);
    if (first == NULL || doctor_count(r, CHECK_FAIL) > 0)
        return;
    cleanup(mem_free_ptr) char *line = checks_line(first);
    doctor_fail(s, "kubernetes.objects", "objects", "not all were received: %s", line);
    doctor_help(s, "why the daemon would wait for these objects, too\n"
                   "fix if the API is only slow, allow more time:\n  haproxy-k8s-sync doctor --timeout 60s");
}

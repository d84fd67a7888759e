#include "cli/doctor/doctor_kubernetes.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "kube/discovery.h"
#include "kube/decode/decode.h"

#define CONNECT_TIMEOUT_MS 5000
#define ANSWER_TIMEOUT_MS 10000

enum { STEP_VERSION, STEP_SELF, STEP_RIGHTS, STEP_OVER };

static void next(struct doctor_kubernetes *k);
static void ask(struct doctor_kubernetes *k);

static struct doctor_reply *reply_of(struct doctor_kubernetes *k)
{
    return k->step == STEP_VERSION ? &k->reached : k->step == STEP_SELF ? &k->self : &k->rights_reply;
}

static void finish(void *arg)
{
    struct doctor_kubernetes *k = arg;
    k->step = STEP_OVER;
    timer_cancel(&k->deadline);
    timer_cancel(&k->later);
    k->done(k->arg);
}

/* ---- answers ---- */

/* The message of a refusal, from the Status object. */
static void read_refusal(const struct http_response *r, struct error *err)
{
    struct kube_event e = {0};
    kube_decode_status(buf_str(r->body), r->body->len, &e);
    error_set_http(err, r->status, "HTTP %d%s%s", r->status, str_empty(e.status_message) ? "" : ": ",
                   str_empty(e.status_message) ? "" : e.status_message);
    kube_event_fini(&e);
}

/* A server built from a working tree has an odd gitVersion. */
static char *read_version(const struct buf *body)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(buf_str(body), body->len, 0, "the version", NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *git = yyjson_get_str(yyjson_obj_get(root, "gitVersion"));
    const char *major = yyjson_get_str(yyjson_obj_get(root, "major")),
               *minor = yyjson_get_str(yyjson_obj_get(root, "minor"));
    bool usual = git != NULL && !str_has_prefix(git, "v0.");
    return usual ? mem_strdup(git) : major != NULL && minor != NULL ? mem_printf("v%s.%s", major, minor) : NULL;
}

static void on_right(struct doctor_kubernetes *k, const struct http_response *r, const struct error *err)
{
    struct access_review review = {0};
    struct error problem = {0};
    bool known = false;
    if (err != NULL)
        problem = *err;
    else if (r->status != 201 && r->status != 200)
        read_refusal(r, &problem);
    else
        known = access_review_decode(buf_str(r->body), r->body->len, &review, &problem) == 0;
    doctor_rights_answer(&k->rights, k->right, k->verb, &review, known ? NULL : &problem);
    access_review_fini(&review);
    k->rights_reply = (struct doctor_reply){.asked = true, .status = r->status, .error = problem};
    /* A server that does not answer the first of them does not answer the others either. */
    if (known)
        next(k);
    else
        finish(k);
}

static void take_answer(struct doctor_kubernetes *k, const struct http_response *r, struct doctor_reply *reply)
{
    if (k->step == STEP_VERSION)
        k->skew = doctor_skew_of(http_response_header(r, "Date"), clock_wall_ms(), r->duration_us);
    if (k->step == STEP_VERSION && r->status == 200)
        k->version = read_version(r->body);
    else if (k->step == STEP_VERSION || (r->status != 201 && r->status != 200))
        read_refusal(r, &reply->error);
    else if (self_review_decode(buf_str(r->body), r->body->len, &k->user, &reply->error) != 0)
        error_prefix(&reply->error, "%s", SELF_REVIEW_PATH);
}

static void on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct doctor_kubernetes *k = arg;
    k->request = NULL;
    if (k->step == STEP_RIGHTS) {
        on_right(k, r, err);
        return;
    }
    struct doctor_reply *reply = reply_of(k);
    *reply = (struct doctor_reply){.asked = true, .status = err == NULL ? r->status : 0};
    if (k->step == STEP_VERSION)
        k->connection = http_response_connection(r);
    if (err != NULL)
        reply->error = *err;
    else
        take_answer(k, r, reply);
    if (err != NULL || r->status == 401)
        finish(k);
    else
        next(k);
}

/* ---- requests ---- */

static struct http_request *start(struct doctor_kubernetes *k, struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = on_done};
    cleanup(mem_free_ptr) char *body = NULL;
    if (k->step == STEP_SELF)
        body = mem_strdup(self_review_body);
    if (k->step == STEP_RIGHTS) {
        struct access_right right = doctor_rights_question(&k->rights, k->right, k->verb);
        body = access_review_encode(&right);
    }
    static const char *const paths[] = {"/version", SELF_REVIEW_PATH, ACCESS_REVIEW_PATH};
    struct http_request_options o = {.method = body != NULL ? "POST" : "GET",
                                     .path = paths[k->step],
                                     .content_type = body != NULL ? "application/json" : NULL,
                                     .body = body,
                                     .body_len = body != NULL ? strlen(body) : 0,
                                     .max_body_bytes = ACCESS_REVIEW_MAX_BYTES,
                                     .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                     .total_timeout_ms = ANSWER_TIMEOUT_MS};
    return kube_client_start(k->client, &o, &callbacks, k, err);
}

static void ask(struct doctor_kubernetes *k)
{
    struct error err = {0};
    k->request = start(k, &err);
    /* A plugin that runs calls on_credentials when it ends. */
    if (k->request != NULL || (kube_client_lacks_credentials(k->client) && err.kind == ERROR_RETRY && !k->plugin_ended))
        return;
    *reply_of(k) = (struct doctor_reply){.asked = true, .unsent = true, .error = err};
    timer_set(&k->later, 0);
}

static void on_credentials(void *arg)
{
    struct doctor_kubernetes *k = arg;
    if (k->request != NULL || k->step == STEP_OVER || timer_is_set(&k->later))
        return;
    k->plugin_ended = true;
    ask(k);
}

static void next(struct doctor_kubernetes *k)
{
    if (k->step != STEP_RIGHTS)
        k->step++;
    if (k->step == STEP_RIGHTS && !doctor_rights_next(&k->rights, &k->right, &k->verb))
        finish(k);
    else
        ask(k);
}

static void on_deadline(void *arg)
{
    struct doctor_kubernetes *k = arg;
    struct doctor_reply *reply = reply_of(k);
    if (k->step == STEP_VERSION)
        k->connection = http_request_connection(k->request);
    http_cancel(k->request);
    k->request = NULL;
    if (!reply->asked) {
        reply->asked = true;
        error_set(&reply->error, ERROR_RETRY, "no answer in time (--timeout)");
    }
    finish(k);
}

/* ---- life ---- */

void doctor_kubernetes_start(struct doctor_kubernetes *k, struct event_base *base, struct kube_client *client,
                             const struct settings *settings, const char *pod_namespace, uint64_t timeout_ms,
                             void (*done)(void *arg), void *arg)
{
    *k = (struct doctor_kubernetes){.client = client, .done = done, .arg = arg};
    k->listener = (struct kube_client_listener){.on_credentials = on_credentials, .arg = k};
    kube_client_on_credentials(client, &k->listener);
    timer_init(&k->deadline, base, on_deadline, k);
    timer_init(&k->later, base, finish, k);
    doctor_rights_init(&k->rights, settings, pod_namespace);
    timer_set(&k->deadline, timeout_ms);
    ask(k);
}

void doctor_kubernetes_fini(struct doctor_kubernetes *k)
{
    if (k->client == NULL)
        return;
    http_cancel(k->request);
    kube_client_forget_listener(&k->listener);
    timer_fini(&k->deadline);
    timer_fini(&k->later);
    doctor_rights_fini(&k->rights);
    free(k->version);
    free(k->user);
    *k = (struct doctor_kubernetes){0};
}

static bool is_refusal(int status)
{
    return status == 401 || status == 403;
}

bool doctor_kubernetes_is_one(const struct doctor_kubernetes *k)
{
    return k->version != NULL || k->user != NULL || is_refusal(k->reached.status) || is_refusal(k->self.status) ||
           (k->rights_reply.asked && k->rights_reply.error.kind == ERROR_NONE);
}

bool doctor_kubernetes_usable(const struct doctor_kubernetes *k)
{
    bool anonymous = k->self.status == 403 && k->rights_reply.status == 403; /* such as system:anonymous */
    return k->client != NULL && k->reached.status != 0 && k->reached.status != 401 && k->self.status != 401 &&
           !anonymous && doctor_kubernetes_is_one(k);
}

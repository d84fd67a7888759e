#include "kube/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "json/write.h"
#include "kube/client.h"
#include "net/http.h"

#define REQUEST_MS 30000
#define ANSWER_MAX_BYTES (4u << 20)

struct discovery {
    struct kube_client *client;
    struct http_request *request;
    char *kind, *plural;
    void (*done)(void *arg, struct discovered *found, const struct error *err);
    void *arg;
};

void discovered_fini(struct discovered *d)
{
    mem_free_all(d->kind, d->plural);
    *d = (struct discovered){0};
}

char *discovery_path(const char *api_version)
{
    return mem_printf("/%s/%s", strchr(api_version, '/') != NULL ? "apis" : "api", api_version);
}

/* ---- the answer ---- */

static bool discovery_has_verb(yyjson_val *resource, const char *verb)
{
    size_t i, max;
    yyjson_val *each;
    yyjson_arr_foreach (yyjson_obj_get(resource, "verbs"), i, max, each)
        if (yyjson_equals_str(each, verb))
            return true;
    return false;
}

int discovery_decode(const char *json, size_t len, const char *kind, const char *plural, struct discovered *ret,
                     struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the list of resources", err);
    yyjson_val *root, *list, *resource;
    size_t i, max;
    if (json_object_of(doc, "the list of resources", &root, err) != 0 ||
        json_get_array(root, "resources", &list, err) != 0)
        return -1;
    yyjson_arr_foreach (list, i, max, resource) {
        const char *name = yyjson_get_str(yyjson_obj_get(resource, "name")), *its_kind;
        bool namespaced, is_it = kind != NULL ? yyjson_equals_str(yyjson_obj_get(resource, "kind"), kind)
                                              : name != NULL && str_eq(name, plural);
        if (name == NULL || strchr(name, '/') != NULL || !is_it) /* a subresource, "ingresses/status", is none */
            continue;
        if (json_need_string(resource, "name", &name, err) != 0 ||
            json_need_string(resource, "kind", &its_kind, err) != 0 ||
            json_get_bool(resource, "namespaced", false, &namespaced, err) != 0)
            return -1;
        if (!discovery_has_verb(resource, "list") || !discovery_has_verb(resource, "watch"))
            return error_set(err, ERROR_INVALID, "%s cannot be watched", name);
        *ret = (struct discovered){mem_strdup(its_kind), mem_strdup(name), namespaced};
        return 0;
    }
    return error_set(err, ERROR_GONE, "there is no %s in it", kind != NULL ? kind : plural);
}

/* ---- the question ---- */

static void discovery_on_done(void *arg, const struct http_response *r, const struct error *failure)
{
    struct discovery *d = arg;
    struct error err = {0};
    struct discovered found = {0};
    d->request = NULL;
    int rc = kube_client_result(d->client, r, failure, NULL, &err);
    if (rc == 0) {
        rc = discovery_decode(buf_str(r->body), r->body->len, d->kind, d->plural, &found, &err);
        if (rc != 0) {
            cleanup(mem_free_ptr) char *name = http_response_name(r);
            error_prefix(&err, "%s", name);
        }
    }
    d->done(d->arg, rc == 0 ? &found : NULL, &err);
    discovered_fini(&found);
    discovery_free(d);
}

struct discovery *discovery_start(struct kube_client *client, const char *api_version, const char *kind,
                                  const char *plural,
                                  void (*done)(void *arg, struct discovered *found, const struct error *err), void *arg,
                                  struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = discovery_on_done};
    struct discovery *d = mem_alloc(sizeof(*d));
    *d = (struct discovery){
        .client = client, .kind = mem_strdup(kind), .plural = mem_strdup(plural), .done = done, .arg = arg};
    cleanup(mem_free_ptr) char *path = discovery_path(api_version);
    struct http_request_options options = {
        .method = "GET", .path = path, .max_body_bytes = ANSWER_MAX_BYTES, .total_timeout_ms = REQUEST_MS};
    d->request = kube_client_start(client, &options, &callbacks, d, err);
    if (d->request != NULL)
        return d;
    discovery_free(d);
    return NULL;
}

void discovery_free(struct discovery *d)
{
    if (d == NULL)
        return;
    http_cancel(d->request);
    mem_free_all(d->kind, d->plural, d);
}

/* ---- who this client is, and what it may do ---- */

#define KIND "SelfSubjectAccessReview"
#define SELF_KIND "SelfSubjectReview"

const char self_review_body[] = "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"" SELF_KIND "\"}";

static void review_put_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *text)
{
    if (!str_empty(text))
        json_fields(doc, obj, json_str(key, text));
}

char *access_review_encode(const struct access_right *right)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    review_put_text(doc, root, "apiVersion", "authorization.k8s.io/v1");
    review_put_text(doc, root, "kind", KIND);
    yyjson_mut_val *what = json_put_object(doc, json_put_object(doc, root, "spec"), "resourceAttributes");
    review_put_text(doc, what, "namespace", right->namespace);
    review_put_text(doc, what, "verb", right->verb);
    review_put_text(doc, what, "group", right->group);
    review_put_text(doc, what, "resource", right->resource);
    review_put_text(doc, what, "name", right->name);
    return json_take(doc);
}

/* *ret is to be freed, also with -1. */
static int review_parse(const char *json, size_t len, const char *kind, yyjson_doc **ret, struct error *err)
{
    *ret = NULL;
    if (len == 0 || len > ACCESS_REVIEW_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "an answer of %zu bytes is not a %s", len, kind);
    *ret = json_parse(json, len, 0, "the answer", err);
    if (*ret == NULL)
        return -1;
    if (!yyjson_equals_str(yyjson_obj_get(yyjson_doc_get_root(*ret), "kind"), kind))
        return error_set(err, ERROR_INVALID, "the answer is not a %s", kind);
    return 0;
}

int access_review_decode(const char *json, size_t len, struct access_review *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = NULL;
    if (review_parse(json, len, KIND, &doc, err) != 0)
        return -1;
    yyjson_val *status = yyjson_obj_get(yyjson_doc_get_root(doc), "status");
    yyjson_val *allowed = yyjson_obj_get(status, "allowed");
    const char *reason = yyjson_get_str(yyjson_obj_get(status, "reason"));
    if (reason == NULL)
        reason = yyjson_get_str(yyjson_obj_get(status, "evaluationError"));
    if (!yyjson_is_bool(allowed))
        return error_set(err, ERROR_INVALID, "the answer does not say whether it is allowed");
    ret->allowed = yyjson_get_bool(allowed);
    ret->reason = mem_strdup(reason != NULL ? reason : "");
    return 0;
}

void access_review_fini(struct access_review *r)
{
    free(r->reason);
    *r = (struct access_review){0};
}

int self_review_decode(const char *json, size_t len, char **ret_user, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = NULL;
    if (review_parse(json, len, SELF_KIND, &doc, err) != 0)
        return -1;
    yyjson_val *info = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "status"), "userInfo");
    const char *user = yyjson_get_str(yyjson_obj_get(info, "username"));
    if (str_empty(user))
        return error_set(err, ERROR_INVALID, "the answer does not contain the user name");
    *ret_user = mem_strdup(user);
    return 0;
}

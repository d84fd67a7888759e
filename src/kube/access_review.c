#include "kube/access_review.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "json/write.h"

#define KIND "SelfSubjectAccessReview"
#define SELF_KIND "SelfSubjectReview"

const char self_review_body[] = "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"" SELF_KIND "\"}";

/* ---- the question ---- */

static void review_put_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *text)
{
    if (!str_empty(text))
        json_put_text(doc, obj, key, text);
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

/* ---- the answers ---- */

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

#include "kube/access_review.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"

#define KIND "SelfSubjectAccessReview"
#define SELF_KIND "SelfSubjectReview"

const char self_review_body[] = "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"" SELF_KIND "\"}";

/* ---- the question ---- */

static void put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
    if (value == NULL || !yyjson_mut_obj_add(obj, yyjson_mut_str(doc, key), value))
        abort(); /* out of memory */
}

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *text)
{
    if (!str_empty(text))
        put(doc, obj, key, yyjson_mut_str(doc, text));
}

char *access_review_encode(const struct access_right *right)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    if (doc == NULL)
        abort(); /* out of memory */
    yyjson_mut_val *root = yyjson_mut_obj(doc), *spec = yyjson_mut_obj(doc), *what = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    put_text(doc, root, "apiVersion", "authorization.k8s.io/v1");
    put_text(doc, root, "kind", KIND);
    put(doc, root, "spec", spec);
    put(doc, spec, "resourceAttributes", what);
    put_text(doc, what, "namespace", right->namespace);
    put_text(doc, what, "verb", right->verb);
    put_text(doc, what, "group", right->group);
    put_text(doc, what, "resource", right->resource);
    put_text(doc, what, "name", right->name);
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL);
    yyjson_mut_doc_free(doc);
    if (text == NULL)
        abort(); /* out of memory: names in settings are checked, so all of it is UTF-8 */
    return text;
}

/* ---- the answers ---- */

/* *ret is to be freed with yyjson_doc_free, also with -1. */
static int parse(const char *json, size_t len, const char *kind, yyjson_doc **ret, struct error *err)
{
    yyjson_read_err problem = {0};
    *ret = NULL;
    if (len == 0 || len > ACCESS_REVIEW_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "an answer of %zu bytes is no %s", len, kind);
    *ret = yyjson_read_opts((char *)json, len, 0, NULL, &problem);
    if (*ret == NULL)
        return error_set(err, ERROR_INVALID, "the answer is no JSON: %s at byte %zu", problem.msg, problem.pos);
    if (!yyjson_equals_str(yyjson_obj_get(yyjson_doc_get_root(*ret), "kind"), kind))
        return error_set(err, ERROR_INVALID, "the answer is no %s", kind);
    return 0;
}

static int read_review(yyjson_val *root, struct access_review *ret, struct error *err)
{
    yyjson_val *status = yyjson_obj_get(root, "status"), *allowed = yyjson_obj_get(status, "allowed");
    const char *reason = yyjson_get_str(yyjson_obj_get(status, "reason"));
    if (reason == NULL)
        reason = yyjson_get_str(yyjson_obj_get(status, "evaluationError"));
    if (!yyjson_is_bool(allowed))
        return error_set(err, ERROR_INVALID, "the answer does not say whether it is allowed");
    ret->allowed = yyjson_get_bool(allowed);
    ret->reason = mem_strdup(reason != NULL ? reason : "");
    return 0;
}

int access_review_decode(const char *json, size_t len, struct access_review *ret, struct error *err)
{
    yyjson_doc *doc;
    int status = parse(json, len, KIND, &doc, err);
    if (status == 0)
        status = read_review(yyjson_doc_get_root(doc), ret, err);
    yyjson_doc_free(doc);
    return status;
}

void access_review_fini(struct access_review *r)
{
    free(r->reason);
    *r = (struct access_review){0};
}

int self_review_decode(const char *json, size_t len, char **ret_user, struct error *err)
{
    yyjson_doc *doc;
    int status = parse(json, len, SELF_KIND, &doc, err);
    yyjson_val *info =
        status == 0 ? yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "status"), "userInfo") : NULL;
    const char *user = yyjson_get_str(yyjson_obj_get(info, "username"));
    if (status == 0 && str_empty(user))
        status = error_set(err, ERROR_INVALID, "the answer does not say who we are");
    if (status == 0)
        *ret_user = mem_strdup(user);
    yyjson_doc_free(doc);
    return status;
}

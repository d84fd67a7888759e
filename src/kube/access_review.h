/*
 * Questions about this client: who the API server takes it for (authentication.k8s.io/v1 SelfSubjectReview, Kubernetes
 * 1.28 and later), and whether it may do something (authorization.k8s.io/v1 SelfSubjectAccessReview). Both are POSTs
 * that leave nothing behind. Requests and answers as text; who asks moves them.
 */
#ifndef KUBE_ACCESS_REVIEW_H
#define KUBE_ACCESS_REVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

#define ACCESS_REVIEW_PATH "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define SELF_REVIEW_PATH "/apis/authentication.k8s.io/v1/selfsubjectreviews"
#define ACCESS_REVIEW_MAX_BYTES (256u << 10)

/* A verb on a resource; authorization.k8s.io/v1 ResourceAttributes. All borrowed. */
struct access_right {
    const char *group; /* "": core */
    const char *resource;
    const char *verb;
    const char *namespace; /* NULL: of the whole cluster */
    const char *name;      /* of one object; NULL: of all */
};

/* The body of the POST to ACCESS_REVIEW_PATH. Allocates. */
char *access_review_encode(const struct access_right *right) must_check;

struct access_review {
    bool allowed;
    char *reason; /* the server's own words, "" where it has none; often so where it says no */
};

/* The answer. ERROR_INVALID, with *ret untouched: no JSON, no such review, no verdict in it. */
int access_review_decode(const char *json, size_t len, struct access_review *ret, struct error *err) must_check;
void access_review_fini(struct access_review *r); /* a zeroed one is allowed */

/* The body of the POST to SELF_REVIEW_PATH, and the user's name in its answer (allocates). */
extern const char self_review_body[];
int self_review_decode(const char *json, size_t len, char **ret_user, struct error *err) must_check;

#endif

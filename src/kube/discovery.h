/*
 * What an API server is asked about itself and this client.
 *
 * What it serves in one group and version (GET /api/v1 or /apis/GROUP/VERSION, an APIResourceList): from the kind that a
 * user names to the path that is watched.
 *
 * Who it takes this client for (authentication.k8s.io/v1 SelfSubjectReview, Kubernetes 1.28 and later), and whether it may do
 * something (authorization.k8s.io/v1 SelfSubjectAccessReview). Both are POSTs that leave nothing behind; requests and answers
 * are texts, which the caller moves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

struct discovery;
struct kube_client;

struct discovered {
    char *kind;   /* "Ingress" */
    char *plural; /* "ingresses" */
    bool namespaced;
};
void discovered_fini(struct discovered *d);

/* "/api/v1", "/apis/networking.k8s.io/v1". Allocates. */
char *discovery_path(const char *api_version) must_check;

/* From such a list: by its kind, or where that is NULL by its plural. ERROR_GONE: it is not in there; ERROR_INVALID: it is
 * no such list, or the resource cannot be watched. */
int discovery_decode(const char *json, size_t len, const char *kind, const char *plural, struct discovered *ret,
                     struct error *err) must_check;

/* Asks once. done: from the loop, unless it is freed before; found is the callee's to take, NULL where err says why:
 * ERROR_GONE: it is not served, ERROR_AUTH: 401 or 403, else it may come later. */
struct discovery *discovery_start(struct kube_client *client, const char *api_version, const char *kind,
                                  const char *plural,
                                  void (*done)(void *arg, struct discovered *found, const struct error *err), void *arg,
                                  struct error *err) must_check;
void discovery_free(struct discovery *d); /* NULL is allowed; not from done, after which it is freed */

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

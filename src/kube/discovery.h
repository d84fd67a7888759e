/*
 * What an API server serves in one group and version (GET /api/v1 or /apis/GROUP/VERSION, an APIResourceList): from the
 * kind that a user names to the path that is watched.
 */
#ifndef KUBE_DISCOVERY_H
#define KUBE_DISCOVERY_H

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

#endif

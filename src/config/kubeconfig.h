/*
 * How to reach the Kubernetes API: from a kubeconfig (clientcmd v1 Config) or from inside a pod. Exec and auth-provider
 * plugins are refused by name.
 */
#ifndef CONFIG_KUBECONFIG_H
#define CONFIG_KUBECONFIG_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/error.h"

/* PEM material: text given inline (already decoded from base64), else a file to read, else NULL. */
struct kube_pem {
    char *text;
    char *path;
};

struct kube_access {
    char *server;    /* "https://host:port[/prefix]", no trailing slash */
    char *proxy_url; /* NULL: none */
    char *server_name;
    bool insecure;
    struct kube_pem ca, cert, key;
    char *token;      /* NULL where token_path is used */
    char *token_path; /* read again at least every 60 s and after a 401 */
    char *username, *password;
    char *source; /* for messages: "kubeconfig /etc/kube/config, context prod" or "in-cluster" */
};

/* KUBECONFIG: a colon-separated list; the first file that sets a value wins, missing files are skipped, relative paths
 * inside are relative to their file. ERROR_FATAL naming file, line and field. */
int kube_access_from_kubeconfig(const char *list, struct kube_access *ret, struct error *err) must_check;

/* KUBERNETES_SERVICE_HOST/PORT from environ and the service account's files in `dir` (NULL: the usual place). */
int kube_access_in_cluster(char *const *environ, const char *dir, struct kube_access *ret,
                           struct error *err) must_check;

void kube_access_fini(struct kube_access *a); /* wipes secrets */

#endif

/*
 * How to reach the Kubernetes API: from a kubeconfig (clientcmd v1 Config) or from inside a pod. Of the plugins, exec
 * is taken over (kube/exec_plugin runs it), auth-provider is refused by name.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/error.h"

/* PEM material: text given inline (already decoded from base64), else a file to read, else NULL. */
struct kube_pem {
    char *text;
    char *path;
};

#define KUBE_EXEC_V1 "client.authentication.k8s.io/v1"
#define KUBE_EXEC_V1BETA1 "client.authentication.k8s.io/v1beta1" /* the same fields; interactiveMode may be missing */

/* A program that prints credentials. */
struct kube_exec {
    char *api_version; /* one of the two above, and the one of its answer */
    char *command;     /* with a slash: a path; without: searched in PATH */
    char **args;       /* without the command; ends with NULL, as env does */
    char **env;        /* "NAME=value", beside the daemon's own; of two with the same name the last one counts */
    char *install_hint;
    bool provide_cluster_info;
    char *cluster_config; /* JSON: what the cluster's entry says to plugins; NULL: nothing */
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
    /* NULL: none, or not to be run because there are other credentials, which come first (as in client-go). */
    struct kube_exec *exec;
    char *unused_exec; /* the command of such a one, to warn of; else NULL */
    char *namespace;   /* the pod's own; NULL: not in a pod, or unknown */
    char *source;      /* for messages: "kubeconfig /etc/kube/config, context prod" or "in-cluster" */
};

/* KUBECONFIG: a colon-separated list; the first file that sets a value wins, missing files are skipped, relative paths
 * inside are relative to their file. ERROR_FATAL naming file, line and field. */
int kube_access_from_kubeconfig(const char *list, struct kube_access *ret, struct error *err) must_check;

/* KUBERNETES_SERVICE_HOST/PORT from environ and the service account's files in `dir` (NULL: the usual place). */
int kube_access_in_cluster(char *const *environ, const char *dir, struct kube_access *ret,
                           struct error *err) must_check;

void kube_access_fini(struct kube_access *a); /* wipes secrets */

/* Whether a program has to be run to get the credentials. */
bool kube_access_runs_plugin(const struct kube_access *a);

struct kube_exec *kube_exec_copy(const struct kube_exec *e) must_check;
void kube_exec_free(struct kube_exec *e); /* wipes; NULL is allowed */

/* kubeconfig files in a directory of the test, and what is made of them. */
#pragma once

#include "settings/kubeconfig/kubeconfig.h"

#include "../folder.h"

#define V1 "client.authentication.k8s.io/v1"
#define EXEC(more) "exec: {apiVersion: " V1 ", command: aws, interactiveMode: Never, " more "}"
#define CERT_DATA "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmJtOTBJRzl1WlE9PQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
#define KEY_DATA "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmJtOTBJRzl1WlE9PQotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg=="

static char first[64], second[64];

static inline void set_up(void)
{
    folder_make();
    snprintf(first, sizeof(first), "%s/first", folder);
    snprintf(second, sizeof(second), "%s/second", folder);
}

static inline struct error load_fails(const char *list)
{
    struct kube_access a = {.server = (char *)"untouched"};
    struct error err;
    ck_assert_msg(kube_access_from_kubeconfig(list, &a, &err) == -1, "taken");
    ck_assert_int_eq(err.kind, ERROR_FATAL);
    ck_assert_str_eq(a.server, "untouched");
    ck_assert_msg(strstr(err.message, "hunter2") == NULL, "a secret is shown: %s", err.message);
    return err;
}

static inline void assert_message(const struct error *err, const char *what)
{
    ck_assert_msg(strstr(err->message, what) != NULL, "expected \"%s\" in: %s", what, err->message);
}

/* A kubeconfig with one context, whose cluster and user have these fields (one line each, in flow style). */
static inline char *one(const char *cluster, const char *user)
{
    return mem_printf("apiVersion: v1\n"
                      "kind: Config\n"
                      "current-context: c\n"
                      "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                      "clusters: [{name: k, cluster: {%s}}]\n" /* line 5 */
                      "users: [{name: u, user: {%s}}]\n",      /* line 6 */
                      cluster, user);
}

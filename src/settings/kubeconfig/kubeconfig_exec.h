/*
 * The "exec" of a kubeconfig's user, a program that prints credentials: what client-go 1.34 demands of it is demanded.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
#ifndef SETTINGS_KUBECONFIG_KUBECONFIG_EXEC_H
#define SETTINGS_KUBECONFIG_KUBECONFIG_EXEC_H

#include "base/compiler.h"
#include "base/error.h"
#include "settings/kubeconfig/kubeconfig_file.h"

struct kube_exec;

/* *ret NULL where user has no exec. cluster: its extension "client.authentication.k8s.io/exec" goes to the program,
 * where that wants to be told of the cluster. ERROR_FATAL. */
int kubeconfig_exec(const struct kubeconfig_object *user, const struct kubeconfig_object *cluster,
                    struct kube_exec **ret, struct error *err) must_check;

#endif

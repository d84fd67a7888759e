/*
 * The "exec" of a kubeconfig's user, a program that prints credentials: what client-go 1.34 demands of it is demanded.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
#include "settings/kubeconfig/kubeconfig_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/findings.h"

#define EXTENSION "client.authentication.k8s.io/exec"
#define LIST_MAX 1000u

/* The list in `key`; *ret NULL where there is none. */
static int exec_get_list(const struct kubeconfig_object *o, const char *key, const struct yaml_node **ret,
                         struct error *err)
{
    size_t twice;
    const struct yaml_node *n = yaml_node_get(o->node, key, &twice);
    if (twice != 0)
        return kubeconfig_fail(o, key, err, "appears twice, again in line %zu", twice);
    *ret = yaml_node_is_null(n) ? NULL : n;
    if (*ret != NULL && n->kind != NODE_SEQUENCE)
        return kubeconfig_fail(o, key, err, "expected a list");
    if (*ret != NULL && n->kid_count > LIST_MAX)
        return kubeconfig_fail(o, key, err, "has more than %u elements", LIST_MAX);
    return 0;
}

static int exec_read_program(const struct kubeconfig_object *o, struct kube_exec *e, struct error *err)
{
    const char *version = NULL, *command = NULL, *hint = NULL, *mode = NULL;
    if (kubeconfig_line(o, "apiVersion", &version, err) != 0)
        return -1;
    if (version == NULL)
        return kubeconfig_fail(o, NULL, err, "has no apiVersion: expected " KUBE_EXEC_V1);
    if (!str_eq(version, KUBE_EXEC_V1) && !str_eq(version, KUBE_EXEC_V1BETA1)) {
        cleanup(mem_free_ptr) char *quoted = finding_quoted(version);
        return kubeconfig_fail(o, "apiVersion", err,
                               "%s is no longer supported: expected " KUBE_EXEC_V1
                               " (or v1beta1); update the plugin and its kubeconfig",
                               quoted);
    }
    e->api_version = mem_strdup(version);
    /* A name alone is searched in PATH; with a slash it is a path and relative to the kubeconfig. */
    if (kubeconfig_line(o, "command", &command, err) != 0 || kubeconfig_text(o, "installHint", &hint, err) != 0)
        return -1;
    if (command == NULL)
        return kubeconfig_fail(o, NULL, err, "has no command: expected the program that prints the credentials");
    e->command = strchr(command, '/') != NULL ? kubeconfig_path(o, command) : mem_strdup(command);
    e->install_hint = mem_strdup(hint);
    if (kubeconfig_line(o, "interactiveMode", &mode, err) != 0)
        return -1;
    if (mode == NULL && str_eq(version, KUBE_EXEC_V1))
        return kubeconfig_fail(o, NULL, err,
                               "has no interactiveMode, which " KUBE_EXEC_V1 " demands: expected Never or IfAvailable");
    if (mode == NULL || str_eq(mode, "Never") || str_eq(mode, "IfAvailable"))
        return 0;
    if (str_eq(mode, "Always"))
        return kubeconfig_fail(o, "interactiveMode", err,
                               "Always: the plugin needs a terminal, which a daemon does not have: use one with Never "
                               "or IfAvailable, a tokenFile or a client certificate");
    cleanup(mem_free_ptr) char *quoted = finding_quoted(mode);
    return kubeconfig_fail(o, "interactiveMode", err, "%s: expected Never or IfAvailable", quoted);
}

/* One {name, value}; "name=value" in *ret. */
static int read_variable(const struct kubeconfig_object *o, const struct yaml_node *element, char **ret,
                         struct error *err)
{
    static const char expected[] = "expected a name and a value";
    size_t twice_name = 0, twice_value = 0;
    const struct yaml_node *name = yaml_node_get(element, "name", &twice_name);
    const struct yaml_node *value = yaml_node_get(element, "value", &twice_value);
    if (element->kind != NODE_MAPPING || twice_name != 0 || twice_value != 0 || yaml_node_is_null(name) ||
        name->kind != NODE_SCALAR || (!yaml_node_is_null(value) && value->kind != NODE_SCALAR))
        return kubeconfig_fail(o, "env", err, "the variable in line %zu: %s", element->line, expected);
    if (name->text[0] == '\0' || strchr(name->text, '=') != NULL)
        return kubeconfig_fail(o, "env", err, "the variable in line %zu: its name is empty or holds a '='",
                               element->line);
    cleanup(mem_free_ptr) char *start = mem_join(name->text, "=");
    *ret = mem_join(start, yaml_node_is_null(value) ? "" : value->text); /* it may be a password */
    return 0;
}

static int exec_read_lists(const struct kubeconfig_object *o, struct kube_exec *e, struct error *err)
{
    const struct yaml_node *args = NULL, *env = NULL;
    if (exec_get_list(o, "args", &args, err) != 0)
        return -1;
    e->args = mem_array((args != NULL ? args->kid_count : 0) + 1, sizeof(e->args[0]));
    for (size_t i = 0; args != NULL && i < args->kid_count; i++) {
        const struct yaml_node *n = args->kids[i];
        if (n->kind != NODE_SCALAR)
            return kubeconfig_fail(o, "args", err, "element %zu (line %zu): expected a text", i + 1, n->line);
        e->args[i] = mem_strdup(yaml_node_is_null(n) ? "" : n->text);
    }
    if (exec_get_list(o, "env", &env, err) != 0)
        return -1;
    e->env = mem_array((env != NULL ? env->kid_count : 0) + 1, sizeof(e->env[0]));
    for (size_t i = 0; env != NULL && i < env->kid_count; i++)
        if (read_variable(o, env->kids[i], &e->env[i], err) != 0)
            return -1;
    return 0;
}

/* What the cluster's entry says to plugins, any object, as JSON. */
static int read_extension(const struct kubeconfig_object *cluster, struct kube_exec *e, struct error *err)
{
    const struct yaml_node *list = NULL;
    if (exec_get_list(cluster, "extensions", &list, err) != 0)
        return -1;
    for (size_t i = 0; list != NULL && i < list->kid_count; i++) {
        size_t twice;
        const struct yaml_node *name = yaml_node_get(list->kids[i], "name", &twice);
        if (name == NULL || name->kind != NODE_SCALAR || !str_eq(name->text, EXTENSION))
            continue;
        const struct yaml_node *extension = yaml_node_get(list->kids[i], "extension", &twice);
        if (yaml_node_is_null(extension))
            continue;
        struct buf json;
        buf_init_secret(&json, 0);
        yaml_json_add(extension, &json);
        mem_wipe_free(e->cluster_config);
        e->cluster_config = buf_take(&json);
    }
    return 0;
}

int kubeconfig_exec(const struct kubeconfig_object *user, const struct kubeconfig_object *cluster,
                    struct kube_exec **ret, struct error *err)
{
    *ret = NULL;
    if (!kubeconfig_has(user, "exec"))
        return 0;
    size_t twice;
    const struct yaml_node *node = yaml_node_get(user->node, "exec", &twice);
    if (twice != 0)
        return kubeconfig_fail(user, "exec", err, "appears twice, again in line %zu", twice);
    if (node->kind != NODE_MAPPING)
        return kubeconfig_fail(user, "exec", err, "expected an object with apiVersion and command");
    struct kubeconfig_object o = *user;
    o.inner = "user.exec";
    o.line = node->line;
    o.node = node;
    struct kube_exec *e = mem_alloc(sizeof(*e));
    if (exec_read_program(&o, e, err) != 0 || exec_read_lists(&o, e, err) != 0 ||
        kubeconfig_bool(&o, "provideClusterInfo", &e->provide_cluster_info, err) != 0 ||
        read_extension(cluster, e, err) != 0) {
        kube_exec_free(e);
        return -1;
    }
    *ret = e;
    return 0;
}

static char **copy_list(char *const *list)
{
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    char **copy = mem_array(n + 1, sizeof(copy[0]));
    for (size_t i = 0; i < n; i++)
        copy[i] = mem_strdup(list[i]);
    return copy;
}

struct kube_exec *kube_exec_copy(const struct kube_exec *e)
{
    struct kube_exec *copy = mem_alloc(sizeof(*copy));
    *copy = (struct kube_exec){.api_version = mem_strdup(e->api_version),
                               .command = mem_strdup(e->command),
                               .args = copy_list(e->args),
                               .env = copy_list(e->env),
                               .install_hint = mem_strdup(e->install_hint),
                               .provide_cluster_info = e->provide_cluster_info,
                               .cluster_config = mem_strdup(e->cluster_config)};
    return copy;
}

/* Arguments and variables of a plugin may be passwords. */
void kube_exec_free(struct kube_exec *e)
{
    if (e == NULL)
        return;
    mem_free_all(e->api_version, e->command);
    mem_wipe_free_list(e->args);
    mem_wipe_free_list(e->env);
    free(e->install_hint);
    mem_wipe_free(e->cluster_config);
    free(e);
}

#include "settings/kubeconfig/kubeconfig.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/base64.h"
#include "settings/kubeconfig/kubeconfig_file.h"
#include "settings/environment.h"
#include "settings/names.h"
#include "settings/findings.h"
#include "settings/url.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define NAMESPACE_MAX_BYTES 256

/* KEY-data (base64) beats KEY (a file). label: what the PEM text must hold. */
static int pem_field(const struct kubeconfig_object *o, const char *key, const char *label, struct kube_pem *ret,
                     struct error *err)
{
    cleanup(mem_free_ptr) char *data_key = mem_printf("%s-data", key);
    const char *data = NULL, *path = NULL;
    if (kubeconfig_text(o, data_key, &data, err) != 0 || kubeconfig_line(o, key, &path, err) != 0)
        return -1;
    if (data != NULL) {
        ret->text = base64_decode_text(data);
        if (ret->text == NULL)
            return kubeconfig_fail(o, data_key, err, "is not base64 of PEM text");
        if (strstr(ret->text, label) == NULL)
            return kubeconfig_fail(o, data_key, err, "decodes to something without \"%s\": expected PEM", label);
    } else if (path != NULL) {
        ret->path = kubeconfig_path(o, path);
    }
    return 0;
}

static bool pem_is_set(const struct kube_pem *p)
{
    return p->text != NULL || p->path != NULL;
}

static int url_field(const struct kubeconfig_object *o, const char *key, unsigned rules, char **ret, struct error *err)
{
    const char *text = NULL, *why;
    if (kubeconfig_text(o, key, &text, err) != 0)
        return -1;
    if (text == NULL || url_check(text, rules, ret, &why) == 0)
        return 0;
    cleanup(mem_free_ptr) char *masked = url_masked(text);
    cleanup(mem_free_ptr) char *quoted = finding_quoted(masked);
    return kubeconfig_fail(o, key, err, "%s: expected a URL such as https://host:6443; %s", quoted, why);
}

static int fill_cluster(const struct kubeconfig_object *o, struct kube_access *ret, struct error *err)
{
    const char *name = NULL;
    if (url_field(o, "server", URL_PLAIN, &ret->server, err) != 0 ||
        url_field(o, "proxy-url", URL_PROXY, &ret->proxy_url, err) != 0 ||
        kubeconfig_line(o, "tls-server-name", &name, err) != 0)
        return -1;
    if (name != NULL && !name_made_of(name, NAME_ALNUM "-._") && str_ip_family(name) == 0)
        return kubeconfig_fail(o, "tls-server-name", err, "expected a host name or an IP address");
    ret->server_name = mem_strdup(name);
    if (kubeconfig_bool(o, "insecure-skip-tls-verify", &ret->insecure, err) != 0 ||
        pem_field(o, "certificate-authority", "CERTIFICATE-----", &ret->ca, err) != 0)
        return -1;
    if (ret->server == NULL)
        return kubeconfig_fail(o, NULL, err, "has no server: expected its URL, such as https://host:6443");
    if (ret->insecure && pem_is_set(&ret->ca))
        return kubeconfig_fail(o, "insecure-skip-tls-verify", err,
                               "contradicts the certificate-authority beside it: expected one of them");
    return 0;
}

/* What would change who we are must not be ignored. */
static int refuse_unsupported(const struct kubeconfig_object *o, struct error *err)
{
    static const char instead[] =
        "give a tokenFile, a token (kubectl create token ...) or a client certificate instead";
    static const char *const impersonation[] = {"as", "as-uid", "as-groups", "as-user-extra"};
    if (kubeconfig_has(o, "auth-provider")) {
        size_t twice;
        const struct yaml_node *name = yaml_node_get(yaml_node_get(o->node, "auth-provider", &twice), "name", &twice);
        cleanup(mem_free_ptr) char *quoted =
            finding_quoted(name != NULL && name->kind == NODE_SCALAR ? name->text : "");
        return kubeconfig_fail(o, "auth-provider", err,
                               "the auth provider %s is not supported, because Kubernetes removed auth providers; use "
                               "an exec plugin, or %s",
                               quoted, instead);
    }
    for (size_t i = 0; i < array_len(impersonation); i++)
        if (kubeconfig_has(o, impersonation[i]))
            return kubeconfig_fail(o, impersonation[i], err, "impersonation is not supported; %s", instead);
    return 0;
}

static int fill_login(const struct kubeconfig_object *o, struct kube_access *ret, struct error *err)
{
    const char *token = NULL, *path = NULL, *username = NULL, *password = NULL;
    if (kubeconfig_line(o, "token", &token, err) != 0 || kubeconfig_line(o, "tokenFile", &path, err) != 0 ||
        kubeconfig_line(o, "username", &username, err) != 0 || kubeconfig_line(o, "password", &password, err) != 0)
        return -1;
    if (path != NULL)
        ret->token_path = kubeconfig_path(o, path);
    else if (token != NULL)
        ret->token = mem_strdup(token);
    if (username == NULL)
        return password != NULL ? kubeconfig_fail(o, "password", err, "is set without a username") : 0;
    if (strchr(username, ':') != NULL)
        return kubeconfig_fail(o, "username", err, "holds a ':', which basic authentication cannot carry");
    if (ret->token != NULL || ret->token_path != NULL)
        return kubeconfig_fail(o, "username", err, "is set beside a token: expected only one of them");
    ret->username = mem_strdup(username);
    ret->password = mem_strdup(password != NULL ? password : "");
    return 0;
}

static int fill_user(const struct kubeconfig_object *o, const struct kubeconfig_object *cluster,
                     struct kube_access *ret, struct error *err)
{
    if (refuse_unsupported(o, err) != 0 || fill_login(o, ret, err) != 0 ||
        pem_field(o, "client-certificate", "CERTIFICATE-----", &ret->cert, err) != 0 ||
        pem_field(o, "client-key", "PRIVATE KEY-----", &ret->key, err) != 0)
        return -1;
    bool cert = pem_is_set(&ret->cert);
    if (cert != pem_is_set(&ret->key))
        return kubeconfig_fail(o, NULL, err, "has a client %s without its %s", cert ? "certificate" : "key",
                               cert ? "key (client-key)" : "certificate (client-certificate)");
    if (kubeconfig_exec(o, cluster, &ret->exec, err) != 0)
        return -1;
    /* Credentials that are there already come first, and the program is not run: client-go does so. */
    if (ret->exec != NULL && (cert || ret->token != NULL || ret->token_path != NULL || ret->username != NULL)) {
        ret->unused_exec = mem_strdup(ret->exec->command);
        kube_exec_free(ret->exec);
        ret->exec = NULL;
    }
    return 0;
}

static int find_context(const struct kubeconfig_files *k, struct kubeconfig_object *ret, struct error *err)
{
    const char *name, *file;
    size_t line;
    if (kubeconfig_current_context(k, &name, &file, &line, err) != 0 ||
        (name != NULL && kubeconfig_find(k, "contexts", "context", name, ret, err) != 0))
        return -1;
    if (name != NULL && ret->file != NULL)
        return 0;
    cleanup(mem_free_ptr) char *names = kubeconfig_names(k, "contexts");
    const char *shown = names != NULL ? names : "none";
    if (name == NULL)
        return error_set(
            err, ERROR_FATAL,
            "kubeconfig %s: current-context is not set: choose one by kubectl config use-context; contexts: %s",
            k->files[0].path, shown);
    cleanup(mem_free_ptr) char *quoted = finding_quoted(name);
    return error_set(err, ERROR_FATAL, "kubeconfig %s:%zu: current-context: there is no context %s; contexts: %s", file,
                     line, quoted, shown);
}

/* The cluster or user that the context names in `key`. */
static int follow(const struct kubeconfig_files *k, const struct kubeconfig_object *context, const char *list,
                  const char *key, struct kubeconfig_object *ret, struct error *err)
{
    const char *name = NULL;
    if (kubeconfig_text(context, key, &name, err) != 0)
        return -1;
    *ret = (struct kubeconfig_object){0};
    if (name == NULL)
        return 0;
    if (kubeconfig_find(k, list, key, name, ret, err) != 0)
        return -1;
    if (ret->file != NULL)
        return 0;
    cleanup(mem_free_ptr) char *quoted = finding_quoted(name);
    return kubeconfig_fail(context, key, err, "there is no %s %s in any of the files", key, quoted);
}

static int resolve(const struct kubeconfig_files *k, struct kube_access *ret, struct error *err)
{
    struct kubeconfig_object context, cluster, user;
    if (find_context(k, &context, err) != 0 || follow(k, &context, "clusters", "cluster", &cluster, err) != 0 ||
        follow(k, &context, "users", "user", &user, err) != 0)
        return -1;
    if (cluster.file == NULL)
        return kubeconfig_fail(&context, NULL, err, "has no cluster");
    /* A context without a user is an anonymous one; the API decides what that may do. */
    if (fill_cluster(&cluster, ret, err) != 0 || (user.file != NULL && fill_user(&user, &cluster, ret, err) != 0))
        return -1;
    ret->source = mem_printf("kubeconfig %s, context %s%s%s", context.file->path, context.name,
                             ret->exec != NULL ? ", credentials by " : "", ret->exec != NULL ? ret->exec->command : "");
    return 0;
}

int kube_access_from_kubeconfig(const char *list, struct kube_access *ret, struct error *err)
{
    struct kubeconfig_files files;
    struct kube_access access = {0};
    if (kubeconfig_files_load(list, &files, err) != 0)
        return -1;
    int rc = resolve(&files, &access, err);
    kubeconfig_files_fini(&files);
    if (rc != 0)
        kube_access_fini(&access);
    else
        *ret = access;
    return rc;
}

/* ---- from inside a pod ---- */

static int incluster_check_readable(const char *path, struct error *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    return error_set(err, ERROR_FATAL,
                     "in-cluster: %s: %m; does the pod have a service account, and is automountServiceAccountToken not "
                     "false?",
                     path);
}

/* NULL where it is unknown: it is only a default. */
static char *read_namespace(const char *dir)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/namespace", dir);
    cleanup(buf_fini) struct buf text, note = {0};
    buf_init(&text, NAMESPACE_MAX_BYTES);
    if (buf_read_file(&text, path) != 0)
        return NULL;
    size_t len = strcspn(buf_str(&text), "\r\n");
    char *name = mem_strndup(buf_str(&text), len);
    if (name_check_label(name, &note) == 0 && name[0] != '\0')
        return name;
    free(name);
    return NULL;
}

int kube_access_in_cluster(char *const *env, const char *dir, struct kube_access *ret, struct error *err)
{
    const char *host = environment_get(env, "KUBERNETES_SERVICE_HOST");
    const char *port = environment_get(env, "KUBERNETES_SERVICE_PORT");
    uint64_t number;
    if (str_empty(host) || str_empty(port))
        return error_set(err, ERROR_FATAL,
                         "no access to the Kubernetes API: neither KUBECONFIG nor %s, which every pod has, is set",
                         str_empty(host) ? "KUBERNETES_SERVICE_HOST" : "KUBERNETES_SERVICE_PORT");
    if (str_ip_family(host) == 0 && !name_made_of(host, NAME_ALNUM "-."))
        return error_set(err, ERROR_FATAL,
                         "in-cluster: KUBERNETES_SERVICE_HOST: \"%s\" is not an IP address or host name", host);
    if (str_parse_uint(port, UINT16_MAX, &number) != 0 || number == 0)
        return error_set(err, ERROR_FATAL, "in-cluster: KUBERNETES_SERVICE_PORT: \"%s\" is not a port number", port);
    dir = dir != NULL ? dir : ACCOUNT_DIR;
    cleanup(mem_free_ptr) char *ca = mem_printf("%s/ca.crt", dir), *token = mem_printf("%s/token", dir);
    if (incluster_check_readable(ca, err) != 0 || incluster_check_readable(token, err) != 0)
        return -1;
    cleanup(mem_free_ptr) char *place = str_host_port(host, (unsigned)number);
    *ret = (struct kube_access){.server = mem_printf("https://%s", place),
                                .ca.path = mem_strdup(ca),
                                .token_path = mem_strdup(token),
                                .namespace = read_namespace(dir),
                                .source = mem_strdup("in-cluster")};
    return 0;
}

/* ---- of both ---- */

bool kube_access_runs_plugin(const struct kube_access *a)
{
    return a->exec != NULL;
}

static void pem_fini(struct kube_pem *p)
{
    mem_wipe_free(p->text);
    free(p->path);
}

void kube_access_fini(struct kube_access *a)
{
    free(a->server);
    mem_wipe_free(a->proxy_url); /* it may hold a password */
    free(a->server_name);
    pem_fini(&a->ca);
    pem_fini(&a->cert);
    pem_fini(&a->key);
    mem_wipe_free(a->token);
    free(a->token_path);
    mem_wipe_free(a->username);
    mem_wipe_free(a->password);
    kube_exec_free(a->exec);
    mem_free_all(a->unused_exec, a->namespace, a->source);
    *a = (struct kube_access){0};
}

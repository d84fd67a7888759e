/* The way from inside a pod to the API (kube_access_in_cluster of settings/kubeconfig/kubeconfig.h). */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/environment.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/names.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define NAMESPACE_MAX_BYTES 256

static int incluster_check_readable(const char *path, struct error *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    return error_set(err, ERROR_FATAL,
                     "in-cluster: %s: %m; does the pod have a service account, and is automountServiceAccountToken not "
                     "false?",
                     path);
}

static int check_host(const char *host, struct error *err)
{
    if (str_ip_family(host) != 0 || name_made_of(host, NAME_ALNUM "-."))
        return 0;
    return error_set(err, ERROR_FATAL, "in-cluster: KUBERNETES_SERVICE_HOST: \"%s\" is not an IP address or host name",
                     host);
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
    if (check_host(host, err) != 0)
        return -1;
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

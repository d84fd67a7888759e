#include "daemon/clients.h"

#include <stdlib.h>

#include "base/mem.h"
#include "settings/settings.h"
#include "kube/client.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "net/http.h"
#include "net/tls_files.h"

int clients_dataplane_tls(const struct settings *c, const struct log *log, struct tls_files **ret, struct error *err)
{
    const struct tls_files_options options = {
        .peer = "Data Plane API",
        .ca = {.name = "HAPROXY_DATAPLANE_CA_FILE", .path = c->dataplane_ca_file},
        .cert = {.name = "HAPROXY_DATAPLANE_CERT_FILE", .path = c->dataplane_cert_file},
        .key = {.name = "HAPROXY_DATAPLANE_KEY_FILE", .path = c->dataplane_key_file},
        .server_name = c->dataplane_server_name,
        .insecure = c->dataplane_insecure,
    };
    *ret = NULL;
    if (!dataplanes_any_https(c))
        return 0;
    *ret = tls_files_new(&options, err);
    if (*ret == NULL)
        return -1;
    if (c->dataplane_insecure)
        log_warn(log, "TLS certificates of the Data Plane API are not verified (HAPROXY_DATAPLANE_INSECURE)");
    return 0;
}

int clients_check_tls(const struct settings *settings, struct error *err)
{
    struct tls_files *files;
    int status = clients_dataplane_tls(settings, NULL, &files, err);
    tls_files_free(files);
    return status;
}

struct dataplane_client *clients_dataplane(struct event_base *base, const struct clients *c,
                                           struct settings_dataplane *d, const struct clients_hooks *hooks,
                                           const struct log *log, struct error *err)
{
    const struct dataplane_client_options options = {.url = d->url,
                                                     .unix_socket = d->socket,
                                                     .username = &d->username,
                                                     .password = &d->password,
                                                     .token = &d->token,
                                                     .tls = c->dataplane_tls,
                                                     .log = log,
                                                     .events = hooks->events,
                                                     .gate = hooks->gate};
    return dataplane_client_new(base, c->http, &options, err);
}

int clients_make(struct event_base *base, struct settings *settings, const struct kube_access *access,
                 const char *version, const struct clients_hooks *hooks, const struct log *log, struct clients *ret,
                 struct error *err)
{
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", version);
    *ret = (struct clients){0};
    ret->http = http_new(base, agent, err);
    if (ret->http == NULL)
        return -1;
    if (settings->proxy_from_environment)
        http_use_proxy_variables(ret->http);
    if (access->server != NULL && (ret->kube = kube_client_new(ret->http, access, log, err)) == NULL)
        return -1;
    if (clients_dataplane_tls(settings, log, &ret->dataplane_tls, err) != 0)
        return -1;
    ret->dataplanes = mem_array(settings->dataplane_count, sizeof(ret->dataplanes[0]));
    for (size_t i = 0; i < settings->dataplane_count; i++) {
        struct clients_dataplane *d = &ret->dataplanes[ret->dataplane_count++];
        d->file = clients_dataplane(base, ret, &settings->dataplanes[i], hooks, log, err);
        if (d->file == NULL)
            return -1;
        d->runtime = clients_dataplane(base, ret, &settings->dataplanes[i], hooks, log, err);
        if (d->runtime == NULL)
            return -1;
    }
    return 0;
}

void clients_free(struct clients *c)
{
    for (size_t i = 0; i < c->dataplane_count; i++) {
        dataplane_client_free(c->dataplanes[i].file);
        dataplane_client_free(c->dataplanes[i].runtime);
    }
    free(c->dataplanes);
    tls_files_free(c->dataplane_tls);
    kube_client_free(c->kube);
    http_free(c->http);
    *c = (struct clients){0};
}

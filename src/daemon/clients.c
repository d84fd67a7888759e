#include "daemon/clients.h"

#include <stdlib.h>

#include "base/mem.h"
#include "settings/settings.h"
#include "kube/client.h"
#include "net/http.h"
#include "net/tls_files.h"
#include "daemon/certificates.h"

static struct dataplane_client *make_one(struct event_base *base, const struct clients *c, struct settings_dataplane *d,
                                         const struct clients_hooks *hooks, const struct log *log, struct error *err)
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
    ret->kube = kube_client_new(ret->http, access, log, err);
    if (ret->kube == NULL)
        return -1;
    if (certificates_of_dataplanes(settings, log, &ret->dataplane_tls, err) != 0)
        return -1;
    ret->dataplanes = mem_array(settings->dataplane_count, sizeof(ret->dataplanes[0]));
    for (size_t i = 0; i < settings->dataplane_count; i++) {
        struct clients_dataplane *d = &ret->dataplanes[ret->dataplane_count++];
        d->file = make_one(base, ret, &settings->dataplanes[i], hooks, log, err);
        if (d->file == NULL)
            return -1;
        d->runtime = make_one(base, ret, &settings->dataplanes[i], hooks, log, err);
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

#include "sync/clients.h"

#include "base/mem.h"
#include "config/config.h"
#include "kube/client.h"
#include "net/http.h"

int clients_make(struct event_base *base, struct config *config, const struct kube_access *access, const char *version,
                 const struct dataplane_client_events *events, const struct log *log, struct clients *ret,
                 struct error *err)
{
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", version);
    *ret = (struct clients){0};
    ret->http = http_new(base, agent, err);
    if (ret->http == NULL)
        return -1;
    ret->kube = kube_client_new(ret->http, access, log, err);
    if (ret->kube == NULL)
        return -1;
    const struct dataplane_client_options dataplane = {.url = config->dataplane_url,
                                                       .unix_socket = config->dataplane_socket,
                                                       .username = &config->dataplane_username,
                                                       .password = &config->dataplane_password,
                                                       .token = &config->dataplane_token,
                                                       .log = log,
                                                       .events = *events};
    ret->dataplane = dataplane_client_new(base, ret->http, &dataplane, err);
    return ret->dataplane != NULL ? 0 : -1;
}

void clients_free(struct clients *c)
{
    dataplane_client_free(c->dataplane);
    kube_client_free(c->kube);
    http_free(c->http);
    *c = (struct clients){0};
}

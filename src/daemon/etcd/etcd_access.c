#include "daemon/etcd/etcd_access.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "etcd/client.h"
#include "host/process.h"
#include "host/timer.h"
#include "net/tls_files.h"
#include "settings/settings.h"

#define FOLLOW_MS 5000 /* how often files are checked */

struct etcd_access {
    struct settings *settings;
    const struct log *log;
    struct tls_files *tls; /* NULL: no URL is https */
    struct etcd_client *client;
    struct timer follow;
    struct log_limit secret_limit;
};

static void etcd_access_follow(void *arg)
{
    struct etcd_access *a = arg;
    struct error err = {0};
    bool changed = false;
    tls_files_follow(a->tls, a->log);
    if (secret_refresh(&a->settings->etcd.password, false, &changed, &err) != 0 &&
        log_limit_pass_message(&a->secret_limit, clock_mono_ms(), err.message, NULL))
        log_warn(a->log, "the password of etcd cannot be read again, the old one stays in use",
                 log_str("error", err.message));
    if (changed)
        etcd_client_set_password(a->client, a->settings->etcd.password.value);
    timer_set(&a->follow, FOLLOW_MS);
}

struct etcd_access *etcd_access_new(struct event_base *base, struct http *http, struct settings *settings,
                                    const struct log *log, struct error *err)
{
    struct etcd_access *a = mem_alloc(sizeof(*a));
    const struct settings_etcd *e = &settings->etcd;
    a->settings = settings;
    a->log = log;
    a->secret_limit.period_ms = 60000;
    timer_init(&a->follow, base, etcd_access_follow, a);
    const struct tls_files_options tls = {.peer = "etcd",
                                          .ca = {.name = "ETCD_CA_FILE", .path = e->ca_file},
                                          .cert = {.name = "ETCD_CERT_FILE", .path = e->cert_file},
                                          .key = {.name = "ETCD_KEY_FILE", .path = e->key_file}};
    bool https = false;
    for (size_t i = 0; i < e->endpoints.count; i++)
        https = https || str_has_prefix(e->endpoints.list[i], "https://");
    if (https)
        a->tls = tls_files_new(&tls, err);
    if (!https || a->tls != NULL) {
        const struct etcd_client_options options = {.endpoints = e->endpoints.list,
                                                    .endpoint_count = e->endpoints.count,
                                                    .tls = a->tls != NULL ? tls_files_current(a->tls) : NULL,
                                                    .user = e->user,
                                                    .password = e->password.value,
                                                    .log = log};
        a->client = etcd_client_new(http, &options, err);
    }
    if (a->client == NULL) {
        etcd_access_free(a);
        return NULL;
    }
    timer_set(&a->follow, FOLLOW_MS);
    return a;
}

void etcd_access_free(struct etcd_access *a)
{
    if (a == NULL)
        return;
    timer_fini(&a->follow);
    etcd_client_free(a->client);
    tls_files_free(a->tls);
    free(a);
}

struct etcd_client *etcd_access_client(const struct etcd_access *a)
{
    return a->client;
}

const struct tls_files *etcd_access_files(const struct etcd_access *a)
{
    return a->tls;
}

char *etcd_key(const struct settings *settings, const char *below, const char *name)
{
    return mem_printf("%s/%s%s", settings->etcd.path, below, name);
}

char *etcd_own_name(const struct settings *settings)
{
    char host[HOST_NAME_BYTES];
    if (settings->etcd.name != NULL)
        return mem_strdup(settings->etcd.name);
    host_name(host);
    return mem_strdup(host[0] != '\0' ? host : "unknown");
}

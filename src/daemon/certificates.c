#include "daemon/certificates.h"

#include "base/clock.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/dataplanes.h"
#include "kube/client.h"
#include "net/tls_files.h"
#include "daemon/clients.h"
#include "report/telemetry.h"

int certificates_of_dataplanes(const struct settings *c, const struct log *log, struct tls_files **ret,
                               struct error *err)
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
        log_warn(log, "TLS certificates of the Data Plane API are not verified, as HAPROXY_DATAPLANE_INSECURE says");
    return 0;
}

int certificates_check(const struct settings *settings, struct error *err)
{
    struct tls_files *files;
    int status = certificates_of_dataplanes(settings, NULL, &files, err);
    tls_files_free(files);
    return status;
}

struct visitor {
    void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s);
    void *arg;
};

static void visit(const struct visitor *v, const char *peer, const char *which, int64_t not_after_s)
{
    if (not_after_s != INT64_MAX)
        v->fn(v->arg, peer, which, not_after_s);
}

static void visit_files(const struct visitor *v, const char *peer, const struct tls_files *files)
{
    visit(v, peer, "ca", tls_files_ca_not_after_s(files));
    visit(v, peer, "client", tls_files_client_not_after_s(files));
}

/* Whichever of its two connections saw it later has the newer one, which is nearly always the one that ends later. */
static int64_t server_not_after_s(const struct clients_dataplane *d)
{
    int64_t a = dataplane_client_server_not_after_s(d->file), b = dataplane_client_server_not_after_s(d->runtime);
    if (a == INT64_MAX || b == INT64_MAX)
        return a < b ? a : b;
    return a > b ? a : b;
}

void certificates_each(const struct clients *c,
                       void (*fn)(void *arg, const char *peer, const char *which, int64_t not_after_s), void *arg)
{
    const struct visitor v = {.fn = fn, .arg = arg};
    visit_files(&v, "kubernetes", kube_client_tls(c->kube));
    visit(&v, "kubernetes", "server", kube_client_server_not_after_s(c->kube));
    for (size_t i = 0; i < c->dataplane_count; i++) {
        const char *url = dataplane_client_url(c->dataplanes[i].file);
        if (!str_has_prefix(url, "https://"))
            continue;
        visit_files(&v, url, c->dataplane_tls);
        visit(&v, url, "server", server_not_after_s(&c->dataplanes[i]));
    }
}

struct measure {
    struct metric *gauge;
    int64_t now_s;
};

static void set(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    const struct measure *m = arg;
    metric_set(m->gauge, (double)(not_after_s - m->now_s), peer, which, NULL);
}

void certificates_measure(const struct clients *c, struct telemetry *telemetry, const struct log *log)
{
    struct measure m = {.gauge = telemetry->certificate_expiry, .now_s = (int64_t)(clock_wall_ms() / 1000)};
    metric_clear(m.gauge); /* what is not in use any more is not shown */
    tls_files_follow(kube_client_tls(c->kube), log);
    tls_files_follow(c->dataplane_tls, log);
    certificates_each(c, set, &m);
}

#include "daemon/certificates.h"

#include "base/str.h"
#include "kube/client.h"
#include "net/tls_files.h"
#include "daemon/clients.h"
#include "report/telemetry.h"

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

/* The connection that saw it later has the newer certificate, which nearly always is the one that expires later. */
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
    if (c->kube != NULL) {
        visit_files(&v, "kubernetes", kube_client_tls(c->kube));
        visit(&v, "kubernetes", "server", kube_client_server_not_after_s(c->kube));
    }
    for (size_t i = 0; i < c->dataplane_count; i++) {
        const char *url = dataplane_client_url(c->dataplanes[i].file);
        if (!str_has_prefix(url, "https://"))
            continue;
        visit_files(&v, url, c->dataplane_tls);
        visit(&v, url, "server", server_not_after_s(&c->dataplanes[i]));
    }
}

static void set(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    metric_set(arg, (double)not_after_s, peer, which, NULL);
}

void certificates_measure(const struct clients *c, struct telemetry *telemetry, const struct log *log)
{
    metric_clear(telemetry->certificate_expiration); /* what is not in use any more is not shown */
    if (c->kube != NULL)
        tls_files_follow(kube_client_tls(c->kube), log);
    tls_files_follow(c->dataplane_tls, log);
    certificates_each(c, set, telemetry->certificate_expiration);
}

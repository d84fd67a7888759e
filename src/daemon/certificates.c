#include "daemon/certificates.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "kube/client.h"
#include "net/spiffe.h"
#include "net/tls_files.h"
#include "daemon/clients.h"
#include "report/checks.h"
#include "report/telemetry.h"

#define KUBERNETES "kubernetes"

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
        visit_files(&v, KUBERNETES, kube_client_tls(c->kube));
        visit(&v, KUBERNETES, "server", kube_client_server_not_after_s(c->kube));
    }
    for (size_t i = 0; i < c->dataplane_count; i++) {
        const char *url = dataplane_client_url(c->dataplanes[i].file);
        if (!str_has_prefix(url, "https://"))
            continue;
        if (c->spiffe != NULL)
            visit(&v, url, "client", spiffe_state(c->spiffe).not_after_s);
        else
            visit_files(&v, url, c->dataplane_tls);
        visit(&v, url, "server", server_not_after_s(&c->dataplanes[i]));
    }
}

static void set(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    metric_set(arg, (double)not_after_s, peer, which, NULL);
}

/* SVIDs live for an hour or so, and are no certificates that somebody has to renew. */
static void set_but_svids(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    if (str_eq(peer, KUBERNETES))
        set(arg, peer, which, not_after_s);
}

void certificates_measure(const struct clients *c, struct telemetry *telemetry, const struct log *log)
{
    metric_clear(telemetry->certificate_expiration); /* what is not in use any more is not shown */
    metric_clear(telemetry->svid_expiration);
    if (c->kube != NULL)
        tls_files_follow(kube_client_tls(c->kube), log);
    tls_files_follow(c->dataplane_tls, log);
    certificates_each(c, c->spiffe != NULL ? set_but_svids : set, telemetry->certificate_expiration);
    const struct spiffe_state s = c->spiffe != NULL ? spiffe_state(c->spiffe) : (struct spiffe_state){0};
    if (s.id != NULL)
        metric_set(telemetry->svid_expiration, (double)s.not_after_s, s.id, NULL);
}

/* ---- the check ---- */

/* "until 2026-11-25T17:00:00Z, peer spiffe://...": what is good about it. */
static char *identity_reason(const struct clients *c, const struct spiffe_state *s)
{
    cleanup(buf_fini) struct buf text = {0};
    char end[RFC3339_BYTES];
    rfc3339_format(s->not_after_s * 1000000, 0, end);
    buf_printf(&text, "%s until %s", s->id, end);
    for (size_t i = 0; i < c->dataplane_count && s->peer_id == NULL; i++) {
        const char *url = dataplane_client_url(c->dataplanes[i].file), *seen = spiffe_peer_seen(c->spiffe, url);
        if (seen != NULL)
            buf_printf(&text, "; %s has %s, which is not checked", url, seen);
    }
    if (s->problem != NULL)
        buf_printf(&text, "; the Workload API at %s does not answer: %s", s->socket, s->problem);
    return buf_take(&text);
}

bool certificates_ready(const struct clients *c, struct checks *checks)
{
    struct error err = {0};
    if (c->spiffe == NULL)
        return true;
    const struct spiffe_state s = spiffe_state(c->spiffe);
    bool usable = spiffe_usable(c->spiffe, &err) == 0;
    char *reason = usable ? identity_reason(c, &s) : mem_strdup(err.message);
    char *hint = !usable || s.problem != NULL ? mem_printf("see the log of the SPIRE agent behind %s", s.socket)
                 : s.peer_id == NULL          ? mem_strdup("set SPIFFE_PEER_ID to the Data Plane API's SPIFFE ID")
                                              : NULL;
    enum check_state state = !usable ? CHECK_FAIL : hint != NULL ? CHECK_WARN : CHECK_OK;
    checks_add(checks, state, mem_strdup("SPIFFE identity"), reason, hint);
    return usable;
}

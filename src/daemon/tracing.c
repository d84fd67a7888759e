#include "daemon/tracing.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/process.h"
#include "net/http.h"
#include "net/tls_files.h"
#include "report/otlp_exporter.h"
#include "report/metric_table.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

#define SPANS_MAX 1024   /* that wait for a collector which is away */
#define TIMEOUT_MS 10000 /* until it has answered */

struct tracing {
    const struct daemon *in;
    struct settings *settings;
    struct http_endpoint endpoint;
    char *url, *path;
    struct tls_files *tls; /* NULL: it is not https */
    struct otlp_resource resource;
    char **headers; /* "Name: value", then NULL */
    unsigned headers_changes;
    struct log_limit secret_limit;
    struct otlp_exporter *exporter;
};

/* ---- who it is ---- */

/* By themselves, then what the settings say, the more special the later. */
static void tracing_describe(struct tracing *t)
{
    struct otlp_resource *r = &t->resource;
    const struct settings_traces *s = &t->settings->traces;
    const char *namespace = t->in->access->namespace;
    char host[HOST_NAME_BYTES];
    otlp_resource_set(r, "service.name", "haproxy-k8s-sync");
    otlp_resource_set(r, "service.version", t->in->version);
    host_name(host);
    if (host[0] != '\0') {
        otlp_resource_set(r, "service.instance.id", host);
        otlp_resource_set(r, "host.name", host);
    }
    if (namespace != NULL) {
        otlp_resource_set(r, "k8s.namespace.name", namespace);
        if (host[0] != '\0')
            otlp_resource_set(r, "k8s.pod.name", host);
    }
    cleanup(settings_pairs_fini) struct settings_pairs pairs = {0};
    const char *why;
    bool any =
        s->attributes != NULL && settings_pairs_parse(s->attributes, &pairs, &why) == 0; /* as they were checked */
    for (size_t i = 0; any && i < pairs.count; i++)
        otlp_resource_set(r, pairs.list[i].key, pairs.list[i].value);
}

/* ---- each request ---- */

static void tracing_make_headers(struct tracing *t)
{
    cleanup(settings_pairs_fini) struct settings_pairs pairs = {0};
    const char *value = t->settings->traces.headers.value, *why;
    mem_wipe_free_list(t->headers);
    t->headers = NULL;
    if (value == NULL || settings_headers_refuse(value) != NULL || settings_pairs_parse(value, &pairs, &why) != 0)
        return;
    t->headers = mem_array(pairs.count + 1, sizeof(t->headers[0]));
    for (size_t i = 0; i < pairs.count; i++) {
        char *head = mem_join(pairs.list[i].key, ": ");
        t->headers[i] = mem_join(head, pairs.list[i].value);
        free(head);
    }
}

static void tracing_prepare(void *arg, struct http_request_options *options)
{
    struct tracing *t = arg;
    struct secret *secret = &t->settings->traces.headers;
    struct error err = {0};
    bool changed = false;
    unsigned held_back;
    if (secret->path != NULL && secret_refresh(secret, false, &changed, &err) != 0 &&
        log_limit_pass_message(&t->secret_limit, clock_mono_ms(), err.message, &held_back))
        log_warn(t->in->log, "OTEL_EXPORTER_OTLP_HEADERS_FILE cannot be read; its old value is used",
                 log_str("error", err.message));
    if (changed)
        tracing_make_headers(t);
    tls_files_follow(t->tls, t->in->log);
    options->headers = t->headers;
}

/* ---- where they go ---- */

static int tracing_tls(const struct settings *settings, const char *url, struct tls_files **ret, struct error *err)
{
    const struct tls_files_options options = {
        .peer = "OpenTelemetry collector",
        .ca = {.name = "OTEL_EXPORTER_OTLP_CERTIFICATE", .path = settings->traces.ca_file},
    };
    *ret = NULL;
    if (!str_has_prefix(url, "https:"))
        return 0;
    *ret = tls_files_new(&options, err);
    return *ret != NULL ? 0 : -1;
}

int tracing_check(const struct settings *settings, struct error *err)
{
    struct tls_files *files = NULL;
    cleanup(mem_free_ptr) char *url = settings_traces_url(&settings->traces);
    int status = url != NULL ? tracing_tls(settings, url, &files, err) : 0;
    tls_files_free(files);
    return status;
}

struct tracing *tracing_new(const struct daemon *in, struct settings *settings)
{
    struct error err = {0};
    char *url = settings_traces_url(&settings->traces);
    struct tls_files *tls = NULL;
    if (url != NULL && tracing_tls(settings, url, &tls, &err) != 0)
        log_error(in->log, "no traces are sent", log_str("url", url), log_str("error", err.message));
    if (url == NULL || err.kind != ERROR_NONE) {
        free(url);
        return NULL;
    }
    struct tracing *t = mem_alloc(sizeof(*t));
    *t = (struct tracing){.in = in, .settings = settings, .url = url, .tls = tls};
    t->secret_limit.period_ms = (uint64_t)600 * 1000;
    const char *host = strstr(url, "://") + 3;
    const char *path = host + strcspn(host, "/");
    t->path = mem_strdup(*path != '\0' ? path : "/");
    t->endpoint = (struct http_endpoint){.base_url = mem_strndup(url, (size_t)(path - url)),
                                         .tls = tls != NULL ? tls_files_current(tls) : NULL};
    tracing_describe(t);
    tracing_make_headers(t);
    const struct otlp_exporter_options exporter = {.http = in->http,
                                                   .endpoint = &t->endpoint,
                                                   .path = t->path,
                                                   .url = t->url,
                                                   .timeout_ms = TIMEOUT_MS,
                                                   .resource = &t->resource,
                                                   .version = in->version,
                                                   .max_spans = SPANS_MAX,
                                                   .results = in->metrics->trace_spans,
                                                   .prepare = tracing_prepare,
                                                   .arg = t,
                                                   .log = in->log};
    t->exporter = otlp_exporter_new(in->base, &exporter);
    log_info(in->log, "traces are exported", log_str("url", t->url));
    return t;
}

void tracing_free(struct tracing *t)
{
    if (t == NULL)
        return;
    otlp_exporter_free(t->exporter);
    http_endpoint_fini(&t->endpoint);
    tls_files_free(t->tls);
    otlp_resource_fini(&t->resource);
    mem_wipe_free_list(t->headers);
    mem_free_all(t->url, t->path, t);
}

struct tracer *tracing_tracer(struct tracing *t)
{
    return t != NULL ? otlp_exporter_tracer(t->exporter) : NULL;
}

void tracing_finish(struct tracing *t, uint64_t within_ms, void (*done)(void *arg), void *arg)
{
    if (t == NULL)
        done(arg);
    else
        otlp_exporter_finish(t->exporter, within_ms, done, arg);
}

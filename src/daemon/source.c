#include "daemon/source.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/outage.h"
#include "report/checks.h"
#include "kube/client.h"
#include "model/cache.h"
#include "report/metric_table.h"

static void source_on_changed(void *arg, const char *cause, uint64_t received_us)
{
    struct source *s = arg;
    if (s->synced_us == 0)
        s->synced_us = clock_mono_us();
    s->changed(s->arg, cause, received_us);
}

static void source_on_status(void *arg)
{
    const struct source *s = arg;
    if (s->moved != NULL)
        s->moved(s->arg);
}

static void source_on_requested(void *arg, int code)
{
    struct source *s = arg;
    char text[12];
    snprintf(text, sizeof(text), "%d", code);
    if (s->metrics != NULL)
        metric_add(s->metrics->http_requests, 1, "kubernetes", "GET", text, NULL);
    if (code == 403 || code == 404) {
        s->refused_us = clock_mono_us();
        source_on_status(s);
    }
}

static void source_on_watch_restarted(void *arg, const char *resource, const char *reason)
{
    const struct source *s = arg;
    if (s->metrics != NULL)
        metric_add(s->metrics->watch_restarts, 1, resource, reason, NULL);
}

static void source_on_relisted(void *arg, const char *resource, const char *reason)
{
    const struct source *s = arg;
    if (s->metrics != NULL)
        metric_add(s->metrics->relists, 1, resource, reason, NULL);
}

static void source_on_credentials(void *arg)
{
    informer_poke(((struct source *)arg)->informer);
}

void source_init(struct source *s, struct event_base *base, struct kube_client *client, const struct log *log,
                 const struct informer_options *options, const struct informer_sink *sink)
{
    static const struct informer_callbacks callbacks = {.changed = source_on_changed,
                                                        .status = source_on_status,
                                                        .watch_restarted = source_on_watch_restarted,
                                                        .relisted = source_on_relisted,
                                                        .requested = source_on_requested};
    s->resource = options->resource->plural;
    struct informer_sink cache = {0};
    if (sink == NULL) {
        s->cache = cache_new(options->resource->record);
        cache = informer_sink_cache(s->cache);
    }
    s->informer = informer_new(base, client, sink != NULL ? sink : &cache, log, options, &callbacks, s);
    s->listener = (struct kube_client_listener){.on_credentials = source_on_credentials, .arg = s};
    kube_client_on_credentials(client, &s->listener);
}

void source_fini(struct source *s)
{
    if (s->informer != NULL)
        kube_client_forget_listener(&s->listener);
    informer_free(s->informer);
    cache_free(s->cache);
    s->informer = NULL;
    s->cache = NULL;
}

void source_forget(struct source *s)
{
    informer_forget(s->informer);
    s->synced_us = 0;
}

struct informer_status source_status(const struct source *s)
{
    struct informer_status status = {0};
    informer_get_status(s->informer, &status);
    return status;
}

bool source_refused_since(struct source *s, uint64_t us)
{
    if (us == 0)
        return false;
    if (s->refused_us > us)
        return true;
    if (s->asked_us <= us) { /* once: the answer decides; without one the backoff goes on */
        s->asked_us = clock_mono_us();
        informer_poke(s->informer);
    }
    return false;
}

char *source_check_name(const struct source *s)
{
    if (s->scope == NULL)
        return mem_printf("watch %s", s->resource);
    return mem_printf("watch %s %s %s", s->resource, strchr(s->scope, '/') != NULL ? "of" : "in", s->scope);
}

bool source_ready(const struct source *s, bool needed, struct checks *checks)
{
    struct informer_status status = source_status(s);
    bool ok = status.synced && !status.stale;
    const char *how = needed ? (status.synced ? "stale, the last good state is in use: " : "not synced: ")
                             : (status.synced ? "may not be read, its last state stays in use: "
                                              : "may not be read, continuing without it: ");
    if (ok)
        checks_add(checks, CHECK_OK, source_check_name(s),
                   s->cache != NULL ? mem_printf("synced, %zu objects", cache_count(s->cache)) : mem_strdup("synced"),
                   NULL);
    else
        checks_add(checks, needed ? CHECK_FAIL : CHECK_OK, source_check_name(s),
                   mem_printf("%s%s", how, status.problem[0] != '\0' ? status.problem : "waiting for the first answer"),
                   status.denied == INFORMER_FORBIDDEN ? mem_strdup(kube_refusal_hint(status.problem)) : NULL);
    return ok || !needed;
}

#include "daemon/host_memory.h"

#include <stdlib.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/config/secret_source.h"
#include "daemon/leadership.h"
#include "daemon/state_text.h"
#include "host/timer.h"
#include "kube/client.h"
#include "kube/writer.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

#define KEY "host-owners"
#define WARN_EVERY_MS 600000
#define REPAIR_MS 60000 /* what another writer has put there; the other replicas have it until then */

struct host_memory {
    const struct daemon *in;
    int state_fd;
    void (*changed)(void *arg);
    void *arg;
    char *path;                   /* of the ConfigMap; NULL: there is none, nor is any of what follows */
    struct secret_source *shared; /* what it has */
    struct annotator *annotator;  /* writes it */
    struct timer write;
    struct backoff backoff;
    struct log_limit limit;
    char *now;     /* as it was kept last by this replica; NULL: it was not */
    char *written; /* what the ConfigMap has, as far as is known; NULL: it is not */
    bool busy;     /* a write is under way */
    bool leads;
};

/* NULL: it has none. Allocates. */
static char *host_memory_shared(const struct host_memory *m)
{
    const struct secret_object *o = m->shared != NULL ? m->shared->object : NULL;
    const struct secret_value *v = o != NULL ? secret_value_of(o, KEY) : NULL;
    return v != NULL ? mem_strndup(v->bytes, v->len) : NULL;
}

static void host_memory_set_written(struct host_memory *m, char *text)
{
    free(m->written);
    m->written = text;
}

static void host_memory_write(void *arg)
{
    struct host_memory *m = arg;
    struct error err = {0};
    const struct annotation one = {KEY, m->now};
    if (m->busy || !m->leads || !m->shared->synced || m->now == NULL || str_eq(m->now, m->written))
        return;
    host_memory_set_written(m, mem_strdup(m->now));
    m->busy = annotator_send(m->annotator, m->path, NULL, &one, 1, &err) == 0;
    if (m->busy)
        return;
    host_memory_set_written(m, NULL);
    timer_set(&m->write, backoff_next_ms(&m->backoff));
}

/* Who leads decides: what another writer put there meanwhile is written over. */
static void host_memory_on_shared(void *arg)
{
    struct host_memory *m = arg;
    bool first = m->written == NULL && m->now == NULL;
    cleanup(mem_free_ptr) char *shared = host_memory_shared(m);
    if (m->busy) /* an older one, or that which is being written */
        return;
    host_memory_set_written(m, mem_strdup(shared != NULL ? shared : ""));
    if (m->leads)
        timer_set_sooner(&m->write, REPAIR_MS);
    if (m->changed != NULL && (first || (!m->leads && shared != NULL && !str_eq(shared, m->now))))
        m->changed(m->arg);
}

static void host_memory_on_written(void *arg, enum annotate_outcome outcome, const struct error *err)
{
    struct host_memory *m = arg;
    unsigned held_back;
    m->busy = false;
    if (!m->leads) {
        host_memory_on_shared(m); /* what came meanwhile */
        return;
    }
    if (outcome == ANNOTATE_WRITTEN) {
        backoff_reset(&m->backoff);
        timer_set_sooner(&m->write, 0); /* perhaps there is more by now */
        return;
    }
    host_memory_set_written(m, NULL);
    timer_set(&m->write, backoff_next_ms(&m->backoff));
    if (!kube_client_has_logged(m->in->kube, err->message) &&
        log_limit_pass_message(&m->limit, clock_mono_ms(), err->message, &held_back))
        log_warn(m->in->log,
                 "cannot write HOST_OWNERS_CONFIGMAP; who owns which host name is lost when another replica leads",
                 log_str("path", m->path), log_str("error", err->message),
                 log_str("hint", outcome == ANNOTATE_DENIED ? "the right patch on this one ConfigMap"
                                                            : "create the ConfigMap if there is none"),
                 log_if(held_back > 0, log_int("repeated", held_back)));
}

struct host_memory *host_memory_new(const struct daemon *in, int state_fd)
{
    const struct settings *settings = in->settings;
    struct host_memory *m = mem_alloc(sizeof(*m));
    *m = (struct host_memory){.in = in, .state_fd = state_fd, .limit = {.period_ms = WARN_EVERY_MS}};
    if (settings->host_owners_configmap == NULL)
        return m;
    const struct secret_source_options shared = {.of = &kube_config_maps,
                                                 .namespace = leadership_namespace(settings, in->access->namespace),
                                                 .name = settings->host_owners_configmap,
                                                 .metrics = in->metrics,
                                                 .log = in->log};
    m->path = mem_printf("/api/v1/namespaces/%s/configmaps/%s", shared.namespace, shared.name);
    m->shared = secret_source_new(in->base, in->kube, &shared, host_memory_on_shared, m);
    m->annotator = annotator_new(in->kube, host_memory_on_written, m);
    timer_init(&m->write, in->base, host_memory_write, m);
    backoff_init(&m->backoff, 1000, 60000, 500, backoff_random_seed());
    return m;
}

void host_memory_free(struct host_memory *m)
{
    if (m == NULL)
        return;
    if (m->path != NULL) {
        secret_source_free(m->shared);
        annotator_free(m->annotator);
        timer_fini(&m->write);
    }
    mem_free_all(m->path, m->now, m->written, m);
}

void host_memory_start(struct host_memory *m)
{
    if (m->shared != NULL)
        informer_start(m->shared->source.informer);
}

void host_memory_stop(struct host_memory *m)
{
    if (m->shared == NULL)
        return;
    informer_stop(m->shared->source.informer);
    timer_cancel(&m->write);
}

void host_memory_poke(struct host_memory *m)
{
    if (m->shared != NULL)
        informer_poke(m->shared->source.informer);
}

void host_memory_listen(struct host_memory *m, void (*changed)(void *arg), void *arg)
{
    if (m == NULL)
        return;
    m->changed = changed;
    m->arg = arg;
}

bool host_memory_known(const struct host_memory *m)
{
    return m == NULL || m->shared == NULL || m->shared->synced;
}

char *host_memory_recall(const struct host_memory *m)
{
    if (m == NULL)
        return mem_strdup("");
    char *shared = host_memory_shared(m);
    return shared != NULL ? shared : state_text_recall(m->in->settings->state_dir, STATE_HOST_OWNERS, m->in->log);
}

void host_memory_keep(struct host_memory *m, const char *before, const char *now)
{
    if (m == NULL)
        return;
    state_text_keep(m->in->settings->state_dir, m->state_fd, STATE_HOST_OWNERS, before, now, m->in->log);
    if (m->shared == NULL)
        return;
    char *copy = mem_strdup(now);
    free(m->now);
    m->now = copy;
    timer_set_sooner(&m->write, 0);
}

void host_memory_lead(struct host_memory *m, bool leads)
{
    m->leads = leads && !m->in->settings->dry_run;
    if (m->leads && m->shared != NULL)
        timer_set_sooner(&m->write, 0);
}

bool host_memory_ready(const struct host_memory *m, struct checks *checks)
{
    return m->shared == NULL || source_ready(&m->shared->source, true, checks);
}

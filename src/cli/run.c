#include "cli/run.h"

#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/flags.h"
#include "host/timer.h"
#include "settings/table.h"

int run_fail(const struct error *err, int status)
{
    fprintf(stderr, "error: %s\n", err->message);
    return status;
}

int run_manages_servers(const struct settings *s, struct error *err)
{
    if (s->config_target == SETTINGS_TARGET_ETCD)
        return error_set(err, ERROR_INVALID,
                         "CONFIG_TARGET=etcd manages no servers, which this command is about: the running daemon shows "
                         "the state of what is published at /status");
    if (s->mapping_count == 0)
        return error_set(err, ERROR_INVALID,
                         "CONFIG_SOURCE alone manages no servers, which this command is about: set "
                         "INGRESS_SERVICES or INGRESS_SERVICE_NAME");
    return 0;
}

/* ---- the ways to Kubernetes and each HAProxy */

int start_access(const struct settings *settings, char **environ_, struct kube_access *ret, struct error *err)
{
    if (!settings_need_kubernetes(settings))
        return 0;
    if (settings->kubeconfig == NULL)
        return kube_access_in_cluster(environ_, NULL, ret, err);
    if (kube_access_from_kubeconfig(settings->kubeconfig, ret, err) != 0)
        return -1;
    if (settings->seccomp && kube_access_runs_plugin(ret))
        return error_set(
            err, ERROR_FATAL,
            "%s: the credentials come from a program (%s), which SECCOMP=true does not allow: use SECCOMP=false, or "
            "a token file or a client certificate",
            ret->source, ret->exec->command);
    return 0;
}

int start_status(const struct error *err)
{
    return err->kind == ERROR_INVALID ? SETTINGS_EXIT_CODE : EXIT_FAILURE;
}

struct event_base *run_base(struct error *err)
{
    struct event_base *base = event_base_new();
    if (base == NULL)
        (void)error_set(err, ERROR_FATAL, "cannot create an event loop: out of file descriptors or memory");
    return base;
}

struct log run_log(const struct run *r, enum log_level least)
{
    enum log_level level = r->settings->log_level;
    bool asked = flags_word(r->flags, SETTING(log_level)) != NULL;
    return (struct log){
        .level = asked || level > least ? level : least, .format = r->settings->log_format, .fd = STDERR_FILENO};
}

int session_begin(const struct run *r, const struct kube_access *access, enum log_level least, struct session *ret,
                  struct error *err)
{
    const struct kube_access none = {0};
    const struct clients_hooks hooks = {0};
    *ret = (struct session){.base = run_base(err), .log = run_log(r, least)};
    metric_table_init(&ret->metrics, r->version);
    mappings_init(&ret->mappings, r->settings);
    if (ret->base == NULL || clients_make(ret->base, r->settings, access != NULL ? access : &none, r->version, &hooks,
                                          &ret->log, &ret->clients, err) != 0)
        return -1;
    clients_settle(ret->base, &ret->clients);
    return 0;
}

void session_end(struct session *s)
{
    clients_free(&s->clients);
    mappings_fini(&s->mappings);
    metric_table_fini(&s->metrics);
    if (s->base != NULL)
        event_base_free(s->base);
}

void run_until_over(struct event_base *base, const bool *over)
{
    while (!*over && event_base_loop(base, EVLOOP_ONCE) == 0)
        ;
}

struct waiting {
    struct event_base *base;
    struct timer poll;
    uint64_t poll_ms, until_ms;
    bool (*settled)(void *arg);
    void *arg;
};

static void run_on_poll(void *arg)
{
    struct waiting *w = arg;
    uint64_t now = clock_mono_ms();
    if (w->settled(w->arg) || now >= w->until_ms)
        event_base_loopbreak(w->base);
    else
        timer_set(&w->poll, now + w->poll_ms < w->until_ms ? w->poll_ms : w->until_ms - now);
}

void run_until(struct event_base *base, uint64_t timeout_ms, uint64_t poll_ms, bool (*settled)(void *arg), void *arg)
{
    struct waiting w = {
        .base = base, .poll_ms = poll_ms, .until_ms = clock_mono_ms() + timeout_ms, .settled = settled, .arg = arg};
    timer_init(&w.poll, base, run_on_poll, &w);
    timer_set(&w.poll, poll_ms < timeout_ms ? poll_ms : timeout_ms);
    event_base_dispatch(base);
    timer_fini(&w.poll);
}

#include "kube/exec_plugin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "kube/exec_credential.h"
#include "host/child.h"
#include "net/http.h"
#include "host/timer.h"
#include "net/tls_files.h"

#define TIMEOUT_MS 60000
#define PAUSE_MS 1000
#define PAUSE_MAX_MS 60000
#define REFRESH_MS 60000 /* the wall clock may be set, and a machine may sleep */
#define LOG_PERIOD_MS 300000
#define INFO "KUBERNETES_EXEC_INFO"

struct exec_plugin {
    struct event_base *base;
    const struct log *log;
    struct kube_access access; /* of it what the plugin gets, and exec */
    struct tls_files *tls;
    void (*changed)(void *arg);
    void *arg;
    struct child_options limits; /* without what to run */
    uint64_t pause_ms;

    struct child *child; /* NULL: it does not run */
    const char *why;     /* it runs, or ran last */
    uint64_t started_us;
    uint64_t not_before_ms; /* monotonic */
    struct backoff backoff;
    struct timer timer, tell;

    struct exec_answer answer;
    bool answered;        /* there is one */
    uint64_t answered_ms; /* monotonic */
    int64_t renew_at_ms;  /* since the Unix epoch */
    bool refused;         /* by the server */
    bool waited_for;      /* a listener waits for the end of a run */
    char *problem;        /* why the last run failed; NULL: it did not */
    struct log_limit limit;
};

/* ---- what it gets ---- */

/* The last one of a name wins; the environment of programs in Go says so, too. */
static void exec_plugin_put(char **env, size_t *count, const char *variable)
{
    size_t name = strcspn(variable, "=");
    for (size_t i = 0; i < *count; i++)
        if (strncmp(variable, env[i], name) == 0 && env[i][name] == '=') {
            mem_wipe_free(env[i]);
            env[i] = mem_strdup(variable);
            return;
        }
    env[(*count)++] = mem_strdup(variable);
}

static size_t count_of(char *const *list)
{
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    return n;
}

/* Ours, but the credentials for HAProxy, which are no business of a plugin's. */
static char **environment(const struct exec_plugin *p)
{
    char *const *given = p->access.exec->env;
    char *request = exec_credential_request(&p->access, tls_files_current(p->tls)->ca_pem);
    char *info = mem_join(INFO "=", request);
    mem_wipe_free(request); /* a proxy's URL may hold a password */
    char **env = mem_array(count_of(environ) + count_of(given) + 2, sizeof(env[0]));
    size_t count = 0;
    for (char *const *e = environ; *e != NULL; e++)
        if (!str_has_prefix(*e, "HAPROXY_DATAPLANE_") && strchr(*e, '=') != NULL)
            exec_plugin_put(env, &count, *e);
    for (char *const *e = given; *e != NULL; e++)
        exec_plugin_put(env, &count, *e);
    exec_plugin_put(env, &count, info);
    mem_wipe_free(info);
    return env;
}

/* ---- when it is run ---- */

static void exec_plugin_on_done(void *arg, const struct child_result *r);

/* Why it is to be run; NULL: it need not be. */
static const char *reason(const struct exec_plugin *p)
{
    if (!p->answered)
        return "first";
    if (p->refused)
        return "refused";
    if (p->renew_at_ms != EXEC_CREDENTIAL_NEVER && (int64_t)clock_wall_ms() >= p->renew_at_ms)
        return "expiring";
    return NULL;
}

static void exec_plugin_set_timer(struct exec_plugin *p)
{
    uint64_t now_ms = clock_mono_ms(), pause_ms = p->not_before_ms > now_ms ? p->not_before_ms - now_ms : 0;
    int64_t wait_ms = p->renew_at_ms - (int64_t)clock_wall_ms();
    if (p->child != NULL)
        timer_cancel(&p->timer);
    else if (reason(p) != NULL || wait_ms < (int64_t)pause_ms)
        timer_set(&p->timer, pause_ms);
    else if (p->renew_at_ms == EXEC_CREDENTIAL_NEVER)
        timer_cancel(&p->timer);
    else
        timer_set(&p->timer, wait_ms < REFRESH_MS ? (uint64_t)wait_ms : REFRESH_MS);
}

static void exec_plugin_notify(struct exec_plugin *p)
{
    if (p->waited_for)
        timer_set(&p->tell, 0);
}

static void exec_plugin_fail(struct exec_plugin *p, const struct error *err)
{
    free(p->problem);
    p->problem = mem_strdup(err->message);
    uint64_t wait_ms = backoff_next_ms(&p->backoff);
    p->not_before_ms = clock_mono_ms() + wait_ms;
    unsigned held_back;
    if (log_limit_pass_message(&p->limit, clock_mono_ms(), err->message, &held_back))
        log_warn(p->log, "credential plugin failed", log_str("error", err->message), log_str("why", p->why),
                 log_int("retry_ms", wait_ms), log_str("in_use", p->answered ? "the last ones" : "none"),
                 log_if(held_back > 0, log_int("repeated", held_back)));
    exec_plugin_notify(p);
}

/* Where it has to be and may be. */
static void exec_plugin_run(void *arg)
{
    struct exec_plugin *p = arg;
    const char *why = reason(p);
    if (why == NULL || p->child != NULL || clock_mono_ms() < p->not_before_ms) {
        exec_plugin_set_timer(p);
        return;
    }
    p->why = why;
    p->started_us = clock_mono_us();
    child_reap_inherited();
    char **env = environment(p);
    struct child_options options = p->limits;
    options.command = p->access.exec->command;
    options.args = p->access.exec->args;
    options.env = env;
    struct error err;
    p->child = child_start(p->base, &options, exec_plugin_on_done, p, &err);
    mem_wipe_free_list(env);
    if (p->child == NULL) {
        if (p->access.exec->install_hint != NULL)
            error_set(&err, ERROR_RETRY, "%s; the kubeconfig says: %s", err.message, p->access.exec->install_hint);
        error_prefix(&err, "the credential plugin");
        exec_plugin_fail(p, &err);
    }
    exec_plugin_set_timer(p);
}

static void on_notify(void *arg)
{
    struct exec_plugin *p = arg;
    p->waited_for = false;
    p->changed(p->arg);
}

/* ---- its answers ---- */

static int exec_plugin_adopt(struct exec_plugin *p, struct exec_answer *a, struct error *err)
{
    bool pair = a->cert_pem != NULL || p->answer.cert_pem != NULL;
    if (pair && tls_files_set_pair(p->tls, a->cert_pem, a->key_pem, err) != 0)
        return error_prefix(err, "its answer cannot be used");
    int64_t left_ms = a->expires_ms - (int64_t)clock_wall_ms();
    bool ends = a->expires_ms != EXEC_CREDENTIAL_NEVER;
    log_info(p->log, "Kubernetes credentials received from the plugin", log_str("plugin", p->access.exec->command),
             log_str("why", p->why),
             log_str("kind", a->token == NULL      ? "certificate"
                             : a->cert_pem == NULL ? "token"
                                                   : "both"),
             log_if(ends, log_int("expires_in_s", left_ms / 1000)),
             log_us_as_ms("took_ms", clock_mono_us() - p->started_us));
    if (ends && left_ms <= 0)
        log_warn(p->log, "credentials from the plugin have already expired; check its clock and this machine's",
                 log_str("plugin", p->access.exec->command));
    int64_t previous_ms = p->answered ? p->answer.expires_ms : EXEC_CREDENTIAL_NEVER;
    /* Answers that are of no use come no faster than failures. */
    bool useless = left_ms <= 0 || (p->refused && clock_mono_ms() - p->answered_ms < PAUSE_MAX_MS);
    if (!useless)
        backoff_reset(&p->backoff);
    p->not_before_ms = clock_mono_ms() + (useless ? backoff_next_ms(&p->backoff) : p->pause_ms);
    p->renew_at_ms = exec_credential_renew_at_ms(a->expires_ms, (int64_t)clock_wall_ms(), previous_ms);
    exec_answer_fini(&p->answer);
    p->answer = *a;
    *a = (struct exec_answer){0};
    p->answered = true;
    p->answered_ms = clock_mono_ms();
    p->refused = false;
    free(p->problem);
    p->problem = NULL;
    log_limit_reset(&p->limit);
    return 0;
}

static int exec_plugin_read_answer(struct exec_plugin *p, const struct child_result *r, struct error *err)
{
    cleanup(exec_answer_fini) struct exec_answer a = {0};
    if (r->outcome != CHILD_EXITED || r->status != 0) {
        cleanup(mem_free_ptr) char *text = child_result_text(r, &p->limits);
        return error_set(err, ERROR_RETRY, "%s%s%s", text, r->said[0] != '\0' ? "; it says: " : "", r->said);
    }
    if (exec_credential_decode(buf_str(r->out), r->out->len, p->access.exec->api_version, &a, err) != 0)
        return error_prefix(err, "its answer cannot be used");
    return exec_plugin_adopt(p, &a, err);
}

static void exec_plugin_on_done(void *arg, const struct child_result *r)
{
    struct exec_plugin *p = arg;
    struct error err;
    p->child = NULL;
    if (exec_plugin_read_answer(p, r, &err) != 0) {
        error_prefix(&err, "the credential plugin %s", p->access.exec->command);
        exec_plugin_fail(p, &err);
    } else {
        exec_plugin_notify(p);
    }
    exec_plugin_set_timer(p);
}

/* ---- for the client ---- */

bool exec_plugin_lacks(const struct exec_plugin *p)
{
    return !p->answered || (p->refused && p->child != NULL);
}

int exec_plugin_use(struct exec_plugin *p, const char **ret_token, struct error *err)
{
    exec_plugin_run(p);
    if (!exec_plugin_lacks(p)) {
        *ret_token = p->answer.token;
        return 0;
    }
    p->waited_for = true;
    if (p->child != NULL)
        return error_set(err, ERROR_RETRY, "waiting for the credential plugin %s", p->access.exec->command);
    uint64_t now_ms = clock_mono_ms(), left_ms = p->not_before_ms > now_ms ? p->not_before_ms - now_ms : 0;
    return error_set(err, ERROR_RETRY, "%s; run again in %u s", p->problem, (unsigned)((left_ms + 999) / 1000));
}

void exec_plugin_refused(struct exec_plugin *p)
{
    if (!p->answered)
        return;
    p->waited_for = p->refused = true;
    exec_plugin_run(p);
}

bool exec_plugin_ready(const struct exec_plugin *p, const char **ret_command, struct buf *text)
{
    *ret_command = p->access.exec->command;
    bool expired = p->answer.expires_ms != EXEC_CREDENTIAL_NEVER && (int64_t)clock_wall_ms() >= p->answer.expires_ms;
    bool good = p->answered && !p->refused && !expired;
    if (p->answered && p->answer.expires_ms != EXEC_CREDENTIAL_NEVER && good)
        buf_printf(text, "for another %lld s", (long long)(p->answer.expires_ms - (int64_t)clock_wall_ms()) / 1000);
    else if (p->answered)
        buf_add(text, good ? "there" : p->refused ? "the server refuses them" : "expired");
    if (p->problem != NULL)
        buf_printf(text, "%s%s", text->len > 0 ? "; " : "", p->problem);
    if (p->child != NULL && !good)
        buf_printf(text, "%sthe plugin is running", text->len > 0 ? "; " : "");
    return good;
}

/* ---- life ---- */

struct exec_plugin *exec_plugin_new(const struct exec_plugin_options *options, void (*changed)(void *arg), void *arg)
{
    struct exec_plugin *p = mem_alloc(sizeof(*p));
    p->base = options->base;
    p->log = options->log;
    p->tls = options->tls;
    p->changed = changed;
    p->arg = arg;
    p->limits.max_out_bytes = EXEC_CREDENTIAL_MAX_BYTES;
    p->limits.timeout_ms = options->timeout_ms != 0 ? options->timeout_ms : TIMEOUT_MS;
    p->pause_ms = options->pause_ms != 0 ? options->pause_ms : PAUSE_MS;
    p->renew_at_ms = EXEC_CREDENTIAL_NEVER;
    p->limit.period_ms = LOG_PERIOD_MS;
    struct kube_access *to = &p->access;
    const struct kube_access *a = options->access;
    *to = (struct kube_access){.server = mem_strdup(a->server),
                               .proxy_url = mem_strdup(a->proxy_url),
                               .server_name = mem_strdup(a->server_name),
                               .insecure = a->insecure,
                               .exec = kube_exec_copy(a->exec)};
    backoff_init(&p->backoff, p->pause_ms, PAUSE_MAX_MS, p->pause_ms, backoff_random_seed());
    timer_init(&p->timer, options->base, exec_plugin_run, p);
    timer_init(&p->tell, options->base, on_notify, p);
    return p;
}

void exec_plugin_free(struct exec_plugin *p)
{
    if (p == NULL)
        return;
    child_cancel(p->child);
    timer_fini(&p->timer);
    timer_fini(&p->tell);
    exec_answer_fini(&p->answer);
    kube_access_fini(&p->access);
    free(p->problem);
    free(p);
}

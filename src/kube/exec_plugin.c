#include "kube/exec_plugin.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/backoff.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "json/write.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "host/child.h"
#include "host/timer.h"
#include "net/tls_files.h"

#define TIMEOUT_MS 60000
#define PAUSE_MS 1000
#define PAUSE_MAX_MS 60000
#define REFRESH_MS 60000 /* the wall clock may be set, and a machine may sleep */
#define LOG_PERIOD_MS 300000
#define INFO "KUBERNETES_EXEC_INFO"

/* ---- the two texts between the daemon and a credential plugin ---- */

#define KIND "ExecCredential"
#define GO_ZERO_TIME_MS (-62135596800000) /* 0001-01-01T00:00:00Z: how a program in Go says nothing */
#define LEAD_MS 30000
#define AFTER_MS 1000

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key, const char *value)
{
    if (value != NULL)
        json_fields(doc, to, json_str(key, value));
}

char *exec_credential_request(const struct kube_access *access, const char *ca_pem)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    put_text(doc, root, "kind", KIND);
    put_text(doc, root, "apiVersion", access->exec->api_version);
    yyjson_mut_val *spec = json_put_object(doc, root, "spec");
    if (access->exec->provide_cluster_info) {
        /* In the order and with the omissions of client-go. */
        yyjson_mut_val *cluster = json_put_object(doc, spec, "cluster");
        cleanup(mem_free_ptr) char *ca = ca_pem != NULL ? base64_encode(ca_pem, strlen(ca_pem)) : NULL;
        put_text(doc, cluster, "server", access->server);
        put_text(doc, cluster, "tls-server-name", access->server_name);
        if (access->insecure)
            json_fields(doc, cluster, json_bool("insecure-skip-tls-verify", true));
        put_text(doc, cluster, "certificate-authority-data", ca);
        put_text(doc, cluster, "proxy-url", access->proxy_url);
        const char *config = access->exec->cluster_config != NULL ? access->exec->cluster_config : "null";
        json_put(doc, cluster, "config", yyjson_mut_rawcpy(doc, config));
    }
    json_fields(doc, spec, json_bool("interactive", false));
    return json_take(doc);
}

/* *ret NULL: absent, null or "". */
static int get_text(yyjson_val *of, const char *key, char **ret, struct error *err)
{
    yyjson_val *v = yyjson_obj_get(of, key);
    *ret = NULL;
    if (v == NULL || yyjson_is_null(v))
        return 0;
    if (!yyjson_is_str(v) || strlen(yyjson_get_str(v)) != yyjson_get_len(v))
        return error_set(err, ERROR_INVALID, "status.%s is not a string", key);
    if (yyjson_get_len(v) > 0)
        *ret = mem_strdup(yyjson_get_str(v));
    return 0;
}

static int exec_credential_read_status(yyjson_val *status, struct exec_answer *a, struct error *err)
{
    if (status == NULL || yyjson_is_null(status))
        return error_set(err, ERROR_INVALID, "it has no status");
    if (!yyjson_is_obj(status))
        return error_set(err, ERROR_INVALID, "its status is not an object");
    if (get_text(status, "token", &a->token, err) != 0 ||
        get_text(status, "clientCertificateData", &a->cert_pem, err) != 0 ||
        get_text(status, "clientKeyData", &a->key_pem, err) != 0)
        return -1;
    yyjson_val *expiry = yyjson_obj_get(status, "expirationTimestamp");
    int64_t us;
    if (expiry != NULL && !yyjson_is_null(expiry)) {
        if (!yyjson_is_str(expiry) || rfc3339_parse(yyjson_get_str(expiry), &us) != 0)
            return error_set(err, ERROR_INVALID,
                             "status.expirationTimestamp is not an RFC 3339 time such as 2030-01-02T15:04:05Z");
        if (us / 1000 != GO_ZERO_TIME_MS)
            a->expires_ms = us / 1000000 * 1000; /* without a fraction */
    }
    if (a->token == NULL && a->cert_pem == NULL && a->key_pem == NULL)
        return error_set(err, ERROR_INVALID, "it has neither a token nor a client certificate");
    if ((a->cert_pem == NULL) != (a->key_pem == NULL))
        return error_set(err, ERROR_INVALID, "it has a client %s without its %s",
                         a->cert_pem != NULL ? "certificate" : "key", a->cert_pem != NULL ? "key" : "certificate");
    /* The token goes into a header as it is. */
    if (a->token != NULL && strlen(a->token) > EXEC_CREDENTIAL_MAX_TOKEN)
        return error_set(err, ERROR_INVALID, "status.token is longer than 64 KiB");
    for (const char *s = a->token; s != NULL && *s != '\0'; s++)
        if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
            return error_set(err, ERROR_INVALID,
                             "status.token holds a line break, a space or another character that no token has");
    return 0;
}

static int exec_credential_read_answer(const char *json, size_t len, yyjson_alc *memory, const char *api_version,
                                       struct exec_answer *a, struct error *err)
{
    yyjson_read_err why;
    /* Without YYJSON_READ_INSITU it only reads. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, len, 0, memory, &why);
    if (doc == NULL)
        return error_set(err, ERROR_INVALID, "not JSON (%zu bytes): at byte %zu: %s", len, why.pos + 1, why.msg);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *version = yyjson_get_str(yyjson_obj_get(root, "apiVersion"));
    if (!yyjson_equals_str(yyjson_obj_get(root, "kind"), KIND))
        return error_set(err, ERROR_INVALID, "it is not an object of kind " KIND);
    if (!str_eq(version, api_version))
        return error_set(err, ERROR_INVALID, "its apiVersion is %.100s: the kubeconfig asks for %s",
                         version != NULL ? version : "missing", api_version);
    return exec_credential_read_status(yyjson_obj_get(root, "status"), a, err);
}

int exec_credential_decode(const char *json, size_t len, const char *api_version, struct exec_answer *ret,
                           struct error *err)
{
    if (len == 0)
        return error_set(err, ERROR_INVALID, "it printed nothing");
    if (len > EXEC_CREDENTIAL_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "more than 1 MiB");
    /* Memory of our own, so that it can be wiped: the parser copies what it reads. */
    size_t size = yyjson_read_max_memory_usage(len, 0);
    char *memory = mem_alloc(size);
    yyjson_alc pool;
    struct exec_answer a = {.expires_ms = EXEC_CREDENTIAL_NEVER};
    if (!yyjson_alc_pool_init(&pool, memory, size))
        abort(); /* it is as large as it was said to have to be */
    int rc = exec_credential_read_answer(json, len, &pool, api_version, &a, err);
    explicit_bzero(memory, size);
    free(memory);
    if (rc == 0)
        *ret = a;
    else
        exec_answer_fini(&a);
    return rc;
}

void exec_answer_fini(struct exec_answer *a)
{
    mem_wipe_free(a->token);
    mem_wipe_free(a->cert_pem);
    mem_wipe_free(a->key_pem);
    *a = (struct exec_answer){.expires_ms = EXEC_CREDENTIAL_NEVER};
}

/*
 * client-go runs a plugin when a request finds its credentials expired, and lets that request wait. Here nothing waits:
 * it is run so much earlier that the new ones are there in time, which is more than a plugin needs and little of the
 * minutes that such credentials live; of short-lived ones, a tenth. A plugin that keeps its credentials until they
 * expire gives the same ones again then: it is asked right after.
 */
int64_t exec_credential_renew_at_ms(int64_t expires_ms, int64_t received_ms, int64_t previous_ms)
{
    if (expires_ms == EXEC_CREDENTIAL_NEVER)
        return EXEC_CREDENTIAL_NEVER;
    if (expires_ms == previous_ms || expires_ms <= received_ms)
        return expires_ms + AFTER_MS;
    int64_t tenth = (expires_ms - received_ms) / 10;
    return expires_ms - (tenth < LEAD_MS ? tenth : LEAD_MS);
}

/* ---- the plugin ---- */

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
    mem_free_all(p->problem, p);
}

#include "kube/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/secrets/secret.h"
#include "kube/exec_plugin.h"
#include "kube/outage.h"
#include "kube/watch.h"
#include "net/tls_files.h"

#define TOKEN_LOG_PERIOD_MS 300000
#define JSON_MS 3600000 /* a proxy in between gets mended, a server upgraded */

struct kube_client {
    struct http *http;
    const struct log *log;
    struct http_endpoint endpoint;
    struct tls_files *tls;
    int64_t server_not_after_s;
    struct secret token;
    char *username, *password;
    struct exec_plugin *plugin; /* NULL: none; then there is no token */
    LIST_HEAD(kube_client_listeners, kube_client_listener) listeners;
    bool refused; /* a 401 came since the token was read */
    struct log_limit token_limit;
    struct watch_server watch_server;
    struct kube_outage outage;
    uint64_t json_until_ms; /* protobuf could not be read */
};

/* ---- TLS material ---- */

static struct tls_source source(const char *name, const struct kube_pem *from)
{
    return (struct tls_source){.name = name, .text = from->text, .path = from->path};
}

/* ---- life ---- */

static void client_on_credentials(void *arg)
{
    struct kube_client *c = arg;
    struct kube_client_listener *l, *next;
    for (l = LIST_FIRST(&c->listeners); l != NULL; l = next) {
        next = LIST_NEXT(l, entry);
        l->on_credentials(l->arg);
    }
}

struct kube_client *kube_client_new(struct http *http, const struct kube_access *access, const struct log *log,
                                    struct error *err)
{
    struct kube_client *c = mem_alloc(sizeof(*c));
    c->http = http;
    c->log = log;
    c->token_limit.period_ms = TOKEN_LOG_PERIOD_MS;
    c->endpoint.base_url = mem_strdup(access->server);
    kube_outage_init(&c->outage, c->endpoint.base_url);
    c->endpoint.proxy_url = mem_strdup(access->proxy_url);
    c->username = mem_strdup(access->username);
    c->password = mem_strdup(access->password);
    c->server_not_after_s = INT64_MAX;
    const struct tls_files_options tls = {.peer = "Kubernetes API",
                                          .ca = source("CA", &access->ca),
                                          .cert = source("client certificate", &access->cert),
                                          .key = source("client key", &access->key),
                                          .server_name = access->server_name,
                                          .insecure = access->insecure};
    c->tls = tls_files_new(&tls, err);
    int rc = c->tls != NULL ? 0 : -1;
    if (rc == 0 && access->token_path != NULL) {
        secret_set_path(&c->token, access->token_path);
        rc = secret_refresh(&c->token, true, NULL, err) == 0 ? 0 : error_prefix(err, "token");
    } else if (rc == 0 && access->token != NULL) {
        secret_set_value(&c->token, access->token);
    }
    if (rc != 0) {
        error_prefix(err, "Kubernetes API, %s", access->source);
        kube_client_free(c);
        return NULL;
    }
    c->endpoint.tls = tls_files_current(c->tls);
    c->endpoint.server_not_after_s = &c->server_not_after_s;
    const struct exec_plugin_options options = {
        .base = http_base(c->http), .access = access, .tls = c->tls, .log = c->log};
    if (kube_access_runs_plugin(access))
        c->plugin = exec_plugin_new(&options, client_on_credentials, c);
    if (access->unused_exec != NULL)
        log_warn(c->log, "credential plugin of the kubeconfig not used; the credentials beside it take precedence",
                 log_str("plugin", access->unused_exec), log_str("source", access->source));
    if (access->insecure)
        log_warn(log, "TLS certificates of the Kubernetes API are not verified, as configured",
                 log_str("server", access->server), log_str("source", access->source));
    return c;
}

void kube_client_free(struct kube_client *c)
{
    if (c == NULL)
        return;
    exec_plugin_free(c->plugin);
    http_endpoint_fini(&c->endpoint);
    tls_files_free(c->tls);
    secret_fini(&c->token);
    free(c->username);
    mem_wipe_free(c->password);
    free(c);
}

/* ---- requests ---- */

/* Reads the file's state before each request: a watch starts every few minutes, so that this is rare and never late. */
static void refresh_token(struct kube_client *c)
{
    if (c->token.path == NULL)
        return;
    struct error err;
    bool changed = false;
    unsigned held_back;
    if (secret_refresh(&c->token, c->refused, &changed, &err) != 0) {
        if (log_limit_pass(&c->token_limit, clock_mono_ms(), err.message, &held_back))
            log_warn(c->log, "cannot read the Kubernetes token; keeping the last one", log_str("error", err.message),
                     log_if(held_back > 0, log_int("repeated", held_back)));
        return;
    }
    log_limit_reset(&c->token_limit);
    c->refused = false;
    if (changed)
        log_info(c->log, "Kubernetes token renewed", log_str("file", c->token.path));
}

struct http_request *kube_client_start(struct kube_client *c, struct http_request_options *options,
                                       const struct http_callbacks *callbacks, void *arg, struct error *err)
{
    const char *given = NULL;
    if (c->plugin != NULL && exec_plugin_use(c->plugin, &given, err) != 0)
        return NULL;
    refresh_token(c);
    tls_files_follow(c->tls, c->log);
    options->bearer_token = given != NULL ? given : c->token.value;
    if (options->bearer_token == NULL) {
        options->basic_user = c->username;
        options->basic_password = c->password;
    }
    return http_start(c->http, &c->endpoint, options, callbacks, arg, err);
}

void kube_client_credentials_refused(struct kube_client *c)
{
    c->refused = true;
    if (c->plugin != NULL)
        exec_plugin_refused(c->plugin);
}

void kube_client_on_credentials(struct kube_client *c, struct kube_client_listener *l)
{
    LIST_INSERT_HEAD(&c->listeners, l, entry);
}

void kube_client_forget_listener(struct kube_client_listener *l)
{
    LIST_REMOVE(l, entry);
}

bool kube_client_lacks_credentials(const struct kube_client *c)
{
    return c->plugin != NULL && exec_plugin_lacks(c->plugin);
}

bool kube_client_ready(const struct kube_client *c, const char **ret_plugin, struct buf *text)
{
    *ret_plugin = NULL;
    return c->plugin == NULL || exec_plugin_ready(c->plugin, ret_plugin, text);
}

struct tls_files *kube_client_tls(struct kube_client *c)
{
    return c->tls;
}

int64_t kube_client_server_not_after_s(const struct kube_client *c)
{
    return c->server_not_after_s;
}

const char *kube_client_server(const struct kube_client *c)
{
    return c->endpoint.base_url;
}

bool kube_client_wants_protobuf(const struct kube_client *c)
{
    return clock_mono_ms() >= c->json_until_ms;
}

void kube_client_protobuf_failed(struct kube_client *c, const char *resource, const char *why)
{
    if (!kube_client_wants_protobuf(c))
        return;
    c->json_until_ms = clock_mono_ms() + JSON_MS;
    log_warn(c->log, "protobuf of the Kubernetes API is unreadable; JSON is used for an hour",
             log_str("resource", resource), log_str("server", kube_client_server(c)), log_str("error", why));
}

struct watch_server *kube_client_watch_server(struct kube_client *c)
{
    return &c->watch_server;
}

struct kube_outage *kube_client_outage(struct kube_client *c)
{
    return &c->outage;
}

void kube_client_note_answer(struct kube_client *c, const struct http_response *r, const struct error *err)
{
    char status[32];
    const char *reason = kube_outage_reason(&c->outage, r, err);
    if (r->status == 401)
        kube_client_credentials_refused(c);
    snprintf(status, sizeof(status), "HTTP %d", r->status);
    const struct kube_outage_loss loss = {.text = c->outage.met
                                                      ? "no contact with the Kubernetes API; keeping the last state"
                                                      : "no contact with the Kubernetes API yet",
                                          .reason = reason,
                                          .error = err != NULL ? err->message : status};
    if (reason != NULL)
        (void)kube_outage_begin(&c->outage, c->log, &loss, clock_mono_ms());
    else if (err == NULL)
        kube_outage_end(&c->outage, c->log, clock_mono_ms());
}

int kube_client_result(struct kube_client *c, const struct http_response *r, const struct error *failure,
                       int64_t *ret_retry_after_ms, struct error *err)
{
    int64_t retry_after_ms = -1;
    int rc = 0;
    kube_client_note_answer(c, r, failure);
    if (failure != NULL) {
        *err = *failure;
        rc = -1;
    } else if (r->status < 200 || r->status > 202) {
        cleanup(kube_event_fini) struct kube_event status = {0};
        kube_decode_status(buf_str(r->body), r->body->len, &status);
        retry_after_ms = http_response_retry_after_ms(r);
        if (retry_after_ms < 0 && status.retry_after_seconds >= 0)
            retry_after_ms = (int64_t)status.retry_after_seconds * 1000;
        cleanup(mem_free_ptr) char *name = http_response_name(r);
        rc = error_set_http(err, r->status, "%s: HTTP %d%s%s", name, r->status,
                            str_empty(status.status_message) ? "" : ": ", status.status_message);
    }
    if (ret_retry_after_ms != NULL)
        *ret_retry_after_ms = retry_after_ms;
    return rc;
}

bool kube_client_is_away(const struct kube_client *c)
{
    return c->outage.lost_ms != 0 || kube_client_lacks_credentials(c);
}

bool kube_client_has_logged(struct kube_client *c, const char *message)
{
    return kube_client_is_away(c) || kube_outage_holds(&c->outage, message, clock_mono_ms());
}

#include "kube/client.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/kubeconfig.h"
#include "config/secret.h"
#include "kube/watch.h"
#include "net/pem.h"

#define MAX_PEM_BYTES (1u << 20)
#define TOKEN_LOG_PERIOD_MS 300000

struct kube_client {
    struct http *http;
    const struct log *log;
    struct http_endpoint endpoint;
    struct secret token;
    char *username, *password;
    bool refused; /* a 401 came since the token was read */
    struct log_limit token_limit;
    struct watch_server watch_server;
};

/* ---- TLS material ---- */

static int load_pem(const struct kube_pem *from, const char *what, char **ret, struct error *err)
{
    if (from->path == NULL || from->text != NULL) {
        *ret = mem_strdup(from->text);
        return 0;
    }
    cleanup(buf_wipe) struct buf file;
    buf_init(&file, MAX_PEM_BYTES);
    if (buf_read_file(&file, from->path) != 0)
        return error_set(err, ERROR_FATAL, "%s %s: cannot be read: %m", what, from->path);
    *ret = mem_strdup(buf_str(&file));
    return 0;
}

static const char *place(const struct kube_pem *pem)
{
    return pem->text == NULL && pem->path != NULL ? pem->path : "given inline";
}

static int load_tls(struct http_tls *tls, const struct kube_access *a, struct error *err)
{
    tls->server_name = mem_strdup(a->server_name);
    tls->insecure = a->insecure;
    if (load_pem(&a->ca, "CA", &tls->ca_pem, err) != 0 ||
        load_pem(&a->cert, "client certificate", &tls->cert_pem, err) != 0 ||
        load_pem(&a->key, "client key", &tls->key_pem, err) != 0)
        return -1;
    if (tls->ca_pem != NULL && pem_check_certificates(tls->ca_pem, err) != 0)
        return error_prefix(err, "CA %s", place(&a->ca));
    if (tls->cert_pem != NULL && pem_check_certificates(tls->cert_pem, err) != 0)
        return error_prefix(err, "client certificate %s", place(&a->cert));
    if ((tls->cert_pem == NULL) != (tls->key_pem == NULL))
        return error_set(err, ERROR_FATAL, "a client certificate needs its key, and the other way round");
    if (tls->key_pem != NULL && pem_check_key(tls->key_pem, tls->cert_pem, err) != 0)
        return error_prefix(err, "client key %s", place(&a->key));
    return 0;
}

/* ---- life ---- */

static int load_token(struct kube_client *c, const struct kube_access *a, struct error *err)
{
    if (a->token_path == NULL) {
        if (a->token != NULL)
            secret_set_value(&c->token, a->token);
        return 0;
    }
    secret_set_path(&c->token, a->token_path);
    if (secret_refresh(&c->token, true, NULL, err) == 0)
        return 0;
    if (err != NULL)
        err->kind = ERROR_FATAL;
    return error_prefix(err, "token");
}

struct kube_client *kube_client_new(struct http *http, const struct kube_access *access, const struct log *log,
                                    struct error *err)
{
    struct kube_client *c = mem_alloc(sizeof(*c));
    c->http = http;
    c->log = log;
    c->token_limit.period_ms = TOKEN_LOG_PERIOD_MS;
    c->endpoint.base_url = mem_strdup(access->server);
    c->endpoint.proxy_url = mem_strdup(access->proxy_url);
    c->username = mem_strdup(access->username);
    c->password = mem_strdup(access->password);
    if (load_tls(&c->endpoint.tls, access, err) != 0 || load_token(c, access, err) != 0) {
        error_prefix(err, "Kubernetes API, %s", access->source);
        kube_client_free(c);
        return NULL;
    }
    if (access->insecure)
        log_warn(log, "TLS certificates of the Kubernetes API are not verified, as configured",
                 log_str("server", access->server), log_str("source", access->source));
    return c;
}

void kube_client_free(struct kube_client *c)
{
    if (c == NULL)
        return;
    http_endpoint_fini(&c->endpoint);
    secret_fini(&c->token);
    free(c->username);
    mem_wipe_free(c->password);
    free(c);
}

/* ---- requests ---- */

/* Looks at the file before each request: a watch starts every few minutes, so that this is rare and never late. */
static void refresh_token(struct kube_client *c)
{
    if (c->token.path == NULL)
        return;
    struct error err;
    bool changed = false;
    unsigned held_back;
    if (secret_refresh(&c->token, c->refused, &changed, &err) != 0) {
        if (log_limit_pass(&c->token_limit, clock_mono_ms(), err.message, &held_back))
            log_warn(c->log, "the Kubernetes token cannot be read; the last one stays in use",
                     log_str("error", err.message), log_if(held_back > 0, log_int("times_before", held_back)));
        return;
    }
    log_limit_reset(&c->token_limit);
    c->refused = false;
    if (changed)
        log_info(c->log, "the Kubernetes token was renewed", log_str("file", c->token.path));
}

struct http_request *kube_client_start(struct kube_client *c, struct http_request_options *options,
                                       const struct http_callbacks *callbacks, void *arg, struct error *err)
{
    refresh_token(c);
    options->bearer_token = c->token.value;
    if (c->token.value == NULL) {
        options->basic_user = c->username;
        options->basic_password = c->password;
    }
    return http_start(c->http, &c->endpoint, options, callbacks, arg, err);
}

void kube_client_credentials_refused(struct kube_client *c)
{
    c->refused = true;
}

const char *kube_client_server(const struct kube_client *c)
{
    return c->endpoint.base_url;
}

struct watch_server *kube_client_watch_server(struct kube_client *c)
{
    return &c->watch_server;
}

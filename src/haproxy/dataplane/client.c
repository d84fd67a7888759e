#include "haproxy/dataplane/client.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/secret.h"
#include "haproxy/dataplane/codec.h"
#include "host/timer.h"
#include "net/spiffe.h"
#include "net/tls_files.h"

#define CONNECT_TIMEOUT_MS 5000
#define ANSWER_TIMEOUT_MS 10000
#define CHECK_TIMEOUT_MS 30000 /* the API runs `haproxy -c` on the whole configuration before it answers */
#define RAW_PATH "/configuration/raw"
#define RAW_MAX_BYTES (32u << 20)
#define BODY_MAX_BYTES (8u << 20)
#define SECRET_WARNING_PERIOD_MS 60000

struct dataplane_client {
    struct http *http;
    struct http_endpoint endpoint;
    struct tls_files *tls;       /* NULL: none */
    const struct spiffe *spiffe; /* NULL: none */
    int64_t server_not_after_s;
    char *url; /* as the operator gave it, for messages */
    struct secret *username, *password, *token;
    const struct log *log;
    struct dataplane_client_events events;
    struct dataplane_gate gate;
    struct log_limit secret_warning;
    unsigned
        changes;  /* of the secrets, as they were sent last: another client may share them and read them again first */
    bool refused; /* the last answer was 401 or 403 */
    size_t raw_bytes; /* of haproxy.cfg in the last answer that had it */

    /* the request in hand */
    bool busy;
    struct http_request *request; /* NULL while busy: it could not be started, and `later` reports it */
    struct timer later;
    struct error start_error;
    char method[8];
    char *path;
    const char *prefix; /* of path */
    void (*on_answer)(void *arg, const struct dataplane_answer *a);
    void *arg;
};

static void answer(struct dataplane_client *c, struct dataplane_answer *a);

/* ---- credentials ---- */

static void refresh(struct dataplane_client *c, struct secret *s, bool force)
{
    struct error err = {0};
    unsigned held_back = 0;
    /* Also one that is not set: a line of a file may turn from user name and password to a token. */
    if (s == NULL || secret_refresh(s, force, NULL, &err) == 0)
        return;
    if (log_limit_pass(&c->secret_warning, clock_mono_ms(), err.message, &held_back))
        log_warn(c->log, "cannot reread the Data Plane API credentials; keeping the old ones",
                 log_str("error", err.message), log_if(held_back > 0, log_int("repeated", held_back)));
}

/* True where they are others than this client has sent last. */
static bool refresh_all(struct dataplane_client *c, bool force)
{
    struct secret *const all[] = {c->token, c->username, c->password};
    unsigned before = c->changes;
    c->changes = 0;
    for (size_t i = 0; i < array_len(all); i++) {
        refresh(c, all[i], force);
        c->changes += all[i] != NULL ? all[i]->changes : 0;
    }
    return c->changes != before;
}

bool dataplane_credentials_refused(struct dataplane_client *c)
{
    return refresh_all(c, true);
}

static bool client_is_given(const struct secret *s)
{
    return s != NULL && secret_is_set(s);
}

static const char *value_of(const struct secret *s)
{
    return client_is_given(s) ? s->value : NULL;
}

const char *dataplane_client_user(const struct dataplane_client *c)
{
    return client_is_given(c->token) ? NULL : value_of(c->username);
}

const char *dataplane_client_password(const struct dataplane_client *c)
{
    if (dataplane_client_user(c) == NULL)
        return NULL;
    return client_is_given(c->password) ? c->password->value : "";
}

/* Without this a request would go out with no or half credentials and fail with a message about something else. */
static int client_check_readable(const struct secret *s, const char *what, struct error *err)
{
    if (!client_is_given(s) || s->value != NULL)
        return 0;
    return error_set(err, ERROR_AUTH, "the %s for the Data Plane API could not be read from %s", what,
                     s->path != NULL ? s->path : "its setting");
}

static int set_credentials(struct dataplane_client *c, struct http_request_options *o, struct error *err)
{
    refresh_all(c, c->refused);
    c->refused = false;
    if (client_is_given(c->token)) {
        o->bearer_token = c->token->value;
        return client_check_readable(c->token, "token", err);
    }
    if (!client_is_given(c->username))
        return 0;
    o->basic_user = c->username->value;
    o->basic_password = value_of(c->password) != NULL ? c->password->value : "";
    if (client_check_readable(c->username, "username", err) != 0)
        return -1;
    return client_check_readable(c->password, "password", err);
}

/* ---- the answer ---- */

/* 3.0.x answers a wrong password with "invalid password: PASSWORD", and a proxy may show the request. */
static void hide(char *text, const char *secret)
{
    size_t len = str_empty(secret) ? 0 : strlen(secret), stars = len < 3 ? len : 3;
    for (char *at = text; len > 0 && (at = strstr(at, secret)) != NULL; at += stars) {
        memset(at, '*', stars); /* not one for each character, which would show its length */
        memmove(at + stars, at + len, strlen(at + len) + 1);
    }
}

static void fill_excerpt(struct dataplane_client *c, struct dataplane_answer *a)
{
    bool refused = a->status == 401 || a->status == 403;
    if (a->status >= 200 && a->status < 300 && a->body[0] != '<')
        return;
    codec_error_message(a->body, a->body_len, a->excerpt, sizeof(a->excerpt));
    char *colon = refused ? strchr(a->excerpt, ':') : NULL;
    if (colon != NULL)
        *colon = '\0'; /* what follows is what was sent, possibly cut or escaped */
    hide(a->excerpt, value_of(c->password));
    hide(a->excerpt, value_of(c->token));
}

char *dataplane_answer_take(const struct dataplane_answer *a)
{
    return a->response != NULL ? http_response_take_body(a->response) : mem_strndup(a->body, a->body_len);
}

static int64_t version_of(const struct http_response *r)
{
    const char *text = http_response_header(r, "Configuration-Version");
    uint64_t version;
    if (text == NULL || str_parse_uint(text, INT64_MAX, &version) != 0)
        return -1;
    return (int64_t)version;
}

static void client_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct dataplane_client *c = arg;
    struct dataplane_answer a = {.status = err == NULL ? r->status : 0,
                                 .body = buf_str(r->body),
                                 .body_len = r->body->len,
                                 .version = version_of(r),
                                 .reload_id = http_response_header(r, "Reload-ID"),
                                 .retry_after_ms = http_response_retry_after_ms(r),
                                 .progress = r->progress,
                                 .duration_us = r->duration_us,
                                 .error = err,
                                 .response = r};
    c->refused = a.status == 401 || a.status == 403;
    if (a.status == 200 && str_has_prefix(c->path, RAW_PATH))
        c->raw_bytes = a.body_len;
    if (err == NULL)
        fill_excerpt(c, &a);
    answer(c, &a);
}

static void report_start_error(void *arg)
{
    struct dataplane_client *c = arg;
    struct error err = c->start_error;
    struct dataplane_answer a = {
        .body = "", .version = -1, .retry_after_ms = -1, .progress = HTTP_NOT_SENT, .error = &err};
    answer(c, &a);
}

static void forget_request(struct dataplane_client *c)
{
    c->busy = false;
    c->request = NULL;
    timer_cancel(&c->later);
    free(c->path);
    c->path = NULL;
}

/* The last thing that touches the client: the callee may start the next request or free it. */
static void answer(struct dataplane_client *c, struct dataplane_answer *a)
{
    void (*on_answer)(void *, const struct dataplane_answer *) = c->on_answer;
    void *arg = c->arg;
    log_debug(c->log, "Data Plane API request", log_str("method", c->method), log_str("path", c->path),
              log_int("status", a->status), log_us_as_ms("ms", a->duration_us),
              log_str("error", a->error != NULL ? a->error->message : NULL),
              log_str("answer", a->excerpt[0] != '\0' ? a->excerpt : NULL));
    if (c->events.requested != NULL)
        c->events.requested(c->events.arg, c->url, c->method, a->status);
    forget_request(c);
    on_answer(arg, a);
}

/* ---- requests ---- */

/* Commits, and what is written without a transaction. */
static bool is_checked_by_haproxy(const struct dataplane_client *c)
{
    bool commit = str_eq(c->method, "PUT") && str_has_prefix(c->path, "/transactions/");
    bool begin = str_eq(c->method, "POST") && str_has_prefix(c->path, "/transactions?");
    return commit || (!str_eq(c->method, "GET") && !begin && strstr(c->path, "version=") != NULL);
}

static void set_gate(struct dataplane_client *c, struct http_request_options *o)
{
    if (str_eq(c->method, "GET"))
        return;
    bool takes_back = str_eq(c->method, "DELETE") && str_has_prefix(c->path, "/transactions/");
    o->may_send = takes_back ? c->gate.may_take_back : c->gate.may_write;
    o->may_send_arg = c->gate.arg;
}

struct client_body {
    const char *type, *bytes; /* NULL: by the path; none */
    size_t len;
    const char *head;   /* before the bytes, which are not copied then; NULL: they are */
    const char *header; /* NULL: none */
};

static int client_start(struct dataplane_client *c, const struct client_body *body, struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = client_on_done};
    cleanup(mem_free_ptr) char *path = mem_printf("%s%s", c->prefix, c->path);
    bool raw = str_has_prefix(c->path, RAW_PATH), file = str_has_prefix(c->path, "/storage/");
    bool writes = str_eq(c->method, "POST") || str_eq(c->method, "PUT");
    struct http_request_options o = {
        .method = c->method,
        .path = path,
        .content_type = !writes              ? NULL
                        : body->type != NULL ? body->type
                        : raw                ? "text/plain"
                                             : "application/json",
        .body = body->bytes,
        .body_len = body->len,
        .body_head = body->head,
        .header = body->header,
        .likely_body_bytes = raw && strstr(c->path, "only_validate") == NULL ? c->raw_bytes : 0,
        .accept = raw || file ? "*/*" : NULL, /* asked for JSON, it wraps the file into a JSON string */
        .max_body_bytes = raw || file ? RAW_MAX_BYTES : BODY_MAX_BYTES,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
        .total_timeout_ms = is_checked_by_haproxy(c) ? CHECK_TIMEOUT_MS : ANSWER_TIMEOUT_MS};
    set_gate(c, &o);
    if (set_credentials(c, &o, err) != 0)
        return -1;
    if (c->spiffe != NULL && spiffe_usable(c->spiffe, err) != 0)
        return -1;
    tls_files_follow(c->tls, c->log);
    c->request = http_start(c->http, &c->endpoint, &o, &callbacks, c, err);
    return c->request != NULL ? 0 : -1;
}

static void begin(struct dataplane_client *c, const char *method, const char *prefix, const char *path,
                  const struct client_body *body, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                  void *arg)
{
    if (c->busy)
        abort(); /* two requests at once would mix two transactions: a programming error */
    c->busy = true;
    c->prefix = prefix;
    c->path = mem_strdup(path);
    c->on_answer = on_answer;
    c->arg = arg;
    snprintf(c->method, sizeof(c->method), "%s", method);
    error_clear(&c->start_error);
    if (client_start(c, body, &c->start_error) != 0)
        timer_set(&c->later, 0);
}

void dataplane_send(struct dataplane_client *c, const char *method, const char *path, const char *json,
                    void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    const struct client_body body = {.bytes = json, .len = json != NULL ? strlen(json) : 0};
    begin(c, method, DATAPLANE_API, path, &body, on_answer, arg);
}

void dataplane_send_bytes(struct dataplane_client *c, const char *method, const char *path, const char *content_type,
                          const char *body, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                          void *arg)
{
    const struct client_body b = {.type = content_type, .bytes = body, .len = len};
    begin(c, method, DATAPLANE_API, path, &b, on_answer, arg);
}

void dataplane_send_text(struct dataplane_client *c, const char *path, const char *actions, const char *head,
                         const char *text, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                         void *arg)
{
    cleanup(mem_free_ptr) char *header = actions != NULL ? mem_join("X-Runtime-Actions: ", actions) : NULL;
    const struct client_body b = {.bytes = text, .len = len, .head = head, .header = header};
    begin(c, "POST", DATAPLANE_API, path, &b, on_answer, arg);
}

void dataplane_get_root(struct dataplane_client *c, const char *path,
                        void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    const struct client_body none = {0};
    begin(c, "GET", "", path, &none, on_answer, arg);
}

bool dataplane_busy(const struct dataplane_client *c)
{
    return c->busy;
}

struct http_connection dataplane_connection(const struct dataplane_client *c)
{
    return http_request_connection(c->request);
}

void dataplane_cancel(struct dataplane_client *c)
{
    if (!c->busy)
        return;
    http_cancel(c->request);
    forget_request(c);
}

int64_t dataplane_client_server_not_after_s(const struct dataplane_client *c)
{
    return c->server_not_after_s;
}

const char *dataplane_client_url(const struct dataplane_client *c)
{
    return c->url;
}

struct dataplane_client *dataplane_client_new(struct event_base *base, struct http *http,
                                              const struct dataplane_client_options *o, struct error *err)
{
    bool is_http = o->url != NULL && (str_has_prefix(o->url, "http://") || str_has_prefix(o->url, "https://"));
    if (o->unix_socket == NULL && !is_http) {
        (void)error_set(err, ERROR_FATAL, "Data Plane API URL \"%s\": expected http://, https:// or a unix socket",
                        o->url != NULL ? o->url : "");
        return NULL;
    }
    struct dataplane_client *c = mem_alloc(sizeof(*c));
    *c = (struct dataplane_client){.http = http,
                                   .url = mem_strdup(o->url != NULL ? o->url : o->unix_socket),
                                   .username = o->username,
                                   .password = o->password,
                                   .server_not_after_s = INT64_MAX,
                                   .token = o->token,
                                   .log = o->log,
                                   .events = o->events,
                                   .gate = o->gate,
                                   .secret_warning = {.period_ms = SECRET_WARNING_PERIOD_MS}};
    c->endpoint.base_url = mem_strdup(o->unix_socket != NULL ? "http://localhost" : o->url);
    c->endpoint.unix_socket = mem_strdup(o->unix_socket);
    if (str_has_prefix(c->endpoint.base_url, "https://")) {
        c->tls = o->tls;
        c->spiffe = o->spiffe;
        c->endpoint.tls = o->spiffe != NULL ? spiffe_tls(o->spiffe) : o->tls != NULL ? tls_files_current(o->tls) : NULL;
        c->endpoint.server_not_after_s = &c->server_not_after_s;
    }
    timer_init(&c->later, base, report_start_error, c);
    return c;
}

struct dataplane_client *dataplane_client_twin(const struct dataplane_client *c)
{
    const struct dataplane_client_options as_given = {.url = c->url,
                                                      .unix_socket = c->endpoint.unix_socket,
                                                      .username = c->username,
                                                      .password = c->password,
                                                      .token = c->token,
                                                      .tls = c->tls,
                                                      .spiffe = c->spiffe,
                                                      .log = c->log,
                                                      .events = c->events,
                                                      .gate = c->gate};
    struct error err = {0};
    struct dataplane_client *twin = dataplane_client_new(event_get_base(c->later.event), c->http, &as_given, &err);
    if (twin != NULL)
        twin->endpoint.server_not_after_s = NULL; /* it is seen by the other one */
    return twin;
}

void dataplane_client_free(struct dataplane_client *c)
{
    if (c == NULL)
        return;
    dataplane_cancel(c);
    timer_fini(&c->later);
    http_endpoint_fini(&c->endpoint);
    free(c->url);
    free(c);
}

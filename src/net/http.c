#include "net/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/http_internal.h"

#define DEFAULT_MAX_BODY_BYTES (16u << 20)
#define LIKELY_MORE_BYTES 4096 /* than were likely */
#define MANY_BYTES 131072u     /* at a time; libcurl's own are 16 KiB */
#define SEND_HEAD_BYTES 16384L /* the least that libcurl takes; 64 KiB otherwise */
#define DEFAULT_CONNECT_TIMEOUT_MS 10000
#define DEFAULT_TCP_USER_TIMEOUT_MS 30000
#define STARS 3u          /* what stands in the place of credentials */
#define PROOF_MIN_BYTES 8 /* a shorter one would be found in what is not it, and is no secret to speak of */

void http_endpoint_fini(struct http_endpoint *e)
{
    mem_free_all(e->base_url, e->unix_socket);
    mem_wipe_free(e->proxy_url); /* it may hold a password */
    *e = (struct http_endpoint){0};
}

/* ---- what a callback may ask ---- */

static const char *http_field(const struct http_response *r, const char *name, unsigned origin)
{
    struct curl_header *h;
    bool known = r->request != NULL && curl_easy_header(r->request->easy, name, 0, origin, -1, &h) == CURLHE_OK;
    return known ? h->value : NULL;
}

const char *http_response_header(const struct http_response *r, const char *name)
{
    return http_field(r, name, CURLH_HEADER);
}

const char *http_response_trailer(const struct http_response *r, const char *name)
{
    return http_field(r, name, CURLH_TRAILER);
}

char *http_response_take_body(const struct http_response *r)
{
    return buf_take(&r->request->body);
}

char *http_response_name(const struct http_response *r)
{
    return mem_printf("%s %s", r->request->method, r->request->url);
}

int64_t http_response_retry_after_ms(const struct http_response *r)
{
    const char *value = http_response_header(r, "Retry-After");
    uint64_t seconds;
    if (value == NULL || str_parse_uint(value, UINT32_MAX, &seconds) != 0)
        return -1;
    return (int64_t)(seconds > 3600 ? 3600 : seconds) * 1000;
}

/* ---- how far its connection got ---- */

static curl_off_t time_us(CURL *easy, CURLINFO which)
{
    curl_off_t us = 0;
    return curl_easy_getinfo(easy, which, &us) == CURLE_OK ? us : 0;
}

static enum http_reached reached_of(const struct http_request *q, bool secure)
{
    long local_port = 0;
    switch (q->ended) {
    case CURLE_OK: /* by a kept connection, perhaps: that took no time */
        return HTTP_REACHED_TLS;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return HTTP_REACHED_NOTHING;
    case CURLE_COULDNT_CONNECT:
        return HTTP_REACHED_NAME;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return HTTP_REACHED_PEER;
    default:
        break;
    }
    /* A deadline, or a connection that was lost: as far as there are times, and an address of our own. */
    if (time_us(q->easy, secure ? CURLINFO_APPCONNECT_TIME_T : CURLINFO_CONNECT_TIME_T) > 0)
        return HTTP_REACHED_TLS;
    if (curl_easy_getinfo(q->easy, CURLINFO_LOCAL_PORT, &local_port) == CURLE_OK && local_port > 0)
        return secure ? HTTP_REACHED_PEER : HTTP_REACHED_TLS;
    return time_us(q->easy, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? HTTP_REACHED_NAME : HTTP_REACHED_NOTHING;
}

struct http_connection http_response_connection(const struct http_response *r)
{
    return http_request_connection(r->request);
}

struct http_connection http_request_connection(const struct http_request *q)
{
    struct http_connection c = {.reached = HTTP_REACHED_NOTHING};
    if (q == NULL)
        return c;
    CURL *easy = q->easy;
    bool secure = str_has_prefix(q->url, "https:");
    long os_error = 0;
    curl_off_t connected = time_us(easy, CURLINFO_CONNECT_TIME_T), secured = time_us(easy, CURLINFO_APPCONNECT_TIME_T);
    c.reached = reached_of(q, secure);
    c.took_us = (uint64_t)(secured > connected ? secured : connected);
    const char *ip = NULL;
    long port = 0;
    if (curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &ip) == CURLE_OK && !str_empty(ip) &&
        curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port) == CURLE_OK && port > 0)
        snprintf(c.peer, sizeof(c.peer), strchr(ip, ':') != NULL ? "[%s]:%ld" : "%s:%ld", ip, port);
    (void)curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
    c.os_error = (int)os_error;
    if (curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &c.verify) != CURLE_OK || c.verify == X509_V_ERR_UNSPECIFIED)
        c.verify = 0; /* libcurl's value before it has asked */
    return c;
}

/* ---- credentials ---- */

static void http_set_credentials(struct http_request *q, const struct http_request_options *o)
{
    if (o->bearer_token != NULL) {
        char *line = mem_join("Authorization: Bearer ", o->bearer_token);
        q->headers = curl_slist_append(q->headers, line);
        mem_wipe_free(line);
        q->proof = mem_strdup(o->bearer_token);
    } else if (o->basic_user != NULL) {
        const char *password = o->basic_password != NULL ? o->basic_password : "";
        curl_easy_setopt(q->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(q->easy, CURLOPT_USERNAME, o->basic_user);
        curl_easy_setopt(q->easy, CURLOPT_PASSWORD, password);
        /* As curl sends them. Without the padding, which a page may escape. */
        char *head = mem_join(o->basic_user, ":"), *both = mem_join(head, password);
        q->proof = base64_encode(both, strlen(both));
        q->proof[strcspn(q->proof, "=")] = '\0';
        mem_wipe_free(head);
        mem_wipe_free(both);
    }
}

static void http_wipe_credentials(struct http_request *q)
{
    for (struct curl_slist *h = q->headers; h != NULL; h = h->next)
        explicit_bzero(h->data, strlen(h->data)); /* the bearer token is among them */
    if (q->key_pem != NULL)
        explicit_bzero(q->key_pem, strlen(q->key_pem));
    mem_wipe_free(q->proof);
    q->proof = NULL;
}

/* Puts stars where the server repeats them in what it said: its new length. What is no HTTP API (a debugging page, a proxy)
 * may repeat the request in its answer, and what a server says of a failure is logged. */
static size_t http_hide_credentials(const struct http_request *q, char *bytes, size_t len)
{
    size_t proof = q->proof != NULL ? strlen(q->proof) : 0;
    if (proof < PROOF_MIN_BYTES)
        return len;
    for (char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), q->proof, proof)) != NULL; at += STARS) {
        size_t behind = len - (size_t)(at - bytes) - proof;
        memset(at, '*', STARS);
        memmove(at + STARS, at + proof, behind);
        len -= proof - STARS;
    }
    return len;
}

/* ---- libcurl's callbacks ---- */

/* libcurl does not say why it got none. */
static curl_socket_t make_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_request *q = arg;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    q->socket_errno = fd < 0 ? errno : 0;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    const struct http_request *q = arg;
    (void)purpose;
    /* Fails on a unix socket, which needs none. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &q->tcp_user_timeout_ms, sizeof(q->tcp_user_timeout_ms));
    return CURL_SOCKOPT_OK;
}

static void fill_response(struct http_request *q, struct http_response *r)
{
    long status = 0;
    curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &status);
    *r = (struct http_response){.status = (int)status,
                                .body = &q->body,
                                .progress = HTTP_SENT,
                                .duration_us = clock_mono_us() - q->started_us,
                                .request = q};
}

/* What is no success is quoted in logs, as is a page that came in place of an answer. */
static bool is_quoted(const struct http_request *q, const char *bytes, size_t len)
{
    long status = 0;
    curl_easy_getinfo(q->easy, CURLINFO_RESPONSE_CODE, &status);
    return status < 200 || status >= 300 || (len > 0 && bytes[0] == '<');
}

static size_t on_header(char *line, size_t one, size_t len, void *arg)
{
    struct http_request *q = arg;
    (void)one;
    struct http_response r;
    if (len > 2 || (line[0] != '\r' && line[0] != '\n') || q->head_reported || q->callbacks.on_head == NULL)
        return len;
    /* The final answer's headers are complete (an empty line) and were not reported yet. */
    fill_response(q, &r);
    if (r.status < 200)
        return len;
    q->head_reported = true;
    /* A stream may last for hours, and other ones be current by then. */
    if (r.status < 300)
        http_wipe_credentials(q);
    if (q->callbacks.on_head(q->arg, &r) == 0)
        return len;
    q->stopped = true;
    return CURL_WRITEFUNC_ERROR;
}

static size_t on_body(char *bytes, size_t one, size_t len, void *arg)
{
    struct http_request *q = arg;
    (void)one;
    if (q->callbacks.on_data != NULL) {
        size_t shown = is_quoted(q, bytes, len) ? http_hide_credentials(q, bytes, len) : len;
        if (q->callbacks.on_data(q->arg, bytes, shown) == 0)
            return len;
        q->stopped = true;
        return CURL_WRITEFUNC_ERROR;
    }
    if (buf_append(&q->body, bytes, len) == 0)
        return len;
    q->over_cap = true;
    return CURL_WRITEFUNC_ERROR;
}

static int on_connected(void *arg, char *peer_ip, char *own_ip, int peer_port, int own_port)
{
    struct http_request *q = arg;
    (void)peer_ip;
    (void)own_ip;
    (void)peer_port;
    (void)own_port;
    http_note_server_certificate(q);
    q->withheld = q->may_send != NULL && !q->may_send(q->may_send_arg);
    return q->withheld ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* ---- the end of a request ---- */

static bool is_tls_refusal(CURLcode code)
{
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return true;
    default:
        return false;
    }
}

/* libcurl names neither the reason nor, for a unix socket, the place. */
static void explain_no_connection(struct http_request *q, const char *text, struct error *err)
{
    long os_error = 0;
    curl_easy_getinfo(q->easy, CURLINFO_OS_ERRNO, &os_error);
    char buffer[128];
    const char *why = os_error != 0 ? strerror_r((int)os_error, buffer, sizeof(buffer)) : "no reason given";
    if (q->socket_errno != 0)
        error_set(err, ERROR_RETRY, "%s %s: no socket for a connection: %s", q->method, q->url,
                  strerror_r(q->socket_errno, buffer, sizeof(buffer)));
    else if (q->unix_socket != NULL)
        error_set(err, ERROR_RETRY, "%s %s: cannot connect to unix socket %s: %s", q->method, q->url, q->unix_socket,
                  why);
    else
        error_set(err, ERROR_RETRY, "%s %s: %s%s%s%s%s", q->method, q->url, text, os_error != 0 ? " (" : "",
                  os_error != 0 ? why : "", os_error != 0 ? ")" : "", q->proxy_hint);
}

static void http_request_free(struct http_request *q)
{
    LIST_REMOVE(q, entry);
    curl_easy_cleanup(q->easy);
    http_wipe_credentials(q);
    http_forget_tls(q);
    curl_slist_free_all(q->headers);
    curl_slist_free_all(q->connect_to);
    mem_wipe_free(q->send_body); /* a configuration or a key, perhaps */
    mem_free_all(q->key_pem, q->url, q->unix_socket);
    buf_fini(&q->body);
    free(q);
}

void http_request_finished(struct http_request *q, CURLcode code)
{
    struct http_response r;
    struct error err = {0};
    fill_response(q, &r);
    /* Whether the server can have seen the request at all. */
    curl_off_t pretransfer = 0;
    curl_easy_getinfo(q->easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer);
    if (code == CURLE_OK)
        r.progress = HTTP_ANSWERED;
    else if (q->withheld || pretransfer <= 0)
        r.progress = HTTP_NOT_SENT;
    q->ended = code;
    if (code != CURLE_OK) {
        const char *text = q->error_text[0] != '\0' ? q->error_text : curl_easy_strerror(code);
        if (str_has_prefix(text, "Unsupported proxy")) /* it may hold a password, and libcurl shows the whole of it */
            text = "the URL of the proxy cannot be used";
        if (q->over_cap)
            error_set(&err, ERROR_INVALID, "%s %s: the answer is larger than %zu bytes", q->method, q->url,
                      q->body.max_bytes);
        else if (q->withheld)
            error_set(&err, ERROR_RETRY, "%s %s: not sent, since it is no longer allowed", q->method, q->url);
        else if (q->stopped)
            error_set(&err, ERROR_INVALID, "%s %s: stopped reading the answer", q->method, q->url);
        else if (q->peer_refused.kind != ERROR_NONE)
            error_set(&err, ERROR_INVALID, "%s %s: TLS: %s", q->method, q->url, q->peer_refused.message);
        else if (is_tls_refusal(code))
            error_set(&err, ERROR_INVALID, "%s %s: TLS: %s", q->method, q->url, text);
        else if (code == CURLE_SSL_CONNECT_ERROR)
            error_set(&err, ERROR_RETRY, "%s %s: no TLS connection, is this an https port? (%s)", q->method, q->url,
                      text);
        else if (code == CURLE_COULDNT_CONNECT)
            explain_no_connection(q, text, &err);
        else
            error_set(&err, ERROR_RETRY, "%s %s: %s%s%s", q->method, q->url, text, http_tls_hint(q, code),
                      q->proxy_hint);
    }
    if (q->body.len > 0 && is_quoted(q, q->body.data, q->body.len)) {
        q->body.len = http_hide_credentials(q, q->body.data, q->body.len);
        q->body.data[q->body.len] = '\0';
    }
    curl_multi_remove_handle(q->http->multi, q->easy);
    q->callbacks.on_done(q->arg, &r, code == CURLE_OK ? NULL : &err);
    http_request_free(q);
}

void http_cancel(struct http_request *q)
{
    if (q == NULL)
        return;
    curl_multi_remove_handle(q->http->multi, q->easy);
    http_request_free(q);
}

/* ---- the start of a request ---- */

static void add_header(struct http_request *q, const char *name, const char *value)
{
    char *line = mem_join(name, value);
    q->headers = curl_slist_append(q->headers, line);
    mem_wipe_free(line);
}

static size_t on_upload(char *to, size_t one, size_t room, void *arg)
{
    struct http_request *q = arg;
    bool head = q->sent < q->head_len;
    const char *from = head ? q->send_body + q->sent : q->send_rest + (q->sent - q->head_len);
    size_t left = head ? q->head_len - q->sent : q->head_len + q->rest_len - q->sent;
    size_t n = left < room ? left : room;
    (void)one;
    memcpy(to, from, n);
    q->sent += n;
    return n;
}

/* A connection that had been kept was dead: all of it again. */
static int on_rewind(void *arg, curl_off_t offset, int origin)
{
    struct http_request *q = arg;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > q->head_len + q->rest_len)
        return CURL_SEEKFUNC_FAIL;
    q->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static void set_method(struct http_request *q, const struct http_request_options *o)
{
    if (o->body != NULL && o->body_head != NULL) {
        q->send_body = mem_strdup(o->body_head);
        q->head_len = strlen(o->body_head);
        q->send_rest = o->body;
        q->rest_len = o->body_len;
        curl_easy_setopt(q->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(q->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(q->head_len + q->rest_len));
        curl_easy_setopt(q->easy, CURLOPT_READFUNCTION, on_upload);
        curl_easy_setopt(q->easy, CURLOPT_READDATA, q);
        curl_easy_setopt(q->easy, CURLOPT_SEEKFUNCTION, on_rewind);
        curl_easy_setopt(q->easy, CURLOPT_SEEKDATA, q);
    } else if (o->body != NULL) {
        q->send_body = mem_strndup(o->body, o->body_len);
        curl_easy_setopt(q->easy, CURLOPT_POSTFIELDS, q->send_body);
        curl_easy_setopt(q->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)o->body_len);
    } else if (strcmp(o->method, "POST") == 0 || strcmp(o->method, "PUT") == 0) {
        curl_easy_setopt(q->easy, CURLOPT_POSTFIELDS, "");
        curl_easy_setopt(q->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    }
    if (strcmp(o->method, "GET") != 0)
        curl_easy_setopt(q->easy, CURLOPT_CUSTOMREQUEST, o->method);
}

static void set_connection(struct http_request *q, const struct http_endpoint *e, const struct http_request_options *o)
{
    CURL *easy = q->easy;
    uint64_t connect_ms = o->connect_timeout_ms != 0 ? o->connect_timeout_ms : DEFAULT_CONNECT_TIMEOUT_MS;
    curl_easy_setopt(easy, CURLOPT_URL, q->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     (long)(o->grpc ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    if (e->proxy_url != NULL) {
        curl_easy_setopt(q->easy, CURLOPT_PROXY, e->proxy_url);
        q->proxy_hint =
            " (proxy-url names a proxy)"; /* libcurl's text has the proxy's address in place of the server's */
    } else {
        curl_easy_setopt(q->easy, CURLOPT_PROXY, ""); /* unset, libcurl goes by http_proxy and its like */
    }
    if (e->unix_socket != NULL)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, e->unix_socket);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)o->total_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (o->body == NULL) /* libcurl keeps what it sends from as long as the request lasts, and a watch does */
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, SEND_HEAD_BYTES);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 15L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
    if (o->new_connection)
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    q->tcp_user_timeout_ms =
        (unsigned)(o->tcp_user_timeout_ms != 0 ? o->tcp_user_timeout_ms : DEFAULT_TCP_USER_TIMEOUT_MS);
}

static void set_callbacks(struct http_request *q)
{
    curl_easy_setopt(q->easy, CURLOPT_PRIVATE, q);
    curl_easy_setopt(q->easy, CURLOPT_ERRORBUFFER, q->error_text);
    curl_easy_setopt(q->easy, CURLOPT_OPENSOCKETFUNCTION, make_socket);
    curl_easy_setopt(q->easy, CURLOPT_OPENSOCKETDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
    curl_easy_setopt(q->easy, CURLOPT_SOCKOPTDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(q->easy, CURLOPT_HEADERDATA, q);
    curl_easy_setopt(q->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(q->easy, CURLOPT_WRITEDATA, q);
    if (q->may_send != NULL || q->server_not_after_s != NULL || q->spiffe.seen != NULL) {
        curl_easy_setopt(q->easy, CURLOPT_PREREQFUNCTION, on_connected);
        curl_easy_setopt(q->easy, CURLOPT_PREREQDATA, q);
    }
}

struct http_request *http_start(struct http *http, const struct http_endpoint *endpoint,
                                const struct http_request_options *options, const struct http_callbacks *callbacks,
                                void *arg, struct error *err)
{
    CURL *easy = curl_easy_init();
    if (easy == NULL) {
        error_set(err, ERROR_RETRY, "%s %s: libcurl gave no handle", options->method, endpoint->base_url);
        return NULL;
    }
    struct http_request *q = mem_alloc(sizeof(*q));
    q->http = http;
    q->easy = easy;
    q->callbacks = *callbacks;
    q->arg = arg;
    q->may_send = options->may_send;
    q->may_send_arg = options->may_send_arg;
    q->proxy_hint = "";
    q->ended = CURL_LAST;
    q->started_us = clock_mono_us();
    q->url = mem_printf("%s%s", endpoint->base_url, options->path);
    q->unix_socket = mem_strdup(endpoint->unix_socket);
    q->base_url = endpoint->base_url;
    q->server_not_after_s = endpoint->server_not_after_s;
    snprintf(q->method, sizeof(q->method), "%s", options->method);
    /* haproxy.cfg holds the passwords of its userlists, and some servers repeat a wrong one. */
    buf_init_secret(&q->body, options->max_body_bytes != 0 ? options->max_body_bytes : DEFAULT_MAX_BODY_BYTES);
    if (options->likely_body_bytes != 0) {
        /* Room for all of the answer at once, and no more calls for it than need be. */
        size_t bytes = options->likely_body_bytes;
        buf_reserve(&q->body, bytes + bytes / 16 + LIKELY_MORE_BYTES);
        if (bytes >= MANY_BYTES)
            curl_easy_setopt(q->easy, CURLOPT_BUFFERSIZE, (long)MANY_BYTES);
    }
    LIST_INSERT_HEAD(&http->requests, q, entry);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, http->user_agent);
    set_connection(q, endpoint, options);
    if (http_set_tls(q, endpoint->tls, err) != 0) {
        http_request_free(q);
        return NULL;
    }
    add_header(q, "Accept: ", options->accept != NULL ? options->accept : "application/json");
    q->headers = curl_slist_append(q->headers, "Expect:");
    if (options->content_type != NULL)
        add_header(q, "Content-Type: ", options->content_type);
    if (options->grpc)
        q->headers = curl_slist_append(q->headers, "TE: trailers");
    if (options->header != NULL)
        add_header(q, "", options->header);
    for (char *const *h = options->headers; h != NULL && *h != NULL; h++)
        add_header(q, "", *h);
    http_set_credentials(q, options);
    curl_easy_setopt(q->easy, CURLOPT_HTTPHEADER, q->headers);
    set_method(q, options);
    set_callbacks(q);
    CURLMcode code = curl_multi_add_handle(http->multi, easy);
    if (code != CURLM_OK) {
        error_set(err, ERROR_RETRY, "%s %s: %s", q->method, q->url, curl_multi_strerror(code));
        http_request_free(q);
        return NULL;
    }
    return q;
}

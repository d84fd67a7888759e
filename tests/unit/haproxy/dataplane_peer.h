/* A Data Plane client over the real net/http, and an HTTP server in the same process that answers as it is scripted. */
#pragma once

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "settings/secrets/secret.h"
#include "haproxy/dataplane/client.h"
#include "../test.h"

#define DEADLINE_S 20

/* What the server answers and what it saw of the last request. */
struct server {
    struct evhttp *http;
    char url[64];
    /* to answer */
    int status;
    const char *body;
    size_t padding; /* bytes of 'x' behind the body */
    const char *version, *reload_id, *retry_after;
    bool hang_up, silent;
    struct evhttp_request *held;
    /* seen */
    unsigned requests;
    char method[8], uri[128], authorization[128], content_type[64], content_length[16], accept[64], seen_body[256];
};

struct seen {
    unsigned answers;
    struct dataplane_answer a; /* pointers into the copies below */
    struct error error;
    char *body, *reload_id;
    bool within_send; /* called back before dataplane_send returned */
    bool free_client; /* from within */
};

static struct event_base *base;
static struct http *http;
static struct server server;
static struct seen seen;
static struct dataplane_client *client;
static struct secret username, password, token;
static bool sending;
static unsigned events_seen;
static int event_status;

/* ---- the server ---- */

static inline void copy_header(char *to, size_t size, struct evhttp_request *r, const char *name)
{
    const char *value = evhttp_find_header(evhttp_request_get_input_headers(r), name);
    snprintf(to, size, "%s", value != NULL ? value : "(none)");
}

static inline void note_request(struct evhttp_request *r)
{
    static const struct {
        enum evhttp_cmd_type type;
        const char *name;
    } names[] = {
        {EVHTTP_REQ_GET, "GET"}, {EVHTTP_REQ_POST, "POST"}, {EVHTTP_REQ_PUT, "PUT"}, {EVHTTP_REQ_DELETE, "DELETE"}};
    server.requests++;
    for (size_t i = 0; i < array_len(names); i++)
        if (names[i].type == evhttp_request_get_command(r))
            snprintf(server.method, sizeof(server.method), "%s", names[i].name);
    snprintf(server.uri, sizeof(server.uri), "%s", evhttp_request_get_uri(r));
    copy_header(server.authorization, sizeof(server.authorization), r, "Authorization");
    copy_header(server.content_type, sizeof(server.content_type), r, "Content-Type");
    copy_header(server.content_length, sizeof(server.content_length), r, "Content-Length");
    copy_header(server.accept, sizeof(server.accept), r, "Accept");
    struct evbuffer *in = evhttp_request_get_input_buffer(r);
    ev_ssize_t n = evbuffer_copyout(in, server.seen_body, sizeof(server.seen_body) - 1);
    server.seen_body[n > 0 ? n : 0] = '\0';
}

static inline void add_header(struct evhttp_request *r, const char *name, const char *value)
{
    if (value != NULL)
        evhttp_add_header(evhttp_request_get_output_headers(r), name, value);
}

static inline void on_request(struct evhttp_request *r, void *arg)
{
    note_request(r);
    if (server.hang_up) {
        evhttp_connection_free(evhttp_request_get_connection(r));
        return;
    }
    if (server.silent) {
        server.held = r;
        return;
    }
    add_header(r, "Configuration-Version", server.version);
    add_header(r, "Reload-ID", server.reload_id);
    add_header(r, "Retry-After", server.retry_after);
    struct evbuffer *out = evbuffer_new();
    evbuffer_add(out, server.body, strlen(server.body));
    char *padding = mem_alloc(server.padding + 1);
    memset(padding, 'x', server.padding);
    evbuffer_add(out, padding, server.padding);
    free(padding);
    evhttp_send_reply(r, server.status, "text", out);
    evbuffer_free(out);
}

static inline void listen_tcp(void)
{
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(server.http, "127.0.0.1", 0);
    struct sockaddr_in a = {0};
    socklen_t len = sizeof(a);
    ck_assert_ptr_nonnull(bound);
    ck_assert_int_eq(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&a, &len), 0);
    snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", ntohs(a.sin_port));
}

/* ---- the client ---- */

static inline void on_requested(void *arg, const char *url, const char *method, int status)
{
    ck_assert(method[0] != '\0');
    events_seen++;
    event_status = status;
}

static inline void on_answer(void *arg, const struct dataplane_answer *a)
{
    ck_assert_ptr_eq(arg, &seen);
    ck_assert(!dataplane_busy(client));
    free(seen.body);
    free(seen.reload_id);
    seen.answers++;
    seen.a = *a;
    seen.within_send = sending;
    seen.error = a->error != NULL ? *a->error : (struct error){0};
    seen.body = mem_strndup(a->body, a->body_len);
    ck_assert_uint_eq(strlen(seen.body), a->body_len);
    seen.reload_id = mem_strdup(a->reload_id);
    if (seen.free_client) {
        dataplane_client_free(client);
        client = NULL;
    }
}

static inline void make_client(const char *url, const char *socket)
{
    static const struct log quiet = {.level = LOG_LEVEL_ERROR, .fd = -1};
    dataplane_client_free(client);
    const struct dataplane_client_options o = {.url = url,
                                               .unix_socket = socket,
                                               .username = &username,
                                               .password = &password,
                                               .token = &token,
                                               .log = &quiet,
                                               .events = {.requested = on_requested}};
    client = dataplane_client_new(base, http, &o, &flaw);
    ck_assert_msg(client != NULL, "%s", flaw.message);
}

static inline void begin(const char *method, const char *path, const char *json)
{
    sending = true;
    dataplane_send(client, method, path, json, on_answer, &seen);
    sending = false;
}

/* Turns the loop until `*counter` reached `value`. */
static inline void await(const unsigned *counter, unsigned value)
{
    const struct timeval deadline = {.tv_sec = DEADLINE_S};
    event_base_loopexit(base, &deadline);
    while (*counter < value)
        ck_assert_msg(event_base_loop(base, EVLOOP_ONCE) == 0 && !event_base_got_exit(base), "nothing came");
}

static inline void call(const char *method, const char *path, const char *json)
{
    unsigned before = seen.answers;
    begin(method, path, json);
    await(&seen.answers, before + 1);
    ck_assert_uint_eq(seen.answers, before + 1);
    ck_assert(!seen.within_send);
}

static inline void setup(void)
{
    base = event_base_new();
    http = http_new(base, "test/1", &flaw);
    ck_assert_ptr_nonnull(http);
    seen = (struct seen){0};
    server = (struct server){.status = 200, .body = "{}", .version = "7"};
    server.http = evhttp_new(base);
    evhttp_set_gencb(server.http, on_request, NULL);
    listen_tcp();
    make_client(server.url, NULL);
}

static inline void teardown(void)
{
    dataplane_client_free(client);
    http_free(http);
    evhttp_free(server.http);
    event_base_free(base);
    secret_fini(&username);
    secret_fini(&password);
    secret_fini(&token);
    free(seen.body);
    free(seen.reload_id);
}

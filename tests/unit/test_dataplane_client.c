/* src/dataplane/client over the real net/http, against an HTTP server in this process. */
#include <check.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/secret.h"
#include "dataplane/client.h"

#define DEADLINE_S 20
#define PASSWORD "s3cret-pass"

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
    unsigned short peer_port;
};

struct seen {
    unsigned answers;
    struct dataplane_answer a; /* pointers into the copies below */
    struct error error;
    char *body, *reload_id;
    bool within_send;        /* called back before dataplane_send returned */
    bool again, free_client; /* what to do from within */
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

/* ---- what libcurl is told ---- */

static long connect_timeout_ms, total_timeout_ms;

/* In front of libcurl's own, so that a timeout is seen without waiting for it. All options take one word. */
CURLcode(curl_easy_setopt)(CURL *easy, CURLoption option, ...)
{
    static CURLcode (*real)(CURL *, CURLoption, ...);
    va_list ap;
    va_start(ap, option);
    void *value = va_arg(ap, void *);
    va_end(ap);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "curl_easy_setopt");
    if (option == CURLOPT_CONNECTTIMEOUT_MS)
        connect_timeout_ms = (long)value;
    if (option == CURLOPT_TIMEOUT_MS)
        total_timeout_ms = (long)value;
    return real(easy, option, value);
}

/* ---- the server ---- */

static void copy_header(char *to, size_t size, struct evhttp_request *r, const char *name)
{
    const char *value = evhttp_find_header(evhttp_request_get_input_headers(r), name);
    snprintf(to, size, "%s", value != NULL ? value : "(none)");
}

static void note_request(struct evhttp_request *r)
{
    static const struct {
        enum evhttp_cmd_type type;
        const char *name;
    } names[] = {
        {EVHTTP_REQ_GET, "GET"}, {EVHTTP_REQ_POST, "POST"}, {EVHTTP_REQ_PUT, "PUT"}, {EVHTTP_REQ_DELETE, "DELETE"}};
    char *peer;
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
    evhttp_connection_get_peer(evhttp_request_get_connection(r), &peer, &server.peer_port);
}

static void add_header(struct evhttp_request *r, const char *name, const char *value)
{
    if (value != NULL)
        evhttp_add_header(evhttp_request_get_output_headers(r), name, value);
}

static void on_request(struct evhttp_request *r, void *arg)
{
    (void)arg;
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

static void listen_tcp(void)
{
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(server.http, "127.0.0.1", 0);
    struct sockaddr_in a = {0};
    socklen_t len = sizeof(a);
    ck_assert_ptr_nonnull(bound);
    ck_assert_int_eq(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&a, &len), 0);
    snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", ntohs(a.sin_port));
}

static void listen_unix(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    struct evconnlistener *l =
        evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE, 8, (struct sockaddr *)&a, sizeof(a));
    ck_assert_ptr_nonnull(l);
    ck_assert_ptr_nonnull(evhttp_bind_listener(server.http, l));
}

/* ---- the client ---- */

static void on_requested(void *arg, const char *method, int status)
{
    (void)arg;
    ck_assert(method[0] != '\0');
    events_seen++;
    event_status = status;
}

static void on_answer(void *arg, const struct dataplane_answer *a)
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
    if (seen.again && seen.answers == 1)
        dataplane_send(client, "GET", "/second", NULL, on_answer, &seen);
    if (seen.free_client) {
        dataplane_client_free(client);
        client = NULL;
    }
}

static void make_client(const char *url, const char *socket)
{
    static const struct log quiet = {.level = LOG_LEVEL_ERROR, .fd = -1};
    struct error err = {0};
    dataplane_client_free(client);
    const struct dataplane_client_options o = {.url = url,
                                               .unix_socket = socket,
                                               .username = &username,
                                               .password = &password,
                                               .token = &token,
                                               .log = &quiet,
                                               .events = {.requested = on_requested}};
    client = dataplane_client_new(base, http, &o, &err);
    ck_assert_msg(client != NULL, "%s", err.message);
}

static void begin(const char *method, const char *path, const char *json)
{
    sending = true;
    dataplane_send(client, method, path, json, on_answer, &seen);
    sending = false;
}

/* Turns the loop until `*counter` reached `value`. */
static void await(const unsigned *counter, unsigned value)
{
    const struct timeval deadline = {.tv_sec = DEADLINE_S};
    event_base_loopexit(base, &deadline);
    while (*counter < value)
        ck_assert_msg(event_base_loop(base, EVLOOP_ONCE) == 0 && !event_base_got_exit(base), "nothing came");
}

static void call(const char *method, const char *path, const char *json)
{
    unsigned before = seen.answers;
    begin(method, path, json);
    await(&seen.answers, before + 1);
    ck_assert_uint_eq(seen.answers, before + 1);
    ck_assert(!seen.within_send);
}

static void setup(void)
{
    struct error err = {0};
    base = event_base_new();
    http = http_new(base, "test/1", &err);
    ck_assert_ptr_nonnull(http);
    seen = (struct seen){0};
    server = (struct server){.status = 200, .body = "{}", .version = "7"};
    server.http = evhttp_new(base);
    evhttp_set_gencb(server.http, on_request, NULL);
    listen_tcp();
    make_client(server.url, NULL);
}

static void teardown(void)
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

/* ---- requests and answers ---- */

START_TEST(a_get_and_all_of_its_answer)
{
    server.body = "[1]";
    server.version = "42";
    server.reload_id = "2026-11-21-3";
    server.retry_after = "5";
    call("GET", "/configuration/backends/be/servers?x=1", NULL);
    ck_assert_str_eq(server.method, "GET");
    ck_assert_str_eq(server.uri, "/v3/services/haproxy/configuration/backends/be/servers?x=1");
    ck_assert_str_eq(server.authorization, "(none)");
    ck_assert_str_eq(server.accept, "application/json");
    ck_assert_int_eq(seen.a.status, 200);
    ck_assert_str_eq(seen.body, "[1]");
    ck_assert_int_eq(seen.a.version, 42);
    ck_assert_str_eq(seen.reload_id, "2026-11-21-3");
    ck_assert_int_eq(seen.a.retry_after_ms, 5000);
    ck_assert_int_eq(seen.a.progress, HTTP_ANSWERED);
    ck_assert_uint_gt(seen.a.duration_us, 0);
    ck_assert_ptr_null(seen.a.error);
    ck_assert_str_eq(seen.a.excerpt, "");
    ck_assert_uint_eq(events_seen, 1);
    ck_assert_int_eq(event_status, 200);
    ck_assert_str_eq(dataplane_client_url(client), server.url);
}
END_TEST

START_TEST(headers_that_are_absent_or_nonsense)
{
    static const char *const bad[] = {NULL, "", "x", "-1", "7x", "99999999999999999999"};
    for (size_t i = 0; i < array_len(bad); i++) {
        server.version = bad[i];
        call("GET", "/transactions", NULL);
        ck_assert_int_eq(seen.a.version, -1);
        ck_assert_ptr_null(seen.reload_id);
        ck_assert_int_eq(seen.a.retry_after_ms, -1);
    }
    server.version = "0";
    call("GET", "/transactions", NULL);
    ck_assert_int_eq(seen.a.version, 0);
}
END_TEST

START_TEST(writes_and_their_bodies)
{
    call("POST", "/configuration/backends", "{\"name\":\"be\"}");
    ck_assert_str_eq(server.method, "POST");
    ck_assert_str_eq(server.content_type, "application/json");
    ck_assert_str_eq(server.seen_body, "{\"name\":\"be\"}");
    call("PUT", "/transactions/x", NULL);
    ck_assert_str_eq(server.method, "PUT");
    ck_assert_str_eq(server.content_type, "application/json");
    ck_assert_str_eq(server.content_length, "0");
    call("DELETE", "/transactions/x", NULL);
    ck_assert_str_eq(server.method, "DELETE");
    ck_assert_str_eq(server.content_type, "(none)");
    ck_assert_str_eq(server.seen_body, "");
    server.status = 204;
    server.body = "";
    call("DELETE", "/transactions/x", NULL);
    ck_assert_int_eq(seen.a.status, 204);
    ck_assert_str_eq(seen.body, "");
}
END_TEST

START_TEST(no_request_waits_for_ever)
{
    call("PUT", "/transactions/x", NULL);
    ck_assert_int_eq(connect_timeout_ms, 5000);
    ck_assert_int_eq(total_timeout_ms, 30000);
}
END_TEST

START_TEST(the_connection_is_kept)
{
    call("GET", "/a", NULL);
    unsigned short port = server.peer_port;
    call("POST", "/b", "{}");
    ck_assert_uint_eq(server.peer_port, port);
    call("GET", "/c", NULL);
    ck_assert_uint_eq(server.peer_port, port);
}
END_TEST

START_TEST(any_type_of_the_raw_file)
{
    server.body = "global\n";
    call("GET", "/configuration/raw", NULL);
    ck_assert_str_eq(server.accept, "*/*"); /* it is text/plain; 3.0.x refuses to send it to who wants JSON */
    ck_assert_str_eq(seen.body, "global\n");
    ck_assert_str_eq(seen.a.excerpt, "");
}
END_TEST

START_TEST(a_body_has_a_cap)
{
    server.padding = (8u << 20) - 1; /* with "{}" one too many */
    call("GET", "/configuration/backends", NULL);
    ck_assert_int_eq(seen.a.status, 0);
    ck_assert_int_eq(seen.error.kind, ERROR_INVALID);
    ck_assert_msg(strstr(seen.error.message, "larger than 8388608 bytes") != NULL, "%s", seen.error.message);
    ck_assert_int_eq(event_status, 0);
    call("GET", "/configuration/raw", NULL);
    ck_assert_int_eq(seen.a.status, 200);
    ck_assert_uint_eq(strlen(seen.body), (8u << 20) + 1);
    server.padding = 32u << 20;
    call("GET", "/configuration/raw", NULL);
    ck_assert_int_eq(seen.a.status, 0);
    ck_assert_ptr_nonnull(strstr(seen.error.message, "larger than 33554432 bytes"));
}
END_TEST

/* ---- failures ---- */

START_TEST(nobody_listens)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, len), 0); /* bound, not listening: refused, and nobody else's */
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(a.sin_port));
    make_client(url, NULL);
    call("PUT", "/transactions/x", NULL);
    ck_assert_int_eq(seen.a.status, 0);
    ck_assert_int_eq(seen.a.progress, HTTP_NOT_SENT);
    ck_assert_int_eq(seen.error.kind, ERROR_RETRY);
    ck_assert_msg(strstr(seen.error.message, url) != NULL, "%s", seen.error.message);
    ck_assert_int_eq(seen.a.version, -1);
    ck_assert_str_eq(seen.body, "");
    ck_assert_uint_eq(events_seen, 1);
    close(fd);
}
END_TEST

START_TEST(the_answer_is_lost)
{
    server.hang_up = true;
    call("PUT", "/transactions/x", NULL);
    ck_assert_int_eq(seen.a.status, 0);
    ck_assert_int_eq(seen.a.progress, HTTP_SENT);
    ck_assert_int_eq(seen.error.kind, ERROR_RETRY);
    server.hang_up = false;
    call("GET", "/transactions", NULL);
    ck_assert_int_eq(seen.a.status, 200);
}
END_TEST

START_TEST(a_request_that_cannot_start_answers_from_the_loop)
{
    make_client("http://[bad", NULL);
    call("GET", "/transactions", NULL); /* asserts that it was not from within */
    ck_assert_int_eq(seen.a.status, 0);
    ck_assert_int_eq(seen.a.progress, HTTP_NOT_SENT);
    ck_assert(seen.error.kind != ERROR_NONE && seen.error.message[0] != '\0');
    ck_assert_uint_eq(server.requests, 0);
    ck_assert_uint_eq(events_seen, 1);
}
END_TEST

START_TEST(a_proxys_page_is_cut_to_its_words)
{
    server.status = 502;
    server.version = NULL;
    server.body = "<html><head><title>502 Bad Gateway</title></head>\r\n<body>\x1b[31m<hr>nginx</body></html>";
    call("GET", "/transactions", NULL);
    ck_assert_int_eq(seen.a.status, 502);
    ck_assert_int_eq(seen.a.version, -1);
    ck_assert_str_eq(seen.a.excerpt, "502 Bad Gateway [31m nginx");
    server.status = 200; /* a login page: the words help, whatever the status says */
    call("GET", "/transactions", NULL);
    ck_assert_str_eq(seen.a.excerpt, "502 Bad Gateway [31m nginx");
    server.status = 409;
    server.body = "{\"code\":409,\"message\":\"version mismatch:\\n 1\"}";
    call("GET", "/transactions", NULL);
    ck_assert_str_eq(seen.a.excerpt, "version mismatch: 1");
}
END_TEST

/* ---- one at a time ---- */

START_TEST(a_cancelled_request_is_not_answered)
{
    server.silent = true;
    begin("GET", "/a", NULL);
    ck_assert(dataplane_busy(client));
    await(&server.requests, 1);
    dataplane_cancel(client);
    ck_assert(!dataplane_busy(client));
    dataplane_cancel(client);
    server.silent = false;
    call("GET", "/b", NULL);
    ck_assert_str_eq(server.uri, "/v3/services/haproxy/b");
    ck_assert_uint_eq(seen.answers, 1);
}
END_TEST

START_TEST(a_cancelled_start_is_not_answered)
{
    secret_set_path(&token, "/nonexistent/token");
    begin("GET", "/a", NULL);
    dataplane_cancel(client);
    event_base_loop(base, EVLOOP_NONBLOCK);
    ck_assert_uint_eq(seen.answers, 0);
    call("GET", "/b", NULL);
    ck_assert_uint_eq(seen.answers, 1);
}
END_TEST

START_TEST(freed_with_a_request_under_way)
{
    server.silent = true;
    begin("GET", "/a", NULL);
    await(&server.requests, 1);
    dataplane_client_free(client);
    client = NULL;
    event_base_loop(base, EVLOOP_NONBLOCK);
    ck_assert_uint_eq(seen.answers, 0);
}
END_TEST

START_TEST(the_next_request_from_within_the_answer)
{
    seen.again = true;
    begin("GET", "/first", NULL);
    await(&seen.answers, 2);
    ck_assert_str_eq(server.uri, "/v3/services/haproxy/second");
    ck_assert(!dataplane_busy(client));
}
END_TEST

START_TEST(freed_from_within_the_answer)
{
    seen.free_client = true;
    begin("GET", "/first", NULL);
    await(&seen.answers, 1);
    ck_assert_ptr_null(client);
    event_base_loop(base, EVLOOP_NONBLOCK);
}
END_TEST

START_TEST(two_at_once_is_a_programming_error)
{
    begin("GET", "/a", NULL);
    begin("GET", "/b", NULL);
}
END_TEST

/* ---- credentials ---- */

START_TEST(basic_or_bearer)
{
    secret_set_value(&username, "admin");
    secret_set_value(&password, "adminpwd");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic YWRtaW46YWRtaW5wd2Q=");
    secret_set_value(&token, "t0ken");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Bearer t0ken");
}
END_TEST

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* In place, of the same size as before, with a time of long ago: nothing about the file tells that it changed. */
static void write_unseen(const char *path, const char *text)
{
    const struct timespec old[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
    write_file(path, text);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
}

START_TEST(files_are_read_again)
{
    char dir[] = "/tmp/dataplane-client.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    char *path = mem_printf("%s/password", dir);
    write_file(path, "first\n");
    secret_set_value(&username, "u");
    secret_set_path(&password, path);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpmaXJzdA==");
    write_file(path, "longer-second\n");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItc2Vjb25k");
    /* a change that cannot be seen: only after a refusal does it look again */
    write_unseen(path, "longer-third.\n");
    ck_assert_int_eq(dataplane_credentials_refused(client), true);
    ck_assert_int_eq(dataplane_credentials_refused(client), false);
    write_unseen(path, "longer-forth.\n");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItdGhpcmQu");
    ck_assert_int_eq(dataplane_credentials_refused(client), true);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItZm9ydGgu");
    /* unreadable: the old one stays in use */
    ck_assert_int_eq(unlink(path), 0);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic dTpsb25nZXItZm9ydGgu");
    ck_assert_int_eq(dataplane_credentials_refused(client), false);
    /* the name too */
    write_file(path, "name");
    secret_set_path(&username, path);
    secret_set_value(&password, "p");
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "Basic bmFtZTpw");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(dir), 0);
    free(path);
}
END_TEST

START_TEST(after_a_refusal_files_are_read_again_unasked)
{
    static const int refusals[] = {401, 403};
    char path[] = "/tmp/dataplane-client.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    secret_set_path(&token, path);
    for (size_t i = 0; i < array_len(refusals); i++) {
        write_unseen(path, "one");
        server.status = refusals[i];
        call("GET", "/a", NULL);
        write_unseen(path, "two");
        server.status = 200;
        call("GET", "/a", NULL);
        ck_assert_str_eq(server.authorization, "Bearer two");
        write_unseen(path, "one");
        call("GET", "/a", NULL);
        ck_assert_str_eq(server.authorization, "Bearer two"); /* not with every request */
        ck_assert(dataplane_credentials_refused(client));
    }
    unlink(path);
}
END_TEST

START_TEST(credentials_that_were_never_readable_are_not_left_out)
{
    secret_set_value(&username, "u");
    secret_set_path(&password, "/nonexistent/password");
    call("GET", "/a", NULL);
    ck_assert_uint_eq(server.requests, 0);
    ck_assert_int_eq(seen.error.kind, ERROR_AUTH);
    ck_assert_msg(strstr(seen.error.message, "password") != NULL &&
                      strstr(seen.error.message, "/nonexistent/password") != NULL,
                  "%s", seen.error.message);
    secret_set_path(&username, "/nonexistent/username");
    secret_set_value(&password, "p");
    call("GET", "/a", NULL);
    ck_assert_ptr_nonnull(
        strstr(seen.error.message, "username for the Data Plane API could not be read from /nonexistent"));
    secret_set_path(&token, "/nonexistent/token");
    call("GET", "/a", NULL);
    ck_assert_ptr_nonnull(strstr(seen.error.message, "/nonexistent/token"));
    ck_assert_uint_eq(server.requests, 0);
}
END_TEST

START_TEST(no_message_quotes_a_secret)
{
    static const struct {
        int status;
        const char *body, *excerpt;
    } rows[] = {
        {401, "{\"code\":401,\"message\":\"invalid password: " PASSWORD "\"}", "invalid password"},
        {401, "{\"code\":401,\"message\":\"invalid username: x " PASSWORD "\"}", "invalid username"},
        {403, "{\"message\":\"no " PASSWORD PASSWORD "\"}", "no ******"},
        {500, "<p>got " PASSWORD " and t0ken-t0ken.</p>", "got *** and ***."},
        {400, "{\"message\":\"a: b " PASSWORD "\"}", "a: b ***"},
        {401, "{\"code\":401,\"message\":\"unauthorized\"}", "unauthorized"},
    };
    secret_set_value(&username, "admin");
    secret_set_value(&password, PASSWORD);
    secret_set_value(&token, "t0ken-t0ken");
    for (size_t i = 0; i < array_len(rows); i++) {
        server.status = rows[i].status;
        server.body = rows[i].body;
        call("GET", "/a", NULL);
        ck_assert_str_eq(seen.a.excerpt, rows[i].excerpt);
    }
    secret_set_value(&token, "x"); /* as short as can be: everything stays in its place */
    server.status = 400;
    server.body = "{\"message\":\"axbxx\"}";
    call("GET", "/a", NULL);
    ck_assert_str_eq(seen.a.excerpt, "a*b**");
}
END_TEST

/* ---- where it is ---- */

START_TEST(over_a_unix_socket)
{
    char dir[] = "/tmp/dataplane-client.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    char *path = mem_printf("%s/api.sock", dir);
    listen_unix(path);
    make_client("unix:/run/api.sock", path);
    call("GET", "/transactions", NULL);
    ck_assert_int_eq(seen.a.status, 200);
    ck_assert_str_eq(server.uri, "/v3/services/haproxy/transactions");
    ck_assert_str_eq(dataplane_client_url(client), "unix:/run/api.sock");
    make_client(NULL, path);
    ck_assert_str_eq(dataplane_client_url(client), path);
    unlink(path);
    rmdir(dir);
    free(path);
}
END_TEST

START_TEST(a_url_of_another_kind_is_refused)
{
    static const char *const bad[] = {"", "ftp://x", "haproxy:5555", "/run/api.sock", NULL};
    for (size_t i = 0; i < array_len(bad); i++) {
        struct error err = {0};
        ck_assert_ptr_null(dataplane_client_new(base, http, &(struct dataplane_client_options){.url = bad[i]}, &err));
        ck_assert_int_eq(err.kind, ERROR_FATAL);
    }
    dataplane_client_free(NULL);
}
END_TEST

START_TEST(without_secrets_and_events)
{
    struct error err = {0};
    dataplane_client_free(client);
    client = dataplane_client_new(base, http, &(struct dataplane_client_options){.url = server.url}, &err);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "(none)");
    ck_assert_int_eq(dataplane_credentials_refused(client), false);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dataplane_client");
    TCase *t = tcase_create("client");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_get_and_all_of_its_answer);
    tcase_add_test(t, headers_that_are_absent_or_nonsense);
    tcase_add_test(t, writes_and_their_bodies);
    tcase_add_test(t, no_request_waits_for_ever);
    tcase_add_test(t, the_connection_is_kept);
    tcase_add_test(t, any_type_of_the_raw_file);
    tcase_add_test(t, a_body_has_a_cap);
    tcase_add_test(t, nobody_listens);
    tcase_add_test(t, the_answer_is_lost);
    tcase_add_test(t, a_request_that_cannot_start_answers_from_the_loop);
    tcase_add_test(t, a_proxys_page_is_cut_to_its_words);
    tcase_add_test(t, a_cancelled_request_is_not_answered);
    tcase_add_test(t, a_cancelled_start_is_not_answered);
    tcase_add_test(t, freed_with_a_request_under_way);
    tcase_add_test(t, the_next_request_from_within_the_answer);
    tcase_add_test(t, freed_from_within_the_answer);
    tcase_add_test_raise_signal(t, two_at_once_is_a_programming_error, SIGABRT);
    tcase_add_test(t, basic_or_bearer);
    tcase_add_test(t, files_are_read_again);
    tcase_add_test(t, after_a_refusal_files_are_read_again_unasked);
    tcase_add_test(t, credentials_that_were_never_readable_are_not_left_out);
    tcase_add_test(t, no_message_quotes_a_secret);
    tcase_add_test(t, over_a_unix_socket);
    tcase_add_test(t, a_url_of_another_kind_is_refused);
    tcase_add_test(t, without_secrets_and_events);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}

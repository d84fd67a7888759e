/* src/haproxy/dataplane/client: requests, answers, failures, one at a time. */
#include <curl/curl.h>
#include <dlfcn.h>
#include <event2/listener.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataplane_peer.h"

FORKED

FIXTURE(setup, teardown)

/* ---- what libcurl is given ---- */

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
    if (option == CURLOPT_TIMEOUT_MS) {
        total_timeout_ms = (long)value;
        value = (void *)(10 * total_timeout_ms); /* it is compared, and not for a busy machine to run into */
    }
    return real(easy, option, value);
}

/* ---- requests and answers ---- */

TEST(a_get_and_all_of_its_answer)
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

TEST(headers_that_are_absent_or_nonsense)
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

TEST(writes_and_their_bodies)
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

/* What runs `haproxy -c` takes its time; all else is answered at once, or the API hangs. */
TEST(no_request_waits_for_ever)
{
    static const struct {
        const char *method, *path;
        long total_ms;
    } rows[] = {{"GET", "/info?version=1", 10000},
                {"GET", "/transactions/a", 10000},
                {"POST", "/transactions?version=1", 10000},
                {"POST", "/configuration/backends/be/servers?transaction_id=a", 10000},
                {"DELETE", "/transactions/a", 10000},
                {"PUT", "/runtime/backends/be/servers/s", 10000},
                {"PUT", "/transactions/a", 30000},
                {"PUT", "/configuration/backends/be/servers/s?version=1", 30000}};
    for (size_t i = 0; i < array_len(rows); i++) {
        call(rows[i].method, rows[i].path, str_eq(rows[i].method, "GET") ? NULL : "{}");
        ck_assert_int_eq(connect_timeout_ms, 5000);
        ck_assert_msg(total_timeout_ms == rows[i].total_ms, "%s %s: %ld ms", rows[i].method, rows[i].path,
                      total_timeout_ms);
    }
}

TEST(any_type_of_the_raw_file)
{
    server.body = "global\n";
    call("GET", "/configuration/raw", NULL);
    ck_assert_str_eq(server.accept, "*/*"); /* asked for JSON, 3.0 and 3.3 wrap the file into a JSON string */
    ck_assert_str_eq(seen.body, "global\n");
    ck_assert_str_eq(seen.a.excerpt, "");
}

TEST(a_body_has_a_cap)
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
    ck_assert_msg(strstr(seen.error.message, "larger than 33554432 bytes") != NULL, "%s", seen.error.message);
}

/* ---- failures ---- */

TEST(the_answer_is_lost)
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

TEST(a_request_that_cannot_start_answers_from_the_loop)
{
    make_client("http://[bad", NULL);
    call("GET", "/transactions", NULL); /* asserts that it was not from within */
    ck_assert_int_eq(seen.a.status, 0);
    ck_assert_int_eq(seen.a.progress, HTTP_NOT_SENT);
    ck_assert(seen.error.kind != ERROR_NONE && seen.error.message[0] != '\0');
    ck_assert_uint_eq(server.requests, 0);
    ck_assert_uint_eq(events_seen, 1);
}

TEST(a_proxys_page_is_cut_to_its_words)
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

/* ---- one at a time ---- */

TEST(a_cancelled_request_is_not_answered)
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

TEST(a_cancelled_start_is_not_answered)
{
    secret_set_path(&token, "/nonexistent/token");
    begin("GET", "/a", NULL);
    dataplane_cancel(client);
    event_base_loop(base, EVLOOP_NONBLOCK);
    ck_assert_uint_eq(seen.answers, 0);
    call("GET", "/b", NULL);
    ck_assert_uint_eq(seen.answers, 1);
}

TEST(freed_from_within_the_answer)
{
    seen.free_client = true;
    begin("GET", "/first", NULL);
    await(&seen.answers, 1);
    ck_assert_ptr_null(client);
    event_base_loop(base, EVLOOP_NONBLOCK);
}

TEST(two_at_once_is_a_programming_error)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        begin("GET", "/a", NULL);
        begin("GET", "/b", NULL);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
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

/* ---- where it is ---- */

TEST(over_a_unix_socket)
{
    char dir[] = "/tmp/dataplane-client.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    cleanup(mem_free_ptr) char *path = mem_printf("%s/api.sock", dir);
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
}

TEST(a_url_of_another_kind_is_refused)
{
    static const char *const bad[] = {"", "ftp://x", "haproxy:5555", "/run/api.sock", NULL};
    for (size_t i = 0; i < array_len(bad); i++) {
        ck_assert_ptr_null(dataplane_client_new(base, http, &(struct dataplane_client_options){.url = bad[i]}, &flaw));
        ck_assert_int_eq(flaw.kind, ERROR_FATAL);
    }
    dataplane_client_free(NULL);
}

TEST(without_secrets_and_events)
{
    dataplane_client_free(client);
    client = dataplane_client_new(base, http, &(struct dataplane_client_options){.url = server.url}, &flaw);
    call("GET", "/a", NULL);
    ck_assert_str_eq(server.authorization, "(none)");
    ck_assert_int_eq(dataplane_credentials_refused(client), false);
}

static bool may_write, may_take_back;

static bool ask_write(void *arg)
{
    return may_write;
}

static bool ask_take_back(void *arg)
{
    return may_take_back;
}

/* Which requests go out, by what is allowed; asked for each, on kept connections too. */
TEST(what_may_not_be_written_is_not_sent)
{
    static const struct {
        const char *method, *path;
        bool takes_back;
    } writes[] = {{"POST", "/transactions?version=1", false},
                  {"PUT", "/transactions/a", false},
                  {"PUT", "/configuration/backends/be/servers/s?version=1", false},
                  {"DELETE", "/configuration/backends/be/servers/s?transaction_id=a", false},
                  {"DELETE", "/transactions/a", true}};
    const struct dataplane_gate gate = {.may_write = ask_write, .may_take_back = ask_take_back};
    dataplane_client_free(client);
    client =
        dataplane_client_new(base, http, &(struct dataplane_client_options){.url = server.url, .gate = gate}, &flaw);
    for (size_t i = 0; i < 4 * array_len(writes); i++) {
        const char *method = writes[i / 4].method, *path = writes[i / 4].path;
        may_write = i & 1;
        may_take_back = i & 2;
        bool may = writes[i / 4].takes_back ? may_take_back : may_write;
        unsigned before = server.requests;
        call(method, path, str_eq(method, "DELETE") ? NULL : "{}");
        ck_assert_uint_eq(server.requests, before + may);
        ck_assert_msg(seen.a.progress == (may ? HTTP_ANSWERED : HTTP_NOT_SENT), "%s %s", method, path);
        ck_assert(may || seen.a.status == 0);
        call("GET", "/a", NULL);
        ck_assert_int_eq(seen.a.status, 200);
    }
}

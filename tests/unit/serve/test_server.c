#include <check.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "report/metrics.h"
#include "serve/server.h"

#include "server_peer.h"

/* ---- answers ---- */

START_TEST(health)
{
    static const char *const paths[] = {"/healthz", "/livez", "/healthz?verbose=1"};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    for (size_t i = 0; i < array_len(paths); i++) {
        f.alive = true;
        cleanup(mem_free_ptr) char *good = get(&f, paths[i]);
        expect(good, "200", TEXT, "ok\n");
        f.alive = false;
        cleanup(mem_free_ptr) char *bad = get(&f, paths[i]);
        expect(bad, "500", TEXT, "not alive\n");
    }
    f.alive = true;
    cleanup(mem_free_ptr) char *absolute = get(&f, "http://x/livez"); /* as a proxy would ask */
    ck_assert_str_eq(body_of(absolute), "ok\n");
    fixture_fini(&f);
}
END_TEST

START_TEST(readiness_says_which_part_is_not_and_why)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    cleanup(mem_free_ptr) char *good = get(&f, "/readyz");
    expect(good, "200", TEXT, "[+]haproxy: in step\nready\n");
    f.ready = false;
    cleanup(mem_free_ptr) char *bad = get(&f, "/readyz");
    expect(bad, "503", TEXT, "[-]haproxy: connection refused\nnot ready\n");
    fixture_fini(&f);
}
END_TEST

START_TEST(metrics_page)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    metric_add(metrics_register(f.metrics, METRIC_COUNTER, "x_total", "X.", ""), 3, NULL);
    cleanup(mem_free_ptr) char *answer = get(&f, "/metrics");
    expect(answer, "200", "text/plain; version=0.0.4; charset=utf-8", NULL);
    ck_assert_ptr_nonnull(strstr(answer, "\nhaproxy_k8s_sync_x_total 3\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\nprocess_open_fds "));
    fixture_fini(&f);
}
END_TEST

START_TEST(head_is_get_without_the_body)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/nothing"};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    for (size_t i = 0; i < array_len(paths); i++) {
        cleanup(mem_free_ptr) char *text = mem_printf("HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        cleanup(mem_free_ptr) char *full = get(&f, paths[i]), *head = ask(&f, text);
        ck_assert_str_eq(body_of(head), "");
        cleanup(mem_free_ptr) char *length = mem_strdup(header(head, "Content-Length"));
        ck_assert_pstr_eq(header(full, "Content-Length"), length);
        ck_assert_msg(strncmp(full, head, strlen("HTTP/1.1 200")) == 0, "%s", head);
    }
    fixture_fini(&f);
}
END_TEST

START_TEST(other_paths)
{
    static const char *const paths[] = {"/",           "/metrics/",  "/healthz/x", "/HEALTHZ", "//healthz",
                                        "/../healthz", "/%68ealthz", "/readyz%00", "/<script>"};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    for (size_t i = 0; i < array_len(paths); i++) {
        cleanup(mem_free_ptr) char *answer = get(&f, paths[i]);
        expect(answer, "404", TEXT, NULL);
        ck_assert_msg(strstr(body_of(answer), "/readyz") != NULL, "%s: says what there is", paths[i]);
        ck_assert_msg(strstr(answer, "<script>") == NULL, "what was asked is not repeated");
    }
    fixture_fini(&f);
}
END_TEST

START_TEST(other_methods)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    for (size_t i = 0; i < array_len(methods); i++) {
        cleanup(mem_free_ptr) char *text =
            mem_printf("%s /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", methods[i]);
        cleanup(mem_free_ptr) char *answer = ask(&f, text);
        expect(answer, "405", TEXT, "only GET and HEAD are answered here\n");
        ck_assert_pstr_eq(header(answer, "Allow"), "GET, HEAD");
    }
    fixture_fini(&f);
}
END_TEST

START_TEST(one_request_a_connection)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    cleanup(mem_free_ptr) char *answer = ask(
        &f,
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(answer, "200", TEXT, "ok\n");
    cleanup(mem_free_ptr) char *old = ask(&f, "GET /healthz HTTP/1.0\r\n\r\n");
    ck_assert_msg(strstr(old, " 200 ") != NULL && strstr(old, "\r\n\r\nok\n") != NULL, "%s", old);
    fixture_fini(&f);
}
END_TEST

/* ---- those who do not play by the rules ---- */

static void expect_still_serving(struct fixture *f)
{
    turn_until(f, no_connections, f, "all connections were gone");
    cleanup(mem_free_ptr) char *answer = get(f, "/healthz");
    expect(answer, "200", TEXT, "ok\n");
}

START_TEST(garbage)
{
    static const char *const texts[] = {"\r\n\r\n\r\n",
                                        "GET\r\n\r\n",
                                        "GET /healthz\r\n\r\n",
                                        "GET /healthz HTTP/9.9\r\n\r\n",
                                        "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
                                        "GET healthz HTTP/1.1\r\nHost: x\r\n\r\n",
                                        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                                        "POST /healthz HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                                        "POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    server_set_limits(f.server, 64, 300); /* what it waits for more of ends here */
    for (size_t i = 0; i < array_len(texts); i++) {
        cleanup(mem_free_ptr) char *answer = ask(&f, texts[i]);
        ck_assert_msg(strstr(answer, " 200 ") == NULL, "%zu: %s", i, answer);
        expect_still_serving(&f);
    }
    fixture_fini(&f);
}
END_TEST

/* Sends the start, then the same line again and again; how much was written says when the other side had enough. */
static size_t flood(struct fixture *f, const char *start, const char *line, char **ret_answer)
{
    struct client c;
    size_t sent = 0;
    client_init(f, &c, start);
    while (!c.closed && sent < 4 * 1024 * 1024) {
        event_base_loop(f->base, EVLOOP_NONBLOCK);
        if (evbuffer_get_length(bufferevent_get_output(c.bev)) == 0) {
            bufferevent_write(c.bev, line, strlen(line));
            sent += strlen(line);
        }
    }
    turn_until(f, is_closed, &c, "the server closed");
    *ret_answer = buf_take(&c.got);
    client_fini(&c);
    return sent;
}

START_TEST(endless_headers)
{
    static const struct {
        const char *start, *line;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\n", "X-Padding: 0123456789012345678901234567890123456789\r\n"},
        {"GET /healthz HTTP/1.1\r\nX: ", "01234567890123456789012345678901234567890123456789"},
        {"GET /", "01234567890123456789012345678901234567890123456789"},
    };
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    for (size_t i = 0; i < array_len(cases); i++) {
        char *answer;
        size_t sent = flood(&f, cases[i].start, cases[i].line, &answer);
        ck_assert_msg(strstr(answer, " 200 ") == NULL, "%zu: %s", i, answer);
        ck_assert_msg(sent < 1024 * 1024, "%zu: %zu bytes were taken", i, sent);
        free(answer);
        expect_still_serving(&f);
    }
    fixture_fini(&f);
}
END_TEST

START_TEST(headers_of_eight_kilobytes_are_the_limit)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    for (unsigned over = 0; over < 2; over++) {
        cleanup(buf_fini) struct buf text;
        buf_init(&text, 0);
        buf_add(&text, "GET /healthz HTTP/1.1\r\nX: ");
        while (text.len < (over ? 8300 : 8000))
            buf_add(&text, "x");
        buf_add(&text, "\r\n\r\n");
        cleanup(mem_free_ptr) char *answer = ask(&f, buf_str(&text));
        ck_assert_msg((strstr(answer, " 200 ") != NULL) == !over, "%zu bytes: %s", text.len, answer);
    }
    fixture_fini(&f);
}
END_TEST

START_TEST(big_bodies)
{
    struct fixture f;
    char *answer;
    fixture_init(&f, "127.0.0.1");
    size_t sent = flood(&f, "POST /healthz HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n", "0123456789", &answer);
    ck_assert_msg(sent < 1024 * 1024 && strstr(answer, " 200 ") == NULL, "%zu: %s", sent, answer);
    free(answer);
    expect_still_serving(&f);
    sent = flood(&f, "POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "a\r\n0123456789\r\n", &answer);
    ck_assert_msg(sent < 1024 * 1024 && strstr(answer, " 200 ") == NULL, "%zu: %s", sent, answer);
    free(answer);
    expect_still_serving(&f);
    fixture_fini(&f);
}
END_TEST

/* One byte each 20 ms: never idle, never done. */
struct trickle {
    struct client client;
    const char *text;
    size_t sent;
};

static void on_trickle(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct trickle *t = arg;
    if (t->text[t->sent] != '\0' && !t->client.closed)
        bufferevent_write(t->client.bev, t->text + t->sent++, 1);
}

START_TEST(a_slow_sender_is_cut_off)
{
    static const char text[] =
        "GET /healthz HTTP/1.1\r\nHost: a-name-that-takes-longer-than-the-limit-to-send-byte-by-byte."
        "and-yet-longer-so-that-nobody-gets-to-the-end-of-it.example\r\n\r\n";
    struct timeval each = {.tv_usec = 20000};
    struct trickle t = {.text = text};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    server_set_limits(f.server, 64, 300);
    client_init(&f, &t.client, "");
    struct event *timer = event_new(f.base, -1, EV_PERSIST, on_trickle, &t);
    event_add(timer, &each);
    turn_until(&f, is_closed, &t.client, "the slow sender was cut off");
    ck_assert_msg(t.sent > 0 && t.sent < strlen(text), "it was cut off in the middle: %zu", t.sent);
    ck_assert_uint_eq(t.client.got.len, 0);
    event_free(timer);
    client_fini(&t.client);
    expect_still_serving(&f);
    fixture_fini(&f);
}
END_TEST

START_TEST(one_who_says_nothing_is_cut_off)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    server_set_limits(f.server, 64, 200);
    cleanup(mem_free_ptr) char *answer = ask(&f, "");
    ck_assert_str_eq(answer, "");
    expect_still_serving(&f);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_slow_reader_is_cut_off)
{
    struct client c;
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    server_set_limits(f.server, 64, 300);
    f.padding = 16 * 1024 * 1024; /* more than the kernel buffers */
    client_init(&f, &c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    bufferevent_disable(c.bev, EV_READ);
    /* First it must be there, or "gone" means nothing. */
    while (server_connections(f.server) == 0)
        event_base_loop(f.base, EVLOOP_ONCE);
    turn_until(&f, no_connections, &f, "the slow reader was cut off");
    f.padding = 0;
    client_fini(&c);
    expect_still_serving(&f);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_big_answer_to_one_who_reads)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    f.padding = 4 * 1024 * 1024;
    cleanup(mem_free_ptr) char *answer = get(&f, "/readyz");
    expect(answer, "200", TEXT, NULL);
    ck_assert_uint_gt(strlen(answer), f.padding);
    fixture_fini(&f);
}
END_TEST

#define LIMIT 4
#define CROWD 12

static bool is_full(void *arg)
{
    return server_connections(((struct fixture *)arg)->server) >= LIMIT;
}

struct waiting {
    struct fixture *fixture;
    struct client *client;
};

static bool is_closed_and_never_over(void *arg)
{
    struct waiting *w = arg;
    ck_assert_uint_le(server_connections(w->fixture->server), LIMIT);
    return w->client->closed;
}

static unsigned closed_of(const struct client *crowd)
{
    unsigned closed = 0;
    for (size_t i = 0; i < CROWD; i++)
        closed += crowd[i].closed;
    return closed;
}

START_TEST(too_many_wait_until_others_are_cut_off)
{
    struct client crowd[CROWD], last;
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    server_set_limits(f.server, LIMIT, 3600 * 1000);
    /* All of them are in the kernel's queue before the loop turns once, and none of them ever ends its request. */
    for (size_t i = 0; i < CROWD; i++)
        client_init(&f, &crowd[i], "GET /healthz HTTP/1.1\r\n");
    client_init(&f, &last, "GET /healthz HTTP/1.1\r\n\r\n");
    turn_until(&f, is_full, &f, "it was full");
    for (unsigned turn = 0; turn < 50; turn++) {
        event_base_loop(f.base, EVLOOP_NONBLOCK);
        ck_assert_uint_eq(server_connections(f.server), LIMIT);
    }
    ck_assert_msg(last.got.len == 0, "the last one waits");
    turn_until(&f, is_closed_and_never_over, &(struct waiting){&f, &last}, "the last one was answered");
    ck_assert_ptr_nonnull(strstr(buf_str(&last.got), "\r\n\r\nok\n"));
    ck_assert_uint_ge(closed_of(crowd), CROWD - LIMIT);
    ck_assert_msg(crowd[0].closed, "the oldest goes first");
    for (size_t i = 0; i < CROWD; i++)
        client_fini(&crowd[i]);
    client_fini(&last);
    expect_still_serving(&f);
    fixture_fini(&f);
}
END_TEST

START_TEST(a_crowd_is_served_a_few_at_a_time)
{
    struct client crowd[CROWD];
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    server_set_limits(f.server, LIMIT, PATIENCE_S * 1000);
    for (size_t i = 0; i < CROWD; i++)
        client_init(&f, &crowd[i], "GET /healthz HTTP/1.1\r\n\r\n");
    for (size_t i = 0; i < CROWD; i++) {
        turn_until(&f, is_closed, &crowd[i], "each of them was answered");
        ck_assert_ptr_nonnull(strstr(buf_str(&crowd[i].got), "\r\n\r\nok\n"));
        ck_assert_uint_le(server_connections(f.server), LIMIT);
    }
    for (size_t i = 0; i < CROWD; i++)
        client_fini(&crowd[i]);
    fixture_fini(&f);
}
END_TEST

START_TEST(those_who_hang_up_are_forgotten)
{
    static const char *const texts[] = {"", "GET /heal", "GET /healthz HTTP/1.1\r\n\r\n"};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    for (unsigned i = 0; i < 300; i++) {
        struct client c;
        client_init(&f, &c, texts[i % array_len(texts)]);
        for (unsigned turn = i % 4; turn > 0; turn--)
            event_base_loop(f.base, EVLOOP_NONBLOCK);
        client_fini(&c);
        if (i % 50 == 49) /* connect() would wait for a place that only our own loop can give */
            turn_until(&f, no_connections, &f, "those who hung up were forgotten");
    }
    expect_still_serving(&f);
    fixture_fini(&f);
}
END_TEST

START_TEST(freed_with_connections_open)
{
    /* With and without a turn of the loop between the server's end and the base's: nothing is touched after its end. */
    for (unsigned turns = 0; turns < 2; turns++) {
        struct client c[3];
        struct fixture f;
        fixture_init(&f, "127.0.0.1");
        for (size_t i = 0; i < array_len(c); i++)
            client_init(&f, &c[i], i == 0 ? "" : "GET /healthz HTTP/1.1\r\n");
        while (server_connections(f.server) < array_len(c))
            event_base_loop(f.base, EVLOOP_ONCE);
        server_free(f.server);
        if (turns > 0)
            turn_until(&f, is_closed, &c[0], "the connections were closed");
        for (size_t i = 0; i < array_len(c); i++)
            client_fini(&c[i]);
        event_base_free(f.base);
        metrics_free(f.metrics);
    }
    server_free(NULL);
}
END_TEST

/* ---- where it listens ---- */

/* Another program of this machine may listen at the same port of the other family. */
static bool answers_on(struct fixture *f, bool six)
{
    struct client c;
    while (server_connections(f->server) > 0) /* of before */
        event_base_loop(f->base, EVLOOP_ONCE);
    int fd = dial(server_port(f->server), six);
    if (fd < 0)
        return false;
    event_base_loop(f->base, EVLOOP_NONBLOCK);
    if (server_connections(f->server) == 0) {
        close(fd);
        return false;
    }
    client_init_fd(f, &c, fd);
    bufferevent_write(c.bev, "GET /healthz HTTP/1.1\r\n\r\n", 25);
    turn_until(f, is_closed, &c, "the server closed");
    ck_assert_ptr_nonnull(strstr(buf_str(&c.got), "\r\n\r\nok\n"));
    client_fini(&c);
    return true;
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
    if (fd >= 0)
        close(fd);
    if (!has)
        printf("SKIPPED: IPv6 listeners: this machine has no ::1\n");
    return has;
}

START_TEST(every_address_of_both_families)
{
    struct fixture f;
    fixture_init(&f, "");
    ck_assert(answers_on(&f, false));
    if (has_ipv6())
        ck_assert(answers_on(&f, true));
    fixture_fini(&f);
}
END_TEST

START_TEST(one_address)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    ck_assert(answers_on(&f, false));
    ck_assert(!answers_on(&f, true));
    fixture_fini(&f);
    fixture_init(&f, "localhost");
    fixture_fini(&f);
    if (!has_ipv6())
        return;
    fixture_init(&f, "::1");
    ck_assert(answers_on(&f, true));
    ck_assert(!answers_on(&f, false));
    fixture_fini(&f);
}
END_TEST

START_TEST(a_restart_gets_its_port_back_at_once)
{
    struct error err = {0};
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    uint16_t port = server_port(f.server);
    cleanup(mem_free_ptr) char *answer = get(&f, "/healthz"); /* we close first, so TIME_WAIT is on our side */
    server_free(f.server);
    event_base_loop(f.base, EVLOOP_NONBLOCK);
    const struct server_callbacks callbacks = fixture_callbacks(&f);
    f.server = server_new(f.base, "127.0.0.1", port, f.metrics, NULL, &callbacks, &f, &err);
    ck_assert_msg(f.server != NULL, "%s", err.message);
    fixture_fini(&f);
}
END_TEST

static void expect_no_server(struct fixture *f, const char *host, uint16_t port, const char *where, const char *why)
{
    struct error err = {0};
    const struct server_callbacks callbacks = fixture_callbacks(f);
    struct server *s = server_new(f->base, host, port, f->metrics, NULL, &callbacks, f, &err);
    ck_assert_ptr_null(s);
    ck_assert_int_eq(err.kind, ERROR_FATAL);
    ck_assert_msg(strstr(err.message, where) != NULL && strstr(err.message, why) != NULL &&
                      strstr(err.message, "LISTEN_ADDRESS") != NULL,
                  "%s", err.message);
}

START_TEST(addresses_that_cannot_be_had)
{
    struct fixture f;
    fixture_init(&f, "127.0.0.1");
    uint16_t port = server_port(f.server);
    cleanup(mem_free_ptr) char *taken = mem_printf("127.0.0.1:%u: ", port), *any = mem_printf(" :%u: ", port);
    expect_no_server(&f, "127.0.0.1", port, taken, "Address already in use; another process has that port");
    expect_no_server(&f, "", port, any, "Address already in use");
    expect_no_server(&f, "192.0.2.1", 0, "192.0.2.1:0: ", "no interface of this machine has that address");
    if (has_ipv6())
        expect_no_server(&f, "2001:db8::1", 0, "[2001:db8::1]:0: ", "no interface");
    fixture_fini(&f);
}
END_TEST

int main(void)
{
    /* As the daemon does: the answer to a reader who is gone is an error, not our end. */
    signal(SIGPIPE, SIG_IGN);
    Suite *s = suite_create("server");
    TCase *t = tcase_create("answers");
    tcase_set_timeout(t, 3 * PATIENCE_S);
    tcase_add_test(t, health);
    tcase_add_test(t, readiness_says_which_part_is_not_and_why);
    tcase_add_test(t, metrics_page);
    tcase_add_test(t, head_is_get_without_the_body);
    tcase_add_test(t, other_paths);
    tcase_add_test(t, other_methods);
    tcase_add_test(t, one_request_a_connection);
    suite_add_tcase(s, t);
    t = tcase_create("bounds");
    tcase_set_timeout(t, 3 * PATIENCE_S);
    tcase_add_test(t, garbage);
    tcase_add_test(t, endless_headers);
    tcase_add_test(t, headers_of_eight_kilobytes_are_the_limit);
    tcase_add_test(t, big_bodies);
    tcase_add_test(t, a_slow_sender_is_cut_off);
    tcase_add_test(t, one_who_says_nothing_is_cut_off);
    tcase_add_test(t, a_slow_reader_is_cut_off);
    tcase_add_test(t, a_big_answer_to_one_who_reads);
    tcase_add_test(t, too_many_wait_until_others_are_cut_off);
    tcase_add_test(t, a_crowd_is_served_a_few_at_a_time);
    tcase_add_test(t, those_who_hang_up_are_forgotten);
    tcase_add_test(t, freed_with_connections_open);
    suite_add_tcase(s, t);
    t = tcase_create("addresses");
    tcase_set_timeout(t, 3 * PATIENCE_S);
    tcase_add_test(t, every_address_of_both_families);
    tcase_add_test(t, one_address);
    tcase_add_test(t, a_restart_gets_its_port_back_at_once);
    tcase_add_test(t, addresses_that_cannot_be_had);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}

/* src/serve/server: what it answers, what nobody can do to it, where it listens. */
#include <event2/buffer.h>
#include <sys/resource.h>

#include "server_peer.h"

#include "../log_text.h"

FIXTURE(fixture_begin, fixture_end)

/* ---- answers ---- */

TEST(health)
{
    static const char *const paths[] = {"/healthz", "/livez", "/healthz?verbose=1"};
    for (size_t i = 0; i < array_len(paths); i++) {
        f.alive = true;
        expect_get(paths[i], "200", TEXT, "ok\n");
        f.alive = false;
        expect_get(paths[i], "500", TEXT, "not alive\n");
    }
    f.alive = true;
    cleanup(mem_free_ptr) char *absolute = get("http://x/livez"); /* as a proxy would ask */
    ck_assert_str_eq(body_of(absolute), "ok\n");
}

TEST(readiness_says_which_part_is_not_and_why)
{
    expect_get("/readyz", "200", TEXT, "[+]haproxy: in step\nready\n");
    f.ready = false;
    expect_get("/readyz", "503", TEXT, "[-]haproxy: connection refused\nnot ready\n");
}

TEST(metrics_page)
{
    metric_add(metrics_register(f.metrics, METRIC_COUNTER, "x_total", "X.", ""), 3, NULL);
    cleanup(mem_free_ptr) char *answer = get("/metrics");
    expect(answer, "200", "text/plain; version=0.0.4; charset=utf-8", NULL);
    ck_assert_ptr_nonnull(strstr(answer, "\nhaproxy_k8s_sync_x_total 3\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\nprocess_open_fds "));
}

TEST(head_is_get_without_the_body)
{
    static const char *const paths[] = {"/healthz", "/readyz", "/nothing"};
    for (size_t i = 0; i < array_len(paths); i++) {
        cleanup(mem_free_ptr) char *text = mem_printf("HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        cleanup(mem_free_ptr) char *full = get(paths[i]), *head = ask(text);
        ck_assert_str_eq(body_of(head), "");
        cleanup(mem_free_ptr) char *length = mem_strdup(header(head, "Content-Length"));
        ck_assert_pstr_eq(header(full, "Content-Length"), length);
        ck_assert_msg(strncmp(full, head, strlen("HTTP/1.1 200")) == 0, "%s", head);
    }
}

TEST(other_paths)
{
    static const char *const paths[] = {"/",           "/metrics/",  "/healthz/x", "/HEALTHZ", "//healthz",
                                        "/../healthz", "/%68ealthz", "/readyz%00", "/<script>"};
    for (size_t i = 0; i < array_len(paths); i++) {
        cleanup(mem_free_ptr) char *answer = get(paths[i]);
        expect(answer, "404", TEXT, NULL);
        ck_assert_msg(strstr(body_of(answer), "/readyz") != NULL, "%s: says what there is", paths[i]);
        ck_assert_msg(strstr(answer, "<script>") == NULL, "what was asked is not repeated");
    }
}

TEST(other_methods)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"};
    for (size_t i = 0; i < array_len(methods); i++) {
        cleanup(mem_free_ptr) char *text =
            mem_printf("%s /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", methods[i]);
        cleanup(mem_free_ptr) char *answer = ask(text);
        expect(answer, "405", TEXT, "only GET and HEAD are answered here\n");
        ck_assert_pstr_eq(header(answer, "Allow"), "GET, HEAD");
    }
}

TEST(one_request_a_connection)
{
    cleanup(mem_free_ptr) char *answer = ask(
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(answer, "200", TEXT, "ok\n");
    cleanup(mem_free_ptr) char *old = ask("GET /healthz HTTP/1.0\r\n\r\n");
    ck_assert_msg(strstr(old, " 200 ") != NULL && strstr(old, "\r\n\r\nok\n") != NULL, "%s", old);
}

/* ---- those who do not play by the rules ---- */

static void expect_still_serving(void)
{
    turn_until(no_connections, NULL, "all connections were gone");
    expect_get("/healthz", "200", TEXT, "ok\n");
}

TEST(garbage)
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
    server_set_limits(f.server, 64, 300); /* what it waits for more of ends here */
    for (size_t i = 0; i < array_len(texts); i++) {
        cleanup(mem_free_ptr) char *answer = ask(texts[i]);
        ck_assert_msg(strstr(answer, " 200 ") == NULL, "%zu: %s", i, answer);
        expect_still_serving();
    }
}

/* Sends the start, then the same line again and again; how much was written says when the other side had enough. */
static size_t flood(const char *start, const char *line, char **ret_answer)
{
    struct client c;
    size_t sent = 0;
    client_init(&c, start);
    while (!c.closed && sent < 4 * 1024 * 1024) {
        event_base_loop(f.base, EVLOOP_NONBLOCK);
        if (evbuffer_get_length(bufferevent_get_output(c.bev)) == 0) {
            bufferevent_write(c.bev, line, strlen(line));
            sent += strlen(line);
        }
    }
    turn_until(is_closed, &c, "the server closed");
    *ret_answer = buf_take(&c.got);
    client_fini(&c);
    return sent;
}

TEST(endless_headers)
{
    static const struct {
        const char *start, *line;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\n", "X-Padding: 0123456789012345678901234567890123456789\r\n"},
        {"GET /healthz HTTP/1.1\r\nX: ", "01234567890123456789012345678901234567890123456789"},
        {"GET /", "01234567890123456789012345678901234567890123456789"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        char *answer;
        size_t sent = flood(cases[i].start, cases[i].line, &answer);
        ck_assert_msg(strstr(answer, " 200 ") == NULL, "%zu: %s", i, answer);
        ck_assert_msg(sent < 1024 * 1024, "%zu: %zu bytes were taken", i, sent);
        free(answer);
        expect_still_serving();
    }
}

TEST(headers_of_eight_kilobytes_are_the_limit)
{
    for (unsigned over = 0; over < 2; over++) {
        cleanup(buf_fini) struct buf text = {0};
        buf_add(&text, "GET /healthz HTTP/1.1\r\nX: ");
        while (text.len < (over ? 8300 : 8000))
            buf_add(&text, "x");
        buf_add(&text, "\r\n\r\n");
        cleanup(mem_free_ptr) char *answer = ask(buf_str(&text));
        ck_assert_msg((strstr(answer, " 200 ") != NULL) == !over, "%zu bytes: %s", text.len, answer);
    }
}

TEST(big_bodies)
{
    char *answer;
    size_t sent = flood("POST /healthz HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n", "0123456789", &answer);
    ck_assert_msg(sent < 1024 * 1024 && strstr(answer, " 200 ") == NULL, "%zu: %s", sent, answer);
    free(answer);
    expect_still_serving();
    sent = flood("POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "a\r\n0123456789\r\n", &answer);
    ck_assert_msg(sent < 1024 * 1024 && strstr(answer, " 200 ") == NULL, "%zu: %s", sent, answer);
    free(answer);
    expect_still_serving();
}

/* One byte each 20 ms: never idle, never done. */
struct trickle {
    struct client client;
    const char *text;
    size_t sent;
};

static void on_trickle(evutil_socket_t fd, short what, void *arg)
{
    struct trickle *t = arg;
    if (t->text[t->sent] != '\0' && !t->client.closed)
        bufferevent_write(t->client.bev, t->text + t->sent++, 1);
}

TEST(a_slow_sender_is_cut_off)
{
    static const char text[] =
        "GET /healthz HTTP/1.1\r\nHost: a-name-that-takes-longer-than-the-limit-to-send-byte-by-byte."
        "and-yet-longer-so-that-nobody-gets-to-the-end-of-it.example\r\n\r\n";
    struct timeval each = {.tv_usec = 20000};
    struct trickle t = {.text = text};
    server_set_limits(f.server, 64, 300);
    client_init(&t.client, "");
    struct event *timer = event_new(f.base, -1, EV_PERSIST, on_trickle, &t);
    event_add(timer, &each);
    turn_until(is_closed, &t.client, "the slow sender was cut off");
    ck_assert_msg(t.sent > 0 && t.sent < strlen(text), "it was cut off in the middle: %zu", t.sent);
    ck_assert_uint_eq(t.client.got.len, 0);
    event_free(timer);
    client_fini(&t.client);
    expect_still_serving();
}

TEST(one_who_says_nothing_is_cut_off)
{
    server_set_limits(f.server, 64, 200);
    cleanup(mem_free_ptr) char *answer = ask("");
    ck_assert_str_eq(answer, "");
    expect_still_serving();
}

TEST(a_slow_reader_is_cut_off)
{
    struct client c;
    server_set_limits(f.server, 64, 300);
    f.padding = 16 * 1024 * 1024; /* more than the kernel buffers */
    client_init(&c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    bufferevent_disable(c.bev, EV_READ);
    /* First it must be there, or "gone" means nothing. */
    while (server_connections(f.server) == 0)
        event_base_loop(f.base, EVLOOP_ONCE);
    turn_until(no_connections, NULL, "the slow reader was cut off");
    f.padding = 0;
    client_fini(&c);
    expect_still_serving();
}

TEST(a_big_answer_to_one_who_reads)
{
    f.padding = 4 * 1024 * 1024;
    cleanup(mem_free_ptr) char *answer = get("/readyz");
    expect(answer, "200", TEXT, NULL);
    ck_assert_uint_gt(strlen(answer), f.padding);
}

#define LIMIT 4
#define CROWD 12

static bool is_full(void *arg)
{
    return server_connections(f.server) >= LIMIT;
}

static bool is_closed_and_never_over(void *arg)
{
    ck_assert_uint_le(server_connections(f.server), LIMIT);
    return is_closed(arg);
}

static unsigned closed_of(const struct client *crowd)
{
    unsigned closed = 0;
    for (size_t i = 0; i < CROWD; i++)
        closed += crowd[i].closed;
    return closed;
}

TEST(too_many_wait_until_others_are_cut_off)
{
    struct client crowd[CROWD], last;
    server_set_limits(f.server, LIMIT, 60 * 1000);
    /* All of them are in the kernel's queue before the loop turns once, and none of them ever ends its request. */
    for (size_t i = 0; i < CROWD; i++)
        client_init(&crowd[i], "GET /healthz HTTP/1.1\r\n");
    client_init(&last, "GET /healthz HTTP/1.1\r\n\r\n");
    turn_until(is_full, NULL, "it was full");
    for (unsigned turn = 0; turn < 50; turn++) {
        event_base_loop(f.base, EVLOOP_NONBLOCK);
        ck_assert_uint_eq(server_connections(f.server), LIMIT);
    }
    ck_assert_msg(last.got.len == 0, "the last one waits");
    turn_until(is_closed_and_never_over, &last, "the last one was answered");
    ck_assert_ptr_nonnull(strstr(buf_str(&last.got), "\r\n\r\nok\n"));
    ck_assert_uint_ge(closed_of(crowd), CROWD - LIMIT);
    ck_assert_msg(crowd[0].closed, "the oldest goes first");
    for (size_t i = 0; i < CROWD; i++)
        client_fini(&crowd[i]);
    client_fini(&last);
    expect_still_serving();
}

static bool is_answered(void *arg)
{
    const struct client *c = arg;
    return c->got.len > f.padding;
}

TEST(idle_ones_go_before_one_who_asked)
{
    struct client reader, idle[LIMIT], last;
    server_set_limits(f.server, LIMIT, 200 * 1000); /* in a crowd 2 s for the idle ones, 10 s for the reader */
    f.padding = 16 * 1024 * 1024;
    client_init(&reader, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    bufferevent_disable(reader.bev, EV_READ);
    for (size_t i = 0; i < LIMIT; i++)
        client_init(&idle[i], "");
    turn_until(is_full, NULL, "it was full");
    client_init(&last, "GET /healthz HTTP/1.1\r\n\r\n");
    turn_until(is_closed, &last, "the last one was answered");
    bufferevent_enable(reader.bev, EV_READ);
    turn_until(is_answered, &reader, "the reader got its answer whole");
    f.padding = 0;
    client_fini(&reader);
    for (size_t i = 0; i < LIMIT; i++)
        client_fini(&idle[i]);
    client_fini(&last);
    expect_still_serving();
}

TEST(a_crowd_is_served_a_few_at_a_time)
{
    struct client crowd[CROWD];
    server_set_limits(f.server, LIMIT, PATIENCE_S * 1000);
    for (size_t i = 0; i < CROWD; i++)
        client_init(&crowd[i], "GET /healthz HTTP/1.1\r\n\r\n");
    for (size_t i = 0; i < CROWD; i++) {
        turn_until(is_closed, &crowd[i], "each of them was answered");
        ck_assert_ptr_nonnull(strstr(buf_str(&crowd[i].got), "\r\n\r\nok\n"));
        ck_assert_uint_le(server_connections(f.server), LIMIT);
    }
    for (size_t i = 0; i < CROWD; i++)
        client_fini(&crowd[i]);
}

TEST(those_who_hang_up_are_forgotten)
{
    static const char *const texts[] = {"", "GET /heal", "GET /healthz HTTP/1.1\r\n\r\n"};
    for (unsigned i = 0; i < 300; i++) {
        struct client c;
        client_init(&c, texts[i % array_len(texts)]);
        for (unsigned turn = i % 4; turn > 0; turn--)
            event_base_loop(f.base, EVLOOP_NONBLOCK);
        client_fini(&c);
        if (i % 50 == 49) /* connect() would wait for a place that only our own loop can give */
            turn_until(no_connections, NULL, "those who hung up were forgotten");
    }
    expect_still_serving();
}

/* With and without a turn of the loop between the server's end and the base's: nothing is touched after its end. */
TEST_EACH(freed_with_connections_open, 2)
{
    struct client c[3];
    for (size_t i = 0; i < array_len(c); i++)
        client_init(&c[i], i == 0 ? "" : "GET /healthz HTTP/1.1\r\n");
    while (server_connections(f.server) < array_len(c))
        event_base_loop(f.base, EVLOOP_ONCE);
    server_free(f.server);
    f.server = NULL;
    if (_i > 0)
        turn_until(is_closed, &c[0], "the connections were closed");
    for (size_t i = 0; i < array_len(c); i++)
        client_fini(&c[i]);
}

/* ---- where it listens ---- */

/* Another program of this machine may listen at the same port of the other family. */
static bool answers_on(bool six)
{
    struct client c;
    while (server_connections(f.server) > 0) /* of before */
        event_base_loop(f.base, EVLOOP_ONCE);
    int fd = dial(server_port(f.server), six);
    if (fd < 0)
        return false;
    event_base_loop(f.base, EVLOOP_NONBLOCK);
    if (server_connections(f.server) == 0) {
        close(fd);
        return false;
    }
    client_init_fd(&c, fd);
    bufferevent_write(c.bev, "GET /healthz HTTP/1.1\r\n\r\n", 25);
    turn_until(is_closed, &c, "the server closed");
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

static const struct {
    const char *host;
    bool needs_six, four, six;
} hosts[] = {
    {"", false, true, false}, {"", true, true, true}, {"127.0.0.1", false, true, false}, {"::1", true, false, true}};

TEST_EACH(addresses, array_len(hosts))
{
    if (hosts[_i].needs_six && !has_ipv6())
        return;
    fixture_end();
    fixture_init(hosts[_i].host, false);
    ck_assert(answers_on(false) == hosts[_i].four);
    ck_assert(hosts[_i].host[0] == '\0' && !hosts[_i].six ? true : answers_on(true) == hosts[_i].six);
}

TEST(an_address_by_its_name)
{
    fixture_end();
    fixture_init("localhost", false);
}

TEST(a_restart_gets_its_port_back_at_once)
{
    uint16_t port = server_port(f.server);
    cleanup(mem_free_ptr) char *answer = get("/healthz"); /* we close first, so TIME_WAIT is on our side */
    server_free(f.server);
    event_base_loop(f.base, EVLOOP_NONBLOCK);
    f.server = server_at("127.0.0.1", port, &flaw);
    ck_assert_msg(f.server != NULL, "%s", flaw.message);
}

static void expect_no_server(const char *host, uint16_t port, const char *where, const char *why)
{
    ck_assert_ptr_null(server_at(host, port, &flaw));
    ck_assert_int_eq(flaw.kind, ERROR_FATAL);
    ck_assert_msg(strstr(flaw.message, where) != NULL && strstr(flaw.message, why) != NULL &&
                      strstr(flaw.message, "LISTEN_ADDRESS") != NULL,
                  "%s", flaw.message);
}

TEST(addresses_that_cannot_be_had)
{
    uint16_t port = server_port(f.server);
    cleanup(mem_free_ptr) char *taken = mem_printf("127.0.0.1:%u: ", port), *any = mem_printf(" :%u: ", port);
    expect_no_server("127.0.0.1", port, taken, "Address already in use; another process has that port");
    expect_no_server("", port, any, "Address already in use");
    expect_no_server("192.0.2.1", 0, "192.0.2.1:0: ", "no interface of this machine has that address");
    if (has_ipv6())
        expect_no_server("2001:db8::1", 0, "[2001:db8::1]:0: ", "no interface");
}

/* ---- out of file descriptors: it waits, says so once, and goes on by itself ---- */

#define WATCHED_MS 1200 /* two pauses and a bit */
/* In that time: a few attempts for each pause, some turns for each. What spins has ten thousands. */
#define TURNS_MAX 200

/* As many descriptors as there are now and none more; the limit as it was before. */
static struct rlimit use_up(void)
{
    struct rlimit before, now;
    int last = dup(0);
    ck_assert_int_ge(last, 0);
    close(last);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = (struct rlimit){.rlim_cur = (rlim_t)last, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
    ck_assert_int_eq(dup(0), -1);
    return before;
}

static unsigned turns_in(unsigned ms)
{
    bool over = false;
    unsigned turns = 0;
    const struct timeval time = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
    struct event *timer = evtimer_new(f.base, out_of_patience, &over);
    event_add(timer, &time);
    for (; !over; turns++)
        event_base_loop(f.base, EVLOOP_ONCE);
    event_free(timer);
    return turns;
}

TEST(out_of_descriptors)
{
    struct client c[3];
    for (size_t i = 0; i < array_len(c); i++)
        client_init(&c[i], "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    struct rlimit before = use_up();
    unsigned turns = turns_in(WATCHED_MS);
    ck_assert_msg(turns < TURNS_MAX, "%u turns of the loop", turns);
    ck_assert_uint_eq(server_connections(f.server), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < array_len(c); i++) {
        turn_until(is_closed, &c[i], "each was answered");
        ck_assert(str_has_prefix(buf_str(&c[i].got), "HTTP/1.1 200"));
        client_fini(&c[i]);
    }
    expect_still_serving();
    ck_assert_uint_eq(log_count(f.log.fd, "cannot accept"), 1);
    ck_assert_uint_eq(log_count(f.log.fd, "Too many open files"), 1);
}

/* While it waits, its end must not wait. */
TEST(freed_in_a_pause)
{
    struct client c;
    client_init(&c, "");
    struct rlimit before = use_up();
    (void)turns_in(100);
    server_free(f.server);
    f.server = NULL;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    (void)turns_in(600);
    client_fini(&c);
}

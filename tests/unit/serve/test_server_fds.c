/* The server while the process is out of file descriptors: it waits, says so once, and goes on by itself. */
#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/metrics.h"
#include "serve/server.h"

#define CLIENTS 3
#define WATCHED_MS 1200 /* two pauses and a bit */
/* In that time: a few attempts for each pause, some turns for each. What spins has ten thousands. */
#define TURNS_MAX 200
#define PATIENCE_S 20

static bool fine(void *arg, struct buf *body)
{
    (void)arg;
    (void)body;
    return true;
}

static const struct server_callbacks callbacks = {.ready = fine, .alive = fine};

static int client(uint16_t port)
{
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)),
                     0); /* the kernel takes it, not the server */
    ck_assert_int_eq(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

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
    ck_assert_int_eq(errno, EMFILE);
    return before;
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    *(bool *)arg = true;
}

static unsigned turns_in(struct event_base *base, unsigned ms)
{
    bool over = false;
    unsigned turns = 0;
    const struct timeval time = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
    struct event *timer = evtimer_new(base, on_time, &over);
    event_add(timer, &time);
    for (; !over; turns++)
        event_base_loop(base, EVLOOP_ONCE);
    event_free(timer);
    return turns;
}

static void turn_until_answered(struct event_base *base, int fd)
{
    char head[16] = "";
    bool late = false;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct event *timer = evtimer_new(base, on_time, &late);
    event_add(timer, &patience);
    while (recv(fd, head, sizeof(head) - 1, 0) < 12) {
        event_base_loop(base, EVLOOP_ONCE);
        ck_assert_msg(!late, "no answer");
    }
    event_free(timer);
    ck_assert_msg(strncmp(head, "HTTP/1.1 200", 12) == 0, "%s", head);
}

static unsigned lines_about_it(int fd)
{
    char text[8192];
    ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
    unsigned count = 0;
    ck_assert_int_ge(len, 0);
    text[len] = '\0';
    for (const char *at = text; (at = strstr(at, "cannot accept")) != NULL; at++)
        count++;
    ck_assert(count == 0 || strstr(text, "Too many open files") != NULL);
    return count;
}

START_TEST(out_of_descriptors)
{
    struct error err = {0};
    struct event_base *base = event_base_new();
    struct metrics *metrics = metrics_new();
    FILE *said = tmpfile();
    ck_assert_ptr_nonnull(said);
    const struct log log = {.level = LOG_LEVEL_INFO, .format = LOG_FORMAT_LOGFMT, .fd = fileno(said)};
    struct server *server = server_new(base, "127.0.0.1", 0, metrics, &log, &callbacks, NULL, &err);
    ck_assert_msg(server != NULL, "%s", err.message);
    int clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = client(server_port(server));
    struct rlimit before = use_up();
    unsigned turns = turns_in(base, WATCHED_MS);
    ck_assert_msg(turns < TURNS_MAX, "%u turns of the loop", turns);
    ck_assert_uint_eq(server_connections(server), 0);
    ck_assert_uint_eq(lines_about_it(fileno(said)), 1);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < CLIENTS; i++) {
        turn_until_answered(base, clients[i]);
        close(clients[i]);
    }
    /* And it takes one that comes later. */
    clients[0] = client(server_port(server));
    turn_until_answered(base, clients[0]);
    close(clients[0]);
    ck_assert_uint_eq(lines_about_it(fileno(said)), 1);
    server_free(server);
    event_base_free(base);
    metrics_free(metrics);
    fclose(said);
}
END_TEST

/* While it waits, its end must not wait. */
START_TEST(freed_in_a_pause)
{
    struct error err = {0};
    struct event_base *base = event_base_new();
    struct metrics *metrics = metrics_new();
    struct server *server = server_new(base, "127.0.0.1", 0, metrics, NULL, &callbacks, NULL, &err);
    ck_assert_msg(server != NULL, "%s", err.message);
    int fd = client(server_port(server));
    struct rlimit before = use_up();
    (void)turns_in(base, 100);
    server_free(server);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    (void)turns_in(base, 600);
    event_base_free(base);
    metrics_free(metrics);
    close(fd);
}
END_TEST

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    Suite *s = suite_create("server_fds");
    TCase *t = tcase_create("server_fds");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, out_of_descriptors);
    tcase_add_test(t, freed_in_a_pause);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

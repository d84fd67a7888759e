/* host/systemd against a socket of our own in the supervisor's place. */
#include "host/systemd.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../folder.h"
#include "../log_file.h"

#define START_MS UINT64_C(1000000)

static char name[64]; /* as in NOTIFY_SOCKET */
static int supervisor = -1;
static struct notify *n;

/* Listens under `name`. */
static void listen_there(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    memcpy(at.sun_path, name, len + 1);
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    supervisor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(supervisor, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '@' ? 0 : 1));
    ck_assert_msg(bind(supervisor, (struct sockaddr *)&at, size) == 0, "%s: %m", name);
}

static void go_away(void)
{
    close(supervisor);
    supervisor = -1;
    unlink(name);
}

static void set_up(void)
{
    folder_make();
    snprintf(name, sizeof(name), "%s/notify", folder);
    log_begin();
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

static void tear_down(void)
{
    notify_free(n);
    n = NULL;
    if (supervisor >= 0)
        close(supervisor);
    supervisor = -1;
    log_end();
    folder_remove();
}

/* The next datagram; "" where there is none. */
static const char *told(void)
{
    static char text[4096];
    ssize_t len = recv(supervisor, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (len < 0)
        ck_assert_int_eq(errno, EAGAIN);
    text[len > 0 ? len : 0] = '\0';
    return len == 0 ? "a datagram without content" : text;
}

static void start(const char *watchdog_usec)
{
    notify_free(n);
    if (supervisor < 0)
        listen_there();
    setenv("NOTIFY_SOCKET", name, 1);
    if (watchdog_usec != NULL)
        setenv("WATCHDOG_USEC", watchdog_usec, 1);
    n = notify_new(&log_to_file);
    ck_assert_ptr_nonnull(n);
}

FIXTURE(set_up, tear_down)

TEST(nobody_wants_to_know)
{
    ck_assert_ptr_null(notify_new(&log_to_file));
    setenv("NOTIFY_SOCKET", "", 1);
    setenv("WATCHDOG_USEC", "30000000", 1);
    ck_assert_ptr_null(notify_new(&log_to_file));
    ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
    notify_send(NULL, NOTIFY_READY, "ready", START_MS);
    notify_reloading(NULL, START_MS * 1000);
    ck_assert_uint_eq(notify_next_ms(NULL, 1000), 1000);
    notify_free(NULL);
    ck_assert_uint_eq(times_logged("\n"), 0);
}

TEST(a_state_is_sent_once)
{
    start(NULL);
    ck_assert_str_eq(told(), "");
    notify_send(n, NOTIFY_READY, "not ready: a", START_MS);
    ck_assert_str_eq(told(), "READY=1\nSTATUS=not ready: a\n");
    notify_send(n, NOTIFY_READY, "not ready: a", START_MS + 1000);
    ck_assert_str_eq(told(), "");
    notify_send(n, NOTIFY_READY, "ready", START_MS + 2000);
    ck_assert_str_eq(told(), "STATUS=ready\n");
    notify_send(n, NOTIFY_STOPPING, "stopping", START_MS + 3000);
    ck_assert_str_eq(told(), "STOPPING=1\nSTATUS=stopping\n");
    notify_send(n, NOTIFY_STOPPING, "stopping", START_MS + 4000);
    ck_assert_str_eq(told(), "");
    ck_assert_uint_eq(times_logged("\n"), 0);
}

TEST(a_reload_begins_and_ends)
{
    start(NULL);
    notify_reloading(n, 77); /* before it is ready there is nothing to reload */
    ck_assert_str_eq(told(), "");
    notify_send(n, NOTIFY_READY, "ready", START_MS);
    ck_assert_str_eq(told(), "READY=1\nSTATUS=ready\n");
    notify_reloading(n, 123456789);
    ck_assert_str_eq(told(), "RELOADING=1\nMONOTONIC_USEC=123456789\n");
    notify_send(n, NOTIFY_READY, "ready", START_MS);
    ck_assert_str_eq(told(), "READY=1\n");
    notify_send(n, NOTIFY_STOPPING, "ready", START_MS);
    ck_assert_str_eq(told(), "STOPPING=1\n");
    notify_reloading(n, 123456789);
    ck_assert_str_eq(told(), "");
}

TEST(abstract_name)
{
    snprintf(name, sizeof(name), "@test_notify-%d", getpid());
    start(NULL);
    notify_send(n, NOTIFY_READY, "ready", START_MS);
    ck_assert_str_eq(told(), "READY=1\nSTATUS=ready\n");
}

TEST(environment_is_not_for_children)
{
    setenv("WATCHDOG_PID", "1", 1);
    start("30000000");
    ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
    ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
    ck_assert_ptr_null(getenv("WATCHDOG_PID"));
}

/* ---- the watchdog */

/* Calls notify_send as a timer would, which is `late_ms` late each time, for a minute; the longest silence. */
static uint64_t longest_silence_ms(uint64_t wanted_ms, uint64_t late_ms)
{
    uint64_t now_ms = START_MS, last_ms = START_MS, longest_ms = 0, next_ms;
    for (; now_ms < START_MS + 60000; now_ms += next_ms + late_ms) {
        next_ms = notify_next_ms(n, wanted_ms);
        notify_send(n, NOTIFY_READY, "ready", now_ms);
        if (strstr(told(), "WATCHDOG=1\n") == NULL)
            continue;
        longest_ms = now_ms - last_ms > longest_ms ? now_ms - last_ms : longest_ms;
        last_ms = now_ms;
    }
    return longest_ms;
}

TEST(the_watchdog_is_fed_in_half_of_its_time)
{
    static const struct {
        const char *usec;
        uint64_t half_ms;
    } rows[] = {{"30000000", 15000}, {"4000000", 2000}, {"2000000", 1000}, {"1000000", 500}, {"200000", 100}};
    for (size_t i = 0; i < array_len(rows); i++) {
        start(rows[i].usec);
        uint64_t silence_ms = longest_silence_ms(1000, 0);
        ck_assert_msg(silence_ms <= rows[i].half_ms, "%s us: %llu ms", rows[i].usec, (unsigned long long)silence_ms);
        /* Nor all the time. */
        ck_assert_uint_ge(silence_ms, rows[i].half_ms > 1000 ? rows[i].half_ms - 1000 : rows[i].half_ms);
    }
}

TEST(a_loop_that_is_slow_is_not_dead)
{
    start("4000000");
    ck_assert_uint_lt(longest_silence_ms(1000, 900), 4000);
}

TEST(without_a_watchdog_nothing_is_fed)
{
    static const char *const rows[][2] = {{NULL, NULL},
                                          {"0", NULL},
                                          {"-1", NULL},
                                          {"30s", NULL},
                                          {"3000000", "1"},
                                          {"3000000", "x"},
                                          {"3000000", ""},
                                          {"", NULL},
                                          {"1e6", NULL},
                                          {"3000000 ", NULL},
                                          {"99999999999999999999", NULL}};
    for (size_t i = 0; i < array_len(rows); i++) {
        if (rows[i][1] != NULL)
            setenv("WATCHDOG_PID", rows[i][1], 1);
        start(rows[i][0]);
        ck_assert_uint_eq(notify_next_ms(n, 1000), 1000);
        notify_send(n, NOTIFY_READY, "ready", START_MS);
        ck_assert_str_eq(told(), "READY=1\nSTATUS=ready\n");
        notify_send(n, NOTIFY_READY, "ready", START_MS + 100000);
        ck_assert_str_eq(told(), "");
    }
}

TEST(the_watchdog_of_our_own_pid)
{
    cleanup(mem_free_ptr) char *pid = mem_printf("%d", getpid());
    setenv("WATCHDOG_PID", pid, 1);
    start("30000000");
    ck_assert_uint_eq(notify_next_ms(n, 1000), 1000);
    notify_send(n, NOTIFY_READY, "ready", START_MS);
    ck_assert_str_eq(told(), "READY=1\nSTATUS=ready\nWATCHDOG=1\n");
}

/* ---- a supervisor that does not take it */

TEST(what_did_not_get_through_is_sent_later)
{
    start("30000000");
    go_away();
    for (uint64_t i = 0; i < 3; i++)
        notify_send(n, NOTIFY_READY, "ready", START_MS + i * 1000);
    ck_assert_uint_eq(times_logged("level=warn"), 1);
    ck_assert_uint_eq(times_logged("cannot notify systemd"), 1);
    ck_assert_uint_eq(times_logged(name), 1);
    listen_there(); /* another one, by the same name */
    notify_send(n, NOTIFY_READY, "ready", START_MS + 3000);
    ck_assert_str_eq(told(), "READY=1\nSTATUS=ready\nWATCHDOG=1\n");
    ck_assert_uint_eq(times_logged("notifying systemd works again"), 1);
    notify_send(n, NOTIFY_READY, "ready", START_MS + 4000);
    ck_assert_str_eq(told(), "");
    go_away(); /* another time, another line */
    notify_send(n, NOTIFY_READY, "not ready", START_MS + 5000);
    ck_assert_uint_eq(times_logged("cannot notify systemd"), 2);
}

/* Returning at all is what is tested: a call that waits for room would wait for ever. */
TEST(a_full_queue_is_not_waited_for)
{
    start(NULL);
    for (unsigned i = 0; times_logged("cannot notify systemd") == 0; i++) {
        ck_assert_uint_lt(i, 100000);
        cleanup(mem_free_ptr) char *status = mem_printf("%u", i);
        notify_send(n, NOTIFY_READY, status, START_MS);
    }
    notify_send(n, NOTIFY_STOPPING, "stopping", START_MS);
    while (*told() != '\0')
        ;
    notify_send(n, NOTIFY_STOPPING, "stopping", START_MS);
    ck_assert_str_eq(told(), "STOPPING=1\nSTATUS=stopping\n");
}

TEST(no_address_of_a_socket)
{
    static const char too_long[] = "/0123456789012345678901234567890123456789012345678901234567890123456789012345678901"
                                   "2345678901234567890123456789";
    static const char *const rows[] = {"relative", "vsock:2:1234", "/", "@", too_long};
    for (size_t i = 0; i < array_len(rows); i++) {
        setenv("NOTIFY_SOCKET", rows[i], 1);
        ck_assert_msg(notify_new(&log_to_file) == NULL, "%s", rows[i]);
        ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
        ck_assert_uint_eq(times_logged("level=warn"), i + 1);
    }
}

/* src/base/log: what a line looks like, what it leaves out, what nobody can forge. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"

#include "../effort.h"
#include "../test.h"

static char line[8192];

/* Writes one line through a pipe and leaves it, without its time, in `line`. */
static void capture(enum log_format format, enum log_level threshold, enum log_level level, const char *msg,
                    const struct log_field *fields)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    const struct log log = {.level = threshold, .format = format, .fd = fds[1]};
    log_write(&log, level, msg, fields);
    close(fds[1]);
    ssize_t n = read(fds[0], line, sizeof(line) - 1);
    ck_assert_int_ge(n, 0);
    line[n] = '\0';
    close(fds[0]);
}

static const char *without_time(void)
{
    const char *level = strstr(line, "level");
    ck_assert_ptr_nonnull(level);
    return level;
}

TEST(logfmt_quotes_what_needs_it)
{
    const struct log_field fields[] = {
        log_str("a", "plain"),           log_str("b", "two words"), log_str("c", "q\"x\\y"), log_str("d", ""),
        log_str("left", NULL),           log_int("n", -5),          log_bool("yes", true),   log_us_as_ms("ms", 1250),
        log_if(false, log_int("no", 1)), {LOG_FIELD_END, 0, 0, 0}};
    capture(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO, LOG_LEVEL_WARN, "hello there", fields);
    ck_assert_str_eq(
        without_time(),
        "level=warn msg=\"hello there\" a=plain b=\"two words\" c=\"q\\\"x\\\\y\" d=\"\" n=-5 yes=true ms=1.2\n");
    ck_assert(str_has_prefix(line, "time=20"));
}

TEST(json_is_json)
{
    const struct log_field fields[] = {
        log_str("a", "x\ty\x01z"), log_int("n", 7), log_bool("no", false), {LOG_FIELD_END, 0, 0, 0}};
    capture(LOG_FORMAT_JSON, LOG_LEVEL_DEBUG, LOG_LEVEL_DEBUG, "m", fields);
    ck_assert(str_has_prefix(line, "{\"time\":\"20"));
    ck_assert_str_eq(strstr(line, "\"level\""),
                     "\"level\":\"debug\",\"msg\":\"m\",\"a\":\"x\\u0009y\\u0001z\",\"n\":7,\"no\":false}\n");
}

TEST(a_value_cannot_forge_a_line)
{
    const struct log_field fields[] = {log_str("a", "x\nlevel=error msg=forged"), {LOG_FIELD_END, 0, 0, 0}};
    capture(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO, LOG_LEVEL_INFO, "m", fields);
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    ck_assert_ptr_nonnull(strstr(line, "a=\"x\\nlevel=error msg=forged\""));
}

TEST(below_the_threshold_nothing)
{
    const struct log_field end = {LOG_FIELD_END, 0, 0, 0};
    capture(LOG_FORMAT_LOGFMT, LOG_LEVEL_WARN, LOG_LEVEL_INFO, "m", &end);
    ck_assert_str_eq(line, "");
    log_write(NULL, LOG_LEVEL_ERROR, "m", &end);
}

TEST(limit_holds_back_and_counts)
{
    struct log_limit l = {.period_ms = 1000};
    unsigned held = 9;
    ck_assert(log_limit_pass(&l, 5000, "a", &held) && held == 0);
    ck_assert(!log_limit_pass(&l, 5001, "a", &held));
    ck_assert(!log_limit_pass(&l, 5999, "a", &held));
    ck_assert(log_limit_pass(&l, 6000, "a", &held) && held == 2);
    ck_assert(!log_limit_pass(&l, 6001, "a", &held));
    ck_assert(log_limit_pass(&l, 6002, "b", &held) && held == 1);
    ck_assert(!log_limit_pass(&l, 6003, "b", NULL));
    log_limit_reset(&l);
    ck_assert(log_limit_pass(&l, 6004, "b", &held) && held == 0);
}

TEST(limit_of_messages_compares_their_words)
{
    unsigned held = 7;
    struct log_limit l = {.period_ms = 1000};
    ck_assert(log_limit_pass_message(&l, 1, "commit 1-a2: HTTP 500: after 3 ms", &held) && held == 0);
    ck_assert(!log_limit_pass_message(&l, 2, "commit f-9e: HTTP 503: after 14 ms", &held));
    ck_assert(log_limit_pass_message(&l, 3, "begin 1-a2: HTTP 500: after 3 ms", &held) && held == 1);
    ck_assert(log_limit_pass_message(&l, 4, "begin 1-a2: HTTP 500: after 3 s", &held) && held == 0);
    ck_assert(log_limit_pass_message(&l, 5, "", NULL));
    ck_assert(!log_limit_pass_message(&l, 6, "12", &held));
}

TEST(limit_of_messages_that_take_turns)
{
    static const char *const faces[] = {"reset", "broken pipe", "unknown ca", "timeout"};
    unsigned held = 0, passed = 0;
    struct log_limit l = {.period_ms = 1000};
    for (uint64_t t = 0; t < 1000; t += 10)
        passed += log_limit_pass_message(&l, 5000 + t, faces[t / 10 % array_len(faces)], &held);
    ck_assert_uint_eq(passed, array_len(faces));
    ck_assert(log_limit_pass_message(&l, 6000, "reset", &held) && held == 96);
    ck_assert(log_limit_pass_message(&l, 6001, "a fifth", &held) && held == 0);
    ck_assert(!log_limit_pass_message(&l, 6002, "reset", &held));
    log_limit_reset(&l);
    ck_assert(log_limit_pass_message(&l, 6003, "reset", &held) && held == 0);
    ck_assert(log_limit_pass_message(&l, 6004, "a fifth", &held) && held == 0);
}

/* What is logged whenever it changes has to be logged when it changes back. */
TEST(limit_of_what_changes_back)
{
    unsigned held;
    struct log_limit l = {.period_ms = 1000};
    ck_assert(log_limit_pass(&l, 1, "a", &held) && log_limit_pass(&l, 2, "b", &held));
    ck_assert(log_limit_pass(&l, 3, "a", &held));
}

static struct log_losses losses;
static struct log slow;
static int reader;
static struct buf was_read;
static unsigned taken; /* lines of ours */

static void open_slow(int fd_read, int fd_write)
{
    losses = (struct log_losses){0};
    slow = (struct log){.level = LOG_LEVEL_INFO, .fd = fd_write, .losses = &losses};
    reader = fd_read;
    taken = 0;
    buf_init(&was_read, 0);
    signal(SIGALRM, SIG_DFL); /* check's own handler ends the whole process group, where it does not fork */
    alarm(30);                /* ends a write that waits */
    ck_assert_int_ne(fcntl(reader, F_SETFL, fcntl(reader, F_GETFL) | O_NONBLOCK), -1);
}

static void close_slow(void)
{
    close(reader);
    close(slow.fd);
    buf_fini(&was_read);
}

static void open_pipe(int bytes)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_ge(fcntl(fds[1], F_SETPIPE_SZ, bytes), bytes);
    open_slow(fds[0], fds[1]);
}

/* A line about that long. True: it was taken. */
static bool say(size_t len)
{
    cleanup(mem_free_ptr) char *text = mem_alloc(len + 1);
    uint64_t dropped = losses.dropped;
    memset(text, 'x', len);
    log_info(&slow, "m", log_str("text", text));
    taken += losses.dropped == dropped;
    return losses.dropped == dropped;
}

/* Up to so many bytes. */
static void drain(size_t most)
{
    char bytes[65536];
    while (most > 0) {
        ssize_t n = read(reader, bytes, most < sizeof(bytes) ? most : sizeof(bytes));
        if (n <= 0)
            return;
        buf_addn(&was_read, bytes, (size_t)n);
        most -= (size_t)n;
    }
}

/* All that was taken has arrived, in whole lines; what was not is counted in others. */
static void assert_whole_lines(void)
{
    unsigned lines = 0;
    unsigned long long told = 0;
    for (const char *at = buf_str(&was_read); *at != '\0'; lines++) {
        const char *end = strchr(at, '\n');
        ck_assert_ptr_nonnull(end);
        const char *count = memmem(at, (size_t)(end - at), " dropped=", 9);
        ck_assert(str_has_prefix(at, "time=20"));
        ck_assert_ptr_eq(memmem(at + 1, (size_t)(end - at), "time=", 5), NULL);
        if (count != NULL) {
            told += strtoull(count + strlen(" dropped="), NULL, 10);
            lines--;
        }
        at = end + 1;
    }
    ck_assert_uint_eq(lines, taken);
    ck_assert_uint_eq(told, losses.reported);
}

static void fill(size_t len)
{
    for (int i = 0; i < 100000; i++)
        if (!say(len))
            return;
    ck_abort_msg("it never was full");
}

static void assert_told_when_it_flows_again(void)
{
    ck_assert_uint_eq(log_dropped(&slow), 1);
    ck_assert(!say(100) && !say(100));
    ck_assert_uint_eq(losses.dropped, 3);
    log_report_losses(&slow);
    ck_assert_uint_eq(losses.reported, 0); /* no room for that either */
    drain(SIZE_MAX);
    log_report_losses(&slow);
    ck_assert_uint_eq(losses.reported, 3);
    log_report_losses(&slow); /* once */
    ck_assert(say(100));
    buf_clear(&was_read);
    drain(SIZE_MAX);
    ck_assert_ptr_nonnull(strstr(buf_str(&was_read), " level=warn msg=\"log lines dropped"));
    ck_assert_ptr_nonnull(strstr(buf_str(&was_read), " dropped=3\n"));
    taken = 1;
    assert_whole_lines();
    fill(100); /* another time: what came since */
    drain(SIZE_MAX);
    buf_clear(&was_read);
    log_report_losses(&slow);
    drain(SIZE_MAX);
    ck_assert_ptr_nonnull(strstr(buf_str(&was_read), " dropped=1\n"));
}

FIXTURE(NULL, close_slow)

TEST(a_full_pipe_drops_lines_and_says_how_many)
{
    open_pipe(65536);
    fill(100);
    assert_told_when_it_flows_again();
}

TEST(the_next_line_says_so_first)
{
    open_pipe(8192);
    slow.level = LOG_LEVEL_ERROR; /* it is logged whatever the level */
    for (int i = 0; i < 1000 && losses.dropped == 0; i++)
        log_error(&slow, "m", log_str("text", "0123456789012345678901234567890123456789"));
    drain(SIZE_MAX);
    log_info(&slow, "below the threshold");
    buf_clear(&was_read);
    log_error(&slow, "last");
    drain(SIZE_MAX);
    const char *count = strstr(buf_str(&was_read), " dropped=1\n"), *last = strstr(buf_str(&was_read), "msg=last\n");
    ck_assert(count != NULL && last != NULL && count < last);
}

TEST(a_full_socket_drops_lines)
{
    int fds[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    open_slow(fds[0], fds[1]);
    fill(5000);
    assert_told_when_it_flows_again();
}

TEST(a_terminal_that_was_stopped_drops_lines)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    ck_assert(grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int fd = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(fd, 0);
    open_slow(terminal, fd);
    ck_assert(say(100));
    ck_assert_int_eq(tcflow(fd, TCOOFF), 0);
    ck_assert(!say(100));
    ck_assert_int_eq(tcflow(fd, TCOON), 0);
    ck_assert(say(100));
    ck_assert_uint_eq(losses.reported, 1);
}

TEST(a_reader_that_is_gone_is_no_end)
{
    open_pipe(4096);
    close(reader);
    reader = -1;
    signal(SIGPIPE, SIG_IGN);
    ck_assert(!say(10));
    slow.losses = NULL; /* nobody counts */
    log_info(&slow, "m");
    log_report_losses(&slow);
    ck_assert_uint_eq(log_dropped(&slow), 0);
    ck_assert_uint_eq(log_dropped(NULL), 0);
}

/* Beyond PIPE_BUF a pipe takes a part and waits with the rest. */
TEST(a_long_line_goes_whole_or_not_at_all)
{
    open_pipe(65536);
    ck_assert(say(50000));
    ck_assert(!say(5000));
    ck_assert(say(100));
    drain(SIZE_MAX);
    ck_assert(say(5000) && say(5000));
    ck_assert(!say(70000)); /* nor ever */
    drain(SIZE_MAX);
    assert_whole_lines();
    close_slow();
    open_pipe(8192);
    ck_assert(!say(PIPE_BUF) && say(100));
}

TEST_EACH(lines_of_all_sizes_and_a_reader_that_stops_anywhere, effort(8) + 1)
{
    unsigned seed = (unsigned)_i + 1;
    open_pipe(_i % 2 == 0 ? 65536 : 16384);
    for (int i = 0; i < 3000; i++) {
        say(rand_r(&seed) % 3 == 0 ? (size_t)rand_r(&seed) % 14000 : (size_t)rand_r(&seed) % 300);
        if (rand_r(&seed) % 3 == 0)
            drain((size_t)rand_r(&seed) % 20000);
    }
    ck_assert_uint_gt(losses.dropped, 50);
    ck_assert_uint_gt(taken, 100);
    drain(SIZE_MAX);
    assert_whole_lines();
}

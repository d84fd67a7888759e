/* src/base: errors, buffers, strings, backoff. test_log.c has the log lines. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/sorted.h"

#include "../test.h"

TEST(error_is_filled_and_escaped)
{
    ck_assert_int_eq(error_set(&flaw, ERROR_RETRY, "name \"%s\"", "a\nb\x1b[2J"), -1);
    ck_assert_str_eq(flaw.message, "name \"a b\\x1b[2J\"");
    ck_assert_int_eq(flaw.kind, ERROR_RETRY);
    ck_assert_int_eq(error_prefix(&flaw, "reading %s", "x"), -1);
    ck_assert_str_eq(flaw.message, "reading x: name \"a b\\x1b[2J\"");
    ck_assert_int_eq(flaw.kind, ERROR_RETRY);
    ck_assert_int_eq(error_set(NULL, ERROR_RETRY, "nobody listens"), -1);
}

TEST(error_too_long_ends_in_dots)
{
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    error_set(&flaw, ERROR_INVALID, "%s", text);
    ck_assert_uint_lt(strlen(flaw.message), ERROR_MESSAGE_BYTES);
    ck_assert(str_has_suffix(flaw.message, "x..."));
    error_prefix(&flaw, "%s", text);
    ck_assert_uint_lt(strlen(flaw.message), ERROR_MESSAGE_BYTES);
    memset(text, '\x01', sizeof(text) - 1);
    error_set(&flaw, ERROR_INVALID, "%s", text);
    ck_assert_uint_lt(strlen(flaw.message), ERROR_MESSAGE_BYTES);
    ck_assert(str_has_suffix(flaw.message, "\\x01..."));
}

TEST(error_kind_by_http_status)
{
    static const struct {
        int status;
        enum error_kind kind;
    } rows[] = {{200, ERROR_NONE},  {204, ERROR_NONE},     {301, ERROR_INVALID}, {400, ERROR_INVALID},
                {401, ERROR_AUTH},  {403, ERROR_AUTH},     {404, ERROR_GONE},    {406, ERROR_CONFLICT},
                {408, ERROR_RETRY}, {409, ERROR_CONFLICT}, {410, ERROR_GONE},    {422, ERROR_INVALID},
                {429, ERROR_RETRY}, {500, ERROR_RETRY},    {503, ERROR_RETRY},   {504, ERROR_RETRY},
                {0, ERROR_RETRY}};
    for (size_t i = 0; i < array_len(rows); i++) {
        struct error err = {0};
        error_set_http(&err, rows[i].status, "x");
        ck_assert_msg(err.kind == rows[i].kind, "status %d gave %s", rows[i].status, error_kind_name(err.kind));
        ck_assert_int_eq(err.http_status, rows[i].status);
    }
}

TEST(buf_keeps_its_cap)
{
    cleanup(buf_fini) struct buf b;
    buf_init(&b, 5);
    ck_assert_str_eq(buf_str(&b), "");
    ck_assert_int_eq(buf_append(&b, "abc", 3), 0);
    ck_assert_int_eq(buf_append(&b, "def", 3), -1);
    ck_assert_str_eq(buf_str(&b), "abc");
    ck_assert_int_eq(buf_append(&b, "de", 2), 0);
    ck_assert_int_eq(buf_append(&b, "", 0), 0);
    ck_assert_int_eq(buf_append(&b, "x", SIZE_MAX), -1);
    buf_consume(&b, 2);
    ck_assert_str_eq(buf_str(&b), "cde");
    buf_consume(&b, 99);
    ck_assert_uint_eq(b.len, 0);
    ck_assert_str_eq(buf_str(&b), "");
}

TEST(buf_grows_and_is_taken)
{
    cleanup(buf_fini) struct buf b = {0};
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%d,", i);
    char *s = buf_take(&b);
    ck_assert(str_has_suffix(s, "998,999,"));
    ck_assert_ptr_null(b.data);
    free(s);
    s = buf_take(&b);
    ck_assert_str_eq(s, "");
    free(s);
}

TEST(buf_reads_files)
{
    char path[] = "/tmp/test_base_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "hello", 5), 5);
    close(fd);
    cleanup(buf_fini) struct buf b, small;
    buf_init(&b, 5);
    buf_init(&small, 4);
    ck_assert_int_eq(buf_read_file(&b, path), 0);
    ck_assert_str_eq(buf_str(&b), "hello");
    ck_assert_int_eq(buf_read_file(&small, path), -1);
    ck_assert_int_eq(errno, EFBIG);
    unlink(path);
    ck_assert_int_eq(buf_read_file(&b, path), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(buf_read_file(&b, "/"), -1);
    ck_assert_int_eq(errno, EISDIR);
}

TEST(uint_is_strict)
{
    static const struct {
        const char *s;
        uint64_t max;
        int status;
        uint64_t value;
    } rows[] = {{"0", 9, 0, 0},
                {"7", 9, 0, 7},
                {"10", 9, -1, 0},
                {"", 9, -1, 0},
                {"-1", 9, -1, 0},
                {"+1", 9, -1, 0},
                {" 1", 9, -1, 0},
                {"1 ", 9, -1, 0},
                {"0x1", 99, -1, 0},
                {"65535", 65535, 0, 65535},
                {"65536", 65535, -1, 0},
                {"0000001", 9, 0, 1},
                {"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
                {"18446744073709551616", UINT64_MAX, -1, 0},
                {"99999999999999999999999", UINT64_MAX, -1, 0},
                {"5", 3, -1, 0}};
    for (size_t i = 0; i < array_len(rows); i++) {
        uint64_t v = 0;
        ck_assert_msg(str_parse_uint(rows[i].s, rows[i].max, &v) == rows[i].status, "\"%s\"", rows[i].s);
        ck_assert_uint_eq(v, rows[i].value);
    }
}

TEST(bool_has_its_words)
{
    bool v = false;
    ck_assert(str_parse_bool("TRUE", &v) == 0 && v);
    ck_assert(str_parse_bool("off", &v) == 0 && !v);
    ck_assert(str_parse_bool("1", &v) == 0 && v);
    ck_assert(str_parse_bool("no", &v) == 0 && !v);
    ck_assert_int_eq(str_parse_bool("", &v), -1);
    ck_assert_int_eq(str_parse_bool("truee", &v), -1);
    ck_assert_int_eq(str_parse_bool("2", &v), -1);
}

TEST(str_controls_are_found)
{
    ck_assert(str_has_control("a\n") && str_has_control("\x1f") && str_has_control("a\x7f"));
    ck_assert(!str_has_control("") && !str_has_control("a b") && !str_has_control("\xc3\xa4"));
}

TEST(duration_is_gos)
{
    static const struct {
        const char *s;
        int status;
        uint64_t ms;
    } rows[] = {{"30s", 0, 30000},
                {"1m30s", 0, 90000},
                {"1.5h", 0, 5400000},
                {"250ms", 0, 250},
                {"0", 0, 0},
                {"0s", 0, 0},
                {"1h0m0.5s", 0, 3600500},
                {"+5s", 0, 5000},
                {"1500us", 0, 1},
                {"\xc2\xb5s", -1, 0},
                {"30", -1, 0},
                {"", -1, 0},
                {"s", -1, 0},
                {"-5s", -1, 0},
                {"5 s", -1, 0},
                {"5sec", -1, 0},
                {"5d", -1, 0},
                {".s", -1, 0},
                {".5s", 0, 500},
                {"1e3s", -1, 0},
                {"9999999h", -1, 0},
                {"25h", -1, 0},
                {"24h", 0, 86400000},
                {"+", -1, 0}};
    for (size_t i = 0; i < array_len(rows); i++) {
        uint64_t ms = 0;
        ck_assert_msg(str_parse_duration_ms(rows[i].s, 86400000, &ms) == rows[i].status, "\"%s\"", rows[i].s);
        ck_assert_msg(ms == rows[i].ms, "\"%s\" gave %llu", rows[i].s, (unsigned long long)ms);
    }
}

TEST(ip_families)
{
    ck_assert_int_eq(str_ip_family("10.0.0.1"), AF_INET);
    ck_assert_int_eq(str_ip_family("fd00::1"), AF_INET6);
    ck_assert_int_eq(str_ip_family("::ffff:10.0.0.1"), AF_INET6);
    ck_assert_int_eq(str_ip_family("10.0.0.256"), 0);
    ck_assert_int_eq(str_ip_family("10.0.0.01"), 0);
    ck_assert_int_eq(str_ip_family("10.1"), 0);
    ck_assert_int_eq(str_ip_family("fe80::1%eth0"), 0);
    ck_assert_int_eq(str_ip_family("[fd00::1]"), 0);
    ck_assert_int_eq(str_ip_family(""), 0);
}

TEST(url_encoding)
{
    char *s = str_url_encode("a b/c=d,e~f-1.2_\xc3\xa9%");
    ck_assert_str_eq(s, "a%20b%2Fc%3Dd%2Ce~f-1.2_%C3%A9%25");
    free(s);
}

TEST(distance_counts_edits)
{
    ck_assert_uint_eq(str_distance("HAPROXY_BACKEND", "HAPROXY_BACKEND", 3), 0);
    ck_assert_uint_eq(str_distance("HAPROXY_BACKND", "HAPROXY_BACKEND", 3), 1);
    ck_assert_uint_eq(str_distance("HAPROXY_BACKNED", "HAPROXY_BACKEND", 3), 1);
    ck_assert_uint_eq(str_distance("kitten", "sitting", 3), 3);
    ck_assert_uint_eq(str_distance("kitten", "sitting", 2), 3);
    ck_assert_uint_eq(str_distance("abc", "xyz", 2), 3);
    ck_assert_uint_eq(str_distance("", "ab", 3), 2);
}

static int compare_number(const void *key, const void *element)
{
    const int x = *(const int *)key, y = *(const int *)element;
    return (x > y) - (x < y);
}

/* Lists of every length with runs of equal ones, each key in, between and beyond them: as a search from the front says. */
TEST(sorted_place_is_that_of_the_first)
{
    static const int all[] = {2, 4, 4, 4, 6, 8, 8, 10, 10, 10, 10};
    for (size_t count = 0; count <= sizeof(all) / sizeof(all[0]); count++)
        for (int key = 1; key <= 11; key++) {
            size_t want = 0;
            while (want < count && all[want] < key)
                want++;
            ck_assert_uint_eq(sorted_place(&key, count > 0 ? all : NULL, count, sizeof(all[0]), compare_number), want);
        }
}

TEST(backoff_grows_to_its_cap_and_back)
{
    struct backoff b;
    backoff_init(&b, 800, 30000, 50, 7);
    uint64_t limit = 800, above_half = 0;
    for (int i = 0; i < 40; i++) {
        uint64_t wait = backoff_next_ms(&b);
        ck_assert_uint_ge(wait, 50);
        ck_assert_uint_le(wait, limit);
        above_half += wait > limit / 2;
        limit = limit * 2 > 30000 ? 30000 : limit * 2;
    }
    ck_assert_msg(above_half > 5 && above_half < 35, "jitter is not spread: %llu of 40",
                  (unsigned long long)above_half);
    backoff_reset(&b);
    ck_assert_uint_le(backoff_next_ms(&b), 800);
}

TEST(two_seeds_two_series)
{
    struct backoff a, b;
    backoff_init(&a, 1000000, 1000000, 0, backoff_random_seed());
    backoff_init(&b, 1000000, 1000000, 0, backoff_random_seed());
    int same = 0;
    for (int i = 0; i < 10; i++)
        same += backoff_next_ms(&a) == backoff_next_ms(&b);
    ck_assert_int_lt(same, 10);
}

TEST(clock_goes_forward)
{
    uint64_t us = clock_mono_us();
    ck_assert_uint_ge(clock_mono_us(), us);
    ck_assert_uint_ge(clock_mono_ms(), us / 1000);
    ck_assert_uint_gt(clock_wall_ms(), 1700000000000u);
}

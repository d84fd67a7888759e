/* src/base/log: what a line looks like, what it leaves out, what nobody can forge. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

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

START_TEST(logfmt_quotes_what_needs_it)
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
END_TEST

START_TEST(json_is_json)
{
    const struct log_field fields[] = {
        log_str("a", "x\ty\x01z"), log_int("n", 7), log_bool("no", false), {LOG_FIELD_END, 0, 0, 0}};
    capture(LOG_FORMAT_JSON, LOG_LEVEL_DEBUG, LOG_LEVEL_DEBUG, "m", fields);
    ck_assert(str_has_prefix(line, "{\"time\":\"20"));
    ck_assert_str_eq(strstr(line, "\"level\""),
                     "\"level\":\"debug\",\"msg\":\"m\",\"a\":\"x\\u0009y\\u0001z\",\"n\":7,\"no\":false}\n");
}
END_TEST

START_TEST(bytes_that_are_no_utf8_are_replaced)
{
    const struct log_field fields[] = {
        log_str("a", "ok \xc3\xa9 bad \xff\xc3(\xe2\x82 \xf0\x9f\x98\x80 \xc0\xaf \xed\xa0\x80"),
        {LOG_FIELD_END, 0, 0, 0}};
    capture(LOG_FORMAT_JSON, LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, "m", fields);
    ck_assert_ptr_nonnull(strstr(line, "\"a\":\"ok \xc3\xa9 bad \\ufffd\\ufffd(\\ufffd\\ufffd \xf0\x9f\x98\x80 "
                                       "\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\"}"));
}
END_TEST

/* A C1 control drives a terminal as an escape sequence does, and a mark of direction turns a line around. */
START_TEST(what_has_no_shape_is_escaped)
{
    const struct log_field fields[] = {log_str("a", "\xc2\x9b"
                                                    "31m \xe2\x80\xae \xe2\x80\xa8 \xf3\xa0\x80\x81 \xc2\xa1"),
                                       {LOG_FIELD_END, 0, 0, 0}};
    capture(LOG_FORMAT_LOGFMT, LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, "m", fields);
    ck_assert_ptr_nonnull(strstr(line, "a=\"\\u009b31m \\u202e \\u2028 \\udb40\\udc01 \xc2\xa1\""));
}
END_TEST

START_TEST(a_value_cannot_forge_a_line)
{
    const struct log_field fields[] = {log_str("a", "x\nlevel=error msg=forged"), {LOG_FIELD_END, 0, 0, 0}};
    capture(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO, LOG_LEVEL_INFO, "m", fields);
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    ck_assert_ptr_nonnull(strstr(line, "a=\"x\\nlevel=error msg=forged\""));
}
END_TEST

START_TEST(below_the_threshold_nothing)
{
    const struct log_field end = {LOG_FIELD_END, 0, 0, 0};
    capture(LOG_FORMAT_LOGFMT, LOG_LEVEL_WARN, LOG_LEVEL_INFO, "m", &end);
    ck_assert_str_eq(line, "");
    log_write(NULL, LOG_LEVEL_ERROR, "m", &end);
}
END_TEST

START_TEST(names_are_parsed)
{
    enum log_level level = LOG_LEVEL_DEBUG;
    enum log_format format = LOG_FORMAT_LOGFMT;
    ck_assert(log_level_parse("error", &level) == 0 && level == LOG_LEVEL_ERROR);
    ck_assert_int_eq(log_level_parse("ERROR", &level), -1);
    ck_assert(log_format_parse("json", &format) == 0 && format == LOG_FORMAT_JSON);
    ck_assert_int_eq(log_format_parse("", &format), -1);
}
END_TEST

START_TEST(limit_holds_back_and_counts)
{
    struct log_limit l = {.period_ms = 1000};
    unsigned held = 9;
    ck_assert(log_limit_pass(&l, 5000, "a", &held) && held == 0);
    ck_assert(!log_limit_pass(&l, 5001, "a", &held));
    ck_assert(!log_limit_pass(&l, 5999, "a", &held));
    ck_assert(log_limit_pass(&l, 6000, "a", &held) && held == 2);
    ck_assert(!log_limit_pass(&l, 6001, "a", &held));
    ck_assert(log_limit_pass(&l, 6002, "b", &held) && held == 1);
    ck_assert(!log_limit_pass(&l, 6003, "b", &held));
    log_limit_reset(&l);
    ck_assert(log_limit_pass(&l, 6004, "b", &held) && held == 0);
}
END_TEST

START_TEST(limit_of_messages_looks_at_their_words)
{
    unsigned held = 7;
    struct log_limit l = {.period_ms = 1000};
    ck_assert(log_limit_pass_message(&l, 1, "commit 1-a2: HTTP 500: after 3 ms", &held) && held == 0);
    ck_assert(!log_limit_pass_message(&l, 2, "commit f-9e: HTTP 503: after 14 ms", &held));
    ck_assert(log_limit_pass_message(&l, 3, "begin 1-a2: HTTP 500: after 3 ms", &held) && held == 1);
    ck_assert(log_limit_pass_message(&l, 4, "begin 1-a2: HTTP 500: after 3 s", &held) && held == 0);
    ck_assert(log_limit_pass_message(&l, 5, "", &held));
    ck_assert(!log_limit_pass_message(&l, 6, "12", &held));
}
END_TEST

START_TEST(limit_of_messages_that_take_turns)
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
END_TEST

/* What is told whenever it changes has to be told when it changes back. */
START_TEST(limit_of_what_changes_back)
{
    unsigned held;
    struct log_limit l = {.period_ms = 1000};
    ck_assert(log_limit_pass(&l, 1, "a", &held) && log_limit_pass(&l, 2, "b", &held));
    ck_assert(log_limit_pass(&l, 3, "a", &held));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *t = tcase_create("log");
    tcase_add_test(t, logfmt_quotes_what_needs_it);
    tcase_add_test(t, json_is_json);
    tcase_add_test(t, bytes_that_are_no_utf8_are_replaced);
    tcase_add_test(t, what_has_no_shape_is_escaped);
    tcase_add_test(t, a_value_cannot_forge_a_line);
    tcase_add_test(t, below_the_threshold_nothing);
    tcase_add_test(t, names_are_parsed);
    tcase_add_test(t, limit_holds_back_and_counts);
    tcase_add_test(t, limit_of_messages_looks_at_their_words);
    tcase_add_test(t, limit_of_messages_that_take_turns);
    tcase_add_test(t, limit_of_what_changes_back);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* src/kube/event_object: the JSON of an Event, to the byte, and what a message may be. The real answers to it are conformance's. */
#include "kube/event_object.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static const struct event_object object = {.namespace = "ing",
                                           .name = "web.0018f0a1b2c3d4e5",
                                           .service = "web",
                                           .service_uid = "870c809a-6131-452f-91f1-a2ae2e9dce82",
                                           .reason = "Synced",
                                           .message = "backend \"web\" is in step",
                                           .host = "pod-1",
                                           .first_ms = 1795302000999,
                                           .last_ms = 1795302061000,
                                           .count = 2};

START_TEST(a_new_one)
{
    cleanup(mem_free_ptr) char *json = event_encode_new(&object);
    ck_assert_str_eq(
        json, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":\"ing\",\"name\":\"web."
              "0018f0a1b2c3d4e5\"},"
              "\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"namespace\":\"ing\",\"name\":\"web\","
              "\"uid\":\"870c809a-6131-452f-91f1-a2ae2e9dce82\"},\"type\":\"Normal\",\"reason\":\"Synced\",\"count\":2,"
              "\"lastTimestamp\":\"2026-11-21T23:01:01Z\",\"message\":\"backend \\\"web\\\" is in step\","
              "\"firstTimestamp\":\"2026-11-21T23:00:00Z\",\"source\":{\"component\":\"haproxy-k8s-sync\",\"host\":"
              "\"pod-1\"},"
              "\"reportingComponent\":\"haproxy-k8s-sync\",\"reportingInstance\":\"pod-1\"}");
}
END_TEST

START_TEST(a_warning_on_a_service_that_is_not_known)
{
    struct event_object e = object;
    e.service_uid = NULL;
    e.warning = true;
    cleanup(mem_free_ptr) char *json = event_encode_new(&e);
    ck_assert_ptr_nonnull(strstr(json, "\"type\":\"Warning\""));
    ck_assert_ptr_null(strstr(json, "uid"));
}
END_TEST

START_TEST(one_that_is_there)
{
    cleanup(mem_free_ptr) char *json = event_encode_again(&object);
    ck_assert_str_eq(json,
                     "{\"count\":2,\"lastTimestamp\":\"2026-11-21T23:01:01Z\",\"message\":\"backend \\\"web\\\" is in "
                     "step\"}");
}
END_TEST

/* A clock that is wrong makes an odd Event, not an end. */
START_TEST(any_time)
{
    struct event_object e = object;
    e.first_ms = 0;
    e.last_ms = UINT64_MAX;
    cleanup(mem_free_ptr) char *json = event_encode_new(&e);
    ck_assert_ptr_nonnull(strstr(json, "\"firstTimestamp\":\"1970-01-01T00:00:00Z\""));
    ck_assert_ptr_nonnull(strstr(json, "\"lastTimestamp\":\"9999-12-31T23:59:59Z\""));
}
END_TEST

static void assert_message(const char *text, const char *expected)
{
    cleanup(mem_free_ptr) char *got = event_message(text);
    ck_assert_str_eq(got, expected);
}

START_TEST(messages_are_one_line_of_utf_8)
{
    assert_message("", "");
    assert_message("n1 drains", "n1 drains");
    assert_message("gr\xc3\xbcn \xe2\x82\xac", "gr\xc3\xbcn \xe2\x82\xac");
    assert_message("[ALERT] a\n\tb\r\n", "[ALERT] a  b  ");
    assert_message("a\x01\x1b[31mb\x7f", "a??[31mb?");
    assert_message("a\xff\xc3", "a??");
    assert_message("a\xe2\x80\xae"
                   "b",
                   "a?b"); /* right to left from here on */
}
END_TEST

START_TEST(a_long_message_is_cut_where_a_character_ends)
{
    for (size_t before = 1015; before < 1030; before++)
        for (size_t wide = 0; wide < 2; wide++) {
            cleanup(buf_fini) struct buf b;
            buf_init(&b, 0);
            for (size_t i = 0; i < before; i++)
                buf_add(&b, "x");
            buf_add(&b, wide ? "\xe2\x82\xac" : "yyy");
            cleanup(mem_free_ptr) char *got = event_message(buf_str(&b));
            size_t len = strlen(got);
            if (b.len <= EVENT_MESSAGE_MAX_BYTES) {
                ck_assert_str_eq(got, buf_str(&b));
                continue;
            }
            ck_assert_uint_le(len, EVENT_MESSAGE_MAX_BYTES);
            ck_assert_uint_ge(len, EVENT_MESSAGE_MAX_BYTES - 3);
            ck_assert_str_eq(got + len - 3, "...");
            ck_assert_int_eq(strncmp(got, buf_str(&b), len - 3), 0);
            ck_assert_msg(((unsigned char)got[len - 4] & 0xc0) != 0xc0, "half a character at %zu", before);
        }
}
END_TEST

START_TEST(a_message_of_wide_ones_alone)
{
    cleanup(buf_fini) struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < 2000; i++)
        buf_add(&b, "\xf0\x9f\x98\x80");
    cleanup(mem_free_ptr) char *got = event_message(buf_str(&b));
    ck_assert_uint_eq(strlen(got), 1023); /* 255 of four bytes */
    ck_assert_str_eq(got + 1020, "...");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kube/event_object");
    TCase *t = tcase_create("object");
    tcase_add_test(t, a_new_one);
    tcase_add_test(t, a_warning_on_a_service_that_is_not_known);
    tcase_add_test(t, one_that_is_there);
    tcase_add_test(t, any_time);
    tcase_add_test(t, messages_are_one_line_of_utf_8);
    tcase_add_test(t, a_long_message_is_cut_where_a_character_ends);
    tcase_add_test(t, a_message_of_wide_ones_alone);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}

/* src/kube/writer: the JSON of an Event, to the byte. The real answers to it are conformance's. */
#include "kube/writer.h"

#include "../test.h"

static const struct event_object object = {.namespace = "ing",
                                           .name = "web.0018f0a1b2c3d4e5",
                                           .kind = "Service",
                                           .about = "web",
                                           .uid = "870c809a-6131-452f-91f1-a2ae2e9dce82",
                                           .reason = "Synced",
                                           .message = "backend \"web\" is in step",
                                           .host = "pod-1",
                                           .first_ms = 1795302000999,
                                           .last_ms = 1795302061000,
                                           .count = 2};

TEST(a_new_one)
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

TEST(a_warning_on_a_service_that_is_not_known)
{
    struct event_object e = object;
    e.uid = NULL;
    e.warning = true;
    cleanup(mem_free_ptr) char *json = event_encode_new(&e);
    ck_assert_ptr_nonnull(strstr(json, "\"type\":\"Warning\""));
    ck_assert_ptr_null(strstr(json, "uid"));
}

TEST(one_that_is_there)
{
    cleanup(mem_free_ptr) char *json = event_encode_again(&object);
    ck_assert_str_eq(json,
                     "{\"count\":2,\"lastTimestamp\":\"2026-11-21T23:01:01Z\",\"message\":\"backend \\\"web\\\" is in "
                     "step\"}");
}

/* A clock that is wrong makes an odd Event, not an end. */
TEST(any_time)
{
    struct event_object e = object;
    e.first_ms = 0;
    e.last_ms = UINT64_MAX;
    cleanup(mem_free_ptr) char *json = event_encode_new(&e);
    ck_assert_ptr_nonnull(strstr(json, "\"firstTimestamp\":\"1970-01-01T00:00:00Z\""));
    ck_assert_ptr_nonnull(strstr(json, "\"lastTimestamp\":\"9999-12-31T23:59:59Z\""));
}

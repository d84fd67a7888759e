/* An informer of an API server that answers in protobuf, in JSON, in one after the other, and in neither although it says so. */
#include "informer_peer.h"

#include "decode/decode_text.h"

#define IN_PROTOBUF "200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf"
#define IN_JSON "200 OK\r\nContent-Type: application/json"
#define BOTH "Accept: application/vnd.kubernetes.protobuf,application/json\n"
#define JSON_ALONE "Accept: application/json\n"
#define LAST(version, items) "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define times_asked(text) count_of(&peer.requests, text)
#define UNREADABLE "protobuf of the Kubernetes API is unreadable"

/* What JSON says, in protobuf; the buffer lives until the end of the test's process. */
static struct buf protobuf_of(bool list, const char *json)
{
    struct buf text = {0}, bytes = {0};
    buf_add(&text, json);
    ck_assert_msg(text_in_protobuf(&kube_nodes, list, &text, &bytes), "%s", json);
    buf_fini(&text);
    return bytes;
}

static void push_event(const char *json)
{
    cleanup(buf_fini) struct buf bytes = protobuf_of(false, json);
    push_bytes(bytes.data, bytes.len);
}

static struct step protobuf_step(const char *expect, const struct buf *body, enum after after, size_t chunk)
{
    return (struct step){
        .expect = expect, .status = IN_PROTOBUF, .body = body->data, .len = body->len, .after = after, .split = chunk};
}

FIXTURE(setup, teardown)

TEST_EACH(a_streaming_list_and_what_follows, 2)
{
    cleanup(buf_fini) struct buf body = protobuf_of(false, TWO_NODES);
    const struct step steps[] = {protobuf_step("sendInitialEvents=true", &body, HOLD, _i == 0 ? 0 : 1)};
    start(steps, 1, NULL);
    UNTIL(status().synced);
    ck_assert_str_eq(buf_str(&told), "listed: nodes start\nrequested: 200\nchanged: list of nodes\n");
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1");
    ck_assert_uint_eq(times_asked(BOTH), 1);
    push_event(MODIFIED("n1", "6", "10.0.0.1"));
    push_event(MODIFIED("n1", "7", "10.0.0.7"));
    push_event(ADDED("n3", "8", "10.0.0.3") DELETED("n2", "9") BOOKMARK("10"));
    UNTIL(was_commanded("changed: MODIFIED node n1\nchanged: ADDED node n3\nchanged: DELETED node n2\n"));
    ck_assert_str_eq(ip_of("n1"), "10.0.0.7");
    ck_assert_uint_eq(times_logged("level=warn"), 0);
}

TEST(pages_and_errors)
{
    cleanup(buf_fini) struct buf refused = {0}, raw = {0}, expired = {0};
    cleanup(buf_fini) struct buf first = protobuf_of(true, LIST("5", "c", NODE("n1", "1", "10.0.0.1"))),
                                 second = protobuf_of(true, LAST("9", NODE("n2", "2", "10.0.0.2")));
    proto_write_bytes(&raw, 3, "no streaming here", 17);
    proto_write_number(&raw, 6, 422);
    proto_write_envelope(&refused, "Status", &raw);
    struct buf gone = protobuf_of(false, ERROR("410", "Expired"));
    expired = gone;
    const struct step steps[] = {
        {.expect = "sendInitialEvents=true",
         .status = "422 Unprocessable Entity\r\nContent-Type: application/vnd.kubernetes.protobuf",
         .body = refused.data,
         .len = refused.len,
         .after = END},
        protobuf_step("/api/v1/nodes?limit=500 ", &first, END, 0),
        protobuf_step("/api/v1/nodes?limit=500&continue=c ", &second, END, 1),
        protobuf_step("&resourceVersion=5&", &expired, END, 0),
        {.expect = "/api/v1/nodes?", .after = HOLD},
    };
    start(steps, array_len(steps), NULL);
    UNTIL(status().synced && peer.next == 4);
    ck_assert_uint_eq(cache_count(cache), 2);
    UNTIL(status().stale);
    UNTIL((informer_poke(informer), peer.next == 5));
    ck_assert(was_commanded("restarted: nodes expired\n"));
    ck_assert_uint_eq(times_asked(BOTH), 5);
    ck_assert_uint_eq(times_logged(UNREADABLE), 0);
}

/* What comes back decides, answer by answer. */
TEST(an_encoding_that_changes)
{
    cleanup(buf_fini) struct buf list = protobuf_of(false, TWO_NODES),
                                 more = protobuf_of(false, MODIFIED("n1", "8", "10.0.0.8"));
    const struct step steps[] = {
        protobuf_step("sendInitialEvents=true", &list, END, 0),
        {.expect = "resourceVersion=5&", .status = IN_JSON, .body = MODIFIED("n1", "7", "10.0.0.7"), .after = END},
        protobuf_step("resourceVersion=7&", &more, HOLD, 0),
    };
    start(steps, array_len(steps), NULL);
    for (size_t i = 1; i < array_len(steps); i++)
        UNTIL((informer_poke(informer), peer.next > i));
    UNTIL(str_eq(ip_of("n1"), "10.0.0.8"));
    ck_assert_uint_eq(times_commanded("changed: list of nodes"), 1);
    ck_assert_uint_eq(times_asked(BOTH), 3);
    ck_assert_uint_eq(times_logged(UNREADABLE), 0);
}

/* What says that it is protobuf and is none, at each of the three kinds of request. */
static const struct {
    const char *body;
    size_t len;
    const char *logged;
} nonsense[] = {
    {"<html>log in</html>", 19, "an object has 1013478509 bytes, at most 16777216 are accepted"},
    {"\0\0\0\4\x0a\x05xy", 8, "a length leads beyond the end at offset 1"},
    {"\0\0\0\4\x12\x02\x0a\0", 8, "does not begin as protobuf of Kubernetes does"},
};

TEST_EACH(nonsense_in_a_watch_is_asked_again_as_json, array_len(nonsense))
{
    cleanup(buf_fini) struct buf list = protobuf_of(false, TWO_NODES);
    const struct step steps[] = {
        protobuf_step("sendInitialEvents=true", &list, END, 0),
        {.expect = "resourceVersion=5&",
         .status = IN_PROTOBUF,
         .body = nonsense[_i].body,
         .len = nonsense[_i].len,
         .after = HOLD},
        {.expect = "sendInitialEvents=true", .body = TWO_NODES MODIFIED("n1", "9", "10.0.0.9"), .after = HOLD},
    };
    start(steps, array_len(steps), NULL);
    UNTIL((informer_poke(informer), times_logged(UNREADABLE) == 1));
    ck_assert_uint_eq(cache_count(cache), 2); /* the last good state stays */
    ck_assert_ptr_null(cache_find(cache, "n9"));
    UNTIL((informer_poke(informer), str_eq(ip_of("n1"), "10.0.0.9")));
    ck_assert_uint_eq(times_asked(BOTH), 2);
    ck_assert_uint_eq(times_asked(JSON_ALONE), 1);
    ck_assert_uint_eq(times_logged(UNREADABLE), 1);
    ck_assert_uint_ge(times_logged(nonsense[_i].logged), 1);
    ck_assert(was_commanded("restarted: nodes garbled\n"));
    /* contact was never lost: the list in JSON was not waited for */
    ck_assert_uint_eq(times_logged("keeping the last state\" resource=nodes reason=garbled"), 0);
}

TEST(nonsense_in_a_list_is_asked_again_as_json)
{
    const struct step steps[] = {
        {.expect = "sendInitialEvents=true",
         .status = REFUSED("400 Bad Request"),
         .body = STATUS("400", "no"),
         .after = END},
        {.expect = "limit=500", .status = IN_PROTOBUF, .body = "{\"kind\":\"NodeList\"}", .after = HOLD},
        {.expect = "limit=500", .body = LIST("5", "", NODE("n1", "1", "10.0.0.1")), .after = END},
        {.expect = "resourceVersion=5&", .after = HOLD},
    };
    start(steps, array_len(steps), NULL);
    UNTIL((informer_poke(informer), peer.next == 4));
    ck_assert_str_eq(ip_of("n1"), "10.0.0.1");
    ck_assert_uint_eq(times_asked(BOTH), 2);
    ck_assert_uint_eq(times_asked(JSON_ALONE), 2);
    ck_assert_uint_eq(times_logged(UNREADABLE), 1);
    ck_assert_uint_ge(times_logged("it does not begin as that of Kubernetes does; is there a proxy in between?"), 1);
}

/* What has no protobuf here is not asked for it, and not read as if it had. */
TEST(a_resource_without_a_message)
{
    static const struct step steps[] = {
        {.expect = "secrets?", .status = IN_PROTOBUF, .body = "x", .after = HOLD},
    };
    const struct informer_options options = {.resource = &kube_secrets, .namespace = "ns"};
    start_row(steps, array_len(steps), &options, &callbacks);
    UNTIL(strstr(status().problem, "application/vnd.kubernetes.protobuf") != NULL);
    ck_assert_uint_eq(times_asked(JSON_ALONE), 1);
    ck_assert_uint_eq(times_logged(UNREADABLE), 0);
}

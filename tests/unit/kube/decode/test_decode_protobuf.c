/* What is around an object in protobuf, and what an error says of it: which resource, which object, which offset. What is in an
 * object is compared with JSON by each of the other tests of this folder. */
#include "../../bytes_rows.h"
#include "decode_text.h"

/* The tables are searched in the order of their numbers. */
static void check_order(const struct proto_message *of, unsigned depth)
{
    ck_assert_uint_lt(depth, 10);
    for (size_t i = 0; i < of->count; i++) {
        ck_assert(i == 0 || of->fields[i - 1].number < of->fields[i].number);
        ck_assert((of->fields[i].message != NULL) == (of->fields[i].kind == PROTO_MESSAGE));
        if (of->fields[i].message != NULL)
            check_order(of->fields[i].message, depth + 1);
    }
}

TEST(tables_are_in_order)
{
    static const struct proto_message *const all[] = {&proto_node,      &proto_service, &proto_endpoint_slice,
                                                      &proto_endpoints, &proto_pod,     &proto_lease,
                                                      &proto_list_meta, &proto_status};
    for (size_t i = 0; i < array_len(all); i++)
        check_order(all[i], 0);
}

#define UNKNOWN(kind_len, kind, raw_len, raw) "k8s\0\x0a" kind_len kind "\x12" raw_len raw
#define META_N1                  \
    "\x0a\x09\x0a\x02n1\x32\x03" \
    "123" /* Node: metadata {name, resourceVersion} */
static const struct bytes_row events[] = {
    ROW("", "-1 (watch event of node: type is absent, not a string)"),
    ROW("\x0a\x05"
        "ADDED",
        "-1 (watch event of node: ADDED: object is absent, not an object)"),
    ROW("\x0a\x03NEW", "UNKNOWN"),
    ROW("\x0a\x05"
        "ADDED\x12\x19\x0a\x17" UNKNOWN("\x06", "\x12\x04Node", "\x0b", META_N1) "",
        "-1 (watch event of node: protobuf: a length leads beyond the end at offset 35)"),
    ROW("\x0a\x05"
        "ADDED\x12\x1b\x0a\x19" UNKNOWN("\x06", "\x12\x04Node", "\x0b", META_N1),
        "ADDED n1 v123 node -"),
    ROW("\x0a\x07"
        "DELETED\x12\x1b\x0a\x19" UNKNOWN("\x06", "\x12\x04Node", "\x0b", META_N1),
        "DELETED n1 v123"),
    /* of another kind, of none, and what is no object of Kubernetes */
    ROW("\x0a\x05"
        "ADDED\x12\x1a\x0a\x18" UNKNOWN("\x05", "\x12\x03Pod", "\x0b", META_N1),
        "-1 (watch event of node: object is a \"Pod\", not a Node)"),
    ROW("\x0a\x05"
        "ADDED\x12\x15\x0a\x13" UNKNOWN("\x00", "", "\x0b", META_N1),
        "-1 (watch event of node: object is a \"\", not a Node)"),
    ROW("\x0a\x05"
        "ADDED\x12\x0c\x0a\x0a{\"a\":\"b\"} ",
        "-1 (watch event of node: object: it does not begin as protobuf of Kubernetes does)"),
    ROW("\x0a\x05"
        "ADDED\x12\x02\x0a\x00",
        "-1 (watch event of node: object: it does not begin as protobuf of Kubernetes does)"),
    ROW("\x0a\x05"
        "ADDED\x12\x0b\x0a\x09k8s\0\x1a\x03"
        "zip",
        "-1 (watch event of node: object: protobuf: contentEncoding has 3 bytes, of at most 0, at offset 15)"),
    /* an error in an object: its name is known by then, and offsets count from the start of the event */
    ROW("\x0a\x05"
        "ADDED\x12\x1e\x0a\x1c" UNKNOWN("\x06", "\x12\x04Node", "\x0e", META_N1 "\x12\x01\xff"),
        "-1 (watch event of node: node n1: spec: protobuf: a number is cut off at offset 38)"),
    ROW("\x0a\x05"
        "ADDED\x12\x1e\x0a\x1c" UNKNOWN("\x06", "\x12\x04Node", "\x0e", META_N1 "\x12\x05\x20"),
        "-1 (watch event of node: node n1: protobuf: a length leads beyond the end at offset 37)"),
    ROW("\x0a\x05"
        "ADDED\x12\x1a\x0a\x18" UNKNOWN("\x06", "\x12\x04Node", "\x0a", "\x0a\x08\x0a\x02n1\x3b\x3b\x3c\x3c"),
        "-1 (watch event of node: node n1: metadata: protobuf: a group at offset 31)"),
    ROW("\x10\x05", "-1 (watch event of node: protobuf: object has wire type 0 in place of 2 at offset 0)"),
    ROW("\x12\x02\x08\x01", "-1 (watch event of node: protobuf: raw has wire type 0 in place of 2 at offset 2)"),
    /* a Status, in an event that is one and in one that says it is an object */
    ROW("\x0a\x05"
        "ERROR\x12\x18\x0a\x16" UNKNOWN("\x08", "\x12\x06Status", "\x06", "\x1a\x01m\x30\x9a\x03"),
        "ERROR 410  \"m\""),
    ROW("\x0a\x05"
        "ADDED\x12\x18\x0a\x16" UNKNOWN("\x08", "\x12\x06Status", "\x06", "\x1a\x01m\x30\x9a\x03"),
        "ADDED SKIPPED (node without a usable name is skipped: metadata: name is absent)"),
};

TEST_EACH(events_say_what_is_wrong_and_where, array_len(events))
{
    cleanup(buf_fini) struct buf got = {0};
    text_decode_protobuf(&got, &kube_nodes, false, events[_i].bytes, events[_i].len);
    ck_assert_str_eq(buf_str(&got), events[_i].text);
}

static const struct {
    const char *bytes;
    size_t len;
    const char *text;
} refusals[] = {
    ROW(UNKNOWN("\x08", "\x12\x06Status", "\x06", "\x1a\x01m\x30\x9a\x03"), "ERROR 410  \"m\""),
    ROW(UNKNOWN("\x06", "\x12\x04Node", "\x06", "\x1a\x01m\x30\x9a\x03"), "ERROR 0  \"k8s Node m0\""),
    ROW("k8s\0\x65tdaa", "ERROR 0  \"k8s etdaa\""),
};

TEST_EACH(refusals_are_a_status_or_are_quoted, array_len(refusals))
{
    cleanup(buf_fini) struct buf got = {0};
    struct kube_event e;
    cleanup(mem_free_ptr) char *copy = malloc(refusals[_i].len);
    memcpy(copy, refusals[_i].bytes, refusals[_i].len);
    kube_decode_status(copy, refusals[_i].len, &e);
    text_of_event(&got, &e);
    kube_event_fini(&e);
    ck_assert_msg(strncmp(buf_str(&got), refusals[_i].text, 12) == 0, "%s", buf_str(&got));
    ck_assert_msg(_i == 1 || strcmp(buf_str(&got), refusals[_i].text) == 0, "%s", buf_str(&got));
}

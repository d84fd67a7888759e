/* What kube/protobuf/message makes of bytes: JSON of what a table has, or what is wrong and where. */
#include "kube/protobuf/message.h"

#include "../protobuf_write.h"
#include "../../bytes_rows.h"
#include "../../test.h"
#include "json/write.h"

static const struct proto_field inner_fields[] = {{"text", NULL, 1, PROTO_TEXT, false, false},
                                                  {"kept", NULL, 2, PROTO_INT, false, true},
                                                  {"late", NULL, 5, PROTO_INT, false, false}};
static const struct proto_message inner = {inner_fields, array_len(inner_fields)};
static const struct proto_field fields[] = {
    {"text", NULL, 1, PROTO_TEXT, false, false},     {"keptText", NULL, 2, PROTO_TEXT, false, true},
    {"texts", NULL, 3, PROTO_TEXT, true, false},     {"bool", NULL, 4, PROTO_BOOL, false, false},
    {"keptBool", NULL, 5, PROTO_BOOL, false, true},  {"int", NULL, 6, PROTO_INT, false, false},
    {"one", &inner, 7, PROTO_MESSAGE, false, false}, {"many", &inner, 8, PROTO_MESSAGE, true, false},
    {"time", NULL, 9, PROTO_TIME, false, false},     {"map", NULL, 10, PROTO_MAP, false, false},
};
static const struct proto_message every = {fields, array_len(fields)};

/* As JSON, or the error; from memory of the bytes' very size. */
static char *read_text(const struct proto_message *of, const char *bytes, size_t len)
{
    struct protobuf p;
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, bytes, len);
    protobuf_init(&p, copy, len);
    int result = proto_read(of, &p, doc, root, &flaw);
    ck_assert(result == 0 || (result == -1 && flaw.kind == ERROR_INVALID));
    char *text = result == 0 ? yyjson_mut_write(doc, 0, NULL) : mem_strdup(flaw.message);
    ck_assert_ptr_nonnull(text);
    json_free(doc);
    free(copy);
    return text;
}

/* The text has ' for ". */
static const struct bytes_row rows[] = {
    ROW("", "{}"),
    /* texts */
    ROW("\x0a\x01x", "{'text':'x'}"),
    ROW("\x0a\x00", "{}"),
    ROW("\x12\x00", "{'keptText':''}"),
    ROW("\x1a\x01"
        "a\x1a\x00\x1a\x01"
        "b",
        "{'texts':['a','','b']}"),
    ROW("\x0a\x02\xc3\xa4", "{'text':'\xc3\xa4'}"),
    ROW("\x0a\x03"
        "a\xc3\xa4\x12\x00",
        "{'text':'a\xc3\xa4','keptText':''}"),
    ROW("\x0a\x02"
        "a\xc3",
        "text: protobuf: byte 1 of the text at offset 0 is no UTF-8"),
    ROW("\x0a\x02\xed\xa0", "text: protobuf: byte 0 of the text at offset 0 is no UTF-8"),
    ROW("\x52\x06\x0a\x01\xff\x12\x01"
        "b",
        "map: protobuf: byte 0 of the text at offset 2 is no UTF-8"),
    /* numbers */
    ROW("\x20\x01", "{'bool':true}"),
    ROW("\x20\x00", "{}"),
    ROW("\x28\x00", "{'keptBool':false}"),
    ROW("\x28\x02", "{'keptBool':true}"),
    ROW("\x30\x05", "{'int':5}"),
    ROW("\x30\x00", "{}"),
    ROW("\x30" NINE_FF "\x01", "{'int':-1}"),
    ROW("\x30\x80\x80\x80\x80\x08", "{'int':2147483648}"),
    ROW("\x3a\x02\x10\x00", "{'one':{'kept':0}}"),
    /* messages */
    ROW("\x3a\x00", "{'one':{}}"),
    ROW("\x3a\x03\x0a\x01x", "{'one':{'text':'x'}}"),
    ROW("\x42\x00\x42\x03\x0a\x01x", "{'many':[{},{'text':'x'}]}"),
    ROW("\x42\x00\x20\x01\x42\x00", "{'many':[{},{}],'bool':true}"), /* not one after another, which is allowed */
    /* times: 2026-01-01T00:00:00Z is 1767225600 */
    ROW("\x4a\x06\x08\x80\xf2\xd6\xca\x06", "{'time':'2026-01-01T00:00:00Z'}"),
    ROW("\x4a\x08\x08\x80\xf2\xd6\xca\x06\x10\x05", "{'time':'2026-01-01T00:00:00Z'}"),
    ROW("\x4a\x00", "{}"),
    ROW("\x4a\x02\x08\x00", "{'time':'1970-01-01T00:00:00Z'}"),
    ROW("\x4a\x0b\x08" NINE_FF "\x01", "{'time':'1970-01-01T00:00:00Z'}"),
    ROW("\x4a\x0a\x08"
        "\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        "{'time':'9999-12-31T23:59:59Z'}"),
    ROW("\x4a\x02\x0a\x00", "time: protobuf: seconds has wire type 2 in place of 0 at offset 2"),
    /* maps */
    ROW("\x52\x06\x0a\x01k\x12\x01v", "{'map':{'k':'v'}}"),
    ROW("\x52\x06\x12\x01v\x0a\x01k\x52\x03\x0a\x01l", "{'map':{'k':'v','l':''}}"),
    ROW("\x52\x00", "{'map':{'':''}}"),
    ROW("\x52\x05\x0a\x01k\x18\x01", "{'map':{'k':''}}"),
    /* what no row names, of every wire type, is not read */
    ROW("\xfa\x01\x02\xff\xff\xf8\x01\x07\xf9\x01"
        "12345678\xfd\x01"
        "1234\x20\x01",
        "{'bool':true}"),
    ROW("\x3a\x05\x7a\x01\xff\x10\x07", "{'one':{'kept':7}}"),
    ROW("\x3a\x04\x20\x07\x28\x08", "{'one':{'late':8}}"),
    /* what is wrong */
    ROW("\x0a\x01x\x0a\x01y", "protobuf: text is there twice, the second at offset 3"),
    ROW("\x3a\x00\x3a\x00", "protobuf: one is there twice, the second at offset 2"),
    ROW("\x3a\x06\x0a\x01x\x0a\x01y", "one: protobuf: text is there twice, the second at offset 5"),
    ROW("\x08\x01", "text: protobuf: text has wire type 0 in place of 2 at offset 0"),
    ROW("\x22\x01\x01", "bool: protobuf: bool has wire type 2 in place of 0 at offset 0"),
    ROW("\x31"
        "12345678",
        "int: protobuf: number has wire type 1 in place of 0 at offset 0"),
    ROW("\x38\x01", "one: protobuf: message has wire type 0 in place of 2 at offset 0"),
    ROW("\x48\x01", "time: protobuf: time has wire type 0 in place of 2 at offset 0"),
    ROW("\x50\x01", "map: protobuf: entry has wire type 0 in place of 2 at offset 0"),
    ROW("\x52\x02\x08\x01", "map: protobuf: text has wire type 0 in place of 2 at offset 2"),
    ROW("\x3b\x3c", "protobuf: a group at offset 0"),
    ROW("\x0f", "protobuf: an unknown wire type at offset 0"),
    ROW("\x00", "protobuf: an impossible field number at offset 0"),
    ROW("\x3a\x04\x0a\x03x", "protobuf: a length leads beyond the end at offset 1"),
    ROW("\x3a\x03\x0a\x03x", "one: protobuf: a length leads beyond the end at offset 3"),
    ROW("\x0a\xff\xff\xff\xff\x0f", "protobuf: a length leads beyond the end at offset 1"),
    ROW("\x7a" NINE_FF "\x01", "protobuf: a length leads beyond the end at offset 1"),
    ROW("\x30" NINE_FF "\x02", "protobuf: a number has more than 64 bits at offset 1"),
    ROW("\x42\x02\x10\x80", "many: protobuf: a number is cut off at offset 3"),
};

TEST_EACH(a_message_says_what_it_holds, array_len(rows))
{
    cleanup(mem_free_ptr) char *got = read_text(&every, rows[_i].bytes, rows[_i].len),
                               *want = mem_strdup(rows[_i].text);
    if (want[0] == '{')
        for (char *c = want; *c != '\0'; c++)
            *c = *c == '\'' ? '"' : *c;
    ck_assert_str_eq(got, want);
}

/* A message in a message in a message: the walker's cap holds, far from the end of the stack. */
static const struct proto_message nested;
static const struct proto_field nested_fields[] = {{"n", &nested, 1, PROTO_MESSAGE, false, false}};
static const struct proto_message nested = {nested_fields, 1};

TEST(nesting_has_a_cap)
{
    struct buf bytes = {0};
    for (size_t depth = 1; depth <= PROTOBUF_DEPTH_MAX + 1; depth++) {
        struct buf outer = {0};
        proto_write_buf(&outer, 1, &bytes);
        bytes = outer;
        cleanup(mem_free_ptr) char *text = read_text(&nested, bytes.data, bytes.len);
        ck_assert_msg((text[0] == '{') == (depth <= PROTOBUF_DEPTH_MAX), "%zu: %s", depth, text);
    }
    buf_fini(&bytes);
}

/* A node with everything in it, cut at every byte: either an error that has an offset, or what came before. */
TEST(a_message_that_is_cut)
{
    static const char json[] =
        "{\"metadata\":{\"name\":\"n1\",\"uid\":\"u\",\"resourceVersion\":\"5\",\"creationTimestamp\":\"2026-01-01T00:"
        "00:00Z\","
        "\"labels\":{\"a\":\"b\"},\"managedFields\":[]},\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":\"k\"}]},"
        "\"status\":{\"images\":[],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
        "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}]}}";
    cleanup(buf_fini) struct buf bytes = {0};
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    ck_assert(proto_write_message(&bytes, &proto_node, yyjson_doc_get_root(doc)));
    yyjson_doc_free(doc);
    size_t whole = 0;
    for (size_t len = 0; len <= bytes.len; len++) {
        cleanup(mem_free_ptr) char *text = read_text(&proto_node, bytes.data, len);
        whole += text[0] == '{';
        ck_assert_msg(text[0] == '{' || strstr(text, " at offset ") != NULL, "%zu: %s", len, text);
    }
    ck_assert_uint_eq(whole, 4); /* nothing, and behind each of its three fields */
}

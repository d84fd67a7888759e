/* How kube/protobuf/frame splits answers, in whatever pieces they arrive, and what it refuses. */
#include "kube/protobuf/frame.h"

#include "base/protobuf.h"

#include "../../bytes_rows.h"
#include "../../test.h"

#define MAX_BYTES 40u

static int on_object(void *arg, const char *object, size_t len, struct error *err)
{
    struct buf *out = arg;
    buf_printf(out, "%.*s|", (int)len, object);
    if (len > 0 && object[0] == '!')
        return error_set(err, ERROR_INVALID, "refused");
    return 0;
}

/* What is handed out, and how it ends; cuts: bit n, a piece ends behind byte n. */
static char *split(enum frame_mode mode, const char *bytes, size_t len, uint64_t cuts)
{
    struct buf out = {0};
    struct proto_frame f;
    int result = 0;
    proto_frame_init(&f, mode, "Node", MAX_BYTES);
    for (size_t at = 0, end; result == 0 && at < len; at = end) {
        for (end = at + 1; end < len && (cuts >> ((end - 1) % 64) & 1) == 0; end++)
            ;
        char *piece = malloc(end - at); /* of its very size */
        memcpy(piece, bytes + at, end - at);
        result = proto_frame_feed(&f, piece, end - at, on_object, &out, &flaw);
        free(piece);
    }
    if (result == 0)
        result = proto_frame_end(&f, &flaw);
    if (result == 0 && mode == FRAME_LIST)
        buf_printf(&out, " meta %s", buf_str(&f.meta));
    if (result != 0)
        buf_printf(&out, "%s%s", flaw.kind == ERROR_RETRY ? " cut: " : " ", flaw.message);
    if (flaw.kind == ERROR_INVALID)
        ck_assert_int_eq(proto_frame_feed(&f, "x", 1, on_object, &out, &flaw), -1); /* it is given up */
    proto_frame_fini(&f);
    return buf_take(&out);
}

/* Whole, byte by byte, and in every two and three pieces. */
static void check_row(enum frame_mode mode, const struct bytes_row *r)
{
    size_t places = r->len < 63 ? r->len : 63;
    cleanup(mem_free_ptr) char *whole = split(mode, r->bytes, r->len, 0);
    ck_assert_msg(strcmp(whole, r->text) == 0, " got: %s\nwant: %s", whole, r->text);
    cleanup(mem_free_ptr) char *bytes = split(mode, r->bytes, r->len, UINT64_MAX);
    ck_assert_msg(strcmp(bytes, r->text) == 0, " got byte by byte: %s\nwant: %s", bytes, r->text);
    for (size_t a = 0; a < places; a++)
        for (size_t b = a; b < places; b++) {
            cleanup(mem_free_ptr) char *got = split(mode, r->bytes, r->len, UINT64_C(1) << a | UINT64_C(1) << b);
            ck_assert_msg(strcmp(got, r->text) == 0, " got with cuts %zu, %zu: %s\nwant: %s", a, b, got, r->text);
        }
}

static const struct bytes_row watches[] = {
    ROW("", ""),
    ROW("\0\0\0\3abc", "abc|"),
    ROW("\0\0\0\0", "|"),
    ROW("\0\0\0\3abc\0\0\0\0\0\0\0\1d", "abc||d|"),
    ROW("\0\0\0\x28"
        "0123456789012345678901234567890123456789",
        "0123456789012345678901234567890123456789|"),
    ROW("\0", " cut: the answer ended after 1 bytes and 0 objects, before it was complete"),
    ROW("\0\0\0\3ab", " cut: the answer ended after 6 bytes and 0 objects, before it was complete"),
    ROW("\0\0\0\1a\0\0\0", "a| cut: the answer ended after 8 bytes and 1 objects, before it was complete"),
    ROW("\0\0\0\x29", " at byte 4 of the answer: an object has 41 bytes, at most 40 are accepted"),
    ROW("\xff\xff\xff\xff", " at byte 4 of the answer: an object has 4294967295 bytes, at most 40 are accepted"),
    ROW("<html>", " at byte 4 of the answer: an object has 1013478509 bytes, at most 40 are accepted"),
    ROW("{\"type\":", " at byte 4 of the answer: an object has 2065855609 bytes, at most 40 are accepted"),
    ROW("\0\0\0\1a\0\0\0\2!b\0\0\0\1c", "a|!b| at byte 9 of the answer: refused"),
};

TEST_EACH(watch, array_len(watches))
{
    check_row(FRAME_WATCH, &watches[_i]);
}

#define MAGIC "k8s\0"
#define NODE_LIST "\x0a\x0e\x0a\x02v1\x12\x08NodeList"
#define LIST(len, raw) MAGIC NODE_LIST "\x12" len raw

static const struct bytes_row lists[] = {
    ROW(LIST("\x07", "\x0a\x01m\x12\x02"
                     "ab"),
        "ab| meta m"),
    ROW(LIST("\x07", "\x0a\x01m\x12\x02"
                     "ab") "\x1a\x00\x22\x00",
        "ab| meta m"),
    ROW(LIST("\x02", "\x0a\x00"), " meta "),
    ROW(LIST("\x00", ""), " meta "),
    ROW(LIST("\x0a", "\x12\x01"
                     "a\x12\x00\x12\x03"
                     "bcd"),
        "a||bcd| meta "),
    ROW(LIST("\x06", "\x12\x01"
                     "a\x0a\x01m"),
        "a| meta m"),
    /* what is of no concern, of every wire type, in the list and around it */
    ROW(LIST("\x0b", "\x18\x81\x01\x25"
                     "1234\x12\x01"
                     "a") "\x2d"
                          "1234\x30\xff\x01",
        "a| meta "),
    ROW(LIST("\x0c", "\x19"
                     "12345678\x12\x01"
                     "a") "\x29"
                          "12345678\x3a\x02zz\x3a\x00",
        "a| meta "),
    /* cut */
    ROW("", " cut: the answer ended after 0 bytes and 0 objects, before it was complete"),
    ROW("k8", " cut: the answer ended after 2 bytes and 0 objects, before it was complete"),
    ROW(MAGIC, " cut: the answer ended after 4 bytes and 0 objects, before it was complete"),
    ROW(MAGIC NODE_LIST, " cut: the answer ended after 20 bytes and 0 objects, before it was complete"),
    ROW(LIST("\x07", "\x0a\x01m"), " cut: the answer ended after 25 bytes and 0 objects, before it was complete"),
    ROW(LIST("\x07", "\x0a\x01m\x12\x02"
                     "a"),
        " cut: the answer ended after 28 bytes and 0 objects, before it was complete"),
    ROW(LIST("\x05", "\x12\x01"
                     "a\x18"),
        "a| cut: the answer ended after 26 bytes and 1 objects, before it was complete"),
    ROW(LIST("\x00", "") "\x1a", " cut: the answer ended after 23 bytes and 0 objects, before it was complete"),
    /* another thing */
    ROW("{\"kind\":", " protobuf: it does not begin as that of Kubernetes does; is there a proxy in between?, at byte "
                      "0 of the answer"),
    ROW("k8s\n", " protobuf: it does not begin as that of Kubernetes does; is there a proxy in between?, at byte 3 of "
                 "the answer"),
    ROW(MAGIC "\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x00",
        " at byte 6 of the answer: the answer is a \"Status\", not a NodeList"),
    ROW(MAGIC "\x0a\x08\x0a\x02v1\x12\x02No\x12\x00",
        " at byte 6 of the answer: the answer is a \"No\", not a NodeList"),
    ROW(MAGIC "\x0a\x0d\x0a\x02v1\x12\x07NodeSet\x12\x00",
        " at byte 6 of the answer: the answer is a \"NodeSet\", not a NodeList"),
    ROW(MAGIC "\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x00",
        " at byte 6 of the answer: the answer is a \"PodList\", not a NodeList"),
    ROW(MAGIC "\x12\x02\x0a\x00" NODE_LIST, " protobuf: an object without its kind, at byte 6 of the answer"),
    ROW(LIST("\x00", "") "\x12\x00", " protobuf: a second list, at byte 24 of the answer"),
    ROW(LIST("\x06", "\x0a\x01m\x0a\x01n"), " protobuf: a second metadata of the list, at byte 27 of the answer"),
    ROW(MAGIC NODE_LIST "\x1a\x04gzip", " protobuf: a content encoding of its own, at byte 22 of the answer"),
    /* what no protobuf is */
    ROW(MAGIC "\x0b", " protobuf: a group, or an unknown wire type, at byte 5 of the answer"),
    ROW(MAGIC "\x02", " protobuf: an impossible field number, at byte 5 of the answer"),
    ROW(MAGIC "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
        " protobuf: a number has more than 64 bits, at byte 13 of the answer"),
    ROW(LIST("\x05", "\x12\x04"
                     "ab"),
        " protobuf: a length leads beyond the end of the list, at byte 24 of the answer"),
    ROW(LIST("\x03", "\x25"
                     "1234"),
        " protobuf: a field leads beyond the end of the list, at byte 23 of the answer"),
    ROW(LIST("\x01", "\x12\x00"), " protobuf: a field leads beyond the end of the list, at byte 23 of the answer"),
    ROW(LIST("\x01", "\x18\x00"), " protobuf: a field leads beyond the end of the list, at byte 23 of the answer"),
    ROW(LIST("\x01", "\x98\x00"), " protobuf: a field leads beyond the end of the list, at byte 23 of the answer"),
    ROW(LIST("\x7f", "\x12\x29"), " at byte 24 of the answer: an object has 41 bytes, at most 40 are accepted"),
    ROW(LIST("\xff\xff\xff\xff\x0f", "\x12\xff\xff\xff\xff\x07"),
        " at byte 32 of the answer: an object has 2147483647 bytes, at most 40 are accepted"),
    ROW(MAGIC NODE_LIST "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        " protobuf: an impossible length, at byte 31 of the answer"),
    ROW(MAGIC "\x0a\x81\x08", " at byte 7 of the answer: an object has 1025 bytes, at most 1024 are accepted"),
    ROW(LIST("\x06", "\x12\x01!\x12\x01"
                     "a"),
        "!| at byte 24 of the answer: refused"),
};

TEST_EACH(list, array_len(lists))
{
    check_row(FRAME_LIST, &lists[_i]);
}

/* What arrives in one piece is handed out from where it is; what does not is not kept. */
TEST(one_huge_object_does_not_stay)
{
    struct proto_frame f;
    struct buf out = {0};
    size_t len = 2u << 20;
    char *huge = mem_alloc(len + 4);
    huge[1] = (char)(len >> 16);
    proto_frame_init(&f, FRAME_WATCH, "Node", 0);
    ck_assert_int_eq(proto_frame_feed(&f, huge, len + 4, on_object, &out, NULL), 0);
    ck_assert_uint_eq(f.part.size, 0);
    ck_assert_int_eq(proto_frame_feed(&f, huge, len, on_object, &out, NULL), 0);
    ck_assert_uint_ge(f.part.size, len - 4);
    ck_assert_int_eq(proto_frame_feed(&f, huge + len, 4, on_object, &out, NULL), 0);
    ck_assert_uint_le(f.part.size, FRAME_KEEP_BYTES);
    ck_assert_uint_eq(f.frames, 2);
    ck_assert_int_eq(proto_frame_end(&f, NULL), 0);
    proto_frame_fini(&f);
    buf_fini(&out);
    free(huge);
}

#include "base/protobuf.h"

#include "../bytes_rows.h"
#include "../test.h"

/* Each field as NUMBER/WIRE@OFFSET=VALUE, bytes in hexadecimal; at its end what is wrong. */
static void walk(const char *bytes, size_t len, struct buf *out)
{
    struct protobuf p;
    struct protobuf_field f;
    int status;
    protobuf_init(&p, bytes, len);
    while ((status = protobuf_next(&p, &f, &flaw)) > 0) {
        buf_printf(out, "%u/%d@%zu=", f.number, (int)f.wire, f.offset);
        if (f.wire != PROTOBUF_BYTES)
            buf_printf(out, "%llu", (unsigned long long)f.value);
        for (size_t i = 0; f.wire == PROTOBUF_BYTES && i < f.len; i++)
            buf_printf(out, "%02x", f.data[i]);
        buf_add(out, " ");
    }
    if (status < 0) {
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
        buf_printf(out, "%s", flaw.message);
        ck_assert_int_eq(protobuf_next(&p, &f, &flaw), 0); /* it is over */
    }
}

static const struct bytes_row rows[] = {
    ROW("", ""),
    /* the examples of the documentation */
    ROW("\x08\x96\x01", "1/0@0=150 "),
    ROW("\x12\x07testing", "2/2@0=74657374696e67 "),
    ROW("\x1a\x03\x08\x96\x01", "3/2@0=089601 "),
    ROW("\x08\x01\x12\x00\x08\x02", "1/0@0=1 2/2@2= 1/0@4=2 "),
    ROW("\x0d\x01\x02\x03\x04", "1/5@0=67305985 "),
    ROW("\x09\x01\x00\x00\x00\x00\x00\x00\x80", "1/1@0=9223372036854775809 "),
    ROW("\x08" NINE_FF "\x01", "1/0@0=18446744073709551615 "),
    ROW("\x08\x80\x00", "1/0@0=0 "), /* not the shortest form, which is allowed */
    ROW("\xf8\xff\xff\xff\x0f\x05", "536870911/0@0=5 "),
    /* numbers */
    ROW("\x08", "protobuf: a number is cut off at offset 1"),
    ROW("\x08\x80", "protobuf: a number is cut off at offset 1"),
    ROW("\x80", "protobuf: a number is cut off at offset 0"),
    ROW("\x08" NINE_FF "\x02", "protobuf: a number has more than 64 bits at offset 1"),
    ROW("\x08" NINE_FF "\xff\x01", "protobuf: a number has more than 64 bits at offset 1"),
    ROW("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", "protobuf: a number has more than 64 bits at offset 1"),
    ROW("\x0d\x01\x02\x03", "protobuf: a number is cut off at offset 1"),
    ROW("\x09\x01\x02\x03\x04\x05\x06\x07", "protobuf: a number is cut off at offset 1"),
    /* lengths */
    ROW("\x08\x01\x12\x02x", "1/0@0=1 protobuf: a length leads beyond the end at offset 3"),
    ROW("\x12" NINE_FF "\x01x", "protobuf: a length leads beyond the end at offset 1"),
    ROW("\x12\xff\xff\xff\xff\x0f", "protobuf: a length leads beyond the end at offset 1"),
    ROW("\x12", "protobuf: a number is cut off at offset 1"),
    /* wire types and field numbers */
    ROW("\x08\x01\x0b\x0c", "1/0@0=1 protobuf: a group at offset 2"),
    ROW("\x0c", "protobuf: a group at offset 0"),
    ROW("\x0e", "protobuf: an unknown wire type at offset 0"),
    ROW("\x0f", "protobuf: an unknown wire type at offset 0"),
    ROW("\x00\x01", "protobuf: an impossible field number at offset 0"),
    ROW("\x80\x80\x80\x80\x10\x01", "protobuf: an impossible field number at offset 0"),
    ROW("\x88\x80\x80\x80\x80\x01\x01", "protobuf: an impossible field number at offset 0"),
};

TEST_EACH(fields, array_len(rows))
{
    cleanup(buf_fini) struct buf got = {0};
    /* of exactly that size, so that the sanitizer sees a byte too many */
    char *bytes = malloc(rows[_i].len + (rows[_i].len == 0));
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, rows[_i].bytes, rows[_i].len);
    walk(bytes, rows[_i].len, &got);
    free(bytes);
    ck_assert_str_eq(buf_str(&got), rows[_i].text);
}

static struct protobuf_field first(struct protobuf *p, const void *bytes, size_t len)
{
    struct protobuf_field f = {0};
    protobuf_init(p, bytes, len);
    ck_assert_msg(protobuf_next(p, &f, &flaw) == 1, "%s", flaw.message);
    return f;
}

TEST(what_is_expected)
{
    struct protobuf p;
    struct protobuf_field f = first(&p, "\x12\x03one", 5);
    ck_assert_int_eq(protobuf_expect(&f, PROTOBUF_BYTES, 3, "name", &flaw), 0);
    ck_assert_int_eq(protobuf_expect(&f, PROTOBUF_BYTES, 2, "name", &flaw), -1);
    ck_assert_str_eq(flaw.message, "protobuf: name has 3 bytes, of at most 2, at offset 0");
    ck_assert_int_eq(protobuf_expect(&f, PROTOBUF_VARINT, 3, "name", &flaw), -1);
    ck_assert_str_eq(flaw.message, "protobuf: name has wire type 2 in place of 0 at offset 0");
    f = first(&p, "\x08\x03", 2);
    ck_assert_int_eq(protobuf_expect(&f, PROTOBUF_VARINT, 0, "name", &flaw), 0);
    struct protobuf inner;
    ck_assert_int_eq(protobuf_enter(&p, &f, "name", &inner, &flaw), -1);
}

/* An error in a message within one names the place in the whole. */
TEST(nested)
{
    static const char bytes[] = "\x08\x01\x12\x04\x08\x02\x12\x05xxxxx";
    struct protobuf p, inner;
    struct protobuf_field f;
    (void)first(&p, bytes, sizeof(bytes) - 1);
    ck_assert_int_eq(protobuf_next(&p, &f, &flaw), 1);
    ck_assert_int_eq(protobuf_enter(&p, &f, "inner", &inner, &flaw), 0);
    ck_assert_int_eq(protobuf_next(&inner, &f, &flaw), 1);
    ck_assert_uint_eq(f.value, 2);
    ck_assert_uint_eq(f.offset, 4);
    ck_assert_int_eq(protobuf_next(&inner, &f, &flaw), -1); /* not the bytes behind it */
    ck_assert_str_eq(flaw.message, "protobuf: a length leads beyond the end at offset 7");
}

TEST(depth_has_a_cap)
{
    unsigned char bytes[3 * (PROTOBUF_DEPTH_MAX + 1)];
    struct protobuf p;
    for (size_t i = 0; i < sizeof(bytes); i += 3) {
        size_t len = sizeof(bytes) - i - 3;
        bytes[i] = 0x0a;
        bytes[i + 1] = (unsigned char)(0x80 | len);
        bytes[i + 2] = (unsigned char)(len >> 7);
    }
    struct protobuf_field f = first(&p, bytes, sizeof(bytes));
    for (int i = 0; i < PROTOBUF_DEPTH_MAX; i++) {
        ck_assert_msg(protobuf_enter(&p, &f, "node", &p, &flaw) == 0, "%s", flaw.message);
        ck_assert_int_eq(protobuf_next(&p, &f, &flaw), 1);
    }
    ck_assert_int_eq(protobuf_enter(&p, &f, "node", &p, &flaw), -1);
    ck_assert_str_eq(flaw.message, "protobuf: node is nested too deep, in more than 64 messages, at offset 192");
}

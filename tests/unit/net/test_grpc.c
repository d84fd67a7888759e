#include "net/grpc.h"

#include "../test.h"

#define CAP 10
#define COMPRESSED "a gRPC message begins with 1: expected 0, for one that is not compressed"
#define STOPPED "enough"

static int on_message(void *arg, const char *message, size_t len, struct error *err)
{
    struct buf *out = arg;
    buf_addn(out, "[", 1);
    buf_addn(out, message, len);
    buf_addn(out, "]", 1);
    return len == 4 && memcmp(message, "stop", 4) == 0 ? error_set(err, ERROR_INVALID, STOPPED) : 0;
}

#define ROW(bytes, out, error)                   \
    {                                            \
        bytes, sizeof(bytes) - 1, (out), (error) \
    }

static const struct {
    const char *bytes;
    size_t len;
    const char *out, *error; /* NULL: none */
} rows[] = {
    ROW("", "", NULL),
    ROW("\0\0\0\0\3one", "[one]", NULL),
    ROW("\0\0\0\0\3one\0\0\0\0\3two", "[one][two]", NULL),
    ROW("\0\0\0\0\0", "[]", NULL),
    ROW("\0\0\0\0\0\0\0\0\0\1x\0\0\0\0\0", "[][x][]", NULL),
    ROW("\0\0\0\0\12"
        "0123456789",
        "[0123456789]", NULL),
    ROW("\0\0\0\0", "", NULL),
    ROW("\0\0\0\0\3on", "", NULL),
    ROW("\1\0\0\0\1x", "", COMPRESSED),
    ROW("\0\0\0\0\1x\1\0\0\0\1x", "[x]", COMPRESSED),
    ROW("\0\0\0\0\13"
        "0123456789a",
        "", "a gRPC message of 11 bytes, of at most 10"),
    ROW("\0\377\377\377\377", "", "a gRPC message of 4294967295 bytes, of at most 10"),
    ROW("\0\1\0\0\0", "", "a gRPC message of 16777216 bytes, of at most 10"),
    ROW("\0\0\0\0\4stop\0\0\0\0\1x", "[stop]", STOPPED),
};

/* However it is cut. */
TEST_EACH(messages, array_len(rows))
{
    for (size_t piece = 1; piece <= rows[_i].len + 1; piece++) {
        cleanup(buf_fini) struct buf out = {0};
        cleanup(grpc_frames_fini) struct grpc_frames f;
        int status = 0;
        grpc_frames_init(&f, CAP);
        for (size_t at = 0; status == 0 && at < rows[_i].len; at += piece) {
            size_t left = rows[_i].len - at;
            status = grpc_frames_feed(&f, rows[_i].bytes + at, left < piece ? left : piece, on_message, &out, &flaw);
        }
        ck_assert_str_eq(buf_str(&out), rows[_i].out);
        ck_assert_int_eq(status, rows[_i].error != NULL ? -1 : 0);
        ck_assert_str_eq(flaw.message, rows[_i].error != NULL ? rows[_i].error : "");
    }
}

TEST(status_names)
{
    ck_assert_str_eq(grpc_status_name(GRPC_OK), "OK");
    ck_assert_str_eq(grpc_status_name(GRPC_PERMISSION_DENIED), "PERMISSION_DENIED");
    ck_assert_str_eq(grpc_status_name(14), "UNAVAILABLE");
    ck_assert_str_eq(grpc_status_name(16), "UNAUTHENTICATED");
    ck_assert_str_eq(grpc_status_name(17), "unknown status");
}

#include "net/grpc.h"

#include <stdint.h>

const char *grpc_status_name(unsigned long status)
{
    static const char *const names[] = {
        "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS", "UNAUTHENTICATED"};
    return status < array_len(names) ? names[status] : "unknown status";
}

void grpc_frames_init(struct grpc_frames *f, size_t max_bytes)
{
    f->max_bytes = max_bytes;
    buf_init_secret(&f->in, 0);
}

void grpc_frames_fini(struct grpc_frames *f)
{
    buf_fini(&f->in);
}

/* Up to so many bytes of the message and what is in front of it; how many were taken. */
static size_t take(struct grpc_frames *f, const char *bytes, size_t len, size_t whole)
{
    size_t missing = whole - f->in.len, n = len < missing ? len : missing;
    buf_addn(&f->in, bytes, n);
    return n;
}

int grpc_frames_feed(struct grpc_frames *f, const char *bytes, size_t len,
                     int (*fn)(void *arg, const char *message, size_t len, struct error *err), void *arg,
                     struct error *err)
{
    for (;;) {
        size_t whole = GRPC_HEADER_BYTES;
        if (f->in.len < whole) {
            size_t n = take(f, bytes, len, whole);
            bytes += n;
            len -= n;
            if (f->in.len < whole)
                return 0;
        }
        const char *header = f->in.data;
        uint32_t message = 0;
        for (int i = 1; i < GRPC_HEADER_BYTES; i++)
            message = message << 8 | (unsigned char)header[i];
        if (f->in.data[0] != 0)
            return error_set(err, ERROR_INVALID,
                             "a gRPC message begins with %d: expected 0, for one that is not compressed",
                             (unsigned char)f->in.data[0]);
        if (message > f->max_bytes)
            return error_set(err, ERROR_INVALID, "a gRPC message of %lu bytes, of at most %zu", (unsigned long)message,
                             f->max_bytes);
        whole += message;
        size_t n = take(f, bytes, len, whole);
        bytes += n;
        len -= n;
        if (f->in.len < whole)
            return 0;
        if (fn(arg, f->in.data + GRPC_HEADER_BYTES, message, err) != 0)
            return -1;
        buf_fini(&f->in);
    }
}

/*
 * gRPC over HTTP/2 (grpc.io, "gRPC over HTTP2"), as much of it as a stream from the server needs: each message has five
 * bytes in front of it, a flag for compression and the length; how the stream ended is in its trailers.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

#define GRPC_CONTENT_TYPE "application/grpc"
#define GRPC_HEADER_BYTES 5

enum grpc_status { GRPC_OK = 0, GRPC_PERMISSION_DENIED = 7 };

/* "PERMISSION_DENIED"; "status 99" has none: "unknown status". */
const char *grpc_status_name(unsigned long status);

/* One message after the other out of a stream, which may be cut anywhere. */
struct grpc_frames {
    struct buf in; /* what has come of the next one, with its five bytes; wiped where it goes */
    size_t max_bytes;
};

void grpc_frames_init(struct grpc_frames *f, size_t max_bytes); /* of a message */
void grpc_frames_fini(struct grpc_frames *f);

/* Calls fn for each message that is complete with these bytes; not 0 from it stops and is returned as -1. ERROR_INVALID: a
 * compressed message, which was not asked for, or one over the cap; then the stream is to be given up. */
int grpc_frames_feed(struct grpc_frames *f, const char *bytes, size_t len,
                     int (*fn)(void *arg, const char *message, size_t len, struct error *err), void *arg,
                     struct error *err) must_check;

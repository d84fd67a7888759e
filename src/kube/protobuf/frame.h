/*
 * Splits an answer in protobuf into its objects while it streams in: of a watch (media type parameter stream=watch:
 * each WatchEvent behind four bytes of its length, most significant first) and of a LIST (one runtime.Unknown, whose
 * raw message is the list: its elements are handed out one by one). Bytes may arrive in any split, down to one. Keeps
 * at most one object in memory, and none that arrived in one piece.
 *
 * What is inside an object is not parsed here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kube/frame.h"

struct proto_frame {
    enum frame_mode mode;
    const char *kind; /* FRAME_LIST: of the elements, "Node"; borrowed */
    struct buf meta;  /* FRAME_LIST: the list's ListMeta */
    size_t frames;    /* handed out so far */
    /* private to protobuf/frame.c */
    struct buf part; /* what is being collected */
    size_t max_object_bytes;
    uint64_t offset; /* of the next feed in the answer */
    unsigned state;
    unsigned got;    /* bytes of the magic, length or number under way */
    uint64_t number; /* so far */
    uint64_t left;   /* bytes of what is skipped or collected */
    uint32_t field;
    bool in_list, list_seen, kind_seen, meta_seen;
    uint64_t list_end; /* in_list: offset behind it */
};

/* max_object_bytes 0: FRAME_MAX_OBJECT_BYTES. */
void proto_frame_init(struct proto_frame *f, enum frame_mode mode, const char *kind, size_t max_object_bytes);
void proto_frame_fini(struct proto_frame *f);

/* As frame_feed, but fn gets bytes that it must not change. Each error of fn gets the object's offset in front. */
int proto_frame_feed(struct proto_frame *f, const char *bytes, size_t len,
                     int (*fn)(void *arg, const char *object, size_t len, struct error *err), void *arg,
                     struct error *err) must_check;

/* As frame_end. */
int proto_frame_end(struct proto_frame *f, struct error *err) must_check;

/*
 * Splits a byte stream into JSON objects without parsing them: watch streams (one object after another, a newline after
 * each, RFC 8259 texts) and, while a LIST body streams in, the elements of its top-level "items" array. Bytes may
 * arrive in any split, down to one. An object over the cap is an error. Keeps at most one object in memory.
 *
 * What is inside an object is not checked here but by who parses it: only strings and brackets count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kube/scan.h"

#define FRAME_MAX_OBJECT_BYTES (16u << 20)
/* NUL bytes behind each object that fn gets, writable: what an in-situ parser wants (decode.h). */
#define FRAME_PADDING_BYTES 4u
/* A buffer that grew beyond this for one object is given back after it. */
#define FRAME_KEEP_BYTES (64u << 10)

enum frame_mode {
    FRAME_WATCH, /* each top-level object is a frame */
    FRAME_LIST,  /* each element of "items" is a frame; all the rest of the list, without them, is left in `envelope` */
};

struct frame {
    enum frame_mode mode;
    struct buf object;       /* bytes of the object being collected */
    struct buf envelope;     /* FRAME_LIST: the list with "items":[], as it was sent otherwise; cap as for an object */
    size_t max_object_bytes; /* cap for one object */
    size_t frames;           /* handed out so far */
    bool finished;           /* FRAME_LIST: the closing brace was seen */
    /* private to frame.c */
    uint64_t offset; /* of the next feed in the stream */
    unsigned state;
    struct scan scan;
    unsigned key_matched; /* letters of "items" that the key has had so far */
    bool after_colon, is_items;
    bool in_string, escaped; /* of the list's own keys and values */
};

/* max_object_bytes 0: FRAME_MAX_OBJECT_BYTES. */
void frame_init(struct frame *f, enum frame_mode mode, size_t max_object_bytes);
void frame_fini(struct frame *f);

/* Feeds bytes; calls fn for each complete object, with FRAME_PADDING_BYTES NULs behind it, writable (for in-situ
 * parsing), valid during the call; fn must not free or feed f. Not 0 from fn stops and is returned as -1 with fn's
 * *err. Malformed framing (garbage between objects, object over the cap, nesting over SCAN_MAX_DEPTH): ERROR_INVALID
 * naming the offset. After a -1 the stream is given up: every later feed fails. */
int frame_feed(struct frame *f, const char *bytes, size_t len,
               int (*fn)(void *arg, char *json, size_t len, struct error *err), void *arg,
               struct error *err) must_check;

/* At the end of the stream: -1 where an object was cut in the middle or the list was not closed (ERROR_RETRY). */
int frame_end(struct frame *f, struct error *err) must_check;

/* Empties the buffer of an object, so that one that was huge does not set what the process holds from then on. */
void frame_give_back(struct buf *object);

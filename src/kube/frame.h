/*
 * Splits a byte stream into JSON objects without parsing them: watch streams (one object after another, a newline after
 * each, RFC 8259 texts) and, while a LIST body streams in, the elements of its top-level "items" array. Bytes may arrive
 * in any split, down to one. An object over the cap is an error that says so. Keeps at most one object in memory.
 */
#ifndef KUBE_FRAME_H
#define KUBE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define FRAME_MAX_OBJECT_BYTES (16u << 20)

enum frame_mode {
    FRAME_WATCH, /* each top-level object is a frame */
    FRAME_LIST,  /* each element of "items" is a frame; all the rest of the list, without them, is left in `envelope` */
};

struct frame {
    enum frame_mode mode;
    struct buf object;   /* bytes of the object being collected */
    struct buf envelope; /* FRAME_LIST: the list with "items":[] */
    size_t max_object_bytes;
    /* scanner state: private to frame.c */
    unsigned state;
    unsigned depth;
    bool in_string, escaped;
    unsigned char key_match;
    size_t frames;
    bool finished; /* FRAME_LIST: the closing brace was seen */
};

void frame_init(struct frame *f, enum frame_mode mode, size_t max_object_bytes);
void frame_fini(struct frame *f);

/* Feeds bytes; calls fn for each complete object, NUL-terminated, writable (for in-situ parsing), valid during the call.
 * Not 0 from fn stops and is returned as -1 with fn's *err. Malformed framing (garbage between objects, object over the
 * cap, nesting over 256): ERROR_INVALID naming the offset. */
int frame_feed(struct frame *f, const char *bytes, size_t len,
               int (*fn)(void *arg, char *json, size_t len, struct error *err), void *arg,
               struct error *err) must_check;

/* At the end of the stream: -1 where an object was cut in the middle (or the list was not closed). */
int frame_end(struct frame *f, struct error *err) must_check;

#endif

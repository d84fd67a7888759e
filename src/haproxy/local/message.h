/*
 * What goes between the daemon and its helper: a length and so many bytes, a request or an answer. Numbers are the
 * machine's own, for it is one machine. Pure; what is read is checked byte for byte, for the other side may be an
 * attacker's by now.
 */
#pragma once

#include "base/buf.h"
#include "haproxy/local/helper.h"

#define LOCAL_FRAME_HEAD_BYTES 4u
#define LOCAL_FRAME_MAX_BYTES (LOCAL_FILE_MAX_BYTES + LOCAL_COMMAND_MAX_BYTES)

enum local_kind {
    LOCAL_KIND_READ_CONFIG,
    LOCAL_KIND_WRITE_CONFIG,
    LOCAL_KIND_LOCK_CONFIG,
    LOCAL_KIND_COMMAND,
    LOCAL_KIND_RELOAD,
    LOCAL_KIND_PUT_FILE,
    LOCAL_KIND_DELETE_FILE,
    LOCAL_KIND_READ_FILE,
    LOCAL_KIND_NOTE_LOADED,
    LOCAL_KIND_RELEASE_CONFIG, /* the last one */
};

struct local_ask {
    enum local_kind kind;
    unsigned flags; /* enum local_write_flags */
    unsigned where; /* folder, or enum local_socket */
    bool expects;
    struct local_identity expected;
    const char *name; /* of a file; never NULL; no NUL in it */
    const char *bytes;
    size_t len; /* a NUL stands behind them */
};

/* With the head. -1: too long. */
int local_message_put_ask(struct buf *out, const struct local_ask *a) must_check;
int local_message_put_answer(struct buf *out, const struct local_answer *a) must_check;

/* How long what follows a head is. -1: longer than any message. */
int local_message_length(const char head[LOCAL_FRAME_HEAD_BYTES], size_t *ret) must_check;

/* Without the head; what they return points into bytes. -1: it is none. */
int local_message_get_ask(const char *bytes, size_t len, struct local_ask *ret) must_check;
int local_message_get_answer(const char *bytes, size_t len, struct local_answer *ret) must_check;

/* A name that may stand in a folder: see local_put_file. */
bool local_message_name_fits(const char *name);

/* Frames as text: "{..}|{..}|", then a list's envelope, then the error's kind where there is one. */
#ifndef TESTS_FRAME_TEXT_H
#define TESTS_FRAME_TEXT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/frame.h"

struct collected {
    struct buf text;
    size_t count, stop_at; /* 0: never */
};

static inline int collect(void *arg, char *json, size_t len, struct error *err)
{
    struct collected *c = arg;
    for (size_t i = 0; i < FRAME_PADDING_BYTES; i++)
        ck_assert_int_eq(json[len + i], 0);
    buf_addn(&c->text, json, len);
    buf_add(&c->text, "|");
    memset(json, 'x', len + FRAME_PADDING_BYTES); /* it is ours to write to */
    if (++c->count == c->stop_at)
        return error_set(err, ERROR_RETRY, "stopped");
    return 0;
}

/* cuts: bit n set: a piece ends behind byte n (for short texts); else pieces of `piece` bytes. */
static inline char *split(enum frame_mode mode, const char *text, size_t len, size_t piece, uint64_t cuts, size_t cap)
{
    struct frame f;
    struct collected c = {.count = 0};
    struct error err = {ERROR_NONE, 0, ""};
    int result = 0;
    frame_init(&f, mode, cap);
    buf_init(&c.text, 0);
    for (size_t at = 0, end; at < len && result == 0; at = end) {
        end = at + 1;
        while (end < len && (piece != 0 ? end - at < piece : (cuts >> (end - 1) & 1) == 0))
            end++;
        char *copy = malloc(end - at); /* exactly: a step over its end shows */
        memcpy(copy, text + at, end - at);
        result = frame_feed(&f, copy, end - at, collect, &c, &err);
        free(copy);
    }
    if (result == 0)
        result = frame_end(&f, &err);
    ck_assert_uint_eq(f.frames, c.count);
    if (mode == FRAME_LIST && result == 0)
        buf_add(&c.text, buf_str(&f.envelope));
    if (result != 0)
        buf_printf(&c.text, "%s%s", c.text.len > 0 ? " " : "", error_kind_name(err.kind));
    frame_fini(&f);
    return buf_take(&c.text);
}

#endif

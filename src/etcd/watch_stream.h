/* The bytes of /v3/watch, in any split, into its messages: a document on each line. Nothing is called back: what
 * comes inside libcurl is taken out in a turn of the loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/error.h"
#include "etcd/codec.h"

#define ETCD_WATCH_LINE_MAX_BYTES (16u << 20)

struct etcd_watch_stream {
    int status; /* of the answer; another than 200: what comes is one refusal */
    bool over_cap;
    struct buf line; /* what has come of it */
    STAILQ_HEAD(etcd_watch_inbox, etcd_watch_letter) inbox;
};

void etcd_watch_stream_init(struct etcd_watch_stream *s);
void etcd_watch_stream_fini(struct etcd_watch_stream *s); /* empty, and usable */

/* ERROR_INVALID with what came: no document, or one over the cap; then the stream is to be given up. */
int etcd_watch_stream_feed(struct etcd_watch_stream *s, const char *bytes, size_t len, struct error *err) must_check;
/* No more comes: etcd 3.4 has no line break behind an error, and a refusal need not have one. */
void etcd_watch_stream_end(struct etcd_watch_stream *s);

bool etcd_watch_stream_has(const struct etcd_watch_stream *s);
/* The oldest message, with what is in it. */
bool etcd_watch_stream_take(struct etcd_watch_stream *s, struct etcd_watch_message *ret) must_check;

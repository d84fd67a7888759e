#include "etcd/watch_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define EXCERPT_BYTES 200
#define REFUSAL_MAX_BYTES 65536u /* more of it is not read */
#define KEEP_BYTES (64u << 10)   /* a longer line's memory is given back */

struct etcd_watch_letter {
    STAILQ_ENTRY(etcd_watch_letter) entry;
    struct etcd_watch_message message;
};

void etcd_watch_stream_init(struct etcd_watch_stream *s)
{
    *s = (struct etcd_watch_stream){0};
    buf_init(&s->line, ETCD_WATCH_LINE_MAX_BYTES);
    STAILQ_INIT(&s->inbox);
}

void etcd_watch_stream_fini(struct etcd_watch_stream *s)
{
    struct etcd_watch_message m;
    while (etcd_watch_stream_take(s, &m))
        etcd_watch_message_fini(&m);
    buf_fini(&s->line);
    s->status = 0;
    s->over_cap = false;
}

bool etcd_watch_stream_has(const struct etcd_watch_stream *s)
{
    return !STAILQ_EMPTY(&s->inbox);
}

bool etcd_watch_stream_take(struct etcd_watch_stream *s, struct etcd_watch_message *ret)
{
    struct etcd_watch_letter *l = STAILQ_FIRST(&s->inbox);
    if (l == NULL)
        return false;
    STAILQ_REMOVE_HEAD(&s->inbox, entry);
    *ret = l->message;
    free(l);
    return true;
}

static void put(struct etcd_watch_stream *s, const struct etcd_watch_message *m)
{
    struct etcd_watch_letter *l = mem_alloc(sizeof(*l));
    l->message = *m;
    STAILQ_INSERT_TAIL(&s->inbox, l, entry);
}

static int read_line(struct etcd_watch_stream *s, struct error *err)
{
    struct etcd_watch_message m;
    struct error why = {0};
    if (etcd_codec_read_watch(buf_str(&s->line), s->line.len, &m, &why) == 0) {
        put(s, &m);
        return 0;
    }
    cleanup(mem_free_ptr) char *excerpt = text_shown(buf_str(&s->line), TEXT_LINE, EXCERPT_BYTES);
    return error_set(err, ERROR_INVALID, "%s; is this etcd? It sent: %s", why.message, excerpt);
}

static int add(struct etcd_watch_stream *s, const char *bytes, size_t len, struct error *err)
{
    if (buf_append(&s->line, bytes, len) == 0)
        return 0;
    s->over_cap = true;
    return error_set(err, ERROR_INVALID, "a line of the watch has more than %u bytes; all keys are read again",
                     ETCD_WATCH_LINE_MAX_BYTES);
}

int etcd_watch_stream_feed(struct etcd_watch_stream *s, const char *bytes, size_t len, struct error *err)
{
    if (s->status != 200) {
        size_t room = REFUSAL_MAX_BYTES - s->line.len;
        return add(s, bytes, len < room ? len : room, err);
    }
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end != NULL ? (size_t)(end - bytes) : len, taken = end != NULL ? part + 1 : part;
        if (add(s, bytes, part, err) != 0)
            return -1;
        if (end != NULL && s->line.len > 0 && read_line(s, err) != 0)
            return -1;
        if (end != NULL)
            (s->line.size > KEEP_BYTES ? buf_fini : buf_clear)(&s->line);
        bytes += taken;
        len -= taken;
    }
    return 0;
}

void etcd_watch_stream_end(struct etcd_watch_stream *s)
{
    struct etcd_watch_message m = {.canceled = true};
    if (s->status == 200 && s->line.len > 0) {
        (void)read_line(s, NULL); /* a half one comes again */
    } else if (s->status != 200 && s->status != 0) {
        etcd_refusal_read(s->status, buf_str(&s->line), s->line.len, &m.refusal);
        put(s, &m);
    }
}

/* What a watch reported, in words. */
#pragma once

#include "../test.h"

#include "etcd/client.h"
#include "etcd/watch.h"

static struct error told_why; /* it is lost */
static struct buf told;       /* what the watch reported, a word or so each */

static inline void on_changed(void *arg, const struct etcd_event *events, size_t count, int64_t revision)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_le(events[i].kv->mod_revision, revision);
        buf_printf(&told, "%s%s%s%s ", events[i].deleted ? "-" : "", events[i].kv->key, events[i].deleted ? "" : "=",
                   events[i].deleted ? "" : events[i].kv->value);
    }
}

static inline void on_compacted(void *arg, int64_t revision)
{
    buf_printf(&told, "compacted:%lld ", (long long)revision);
}

static inline void on_state(void *arg, bool connected, const struct error *err)
{
    ck_assert(connected == (err == NULL));
    if (connected)
        buf_add(&told, "connected ");
    else
        buf_printf(&told, "lost:%s ", error_kind_name(err->kind));
    told_why = connected ? (struct error){0} : *err;
}

static const struct etcd_watch_callbacks callbacks = {on_changed, on_compacted, on_state};

static inline bool was_told(const char *text)
{
    return strstr(buf_str(&told), text) != NULL;
}

/* What a list or watch asks for, as path and query, and until when it may take. Only the query differs between the
 * three kinds of request. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/watch.h"

static char *list_path(const struct watch *w)
{
    if (w->continue_token == NULL && w->unlimited)
        return mem_strndup(w->path, strlen(w->path) - 1);
    if (w->continue_token == NULL)
        return mem_printf("%slimit=%u", w->path, w->page_size);
    cleanup(mem_free_ptr) char *token = str_url_encode(w->continue_token);
    return mem_printf("%slimit=%u&continue=%s", w->path, w->page_size, token);
}

char *watch_request_path(const struct watch *w)
{
    if (w->state == WATCH_LISTING)
        return list_path(w);
    if (w->state == WATCH_STREAMING)
        return mem_printf("%swatch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
                          "&timeoutSeconds=%u",
                          w->path, w->timeout_s);
    cleanup(mem_free_ptr) char *version = str_url_encode(w->version);
    /* Without a list no bookmarks: a server over etcd 3.4 would end the watch with an error. */
    return mem_printf("%swatch=1%s&resourceVersion=%s&timeoutSeconds=%u", w->path,
                      w->changes_only ? "" : "&allowWatchBookmarks=true", version, w->timeout_s);
}

bool watch_request_is_list(const struct watch *w)
{
    return w->state == WATCH_LISTING;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t watch_due_ms(const struct watch *w)
{
    if (w->state == WATCH_IDLE)
        return 0;
    if (w->state == WATCH_WAITING)
        return w->wait_until_ms;
    uint64_t due = w->started_ms +
                   (w->state == WATCH_LISTING ? w->deadlines.list_ms : w->timeout_s * 1000 + w->deadlines.grace_ms);
    if (w->answered_ms == 0)
        return sooner(due, w->started_ms + w->deadlines.answer_ms);
    if (w->state != WATCH_WATCHING)
        return sooner(due, w->last_byte_ms + w->deadlines.list_silence_ms);
    if (w->bookmarks_seen)
        due = sooner(due, w->last_byte_ms + w->deadlines.silence_ms);
    return w->contact ? due : sooner(due, w->answered_ms + WATCH_STABLE_MS);
}

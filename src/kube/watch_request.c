/* What a list or watch asks for, as path and query. Nothing but the query tells the three kinds of request apart. */
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
    return mem_printf("%swatch=1&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%u", w->path, version,
                      w->timeout_s);
}

bool watch_request_is_list(const struct watch *w)
{
    return w->state == WATCH_LISTING;
}

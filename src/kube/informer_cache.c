/* A cache as the sink of an informer. */
#include "kube/informer.h"
#include "model/cache.h"

static void sink_begin(void *arg)
{
    cache_replace_begin(arg);
}

static bool sink_put(void *arg, void *object)
{
    return cache_put(arg, object);
}

static bool sink_remove(void *arg, const char *name)
{
    return cache_delete(arg, name);
}

static void sink_keep(void *arg, const char *name)
{
    cache_keep(arg, name);
}

static void sink_abort(void *arg)
{
    cache_replace_abort(arg);
}

static bool sink_end(void *arg, size_t *ret_count)
{
    bool changed = cache_replace_end(arg);
    *ret_count = cache_count(arg);
    return changed;
}

static void sink_forget(void *arg)
{
    cache_forget(arg);
}

struct informer_sink informer_sink_cache(struct cache *c)
{
    return (struct informer_sink){.arg = c,
                                  .begin = sink_begin,
                                  .put = sink_put,
                                  .remove = sink_remove,
                                  .keep = sink_keep,
                                  .abort = sink_abort,
                                  .end = sink_end,
                                  .forget = sink_forget};
}

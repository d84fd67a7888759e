#include "daemon/services/slices_sink.h"

#include "model/service_slices.h"

static void slices_begin(void *arg)
{
    service_slices_begin(arg);
}

static bool slices_put(void *arg, void *object)
{
    return service_slices_put(arg, object);
}

static bool slices_remove(void *arg, const char *name)
{
    return service_slices_delete(arg, name);
}

static void slices_keep(void *arg, const char *name)
{
    service_slices_keep(arg, name);
}

static void slices_abort(void *arg)
{
    service_slices_abort(arg);
}

static bool slices_end(void *arg, size_t *ret_count)
{
    bool changed = service_slices_end(arg);
    *ret_count = service_slices_count(arg);
    return changed;
}

static void slices_forget(void *arg)
{
    service_slices_forget(arg);
}

struct informer_sink slices_sink(struct service_slices *to)
{
    return (struct informer_sink){.arg = to,
                                  .begin = slices_begin,
                                  .put = slices_put,
                                  .remove = slices_remove,
                                  .keep = slices_keep,
                                  .abort = slices_abort,
                                  .end = slices_end,
                                  .forget = slices_forget};
}

#include "daemon/services/slices_sink.h"

#include "model/service_slices.h"

static bool take_slices(void *arg, const struct sink_change *change, size_t *ret_count)
{
    struct service_slices *to = arg;
    switch (change->step) {
    case SINK_BEGIN:
        service_slices_begin(to);
        return false;
    case SINK_PUT:
        return service_slices_put(to, change->object);
    case SINK_REMOVE:
        return service_slices_delete(to, change->name);
    case SINK_KEEP:
        service_slices_keep(to, change->name);
        return false;
    case SINK_ABORT:
        service_slices_abort(to);
        return false;
    case SINK_END: {
        bool changed = service_slices_end(to);
        *ret_count = service_slices_count(to);
        return changed;
    }
    case SINK_FORGET:
        service_slices_forget(to);
        return false;
    }
    return false;
}

struct informer_sink slices_sink(struct service_slices *to)
{
    return (struct informer_sink){.take = take_slices, .arg = to};
}

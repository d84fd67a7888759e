/* What HAProxy serves, for engines that ask (`served` of haproxy/engine). */
#include "haproxy/instance_internal.h"

bool instance_let_ask_served(struct instance *in)
{
    for (size_t i = 0; i < in->engine_count; i++) {
        if (!in->wants[i].served)
            continue;
        instance_begin(in, INSTANCE_POLLING);
        in->asking = in->engines[i];
        instance_driver(in)->ops->ask_served(instance_driver(in), false);
        return true;
    }
    return false;
}

void instance_served_told(void *arg, const struct served *s, const struct error *err)
{
    struct instance *in = arg;
    const struct engine *e = in->asking;
    in->asking = NULL;
    e->ops->served(e->self, s, err);
    instance_done(in);
}

/* What the configuration engine decides, in worlds whose HAProxy cannot be asked what it serves. */
#ifndef TESTS_DECIDED_H
#define TESTS_DECIDED_H

#include "haproxy/engine.h"

static inline struct engine_wants decided(const struct engine *e)
{
    struct engine_wants wants = {0};
    e->ops->decide(e->self, &wants);
    if (!wants.served)
        return wants;
    (void)error_set(&flaw, ERROR_GONE, "there is no socket");
    e->ops->served(e->self, NULL, &flaw);
    wants = (struct engine_wants){0};
    e->ops->decide(e->self, &wants);
    return wants;
}

#endif

/* An instance that does nothing by itself, for worlds in which the test says what happens: behind their struct instance. */
#ifndef TESTS_IDLE_INSTANCE_H
#define TESTS_IDLE_INSTANCE_H

#include "haproxy/change.h"
#include "haproxy/instance.h"

void instance_step(struct instance *in)
{
    (void)in;
}

static unsigned must_reload; /* how often that was said */

void instance_must_reload(struct instance *in)
{
    (void)in;
    must_reload++;
}

int instance_foresee(const struct instance *in, const struct cfg_file *to, const struct changes *changes,
                     struct buf *ret, struct error *err)
{
    (void)in, (void)to, (void)err;
    for (size_t i = 0; i < changes->count; i++)
        buf_printf(ret, "change %s/%s\n", changes->list[i]->backend->name, changes->list[i]->server->name);
    return 0;
}

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
    (void)in;
    (void)when_ms;
}

#endif

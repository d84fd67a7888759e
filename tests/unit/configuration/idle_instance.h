/* An instance that does nothing by itself, for worlds in which the test says what happens: behind their struct instance. */
#ifndef TESTS_IDLE_INSTANCE_H
#define TESTS_IDLE_INSTANCE_H

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

void instance_begin_anew(struct instance *in, uint64_t when_ms)
{
    (void)in;
    (void)when_ms;
}

#endif

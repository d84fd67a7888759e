/* A `plan` as text, beside the page that is expected. */
#ifndef TESTS_PLAN_TEXT_WORLD_H
#define TESTS_PLAN_TEXT_WORLD_H

#include <check.h>
#include <stdlib.h>

#include "inspect_world.h"

#define HEADING "backend be  <-  Service ingress/web port https  (NodePort, policy Local, nodePort 30443)\n"

static struct inspect_world w;

static inline void expect(const char *text)
{
    world_expect(&w, inspect_print_plan, text);
}

static inline struct inspect_backend *see(const char *desired, const char *actual)
{
    struct inspect_backend *b = world_add(&w, "be", desired);
    world_see(&w, b, actual);
    return b;
}

static inline void setup(void)
{
    world_init(&w);
}

static inline void teardown(void)
{
    world_fini(&w);
}

#endif

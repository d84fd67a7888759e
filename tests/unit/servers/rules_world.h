/* One or two backends with one server each, and the rules for what may be lost at once. */
#pragma once

#include "../engine_world.h"

static const struct plan_rules no_loss_limit = {.max_loss_percent = 100};

static inline void begin_with(size_t backends, struct plan_rules rules)
{
    world_make_with(backends, rules);
    instance_start(w.target.instance);
    if (backends == 2)
        desired_both("n1", "n1", "the first list");
    else
        desired("n1", "the first list");
    pass(0);
    buf_clear(&w.trace);
}

static inline struct plan_rules braked(void)
{
    return (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS};
}

/* The HAProxies of the configuration engine, who come and go: a number for each of them, which another one gets when it is
 * gone. */
#include <stdlib.h>

#include "base/backoff.h"
#include "base/mem.h"
#include "configuration/configuration_internal.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/driver.h"

struct target *target_next(const struct configuration *c, const struct target *t)
{
    for (size_t i = t != NULL ? t->number + 1 : 0; i < c->count; i++)
        if (c->targets[i] != NULL)
            return c->targets[i];
    return NULL;
}

bool target_is_alone(const struct target *t)
{
    return target_next(t->of, NULL) == t && target_next(t->of, t) == NULL;
}

/* ---- one more ---- */

static bool targets_any_runs(const struct configuration *c)
{
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (!t->joins && (t->runs[0] != '\0' || t->progress == PROGRESS_WRITTEN || t->progress == PROGRESS_DRIFTED))
            return true;
    return false;
}

static size_t targets_free_number(const struct configuration *c)
{
    size_t number = 0;
    while (number < c->count && c->targets[number] != NULL)
        number++;
    return number;
}

size_t configuration_add(struct configuration *c, const char *name)
{
    size_t number = targets_free_number(c);
    struct target *t = mem_alloc(sizeof(*t));
    *t = (struct target){.of = c,
                         .number = number,
                         .engine = {.ops = &target_ops, .self = t, .rest = true},
                         .name = name != NULL ? mem_strdup(name) : NULL,
                         .joins = targets_any_runs(c)};
    t->file = cfg_content_new(mem_strdup(""), 0);
    retry_init(&t->retry, backoff_random_seed() + (unsigned)number);
    if (number == c->count)
        c->targets = mem_resize(c->targets, ++c->count, sizeof(c->targets[0]));
    c->targets[number] = t;
    if (c->document != NULL)
        target_set(t);
    timer_set(&c->step, 0);
    return number;
}

const struct engine *configuration_engine(const struct configuration *c, size_t i)
{
    return &c->targets[i]->engine;
}

/* ---- one that is gone: its instance ends what it has in hand, which is nobody's concern any more ---- */

static void target_gone_decide(void *self, struct engine_wants *ret)
{
    (void)self, (void)ret;
}

static void target_gone_replaced(void *self, const struct replaced *r)
{
    (void)self, (void)r;
}

static void target_gone_stored(void *self, const struct stored *s)
{
    (void)self, (void)s;
}

static void target_gone_served(void *self, const struct served *s, const struct error *err)
{
    (void)self, (void)s, (void)err;
}

static const struct engine_ops target_gone_ops = {.name = "the configuration engine",
                                                  .decide = target_gone_decide,
                                                  .stored = target_gone_stored,
                                                  .served = target_gone_served,
                                                  .replaced = target_gone_replaced};

void configuration_remove(struct configuration *c, size_t number)
{
    struct target *t = c->targets[number];
    if (t->in != NULL)
        configuration_tell(c, CONFIGURATION_GONE, t, NULL);
    if (t->name != NULL)
        store_forget_target(c->options.store, t->name);
    t->engine.ops = &target_gone_ops;
    t->gone = c->gone;
    c->gone = t;
    c->targets[number] = NULL;
    timer_set(&c->step, 0); /* the others may have waited for it */
}

static void target_free(struct target *t)
{
    target_fini(t);
    free(t);
}

void configuration_forget(struct configuration *c, const struct engine *e)
{
    struct target **at = &c->gone;
    while (*at != NULL && &(*at)->engine != e)
        at = &(*at)->gone;
    struct target *t = *at;
    if (t == NULL)
        return;
    *at = t->gone;
    target_free(t);
}

void target_list_fini(struct configuration *c)
{
    while (c->gone != NULL)
        configuration_forget(c, &c->gone->engine);
    for (size_t i = 0; i < c->count; i++)
        if (c->targets[i] != NULL)
            target_free(c->targets[i]);
    free(c->targets);
}

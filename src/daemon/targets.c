#include "daemon/targets.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/checks.h"
#include "haproxy/driver.h"

struct targets {
    struct target *list;
    size_t count;
    size_t running; /* while stopping */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

struct targets *targets_new(struct event_base *base, const struct targets_options *options,
                            struct driver *const *drivers, size_t count, struct error *err)
{
    struct targets *t = mem_alloc(sizeof(*t));
    t->list = mem_array(count, sizeof(t->list[0]));
    for (size_t i = 0; i < count; i++) {
        struct target *target = &t->list[t->count++];
        struct instance_options own = options->instance;
        own.several = count > 1;
        own.driver = drivers[i];
        const struct engine *engines[2];
        size_t engine_count = 0;
        if (options->servers.backend_count > 0) {
            target->servers = servers_new(&options->servers);
            engines[engine_count++] = servers_engine(target->servers);
        }
        target->configuration = options->configuration;
        target->number = i;
        if (options->configuration != NULL)
            engines[engine_count++] = configuration_engine(options->configuration, i);
        target->instance = instance_new(base, &own, engines, engine_count, err);
        if (target->instance == NULL) {
            for (size_t k = i + 1; k < count; k++)
                drivers[k]->ops->free(drivers[k]);
            targets_free(t);
            return NULL;
        }
    }
    return t;
}

void targets_free(struct targets *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->count; i++) {
        instance_free(t->list[i].instance);
        servers_free(t->list[i].servers);
    }
    free(t->list);
    free(t);
}

void targets_start(struct targets *t)
{
    for (size_t i = 0; i < t->count; i++)
        instance_start(t->list[i].instance);
}

void targets_set_desired(struct targets *t, size_t backend, const struct desired *desired, const char *cause,
                         uint64_t received_us)
{
    for (size_t i = 0; i < t->count; i++)
        servers_set_desired(t->list[i].servers, backend, desired, cause, received_us);
}

void targets_apply(struct targets *t)
{
    for (size_t i = 0; i < t->count; i++)
        servers_apply(t->list[i].servers);
}

void targets_refresh(struct targets *t)
{
    for (size_t i = 0; i < t->count; i++)
        instance_refresh(t->list[i].instance);
}

static void targets_on_stopped(void *arg)
{
    struct targets *t = arg;
    if (--t->running == 0)
        t->stopped(t->stopped_arg);
}

void targets_stop(struct targets *t, void (*stopped)(void *arg), void *arg)
{
    t->stopped = stopped;
    t->stopped_arg = arg;
    t->running = t->count;
    for (size_t i = 0; i < t->count; i++)
        instance_stop(t->list[i].instance, targets_on_stopped, t);
}

void targets_end_traces(struct targets *t)
{
    for (size_t i = 0; t != NULL && i < t->count; i++)
        servers_end_traces(t->list[i].servers);
}

size_t targets_count(const struct targets *t)
{
    return t->count;
}

const struct target *targets_at(const struct targets *t, size_t i)
{
    return &t->list[i];
}

bool targets_ready(const struct targets *t, struct checks *checks)
{
    bool any = false;
    for (size_t i = 0; i < t->count; i++)
        any = t->list[i].servers == NULL || servers_ready(t->list[i].servers, checks) || any;
    return any;
}

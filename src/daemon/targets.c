#include "daemon/targets.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/checks.h"
#include "daemon/clients.h"

struct targets {
    struct target **list;
    size_t count;
    size_t running; /* while stopping */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

struct targets *targets_new(struct event_base *base, const struct target_options *options,
                            const struct clients_dataplane *list, size_t count)
{
    struct targets *t = mem_alloc(sizeof(*t));
    t->list = mem_array(count, sizeof(t->list[0]));
    for (size_t i = 0; i < count; i++) {
        struct target_options own = *options;
        own.several = count > 1;
        own.client = list[i].file;
        own.runtime = list[i].runtime;
        t->list[t->count++] = target_new(base, &own);
    }
    return t;
}

void targets_free(struct targets *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->count; i++)
        target_free(t->list[i]);
    free(t->list);
    free(t);
}

void targets_start(struct targets *t)
{
    for (size_t i = 0; i < t->count; i++)
        target_start(t->list[i]);
}

void targets_wish(struct targets *t, size_t backend, const struct desired *wish, const char *cause,
                  uint64_t received_us)
{
    for (size_t i = 0; i < t->count; i++)
        target_wish(t->list[i], backend, wish, cause, received_us);
}

void targets_go(struct targets *t)
{
    for (size_t i = 0; i < t->count; i++)
        target_go(t->list[i]);
}

void targets_compare(struct targets *t)
{
    for (size_t i = 0; i < t->count; i++)
        target_compare(t->list[i]);
}

static void on_stopped(void *arg)
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
        target_stop(t->list[i], on_stopped, t);
}

size_t targets_count(const struct targets *t)
{
    return t->count;
}

const struct target *targets_at(const struct targets *t, size_t i)
{
    return t->list[i];
}

bool targets_ready(const struct targets *t, struct checks *checks)
{
    bool any = false;
    for (size_t i = 0; i < t->count; i++)
        any = target_ready(t->list[i], checks) || any;
    return any;
}

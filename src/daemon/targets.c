#include "daemon/targets.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/driver.h"
#include "host/timer.h"
#include "report/checks.h"
#include "report/metric_table.h"

struct target_entry {
    struct target target;
    struct targets *of;
    const struct engine *configuration; /* its; NULL: none */
    char *identity;                     /* NULL: it is one of the settings */
    void (*gone)(void *arg);            /* NULL: not called */
    void *arg;
    bool ended; /* it was removed, and nothing of it is under way */
};

struct target_list {
    struct target_entry **list;
    size_t count;
};

struct targets {
    struct event_base *base;
    struct targets_options options;
    struct target_list here, leaving; /* which were removed, and may have something in hand */
    struct timer sweep;
    size_t running; /* while stopping */
    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* ---- one of them ---- */

static void target_list_add(struct target_list *l, struct target_entry *e)
{
    l->list = mem_resize(l->list, l->count + 1, sizeof(l->list[0]));
    l->list[l->count++] = e;
}

static void target_list_drop(struct target_list *l, size_t i)
{
    memmove(&l->list[i], &l->list[i + 1], (--l->count - i) * sizeof(l->list[0]));
}

/* -1: it is to be freed all the same. */
static int target_entry_make(struct target_entry *e, struct driver *driver, bool several, struct error *err)
{
    const struct targets_options *o = &e->of->options;
    struct instance_options own = o->instance;
    const struct engine *engines[2];
    size_t count = 0;
    own.several = several;
    own.driver = driver;
    if (o->servers.backend_count > 0) {
        e->target.servers = servers_new(&o->servers);
        engines[count++] = servers_engine(e->target.servers);
    }
    if (e->configuration != NULL)
        engines[count++] = e->configuration;
    e->target.instance = instance_new(e->of->base, &own, engines, count, err);
    return e->target.instance != NULL ? 0 : -1;
}

static struct target_entry *target_entry_new(struct targets *t, size_t number)
{
    struct target_entry *e = mem_alloc(sizeof(*e));
    struct configuration *c = t->options.configuration;
    *e = (struct target_entry){.of = t,
                               .target = {.configuration = c, .number = number},
                               .configuration = c != NULL ? configuration_engine(c, number) : NULL};
    return e;
}

static void target_entry_free(struct target_entry *e)
{
    instance_free(e->target.instance);
    servers_free(e->target.servers);
    if (e->gone != NULL)
        e->gone(e->arg);
    mem_free_all(e->target.pod, e->identity, e);
}

/* ---- who comes and goes ---- */

int targets_add(struct targets *t, const struct target_addition *a, struct error *err)
{
    size_t number = configuration_add(t->options.configuration, a->identity);
    struct target_entry *e = target_entry_new(t, number);
    if (target_entry_make(e, a->driver, true, err) != 0) {
        configuration_remove(t->options.configuration, number);
        configuration_forget(t->options.configuration, e->configuration);
        target_entry_free(e);
        return -1;
    }
    e->target.pod = mem_strdup(a->pod);
    e->identity = mem_strdup(a->identity);
    e->gone = a->gone;
    e->arg = a->arg;
    target_list_add(&t->here, e);
    instance_start(e->target.instance);
    return 0;
}

static void targets_sweep(void *arg)
{
    struct targets *t = arg;
    for (size_t i = t->leaving.count; i-- > 0;) {
        struct target_entry *e = t->leaving.list[i];
        if (!e->ended)
            continue;
        target_list_drop(&t->leaving, i);
        cleanup(mem_free_ptr) char *url = mem_strdup(instance_view(e->target.instance).url);
        const struct engine *engine = e->configuration;
        bool has_successor = false; /* which counts on */
        target_entry_free(e);
        configuration_forget(t->options.configuration, engine);
        for (size_t k = 0; k < t->here.count; k++)
            has_successor = has_successor || str_eq(instance_view(t->here.list[k]->target.instance).url, url);
        if (!has_successor)
            metrics_forget(t->options.instance.metrics->registry, "target", url);
    }
}

/* Called from inside it. */
static void target_entry_on_ended(void *arg)
{
    struct target_entry *e = arg;
    e->ended = true;
    timer_set(&e->of->sweep, 0);
}

void targets_remove(struct targets *t, const char *identity)
{
    for (size_t i = 0; i < t->here.count; i++) {
        struct target_entry *e = t->here.list[i];
        if (!str_eq(e->identity, identity))
            continue;
        target_list_drop(&t->here, i);
        target_list_add(&t->leaving, e);
        configuration_remove(t->options.configuration, e->target.number);
        instance_stop(e->target.instance, target_entry_on_ended, e);
        return;
    }
}

/* ---- all of them ---- */

struct targets *targets_new(struct event_base *base, const struct targets_options *options,
                            struct driver *const *drivers, size_t count, struct error *err)
{
    struct targets *t = mem_alloc(sizeof(*t));
    t->base = base;
    t->options = *options;
    timer_init(&t->sweep, base, targets_sweep, t);
    for (size_t i = 0; i < count; i++) {
        target_list_add(&t->here, target_entry_new(t, i));
        if (target_entry_make(t->here.list[i], drivers[i], count > 1, err) != 0) {
            for (size_t k = i + 1; k < count; k++)
                drivers[k]->ops->free(drivers[k]);
            targets_free(t);
            return NULL;
        }
    }
    return t;
}

static void target_list_fini(struct target_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        target_entry_free(l->list[i]);
    free(l->list);
}

void targets_free(struct targets *t)
{
    if (t == NULL)
        return;
    timer_fini(&t->sweep);
    target_list_fini(&t->leaving);
    target_list_fini(&t->here);
    free(t);
}

void targets_start(struct targets *t)
{
    for (size_t i = 0; i < t->here.count; i++)
        instance_start(t->here.list[i]->target.instance);
}

void targets_set_desired(struct targets *t, size_t backend, const struct desired *desired, const char *cause,
                         uint64_t received_us)
{
    for (size_t i = 0; i < t->here.count; i++)
        servers_set_desired(t->here.list[i]->target.servers, backend, desired, cause, received_us);
}

void targets_apply(struct targets *t)
{
    for (size_t i = 0; i < t->here.count; i++)
        servers_apply(t->here.list[i]->target.servers);
}

void targets_refresh(struct targets *t)
{
    for (size_t i = 0; i < t->here.count; i++)
        instance_refresh(t->here.list[i]->target.instance);
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
    t->running = t->here.count + 1; /* where there are none, too */
    for (size_t i = 0; i < t->here.count; i++)
        instance_stop(t->here.list[i]->target.instance, targets_on_stopped, t);
    targets_on_stopped(t);
}

void targets_end_traces(struct targets *t)
{
    for (size_t i = 0; t != NULL && i < t->here.count; i++)
        servers_end_traces(t->here.list[i]->target.servers);
}

size_t targets_count(const struct targets *t)
{
    return t->here.count;
}

const struct target *targets_at(const struct targets *t, size_t i)
{
    return &t->here.list[i]->target;
}

bool targets_ready(const struct targets *t, struct checks *checks)
{
    bool any = t->here.count == 0;
    for (size_t i = 0; i < t->here.count; i++) {
        const struct servers *s = t->here.list[i]->target.servers;
        any = s == NULL || servers_ready(s, checks) || any;
    }
    return any;
}

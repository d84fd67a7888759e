#include "daemon/etcd/load_balancers.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"
#include "configuration/culprits.h"
#include "daemon/etcd/etcd_access.h"
#include "etcd/client.h"
#include "etcd/watch.h"
#include "host/timer.h"
#include "report/metric_table.h"
#include "settings/settings.h"

#define RETRY_MS 5000

struct load_balancers {
    const struct daemon *in;
    struct etcd_client *client;
    char *prefix; /* "PATH/status/" */
    struct etcd_call *call;
    struct etcd_watch *watch;
    struct timer retry;
    struct load_balancer *list; /* by name */
    size_t count, size;
    bool too_many; /* logged */
    struct log_limit refused_limit, unreadable_limit;
    void (*changed)(void *arg);
    void *arg;
};

/* ---- the list ---- */

static int compare_name(const void *name, const void *one)
{
    return strcmp(name, ((const struct load_balancer *)one)->name);
}

/* Where it is, or would be. */
static size_t list_place(const struct load_balancers *l, const char *name)
{
    return sorted_place(name, l->list, l->count, sizeof(l->list[0]), compare_name);
}

static bool list_has(const struct load_balancers *l, size_t at, const char *name)
{
    return at < l->count && str_eq(l->list[at].name, name);
}

static void list_remove(struct load_balancers *l, const char *name)
{
    size_t at = list_place(l, name);
    if (!list_has(l, at, name))
        return;
    load_balancer_fini(&l->list[at]);
    memmove(&l->list[at], &l->list[at + 1], (l->count - at - 1) * sizeof(l->list[0]));
    l->count--;
}

static void list_clear(struct load_balancers *l)
{
    for (size_t i = 0; i < l->count; i++)
        load_balancer_fini(&l->list[i]);
    l->count = 0;
}

/* Takes it over. */
static void list_put(struct load_balancers *l, struct load_balancer *one)
{
    size_t at = list_place(l, one->name);
    if (list_has(l, at, one->name)) {
        load_balancer_fini(&l->list[at]);
        l->list[at] = *one;
        return;
    }
    if (l->count == LOAD_BALANCERS_MAX) {
        if (!l->too_many)
            log_warn(l->in->log, "there are more load balancers in etcd than are shown",
                     log_int("shown", LOAD_BALANCERS_MAX));
        l->too_many = true;
        load_balancer_fini(one);
        return;
    }
    if (l->count == l->size) {
        l->size = l->size > 0 ? 2 * l->size : 16;
        l->list = mem_resize(l->list, l->size, sizeof(l->list[0]));
    }
    memmove(&l->list[at + 1], &l->list[at], (l->count - at) * sizeof(l->list[0]));
    l->list[at] = *one;
    l->count++;
}

/* Its name is that of its key: what its value says counts for nothing there. */
static void load_balancers_take(struct load_balancers *l, const struct etcd_kv *kv)
{
    struct load_balancer one;
    struct error err = {0};
    const char *name = kv->key + strlen(l->prefix);
    if (load_balancer_parse(kv->value, kv->value_len, &one, &err) != 0) {
        if (log_limit_pass(&l->unreadable_limit, clock_mono_ms(), "", NULL))
            log_warn(l->in->log, "cannot read the state of a load balancer in etcd", log_str("key", kv->key),
                     log_str("error", err.message));
        list_remove(l, name);
        return;
    }
    free(one.name);
    one.name = mem_strdup(name);
    /* Logged once, where it begins to refuse; and not by each of a thousand. */
    size_t at = list_place(l, name);
    bool before = list_has(l, at, name) && !str_empty(l->list[at].refused);
    if (!str_empty(one.refused) && !before &&
        log_limit_pass_message(&l->refused_limit, clock_mono_ms(), one.refused, NULL))
        log_warn(l->in->log, "a load balancer refuses what is published; it keeps what it runs", log_str("name", name),
                 log_int("version", one.version), log_str("error", one.refused));
    list_put(l, &one);
}

/* ---- etcd ---- */

static void load_balancers_on_read(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct load_balancers *l = arg;
    l->call = NULL;
    if (err != NULL) { /* the publisher reports what etcd itself says of it */
        timer_set(&l->retry, RETRY_MS);
        return;
    }
    list_clear(l);
    for (size_t i = 0; i < got->count; i++)
        load_balancers_take(l, &got->list[i]);
    l->changed(l->arg);
    etcd_watch_start(l->watch, got->revision + 1);
}

static void load_balancers_read(void *arg)
{
    struct load_balancers *l = arg;
    const struct etcd_get get = {.key = l->prefix, .prefix = true};
    etcd_call_cancel(l->call);
    l->call = etcd_get(l->client, &get, load_balancers_on_read, l);
}

static void load_balancers_on_changed(void *arg, const struct etcd_event *events, size_t count, int64_t revision)
{
    struct load_balancers *l = arg;
    (void)revision;
    for (size_t i = 0; i < count; i++)
        if (events[i].deleted)
            list_remove(l, events[i].kv->key + strlen(l->prefix));
        else
            load_balancers_take(l, events[i].kv);
    l->changed(l->arg);
}

static void load_balancers_on_compacted(void *arg, int64_t compact_revision)
{
    (void)compact_revision;
    load_balancers_read(arg);
}

static void load_balancers_on_state(void *arg, bool connected, const struct error *err)
{
    (void)arg, (void)connected, (void)err;
}

/* ---- life ---- */

struct load_balancers *load_balancers_new(const struct daemon *in, struct etcd_client *client,
                                          void (*changed)(void *arg), void *arg)
{
    static const struct etcd_watch_callbacks callbacks = {.changed = load_balancers_on_changed,
                                                          .compacted = load_balancers_on_compacted,
                                                          .state = load_balancers_on_state};
    struct load_balancers *l = mem_alloc(sizeof(*l));
    *l = (struct load_balancers){.in = in, .client = client, .changed = changed, .arg = arg};
    l->refused_limit.period_ms = l->unreadable_limit.period_ms = 60000;
    l->prefix = etcd_key(in->settings, "status/", "");
    timer_init(&l->retry, in->base, load_balancers_read, l);
    l->watch = etcd_watch_new(in->base, client, l->prefix, true, &callbacks, l);
    return l;
}

void load_balancers_free(struct load_balancers *l)
{
    if (l == NULL)
        return;
    load_balancers_stop(l);
    etcd_watch_free(l->watch);
    timer_fini(&l->retry);
    list_clear(l);
    mem_free_all(l->list, l->prefix, l);
}

void load_balancers_start(struct load_balancers *l)
{
    load_balancers_read(l);
}

void load_balancers_stop(struct load_balancers *l)
{
    etcd_call_cancel(l->call);
    l->call = NULL;
    etcd_watch_stop(l->watch);
    timer_cancel(&l->retry);
}

const struct load_balancer *load_balancers_list(const struct load_balancers *l, size_t *ret_count)
{
    *ret_count = l->count;
    return l->list;
}

enum load_balancer_state load_balancer_stands(const struct load_balancer *l, uint64_t version)
{
    return l->state == LOAD_BALANCER_IN_SYNC && version != 0 && l->version != version ? LOAD_BALANCER_BEHIND : l->state;
}

bool load_balancers_judge(const struct load_balancers *l, uint64_t version, const char *sha256, bool waits,
                          struct culprits_verdict *ret)
{
    size_t refuse = 0, run = 0, say_nothing = 0;
    const char *why = NULL;
    for (size_t i = 0; i < l->count; i++) {
        const struct load_balancer *one = &l->list[i];
        bool of_it = one->version == version, in_sync = one->state == LOAD_BALANCER_IN_SYNC,
             refused = !str_empty(one->refused);
        if (of_it && refused) {
            why = why != NULL ? why : one->refused;
            refuse++;
        } else if (of_it && (one->accepted || in_sync))
            run += one->accepted || str_eq(one->sha256, sha256); /* one of an older release says this alone */
        else
            say_nothing += refused || one->state != LOAD_BALANCER_FAILED; /* or it refused the one before */
    }
    size_t all = refuse + run + (waits ? say_nothing : 0);
    bool accepted = run > 0 && 2 * run >= all;
    if (!accepted && 2 * refuse <= all)
        return false;
    *ret = (struct culprits_verdict){.accepted = accepted, .why = accepted ? NULL : why};
    return true;
}

void load_balancers_measure(const struct load_balancers *l, uint64_t version)
{
    size_t counts[LOAD_BALANCER_STATES] = {0};
    for (size_t i = 0; i < l->count; i++)
        counts[load_balancer_stands(&l->list[i], version)]++;
    for (unsigned i = 0; i < LOAD_BALANCER_STATES; i++)
        metric_set(l->in->metrics->load_balancers, (double)counts[i],
                   load_balancer_state_name((enum load_balancer_state)i), NULL);
}

#include "clusters.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define OTHER_PREFIX "b_"
#define SERVERS_OF_IT 4
#define TURN_US 300000 /* a write and its reload */
#define LOAD_US 200000
#define AGAIN_US 100000   /* it asks whether it is its turn */
#define HELD_US 150000000 /* the longest turn of ours: a check that hangs, and then a reload */

/* ---- names ---- */

const char *own_prefix(void)
{
    return world->settings.clusters != 0 ? CLUSTER_NAME "_" : "";
}

bool name_is_anothers(const char *name)
{
    return !str_has_prefix(name, own_prefix());
}

bool name_is_other_clusters(const char *name)
{
    return world->settings.clusters != 0 && str_has_prefix(name, OTHER_PREFIX);
}

void clusters_name(struct desired *d)
{
    for (size_t i = 0; i < d->server_count && world->settings.clusters != 0; i++)
        d->servers[i].name = desired_text_take(d, mem_printf("%s%s", own_prefix(), d->servers[i].name));
    for (size_t i = 0; i < d->spare_count && world->settings.clusters != 0; i++)
        d->spares[i].name = desired_text_take(d, mem_printf("%s%s", own_prefix(), d->spares[i].name));
}

/* ---- who serves ---- */

static bool takes_connections(const struct section *s, const struct server *line, const struct running_server *is)
{
    return is != NULL && is->admin == READY && !is->down && is->weight != 0 && line->backup != ON &&
           !section_says_maintenance(s, line);
}

static size_t count_up(const struct conf *lines, const struct running *running, size_t backend, bool others)
{
    const struct section *s = &lines->of[backend];
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct server *line = &s->servers[i];
        const struct running_server *is = running_find((struct running *)(uintptr_t)running, backend, line->name);
        count += (others ? name_is_other_clusters(line->name) : server_is_ours(line)) && takes_connections(s, line, is);
    }
    return count;
}

bool clusters_up(const struct api *a, size_t backend)
{
    return a->world->settings.routes != 0 && count_up(&a->on_disk, &a->running, backend, true) > 0;
}

/* ---- what our daemon reads ---- */

void clusters_note_file(struct api *a)
{
    a->others.lines = a->memory;
}

void clusters_note_running(struct api *a, size_t backend)
{
    a->others.running.of[backend] = a->running.of[backend];
    a->others.running_us[backend] = a->world->now_us;
}

struct decided clusters_decided(const struct api *a)
{
    const struct world *w = a->world;
    struct decided d = {.us = w->now_us, .reading = w->readings};
    for (size_t b = 0; b < OURS; b++) {
        d.others_up[b] =
            w->settings.routes != 0 && !a->unread[b] && count_up(&a->others.lines, &a->others.running, b, true) > 0;
        d.fresh[b] = a->others.running_us[b] + 1000 >= w->none_live_since_us[b]; /* the daemon's clock has ms */
    }
    return d;
}

/* ---- its writes ---- */

static void name_it(const struct cluster_act *act, char *ret)
{
    snprintf(ret, NAME_BYTES, OTHER_PREFIX "n%u", act->server);
}

/* Its own rule is ours: the last one goes only while one of another cluster's serves. */
static bool is_last(const struct api *a, size_t backend, const char *name)
{
    const struct section *s = &a->memory.of[backend];
    const struct server *line = section_find((struct section *)(uintptr_t)s, name);
    const struct running_server *is = running_find((struct running *)(uintptr_t)&a->running, backend, name);
    return line != NULL && takes_connections(s, line, is) && count_up(&a->memory, &a->running, backend, true) == 1 &&
           count_up(&a->memory, &a->running, backend, false) == 0;
}

/* What it makes of its line. False: nothing. */
static bool change(struct section *s, const struct cluster_act *act)
{
    struct server line = {.port = 31080, .weight = 100, .check = ON};
    name_it(act, line.name);
    const struct server *was = section_find(s, line.name);
    snprintf(line.address, NAME_BYTES, "10.1.0.%u", act->server + 10);
    if (was != NULL)
        line = *was;
    if (act->kind == CLUSTER_REMOVE)
        return section_remove(s, line.name);
    if (was == NULL && act->kind != CLUSTER_SERVE && act->kind != CLUSTER_DIE)
        return false;
    if (act->kind == CLUSTER_MOVE)
        line.address[5] = line.address[5] == '0' ? '1' : '0';
    else if (act->kind == CLUSTER_WEIGH)
        line.weight = line.weight == 100 ? 7 : 100;
    else
        line.maintenance = act->kind == CLUSTER_PARK ? ON : s->default_maintenance == ON ? OFF : UNSAID;
    section_put(s, &line);
    return was == NULL || !server_eq(was, &line) || act->kind == CLUSTER_WEIGH || act->kind == CLUSTER_MOVE;
}

/* As its line says. */
static void run_line(struct api *a, size_t backend, const char *name)
{
    struct section *s = &a->memory.of[backend];
    const struct server *line = section_find(s, name);
    struct running_server *is = running_find(&a->running, backend, name), *list = a->running.of[backend].servers;
    size_t *count = &a->running.of[backend].count;
    if (line == NULL) {
        if (is != NULL)
            memmove(is, is + 1, (--*count - (size_t)(is - list)) * sizeof(*is));
        return;
    }
    if (is == NULL) {
        is = &list[(*count)++];
        *is = (struct running_server){.line = *line};
        memcpy(is->name, line->name, NAME_BYTES);
    }
    memcpy(is->address, line->address, NAME_BYTES);
    is->port = line->port;
    is->weight = line->weight;
    is->admin = section_says_maintenance(s, line) ? MAINT : READY;
}

/* The API sets what is there, HAProxy's own commands add and remove, too. */
static bool needs_reload(const struct api *a, const struct cluster_act *act, const struct section *was,
                         const char *name)
{
    const struct running *r = &a->running;
    bool there = section_find((struct section *)(uintptr_t)was, name) != NULL &&
                 running_find((struct running *)(uintptr_t)r, act->backend, name) != NULL;
    bool by_file =
        a->world->settings.local != LOCAL_NONE && r->of[act->backend].exists && r->of[act->backend].count < SERVERS_MAX;
    return act->reload || a->haproxy_back_us != 0 || a->reload_pending || a->local.unloaded ||
           !(by_file || (there && act->kind != CLUSTER_REMOVE));
}

static void load(struct api *a, const struct cluster_act *act)
{
    a->others.loads = true;
    if (a->world->settings.local == LOCAL_NONE) {
        api_schedule_reload(a);
        return;
    }
    a->local.unloaded = true;
    if (act->kind == CLUSTER_DIE) {
        a->local.locked_until_us = 0;
        a->local.excused_us = a->world->now_us;
        return;
    }
    a->reload_pending = true;
    a->reload_due_us = a->world->now_us + LOAD_US;
}

static void write_it(struct api *a, const struct cluster_act *act)
{
    struct conf to = a->memory;
    char name[NAME_BYTES];
    name_it(act, name);
    if (!change(&to.of[act->backend], act))
        return;
    bool reload = act->kind == CLUSTER_DIE || needs_reload(a, act, &a->memory.of[act->backend], name);
    int64_t version = a->memory.version;
    a->memory = to;
    a->memory.version = version + 1;
    a->on_disk = a->memory;
    if (a->world->settings.local != LOCAL_NONE) {
        a->local.locked_until_us = a->world->now_us + TURN_US;
        local_edited(a);
    } else {
        api_outdate(a, version);
    }
    if (reload)
        load(a, act);
    else
        run_line(a, act->backend, name);
}

static void command(struct api *a, const struct cluster_act *act, const char *name)
{
    struct running_server *is = running_find(&a->running, act->backend, name);
    if (is == NULL || a->haproxy_back_us != 0 || a->world->settings.routes == 0)
        return;
    if (act->kind == CLUSTER_DOWN || act->kind == CLUSTER_UP)
        is->down = act->kind == CLUSTER_DOWN;
    else
        is->admin = act->kind == CLUSTER_DRAIN ? DRAIN : act->kind == CLUSTER_MAINT ? MAINT : READY;
}

/* Such a file it does not write either. */
static bool may_write(const struct api *a, size_t backend)
{
    return a->memory.of[backend].exists && a->memory.oddity == ODDITY_NONE && a->on_disk.oddity == ODDITY_NONE &&
           a->memory.of[backend].count < SERVERS_MAX && a->api_back_us <= a->world->now_us && !local_is_broken(a);
}

static void act_now(struct api *a, const struct cluster_act *act)
{
    char name[NAME_BYTES];
    bool leaves = act->kind == CLUSTER_PARK || act->kind == CLUSTER_REMOVE || act->kind == CLUSTER_DRAIN ||
                  act->kind == CLUSTER_MAINT;
    name_it(act, name);
    world_say(a->world, "  %s: the other cluster: %d of %s in %s%s", a->url, (int)act->kind, name,
              conf_backends[act->backend], act->reload ? ", reloads" : "");
    a->others.acted_us = a->world->now_us;
    if (leaves && is_last(a, act->backend, name))
        return;
    if (act->kind >= CLUSTER_DRAIN)
        command(a, act, name);
    else if (may_write(a, act->backend))
        write_it(a, act);
}

static bool is_its_turn(const struct api *a)
{
    return a->world->settings.local == LOCAL_NONE || (!a->local.held && !local_is_locked(a));
}

static void act(struct api *a, const struct cluster_act *act)
{
    if (act->kind >= CLUSTER_DRAIN || is_its_turn(a)) {
        act_now(a, act);
    } else if (a->others.due_us == 0) {
        a->others.next = *act;
        a->others.due_us = a->world->now_us + AGAIN_US;
    }
}

/* ---- by itself ---- */

void clusters_hold(struct api *a)
{
    if (!a->local.held)
        a->local.held_since_us = a->world->now_us;
    a->local.held = a->world->settings.clusters != 0;
}

void check_turns(const struct api *a)
{
    if (a->local.held && a->world->now_us > a->local.held_since_us + HELD_US)
        violate(a->world, "turns", "%s: the daemon keeps the file for %.0f s", a->url,
                (double)(a->world->now_us - a->local.held_since_us) / 1e6);
}

uint64_t clusters_next_us(const struct api *a)
{
    return a->others.due_us != 0 ? a->others.due_us : UINT64_MAX;
}

bool clusters_happen(struct api *a)
{
    struct other_cluster *o = &a->others;
    if (clusters_next_us(a) > a->world->now_us)
        return false;
    if (!is_its_turn(a)) {
        o->due_us = a->world->now_us + AGAIN_US;
        return true;
    }
    o->due_us = o->times > 0 ? a->world->now_us + o->every_us : 0;
    o->times -= o->times > 0;
    act_now(a, &o->next);
    return true;
}

void clusters_amid(struct api *a, unsigned ask)
{
    if ((a->others.amid_asks & (1u << ask)) == 0)
        return;
    a->others.amid_asks = 0;
    act(a, &a->others.amid);
}

/* What our daemon sent HAProxy is gone with it, too. */
void clusters_loaded(struct api *a, bool failed)
{
    if (!a->others.loads)
        return;
    a->others.loads = false;
    a->touched_us = a->world->now_us;
    a->local.unloaded = a->local.unloaded && failed;
    a->local.excused_us = a->world->now_us;
}

void clusters_mend(struct api *a)
{
    a->others.amid_asks = a->others.times = 0;
    a->others.due_us = 0;
}

void clusters_init(struct api *a)
{
    for (unsigned i = 0; i < 2 && a->world->settings.clusters != 0; i++)
        (void)change(&a->memory.of[0], &(struct cluster_act){.kind = CLUSTER_SERVE, .server = i});
}

/* ---- events ---- */

static struct cluster_act act_of(unsigned backend, unsigned kind, unsigned server)
{
    return (struct cluster_act){
        .kind = (enum cluster_act_kind)kind, .backend = backend, .server = server / 2, .reload = server % 2 == 0};
}

void cluster_act(struct world *w, const unsigned *n)
{
    const struct cluster_act as = act_of(n[1], n[2], n[3]);
    if (w->settings.clusters != 0)
        act(&w->apis[n[0] % w->settings.targets], &as);
}

void cluster_amid(struct world *w, const unsigned *n)
{
    struct api *a = &w->apis[n[0] % w->settings.targets];
    if (w->settings.clusters == 0)
        return;
    a->others.amid = act_of(n[2] / CLUSTER_ACTS, n[2] % CLUSTER_ACTS, n[3]);
    a->others.amid_asks = 1u << n[1];
}

/* Nothing of ours is desired any more, and at that very moment the other cluster's all change. */
void cluster_last(struct world *w, const unsigned *n)
{
    static const enum cluster_act_kind kinds[] = {CLUSTER_DOWN, CLUSTER_UP, CLUSTER_DRAIN, CLUSTER_SERVE};
    for (size_t t = 0; t < w->settings.targets && w->settings.clusters != 0; t++) {
        for (unsigned i = 0; i < SERVERS_OF_IT; i++) {
            const struct cluster_act as = act_of(n[0], kinds[n[1]], 2 * i + 1);
            act(&w->apis[t], &as);
        }
    }
    for (size_t i = 0; i < NODES && w->settings.clusters != 0; i++)
        w->cluster.of[i].pods[n[0]].state = POD_NONE;
    cluster_put_pods(&w->cluster, n[0]);
    world_read(w);
}

void cluster_busy(struct world *w, const unsigned *n)
{
    struct api *a = &w->apis[n[0] % w->settings.targets];
    if (w->settings.clusters == 0)
        return;
    a->others.next = act_of(n[1], CLUSTER_WEIGH, 1);
    a->others.times = n[2];
    a->others.every_us = ((uint64_t)n[3] + 1) * 100000;
    a->others.due_us = w->now_us + a->others.every_us;
}

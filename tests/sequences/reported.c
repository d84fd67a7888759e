/* What is reported of it (readiness, /status, gauges) against the model; and that who is to serve does, within a time. */
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/status/status_parts.h"
#include "world.h"

#define LOOK_US 45000000     /* after which a reading has seen what another writer did */
#define STUCK_US 75000000    /* nothing fails, and a server that is desired does not serve */
#define REFUSED_US 700000000 /* the longest pauses after what HAProxy refused, or another writer undid */
#define HOLD_US 30000000
#define RELOAD_SEEN_US 2000000
#define STUCK_HELD_US 6000000
#define TROUBLED_HELD_US (STUCK_HELD_US + 12000000) /* a reading, and a difference that stays for 7 s */
#define STATUS_US 20000000                          /* so often it is read */
#define STUCK_LOOK_US 1000000

static uint64_t moved_us(const struct api *a)
{
    return a->touched_us > a->troubled_us ? a->touched_us : a->troubled_us;
}

/* What another writer has touched since is seen; a reading that trouble cut short begins anew. */
static bool has_looked(const struct api *a)
{
    uint64_t seen_us = a->touched_us + LOOK_US;
    if (a->troubled_us > a->touched_us && a->troubled_us < seen_us)
        seen_us = a->troubled_us + LOOK_US;
    return a->world->now_us > seen_us;
}

static double gauge(const struct api *a, struct metric *m, size_t backend)
{
    return metric_value(m, conf_backends[backend], a->url, NULL);
}

/* ---- readiness ---- */

/* Its line begins with "[+]". */
static bool says_ready(const struct api *a, size_t backend, const char *readiness)
{
    cleanup(mem_free_ptr) char *line = mem_printf("[+]target %s backend %s:", a->url, conf_backends[backend]);
    return strstr(readiness, line) != NULL;
}

static bool may_never_write(const struct world *w)
{
    return w->settings.dry != 0 || (w->cluster.paused[0] && w->cluster.paused[1]);
}

/* Nothing is written to such a file (check_written), and that is no state to be content with. */
static void check_refused(struct api *a, const char *readiness)
{
    struct world *w = a->world;
    enum oddity oddity = a->memory.oddity;
    bool by_lines = oddity == ODDITY_CONDITION || oddity == ODDITY_LATE; /* else it takes a transaction to see it */
    if (w->settings.local != LOCAL_NONE || oddity == ODDITY_NONE || oddity == ODDITY_FRAGILE ||
        a->on_disk.oddity != oddity || w->now_us < moved_us(a) + LOOK_US || (may_never_write(w) && !by_lines))
        return;
    for (size_t b = 0; b < OURS; b++)
        if (says_ready(a, b, readiness))
            violate(w, "refused", "%s: a write would change what its file means, and readiness says:\n%s", a->url,
                    readiness);
}

/* ---- /status ---- */

static const char *text_of(yyjson_mut_val *obj, const char *key)
{
    return yyjson_mut_get_str(yyjson_mut_obj_get(obj, key));
}

static yyjson_mut_val *named(yyjson_mut_val *list, const char *key, const char *name)
{
    yyjson_mut_val *val;
    yyjson_mut_arr_iter iter = yyjson_mut_arr_iter_with(list);
    while ((val = yyjson_mut_arr_iter_next(&iter)) != NULL)
        if (str_eq(text_of(val, key), name))
            return val;
    return NULL;
}

static const char *state_of_line(struct api *a, size_t backend, const struct server *line,
                                 const struct running_server *is)
{
    const struct want *of = place_want(a, backend, line);
    bool rests = section_says_maintenance(&a->memory.of[backend], line);
    if (!server_is_ours(line))
        return name_is_other_clusters(line->name) ? "another_cluster" : "unmanaged";
    if (of == NULL || of->state == WANT_OUT)
        return !rests ? "leaving" : place_is_spare(a, backend, line) ? "spare" : "parked";
    rests = rests || (is != NULL && is->admin != READY);
    return rests ? "draining" : "live";
}

static void check_server(struct api *a, size_t backend, const struct server *line, yyjson_mut_val *said)
{
    static const char *const admins[] = {[READY] = "ready", [DRAIN] = "drain", [MAINT] = "maint"};
    const struct running_server *is =
        a->world->settings.routes != 0 ? running_find(&a->running, backend, line->name) : NULL;
    const char *health = is == NULL || is->admin == MAINT ? NULL : is->down ? "down" : "up";
    const char *file = section_says_maintenance(&a->memory.of[backend], line) ? "maintenance" : "live";
    bool overridden =
        api_is_operated(a, backend, line->name); /* at any time: what the daemon makes of it is its own affair */
    const char *state = overridden ? text_of(said, "state") : state_of_line(a, backend, line, is);
    if (said == NULL || !str_eq(text_of(said, "address"), line->address) ||
        yyjson_mut_get_uint(yyjson_mut_obj_get(said, "port")) != line->port || !str_eq(text_of(said, "line"), file) ||
        !str_eq(text_of(said, "running"), is != NULL ? admins[is->admin] : NULL) ||
        !str_eq(text_of(said, "health"), health) || !str_eq(text_of(said, "state"), state) ||
        (text_of(said, "overridden") != NULL && !overridden))
        violate(a->world, "status",
                "%s backend %s: %s is %s, in the file %s at %s:%u, runs %s, its check says %s; /status says %s, %s at "
                "%s, %s, %s, by "
                "hand %s",
                a->url, conf_backends[backend], line->name, state, file, line->address, line->port,
                is != NULL ? admins[is->admin] : "-", health != NULL ? health : "-",
                said != NULL ? text_of(said, "state") : "nothing", said != NULL ? text_of(said, "line") : "-",
                said != NULL ? text_of(said, "address") : "-", said != NULL ? text_of(said, "running") : "-",
                said != NULL ? text_of(said, "health") : "-", said != NULL ? text_of(said, "overridden") : "-");
}

static void check_up(struct api *a, size_t backend)
{
    struct world *w = a->world;
    size_t up = 0;
    for (size_t i = 0; i < w->want_counts[backend]; i++) {
        const struct want *want = &w->wants[backend][i];
        const struct server *line = want->state == WANT_LIVE ? place_line(a, backend, want) : NULL;
        const struct running_server *is = line != NULL ? running_find(&a->running, backend, line->name) : NULL;
        up += is != NULL && is->admin != MAINT && !is->down;
    }
    if (w->settings.routes != 0 && gauge(a, w->metrics.servers_up, backend) != (double)up)
        violate(w, "gauges", "%s backend %s: %zu of the desired servers are up, and servers_up is %.0f", a->url,
                conf_backends[backend], up, gauge(a, w->metrics.servers_up, backend));
}

/* Held by the loss limit, they serve, unless nothing is to be written, or it takes a reload, and one failed. */
static void check_held(struct api *a, size_t backend, yyjson_mut_val *servers)
{
    struct world *w = a->world;
    if (w->settings.dry != 0 || w->cluster.paused[backend])
        return;
    for (size_t i = 0; i < w->want_counts[backend]; i++) {
        const struct want *want = &w->wants[backend][i];
        const struct server *line = place_line(a, backend, want);
        yyjson_mut_val *said = line != NULL ? named(servers, "name", line->name) : NULL;
        const struct running_server *is = line != NULL ? running_find(&a->running, backend, line->name) : NULL;
        /* Whose command to begin failed begins with the reload. */
        bool runs = w->settings.routes != 0 && is != NULL && !(is->unchecked && is->admin == MAINT);
        /* Its state may be an operator's: the daemon that wrote its line has ended, and did not load it. */
        bool forgotten = a->local.unloaded && a->local.unloaded_life != w->life;
        bool refused = (!runs || forgotten || w->settings.local != LOCAL_NONE) &&
                       (a->local.owes || (a->refused_us != 0 && w->now_us < a->refused_us + REFUSED_US));
        bool held =
            text_of(said, "removal_delayed_until") != NULL && !want->announced && w->now_us < want->since_us + HOLD_US;
        if (held && !refused && !place_serves(a, backend, want) && !place_is_operated(a, backend, want) &&
            w->now_us > want->since_us + STUCK_HELD_US && w->now_us > a->troubled_us + TROUBLED_HELD_US &&
            has_looked(a))
            violate(w, "held", "%s backend %s: %s is held by the loss limit, and does not serve", a->url,
                    conf_backends[backend], want->name);
    }
}

static void check_backend(struct api *a, size_t backend, yyjson_mut_val *said, const char *readiness)
{
    struct world *w = a->world;
    const struct section *s = &a->memory.of[backend];
    bool in_sync = gauge(a, w->metrics.in_sync, backend) == 1, ready = says_ready(a, backend, readiness);
    const char *state = text_of(said, "state");
    yyjson_mut_val *servers = yyjson_mut_obj_get(yyjson_mut_obj_get(said, "servers"), "list");
    /* What is in sync may be so while something is wrong with the HAProxy as a whole. */
    bool agree = str_eq(state, "in_sync") ? in_sync && ready : str_eq(state, "problem") ? !ready : !in_sync;
    if (!agree)
        violate(w, "status", "%s backend %s: /status says %s, in_sync is %d, and readiness says:\n%s", a->url,
                conf_backends[backend], state, in_sync, readiness);
    check_held(a, backend, servers);
    if (!in_sync || w->stop_us != 0 || w->now_us < moved_us(a) + LOOK_US ||
        w->now_us < a->local.locked_until_us + LOOK_US || /* nobody reads a file that another daemon has */
        w->desired_states[backend].state != DESIRED_OK || a->wrong_us[backend] != 0 || a->reload_pending ||
        w->now_us < a->reloaded_us + RELOAD_SEEN_US || a->memory.version != a->on_disk.version ||
        w->settings.adopt == ADOPT_RENAME)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (!name_is_other_clusters(s->servers[i].name) || w->now_us >= a->others.acted_us + LOOK_US)
            check_server(a, backend, &s->servers[i], named(servers, "name", s->servers[i].name));
    check_up(a, backend);
}

static void check_status(struct api *a)
{
    cleanup(buf_fini) struct buf readiness;
    cleanup(checks_fini) struct checks checks = {0};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    enum status_state worst = STATUS_IN_SYNC;
    buf_init(&readiness, 0);
    targets_ready(a->world->targets, &checks);
    checks_print(&checks, &readiness);
    struct status_haproxies h = {.checks = &checks, .left = 1000};
    status_haproxy_add(targets_at(a->world->targets, a->number), &h, doc, list, &worst);
    yyjson_mut_val *backends = yyjson_mut_obj_get(yyjson_mut_arr_get_first(list), "backends");
    for (size_t b = 0; b < OURS; b++)
        check_backend(a, b, named(backends, "backend", conf_backends[b]), buf_str(&readiness));
    check_refused(a, buf_str(&readiness));
    check_planned(a);
    yyjson_mut_doc_free(doc);
}

/* ---- who is to serve ---- */

/* What keeps it waiting is no fault of the daemon's. */
static bool may_wait(const struct api *a, size_t backend, const struct want *want)
{
    const struct world *w = a->world;
    uint64_t now = w->now_us;
    bool odd = w->settings.local == LOCAL_NONE && (a->memory.oddity != ODDITY_NONE || a->on_disk.oddity != ODDITY_NONE);
    bool no_room = api_has_no_room(a);
    return want->state != WANT_LIVE || place_is_operated(a, backend, want) || w->cluster.paused[backend] ||
           w->settings.dry != 0 || odd || now < moved_us(a) + LOOK_US ||
           (a->refused_us != 0 && now < a->refused_us + REFUSED_US) ||
           (a->fought_us[backend] != 0 && now < a->fought_us[backend] + REFUSED_US) ||
           (no_room && (w->settings.routes == 0 || place_line(a, backend, want) == NULL)) ||
           (!a->memory.of[backend].exists && w->settings.create == 0);
}

static void check_stuck(struct api *a, size_t backend)
{
    struct world *w = a->world;
    for (size_t i = 0; i < w->want_counts[backend]; i++) {
        const struct want *want = &w->wants[backend][i];
        uint64_t *since = &a->stuck_us[backend][i];
        /* No transaction can be begun that would show what a write does to another writer's edit: what runs is reported alone. */
        bool told = api_has_no_room(a) && place_runs(a, backend, want);
        if (may_wait(a, backend, want) || told || place_serves(a, backend, want))
            *since = 0;
        else if (*since == 0)
            *since = w->now_us;
        else if (w->now_us - *since > STUCK_US && w->now_us - want->since_us > STUCK_US)
            violate(w, "stuck",
                    "%s backend %s: %s is wanted for %.0f s, nothing fails for %.0f s, and it does not serve", a->url,
                    conf_backends[backend], want->name, (double)(w->now_us - want->since_us) / 1e6,
                    (double)(w->now_us - moved_us(a)) / 1e6);
    }
}

void check_reported(struct api *a)
{
    struct world *w = a->world;
    bool held = false;
    if (w->now_us < a->stuck_look_us + STUCK_LOOK_US)
        return;
    a->stuck_look_us = w->now_us;
    for (size_t b = 0; b < OURS; b++) {
        check_stuck(a, b);
        held = held || gauge(a, w->metrics.servers_removal_delayed, b) > 0;
    }
    if (!held && w->now_us < a->status_us + STATUS_US)
        return;
    a->status_us = w->now_us;
    check_status(a);
}

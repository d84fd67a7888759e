/* What has to hold whatever happens. */
#include <stdio.h>
#include <string.h>

#include "loss.h"
#include "report/checks.h"
#include "world.h"

#define WINDOW_US 10000000
#define REQUESTS_MAX 600 /* of one HAProxy within a window */
#define LOOK_US 45000000 /* after which a reading has seen what another writer did */
#define BUSY_US 1500000  /* with a transaction */
#define TURN_US 1500000  /* until what another one kept waiting was done */
#define CONVERGES_US 3600000000
#define RESTS_US 180000000

/* ---- who serves ---- */

static bool serves_in_file(const struct api *a, size_t backend, const char *name)
{
    struct section *s = (struct section *)(uintptr_t)&a->memory.of[backend];
    const struct server *line = section_find(s, name);
    return line != NULL && server_is_ours(line) && !section_says_maintenance(s, line);
}

static bool runs(struct api *a, size_t backend, const char *name)
{
    const struct running_server *is = running_find(&a->running, backend, name);
    return is != NULL && is->admin == READY;
}

/* In the file, and in what runs where that is read. */
static size_t count_own(struct api *a, size_t backend)
{
    size_t count = 0;
    for (size_t i = 0; i < a->memory.of[backend].count; i++) {
        const char *name = a->memory.of[backend].servers[i].name;
        count += serves_in_file(a, backend, name) && (a->world->settings.routes == 0 || runs(a, backend, name));
    }
    return count;
}

void serving_of(struct api *a, struct serving *ret)
{
    const struct world *w = a->world;
    for (size_t b = 0; b < OURS; b++)
        for (size_t i = 0; i < w->want_counts[b]; i++)
            ret->of[b][i] = place_serves(a, b, &w->wants[b][i]),
            ret->ready[b][i] = place_is_ready(a, b, &w->wants[b][i]);
    for (size_t b = 0; b < OURS; b++)
        ret->own[b] = count_own(a, b);
}

static void taken(struct api *a, size_t backend, const struct want *want, const struct decided *decided, const char *by)
{
    struct world *w = a->world;
    bool operated = place_is_operated(a, backend, want);
    /* What is not known at the end is left out of rotation: the next start brings it back, and takes nothing for an operator's. */
    bool unknown = w->stop_us != 0 && a->troubled_us >= w->stop_us;
    if (want->state == WANT_LIVE && want->since <= decided->reading && !operated && !unknown)
        violate(w, "serving", "%s backend %s: %s is wanted, and %s takes it out of rotation", a->url,
                conf_backends[backend], want->name, by);
    if (want->state == WANT_OUT && w->settings.empty == 0 && w->empty_since[backend] <= decided->reading &&
        !decided->others_up[backend])
        violate(w, "last-good", "%s backend %s: nothing is wanted, and %s takes %s out of rotation", a->url,
                conf_backends[backend], by, want->name);
    if (!operated)
        loss_left(a, backend, want, decided->reading, by);
}

/* The last of ours goes by a reading of that very moment, which shows that another cluster's serves. */
static void last_taken(struct api *a, size_t backend, const struct decided *decided, const char *by)
{
    const struct world *w = a->world;
    if (w->settings.clusters == 0 || w->settings.empty != 0 || w->none_live_since[backend] > decided->reading ||
        (decided->others_up[backend] && decided->fresh[backend]))
        return;
    violate(a->world, "last-own", "%s backend %s: %s takes the last own server out of rotation, and %s", a->url,
            conf_backends[backend], by,
            decided->others_up[backend] ? "what was read of the other cluster's is old"
                                        : "no reading shows one of the other cluster's UP");
}

void check_taken(struct api *a, const struct serving *before, const struct decided *decided, bool commanded,
                 const char *by)
{
    struct world *w = a->world;
    struct serving now;
    serving_of(a, &now);
    for (size_t b = 0; b < OURS; b++) {
        for (size_t i = 0; i < w->want_counts[b]; i++) {
            const struct want *want = &w->wants[b][i];
            bool has_line = place_has_live_line(a, b, want), stays = now.ready[b][i] && (commanded || has_line);
            /* Without such a line it is what a write says, which was judged. */
            bool is_out = commanded && want->state == WANT_LIVE && has_line && before->ready[b][i] && !now.ready[b][i];
            if (is_out || (before->of[b][i] && !now.of[b][i] && !stays))
                taken(a, b, want, decided, by);
        }
    }
    for (size_t b = 0; b < OURS; b++)
        if (before->own[b] > 0 && now.own[b] == 0)
            last_taken(a, b, decided, by);
}

/* ---- what is not ours ---- */

void check_line(struct api *a, size_t backend, const struct server *was, const struct server *is, const char *by)
{
    const struct server *of = was != NULL ? was : is;
    if (of == NULL)
        return;
    if (backend >= OURS || !server_is_ours(of))
        violate(a->world, "unmanaged", "%s backend %s: %s changes server %s, which is not ours", a->url,
                conf_backends[backend], by, of->name);
    if (was == NULL || is == NULL)
        return;
    if (was->maxconn != is->maxconn || strcmp(was->options, is->options) != 0 || was->backup != is->backup)
        violate(a->world, "unmanaged",
                "%s backend %s: %s changes fields of server %s that are not ours: maxconn %u -> %u, "
                "proxy-v2-options %s -> %s",
                a->url, conf_backends[backend], by, was->name, was->maxconn, is->maxconn, was->options, is->options);
}

void check_written(struct api *a, bool loses, const char *by)
{
    /* After a failed reload there is nothing to compare with; what was seen before is still known. */
    bool behind = a->on_disk.version != a->memory.version;
    bool is_harmless =
        (a->memory.oddity == ODDITY_FRAGILE && (!loses || behind)) || (behind && a->shown_version != a->memory.version);
    if (a->memory.oddity != ODDITY_NONE && !is_harmless && a->world->now_us >= a->unseen_until_us)
        violate(a->world, "meaning", "%s: %s to a file whose meaning that changes", a->url, by);
}

/* ---- requests ---- */

void check_sent(struct api *a, const char *method, const char *path)
{
    struct world *w = a->world;
    if (w->now_us - a->window_us >= WINDOW_US) {
        a->window_us = w->now_us;
        a->requests = 0;
    }
    if (++a->requests > REQUESTS_MAX)
        violate(w, "storm", "%s: more than %d requests within 10 s, the last is %s %s", a->url, REQUESTS_MAX, method,
                path);
    if (w->settings.dry != 0 && strcmp(method, "GET") != 0)
        violate(w, "dry-run", "%s: %s %s", a->url, method, path);
    if (w->targets == NULL)
        violate(w, "ends", "%s: %s %s after the end", a->url, method, path);
}

/* ---- what is reported ---- */

static double gauge(const struct api *a, struct metric *m, size_t backend)
{
    return metric_value(m, conf_backends[backend], a->url, NULL);
}

/* The last one that serves does not drain. */
static size_t count_ready(const struct api *a, size_t backend)
{
    size_t count = 0;
    for (size_t i = 0; i < a->running.of[backend].count; i++)
        count += a->running.of[backend].servers[i].admin == READY && !a->running.of[backend].servers[i].backup &&
                 !name_is_anothers(a->running.of[backend].servers[i].name);
    return count;
}

static void difference_of_line(struct api *a, size_t backend, const struct desired_server *want,
                               const struct server *line, const struct running_server *is, struct buf *why)
{
    const struct section *s = &a->on_disk.of[backend];
    if (line == NULL || is == NULL) {
        buf_printf(why, "%s is not in %s", want->name, line == NULL ? "the file" : "the running HAProxy");
        return;
    }
    /* One that drains under the name that it was adopted with keeps the weight of its line, which is out already. */
    bool weighs = want->state == SERVER_LIVE || !section_says_maintenance(s, line);
    if (strcmp(line->address, want->address) != 0 || line->port != want->port ||
        (weighs && want->weight >= 0 && line->weight != want->weight) || line->check != ON)
        buf_printf(why, "the line of %s is %s:%u weight %d, not %s:%u weight %d", want->name, line->address, line->port,
                   line->weight, want->address, want->port, want->weight);
    else if (strcmp(line->address, is->address) != 0 || line->port != is->port ||
             (want->weight >= 0 && line->weight != is->weight))
        buf_printf(why, "HAProxy runs %s as %s:%u weight %d, its line says %s:%u weight %d", want->name, is->address,
                   is->port, is->weight, line->address, line->port, line->weight);
    else if (is->unchecked)
        buf_printf(why, "nobody enabled the check of %s", want->name);
    else if (want->state == SERVER_LIVE && section_says_maintenance(s, line))
        buf_printf(why, "%s is in maintenance in the file", want->name);
    else if (want->state == SERVER_LIVE && is->admin != READY && !api_is_operated(a, backend, line->name))
        buf_printf(why, "HAProxy has %s in %s", want->name, is->admin == DRAIN ? "drain" : "maint");
    else if (want->state == SERVER_DRAINING && is->admin == READY && count_ready(a, backend) > 1)
        buf_printf(why, "%s drains, and HAProxy has it ready", want->name);
}

/* Of a local HAProxy: until its connections have ended. Another daemon, or the writer that took its line, may not have waited for that. */
static bool leaves(const struct api *a, const struct running_server *is)
{
    return is->admin == MAINT && a->world->settings.local != LOCAL_NONE;
}

/* What the other cluster has just written is loaded in a moment. */
static bool is_others_turn(const struct api *a, const char *name)
{
    return name_is_other_clusters(name) && a->world->now_us < a->others.acted_us + LOOK_US;
}

/* What keeps one backend from being what is desired; nothing: it is. */
static void difference(struct api *a, size_t backend, struct buf *why)
{
    const struct desired *d = &a->world->desired_states[backend];
    struct section *s = &a->on_disk.of[backend];
    if (a->on_disk.version != a->memory.version)
        buf_printf(why, "the file has version %lld, the API %lld", (long long)a->on_disk.version,
                   (long long)a->memory.version);
    for (size_t i = 0; i < d->server_count && why->len == 0; i++) {
        const struct want *want = want_find(a->world, backend, d->servers[i].name);
        const struct server *line = want != NULL ? place_line(a, backend, want) : NULL;
        if (d->servers[i].state != SERVER_DRAINING || line != NULL)
            difference_of_line(a, backend, &d->servers[i], line,
                               line != NULL ? running_find(&a->running, backend, line->name) : NULL, why);
    }
    for (size_t i = 0; i < s->count && why->len == 0; i++) {
        const struct server *line = &s->servers[i];
        const struct want *of = place_want(a, backend, line);
        if (!server_is_ours(line) || (of != NULL && of->state != WANT_OUT) || place_stands_in(a, backend, line))
            continue;
        if (!section_says_maintenance(s, line))
            buf_printf(why, "%s is not wanted, and live in the file", line->name);
        else if (runs(a, backend, line->name))
            buf_printf(why, "%s is in maintenance in the file, and ready in HAProxy", line->name);
    }
    for (size_t i = 0; i < a->running.of[backend].count && why->len == 0; i++) {
        const struct running_server *is = &a->running.of[backend].servers[i];
        if (section_find(s, is->name) == NULL && !leaves(a, is) && !is_others_turn(a, is->name))
            buf_printf(why, "HAProxy runs %s, which has no line", is->name);
    }
}

/* What it is busy with ends first. */
static bool is_wrong(struct api *a, size_t backend, struct buf *why)
{
    struct world *w = a->world;
    uint64_t other = a->touched_us > a->troubled_us ? a->touched_us : a->troubled_us;
    /* It reads when it is its turn. */
    bool waits = w->settings.clusters != 0 && w->now_us < a->local.locked_until_us + TURN_US;
    if (w->now_us < other + LOOK_US || waits || w->desired_states[backend].state != DESIRED_OK ||
        gauge(a, w->metrics.in_sync, backend) != 1)
        return false;
    difference(a, backend, why);
    return why->len > 0;
}

static void check_in_sync(struct api *a, size_t backend)
{
    struct world *w = a->world;
    cleanup(buf_fini) struct buf why;
    buf_init(&why, 0);
    if (!is_wrong(a, backend, &why))
        a->wrong_us[backend] = 0;
    else if (a->wrong_us[backend] == 0)
        a->wrong_us[backend] = w->now_us;
    else if (w->now_us - a->wrong_us[backend] > BUSY_US)
        violate(w, "in-sync", "%s backend %s is reported to be in sync, but %s", a->url, conf_backends[backend],
                buf_str(&why));
}

static void check_gauges(struct api *a, size_t backend)
{
    struct world *w = a->world;
    const struct desired *d = &w->desired_states[backend];
    size_t live = 0;
    for (size_t i = 0; i < d->server_count; i++)
        live += d->servers[i].state == SERVER_LIVE;
    if (gauge(a, w->metrics.servers_desired, backend) != (double)live ||
        gauge(a, w->metrics.servers_draining, backend) != (double)(d->server_count - live))
        violate(w, "gauges", "%s backend %s: %zu servers are desired and %zu drain, the metrics say %.0f and %.0f",
                a->url, conf_backends[backend], live, d->server_count - live,
                gauge(a, w->metrics.servers_desired, backend), gauge(a, w->metrics.servers_draining, backend));
}

void check_step(struct world *w)
{
    if (w->targets == NULL)
        return;
    if (w->settings.whole != 0) {
        whole_check_step(w);
        return;
    }
    for (size_t t = 0; t < w->settings.targets; t++) {
        struct api *a = &w->apis[t];
        loss_look(a);
        check_local(a);
        check_turns(a);
        check_reported(a);
        for (size_t b = 0; b < OURS; b++) {
            check_gauges(a, b);
            check_in_sync(a, b);
        }
    }
}

/* ---- at rest ---- */

static size_t count_spares(const struct api *a, size_t backend)
{
    const struct section *s = &a->memory.of[backend];
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += place_is_spare(a, backend, &s->servers[i]);
    return count;
}

/* Whatever is desired. A section that HAProxy runs without servers, or does not run, is not readable, and is loaded once
 * something is. */
static void unloaded(struct api *a, size_t backend, struct buf *why)
{
    const struct section *s = &a->on_disk.of[backend];
    bool runs = s->exists && a->running.of[backend].count > 0;
    for (size_t i = 0; runs && i < s->count && why->len == 0; i++)
        if (running_find(&a->running, backend, s->servers[i].name) == NULL)
            buf_printf(why, "HAProxy does not run %s, which has a line", s->servers[i].name);
}

static void unfinished(struct world *w, struct buf *why)
{
    for (size_t t = 0; t < w->settings.targets && why->len == 0; t++) {
        struct api *a = &w->apis[t];
        if (a->read_us < a->troubled_us)
            buf_printf(why, "%s was not read since the last trouble", a->url);
        for (size_t b = 0; b < OURS && why->len == 0; b++) {
            const struct desired *d = &w->desired_states[b];
            if (d->state == DESIRED_OK || (d->state == DESIRED_EMPTY && (w->settings.empty != 0 || clusters_up(a, b))))
                difference(a, b, why);
            unloaded(a, b, why);
            if (why->len == 0 && d->state == DESIRED_OK && count_spares(a, b) < d->spare_count)
                buf_printf(why, "of %zu spares %zu have a line", d->spare_count, count_spares(a, b));
            for (size_t i = 0; i < d->server_count && why->len == 0; i++)
                if (d->servers[i].state == SERVER_DRAINING)
                    buf_printf(why, "%s drains still", d->servers[i].name);
            if (why->len == 0 && d->state == DESIRED_OK && gauge(a, w->metrics.in_sync, b) != 1)
                buf_add(why, "it is not reported to be in sync");
            if (why->len > 0)
                buf_printf(why, " (%s backend %s)", a->url, conf_backends[b]);
        }
    }
}

static void check_counts(struct api *a, size_t backend)
{
    struct world *w = a->world;
    const struct section *s = &a->on_disk.of[backend];
    size_t parked = 0, ours = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct want *of = place_want(a, backend, &s->servers[i]);
        ours += server_is_ours(&s->servers[i]);
        parked += server_is_ours(&s->servers[i]) && (of == NULL || of->state == WANT_OUT);
    }
    const double is[] = {gauge(a, w->metrics.servers_configured, backend), gauge(a, w->metrics.servers_parked, backend),
                         gauge(a, w->metrics.servers_removal_delayed, backend),
                         gauge(a, w->metrics.servers_overridden, backend)};
    const double want[] = {(double)(ours - parked), (double)parked, 0, 0};
    for (size_t i = 0; i < 4; i++)
        if (is[i] != want[i] && !(i == 3 && a->unseen))
            violate(w, "gauges", "%s backend %s at rest: servers_%s is %.0f, not %.0f", a->url, conf_backends[backend],
                    (const char *const[]){"actual", "parked", "held", "overridden"}[i], is[i], want[i]);
}

static unsigned all_writes(const struct world *w)
{
    unsigned sum = 0;
    for (size_t t = 0; t < w->settings.targets; t++)
        sum += w->apis[t].writes;
    return sum;
}

static void check_still(struct world *w)
{
    cleanup(buf_fini) struct buf why;
    cleanup(buf_fini) struct buf ready;
    buf_init(&why, 0);
    buf_init(&ready, 0);
    unsigned writes = all_writes(w);
    world_pass(w, RESTS_US);
    if (all_writes(w) != writes)
        violate(w, "rests", "nothing is to be done, and %u requests that write were sent", all_writes(w) - writes);
    unfinished(w, &why);
    if (why.len > 0)
        violate(w, "rests", "it had converged, and now %s", buf_str(&why));
    cleanup(checks_fini) struct checks checks = {0};
    bool said = targets_ready(w->targets, &checks);
    checks_print(&checks, &ready);
    for (size_t t = 0; t < w->settings.targets; t++) {
        for (size_t b = 0; b < OURS; b++)
            if (w->desired_states[b].state == DESIRED_OK)
                check_counts(&w->apis[t], b);
        if (api_count_forgotten(&w->apis[t]) > 0)
            violate(w, "left-behind", "%s at rest: %u transactions", w->apis[t].url, api_count_forgotten(&w->apis[t]));
    }
    if (w->desired_states[0].state == DESIRED_OK && w->desired_states[1].state == DESIRED_OK &&
        (!said || strstr(buf_str(&ready), "[-]") != NULL))
        violate(w, "readiness", "all is as it should be, and readiness says:\n%s", buf_str(&ready));
}

static void end_faults(struct world *w)
{
    for (size_t b = 0; b < OURS; b++) {
        w->cluster.paused[b] = false;
        cluster_put_service(&w->cluster, b);
    }
    for (size_t t = 0; t < w->settings.targets; t++) {
        struct api *a = &w->apis[t];
        api_mend(a);
        if (api_count_transactions(a, false) >= TRANSACTIONS_MAX)
            api_end_transactions(a, false); /* whose ids were lost: an operator has to */
        struct conf plain = a->on_disk;
        bool odd = plain.oddity != ODDITY_NONE || a->memory.oddity != ODDITY_NONE; /* what failed comes again */
        plain.oddity = ODDITY_NONE;
        for (size_t b = 0; b < OURS && w->settings.create == 0; b++) {
            odd = odd || !plain.of[b].exists || !a->memory.of[b].exists;
            plain.of[b].exists = true;
        }
        if (odd)
            api_edit(a, &plain, true);
    }
}

/* What operators have set, where it still is so. */
static void take_back(struct world *w)
{
    for (size_t t = 0; t < w->settings.targets; t++) {
        struct api *a = &w->apis[t];
        for (size_t i = 0; i < a->operator_count; i++) {
            const struct operator_state o = a->operators[i];
            const struct running_server *is = running_find(&a->running, o.backend, o.name);
            bool parked = !serves_in_file(a, o.backend, o.name);
            /* A reload has taken it away, and what is taken back of that nobody sees. */
            a->unseen = a->unseen || (o.admin != READY && is != NULL && is->admin == READY);
            if (!parked &&
                (o.admin != READY || (is != NULL && is->admin != READY && api_is_operated(a, o.backend, o.name))))
                api_operate(a, o.backend, o.name, READY);
        }
    }
}

void check_rest(struct world *w)
{
    cleanup(buf_fini) struct buf why = {0};
    uint64_t end_us = w->now_us + CONVERGES_US;
    if (w->settings.whole != 0) {
        whole_check_rest(w);
        return;
    }
    buf_init(&why, 0);
    world_say(w, "faults end");
    daemon_start(w);
    end_faults(w);
    targets_refresh(w->targets); /* as an operator does when the other writer is gone */
    world_read(w);
    if (w->settings.dry != 0) { /* what is reported is checked all along */
        world_pass(w, RESTS_US);
        return;
    }
    do {
        if (w->now_us >= end_us)
            violate(w, "converges", "an hour after all faults ended, %s", buf_str(&why));
        world_pass(w, 20000000);
        take_back(w);
        buf_clear(&why);
        unfinished(w, &why);
    } while (why.len > 0);
    world_say(w, "converged");
    check_still(w);
}

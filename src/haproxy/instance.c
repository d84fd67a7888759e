#include "haproxy/instance.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/instance_internal.h"

#define LARGE_FILE_BYTES ((size_t)64 << 10)

bool instance_renew_credentials(struct instance *in)
{
    bool renewed = instance_driver(in)->ops->renew(instance_driver(in), false) && !in->renewed;
    in->renewed = in->renewed || renewed;
    return renewed;
}

const struct driver_events instance_events = {.was_read = instance_was_read,
                                              .judge = instance_judge,
                                              .cleaned = instance_cleaned,
                                              .previewed = instance_previewed,
                                              .written = instance_written,
                                              .replaced = instance_replaced,
                                              .stored = instance_stored,
                                              .updated = instance_updated,
                                              .running_set = instance_running_set,
                                              .commanded = instance_commanded_one,
                                              .reload_told = instance_reload_told,
                                              .last_reload_told = instance_last_reload_told,
                                              .served_told = instance_served_told,
                                              .go_on = instance_go_on};

/* ---- what is next ---- */

void instance_begin(struct instance *in, enum instance_phase phase)
{
    in->phase = phase;
}

void instance_done(struct instance *in)
{
    in->phase = INSTANCE_IDLE;
    instance_step(in);
}

static bool instance_wants_cleaning(const struct instance *in)
{
    const struct driver *d = instance_driver(in);
    return d->ops->wants_cleaning != NULL && d->ops->wants_cleaning(d) && instance_may_ever_write(in);
}

static void instance_clean(struct instance *in)
{
    instance_begin(in, INSTANCE_WRITING);
    instance_driver(in)->ops->clean(instance_driver(in));
}

/* When to wake up without an event: the next reload poll, or the end of a wait. The resync has a timer of its own.
 * `now` is the step's: what fell due since then was not done yet. */
static void instance_arm(struct instance *in, uint64_t now)
{
    uint64_t due = 0;
    const uint64_t times[] = {in->pace.quiet_until_ms,
                              in->pace.write_after_ms,
                              in->reread_ms,
                              in->pace.transaction_after_ms,
                              in->commands.not_before_ms,
                              in->last_reload.known ? 0 : in->last_reload.next_ms,
                              in->reload.state == RELOAD_PENDING ? in->reload.next_ms : 0};
    for (size_t i = 0; i < array_len(times); i++)
        engine_sooner(&due, times[i], now);
    for (size_t i = 0; i < in->engine_count; i++)
        if (in->engines[i]->ops->due != NULL)
            engine_sooner(&due, in->engines[i]->ops->due(in->engines[i]->self, now), now);
    if (due != 0)
        timer_set(&in->timer, due - now);
    else
        timer_cancel(&in->timer);
}

static void instance_end(struct instance *in)
{
    timer_cancel(&in->timer);
    timer_cancel(&in->resync);
    void (*stopped)(void *) = in->stopped;
    in->stopped = NULL;
    if (stopped != NULL)
        stopped(in->stopped_arg);
}

void instance_step(struct instance *in)
{
    uint64_t now = clock_mono_ms();
    if (in->phase != INSTANCE_IDLE)
        return;
    in->decided = false;
    if (in->stopping) {
        if (!instance_update_last(in))
            instance_end(in);
        return;
    }
    bool quiet = now < in->pace.quiet_until_ms;
    if (in->reread_ms != 0 && now >= in->reread_ms) {
        in->reread_ms = 0;
        instance_outdated(in);
    }
    if (!quiet && !in->fresh)
        instance_read(in);
    else if (!quiet && reload_due(&in->reload, now))
        instance_poll_reload(in);
    else if (!quiet && !in->last_reload.known && now >= in->last_reload.next_ms)
        instance_ask_last_reload(in);
    else if (!quiet && instance_wants_cleaning(in))
        instance_clean(in);
    else if (!quiet && instance_may_ever_write(in) && instance_wants_preview(in))
        instance_preview(in);
    else if (!quiet)
        instance_decide(in);
    if (in->decided)
        timer_set(&in->timer, 0);
    else if (in->phase == INSTANCE_IDLE)
        instance_arm(in, now);
}

static void instance_on_timer(void *arg)
{
    struct instance *in = arg;
    if (in->stopping && in->phase == INSTANCE_READING) {
        instance_give_up_last_read(in);
    } else if (in->decided && in->fresh && !in->stopping && in->phase == INSTANCE_IDLE) {
        instance_write_transaction(in);
        if (in->phase == INSTANCE_IDLE)
            instance_arm(in, clock_mono_ms());
    } else {
        instance_step(in);
    }
}

static void instance_on_resync(void *arg)
{
    struct instance *in = arg;
    timer_set(&in->resync, in->options.resync_period_ms);
    if (instance_driver(in)->ops->resync != NULL)
        instance_driver(in)->ops->resync(instance_driver(in));
    instance_outdated(in);
    ENGINES_DO(in, resync);
    if (in->left_dirty)
        instance_ask_last_reload_again(in);
    instance_step(in);
}

/* ---- who owns what ---- */

static int instance_claim(struct instance *in, const struct engine *e, const struct engine_claim *c, struct error *err)
{
    struct instance_backend *b = instance_backend(in, c->backend);
    if (b == NULL) {
        b = &in->backends[in->backend_count];
        in->names[in->backend_count++] = c->backend;
        b->name = c->backend;
        backend_init(&b->actual);
        runtime_init(&b->runtime);
    }
    const struct {
        unsigned part;
        const char *what;
        const struct engine **owner;
    } parts[] = {{ENGINE_SERVERS, "server lines", &b->servers_of}, {ENGINE_SETTINGS, "settings", &b->settings_of}};
    for (size_t i = 0; i < array_len(parts); i++) {
        if (!(c->parts & parts[i].part))
            continue;
        if (*parts[i].owner != NULL)
            return error_set(err, ERROR_INVALID,
                             "the %s of backend %s would be managed by two: %s and %s; leave it to one of them",
                             parts[i].what, c->backend, (*parts[i].owner)->ops->name, e->ops->name);
        *parts[i].owner = e;
    }
    return 0;
}

static int instance_claim_all(struct instance *in, struct error *err)
{
    size_t max = 0;
    const struct engine *rest = NULL;
    for (size_t i = 0; i < in->engine_count; i++)
        max += in->engines[i]->claim_count;
    in->backends = mem_array(max, sizeof(in->backends[0]));
    in->names = mem_array(max, sizeof(in->names[0]));
    for (size_t i = 0; i < in->engine_count; i++) {
        const struct engine *e = in->engines[i];
        if (e->rest && rest != NULL)
            return error_set(err, ERROR_INVALID, "the rest of the file would be managed by two: %s and %s",
                             rest->ops->name, e->ops->name);
        rest = e->rest ? e : rest;
        for (size_t k = 0; k < e->claim_count; k++)
            if (instance_claim(in, e, &e->claims[k], err) != 0)
                return -1;
    }
    return 0;
}

/* ---- life ---- */

struct instance *instance_new(struct event_base *base, const struct instance_options *options,
                              const struct engine *const *engines, size_t count, struct error *err)
{
    struct instance *in = mem_alloc(sizeof(*in));
    in->options = *options;
    in->engines = mem_array(count, sizeof(in->engines[0]));
    in->wants = mem_array(count, sizeof(in->wants[0]));
    for (size_t i = 0; i < count; i++)
        in->engines[in->engine_count++] = engines[i];
    in->wall_minus_mono_ms = (int64_t)clock_wall_ms() - (int64_t)clock_mono_ms();
    timer_init(&in->timer, base, instance_on_timer, in);
    timer_init(&in->resync, base, instance_on_resync, in);
    options->driver->events = &instance_events;
    options->driver->arg = in;
    guard_init(&in->guard);
    pace_init(&in->pace, backoff_random_seed());
    in->version = in->wrote_version = in->running.split_version = in->running.pid = -1;
    in->large_file_bytes = LARGE_FILE_BYTES;
    in->problem_limit.period_ms = INSTANCE_REPEAT_LOG_MS;
    in->trouble_limit.period_ms = HISTORY_REPEAT_TROUBLE_MS;
    if (instance_claim_all(in, err) != 0) {
        instance_free(in);
        return NULL;
    }
    readout_init(&in->readout, in->names, in->backend_count);
    ENGINES_DO(in, attach, in);
    instance_show_verification(in);
    return in;
}

void instance_free(struct instance *in)
{
    if (in == NULL)
        return;
    instance_forget_commands(in);
    instance_driver(in)->ops->free(instance_driver(in));
    timer_fini(&in->timer);
    timer_fini(&in->resync);
    for (size_t i = 0; i < in->backend_count; i++) {
        backend_fini(&in->backends[i].actual);
        runtime_fini(&in->backends[i].runtime);
    }
    readout_fini(&in->readout);
    reload_fini(&in->reload);
    guard_fini(&in->guard);
    commands_fini(&in->commands);
    free(in->updating_server);
    free(in->reload_why);
    free(in->ended.id);
    free(in->running.drift);
    free(in->running.drift_found);
    free(in->backends);
    free(in->names);
    free(in->engines);
    free(in->wants);
    free(in);
}

void instance_start(struct instance *in)
{
    timer_set(&in->resync, in->options.resync_period_ms);
    instance_step(in);
}

void instance_go_on(void *arg, bool waited)
{
    struct instance *in = arg;
    if (in->stopping)
        return;
    if (waited) {
        log_info(in->options.log, "the other daemon has left HAProxy's file to this one",
                 log_str("target", instance_url(in)));
        instance_refresh(in);
    } else {
        instance_outdated(in);
        instance_step(in);
    }
}

void instance_refresh(struct instance *in)
{
    instance_outdated(in);
    pace_forget(&in->pace);
    in->commands.not_before_ms = 0;
    verification_forget_hour(&in->verification);
    guard_forget(&in->guard);
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = false;
    log_limit_reset(&in->problem_limit);
    ENGINES_DO(in, refresh);
    instance_step(in);
}

void instance_stop(struct instance *in, void (*stopped)(void *arg), void *arg)
{
    in->stopping = true;
    in->stopped = stopped;
    in->stopped_arg = arg;
    if (in->commands.busy) /* it may be carried out all the same */
        instance_outdated(in);
    instance_forget_commands(in);
    if (in->phase == INSTANCE_WRITING) {
        instance_driver(in)->ops->abort(instance_driver(in));
        return;
    }
    if (in->phase == INSTANCE_UPDATING || in->phase == INSTANCE_REPLACING)
        return; /* its end is near, and shows what was written */
    instance_driver(in)->ops->cancel(instance_driver(in), false);
    instance_done(in);
}

/* ---- what is known of it ---- */

struct instance_backend *instance_backend(struct instance *in, const char *name)
{
    for (size_t i = 0; i < in->backend_count; i++)
        if (str_eq(in->backends[i].name, name))
            return &in->backends[i];
    return NULL;
}

const struct instance_options *instance_options(const struct instance *in)
{
    return &in->options;
}

int64_t instance_wall_minus_mono_ms(const struct instance *in)
{
    return in->wall_minus_mono_ms;
}

struct instance_view instance_view(const struct instance *in)
{
    uint64_t now = clock_mono_ms();
    const char *user = NULL, *password = NULL;
    if (instance_driver(in)->ops->login != NULL)
        instance_driver(in)->ops->login(instance_driver(in), &user, &password);
    return (struct instance_view){
        .url = instance_url(in),
        .user = user,
        .password = password,
        .version = in->version,
        .other_wrote = in->version != in->wrote_version,
        .read_began_ms = in->read_began_ms,
        .fresh = in->fresh,
        .away = in->away,
        .dirty = in->dirty,
        .silent = in->running.silent,
        .answered_ms = in->answered_ms,
        .stopping = in->stopping,
        .reload = in->reload.state,
        .reload_id = in->reload.id,
        .reloads = in->reloads,
        .loads = in->reloads + in->running.others,
        .reload_problem = in->reload.state == RELOAD_BROKEN ? in->reload.error.message : NULL,
        .last_reload_known = in->last_reload.known,
        .drift = in->running.drift,
        .file_problem = in->guard.problem,
        .loaded = in->readout.loaded,
        .behind = in->readout.split,
        .unloaded = in->readout.unloaded,
        .waits = instance_driver(in)->waits,
        .regroups = instance_driver(in)->regroups,
        .adds = instance_driver(in)->adds,
        .worker_pid = in->running.known ? in->running.pid : -1,
        .haproxy = in->readout.haproxy,
        .verification = instance_verification(in),
        .problem = &in->problem,
        .worker = in->running.worker,
        .may_write = in->pace.write_after_ms <= now,
        .may_begin = !in->pace.no_room || in->pace.transaction_after_ms <= now,
        .gathers = in->pace.transaction_after_ms > now,
        .file_allows = guard_passed(&in->guard, in->version) || instance_is_split(in),
        .no_preview = in->no_preview,
        .one_by_one = in->one_by_one,
    };
}

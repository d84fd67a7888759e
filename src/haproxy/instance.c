/* The life of an instance, and the order of its rounds: read, judge what runs and how a reload ended, let the engines decide,
 * write one thing, follow its reload. What the driver reports comes in here, too, is taken by the file that it concerns,
 * and the next step follows. */
#include "haproxy/instance.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/instance_internal.h"

#define LARGE_FILE_BYTES ((size_t)64 << 10)
#define LAST_READ_MS 10000 /* of the 30 s that a pod has to end */

static const struct driver_events instance_events;
static int instance_claim_all(struct instance *in, struct error *err);
static void instance_on_timer(void *arg);
static void instance_on_resync(void *arg);
static void instance_done(struct instance *in);
static void instance_round(struct instance *in, uint64_t now);
static void instance_arm(struct instance *in, uint64_t now);
static void instance_decide(struct instance *in);
static void instance_let_update(struct instance *in);
static bool instance_let_replace(struct instance *in);
static void instance_nothing_to_write(struct instance *in);
static void instance_end(struct instance *in);

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
    backoffs_init(&in->backoffs, backoff_random_seed());
    in->version = in->wrote_version = in->running.split_version = in->running.pid = -1;
    in->large_file_bytes = LARGE_FILE_BYTES;
    instance_report_init(&in->report);
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
    reload_fini(&in->loading.reload);
    guard_fini(&in->guard);
    commands_fini(&in->commands);
    free(in->update.server);
    instance_report_fini(&in->report);
    mem_free_all(in->loading.ended.id, in->loading.last.remark, in->running.drift, in->backends, in->names, in->engines,
                 in->wants, in);
}

void instance_start(struct instance *in)
{
    timer_set(&in->resync, in->options.resync_period_ms);
    instance_step(in);
}

void instance_refresh(struct instance *in)
{
    instance_outdated(in);
    backoffs_forget(&in->backoffs);
    in->commands.not_before_ms = 0;
    verification_forget_hour(&in->verification);
    guard_forget(&in->guard);
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = false;
    log_limit_reset(&in->report.problem_limit);
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

/* ---- a round ---- */

void instance_step(struct instance *in)
{
    uint64_t now = clock_mono_ms();
    if (in->phase != INSTANCE_IDLE)
        return;
    in->decided = false;
    if (in->stopping) {
        instance_end(in);
        return;
    }
    bool quiet = now < in->backoffs.quiet_until_ms;
    if (in->reread_ms != 0 && now >= in->reread_ms) {
        in->reread_ms = 0;
        instance_outdated(in);
    }
    if (!quiet)
        instance_round(in, now);
    if (in->decided)
        timer_set(&in->timer, 0);
    else if (in->phase == INSTANCE_IDLE)
        instance_arm(in, now);
}

/* One thing at a time is under way: when it is done, the next follows. */
static void instance_done(struct instance *in)
{
    in->phase = INSTANCE_IDLE;
    instance_step(in);
}

static void instance_read_first(struct instance *in)
{
    instance_outdated(in);
    instance_step(in);
}

static bool instance_may_ever_write(const struct instance *in)
{
    for (size_t i = 0; i < in->engine_count; i++)
        if (in->engines[i]->ops->may_write == NULL || in->engines[i]->ops->may_write(in->engines[i]->self))
            return true;
    return false;
}

/* Does the first of these that is to be done. */
static void instance_round(struct instance *in, uint64_t now)
{
    struct driver *d = instance_driver(in);
    struct instance_loading *l = &in->loading;
    if (!in->fresh) {
        in->phase = INSTANCE_READING;
        instance_read(in);
    } else if (reload_due(&l->reload, now)) {
        in->phase = INSTANCE_POLLING;
        d->ops->ask_reload(d, &l->reload);
    } else if (!l->last.known && now >= l->last.next_ms) {
        in->phase = INSTANCE_POLLING;
        d->ops->ask_last_reload(d);
    } else if (d->ops->wants_cleaning != NULL && d->ops->wants_cleaning(d) && instance_may_ever_write(in)) {
        in->phase = INSTANCE_WRITING;
        d->ops->clean(d);
    } else if ((in->options.dry || instance_may_ever_write(in)) && instance_wants_preview(in)) {
        in->phase = INSTANCE_WRITING;
        d->ops->preview(d, in->version);
    } else {
        instance_decide(in);
    }
}

static void instance_decide(struct instance *in)
{
    struct engine_wants all = {0};
    instance_writes_none(in);
    if (in->running.sets) {
        in->phase = INSTANCE_POLLING;
        if (instance_set_running(in))
            return;
        in->phase = INSTANCE_IDLE;
    }
    for (size_t i = 0; i < in->engine_count; i++) {
        struct engine_wants *w = &in->wants[i];
        *w = (struct engine_wants){0};
        in->engines[i]->ops->decide(in->engines[i]->self, w);
        all.waits = all.waits || w->waits;
        all.failed = all.failed || w->failed;
        all.reload = all.reload || w->reload;
        all.update = all.update || w->update;
        all.transaction = all.transaction || w->transaction;
        all.overdue = all.overdue || w->overdue;
        all.many = all.many || w->many;
        all.replacement = all.replacement || w->replacement;
        all.storage = all.storage || w->storage;
        all.reading = all.reading || w->reading;
    }
    if (all.reading) {
        instance_read_first(in);
        return;
    }
    bool writes = all.transaction || all.reload;
    uint64_t now = clock_mono_ms();
    in->left_dirty = in->loading.dirty && !writes && !all.waits && !all.update && !all.replacement && !all.storage;
    if (all.update && !all.overdue) { /* first what takes effect at once */
        instance_let_update(in);
    } else if (instance_let_replace(in)) {
        return;
    } else if (all.transaction && in->file_let_go && !in->guard.blind && !instance_is_split(in)) {
        in->file_let_go = false; /* which backend it changes is not known yet */
        in->file_needed = true;
        instance_read_first(in);
    } else if (writes && all.many) {
        in->decided = true;
    } else if (writes) {
        instance_write_transaction(in);
    } else if (in->unverified && now >= in->read_back_ms) {
        instance_read_first(in); /* the file is read back, too */
    } else {
        if (in->unverified && (in->reread_ms == 0 || in->reread_ms > in->read_back_ms))
            in->reread_ms = in->read_back_ms;
        if (!all.waits)
            in->one_by_one = false;
        if (!all.waits ||
            (!all.failed && in->backoffs.write_after_ms <= now && in->backoffs.transaction_after_ms <= now))
            instance_nothing_to_write(in);
    }
}

/* The next engine after the one that made the last update: each has its turn. */
static void instance_let_update(struct instance *in)
{
    for (size_t i = 1; i <= in->engine_count; i++) {
        size_t at = (in->last_engine + i) % in->engine_count;
        if (!in->wants[at].update)
            continue;
        in->last_engine = at;
        in->engines[at]->ops->update(in->engines[at]->self);
        return;
    }
}

int instance_update(struct instance *in, struct instance_backend *b, const struct backend_server *server,
                    unsigned fields, bool keep_maintenance, struct error *err)
{
    const struct update_request request = {
        .backend = b->name, .server = server, .fields = fields, .keep_maintenance = keep_maintenance};
    in->phase = INSTANCE_UPDATING;
    b->writing = instance_send_update(in, b, &request, err) == 0;
    if (!b->writing)
        in->phase = INSTANCE_IDLE;
    return b->writing ? 0 : -1;
}

/* What HAProxy serves, then files beside the configuration, then the configuration. False: no engine wants any of it. */
static bool instance_let_replace(struct instance *in)
{
    const struct engine *asks = NULL, *stores = NULL, *replaces = NULL;
    for (size_t i = in->engine_count; i > 0; i--) { /* the first of those that want it */
        asks = in->wants[i - 1].served ? in->engines[i - 1] : asks;
        stores = in->wants[i - 1].storage ? in->engines[i - 1] : stores;
        replaces = in->wants[i - 1].replacement ? in->engines[i - 1] : replaces;
    }
    if (asks != NULL) {
        in->phase = INSTANCE_POLLING;
        in->asking = asks;
        instance_driver(in)->ops->ask_served(instance_driver(in), false);
        return true;
    }
    if (stores == NULL && replaces == NULL)
        return false;
    if (stores != NULL)
        instance_store(in, stores);
    else
        instance_replace(in, replaces);
    return true;
}

/* No engine has anything to write, or only a problem of one backend prevents it: the problem of all backends is
 * resolved. */
static void instance_nothing_to_write(struct instance *in)
{
    struct error err = {0};
    if (in->guard.problem != NULL) {
        error_set(&err, ERROR_INVALID, "%s", in->guard.problem);
        instance_problem(in, "nothing is written: a write would change the meaning of haproxy.cfg", &err);
        return;
    }
    backoffs_nothing_to_write(&in->backoffs);
    if (in->loading.reload.state == RELOAD_PENDING || !in->loading.last.known)
        return;
    in->renewed = false;
    if (!in->loading.dirty) {
        backoff_reset(&in->backoffs.reload);
        backoff_reset(&in->backoffs.reject);
    }
    instance_problem_over(in);
}

/* When to wake up without an event: the next reload poll, or the end of a wait. The resync has a timer of its own.
 * `now` is the step's: what fell due since then was not done yet. */
static void instance_arm(struct instance *in, uint64_t now)
{
    uint64_t due = 0;
    const uint64_t times[] = {in->backoffs.quiet_until_ms,
                              in->backoffs.write_after_ms,
                              in->reread_ms,
                              in->backoffs.transaction_after_ms,
                              in->commands.not_before_ms,
                              in->loading.last.known ? 0 : in->loading.last.next_ms,
                              in->loading.reload.state == RELOAD_PENDING ? in->loading.reload.next_ms : 0};
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

static void instance_on_timer(void *arg)
{
    struct instance *in = arg;
    if (in->stopping && in->phase == INSTANCE_READING) {
        instance_driver(in)->ops->cancel(instance_driver(in), false);
        in->last_updated = true;
        log_warn(in->options.log, "too slow an answer at shutdown; draining servers not saved in haproxy.cfg",
                 log_str("target", instance_url(in)));
        instance_done(in);
    } else if (in->decided && in->fresh && !in->stopping && in->phase == INSTANCE_IDLE) {
        in->decided = false;
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

/* ---- shutdown: the last updates ---- */

static void instance_end(struct instance *in)
{
    const struct instance_backend *b = NULL;
    struct backend_server server = {0};
    bool ends = true;
    for (size_t i = 0; ends && i < in->engine_count; i++)
        ends = in->engines[i]->ops->last_update == NULL ||
               !in->engines[i]->ops->last_update(in->engines[i]->self, &b, &server);
    if (!ends && !in->fresh && !in->read_at_end) {
        /* The last write may have included them, and in any case has changed the version. */
        in->phase = INSTANCE_READING;
        in->read_at_end = true;
        instance_read(in);
        timer_set(&in->timer, LAST_READ_MS);
    } else if (!ends && in->read_at_end && !in->previewed_at_end && instance_wants_preview(in)) {
        in->phase = INSTANCE_WRITING; /* another writer's file */
        in->previewed_at_end = true;
        instance_driver(in)->ops->preview(instance_driver(in), in->version);
    } else if (!ends && !in->last_updated && guard_passed(&in->guard, in->version)) {
        struct error err = {0};
        in->phase = INSTANCE_ENDING;
        ends = instance_send_update(
                   in, instance_backend(in, b->name),
                   &(struct update_request){
                       .backend = b->name, .server = &server, .fields = SERVER_MAINTENANCE, .hurry = true},
                   &err) != 0;
    } else {
        ends = true;
    }
    backend_server_fini(&server);
    if (!ends)
        return;
    in->phase = INSTANCE_IDLE;
    in->last_updated = true;
    timer_cancel(&in->timer);
    timer_cancel(&in->resync);
    void (*stopped)(void *) = in->stopped;
    in->stopped = NULL;
    if (stopped != NULL)
        stopped(in->stopped_arg);
}

/* ---- what the driver reports ---- */

static void instance_was_read(void *arg, const struct error *err)
{
    struct instance *in = arg;
    instance_read_ended(in);
    if (err != NULL) {
        instance_read_failed(in, err);
    } else {
        instance_take_file(in);
        if (instance_take_running(in)) {
            instance_judge_reload(in);
            instance_conclude(in);
        }
        bool any_desired = false;
        for (size_t i = 0; i < in->engine_count && !any_desired; i++)
            any_desired =
                in->engines[i]->ops->has_desired == NULL || in->engines[i]->ops->has_desired(in->engines[i]->self);
        if (!any_desired)
            instance_problem_over(in);
    }
    instance_done(in);
}

static void instance_cleaned(void *in, const struct written *w)
{
    instance_take_cleaning(in, w);
    instance_done(in);
}

static void instance_previewed(void *in, const struct written *w)
{
    instance_take_preview(in, w);
    instance_done(in);
}

static void instance_written(void *in, const struct written *w)
{
    instance_take_transaction(in, w);
    instance_done(in);
}

static void instance_replaced(void *in, const struct replaced *r)
{
    instance_take_replacement(in, r);
    instance_done(in);
}

static void instance_stored(void *in, const struct stored *s)
{
    instance_take_storage(in, s);
    instance_done(in);
}

static void instance_updated(void *arg, const struct updated *u)
{
    struct instance *in = arg;
    if (in->phase == INSTANCE_ENDING) {
        bool written = u->result == UPDATE_WRITTEN;
        bool read_again = u->result == UPDATE_CONFLICT && !in->read_at_end; /* another writer wrote meanwhile */
        if (written) {
            instance_wrote_next(in, u->version);
            instance_take_server(in, u);
        }
        if (read_again)
            instance_outdated(in);
        else
            ENGINES_DO(in, last_updated, in->update.backend, u);
        in->last_updated = !written && !read_again;
    } else {
        instance_take_update(in, u);
    }
    instance_done(in);
}

static void instance_running_set(void *arg, const struct error *err)
{
    struct instance *in = arg;
    if (err == NULL)
        log_warn(in->options.log,
                 "HAProxy did not take the places of servers from haproxy.cfg; they were set by runtime commands",
                 log_str("target", instance_url(in)), log_str("what", in->running.drift));
    instance_outdated(in);
    instance_done(in);
}

static void instance_command_ended(void *arg, uint64_t took_us, const struct error *err)
{
    struct instance *in = arg;
    const struct instance_backend *b = in->commands.list[0].backend;
    instance_take_command(in, took_us, err);
    if (err != NULL || instance_commanded(in, b)) /* else all waits for the rest, of perhaps some thousand */
        instance_step(in);
    if (in->commands.count == 0)
        ENGINES_DO(in, commands_done);
}

static void instance_reload_told(void *in)
{
    instance_take_reload(in);
    instance_done(in);
}

static void instance_last_reload_told(void *in, const struct reload_history *h, const struct error *err)
{
    instance_take_last_reload(in, h, err);
    instance_done(in);
}

static void instance_served_told(void *arg, const struct served *s, const struct error *err)
{
    struct instance *in = arg;
    in->asking->ops->served(in->asking->self, s, err);
    instance_done(in);
}

static void instance_go_on(void *arg, bool waited)
{
    struct instance *in = arg;
    if (in->stopping)
        return;
    if (waited) {
        log_info(in->options.log, "the other daemon has left HAProxy's file to this one",
                 log_str("target", instance_url(in)));
        instance_refresh(in);
    } else {
        instance_read_first(in);
    }
}

static const struct driver_events instance_events = {.was_read = instance_was_read,
                                                     .judge = instance_judge,
                                                     .cleaned = instance_cleaned,
                                                     .previewed = instance_previewed,
                                                     .written = instance_written,
                                                     .replaced = instance_replaced,
                                                     .stored = instance_stored,
                                                     .updated = instance_updated,
                                                     .running_set = instance_running_set,
                                                     .commanded = instance_command_ended,
                                                     .reload_told = instance_reload_told,
                                                     .last_reload_told = instance_last_reload_told,
                                                     .served_told = instance_served_told,
                                                     .go_on = instance_go_on};

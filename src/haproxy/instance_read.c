/* What a reading of HAProxy and its file means: what is there, what runs, and what the end of a reload is worth. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/inherit.h"
#include "haproxy/change.h"
#include "haproxy/drift.h"
#include "haproxy/instance_internal.h"

#define SPLIT_REREAD_MS 1000
/* Another writer's commit is in the file for up to the API's reload_delay (5 s by default) before HAProxy runs it. */
#define DRIFT_REREAD_MS 7000
#define UNREADABLE_REREADS 3
/* So often in a row what the API makes of the same file is taken for the same. */
#define READINGS_AS_LAST 9
#ifndef MANY_BACKENDS /* tests have two */
#define MANY_BACKENDS 8
#endif
#define READ_BACK_TIMES 20
#define READ_BACK_MAX_MS 5000
#define UNREADABLE_REREAD_MS 300
#define OLD_WORKER_REREADS 3
#define OLD_WORKER_REREAD_MS 300

void instance_read(struct instance *in)
{
    bool all = in->backend_count < MANY_BACKENDS || in->as_last >= READINGS_AS_LAST;
    instance_begin(in, INSTANCE_READING);
    for (size_t i = 0; i < in->backend_count; i++) {
        in->readout.found[i].last = all || !in->backends[i].as_read ? NULL : &in->backends[i].actual;
        in->backends[i].as_read = false; /* until this reading has ended, which the end of the daemon cancels */
    }
    in->read_began_ms = clock_mono_ms();
    instance_driver(in)->ops->read(instance_driver(in), &in->readout);
}

void instance_outdated(struct instance *in)
{
    in->fresh = false;
}

bool instance_wrote_next(struct instance *in, int64_t version)
{
    bool next = version == in->version + 1;
    instance_wrote(in, version);
    in->version = version;
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].actual.version = version;
    return next;
}

void instance_backend_differs(struct instance_backend *b)
{
    b->as_before = b->runs_file = b->as_read = false;
}

static void instance_read_failed(struct instance *in, const struct error *err)
{
    commands_forget_failures(&in->commands); /* they have this reason */
    in->away = true;
    ENGINES_DO(in, read_failed);
    instance_count_reconcile(in, error_kind_name(err->kind));
    instance_problem(
        in, err->http_status != 0 && err->kind == ERROR_AUTH ? INSTANCE_REFUSED : "cannot read HAProxy's configuration",
        err);
    if (err->kind == ERROR_AUTH && instance_renew_credentials(in))
        return;
    pace_pause(&in->pace, true, -1, clock_mono_ms());
}

/* A failed reload that the daemon did not follow: another writer's, or one before the start. After a hand edit, too,
 * the API answers the new version a moment before the file has it: so it takes two readings at one version. */
static void instance_read_split(struct instance *in, bool split)
{
    struct instance_running *r = &in->running;
    bool again = r->split_version == in->version;
    r->split_version = split ? in->version : -1;
    if (!split || in->dirty || in->reload.state == RELOAD_PENDING)
        return;
    if (!again) {
        instance_outdated(in);
        in->pace.quiet_until_ms = clock_mono_ms() + SPLIT_REREAD_MS;
        return;
    }
    instance_must_reload(in);
    pace_reload_failed(&in->pace, false, clock_mono_ms());
    static const char what[] = "haproxy.cfg is older than the Data Plane API's version: a reload failed; applying it "
                               "again with an empty commit";
    log_warn(in->options.log, what, log_str("target", instance_url(in)), log_int("version", in->version));
    instance_note_trouble(in, HISTORY_RELOAD_FAILED, what, NULL);
}

/* A whole configuration was written, and who wrote it ended before the commit that loads it; or a reload of ours did not load
 * it, which is said with the reload. */
static void instance_read_unloaded(struct instance *in)
{
    if (in->dirty || in->reload.state == RELOAD_PENDING || !in->readout.unloaded)
        return;
    if (!in->ended.waits || in->ended.done)
        log_warn(in->options.log, "haproxy.cfg was written and not loaded; loading it",
                 log_str("target", instance_url(in)), log_int("version", in->version));
    instance_must_reload(in);
}

bool instance_is_split(const struct instance *in)
{
    return in->running.split_version == in->version;
}

/* ---- the running HAProxy ---- */

/* Another process than at the last reading: reloaded, or started again. Not known: it is the same. */
static bool instance_read_worker(struct instance *in)
{
    struct instance_running *r = &in->running;
    int64_t pid = in->readout.worker_pid, uptime_s = in->readout.worker_uptime_s;
    if (pid < 0)
        return false;
    bool other = r->known && (pid != r->pid || uptime_s < r->uptime_s);
    r->pid = pid;
    r->uptime_s = uptime_s;
    r->known = true;
    return other;
}

/* For certain: HAProxy counts whole seconds, and said so at some time of the reading. */
static bool instance_started_since(const struct instance *in, uint64_t when_ms)
{
    int64_t uptime_s = in->running.uptime_s;
    return uptime_s >= 0 && in->read_began_ms >= when_ms + (uint64_t)(uptime_s + 1) * 1000;
}

/* Before a write by commands and after it the file is known: a process that answers for the first time has loaded one of
 * those two, and has taken the commands where it was the former. Where another writer's file came in between, it may have
 * loaded that, and then have taken the commands: it runs neither, unless it started after them. */
static void instance_read_external_reload(struct instance *in)
{
    log_info(in->options.log, "HAProxy was reloaded or restarted externally", log_str("target", instance_url(in)),
             log_int("pid", in->running.pid));
    if (in->commanded_ms == 0 || in->version == in->wrote_version || instance_started_since(in, in->commanded_ms))
        return;
    log_warn(in->options.log,
             "HAProxy may have been reloaded while it took changes by commands; reloading it once more",
             log_str("target", instance_url(in)));
    instance_must_reload(in);
}

/* Once. Before 2.6 no servers come and go without a reload, and nothing of it was tried. */
static void instance_read_version(struct instance *in)
{
    const char *version = in->readout.haproxy;
    if (in->running.said_old || !instance_driver(in)->adds || *version == '\0' || strverscmp(version, "2.6") >= 0)
        return;
    in->running.said_old = true;
    log_warn(in->options.log, "this HAProxy is older than 2.6, which is needed; upgrade it",
             log_str("target", instance_url(in)), log_str("haproxy", version));
}

static bool instance_read_manages(const void *arg, const struct backend_server *line)
{
    const struct instance_backend *b = arg;
    const struct engine *e = b->servers_of;
    return e != NULL && e->ops->manages != NULL && e->ops->manages(e->self, b, line);
}

static char *instance_backend_problem(struct instance_backend *b)
{
    if (b->runs_file || b->unreadable.kind != ERROR_NONE)
        return NULL;
    char *what = drift_of_backend(&b->actual, &b->runtime, instance_read_manages, b);
    b->runs_file = what == NULL;
    return what;
}

char *instance_running_problem(const struct instance *in)
{
    char *what = NULL;
    for (size_t i = 0; i < in->backend_count && what == NULL; i++)
        what = instance_backend_problem(&in->backends[i]);
    return what;
}

bool instance_writes_beside_drift(const struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++) {
        cleanup(mem_free_ptr) char *what = in->backends[i].writing ? instance_backend_problem(&in->backends[i]) : NULL;
        if (what != NULL)
            return true;
    }
    return false;
}

static bool instance_all_readable(const struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++)
        if (in->backends[i].actual.exists && !in->backends[i].runtime.readable)
            return false;
    return in->readout.worker_pid >= 0;
}

bool instance_is_confirmed(const struct instance *in)
{
    cleanup(mem_free_ptr) char *problem = instance_running_problem(in);
    return instance_all_readable(in) && problem == NULL;
}

static void instance_reload_confirmed(struct instance *in, bool verified)
{
    instance_count_reload(in, "succeeded");
    log_info(in->options.log, "HAProxy reloaded", log_str("target", instance_url(in)),
             log_str("reload_id", in->ended.id), log_us_as_ms("after_ms", in->ended.took_us),
             log_bool("verified", verified));
    verification_reloaded(&in->verification);
    instance_show_verification(in);
}

/* For a moment the worker from before a reload answers beside the new one. */
static bool instance_old_worker_answers(struct instance *in)
{
    struct instance_reload_end *end = &in->ended;
    bool old = end->pid_before >= 0 && in->readout.worker_pid == end->pid_before &&
               in->running.uptime_s >= end->uptime_before_s;
    if (!end->done || !old || end->unconfirmed > 0 || end->readings++ >= OLD_WORKER_REREADS)
        return false;
    instance_outdated(in);
    in->pace.quiet_until_ms = clock_mono_ms() + OLD_WORKER_REREAD_MS;
    return true;
}

/* "succeeded" may be another reload's, under the same id; "not known" may well have happened: it did where HAProxy's process
 * is one that started since. Another one that is older may have been started before the file was written. */
static void instance_judge_reload(struct instance *in)
{
    struct instance_reload_end *end = &in->ended;
    if (instance_old_worker_answers(in))
        return;
    cleanup(mem_free_ptr) char *problem = instance_running_problem(in);
    bool other = in->running.pid != end->pid_before || in->running.uptime_s < end->uptime_before_s;
    struct error err = {0};
    end->waits = false;
    if (!instance_all_readable(in) || end->pid_before < 0) {
        if (end->done) {
            end->unconfirmed = 0;
            instance_reload_confirmed(in, false);
            return;
        }
        err = end->error;
    } else if (!end->done && (other ? !instance_started_since(in, end->since_ms) : instance_driver(in)->tells_ends)) {
        err = end->error;
    } else if (problem != NULL && other && end->done) { /* it loaded the file, and something else has another say */
        end->unconfirmed = 0;
        in->running.reload_in_vain = true;
        instance_reload_confirmed(in, false);
        return;
    } else if (problem != NULL) {
        error_set(&err, ERROR_INVALID, "reload %s was reported as successful, but HAProxy does not run haproxy.cfg: %s",
                  end->id, problem);
    } else if (other) {
        end->unconfirmed = 0;
        instance_reload_confirmed(in, true);
        return;
    } else if (end->unconfirmed++ > 0) { /* it may always be the same: as number 1 of a container */
        if (end->unconfirmed == 2)
            log_warn(in->options.log,
                     "two reloads in a row succeeded without a new HAProxy process; accepting such reloads from now "
                     "on, as HAProxy runs haproxy.cfg",
                     log_str("target", instance_url(in)), log_int("pid", in->running.pid));
        instance_reload_confirmed(in, false);
        return;
    } else {
        error_set(&err, ERROR_INVALID,
                  "reload %s was reported as successful, but HAProxy's process %lld is older than it", end->id,
                  (long long)in->running.pid);
    }
    instance_count_reload(in, "unknown");
    /* One that HAProxy went through all the same costs connections: not every minute. */
    instance_reload_failed(in, &err, !end->done, problem != NULL);
}

bool instance_set_running(struct instance *in)
{
    struct driver *d = instance_driver(in);
    cleanup(changes_fini) struct changes all = {0};
    struct error err = {0};
    if (!in->running.sets)
        return false;
    in->running.sets = false;
    for (size_t i = 0; i < in->backend_count; i++)
        drift_places(&in->backends[i].actual, &in->backends[i].runtime, instance_read_manages, &in->backends[i], &all);
    if (all.count == 0)
        return false;
    instance_begin(in, INSTANCE_POLLING);
    if (d->ops->set_running(d, &all, &err) == 0)
        return true;
    instance_begin(in, INSTANCE_IDLE);
    return false;
}

void instance_running_set(void *arg, const struct error *err)
{
    struct instance *in = arg;
    if (err == NULL)
        log_warn(in->options.log,
                 "HAProxy did not take the places of servers from haproxy.cfg; they were set by runtime commands",
                 log_str("target", instance_url(in)), log_str("what", in->running.drift));
    instance_outdated(in);
    instance_done(in);
}

/* A reload did not help. True: commands may. */
static bool instance_read_sets(struct instance *in, const char *what)
{
    struct instance_running *r = &in->running;
    struct error err = {0};
    if (!r->reload_in_vain)
        return false;
    if (!r->set_in_vain && instance_driver(in)->ops->set_running != NULL) {
        r->set_in_vain = r->sets = true;
        return true;
    }
    unsigned line = cfg_state_file_line(cfg_content_file(in->readout.file, NULL), NULL);
    cleanup(mem_free_ptr) char *by =
        line != 0 ? mem_printf(" (line %u: load-server-state-from-file)", line) : mem_strdup("");
    error_set(&err, ERROR_INVALID, "%s; neither a reload nor runtime commands brought what the file says%s", what, by);
    instance_problem(in, "HAProxy does not run what haproxy.cfg says", &err);
    return false;
}

/* At rest, HAProxy runs something else than its file says: a reload that never came, an operator's command, another
 * writer. */
static void instance_read_drift(struct instance *in)
{
    struct instance_running *r = &in->running;
    char *what = in->reload.state == RELOAD_PENDING || in->dirty ? NULL : instance_running_problem(in);
    uint64_t now = clock_mono_ms();
    if (what != NULL && (r->drift == NULL || !str_eq(r->drift, what)))
        r->drift_since_ms = now;
    free(r->drift);
    r->drift = what;
    if (what == NULL) {
        if (!in->dirty && in->reload.state != RELOAD_PENDING && instance_all_readable(in)) {
            backoff_reset(&in->pace.drift_backoff);
            r->reload_in_vain = r->set_in_vain = false;
            instance_note_drift_over(in);
        }
        return;
    }
    if (now - r->drift_since_ms < DRIFT_REREAD_MS) { /* however often it is read until then */
        in->reread_ms = r->drift_since_ms + DRIFT_REREAD_MS;
        return;
    }
    if (instance_read_sets(in, what))
        return;
    instance_must_reload(in);
    metric_add(in->options.telemetry->drifts, 1, instance_url(in), NULL);
    pace_drift(&in->pace, now);
    log_warn(in->options.log, "running HAProxy differs from haproxy.cfg; reloading",
             log_str("target", instance_url(in)), log_str("what", what), log_int("version", in->version));
    instance_note_drift(in, what);
}

static void instance_log_unreadable(struct instance *in, struct instance_backend *b)
{
    bool unreadable = instance_driver(in)->runtime && b->actual.exists && !b->runtime.readable;
    if (b->runtime.readable && b->runtime_lost)
        log_info(in->options.log, "running HAProxy readable again", log_str("target", instance_url(in)),
                 log_str("backend", b->name));
    if (unreadable && in->reload.state == RELOAD_PENDING)
        return;
    if (unreadable && !b->runtime_lost)
        log_warn(in->options.log, "cannot read the running HAProxy (is it running?); using transactions and reloads",
                 log_str("target", instance_url(in)), log_str("backend", b->name), log_str("error", b->runtime.why));
    b->runtime_lost = unreadable;
}

/* It could be read a moment ago: a reload may be under way. */
static bool instance_must_read_again(struct instance *in)
{
    bool lost = false;
    for (size_t i = 0; i < in->backend_count; i++) {
        const struct instance_backend *b = &in->backends[i];
        lost = lost || (b->was_readable && b->actual.exists && !b->runtime.readable);
    }
    if (!lost || ++in->running.unreadable > UNREADABLE_REREADS) {
        for (size_t i = 0; i < in->backend_count; i++)
            in->backends[i].was_readable = in->backends[i].runtime.readable;
        in->running.unreadable = 0;
        return false;
    }
    instance_outdated(in);
    in->pace.quiet_until_ms = clock_mono_ms() + UNREADABLE_REREAD_MS;
    return true;
}

/* While the file is ahead of what runs, a state that differs was set by no one. */
bool instance_at_rest(const struct instance *in)
{
    return !in->dirty && in->running.drift == NULL && in->running.split_version < 0 &&
           in->reload.state != RELOAD_PENDING && !in->ended.waits;
}

/* Of a reading: what runs is of another worker than at the last one, and no reload of ours explains that. The file may have
 * been read before the edit that was loaded meanwhile, so what runs proves nothing of who set what. Once in a row: two
 * HAProxies may answer in turns. */
static bool instance_is_of_two_moments(struct instance *in, bool other)
{
    struct instance_running *r = &in->running;
    r->read_again = other && !r->read_again && in->reload.state != RELOAD_PENDING && !in->ended.waits;
    if (r->read_again)
        instance_outdated(in);
    return r->read_again;
}

static void instance_read_take_runtime(struct instance *in)
{
    struct instance_running *r = &in->running;
    bool is_back = r->silent && !in->readout.worker_silent;
    r->silent = in->readout.worker_silent;
    if (!r->silent)
        in->answered_ms = clock_mono_ms();
    instance_read_version(in);
    bool other = instance_read_worker(in);
    r->back = r->back || (is_back && other);
    r->others += other || in->readout.worker_pid < 0;
    if (other && r->worker == WORKER_SAME)
        r->worker = WORKER_OTHER;
    if (in->ended.waits && r->worker == WORKER_OTHER) /* it may have been read before the API reported it as
                                                       * succeeded */
        r->worker = WORKER_BY_OUR_RELOAD;
    if (other && in->reload.state != RELOAD_PENDING && !in->ended.waits)
        instance_read_external_reload(in);
    in->commanded_ms = other ? 0 : in->commanded_ms;
    if (other && in->reload.state != RELOAD_PENDING)
        verification_reloaded(&in->verification);
    for (size_t i = 0; i < in->backend_count; i++)
        instance_log_unreadable(in, &in->backends[i]);
    instance_show_verification(in);
    for (size_t i = 0; i < in->engine_count; i++)
        if (in->engines[i]->ops->runtime_read != NULL && in->engines[i]->ops->runtime_read(in->engines[i]->self, other))
            in->unverified = true;
    if (instance_is_of_two_moments(in, other))
        return;
    if (in->ended.waits)
        instance_judge_reload(in);
    instance_read_drift(in);
    if (r->back) /* what failed while it did not run need not wait any longer, nor a reload that this reading judged */
        pace_write_sooner(&in->pace, clock_mono_ms());
    r->back = false;
    ENGINES_DO(in, concluded);
    if (instance_at_rest(in))
        r->worker = WORKER_SAME;
}

static void instance_take_backend(struct instance_backend *b, struct reading *found)
{
    bool as_last =
        found->as_last || (b->was_read && b->unreadable.kind == ERROR_NONE && found->unreadable.kind == ERROR_NONE &&
                           backend_same(&b->actual, &found->backend));
    b->as_before = as_last && runtime_same(&b->runtime, &found->runtime);
    if (as_last) { /* what others have of it points into the one that stays */
        b->actual.version = found->backend.version;
        backend_fini(&found->backend);
    } else {
        backend_fini(&b->actual);
        b->actual = found->backend;
        backend_init(&found->backend);
        b->unreadable = found->unreadable;
        b->was_read = true;
    }
    if (b->as_before) {
        runtime_fini(&found->runtime);
        return;
    }
    instance_backend_differs(b);
    runtime_keep_since(&found->runtime, &b->runtime, (uint32_t)(clock_mono_ms() / 1000));
    runtime_fini(&b->runtime);
    b->runtime = found->runtime;
    runtime_init(&found->runtime);
}

/* What was taken is what the API has of the file as it was read, until the daemon changes it. */
static void instance_note_as_read(struct instance *in)
{
    bool as_last = in->backend_count > 0;
    for (size_t i = 0; i < in->backend_count; i++) {
        struct instance_backend *b = &in->backends[i];
        as_last = as_last && in->readout.found[i].as_last;
        b->as_read = b->unreadable.kind == ERROR_NONE && b->actual.unsupported_count == 0 && !in->readout.outdated &&
                     !in->readout.split;
    }
    in->as_last = as_last ? in->as_last + 1 : 0;
}

static bool instance_any_desired(const struct instance *in)
{
    for (size_t i = 0; i < in->engine_count; i++)
        if (in->engines[i]->ops->has_desired == NULL || in->engines[i]->ops->has_desired(in->engines[i]->self))
            return true;
    return false;
}

/* Who changes lines in their place has nothing to preview. */
static void instance_pass_in_place(struct instance *in)
{
    if (instance_driver(in)->ops->preview != NULL || in->guard.problem != NULL)
        return;
    guard_pass(&in->guard, in->version);
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = true;
}

static void instance_take_found(struct instance *in)
{
    bool unreadable = false;
    in->version = in->readout.version;
    in->away = false;
    for (size_t i = 0; i < in->backend_count; i++) {
        instance_take_backend(&in->backends[i], &in->readout.found[i]);
        unreadable = unreadable || in->backends[i].unreadable.kind != ERROR_NONE;
    }
    instance_note_as_read(in);
    ENGINES_DO(in, read);
    in->fresh = true;
    in->unverified = false;
    instance_read_split(in, in->readout.split);
    instance_read_unloaded(in);
    guard_read(&in->guard, in->version, in->readout.split, in->readout.file, in->readout.file_problem,
               in->readout.defaults_problem);
    instance_pass_in_place(in);
    in->file_let_go = false;
    instance_free_file(in);
    if (!unreadable)
        pace_read(&in->pace);
    in->reread_ms = unreadable || in->readout.outdated ? clock_mono_ms() + backoff_next_ms(&in->pace.backoff) : 0;
    if (!instance_must_read_again(in))
        instance_read_take_runtime(in);
    if (!instance_any_desired(in))
        instance_problem_over(in);
}

void instance_was_read(void *arg, const struct error *err)
{
    struct instance *in = arg;
    uint64_t now = clock_mono_ms();
    /* Reading many backends back after each of many updates would be most of the work. */
    in->read_back_ms = in->backend_count < MANY_BACKENDS ? 0 : now + (now - in->read_began_ms) * READ_BACK_TIMES;
    if (in->read_back_ms > now + READ_BACK_MAX_MS)
        in->read_back_ms = now + READ_BACK_MAX_MS;
    if (err != NULL)
        instance_read_failed(in, err);
    else
        instance_take_found(in);
    instance_done(in);
}

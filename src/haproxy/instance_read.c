/* What a reading of HAProxy and its file means: what is there, what runs, and whether these two differ. */
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
#define UNREADABLE_REREAD_MS 300
/* So often in a row what the API makes of the same file is taken for the same. */
#define READINGS_AS_LAST 9
#ifndef MANY_BACKENDS /* tests have two */
#define MANY_BACKENDS 8
#endif
#define READ_BACK_TIMES 20
#define READ_BACK_MAX_MS 5000

void instance_read(struct instance *in)
{
    bool all = in->backend_count < MANY_BACKENDS || in->as_last >= READINGS_AS_LAST;
    for (size_t i = 0; i < in->backend_count; i++) {
        in->readout.found[i].last = all || !in->backends[i].as_read ? NULL : &in->backends[i].actual;
        in->backends[i].as_read = false; /* until this reading has ended, which the end of the daemon cancels */
    }
    in->read_began_ms = clock_mono_ms();
    instance_driver(in)->ops->read(instance_driver(in), &in->readout);
}

void instance_read_ended(struct instance *in)
{
    uint64_t now = clock_mono_ms();
    /* Reading many backends back after each of many updates would be most of the work. */
    in->read_back_ms = in->backend_count < MANY_BACKENDS ? 0 : now + (now - in->read_began_ms) * READ_BACK_TIMES;
    if (in->read_back_ms > now + READ_BACK_MAX_MS)
        in->read_back_ms = now + READ_BACK_MAX_MS;
}

void instance_read_failed(struct instance *in, const struct error *err)
{
    commands_forget_failures(&in->commands); /* they have this reason */
    in->away = true;
    ENGINES_DO(in, read_failed);
    instance_count_reconcile(in, error_kind_name(err->kind));
    instance_problem(in, err->http_status != 0 && err->kind == ERROR_AUTH ? INSTANCE_REFUSED : INSTANCE_CANNOT_READ,
                     err);
    if (err->kind != ERROR_AUTH || !instance_renew_credentials(in))
        backoffs_pause(&in->backoffs, true, -1, clock_mono_ms());
}

bool instance_renew_credentials(struct instance *in)
{
    bool renewed = instance_driver(in)->ops->renew(instance_driver(in), false) && !in->renewed;
    in->renewed = in->renewed || renewed;
    return renewed;
}

/* ---- what is there ---- */

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

/* After a failed reload that the daemon did not follow (another writer's, or one before the start) the API has put the
 * last good file back. After a hand edit, too, it answers the new version a moment before the file has it: so it takes
 * two readings at one version. */
static void instance_take_split(struct instance *in, bool split)
{
    struct instance_running *r = &in->running;
    bool again = r->split_version == in->version;
    r->split_version = split ? in->version : -1;
    if (!split || in->loading.dirty || in->loading.reload.state == RELOAD_PENDING)
        return;
    if (!again) {
        instance_read_again(in, SPLIT_REREAD_MS);
        return;
    }
    instance_must_reload(in);
    backoffs_reload_failed(&in->backoffs, false, clock_mono_ms());
    static const char what[] = "haproxy.cfg is older than the Data Plane API's version: a reload failed; applying it "
                               "again with an empty commit";
    log_warn(in->options.log, what, log_str("target", instance_url(in)), log_int("version", in->version));
    instance_note_trouble(in, HISTORY_RELOAD_FAILED, what, NULL);
}

void instance_take_file(struct instance *in)
{
    const struct readout *found = &in->readout;
    bool unreadable = false, as_last = in->backend_count > 0;
    in->version = found->version;
    in->away = false;
    for (size_t i = 0; i < in->backend_count; i++) {
        struct instance_backend *b = &in->backends[i];
        as_last = as_last && found->found[i].as_last;
        instance_take_backend(b, &found->found[i]);
        unreadable = unreadable || b->unreadable.kind != ERROR_NONE;
        /* It is what the API has of the file as it was read, until the daemon changes it. */
        b->as_read =
            b->unreadable.kind == ERROR_NONE && b->actual.unsupported_count == 0 && !found->outdated && !found->split;
    }
    in->as_last = as_last ? in->as_last + 1 : 0;
    ENGINES_DO(in, read);
    in->fresh = true;
    in->unverified = false;
    instance_take_split(in, found->split);
    /* A whole configuration was written, and its writer ended before the commit that loads it; or a reload of the daemon
     * did not load it, which is logged with the reload. */
    if (found->unloaded && !in->loading.dirty && in->loading.reload.state != RELOAD_PENDING) {
        if (!in->loading.ended.waits || in->loading.ended.done)
            log_warn(in->options.log, "haproxy.cfg was written and not loaded; loading it",
                     log_str("target", instance_url(in)), log_int("version", in->version));
        instance_must_reload(in);
    }
    guard_read(&in->guard, in->version, found->split, found->file, found->file_problem, found->defaults_problem);
    if (instance_driver(in)->ops->preview == NULL && in->guard.problem == NULL) { /* lines are changed in their place */
        guard_pass(&in->guard, in->version);
        for (size_t i = 0; i < in->backend_count; i++)
            in->backends[i].reviewed = true;
    }
    in->file_let_go = false;
    instance_free_file(in);
    if (!unreadable)
        backoffs_read(&in->backoffs);
    in->reread_ms = unreadable || found->outdated ? clock_mono_ms() + backoff_next_ms(&in->backoffs.request) : 0;
}

/* ---- until it is read again ---- */

void instance_outdated(struct instance *in)
{
    in->fresh = false;
}

void instance_read_again(struct instance *in, unsigned after_ms)
{
    in->fresh = false;
    in->backoffs.quiet_until_ms = clock_mono_ms() + after_ms;
}

void instance_backend_differs(struct instance_backend *b)
{
    b->as_before = b->runs_file = b->as_read = false;
}

void instance_wrote(struct instance *in, int64_t version)
{
    in->wrote_version = version;
    if (!guard_wrote(&in->guard, in->version, version))
        readout_let_file_go(&in->readout, true); /* what is compared next contains this write */
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

void instance_wrote_server(struct instance *in, int64_t version)
{
    in->fresh = instance_wrote_next(in, version);
    in->unverified = true;
}

void instance_free_file(struct instance *in)
{
    struct cfg_content *file = in->readout.file;
    const unsigned own = 1u + (in->guard.file == file) + (in->readout.before == file);
    if (in->options.dry)
        return;
    bool reviewed = true;
    bool large = file != NULL && file->len >= in->large_file_bytes;
    for (size_t i = 0; i < in->backend_count; i++)
        reviewed = reviewed && in->backends[i].reviewed;
    if (guard_passed(&in->guard, in->version) && (reviewed || (large && !in->file_needed))) {
        in->file_let_go = !reviewed;
        bool held = file != NULL && file->references > own; /* by an engine */
        readout_let_file_go(&in->readout, held);
        if (!held)
            guard_let_file_go(&in->guard);
    } else if (file != NULL) {
        cfg_content_rest(file, own);
    }
}

bool instance_is_split(const struct instance *in)
{
    return in->running.split_version == in->version;
}

struct cfg_content *instance_file(const struct instance *in)
{
    return in->readout.file;
}

/* ---- what runs ---- */

void instance_must_reload(struct instance *in)
{
    struct instance_loading *l = &in->loading;
    l->dirty = true;
}

bool instance_started_since(const struct instance *in, uint64_t when_ms)
{
    int64_t uptime_s = in->running.uptime_s;
    return uptime_s >= 0 && in->read_began_ms >= when_ms + (uint64_t)(uptime_s + 1) * 1000;
}

/* A backend that could be read a moment ago cannot: a reload may be under way. */
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
    instance_read_again(in, UNREADABLE_REREAD_MS);
    return true;
}

/* Another process than at the last reading: reloaded, or started again. Not known: it is the same. */
static bool instance_take_worker(struct instance *in)
{
    struct instance_running *r = &in->running;
    int64_t pid = in->readout.worker_pid, uptime_s = in->readout.worker_uptime_s;
    bool other = pid >= 0 && r->known && (pid != r->pid || uptime_s < r->uptime_s);
    r->others += other || pid < 0;
    if (pid >= 0) {
        r->pid = pid;
        r->uptime_s = uptime_s;
        r->known = true;
    }
    if (other && r->worker == WORKER_SAME)
        r->worker = WORKER_OTHER;
    /* It may have been read before the API reported the reload as succeeded. */
    if (in->loading.ended.waits && r->worker == WORKER_OTHER)
        r->worker = WORKER_BY_OUR_RELOAD;
    return other;
}

/* Another process runs than at the last reading. */
static void instance_reloaded(struct instance *in, bool by_daemon)
{
    struct instance_loading *l = &in->loading;
    if (!by_daemon)
        log_info(in->options.log, "HAProxy was reloaded or restarted externally", log_str("target", instance_url(in)),
                 log_int("pid", in->running.pid));
    /* Before a write by commands and after it the file is known: a process that answers for the first time has loaded one
     * of those two, and has taken the commands where it was the former. Where another writer's file came in between, it
     * may have loaded that, and then have taken the commands: it runs neither, unless it started after them. */
    if (!by_daemon && l->commanded_ms != 0 && in->version != in->wrote_version &&
        !instance_started_since(in, l->commanded_ms)) {
        log_warn(in->options.log,
                 "HAProxy may have been reloaded while it took changes by commands; reloading it once more",
                 log_str("target", instance_url(in)));
        l->dirty = true;
    }
    l->commanded_ms = 0;
    if (l->reload.state != RELOAD_PENDING)
        verification_reloaded(&in->verification);
}

bool instance_take_running(struct instance *in)
{
    struct instance_running *r = &in->running;
    const char *haproxy = in->readout.haproxy;
    bool is_back = r->silent && !in->readout.worker_silent;
    if (instance_must_read_again(in))
        return false;
    r->silent = in->readout.worker_silent;
    if (!r->silent)
        in->answered_ms = clock_mono_ms();
    /* Before 2.6 no servers come and go without a reload, and nothing of it was tried. */
    if (!r->said_old && instance_driver(in)->adds && *haproxy != '\0' && strverscmp(haproxy, "2.6") < 0) {
        r->said_old = true;
        log_warn(in->options.log, "this HAProxy is older than 2.6, which is needed; upgrade it",
                 log_str("target", instance_url(in)), log_str("haproxy", haproxy));
    }
    bool other = instance_take_worker(in);
    bool by_daemon = in->loading.reload.state == RELOAD_PENDING || in->loading.ended.waits;
    r->back = r->back || (is_back && other);
    if (other)
        instance_reloaded(in, by_daemon);
    for (size_t i = 0; i < in->backend_count; i++) {
        struct instance_backend *b = &in->backends[i];
        bool unreadable = instance_driver(in)->runtime && b->actual.exists && !b->runtime.readable;
        if (b->runtime.readable && b->runtime_lost)
            log_info(in->options.log, "running HAProxy readable again", log_str("target", instance_url(in)),
                     log_str("backend", b->name));
        if (unreadable && in->loading.reload.state == RELOAD_PENDING)
            continue;
        if (unreadable && !b->runtime_lost)
            log_warn(
                in->options.log, "cannot read the running HAProxy (is it running?); using transactions and reloads",
                log_str("target", instance_url(in)), log_str("backend", b->name), log_str("error", b->runtime.why));
        b->runtime_lost = unreadable;
    }
    instance_show_verification(in);
    for (size_t i = 0; i < in->engine_count; i++)
        if (in->engines[i]->ops->runtime_read != NULL && in->engines[i]->ops->runtime_read(in->engines[i]->self, other))
            in->unverified = true;
    /* What runs is of another worker than at the last reading, and no reload of the daemon explains that. The file
     * may have been read before the edit that was loaded meanwhile, so what runs does not show who set what. Not twice in
     * a row: two HAProxies may answer in turns. */
    r->read_again = other && !r->read_again && !by_daemon;
    if (r->read_again)
        instance_outdated(in);
    return !r->read_again;
}

/* ---- whether that is what the file says ---- */

static bool instance_manages(const void *arg, const struct backend_server *line)
{
    const struct instance_backend *b = arg;
    const struct engine *e = b->servers_of;
    return e != NULL && e->ops->manages != NULL && e->ops->manages(e->self, b, line);
}

char *instance_running_problem(const struct instance *in, bool writing)
{
    char *what = NULL;
    for (size_t i = 0; i < in->backend_count && what == NULL; i++) {
        struct instance_backend *b = &in->backends[i];
        if ((writing && !b->writing) || b->runs_file || b->unreadable.kind != ERROR_NONE)
            continue;
        what = drift_of_backend(&b->actual, &b->runtime, instance_manages, b);
        b->runs_file = what == NULL;
    }
    return what;
}

bool instance_all_readable(const struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++)
        if (in->backends[i].actual.exists && !in->backends[i].runtime.readable)
            return false;
    return in->readout.worker_pid >= 0;
}

/* While the file is ahead of what runs, a state that differs was set by no one. */
bool instance_at_rest(const struct instance *in)
{
    return !in->loading.dirty && in->running.drift == NULL && in->running.split_version < 0 &&
           in->loading.reload.state != RELOAD_PENDING && !in->loading.ended.waits;
}

/* True: it is left to something else than a reload, which did not help. */
static bool instance_reload_is_in_vain(struct instance *in, const char *what)
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
static void instance_judge_drift(struct instance *in)
{
    struct instance_running *r = &in->running;
    bool loads = in->loading.reload.state == RELOAD_PENDING || in->loading.dirty;
    char *what = loads ? NULL : instance_running_problem(in, false);
    uint64_t now = clock_mono_ms();
    if (what != NULL && (r->drift == NULL || !str_eq(r->drift, what)))
        r->drift_since_ms = now;
    free(r->drift);
    r->drift = what;
    if (what == NULL) {
        if (!loads && instance_all_readable(in)) {
            backoff_reset(&in->backoffs.drift);
            r->reload_in_vain = r->set_in_vain = false;
            instance_note_drift_over(in);
        }
        return;
    }
    if (now - r->drift_since_ms < DRIFT_REREAD_MS) { /* however often it is read until then */
        in->reread_ms = r->drift_since_ms + DRIFT_REREAD_MS;
        return;
    }
    if (instance_reload_is_in_vain(in, what))
        return;
    instance_must_reload(in);
    backoffs_drift(&in->backoffs, now);
    instance_note_drift(in, what);
}

void instance_conclude(struct instance *in)
{
    struct instance_running *r = &in->running;
    instance_judge_drift(in);
    if (r->back) /* what failed while it did not run need not wait any longer, nor a reload that this reading judged */
        backoffs_write_sooner(&in->backoffs, clock_mono_ms());
    r->back = false;
    ENGINES_DO(in, concluded);
    if (instance_at_rest(in))
        r->worker = WORKER_SAME;
}

bool instance_set_running(struct instance *in)
{
    struct driver *d = instance_driver(in);
    cleanup(changes_fini) struct changes all = {0};
    struct error err = {0};
    in->running.sets = false;
    for (size_t i = 0; i < in->backend_count; i++)
        drift_places(&in->backends[i].actual, &in->backends[i].runtime, instance_manages, &in->backends[i], &all);
    return all.count > 0 && d->ops->set_running(d, &all, &err) == 0;
}

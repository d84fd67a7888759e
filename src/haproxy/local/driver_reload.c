/* A reload, and how it ended: by what the master says, or else by who runs afterwards. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/local/driver_internal.h"
#include "haproxy/reload_poll.h"
#include "haproxy/validation_text.h"

#define DEADLINE_MS 60000
#define AGAIN_MS 50
/* A master that executes itself anew, as it does when it starts and with each reload, refuses connections and then
 * knows no worker for a moment. */
#define ANEW_MS 1000

/* ---- its end ---- */

static void driver_reload_tell(struct local_driver *d)
{
    struct local_reload *o = &d->reload;
    struct reload *r = o->waits;
    if (r == NULL || o->step < LOCAL_RELOAD_SUCCEEDED)
        return;
    o->waits = NULL;
    if (o->step == LOCAL_RELOAD_SUCCEEDED)
        reload_succeeded(r);
    else
        reload_broken(r, o->step == LOCAL_RELOAD_FAILED ? ERROR_INVALID : ERROR_RETRY, o->why);
    d->base.events->reload_told(d->base.arg);
}

static void driver_reload_end(struct local_driver *d, enum local_reload_step how, const char *why)
{
    struct local_reload *o = &d->reload;
    o->step = how;
    if (how == LOCAL_RELOAD_SUCCEEDED && o->loads == d->file.version)
        local_request_cancel(local_driver_loaded(d, NULL));
    local_driver_release(d);
    if (how == LOCAL_RELOAD_SUCCEEDED)
        local_driver_forget_leaving(&d->leaving); /* they are in the worker from before, as long as they are used */
    if (why != NULL) {
        free(o->why);
        o->why = mem_strdup(why);
    }
    driver_reload_tell(d);
}

/* ---- who runs ---- */

static void driver_reload_note(struct local_reload *o, const struct local_answer *a)
{
    free(o->unanswered);
    o->unanswered = a->status != LOCAL_OK ? mem_strdup(a->message) : NULL;
}

static bool driver_reload_can_look(const struct local_driver *d)
{
    return d->options.has_master || d->base.runtime;
}

static void driver_reload_look(struct local_driver *d);
static void driver_reload_ask(struct local_driver *d);

/* *ret_worker: -1 where nobody answers. */
static void driver_reload_who(const struct local_driver *d, const struct local_answer *a, int64_t *ret_worker,
                              unsigned *ret_failed)
{
    cleanup(cli_processes_fini) struct cli_processes all = {0};
    struct cli_info info;
    struct error err = {0};
    *ret_worker = -1;
    *ret_failed = 0;
    if (a->status != LOCAL_OK)
        return;
    if (d->options.has_master && cli_processes_init(&all, a->data, &err) == 0) {
        *ret_worker = all.worker_pid > 0 ? all.worker_pid : -1;
        *ret_failed = all.failed_reloads;
    } else if (!d->options.has_master && cli_info_read(&info, a->data, &err) == 0) {
        *ret_worker = info.pid;
    }
}

static void driver_reload_on_again(void *arg)
{
    struct local_driver *d = arg;
    if (d->reload.step == LOCAL_RELOAD_ASKED)
        driver_reload_ask(d);
    else
        driver_reload_look(d);
}

static void driver_reload_refused(struct local_driver *d, const struct local_answer *a, const char *log)
{
    cleanup(mem_free_ptr) char *text =
        a->status == LOCAL_OK ? validation_text_of_program(log, d->options.file, NULL) : mem_strdup(a->message);
    cleanup(mem_free_ptr) char *shown = text_shown(text, TEXT_LINE, TEXT_WHOLE);
    cleanup(mem_free_ptr) char *why = mem_printf("failed%s: %s", a->status == LOCAL_OK ? ", HAProxy says" : "", shown);
    driver_reload_end(d, LOCAL_RELOAD_FAILED, why);
}

static uint64_t driver_reload_deadline(const struct local_driver *d)
{
    return d->options.deadline_ms > 0 ? d->options.deadline_ms : DEADLINE_MS;
}

static void driver_reload_on_reloaded(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_reload *o = &d->reload;
    const char *log = "";
    bool by_master = d->options.by_master;
    bool nobody = a->status != LOCAL_OK && /* was asked */
                  (a->error_number == ECONNREFUSED || a->error_number == ENOENT || a->error_number == EACCES);
    enum cli_reload says = by_master && a->status == LOCAL_OK ? cli_read_reload(a->data, &log) : CLI_RELOAD_UNKNOWN;
    o->request = NULL;
    if (says == CLI_RELOAD_DONE) {
        driver_reload_end(d, LOCAL_RELOAD_SUCCEEDED, NULL);
    } else if (says == CLI_RELOAD_FAILED || a->status == LOCAL_REJECTED) {
        driver_reload_refused(d, a, log);
    } else if (says == CLI_RELOAD_BUSY) {
        o->worker =
            -1; /* the other one ends, and may have loaded what was there before: the next new worker may be its */
        if (clock_mono_ms() < o->until_ms + driver_reload_deadline(d))
            timer_set(&o->again, AGAIN_MS);
        else
            driver_reload_end(d, LOCAL_RELOAD_LOST, "is lost: HAProxy says: Another reload is still in progress");
    } else if (by_master && nobody && clock_mono_ms() < o->until_ms) {
        timer_set(&o->again, AGAIN_MS);
    } else if (a->status == LOCAL_LOST || nobody || (a->status != LOCAL_OK && !by_master)) {
        /* Perhaps HAProxy starts with the file, once it does; a program that did not end may have asked for it. */
        cleanup(mem_free_ptr) char *why = mem_printf("is lost: %s", a->message);
        driver_reload_end(d, LOCAL_RELOAD_LOST, why);
    } else if (!driver_reload_can_look(d)) {
        driver_reload_end(d, LOCAL_RELOAD_SUCCEEDED, NULL);
    } else { /* a master that executes itself anew may close without a word */
        o->step = LOCAL_RELOAD_WATCHED;
        o->until_ms = clock_mono_ms() + driver_reload_deadline(d);
        driver_reload_look(d);
    }
}

static void driver_reload_ask(struct local_driver *d)
{
    struct local_reload *o = &d->reload;
    o->step = LOCAL_RELOAD_ASKED;
    o->request = local_reload(d->options.helper, driver_reload_on_reloaded, d);
}

static void driver_reload_watch_on(struct local_driver *d, const char *why_lost)
{
    const struct local_reload *o = &d->reload;
    if (clock_mono_ms() < o->until_ms) {
        timer_set(&d->reload.again, AGAIN_MS);
        return;
    }
    cleanup(mem_free_ptr) char *why =
        mem_printf("%s%s%s", why_lost, o->unanswered != NULL ? ": " : "", o->unanswered != NULL ? o->unanswered : "");
    driver_reload_end(d, LOCAL_RELOAD_LOST, why);
}

/* HAProxy 3 shows a worker that still starts: it has the file once it answers itself. A socket that is closed to this user
 * will not say so; a master that does not say how a reload ended (before 2.7) shows a worker that has the file. */
static void driver_reload_on_answers(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_reload *o = &d->reload;
    struct cli_info info;
    struct error err = {0};
    o->request = NULL;
    driver_reload_note(o, a);
    bool closed = a->status != LOCAL_OK && a->error_number == EACCES && d->options.by_master;
    if (closed || (a->status == LOCAL_OK && cli_info_read(&info, a->data, &err) == 0 && info.pid != o->worker))
        driver_reload_end(d, LOCAL_RELOAD_SUCCEEDED, NULL);
    else
        driver_reload_watch_on(d, "is lost: the new worker does not answer");
}

static void driver_reload_on_seen(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_reload *o = &d->reload;
    int64_t worker;
    unsigned failed;
    o->request = NULL;
    driver_reload_note(o, a);
    driver_reload_who(d, a, &worker, &failed);
    if (o->step == LOCAL_RELOAD_BEFORE && worker < 0 && clock_mono_ms() < o->until_ms) {
        timer_set(&o->again, AGAIN_MS);
    } else if (o->step == LOCAL_RELOAD_BEFORE && d->options.by_master && str_has_prefix(a->data, "Unknown command")) {
        driver_reload_end(d, LOCAL_RELOAD_LOST, /* it would load nothing */
                          "is lost: HAProxy says: Unknown command (is it the master's socket, and was HAProxy started "
                          "with -W?)");
    } else if (o->step == LOCAL_RELOAD_BEFORE) {
        o->worker = worker;
        o->failed = failed;
        driver_reload_ask(d);
    } else if (worker >= 0 && o->worker < 0 && d->options.has_master) {
        driver_reload_end(d, LOCAL_RELOAD_LOST,
                          "is lost: HAProxy did not say who ran before it"); /* the same, perhaps */
    } else if (worker >= 0 && worker != o->worker) {
        if (d->base.runtime && d->options.has_master)
            o->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, "show info", driver_reload_on_answers, d);
        else
            driver_reload_end(d, LOCAL_RELOAD_SUCCEEDED, NULL);
    } else if (failed > o->failed) {
        driver_reload_end(d, LOCAL_RELOAD_FAILED,
                          "failed; HAProxy's own log says why, most often an address that its machine does not have or "
                          "a port in use");
    } else {
        driver_reload_watch_on(d, worker < 0 ? "is lost: HAProxy does not answer" : "is lost: no new worker came");
    }
}

static void driver_reload_look(struct local_driver *d)
{
    struct local_reload *o = &d->reload;
    bool by_master = d->options.has_master;
    o->request = local_command(d->options.helper, by_master ? LOCAL_SOCKET_MASTER : LOCAL_SOCKET_STATS,
                               by_master ? "show proc" : "show info", driver_reload_on_seen, d);
}

/* ---- from outside ---- */

void local_driver_reload(struct local_driver *d)
{
    struct local_reload *o = &d->reload;
    local_request_cancel(o->request);
    timer_cancel(&o->again);
    o->number++;
    o->loads = d->file.version;
    o->step = LOCAL_RELOAD_BEFORE;
    o->until_ms = clock_mono_ms() + ANEW_MS;
    o->worker = -1;
    o->failed = 0;
    if (driver_reload_can_look(d))
        driver_reload_look(d);
    else
        driver_reload_ask(d);
}

static void driver_reload_tell_asked(struct driver *base)
{
    driver_reload_tell(local_driver_of(base));
}

void local_driver_ask_reload(struct driver *base, struct reload *r)
{
    struct local_driver *d = local_driver_of(base);
    struct local_reload *o = &d->reload;
    o->waits = r;
    if (o->step >= LOCAL_RELOAD_SUCCEEDED)
        local_driver_tell(d, driver_reload_tell_asked);
}

void local_driver_reload_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->reload.again, base, driver_reload_on_again, d);
}

void local_driver_reload_fini(struct local_driver *d)
{
    struct local_reload *o = &d->reload;
    local_request_cancel(o->request);
    timer_fini(&o->again);
    mem_free_all(o->why, o->unanswered);
}

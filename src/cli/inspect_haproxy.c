#include "cli/inspect_haproxy.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/inspect_report.h"
#include "haproxy/cfg/content.h"
#include "haproxy/drift.h"
#include "haproxy/guard.h"
#include "haproxy/cfg/backend_edit.h"
#include "haproxy/change.h"
#include "servers/change/diff.h"

/* What is inconsistent is read again, once: a reload causes that for a moment. */
#define AGAIN_MS 1000

static void finish(struct inspect_haproxy *h)
{
    struct inspect_target *t = h->target;
    t->adds = h->driver->adds; /* what was read decides */
    t->file = h->readout.file;
    if (h->readout.file_problem != NULL)
        t->file_problem = mem_strdup(h->readout.file_problem);
    t->file_warning = mem_strdup(h->readout.defaults_problem);
    timer_cancel(&h->again);
    timer_cancel(&h->deadline);
    h->done(h->arg);
}

static void finish_unseen(struct inspect_haproxy *h, const struct error *err)
{
    for (size_t i = 0; i < h->count; i++) {
        h->target->backends[i].seen = false;
        h->target->backends[i].unseen = *err;
    }
    finish(h);
}

static void finish_with_checks(struct inspect_haproxy *h)
{
    bool any_fails = false;
    for (size_t i = 0; i < h->count; i++)
        for (size_t k = 0; k < h->target->backends[i].runtime.count; k++)
            any_fails = any_fails || runtime_fails_check(&h->target->backends[i].runtime.servers[k]);
    h->asks_checks = h->wants_checks && any_fails;
    if (h->asks_checks)
        h->driver->ops->ask_served(h->driver, true);
    else
        finish(h);
}

/* Without it, all that is missing is why they fail. */
static void on_served(void *arg, const struct served *s, const struct error *err)
{
    struct inspect_haproxy *h = arg;
    (void)err;
    if (s != NULL)
        served_copy(&h->served, s);
    finish(h);
}

/* How what it runs differs from haproxy.cfg; NULL: it does not. */
static char *running_problem(const struct inspect_haproxy *h)
{
    const struct diff_owner owner = {.rules = h->rules};
    for (size_t i = 0; i < h->count; i++) {
        const struct inspect_backend *b = &h->target->backends[i];
        char *what = b->seen ? drift_of_backend(&b->actual, &b->runtime, diff_manages, &owner) : NULL;
        if (what != NULL)
            return what;
    }
    return NULL;
}

/* No pending reload would repair it. */
static void check_drift(struct inspect_haproxy *h)
{
    h->target->drift = h->target->dirty ? NULL : running_problem(h);
    h->target->dirty = h->target->dirty || h->target->drift != NULL;
}

/* As the daemon judges it when it starts. */
static void check_unverified(struct inspect_haproxy *h)
{
    bool readable = h->readout.worker_pid >= 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct inspect_backend *b = &h->target->backends[i];
        readable = readable && (!b->seen || !b->actual.exists || b->runtime.readable);
    }
    h->target->unverified = !readable;
    check_drift(h);
}

static void finish_without_history(struct inspect_haproxy *h, const struct error *err)
{
    check_unverified(h);
    h->target->warning = mem_printf(
        h->target->unverified ? "neither the list of reloads nor the running HAProxy can be read; a daemon that starts "
                                "reloads HAProxy once: %s"
                              : "the list of reloads cannot be read, and HAProxy runs what is compared here: %s",
        err->message);
    finish(h);
}

/* ---- what a write would make of the file ---- */

static char *on_judge(void *arg, const char *text, size_t len, bool previews)
{
    struct inspect_haproxy *h = arg;
    cleanup(guard_fini) struct guard g;
    guard_init(&g);
    (void)previews;
    return guard_compare(&g, h->readout.file, text, len, NULL);
}

/* That it cannot be asked now is no problem of the file. */
static void on_previewed(void *arg, const struct written *w)
{
    struct inspect_haproxy *h = arg;
    if (w->result == TRANSACTION_HARMFUL)
        h->target->file_problem = mem_strdup(w->error.message);
    finish_with_checks(h);
}

/* ---- how the last reload ended ---- */

static void on_history(void *arg, const struct reload_history *history, const struct error *err)
{
    struct inspect_haproxy *h = arg;
    if (err != NULL) {
        finish_without_history(h, err);
        return;
    }
    if (history->pending) {
        h->target->warning = mem_strdup("a reload of HAProxy is pending; if it fails, more changes will be needed");
    } else if (history->last_failed) {
        h->target->dirty = true;
        bool silent = history->response[strspn(history->response, " \t\r\n")] == '\0';
        h->target->warning =
            mem_printf("HAProxy's last reload failed: %s", silent ? "no message (is it running?)" : history->response);
    } else if (history->response != NULL || history->unlisted) {
        check_drift(h);
    } else {
        check_unverified(h);
        if (h->target->unverified)
            h->target->warning = mem_strdup("the Data Plane API knows of no reload, and the running HAProxy cannot be "
                                            "read; a daemon that starts reloads HAProxy once");
    }
    bool previews = h->driver->ops->preview != NULL && h->readout.file != NULL && !h->readout.split &&
                    h->readout.file_problem == NULL && h->count > 0;
    if (previews)
        h->driver->ops->preview(h->driver, h->readout.version);
    else
        finish_with_checks(h);
}

/* ---- the backends ---- */

/* Takes what was read, and leaves nothing of it. */
static void keep(struct inspect_haproxy *h)
{
    for (size_t i = 0; i < h->count; i++) {
        struct reading *found = &h->readout.found[i];
        struct inspect_backend *b = &h->target->backends[i];
        backend_fini(&b->actual);
        runtime_fini(&b->runtime);
        b->actual = found->backend;
        b->runtime = found->runtime;
        b->unseen = found->unreadable;
        b->seen = found->unreadable.kind == ERROR_NONE;
        backend_init(&found->backend);
        runtime_init(&found->runtime);
    }
}

static void on_read(void *arg, const struct error *err)
{
    struct inspect_haproxy *h = arg;
    if (err != NULL) {
        finish_unseen(h, err);
        return;
    }
    keep(h);
    /* A file older than the API's answers: after a hand edit for a moment, after a failed reload until the next one. */
    cleanup(mem_free_ptr) char *problem = running_problem(h);
    bool odd = problem != NULL || h->readout.split;
    for (size_t i = 0; i < h->count; i++)
        odd = odd || (h->target->backends[i].actual.exists && !h->target->backends[i].runtime.readable);
    if (odd && !h->read_again) {
        h->read_again = true;
        timer_set(&h->again, AGAIN_MS);
        return;
    }
    h->seen = true;
    h->target->dirty = h->readout.split;
    h->driver->ops->ask_last_reload(h->driver);
}

static void read_all(void *arg)
{
    struct inspect_haproxy *h = arg;
    h->driver->ops->read(h->driver, &h->readout);
}

static void on_deadline(void *arg)
{
    struct inspect_haproxy *h = arg;
    struct error err = {0};
    h->driver->ops->cancel(h->driver, false);
    if (h->asks_checks) {
        finish(h);
        return;
    }
    error_set(&err, ERROR_RETRY, "%s did not answer all requests within %.1f s", h->driver->name,
              (double)h->timeout_ms / 1000.0);
    if (!h->seen && h->readout.file != NULL) { /* it was read to its end; the running HAProxy was not */
        keep(h);
        for (size_t i = 0; i < h->count; i++)
            runtime_give_up(&h->target->backends[i].runtime, err.message);
        h->seen = true;
        h->target->dirty = h->readout.split;
    }
    if (h->seen)
        finish_without_history(h, &err);
    else
        finish_unseen(h, &err);
}

/* As the driver would write them. */
static bool haproxy_adds_these(const struct inspect_target *t, const struct inspect_backend *b)
{
    const struct inspect_haproxy *h = t->way;
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cleanup(cfg_file_fini) struct cfg_file to = {0};
    cleanup(changes_fini) struct changes changes = {0};
    cleanup(buf_wipe) struct buf text;
    cleanup(buf_fini) struct buf commands = {0};
    struct error err = {0};
    size_t count;
    cleanup(mem_free_ptr) struct change *list = changes_of(&b->actual, &b->plan.diff, &count);
    const struct cfg_file *f = t->file != NULL ? cfg_content_file(t->file, &err) : NULL;
    buf_init_secret(&text, 0);
    if (h->driver->ops->foresee == NULL || f == NULL || count == 0 ||
        cfg_backend_edit(f, list, count, &edits, &err) != 0)
        return false;
    cfg_file_print(f, &edits, NULL, &text);
    cfg_file_parse(&to, buf_str(&text), text.len);
    for (size_t i = 0; i < count; i++)
        changes_add(&changes, &list[i]);
    return h->driver->ops->foresee(h->driver, &to, &changes, &commands, &err) == 0;
}

static const struct driver_events events = {.was_read = on_read,
                                            .judge = on_judge,
                                            .previewed = on_previewed,
                                            .last_reload_told = on_history,
                                            .served_told = on_served};

void inspect_haproxy_init(struct inspect_haproxy *h, struct event_base *base, struct driver *driver,
                          const char *const *names, size_t count, struct inspect_target *target,
                          void (*done)(void *arg), void *arg)
{
    *h = (struct inspect_haproxy){.driver = driver, .target = target, .count = count, .done = done, .arg = arg};
    target->url = driver->name;
    target->adds_these = haproxy_adds_these;
    target->way = h;
    target->regroups = driver->regroups;
    target->served = &h->served;
    readout_init(&h->readout, names, count);
    driver->events = &events;
    driver->arg = h;
    timer_init(&h->again, base, read_all, h);
    timer_init(&h->deadline, base, on_deadline, h);
}

void inspect_haproxy_fini(struct inspect_haproxy *h)
{
    h->driver->ops->free(h->driver);
    readout_fini(&h->readout);
    served_fini(&h->served);
    timer_fini(&h->again);
    timer_fini(&h->deadline);
}

void inspect_haproxy_start(struct inspect_haproxy *h, uint64_t timeout_ms)
{
    h->timeout_ms = timeout_ms;
    timer_set(&h->deadline, timeout_ms);
    read_all(h);
}

/* ---- what HAProxy says of the file that a plan would make */

struct plan_check {
    struct event_base *base;
    const struct inspect_haproxy *of;
    struct timer deadline;
    char *rejected; /* what HAProxy said last; NULL: it takes it, or could not be asked */
};

static void check_on_replaced(void *arg, const struct replaced *r)
{
    struct plan_check *c = arg;
    c->rejected = r->result == TRANSACTION_REJECTED ? mem_strdup(r->error.message) : NULL;
    event_base_loopbreak(c->base);
}

static void check_on_deadline(void *arg)
{
    const struct plan_check *c = arg;
    c->of->driver->ops->cancel(c->of->driver, false);
    event_base_loopbreak(c->base);
}

/* HAProxy refuses no place, weight or state of a server that is there, and these wait for nothing. */
static bool check_is_needed(const struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    bool needed = d->backend_change || d->create_backend || b->choice.transaction;
    for (size_t i = 0; i < d->change_count; i++)
        needed = needed || d->changes[i].op != DIFF_CHANGE;
    return b->seen && b->plan.verdict == PLAN_WRITE && needed;
}

/* only: NULL: all backends. Allocates; *ret_left_out: so many removals are not in there. */
static struct change *check_changes(const struct plan_check *c, const struct inspect_backend *only, bool removals,
                                    size_t *ret_count, size_t *ret_left_out)
{
    struct change *all = NULL;
    *ret_count = *ret_left_out = 0;
    for (size_t i = 0; i < c->of->count; i++) {
        const struct inspect_backend *b = &c->of->target->backends[i];
        size_t count = 0;
        if (!check_is_needed(b) || (only != NULL && only != b))
            continue;
        cleanup(mem_free_ptr) struct change *list = changes_of(&b->actual, &b->plan.diff, &count);
        all = mem_resize(all, *ret_count + count, sizeof(all[0]));
        for (size_t k = 0; k < count; k++)
            if (removals || list[k].kind != CHANGE_REMOVE_SERVER)
                all[(*ret_count)++] = list[k];
            else
                (*ret_left_out)++;
    }
    return all;
}

/* Runs the loop. False: HAProxy takes it, or cannot be asked. */
static bool check_rejects(struct plan_check *c, const struct change *list, size_t count)
{
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cleanup(buf_wipe) struct buf text;
    struct error err = {0};
    const struct cfg_file *f = cfg_content_file(c->of->target->file, &err);
    buf_init_secret(&text, 0);
    free(c->rejected);
    c->rejected = NULL;
    if (count == 0 || f == NULL || cfg_backend_edit(f, list, count, &edits, &err) != 0)
        return false;
    cfg_file_print(f, &edits, NULL, &text);
    cleanup(cfg_content_unref_ptr) struct cfg_content *content = cfg_content_take(&text);
    const struct replacement_request request = {.text = content, .edits = &edits};
    timer_set(&c->deadline, c->of->timeout_ms);
    c->of->driver->ops->replace(c->of->driver, c->of->readout.version, &request);
    event_base_dispatch(c->base);
    timer_cancel(&c->deadline);
    return c->rejected != NULL;
}

/* As the daemon does: what can go on without the removals goes on. */
static void check_backend(struct plan_check *c, struct inspect_backend *b)
{
    size_t count, left_out;
    cleanup(mem_free_ptr) struct change *all = check_changes(c, b, true, &count, &left_out);
    if (!check_rejects(c, all, count))
        return;
    cleanup(mem_free_ptr) char *why = c->rejected;
    char *before = b->plan.text;
    c->rejected = NULL;
    cleanup(mem_free_ptr) struct change *some = check_changes(c, b, false, &count, &left_out);
    if (count == 0 || left_out == 0 || check_rejects(c, some, count))
        b->plan.verdict = PLAN_REFUSE;
    b->rejected = true;
    b->plan.text = mem_printf("HAProxy rejected the change; haproxy.cfg is unchanged: %s%s%s", why,
                              b->plan.why != NULL ? "; " : "", b->plan.why != NULL ? b->plan.why : "");
    b->plan.why = b->plan.text;
    free(before);
}

void inspect_haproxy_check(const struct inspect_haproxy *h, struct event_base *base)
{
    static const struct driver_events check_events = {.replaced = check_on_replaced};
    struct plan_check c = {.base = base, .of = h};
    size_t count, left_out;
    cleanup(mem_free_ptr) struct change *all = check_changes(&c, NULL, true, &count, &left_out);
    h->driver->events = &check_events;
    h->driver->arg = &c;
    timer_init(&c.deadline, base, check_on_deadline, &c);
    if (h->target->file != NULL && check_rejects(&c, all, count))
        for (size_t i = 0; i < h->count; i++)
            check_backend(&c, &h->target->backends[i]);
    free(c.rejected);
    timer_fini(&c.deadline);
    h->driver->arg = NULL;
}

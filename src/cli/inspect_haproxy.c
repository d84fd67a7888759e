#include "cli/inspect_haproxy.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "haproxy/drift.h"
#include "haproxy/guard.h"
#include "servers/change/diff.h"

/* What is inconsistent is read again, once: a reload causes that for a moment. */
#define AGAIN_MS 1000

static void finish(struct inspect_haproxy *h)
{
    timer_cancel(&h->again);
    timer_cancel(&h->deadline);
    h->done(h->arg);
}

static void finish_unseen(struct inspect_haproxy *h, const struct error *err)
{
    for (size_t i = 0; i < h->count; i++)
        h->found[i].unreadable = *err;
    finish(h);
}

static bool some_fail(const struct inspect_haproxy *h)
{
    for (size_t i = 0; i < h->count; i++)
        for (size_t k = 0; k < h->found[i].runtime.count; k++)
            if (runtime_fails_check(&h->found[i].runtime.servers[k]))
                return true;
    return false;
}

static void finish_with_checks(struct inspect_haproxy *h)
{
    h->asks_checks = h->wants_checks && some_fail(h);
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
        const struct reading *f = &h->found[i];
        char *what =
            f->unreadable.kind == ERROR_NONE ? drift_of_backend(&f->backend, &f->runtime, diff_manages, &owner) : NULL;
        if (what != NULL)
            return what;
    }
    return NULL;
}

/* No pending reload would repair it. */
static void check_drift(struct inspect_haproxy *h)
{
    h->drift = h->dirty ? NULL : running_problem(h);
    h->dirty = h->dirty || h->drift != NULL;
}

/* Like the daemon, which continues without the list. */
static void finish_without_history(struct inspect_haproxy *h, const struct error *err)
{
    h->warning =
        mem_printf("the list of reloads cannot be read, assuming that the last one succeeded: %s", err->message);
    check_drift(h);
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
        h->harm = mem_strdup(w->error.message);
    finish_with_checks(h);
}

static void preview(struct inspect_haproxy *h)
{
    bool previews = h->driver->ops->preview != NULL && h->readout.file != NULL && !h->readout.split &&
                    h->readout.file_problem == NULL && h->count > 0;
    if (previews)
        h->driver->ops->preview(h->driver, h->readout.version);
    else
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
        h->warning = mem_strdup("a reload of HAProxy is pending; if it fails, more changes will be needed");
    } else if (history->last_failed) {
        h->dirty = true;
        bool silent = history->response[strspn(history->response, " \t\r\n")] == '\0';
        h->warning =
            mem_printf("HAProxy's last reload failed: %s", silent ? "no message (is it running?)" : history->response);
    } else {
        check_drift(h);
    }
    preview(h);
}

/* ---- the backends ---- */

static void keep(struct inspect_haproxy *h, struct reading *found)
{
    for (size_t i = 0; i < h->count; i++) {
        backend_fini(&h->found[i].backend);
        runtime_fini(&h->found[i].runtime);
        h->found[i] = found[i];
        backend_init(&found[i].backend);
        runtime_init(&found[i].runtime);
    }
}

static bool is_odd(const struct inspect_haproxy *h)
{
    cleanup(mem_free_ptr) char *problem = running_problem(h);
    for (size_t i = 0; i < h->count; i++)
        if (h->found[i].backend.exists && !h->found[i].runtime.readable)
            return true;
    return problem != NULL || h->readout.split;
}

static void on_observed(void *arg, const struct error *err)
{
    struct inspect_haproxy *h = arg;
    if (err != NULL) {
        finish_unseen(h, err);
        return;
    }
    keep(h, h->readout.found);
    /* A file older than the API's answers: after a hand edit for a moment, after a failed reload until the next one. */
    if (!h->read_again && is_odd(h)) {
        h->read_again = true;
        timer_set(&h->again, AGAIN_MS);
        return;
    }
    h->seen = true;
    h->dirty = h->readout.split;
    h->driver->ops->ask_last_reload(h->driver);
}

static void look(void *arg)
{
    struct inspect_haproxy *h = arg;
    h->driver->ops->read(h->driver, &h->readout);
}

/* The file was read to its end; the running HAProxy was not. */
static void keep_the_file(struct inspect_haproxy *h, const struct error *err)
{
    if (h->readout.file == NULL)
        return;
    keep(h, h->readout.found);
    for (size_t i = 0; i < h->count; i++)
        if (!h->found[i].runtime.readable && h->found[i].runtime.why == NULL)
            h->found[i].runtime.why = mem_strdup(err->message);
    h->seen = true;
    h->dirty = h->readout.split;
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
    if (!h->seen)
        keep_the_file(h, &err);
    if (h->seen)
        finish_without_history(h, &err);
    else
        finish_unseen(h, &err);
}

static const struct driver_events events = {.was_read = on_observed,
                                            .judge = on_judge,
                                            .previewed = on_previewed,
                                            .last_reload_told = on_history,
                                            .served_told = on_served};

void inspect_haproxy_init(struct inspect_haproxy *h, struct event_base *base, struct driver *driver,
                          const char *const *names, size_t count, const struct diff_rules *rules,
                          void (*done)(void *arg), void *arg)
{
    *h = (struct inspect_haproxy){.driver = driver, .rules = rules, .count = count, .done = done, .arg = arg};
    h->found = mem_array(count, sizeof(h->found[0]));
    for (size_t i = 0; i < count; i++) {
        backend_init(&h->found[i].backend);
        runtime_init(&h->found[i].runtime);
    }
    readout_init(&h->readout, names, count);
    driver->events = &events;
    driver->arg = h;
    timer_init(&h->again, base, look, h);
    timer_init(&h->deadline, base, on_deadline, h);
}

void inspect_haproxy_fini(struct inspect_haproxy *h)
{
    h->driver->ops->free(h->driver);
    readout_fini(&h->readout);
    for (size_t i = 0; i < h->count; i++) {
        backend_fini(&h->found[i].backend);
        runtime_fini(&h->found[i].runtime);
    }
    free(h->found);
    free(h->drift);
    free(h->harm);
    free(h->warning);
    served_fini(&h->served);
    timer_fini(&h->again);
    timer_fini(&h->deadline);
}

void inspect_haproxy_start(struct inspect_haproxy *h, uint64_t timeout_ms)
{
    h->timeout_ms = timeout_ms;
    timer_set(&h->deadline, timeout_ms);
    look(h);
}

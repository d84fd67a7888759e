/* What only HAProxy itself can say, asked by the way of an instance that has ended. */
#include "cli/inspect.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "daemon/inspect/inspect_report.h"
#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"
#include "haproxy/cfg/backend_edit.h"
#include "haproxy/served.h"
#include "host/timer.h"

struct plan_check {
    struct event_base *base;
    const struct inspect_report *report;
    struct inspect_target *target;
    struct driver *driver;
    int64_t version;
    uint64_t timeout_ms;
    struct timer deadline;
    struct served *served;
    char *rejected; /* what HAProxy said last; NULL: it takes it, or could not be asked */
};

/* Without it, all that is missing is why they fail. */
static void check_on_served(void *arg, const struct served *s, const struct error *err)
{
    struct plan_check *c = arg;
    (void)err;
    if (s != NULL)
        served_copy(c->served, s);
    event_base_loopbreak(c->base);
}

static void check_on_replaced(void *arg, const struct replaced *r)
{
    struct plan_check *c = arg;
    c->rejected = r->result == TRANSACTION_REJECTED ? mem_strdup(r->error.message) : NULL;
    event_base_loopbreak(c->base);
}

static void check_on_deadline(void *arg)
{
    const struct plan_check *c = arg;
    c->driver->ops->cancel(c->driver, false);
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
    for (size_t i = 0; i < c->report->mapping_count; i++) {
        const struct inspect_backend *b = &c->target->backends[i];
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
    const struct cfg_file *f = cfg_content_file(c->target->file, &err);
    buf_init_secret(&text, 0);
    free(c->rejected);
    c->rejected = NULL;
    if (count == 0 || f == NULL || cfg_backend_edit(f, list, count, &edits, &err) != 0)
        return false;
    cfg_file_print(f, &edits, NULL, &text);
    cleanup(cfg_content_unref_ptr) struct cfg_content *content = cfg_content_take(&text);
    const struct replacement_request request = {.text = content, .edits = &edits};
    timer_set(&c->deadline, c->timeout_ms);
    c->driver->ops->replace(c->driver, c->version, &request);
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

static const struct driver_events check_events = {.replaced = check_on_replaced, .served_told = check_on_served};

void inspect_check(struct event_base *base, const struct inspect_report *r, struct inspect_target *t,
                   const struct instance *in, uint64_t timeout_ms, struct served *served)
{
    struct plan_check c = {.base = base,
                           .report = r,
                           .target = t,
                           .driver = instance_options(in)->driver,
                           .version = instance_view(in).version,
                           .timeout_ms = timeout_ms,
                           .served = served};
    size_t count, left_out;
    cleanup(mem_free_ptr) struct change *all = check_changes(&c, NULL, true, &count, &left_out);
    c.driver->events = &check_events;
    c.driver->arg = &c;
    timer_init(&c.deadline, base, check_on_deadline, &c);
    bool any_fails = false;
    for (size_t i = 0; i < r->mapping_count; i++)
        for (size_t k = 0; k < t->backends[i].runtime.count; k++)
            any_fails = any_fails || runtime_fails_check(&t->backends[i].runtime.servers[k]);
    if (served != NULL && any_fails) {
        timer_set(&c.deadline, timeout_ms);
        c.driver->ops->ask_served(c.driver, true);
        event_base_dispatch(base);
        timer_cancel(&c.deadline);
    }
    if (t->file != NULL && check_rejects(&c, all, count))
        for (size_t i = 0; i < r->mapping_count; i++)
            check_backend(&c, &t->backends[i]);
    free(c.rejected);
    timer_fini(&c.deadline);
    c.driver->arg = NULL;
}

/* Telling the running HAProxy alone: states of servers, on a connection of their own that overtakes what is written to the
 * file. Nothing of it outlives a reload; the next look finds what is to be told again. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "servers/target_internal.h"
#include "report/telemetry.h"

#define CALL_PAUSE_MS 1000
#define CALL_FAILURES_MAX 3

static void send_next(struct target *t);

static void call_fini(struct call *c)
{
    free(c->name);
}

static void drop(struct calls *q, size_t at)
{
    call_fini(&q->list[at]);
    q->count--;
    memmove(&q->list[at], &q->list[at + 1], (q->count - at) * sizeof(q->list[0]));
}

static void drop_from(struct calls *q, size_t first)
{
    for (size_t i = first; i < q->count; i++)
        call_fini(&q->list[i]);
    q->count = first < q->count ? first : q->count;
}

void target_forget_calls(struct target *t)
{
    if (t->options.runtime != NULL)
        dataplane_cancel(t->options.runtime);
    drop_from(&t->calls, 0);
    t->calls.busy = false;
}

bool slot_is_told(const struct slot *s)
{
    const struct calls *q = &s->target->calls;
    for (size_t i = 0; i < q->count; i++)
        if (q->list[i].slot == s)
            return false;
    return true;
}

/* ---- what is to be told ---- */

/* The latest word counts; what is under way is not sent twice. */
static void add(struct slot *s, const struct route_command *c)
{
    struct calls *q = &s->target->calls;
    for (size_t i = q->count; i-- > 0;) {
        struct call *old = &q->list[i];
        if (old->slot != s || !str_eq(old->name, c->name))
            continue;
        if (old->state == c->state)
            return;
        if (i == 0 && q->busy)
            break;
        old->state = c->state;
        old->why = c->why;
        return;
    }
    q->list = mem_resize(q->list, q->count + 1, sizeof(q->list[0]));
    q->list[q->count++] = (struct call){
        .slot = s, .name = mem_strdup(c->name), .state = c->state, .why = c->why, .event_us = s->latest_event_us};
}

static bool is_chosen(const struct route *choice, const char *name)
{
    for (size_t i = 0; i < choice->call_count; i++)
        if (str_eq(choice->calls[i].name, name))
            return true;
    return false;
}

/* What waits behind others, and is not wanted any more. What is under way is answered first. */
static void forget_unchosen(const struct slot *s, const struct route *choice)
{
    struct calls *q = &s->target->calls;
    size_t first = q->busy ? 1 : 0;
    for (size_t i = q->count; i-- > first;)
        if (q->list[i].slot == s && !is_chosen(choice, q->list[i].name))
            drop(q, i);
}

/* What waited already does not go before what brings a server back: it is chosen because of that. */
static void put_back_first(struct calls *q)
{
    size_t next = q->busy ? 1 : 0;
    for (size_t i = next; i < q->count; i++) {
        if (q->list[i].state != RUNTIME_READY)
            continue;
        struct call c = q->list[i];
        memmove(&q->list[next + 1], &q->list[next], (i - next) * sizeof(q->list[0]));
        q->list[next++] = c;
    }
}

static void add_all(struct slot *s, const struct route *choice)
{
    struct target *t = s->target;
    forget_unchosen(s, choice);
    if (t->stopping || clock_mono_ms() < t->calls.not_before_ms)
        return;
    for (size_t i = 0; i < choice->call_count; i++)
        add(s, &choice->calls[i]);
    put_back_first(&t->calls);
    send_next(t);
}

void slot_tell(struct slot *s)
{
    add_all(s, &s->choice);
}

static void tell_wish(struct slot *s)
{
    const struct plan_rules rules = slot_rules(s, true);
    struct plan plan;
    struct route choice;
    plan_make(&s->actual, s->wish, &rules, s->target->dirty, &s->loss_limit, clock_mono_ms(), &plan);
    slot_choose(s, &plan, &choice);
    add_all(s, &choice);
    route_fini(&choice);
    plan_fini(&plan);
}

void target_tell(struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++) {
        struct slot *s = &t->slots[i];
        if (s->have_wish && s->looked && s->unreadable.kind == ERROR_NONE && slot_is_open(s))
            tell_wish(s);
    }
}

/* ---- telling it ---- */

static void take_state(struct slot *s, const char *name, enum runtime_admin state)
{
    for (size_t i = 0; i < s->runtime.count; i++)
        if (str_eq(s->runtime.servers[i].name, name))
            runtime_set_admin(&s->runtime.servers[i], state);
    slot_measure_up(s);
}

/* By the model, for the log; NULL: it has nothing to say of that server. */
static const char *reason_of(const struct call *c)
{
    const struct desired_server *want = desired_find(c->slot->wish, c->name);
    const struct desired_skip *out = desired_why_out(c->slot->wish, c->name);
    return want != NULL ? want->reason : out != NULL ? out->reason : NULL;
}

/* For the journal. */
static void note_told(const struct call *c, uint64_t took_us, uint64_t event_us)
{
    static const char *const words[] = {[RUNTIME_READY] = "is back in rotation",
                                        [RUNTIME_DRAIN] = "drains: it gets no new connections",
                                        [RUNTIME_MAINT] = "is out of rotation"};
    const char *reason = reason_of(c);
    cleanup(mem_free_ptr) char *text = mem_printf("%s %s", c->name, words[c->state]);
    /* that it drains is said */
    cleanup(mem_free_ptr) char *why = reason == NULL              ? mem_strdup(c->why)
                                      : c->state == RUNTIME_DRAIN ? mem_strdup(reason)
                                                                  : mem_printf("%s: %s", c->why, reason);
    slot_note(c->slot, (struct history_entry){.kind = HISTORY_TOLD,
                                              .server = c->name,
                                              .state = runtime_admin_name(c->state),
                                              .text = text,
                                              .why = why,
                                              .cause = c->slot->cause,
                                              .took_us = took_us,
                                              .reaction_us = event_us});
}

static void told(const struct call *c, uint64_t took_us)
{
    struct target *t = c->slot->target;
    uint64_t event_us = c->event_us != 0 ? clock_mono_us() - c->event_us : 0;
    t->calls.failures = 0;
    admin_states_called(&c->slot->memory, c->name, c->state);
    if (t->phase == TARGET_OBSERVING)
        admin_states_crossed(&c->slot->memory, c->name);
    take_state(c->slot, c->name, c->state);
    if (event_us != 0 && c->state != RUNTIME_READY)
        metric_observe(t->options.telemetry->event_to_runtime, (double)event_us / 1e6, NULL);
    log_info(t->options.log, "told the running HAProxy", log_str("backend", c->slot->name),
             log_str("target", slot_target(c->slot)), log_str("server", c->name),
             log_str("state", runtime_admin_name(c->state)), log_str("why", c->why), log_str("reason", reason_of(c)),
             log_if(event_us != 0, log_us_as_ms("event_to_runtime_ms", event_us)));
    note_told(c, took_us, event_us);
}

static void not_told(const struct call *c, const struct error *err)
{
    struct target *t = c->slot->target;
    if (err->kind == ERROR_AUTH)
        (void)dataplane_credentials_refused(t->options.runtime);
    if (err->http_status == 0 && err->kind == ERROR_RETRY)
        admin_states_unanswered(&c->slot->memory, c->name, c->state);
    t->calls.failures += t->seen; /* else it may just be that the API is away */
    t->seen = false;
    t->calls.not_before_ms = clock_mono_ms() + CALL_PAUSE_MS * (t->calls.failures > 0 ? t->calls.failures : 1);
    drop_from(&t->calls, 1);
    /* It says something else, or the API is well and cannot do it, time and again. */
    bool in_vain = err->kind == ERROR_INVALID || t->calls.failures >= CALL_FAILURES_MAX;
    if (in_vain && t->reload.state != RELOAD_PENDING) {
        t->calls.failures = 0;
        target_doubt(t, err);
    }
    slot_problem(c->slot, "cannot set a server's state in the running HAProxy", err);
}

static void on_answer(void *arg, const struct dataplane_answer *a)
{
    struct target *t = arg;
    struct error err = {0};
    struct call c = t->calls.list[0];
    t->calls.busy = false;
    bool ok = runtime_command_answer(a, c.state, &err) == 0;
    metric_add(t->options.telemetry->runtime_calls, 1, runtime_admin_name(c.state),
               ok ? "done" : error_kind_name(err.kind), dataplane_client_url(t->options.client), NULL);
    if (ok)
        told(&c, a->duration_us);
    else
        not_told(&c, &err);
    drop(&t->calls, 0);
    send_next(t);
    if (t->calls.count == 0)
        target_tell(t); /* a wish that turned meanwhile need not wait for what the file's connection is at */
    target_step(t);
}

static void send_next(struct target *t)
{
    struct calls *q = &t->calls;
    if (q->busy || q->count == 0 || t->stopping)
        return;
    const struct call *c = &q->list[0];
    cleanup(mem_free_ptr) char *path = runtime_command_path(c->slot->name, c->name);
    cleanup(mem_free_ptr) char *body = mem_printf("{\"admin_state\":\"%s\"}", runtime_admin_name(c->state));
    q->busy = true;
    /* From here on it may be seen; a look that is under way must not take it for an operator's, nor one after an answer that
     * was lost. */
    admin_states_calls(&c->slot->memory, c->name, c->state);
    dataplane_send(t->options.runtime, "PUT", path, body, on_answer, t);
}

/*
 * The last writes before the end. A drain of ours lives in the running HAProxy alone, where it looks like an operator's to
 * whoever comes next: were its pod ready again by then, the server would stay out of rotation for good. So each of these
 * lines is put into maintenance in the file, without a reload: that is known to be ours.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "servers/target_internal.h"

#define END_LOOK_MS 10000 /* of the 30 s that a pod has to end */

static void on_answer(void *arg, const struct dataplane_answer *a);

/* What was read last is what is there, as far as anybody knows, and it may be written to. */
static bool may_hand_over(const struct slot *s)
{
    const struct target *t = s->target;
    return s->have_wish && s->looked && s->unreadable.kind == ERROR_NONE && slot_is_open(s) &&
           s->actual.version == t->version && !t->options.rules.dry_run && !s->wish->paused &&
           s->plan.verdict != PLAN_REFUSE;
}

/* Who is to serve is not put out of rotation because a call of ours may have been carried out before that. */
static bool is_out(const struct slot *s, const char *name)
{
    const struct runtime_server *row = runtime_find(&s->runtime, name);
    const struct desired_server *want = desired_find(s->wish, name);
    bool stays = s->wish->state != DESIRED_OK || (want != NULL && want->state == SERVER_LIVE);
    return !stays || (row != NULL && row->admin != RUNTIME_READY);
}

static const struct backend_server *first_drained(const struct slot *s)
{
    for (size_t i = 0; i < s->actual.server_count; i++) {
        const struct backend_server *line = &s->actual.servers[i];
        const struct admin_state *mark = line->maintenance ? NULL : admin_states_find(&s->memory, line->name);
        if (mark != NULL && mark->ours != RUNTIME_READY && mark->theirs == RUNTIME_READY && is_out(s, line->name))
            return line;
    }
    return NULL;
}

static bool send_first(struct slot *s)
{
    struct target *t = s->target;
    const struct backend_server *line = may_hand_over(s) ? first_drained(s) : NULL;
    struct backend_server server;
    struct transaction_action action;
    struct error err = {0};
    if (line == NULL)
        return false;
    backend_server_copy(&server, line);
    server.maintenance = true;
    bool started = runtime_update_start(&t->runtime_update, t->version, s->name, &server, SERVER_MAINTENANCE, false,
                                        &action, &err) == 0;
    backend_server_fini(&server);
    if (!started)
        return false;
    t->fast_slot = s;
    t->phase = TARGET_HANDING_OVER;
    dataplane_send(t->options.client, action.method, action.path, action.body, on_answer, t);
    return true;
}

static void take_written(struct target *t)
{
    struct slot *s = t->fast_slot;
    log_info(t->options.log, "a server that drains is left in maintenance for whoever comes next",
             log_str("backend", s->name), log_str("target", slot_target(s)),
             log_str("server", t->runtime_update.wanted.name), log_int("version", t->runtime_update.version));
    slot_note(s, (struct history_entry){.kind = HISTORY_FAST_WRITE,
                                        .server = t->runtime_update.wanted.name,
                                        .text = "left in maintenance for whoever comes next: it drains",
                                        .took_us = t->runtime_update.write_us});
    target_guard_wrote(t, t->runtime_update.version);
    t->version = t->runtime_update.version;
    for (size_t i = 0; i < t->options.backend_count; i++)
        t->slots[i].actual.version = t->version;
    for (size_t i = 0; i < s->actual.server_count; i++)
        if (str_eq(s->actual.servers[i].name, t->runtime_update.wanted.name))
            s->actual.servers[i].maintenance = true;
}

static void on_answer(void *arg, const struct dataplane_answer *a)
{
    struct target *t = arg;
    struct transaction_action action = runtime_update_answer(&t->runtime_update, a);
    if (action.type == TRANSACTION_SEND) {
        dataplane_send(t->options.client, action.method, action.path, action.body, on_answer, t);
        return;
    }
    bool written = t->runtime_update.result == UPDATE_WRITTEN;
    bool look_again = t->runtime_update.result == UPDATE_CONFLICT && !t->looked_at_end; /* somebody wrote meanwhile */
    t->phase = TARGET_IDLE;
    if (written)
        take_written(t);
    else if (look_again)
        t->seen = false;
    else
        log_warn(t->options.log,
                 "a drain of ours could not be left in HAProxy's configuration; if its pod is ready again "
                 "by then, the next start takes it for an operator's",
                 log_str("backend", t->fast_slot->name), log_str("target", slot_target(t->fast_slot)),
                 log_str("server", t->runtime_update.wanted.name), log_str("error", t->runtime_update.error.message));
    t->handed_over = !written && !look_again;
    target_step(t);
}

static bool any_drained(const struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (may_hand_over(&t->slots[i]) && first_drained(&t->slots[i]) != NULL)
            return true;
    return false;
}

void target_give_up_end_look(struct target *t)
{
    dataplane_cancel(t->options.client);
    t->phase = TARGET_IDLE;
    t->handed_over = true;
    log_warn(t->options.log,
             "a Data Plane API that is slow is not waited for at the end; what drains is not left in its file",
             log_str("target", dataplane_client_url(t->options.client)));
}

bool target_hand_over(struct target *t)
{
    /* Our own last write may have carried the drains, and in any case has moved the version. */
    if (!t->seen && !t->looked_at_end && any_drained(t)) {
        t->looked_at_end = true;
        target_look(t);
        timer_set(&t->timer, END_LOOK_MS);
        return true;
    }
    if (t->looked_at_end && !t->previewed_at_end && target_guard_wants(t) && any_drained(t)) { /* somebody else's */
        t->previewed_at_end = true;
        target_preview(t);
        return true;
    }
    for (size_t i = 0; !t->handed_over && target_guard_passed(t) && i < t->options.backend_count; i++)
        if (send_first(&t->slots[i]))
            return true;
    t->handed_over = true;
    return false;
}

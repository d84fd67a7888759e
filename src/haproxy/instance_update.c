/* Runtime updates: one server, in the file and in the running HAProxy, verified by reading it back. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "haproxy/instance_internal.h"

#define LAST_READ_MS 10000 /* of the 30 s that a pod has to end */

/* ---- verification ---- */

enum verification_state instance_verification(const struct instance *in)
{
    for (size_t i = 0; i < in->backend_count; i++)
        if (in->backends[i].runtime_lost)
            return VERIFICATION_FAILED;
    return instance_driver(in)->runtime ? in->verification.state : VERIFICATION_DISABLED;
}

void instance_show_verification(struct instance *in)
{
    for (enum verification_state s = 0; s < VERIFICATION_STATES; s++)
        metric_set(in->options.telemetry->runtime_verification, s == instance_verification(in) ? 1 : 0,
                   instance_url(in), verification_state_name(s), NULL);
}

bool instance_runtime_usable(struct instance *in, const struct instance_backend *b)
{
    enum verification_state was = in->verification.state;
    verification_age(&in->verification, clock_mono_ms());
    if (in->verification.state != was)
        instance_show_verification(in);
    return instance_driver(in)->runtime && verification_usable(&in->verification, in->pace.no_room) &&
           b->runtime.readable;
}

/* Whether what was read back can come of the update alone: maintenance was commanded before, mostly. */
static bool instance_shows_the_update(const struct instance *in, const struct updated *u)
{
    const struct runtime_server *was = runtime_find(&in->updating->runtime, u->wanted->name);
    return !(u->fields == SERVER_MAINTENANCE && u->wanted->maintenance && was != NULL && was->admin == RUNTIME_MAINT);
}

void instance_not_verified(struct instance *in, const struct error *why)
{
    bool again = verification_failed(&in->verification, clock_mono_ms());
    instance_must_reload(in); /* whatever the file says now */
    log_warn(in->options.log,
             again ? "runtime update again not applied by HAProxy; using transactions and reloads for an hour"
                   : "runtime update not applied by HAProxy; using transactions and reloads until the next reload",
             log_str("target", instance_url(in)), log_str("error", why->message));
    instance_show_verification(in);
}

/* ---- what came of it ---- */

/* What was read is still what is there, but for this. */
static void instance_take_server(struct instance *in, const struct updated *u)
{
    const struct backend_server *is = u->wanted;
    struct instance_backend *b = in->updating;
    instance_backend_differs(b);
    for (size_t i = 0; i < b->actual.server_count; i++) {
        struct backend_server *at = &b->actual.servers[i];
        if (!str_eq(at->name, is->name))
            continue;
        backend_server_fini(at);
        backend_server_copy(at, is);
    }
    for (size_t i = 0; i < b->runtime.count; i++) {
        struct runtime_server *at = &b->runtime.servers[i];
        if (!str_eq(at->name, is->name))
            continue;
        shared_text_set(&at->address, is->address);
        at->port = is->port;
        if (u->fields & SERVER_MAINTENANCE)
            runtime_set_admin(at, is->maintenance ? RUNTIME_MAINT : RUNTIME_READY);
    }
}

static void instance_took_effect(struct instance *in, const struct updated *u)
{
    int64_t was = in->version;
    bool shown = instance_shows_the_update(in, u);
    in->fresh = instance_wrote_next(in, u->version);
    instance_take_server(in, u);
    in->unverified = true;
    ENGINES_DO(in, updated, in->updating, u, was);
    in->renewed = false;
    pace_updated(&in->pace);
    if (!verification_passed(&in->verification, shown))
        return;
    log_info(in->options.log, "runtime updates verified", log_str("target", instance_url(in)));
    instance_show_verification(in);
}

/* The file has it, and what runs will have it by a reload. */
static void instance_written_by_reload(struct instance *in, const struct updated *u)
{
    instance_wrote(in, u->version);
    ENGINES_DO(in, updated, in->updating, u, in->version);
    instance_outdated(in);
}

static void instance_update_failed(struct instance *in, const struct updated *u)
{
    static const enum transaction_result as_transaction[] = {[UPDATE_CONFLICT] = TRANSACTION_CONFLICT,
                                                             [UPDATE_REJECTED] = TRANSACTION_REJECTED,
                                                             [UPDATE_UNAUTHORIZED] = TRANSACTION_UNAUTHORIZED,
                                                             [UPDATE_UNKNOWN] = TRANSACTION_UNKNOWN,
                                                             [UPDATE_UNAVAILABLE] = TRANSACTION_UNAVAILABLE};
    const struct write_failure f = {
        .result = as_transaction[u->result], .error = &u->error, .retry_after_ms = u->retry_after_ms};
    instance_outdated(in);
    instance_write_failed(in, &f);
}

/* While a reload is under way it may have missed the update, or had no ear for the question: no sign of anything. */
static void instance_unverified(struct instance *in, const struct updated *u)
{
    if (in->reload.state != RELOAD_PENDING) {
        instance_not_verified(in, &u->error);
        return;
    }
    instance_must_reload(in);
    log_info(in->options.log, "runtime update during a reload not verified; reloading again",
             log_str("target", instance_url(in)), log_str("error", u->error.message));
}

static void instance_update_finished(struct instance *in, const struct updated *u)
{
    const char *result = update_result_name(u->result);
    metric_add(in->options.telemetry->runtime_updates, 1, result, instance_url(in), NULL);
    instance_count_reconcile(in, result);
    switch (u->result) {
    case UPDATE_WRITTEN:
        instance_took_effect(in, u);
        break;
    case UPDATE_RELOADS:
        instance_written_by_reload(in, u);
        instance_not_verified(in, &u->error);
        instance_reload_comes(in, u->reload_id);
        break;
    case UPDATE_UNVERIFIED:
        instance_written_by_reload(in, u);
        instance_unverified(in, u);
        break;
    default:
        instance_update_failed(in, u);
        break;
    }
    instance_writes_none(in);
    instance_done(in);
}

/* ---- sending ---- */

static int instance_update_start(struct instance *in, enum instance_phase phase, struct instance_backend *b,
                                 const struct backend_server *server, unsigned fields, bool keep_maintenance,
                                 struct error *err)
{
    struct driver *d = instance_driver(in);
    const struct update_request request = {.backend = b->name,
                                           .server = server,
                                           .fields = fields,
                                           .keep_maintenance = keep_maintenance,
                                           .hurry = phase == INSTANCE_ENDING};
    in->updating = b;
    free(in->updating_server);
    in->updating_server = mem_strdup(server->name);
    instance_begin(in, phase);
    if (d->ops->update(d, in->version, &request, err) == 0)
        return 0;
    instance_begin(in, INSTANCE_IDLE);
    return -1;
}

int instance_update(struct instance *in, struct instance_backend *b, const struct backend_server *server,
                    unsigned fields, bool keep_maintenance, struct error *err)
{
    if (instance_update_start(in, INSTANCE_UPDATING, b, server, fields, keep_maintenance, err) != 0)
        return -1;
    b->writing = true;
    return 0;
}

const char *instance_updating(const struct instance *in, const struct instance_backend *b)
{
    return in->phase == INSTANCE_UPDATING && in->updating == b ? in->updating_server : NULL;
}

/* ---- the last ones, before the end ---- */

static void instance_last_finished(struct instance *in, const struct updated *u)
{
    bool written = u->result == UPDATE_WRITTEN;
    bool read_again = u->result == UPDATE_CONFLICT && !in->read_at_end; /* another writer wrote meanwhile */
    if (written) {
        instance_wrote_next(in, u->version);
        instance_take_server(in, u);
    }
    if (read_again)
        instance_outdated(in);
    else
        ENGINES_DO(in, last_updated, in->updating, u);
    in->last_updated = !written && !read_again;
    instance_done(in);
}

void instance_updated(void *arg, const struct updated *u)
{
    struct instance *in = arg;
    if (in->phase == INSTANCE_ENDING)
        instance_last_finished(in, u);
    else
        instance_update_finished(in, u);
}

void instance_give_up_last_read(struct instance *in)
{
    instance_driver(in)->ops->cancel(instance_driver(in), false);
    in->last_updated = true;
    log_warn(in->options.log, "too slow an answer at shutdown; draining servers not saved in haproxy.cfg",
             log_str("target", instance_url(in)));
    instance_done(in);
}

static bool instance_next_last_update(struct instance *in, const struct instance_backend **ret_b,
                                      struct backend_server *ret)
{
    for (size_t i = 0; i < in->engine_count; i++)
        if (in->engines[i]->ops->last_update != NULL &&
            in->engines[i]->ops->last_update(in->engines[i]->self, ret_b, ret))
            return true;
    return false;
}

static bool instance_any_last_update(struct instance *in)
{
    const struct instance_backend *b;
    struct backend_server server;
    if (!instance_next_last_update(in, &b, &server))
        return false;
    backend_server_fini(&server);
    return true;
}

static bool instance_start_last_update(struct instance *in)
{
    const struct instance_backend *b;
    struct backend_server server;
    struct error err = {0};
    if (in->last_updated || !guard_passed(&in->guard, in->version) || !instance_next_last_update(in, &b, &server))
        return false;
    int status = instance_update_start(in, INSTANCE_ENDING, instance_backend(in, b->name), &server, SERVER_MAINTENANCE,
                                       false, &err);
    backend_server_fini(&server);
    return status == 0;
}

bool instance_update_last(struct instance *in)
{
    /* The last write may have included them, and in any case has changed the version. */
    if (!in->fresh && !in->read_at_end && instance_any_last_update(in)) {
        in->read_at_end = true;
        instance_read(in);
        timer_set(&in->timer, LAST_READ_MS);
        return true;
    }
    /* Another writer's file. */
    if (in->read_at_end && !in->previewed_at_end && instance_wants_preview(in) && instance_any_last_update(in)) {
        in->previewed_at_end = true;
        instance_preview(in);
        return true;
    }
    if (instance_start_last_update(in))
        return true;
    in->last_updated = true;
    return false;
}

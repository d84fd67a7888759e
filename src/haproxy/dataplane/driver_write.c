/* Transactions and runtime updates: performs what their machines ask for. */
#include "base/mem.h"
#include "haproxy/dataplane/driver_internal.h"
#include "haproxy/dataplane/transaction_steps.h"

/* ---- transactions ---- */

int dataplane_driver_add(struct driver *d, const struct change *list, size_t count, struct error *err)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    if (transaction_steps_add(list, count, &own->steps, &own->step_count, err) != 0)
        return -1;
    dataplane_driver_servers_add(own, list, count);
    return 0;
}

void dataplane_driver_forget_steps(struct dataplane_driver *d)
{
    transaction_steps_free(d->steps, d->step_count);
    d->steps = NULL;
    d->step_count = 0;
    dataplane_driver_servers_clear(d);
}

static void dataplane_driver_written(struct dataplane_driver *d)
{
    cleanup(mem_free_ptr) char *why = d->load_why;
    d->load_why = NULL;
    const struct transaction *t = &d->transaction;
    const struct driver *base = &d->base;
    const struct written w = {.result = t->result,
                              .error = t->error,
                              .version = t->version,
                              .reload_id = t->reload_id,
                              .reload_why = why,
                              .retry_after_ms = t->retry_after_ms,
                              .gone_at_commit = t->failed_in == TRANSACTION_COMMIT && t->error.http_status == 404,
                              .begin_us = t->begin_us,
                              .change_us = t->change_us,
                              .commit_us = t->commit_us,
                              .foreign = t->foreign,
                              .foreign_count = t->foreign_count};
    if (t->cleanup_only) {
        /* Best effort: what could not be deleted costs a place among 20, and our next commit frees it, or, where no
         * commit does, it is tried again after the next write, or resync. */
        d->cleaned = true;
        base->events->cleaned(base->arg, &w);
    } else if (t->preview_only) {
        d->cleaned = d->cleaned && t->held_count == 0;
        base->events->previewed(base->arg, &w);
    } else {
        d->cleaned = d->cleaned && t->noted == NULL;
        base->events->written(base->arg, &w);
    }
}

static void dataplane_driver_transact(struct dataplane_driver *d, struct transaction_action action);

static void dataplane_driver_on_transaction(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    struct transaction_action action = transaction_answer(&d->transaction, a);
    if (action.type == TRANSACTION_JUDGE) {
        cleanup(mem_free_ptr) char *problem =
            d->base.events->judge(d->base.arg, a->body, a->body_len, d->transaction.preview_only);
        action = transaction_judged(&d->transaction, problem);
    }
    dataplane_driver_transact(d, action);
}

static void dataplane_driver_transact(struct dataplane_driver *d, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND)
        dataplane_send(d->client, action.method, action.path, action.body, dataplane_driver_on_transaction, d);
    else
        dataplane_driver_written(d);
}

void dataplane_driver_transact_now(struct dataplane_driver *d, int64_t version, bool review)
{
    struct transaction_action begin = transaction_start(&d->transaction, version, d->steps, d->step_count);
    d->steps = NULL;
    d->step_count = 0;
    dataplane_driver_servers_clear(d);
    if (review)
        transaction_preview_first(&d->transaction);
    dataplane_driver_transact(d, begin);
}

void dataplane_driver_load(struct dataplane_driver *d, int64_t version, const char *why)
{
    d->load_why = mem_strdup(why);
    dataplane_driver_forget_steps(d);
    dataplane_driver_transact(d, transaction_start(&d->transaction, version, NULL, 0));
}

void dataplane_driver_write(struct driver *d, int64_t version, bool review, bool reload)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    if (reload || !dataplane_driver_servers_write(own, version, review))
        dataplane_driver_transact_now(own, version, review);
}

void dataplane_driver_abort(struct driver *d)
{
    transaction_abort(&dataplane_driver_of(d)->transaction);
}

void dataplane_driver_clean(struct driver *d)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    dataplane_driver_transact(own, transaction_start_cleanup(&own->transaction));
}

void dataplane_driver_preview(struct driver *d, int64_t version)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    dataplane_driver_transact(own, transaction_start_preview(&own->transaction, version));
}

/* ---- runtime updates ---- */

static void dataplane_driver_updated(struct dataplane_driver *d)
{
    const struct runtime_update *u = &d->update;
    const struct updated news = {.result = u->result,
                                 .error = u->error,
                                 .wanted = &u->wanted,
                                 .fields = u->fields,
                                 .version = u->version,
                                 .reload_id = u->reload_id,
                                 .retry_after_ms = u->retry_after_ms,
                                 .write_us = u->write_us,
                                 .read_us = u->read_us};
    if (u->result == UPDATE_REJECTED) /* the API keeps a failed transaction for each refused write */
        d->cleaned = false;
    if (u->refusal != NULL) {
        transaction_note_refusal(&d->transaction, u->refusal);
        d->cleaned = false;
    }
    d->base.events->updated(d->base.arg, &news);
}

static void dataplane_driver_perform_update(struct dataplane_driver *d, struct transaction_action action);

static void dataplane_driver_on_update(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    dataplane_driver_perform_update(d, runtime_update_answer(&d->update, a));
}

static void dataplane_driver_perform_update(struct dataplane_driver *d, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND && action.delay_ms > 0 && !d->hurry) {
        dataplane_driver_read_again(d, action, dataplane_driver_perform_update);
        return;
    }
    if (action.type == TRANSACTION_SEND)
        dataplane_send(d->client, action.method, action.path, action.body, dataplane_driver_on_update, d);
    else
        dataplane_driver_updated(d);
}

int dataplane_driver_update(struct driver *base, int64_t version, const struct update_request *r, struct error *err)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    struct transaction_action first;
    d->hurry = r->hurry;
    if (runtime_update_start(&d->update, version, r->backend, r->server, r->fields, r->keep_maintenance, &first, err) !=
        0)
        return -1;
    dataplane_driver_perform_update(d, first);
    return 0;
}

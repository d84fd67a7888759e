/* The whole configuration: validates and writes it for the engine that owns the rest of the file. */
#include "haproxy/cfg/content.h"
#include "haproxy/instance_internal.h"

struct cfg_content *instance_file(const struct instance *in)
{
    return in->readout.file;
}

int instance_foresee(const struct instance *in, const struct cfg_file *to, const struct changes *changes,
                     struct buf *ret, struct error *err)
{
    const struct driver *d = instance_driver(in);
    if (d->ops->foresee == NULL)
        return error_set(err, ERROR_INVALID, "this HAProxy takes changes only by reloads");
    return d->ops->foresee(d, to, changes, ret, err);
}

/* What was written is in the file and, but for what was told beside it, runs nowhere; what HAProxy is to be told of it is
 * an empty commit. The answer to a write that no other one came before is a reading of the file: where that is all there
 * is to read, none follows. */
static void instance_replace_written(struct instance *in, const struct replaced *r)
{
    ENGINES_DO(in, rewritten, in->version, r->version);
    bool alone = instance_wrote_next(in, r->version) && in->backend_count == 0;
    in->fresh = alone && r->result == TRANSACTION_COMMITTED && r->file != NULL;
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = false; /* the lines beside its servers are others */
    readout_let_file_go(&in->readout, true);
    in->readout.file = in->fresh ? cfg_content_ref(r->file) : NULL;
    in->readout.loaded = in->fresh && r->runs;
    in->readout.unloaded = in->fresh && !r->runs;
    in->renewed = false;
    in->rewritten = !r->runs;
    if (r->runs)
        in->commanded_ms = clock_mono_ms();
    else
        instance_must_reload(in);
    instance_say_why(in, r->reload_why);
    if (r->reload_id != NULL)
        instance_reload_comes(in, r->reload_id);
}

void instance_replaced(void *arg, const struct replaced *r)
{
    struct instance *in = arg;
    const struct engine *e = in->replacing;
    const struct write_failure f = {.result = r->result, .error = &r->error, .retry_after_ms = r->retry_after_ms};
    in->replacing = NULL;
    instance_count_reconcile(in, transaction_result_name(r->result));
    if (r->result != TRANSACTION_PREVIEWED)
        instance_outdated(in);
    if (r->result == TRANSACTION_COMMITTED || r->result == TRANSACTION_HARMFUL)
        instance_replace_written(in, r);
    else if (r->result != TRANSACTION_PREVIEWED && r->result != TRANSACTION_REJECTED)
        instance_write_failed(in, &f);
    e->ops->replaced(e->self, r);
    bool read = in->fresh && r->result == TRANSACTION_COMMITTED;
    if (read)
        ENGINES_DO(in, read);
    if (read && r->runs)
        ENGINES_DO(in, concluded);
    instance_done(in);
}

bool instance_let_replace(struct instance *in)
{
    for (size_t i = 0; i < in->engine_count; i++) {
        const struct engine *e = in->engines[i];
        if (!in->wants[i].replacement)
            continue;
        struct replacement_request request = {0};
        e->ops->replace(e->self, &request);
        instance_begin(in, INSTANCE_REPLACING);
        in->replacing = e;
        instance_driver(in)->ops->replace(instance_driver(in), in->version, &request);
        return true;
    }
    return false;
}

/* ---- files beside it ---- */

void instance_stored(void *arg, const struct stored *s)
{
    struct instance *in = arg;
    const struct engine *e = in->replacing;
    const struct write_failure f = {.result = s->result, .error = &s->error, .retry_after_ms = s->retry_after_ms};
    in->replacing = NULL;
    if (s->written > 0 || s->deleted > 0)
        log_info(in->options.log, "files of the configuration stored", log_str("target", instance_url(in)),
                 log_int("written", s->written), log_int("deleted", s->deleted));
    if (s->in_use > 0)
        log_warn(in->options.log, "files are not deleted, because haproxy.cfg still names them",
                 log_str("target", instance_url(in)), log_int("files", s->in_use));
    if (s->result != TRANSACTION_COMMITTED)
        instance_write_failed(in, &f);
    e->ops->stored(e->self, s);
    instance_done(in);
}

bool instance_let_store(struct instance *in)
{
    for (size_t i = 0; i < in->engine_count; i++) {
        const struct engine *e = in->engines[i];
        if (!in->wants[i].storage)
            continue;
        struct storage_request request = {0};
        e->ops->store(e->self, &request);
        instance_begin(in, INSTANCE_REPLACING);
        in->replacing = e;
        instance_driver(in)->ops->store(instance_driver(in), &request);
        return true;
    }
    return false;
}

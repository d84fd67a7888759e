/* The whole configuration: validates and writes it for the engine that owns the rest of the file. */
#include <string.h>

#include "base/mem.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/instance_internal.h"

const struct buf *instance_file(const struct instance *in)
{
    return in->reader.file.len > 0 ? &in->reader.file : NULL;
}

/* Its lines are those of the file before the edits. */
static void instance_replace_renumber(struct cfg_file *f, const struct cfg_edits *edits)
{
    struct cfg_edits_back back = {0};
    bool inserted;
    for (size_t i = 0; edits != NULL && i < f->line_count; i++)
        f->lines[i].number = cfg_edits_line(edits, &back, f->lines[i].number, &inserted);
}

/* What the API made of it, against what was sent. Allocates; NULL: the same. */
static char *instance_replace_compare(const struct replacement_request *request, const struct dataplane_answer *a)
{
    const char *sent = request->text;
    cleanup(cfg_file_fini) struct cfg_file before = {0};
    cleanup(cfg_file_fini) struct cfg_file after = {0};
    struct error err = {0};
    if (cfg_file_init(&before, sent, strlen(sent), &err) != 0 || cfg_file_init(&after, a->body, a->body_len, &err) != 0)
        return mem_strdup(err.message);
    instance_replace_renumber(&before, request->edits);
    return cfg_file_compare(&before, &after, NULL);
}

/* What was written is in the file and runs nowhere; what HAProxy is to be told of it is an empty commit. */
static void instance_replace_written(struct instance *in)
{
    const struct replacement *r = &in->replacement;
    ENGINES_DO(in, rewritten, in->version, r->version);
    instance_wrote(in, r->version);
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = false; /* the lines beside its servers are others */
    buf_fini(&in->reader.file);
    in->renewed = false;
    instance_must_reload(in);
    if (r->reload_id != NULL)
        instance_reload_comes(in, r->reload_id);
}

static void instance_replace_finished(struct instance *in)
{
    const struct replacement *r = &in->replacement;
    const struct engine *e = in->replacing;
    const struct write_failure f = {.result = r->result, .error = &r->error, .retry_after_ms = r->retry_after_ms};
    in->replacing = NULL;
    instance_count_reconcile(in, transaction_result_name(r->result));
    if (r->result != TRANSACTION_PREVIEWED)
        instance_outdated(in);
    if (r->result == TRANSACTION_REJECTED) /* it leaves a failed transaction behind */
        in->dead_deleted = false;
    if (r->result == TRANSACTION_COMMITTED || r->result == TRANSACTION_HARMFUL)
        instance_replace_written(in);
    else if (r->result != TRANSACTION_PREVIEWED && r->result != TRANSACTION_REJECTED)
        instance_write_failed(in, &f);
    e->ops->replaced(e->self, r);
    instance_done(in);
}

static void instance_replace_perform(struct instance *in, struct transaction_action action);

static void instance_replace_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct instance *in = arg;
    const struct replacement_request request = in->replacement.request;
    struct transaction_action action = replacement_answer(&in->replacement, a);
    if (action.type == TRANSACTION_JUDGE) {
        cleanup(mem_free_ptr) char *problem = instance_replace_compare(&request, a);
        action = replacement_judged(&in->replacement, problem);
    }
    instance_replace_perform(in, action);
}

static void instance_replace_perform(struct instance *in, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND)
        dataplane_send(in->options.client, action.method, action.path, action.body, instance_replace_on_answer, in);
    else
        instance_replace_finished(in);
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
        instance_replace_perform(in, replacement_start(&in->replacement, in->version, &request));
        return true;
    }
    return false;
}

/* ---- files beside it ---- */

static void instance_store_finished(struct instance *in)
{
    const struct storage *s = &in->storage;
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

static void instance_store_perform(struct instance *in, struct storage_action action);

static void instance_store_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct instance *in = arg;
    instance_store_perform(in, storage_answer(&in->storage, a));
}

static void instance_store_perform(struct instance *in, struct storage_action action)
{
    if (action.send)
        dataplane_send_bytes(in->options.client, action.method, action.path, action.type, action.body, action.body_len,
                             instance_store_on_answer, in);
    else
        instance_store_finished(in);
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
        instance_store_perform(in, storage_start(&in->storage, &request));
        return true;
    }
    return false;
}

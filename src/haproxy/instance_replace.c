/* The whole configuration: validates and writes it for the engine that owns the rest of the file. */
#include "base/mem.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/instance_internal.h"

struct cfg_content *instance_file(const struct instance *in)
{
    return in->reader.file;
}

/* Parsed, with the lines as they are numbered in the file before the edits. */
static void instance_replace_renumbered(struct cfg_file *f, const struct replacement_request *request)
{
    struct cfg_edits_back back = {0};
    bool inserted;
    cfg_file_parse(f, request->text->text, request->text->len);
    for (size_t i = 0; i < f->line_count; i++)
        f->lines[i].number = cfg_edits_line(request->edits, &back, f->lines[i].number, &inserted);
}

/* What the API made of it, against what was sent. Allocates; NULL: the same. */
static char *instance_replace_compare(const struct replacement_request *request, struct cfg_content *written)
{
    cleanup(cfg_file_fini) struct cfg_file edited = {0};
    struct error err = {0};
    const struct cfg_file *sent = cfg_content_file(request->text, &err);
    const struct cfg_file *is = sent != NULL ? cfg_content_file(written, &err) : NULL;
    if (is == NULL)
        return mem_strdup(err.message);
    if (request->edits != NULL && request->edits->count > 0) {
        instance_replace_renumbered(&edited, request);
        sent = &edited;
    }
    return cfg_file_compare(sent, is, NULL);
}

/* The same text means the same on the next HAProxy. Allocates; NULL: it means what was sent. */
static char *instance_replace_judge(struct instance *in, const struct replacement_request *request,
                                    const struct dataplane_answer *a)
{
    struct cfg_content *known = request->text->written;
    size_t head;
    cfg_content_unref(in->replaced);
    if (cfg_content_goes_on_as(known, a->body, a->body_len, &head)) {
        in->replaced = cfg_content_ref(known);
        return NULL;
    }
    in->replaced = cfg_content_new(dataplane_answer_take(a), a->body_len);
    char *problem = instance_replace_compare(request, in->replaced);
    if (problem == NULL)
        cfg_content_wrote(request->text, in->replaced);
    return problem;
}

/* What was written is in the file and runs nowhere; what HAProxy is to be told of it is an empty commit. The answer to a
 * write that no other one came before is a reading of the file: where that is all there is to read, none follows. */
static void instance_replace_written(struct instance *in)
{
    const struct replacement *r = &in->replacement;
    ENGINES_DO(in, rewritten, in->version, r->version);
    bool alone = instance_wrote_next(in, r->version) && in->backend_count == 0;
    in->fresh = alone && r->result == TRANSACTION_COMMITTED && in->replaced != NULL;
    for (size_t i = 0; i < in->backend_count; i++)
        in->backends[i].reviewed = false; /* the lines beside its servers are others */
    reader_let_file_go(&in->reader, true);
    in->reader.file = in->fresh ? cfg_content_ref(in->replaced) : NULL;
    in->reader.unloaded = in->fresh;
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
    if (in->fresh && r->result == TRANSACTION_COMMITTED)
        ENGINES_DO(in, read);
    cfg_content_unref(in->replaced);
    in->replaced = NULL;
    instance_done(in);
}

static void instance_replace_perform(struct instance *in, struct transaction_action action);

static void instance_replace_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct instance *in = arg;
    const struct replacement_request request = in->replacement.request;
    struct transaction_action action = replacement_answer(&in->replacement, a);
    if (action.type == TRANSACTION_JUDGE) {
        cleanup(mem_free_ptr) char *problem = instance_replace_judge(in, &request, a);
        action = replacement_judged(&in->replacement, problem);
    }
    instance_replace_perform(in, action);
}

static void instance_replace_perform(struct instance *in, struct transaction_action action)
{
    const struct cfg_content *text = in->replacement.sends;
    if (action.type == TRANSACTION_SEND)
        dataplane_send_text(in->options.client, action.path, action.body, text->text, text->len,
                            instance_replace_on_answer, in);
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

#include "haproxy/dataplane/read_back.h"

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/change.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/transaction_verdict.h"
#include "haproxy/drift.h"

void read_back_fini(struct read_back *r)
{
    buf_fini(&r->path);
    *r = (struct read_back){0};
}

static struct transaction_action read_back_send(struct read_back *r)
{
    cleanup(mem_free_ptr) char *backend = str_url_encode(r->changes->list[r->at]->backend->name);
    buf_clear(&r->path);
    buf_printf(&r->path, "/runtime/backends/%s/servers", backend);
    return (struct transaction_action){.type = TRANSACTION_SEND,
                                       .method = "GET",
                                       .path = buf_str(&r->path),
                                       .delay_ms = r->reads > 0 ? DRIFT_AGAIN_MS(r->reads) : 0};
}

struct transaction_action read_back_start(struct read_back *r, const struct changes *changes)
{
    error_clear(&r->why);
    r->changes = changes;
    r->at = 0;
    r->reads = 0;
    return read_back_send(r);
}

static struct transaction_action read_back_done(struct read_back *r)
{
    r->changes = NULL;
    return (struct transaction_action){.type = TRANSACTION_FINISHED};
}

/* Why what is not wrong is not known to be right, or not over yet; NULL: all of it is. */
static const char *read_back_doubt(const struct read_back *r, const struct runtime *running, size_t end)
{
    for (size_t i = r->at; r->strict && i < end; i++) {
        const struct change *c = r->changes->list[i];
        const struct runtime_server *is = runtime_find(running, c->server->name);
        if (c->kind == CHANGE_REMOVE_SERVER && is != NULL)
            return "HAProxy has a server that is removed";
        if ((c->fields & SERVER_WEIGHT) && is != NULL && is->weight < 0)
            return "the Data Plane API shows no weights";
    }
    return NULL;
}

struct transaction_action read_back_answer(struct read_back *r, const struct dataplane_answer *a)
{
    cleanup(runtime_fini) struct runtime running = {0};
    size_t next;
    bool comes;
    if (!transaction_is_success(a)) {
        transaction_explain(&r->why, a, "reading what HAProxy runs", NULL);
        return read_back_done(r);
    }
    if (codec_read_runtime(a->body, a->body_len, &running, &r->why) != 0)
        return read_back_done(r);
    cleanup(mem_free_ptr) char *problem = drift_of_changes(r->changes, r->at, &running, &next, &comes);
    if (problem != NULL && comes && r->reads++ < DRIFT_READS_AGAIN)
        return read_back_send(r);
    if (problem != NULL) {
        (void)error_set(&r->why, ERROR_INVALID, "%s", problem);
        return read_back_done(r);
    }
    const char *doubt = read_back_doubt(r, &running, next);
    if (doubt != NULL) {
        (void)error_set(&r->why, ERROR_INVALID, "%s", doubt);
        return read_back_done(r);
    }
    r->at = next;
    r->reads = 0;
    return next < r->changes->count ? read_back_send(r) : read_back_done(r);
}

#include "haproxy/dataplane/runtime_update.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/transaction_verdict.h"
#include "haproxy/drift.h"

void runtime_update_init(struct runtime_update *l)
{
    *l = (struct runtime_update){.state = UPDATE_IDLE, .version = -1, .retry_after_ms = -1, .result = UPDATE_UNKNOWN};
}

void runtime_update_fini(struct runtime_update *l)
{
    buf_fini(&l->path);
    free(l->body);
    free(l->read_path);
    free(l->reload_id);
    free(l->refusal);
    backend_server_fini(&l->wanted);
    runtime_update_init(l);
}

char *runtime_command_path(const char *backend, const char *server)
{
    cleanup(mem_free_ptr) char *b = str_url_encode(backend);
    cleanup(mem_free_ptr) char *s = str_url_encode(server);
    return mem_printf("/runtime/backends/%s/servers/%s", b, s);
}

static struct transaction_action runtime_update_done(struct runtime_update *l, enum update_result result)
{
    l->state = UPDATE_DONE;
    l->result = result;
    return (struct transaction_action){.type = TRANSACTION_FINISHED};
}

/* ---- the write ---- */

int runtime_update_start(struct runtime_update *l, int64_t version, const char *backend,
                         const struct backend_server *server, unsigned fields, bool keep_maintenance,
                         struct transaction_action *ret, struct error *err)
{
    struct backend_server as = *server; /* borrows */
    cleanup(buf_fini) struct buf body = {0};
    if (keep_maintenance && (fields & SERVER_MAINTENANCE))
        as.maintenance = !server->maintenance;
    if (codec_write_server(&as, &body, err) != 0)
        return -1;
    runtime_update_fini(l);
    cleanup(mem_free_ptr) char *b = str_url_encode(backend);
    cleanup(mem_free_ptr) char *s = str_url_encode(server->name);
    buf_init(&l->path, 0);
    buf_printf(&l->path, "/configuration/backends/%s/servers/%s?version=%" PRId64, b, s, version);
    l->body = buf_take(&body);
    l->read_path = runtime_command_path(backend, server->name);
    l->version = version;
    l->fields = fields & ~(keep_maintenance ? (unsigned)SERVER_MAINTENANCE : 0);
    as.json = l->body;
    backend_server_copy(&l->wanted, &as);
    l->state = UPDATE_WRITE;
    *ret = (struct transaction_action){
        .type = TRANSACTION_SEND, .method = "PUT", .path = buf_str(&l->path), .body = l->body};
    return 0;
}

/* As for a commit, which this is to the API as well; a limit is nothing else here than being busy. */
static enum update_result result_of(const struct dataplane_answer *a)
{
    switch (transaction_result_of(TRANSACTION_COMMIT, a)) {
    case TRANSACTION_CONFLICT:
        return UPDATE_CONFLICT;
    case TRANSACTION_REJECTED:
        return UPDATE_REJECTED;
    case TRANSACTION_UNAUTHORIZED:
        return UPDATE_UNAUTHORIZED;
    case TRANSACTION_LIMIT:
    case TRANSACTION_UNAVAILABLE:
        return UPDATE_UNAVAILABLE;
    case TRANSACTION_COMMITTED:
    case TRANSACTION_CLEANED:
    case TRANSACTION_PREVIEWED:
    case TRANSACTION_HARMFUL:
    case TRANSACTION_UNKNOWN:
    case TRANSACTION_ABORTED:
        break;
    }
    return UPDATE_UNKNOWN;
}

static struct transaction_action runtime_update_fail(struct runtime_update *l, const struct dataplane_answer *a)
{
    cleanup(mem_free_ptr) char *doing = mem_printf("runtime update of server %s", l->wanted.name);
    transaction_explain(&l->error, a, doing, transaction_wrong_answer(a));
    if (a->error == NULL && a->status == 500)
        l->refusal = codec_refusal(a->body, a->body_len);
    return runtime_update_done(l, result_of(a));
}

static struct transaction_action unproven(struct runtime_update *l, enum error_kind kind, const char *why)
{
    (void)error_set(&l->error, kind,
                    "server %s is as desired in haproxy.cfg, but not verified at runtime: %s; a transaction follows",
                    l->wanted.name, why);
    return runtime_update_done(l, UPDATE_UNVERIFIED);
}

static struct transaction_action read_it(struct runtime_update *l)
{
    l->state = UPDATE_READ;
    return (struct transaction_action){.type = TRANSACTION_SEND,
                                       .method = "GET",
                                       .path = l->read_path,
                                       .delay_ms = l->reads > 0 ? DRIFT_AGAIN_MS(l->reads) : 0};
}

static struct transaction_action runtime_update_written(struct runtime_update *l, const struct dataplane_answer *a)
{
    l->write_us += a->duration_us;
    l->retry_after_ms = a->retry_after_ms;
    /* The version is the proof that the API answered, not a login page in front of it: without it nothing is known. */
    if (!transaction_is_success(a) || a->version <= 0)
        return runtime_update_fail(l, a);
    l->version = a->version;
    if (a->reload_id != NULL) {
        l->reload_id = mem_strdup(a->reload_id);
        (void)error_set(&l->error, ERROR_INVALID,
                        "server %s is as desired in haproxy.cfg, but the API could not update it at runtime (%s)",
                        l->wanted.name, a->reload_id);
        return runtime_update_done(l, UPDATE_RELOADS);
    }
    if (a->status == 202)
        return unproven(l, ERROR_INVALID, "the API announces a reload without an id");
    return read_it(l);
}

/* ---- what HAProxy runs ---- */

/* How the row read back differs from what was written. A live line may be in maint or have another weight, set by an
 * operator. A drain may have overtaken the reading. NULL: nothing. */
static char *problem_of(const struct runtime_update *l, const struct runtime_server *is)
{
    if (!str_eq(is->name, l->wanted.name))
        return mem_printf("asked for server %s, the answer is about \"%s\"", l->wanted.name, is->name);
    if ((l->fields & SERVER_WEIGHT) && l->wanted.weight >= 0 && is->weight >= 0 && is->weight != l->wanted.weight &&
        !codec_has_agent(l->wanted.json))
        return mem_printf("HAProxy runs it with weight %d", is->weight);
    return drift_of_server(&l->wanted, l->fields, is);
}

static struct transaction_action read_back(struct runtime_update *l, const struct dataplane_answer *a)
{
    struct error why = {0};
    cleanup(runtime_server_fini) struct runtime_server is = {0};
    l->read_us += a->duration_us;
    if (!transaction_is_success(a)) {
        transaction_explain(&why, a, "read it back", NULL);
        return unproven(l, why.kind, why.message);
    }
    if (codec_read_runtime_server(a->body, a->body_len, &is, &why) != 0)
        return unproven(l, why.kind, why.message);
    cleanup(mem_free_ptr) char *problem = problem_of(l, &is);
    bool may_come = (l->fields & (SERVER_ADDRESS | SERVER_PORT)) && str_eq(is.name, l->wanted.name);
    if (problem != NULL && may_come && l->reads++ < DRIFT_READS_AGAIN)
        return read_it(l);
    if (problem != NULL)
        return unproven(l, ERROR_INVALID, problem);
    return runtime_update_done(l, UPDATE_WRITTEN);
}

struct transaction_action runtime_update_answer(struct runtime_update *l, const struct dataplane_answer *a)
{
    switch (l->state) {
    case UPDATE_WRITE:
        return runtime_update_written(l, a);
    case UPDATE_READ:
        return read_back(l, a);
    case UPDATE_IDLE:
    case UPDATE_DONE:
        break;
    }
    return (struct transaction_action){.type = TRANSACTION_FINISHED};
}

/* ---- the runtime command ---- */

int runtime_command_answer(const struct dataplane_answer *a, enum runtime_admin wanted, struct error *err)
{
    struct error why = {0};
    cleanup(runtime_server_fini) struct runtime_server is = {0};
    if (!transaction_is_success(a)) {
        transaction_explain(&why, a, "runtime command", NULL);
        if (err != NULL)
            *err = why;
        return -1;
    }
    if (codec_read_runtime_server(a->body, a->body_len, &is, err) != 0)
        return error_prefix(err, "runtime command");
    /* Which of the two it is the API may take for the other (codec_runtime.c); both give it no new connections. */
    bool kept_away = wanted != RUNTIME_READY && is.admin != RUNTIME_READY;
    if (is.admin != wanted && !kept_away)
        return error_set(err, ERROR_INVALID, "HAProxy still has server %s in %s instead of %s", is.name,
                         runtime_admin_name(is.admin), runtime_admin_name(wanted));
    return 0;
}

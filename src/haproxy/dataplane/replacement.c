#include "haproxy/dataplane/replacement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/mask.h"
#include "haproxy/cfg/source.h"
#include "haproxy/change.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/runtime_update.h"
#include "haproxy/dataplane/server_actions.h"
#include "haproxy/dataplane/transaction_verdict.h"
#include "haproxy/drift.h"
#include "haproxy/validation_text.h"

/* Each commit moves the version on, and so makes this comment one of the past. */
#define UNLOADED "# haproxy-k8s-sync: version "
#define REPLACEMENT_UNLOADED UNLOADED "%" PRId64 " is loaded by the next one\n"

#define TOLD "# haproxy-k8s-sync: it need not if HAProxy has in version "
#define REPLACEMENT_TOLD TOLD "%" PRId64 ": "
#define TOLD_MAX_BYTES 512u /* more of it is no comment any more: then it is loaded */

/* The API puts it on top of a file that it reads, unless it stands there: nothing comes in front of it. */
#define MANAGED                     \
    "# Dataplaneapi managed File\n" \
    "# changing file directly can cause a conflict if dataplaneapi is running\n"

#define HEAD_BYTES 1024u /* the comments that a file begins with */

void replacement_init(struct replacement *r)
{
    *r = (struct replacement){.version = -1, .result = TRANSACTION_UNKNOWN, .retry_after_ms = -1};
}

void replacement_fini(struct replacement *r)
{
    buf_fini(&r->path);
    buf_fini(&r->head);
    buf_fini(&r->actions);
    server_adds_fini(&r->adds);
    read_back_fini(&r->back);
    free(r->why);
    free(r->refusal);
    for (size_t i = 0; i < array_len(r->own); i++)
        cfg_content_unref(r->own[i]);
    free(r->reload_id);
    replacement_init(r);
}

/* HAProxy's messages quote what they are about. */
static void replacement_mask(struct replacement *r, const struct cfg_content *c)
{
    if (r->error.kind == ERROR_NONE || c == NULL)
        return;
    cleanup(mem_free_ptr) char *masked = cfg_mask_message(r->error.message, c->text);
    snprintf(r->error.message, sizeof(r->error.message), "%s", masked);
}

static struct transaction_action replacement_delete(struct replacement *r, enum replacement_state state,
                                                    const char *path)
{
    r->state = state;
    buf_clear(&r->path);
    buf_add(&r->path, path);
    return (struct transaction_action){.type = TRANSACTION_SEND, .method = "DELETE", .path = buf_str(&r->path)};
}

/* What was added for a file that was not written, for certain, goes first. A conflict may be with itself: libcurl sends a request again that a
 * connection lost which was kept. */
static struct transaction_action replacement_done(struct replacement *r, enum transaction_result result)
{
    r->result = result;
    if (r->added > 0 && (result == TRANSACTION_REJECTED || result == TRANSACTION_HARMFUL))
        return replacement_delete(r, REPLACEMENT_UNDO, r->adds.list[--r->added].path);
    r->state = REPLACEMENT_DONE;
    replacement_mask(r, r->request.text);
    replacement_mask(r, r->request.before);
    r->request = (struct replacement_request){0};
    r->sends = NULL;
    return (struct transaction_action){.type = TRANSACTION_FINISHED};
}

/* What is only validated has the sender's line numbers; what goes back runs, but where it did not before, or no more. */
static bool replacement_is_to_be_loaded(const struct replacement *r)
{
    const struct cfg_content *before = r->request.before;
    return r->state == REPLACEMENT_WRITE ||
           (r->state == REPLACEMENT_RESTORE &&
            (r->reload_id != NULL || r->tries ||
             replacement_is_unloaded(before->text, before->len < HEAD_BYTES ? before->len : HEAD_BYTES, r->from)));
}

static struct transaction_action replacement_post(struct replacement *r, enum replacement_state state,
                                                  struct cfg_content *text)
{
    r->state = state;
    r->sends = text;
    buf_clear(&r->head);
    r->skips = state != REPLACEMENT_VALIDATE && str_has_prefix(text->text, MANAGED) ? strlen(MANAGED) : 0;
    buf_add(&r->head, r->skips > 0 ? MANAGED : "");
    if (replacement_is_to_be_loaded(r))
        buf_printf(&r->head, REPLACEMENT_UNLOADED, r->version + 1);
    r->tells = NULL;
    if (state == REPLACEMENT_WRITE && r->adds.unchecked == NULL && r->actions.len > 0 &&
        r->actions.len <= TOLD_MAX_BYTES)
        buf_printf(&r->head, REPLACEMENT_TOLD "%s\n", r->version + 1, buf_str(&r->actions));
    if (state == REPLACEMENT_WRITE && r->told < r->actions.len) {
        r->tells = r->actions.data + r->told;
        r->told += server_actions_fit(r->tells);
        r->actions.data[r->told++] = '\0'; /* for ';', or as it is */
    }
    buf_clear(&r->path);
    buf_printf(&r->path, "/configuration/raw?version=%" PRId64 "&%s=true", r->version,
               state == REPLACEMENT_VALIDATE ? "only_validate" : "skip_reload");
    return (struct transaction_action){
        .type = TRANSACTION_SEND, .method = "POST", .path = buf_str(&r->path), .body = buf_str(&r->head)};
}

/* A file that was no document, as a document of it would be sent: what the API makes of it as it is may mean something
 * else. */
static struct cfg_content *replacement_as_sent(struct cfg_content *c, struct cfg_content **own)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    struct error err = {0};
    if (cfg_source_init(&f, c->text, c->len, &err) != 0 || cfg_source_is_as_sent(&f))
        return c;
    struct buf text;
    buf_init_secret(&text, 0);
    cfg_source_print(&f, &text);
    *own = cfg_content_take(&text);
    return *own;
}

void replacement_takes_reload(struct replacement *r, const char *why)
{
    free(r->why);
    r->why = mem_strdup(why);
}

static void replacement_refused(struct replacement *r, const struct dataplane_answer *a, const char *doing,
                                const char *server)
{
    struct error why = {0};
    cleanup(mem_free_ptr) char *what = mem_join(doing, server);
    transaction_explain(&why, a, what, NULL);
    replacement_takes_reload(r, why.message);
}

bool replacement_in_vain(const struct replacement *r)
{
    return r->back.why.kind != ERROR_NONE;
}

/* The next one, or the file where all are there. */
static struct transaction_action replacement_add(struct replacement *r)
{
    if (r->added == r->adds.count)
        return replacement_post(r, REPLACEMENT_WRITE, r->request.text);
    const struct server_add *add = &r->adds.list[r->added];
    r->state = REPLACEMENT_ADD;
    return (struct transaction_action){
        .type = TRANSACTION_SEND, .method = "POST", .path = add->list, .body = add->body};
}

static struct transaction_action replacement_added(struct replacement *r, const struct dataplane_answer *a)
{
    if (a->error == NULL && a->status == 201) {
        r->added++;
        return replacement_add(r);
    }
    replacement_refused(r, a, "adding server ", r->adds.list[r->added].name);
    buf_clear(&r->actions);
    return replacement_post(r, REPLACEMENT_WRITE, r->request.text);
}

/* By the runtime, where all of the changes can go that way. */
static void replacement_try(struct replacement *r, const char *haproxy)
{
    struct error why = {0};
    const struct cfg_file *to = cfg_content_file(r->request.text, &why);
    r->tries = to != NULL && server_adds_of(r->request.changes, to, haproxy, &r->adds, &r->actions, &why) == 0;
    if (r->tries && r->adds.unchecked == NULL)
        return;
    cleanup(mem_free_ptr) char *text = r->tries ? mem_printf(SERVER_ADDS_UNCHECKED, r->adds.unchecked) : NULL;
    r->why = mem_strdup(r->tries ? text : why.message); /* the first: it has just begun */
    if (r->tries)
        return;
    buf_clear(&r->actions);
    server_adds_fini(&r->adds);
}

struct transaction_action replacement_start(struct replacement *r, int64_t version,
                                            const struct replacement_request *request, const char *haproxy)
{
    replacement_fini(r);
    r->version = r->from = version;
    r->request = *request;
    if (request->restores)
        r->request.text = replacement_as_sent(request->text, &r->own[0]);
    if (request->before == NULL)
        return replacement_post(r, REPLACEMENT_VALIDATE, r->request.text);
    if (request->changes != NULL)
        replacement_try(r, haproxy);
    return replacement_add(r);
}

static const char *replacement_doing(const struct replacement *r)
{
    static const char *const doing[] = {[REPLACEMENT_VALIDATE] = "validation",
                                        [REPLACEMENT_WRITE] = "write of the configuration",
                                        [REPLACEMENT_LOOK] = "reading the configuration that was written",
                                        [REPLACEMENT_RESTORE] = "write of the previous configuration"};
    return doing[r->state];
}

static struct transaction_action replacement_not_back(struct replacement *r, enum error_kind kind, const char *why)
{
    const struct error harm = r->error;
    (void)error_set(&r->error, kind, "%s; the previous file could not be restored: %s", harm.message, why);
    return replacement_done(r, TRANSACTION_UNKNOWN);
}

/* Only what the API itself says of the bytes is a rejection of them: not what a proxy in front of it has against their
 * size or their type. */
static enum transaction_result replacement_result_of(const struct replacement *r, const struct dataplane_answer *a)
{
    enum transaction_result result = transaction_result_of(TRANSACTION_COMMIT, a);
    if (a->error == NULL && (a->status == 400 || a->status == 422))
        return a->version > 0 ? TRANSACTION_REJECTED : TRANSACTION_UNAVAILABLE;
    if (result == TRANSACTION_REJECTED || (result == TRANSACTION_CONFLICT && a->status == 404) ||
        (result == TRANSACTION_UNKNOWN && r->state == REPLACEMENT_VALIDATE))
        return TRANSACTION_UNAVAILABLE;
    return result;
}

static struct transaction_action replacement_failed(struct replacement *r, const struct dataplane_answer *a)
{
    bool validates = r->state == REPLACEMENT_VALIDATE;
    enum transaction_result result = replacement_result_of(r, a);
    transaction_explain(&r->error, a, replacement_doing(r), transaction_wrong_answer(a));
    if (a->error == NULL && a->status == 500)
        r->refusal = codec_refusal(a->body, a->body_len);
    cleanup(mem_free_ptr) char *refusal = result == TRANSACTION_REJECTED ? codec_refusal(a->body, a->body_len) : NULL;
    if (refusal != NULL) {
        cleanup(mem_free_ptr) char *text = validation_text(refusal, r->request.edits, !validates);
        (void)error_set_http(&r->error, a->status, "%s", text);
    }
    return replacement_done(r, result);
}

/* The next server from `at` on that the file has no more. */
static struct transaction_action replacement_delete_next(struct replacement *r)
{
    const struct changes *all = r->request.changes;
    while (r->at < all->count && all->list[r->at]->kind != CHANGE_REMOVE_SERVER)
        r->at++;
    if (r->at == all->count) {
        r->runs = true;
        return replacement_done(r, TRANSACTION_COMMITTED);
    }
    cleanup(mem_free_ptr) char *path =
        runtime_command_path(all->list[r->at]->backend->name, all->list[r->at]->server->name);
    return replacement_delete(r, REPLACEMENT_DELETE, path);
}

static struct transaction_action replacement_deleted(struct replacement *r, const struct dataplane_answer *a)
{
    if (a->error == NULL && (a->status == 204 || a->status == 404)) {
        r->at++;
        return replacement_delete_next(r);
    }
    if (a->error == NULL && a->status == 500 && r->waits++ < DRIFT_READS_AGAIN) {
        struct transaction_action again = replacement_delete_next(r);
        again.delay_ms = DRIFT_AGAIN_MS(r->waits);
        return again;
    }
    replacement_refused(r, a, "deleting server ", r->request.changes->list[r->at]->server->name);
    return replacement_done(r, TRANSACTION_COMMITTED);
}

struct transaction_action replacement_answer(struct replacement *r, const struct dataplane_answer *a)
{
    r->took_us += a->duration_us;
    if (r->state == REPLACEMENT_UNDO)
        return replacement_done(r, r->result);
    r->retry_after_ms = a->retry_after_ms;
    if (r->state == REPLACEMENT_ADD)
        return replacement_added(r, a);
    if (r->state == REPLACEMENT_DELETE)
        return replacement_deleted(r, a);
    if (r->state == REPLACEMENT_VERIFY) {
        struct transaction_action next = read_back_answer(&r->back, a);
        if (next.type == TRANSACTION_SEND)
            return next;
        if (r->back.why.kind == ERROR_NONE)
            return replacement_delete_next(r);
        replacement_takes_reload(r, r->back.why.message);
        return replacement_done(r, TRANSACTION_COMMITTED);
    }
    /* Another writer may have been there since: that is found when it is read again. */
    if (r->state == REPLACEMENT_LOOK) {
        if (transaction_is_success(a) && a->version == r->version)
            return (struct transaction_action){.type = TRANSACTION_JUDGE};
        transaction_explain(&r->error, a, replacement_doing(r),
                            transaction_is_success(a) ? "its version is another" : NULL);
        return replacement_done(r, TRANSACTION_UNKNOWN);
    }
    /* A 500 that came after the write: its version is the next one. */
    if (r->state == REPLACEMENT_WRITE && r->tells != NULL && a->error == NULL && a->status == 500 &&
        a->version == r->version + 1) {
        r->version = a->version;
        r->told = r->actions.len;
        replacement_takes_reload(r, a->excerpt);
        r->state = REPLACEMENT_LOOK;
        return (struct transaction_action){.type = TRANSACTION_SEND, .method = "GET", .path = "/configuration/raw"};
    }
    /* The version shows that the API answered, not a login page in front of it. */
    bool good = transaction_is_success(a) && a->version > 0;
    if (!good && r->state == REPLACEMENT_RESTORE) {
        struct error why = {0};
        transaction_explain(&why, a, replacement_doing(r), transaction_wrong_answer(a));
        return replacement_not_back(r, why.kind, why.message);
    }
    if (!good && r->version != r->from) { /* it was written before; how it is now the reload's own write shows */
        replacement_refused(r, a, "sending more runtime commands", "");
        return replacement_done(r, TRANSACTION_COMMITTED);
    }
    if (!good)
        return replacement_failed(r, a);
    if (r->state == REPLACEMENT_VALIDATE)
        return replacement_done(r, TRANSACTION_PREVIEWED);
    r->version = a->version;
    if (a->reload_id != NULL) {
        free(r->reload_id);
        r->reload_id = mem_strdup(a->reload_id);
    }
    return (struct transaction_action){.type = TRANSACTION_JUDGE};
}

bool replacement_told(const char *head, size_t len, int64_t version, struct changes *ret)
{
    cleanup(mem_free_ptr) char *mark = mem_printf(REPLACEMENT_TOLD, version);
    const char *at = memmem(head, len, mark, strlen(mark));
    if (at == NULL)
        return false;
    at += strlen(mark);
    const char *end = memchr(at, '\n', len - (size_t)(at - head));
    return end != NULL && server_actions_read(at, (size_t)(end - at), ret) == 0;
}

bool replacement_is_unloaded(const char *head, size_t len, int64_t version)
{
    cleanup(mem_free_ptr) char *mark = mem_printf(REPLACEMENT_UNLOADED, version);
    return memmem(head, len, mark, strlen(mark)) != NULL;
}

struct transaction_action replacement_judged(struct replacement *r, const char *problem)
{
    bool back = r->state == REPLACEMENT_RESTORE;
    if (problem == NULL && !back && r->reload_id == NULL && r->told < r->actions.len)
        return replacement_post(r, REPLACEMENT_WRITE, r->request.text);
    if (problem == NULL && !back && r->tries && r->why == NULL && r->reload_id == NULL) {
        r->state = REPLACEMENT_VERIFY;
        return read_back_start(&r->back, r->request.changes);
    }
    if (problem == NULL)
        return replacement_done(r, back ? TRANSACTION_HARMFUL : TRANSACTION_COMMITTED);
    if (back)
        return replacement_not_back(r, ERROR_INVALID, problem);
    (void)error_set(&r->error, ERROR_INVALID, "the Data Plane API would change its meaning: %s", problem);
    return replacement_post(r, REPLACEMENT_RESTORE, replacement_as_sent(r->request.before, &r->own[1]));
}

bool replacement_is_mark(const char *line)
{
    return str_has_prefix(line, UNLOADED) || str_has_prefix(line, TOLD);
}

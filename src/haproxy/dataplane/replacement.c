#include "haproxy/dataplane/replacement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/mask.h"
#include "haproxy/cfg/source.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/transaction_verdict.h"
#include "haproxy/validation_text.h"

/* Each commit moves the version on, and so makes this comment one of the past. */
#define REPLACEMENT_UNLOADED "# haproxy-k8s-sync: version %" PRId64 " is loaded by the next one\n"

#define HEAD_BYTES 1024u /* the comments that a file begins with */

void replacement_init(struct replacement *r)
{
    *r = (struct replacement){.version = -1, .result = TRANSACTION_UNKNOWN, .retry_after_ms = -1};
}

void replacement_fini(struct replacement *r)
{
    buf_fini(&r->path);
    buf_fini(&r->head);
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

static struct transaction_action replacement_done(struct replacement *r, enum transaction_result result)
{
    r->state = REPLACEMENT_DONE;
    r->result = result;
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
            (r->reload_id != NULL ||
             replacement_is_unloaded(before->text, before->len < HEAD_BYTES ? before->len : HEAD_BYTES, r->from)));
}

static struct transaction_action replacement_post(struct replacement *r, enum replacement_state state,
                                                  struct cfg_content *text)
{
    r->state = state;
    r->sends = text;
    buf_clear(&r->head);
    if (replacement_is_to_be_loaded(r))
        buf_printf(&r->head, REPLACEMENT_UNLOADED, r->version + 1);
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

struct transaction_action replacement_start(struct replacement *r, int64_t version,
                                            const struct replacement_request *request)
{
    replacement_fini(r);
    r->version = r->from = version;
    r->request = *request;
    if (request->restores)
        r->request.text = replacement_as_sent(request->text, &r->own[0]);
    return replacement_post(r, request->before != NULL ? REPLACEMENT_WRITE : REPLACEMENT_VALIDATE, r->request.text);
}

static const char *replacement_doing(const struct replacement *r)
{
    static const char *const doing[] = {[REPLACEMENT_VALIDATE] = "validation",
                                        [REPLACEMENT_WRITE] = "write of the configuration",
                                        [REPLACEMENT_RESTORE] = "write of the configuration from before"};
    return doing[r->state];
}

static struct transaction_action replacement_not_back(struct replacement *r, enum error_kind kind, const char *why)
{
    const struct error harm = r->error;
    (void)error_set(&r->error, kind, "%s; the file from before could not be put back: %s", harm.message, why);
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
    cleanup(mem_free_ptr) char *refusal = result == TRANSACTION_REJECTED ? codec_refusal(a->body, a->body_len) : NULL;
    if (refusal != NULL) {
        cleanup(mem_free_ptr) char *text = validation_text(refusal, r->request.edits, !validates);
        (void)error_set_http(&r->error, a->status, "%s", text);
    }
    return replacement_done(r, result);
}

struct transaction_action replacement_answer(struct replacement *r, const struct dataplane_answer *a)
{
    r->took_us += a->duration_us;
    r->retry_after_ms = a->retry_after_ms;
    /* The version shows that the API answered, not a login page in front of it. */
    bool good = transaction_is_success(a) && a->version > 0;
    if (!good && r->state == REPLACEMENT_RESTORE) {
        struct error why = {0};
        transaction_explain(&why, a, replacement_doing(r), transaction_wrong_answer(a));
        return replacement_not_back(r, why.kind, why.message);
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

bool replacement_is_unloaded(const char *head, size_t len, int64_t version)
{
    cleanup(mem_free_ptr) char *mark = mem_printf(REPLACEMENT_UNLOADED, version);
    return memmem(head, len, mark, strlen(mark)) != NULL;
}

struct transaction_action replacement_judged(struct replacement *r, const char *problem)
{
    bool back = r->state == REPLACEMENT_RESTORE;
    if (problem == NULL)
        return replacement_done(r, back ? TRANSACTION_HARMFUL : TRANSACTION_COMMITTED);
    if (back)
        return replacement_not_back(r, ERROR_INVALID, problem);
    (void)error_set(&r->error, ERROR_INVALID, "the Data Plane API would change its meaning: %s", problem);
    return replacement_post(r, REPLACEMENT_RESTORE, replacement_as_sent(r->request.before, &r->own[1]));
}

#include "haproxy/dataplane/transaction.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/transaction_verdict.h"

/* A clean-up deletes at most so many; what is left waits for the next one. */
#define DEAD_MAX 256
#define HELD_MAX 32
#define NOTED_MAX 65536
#define ID_SHOWN 8 /* a shorter one could be a part of anything; the API's are UUIDs */

static void transaction_reset(struct transaction *t);
static struct transaction_action transaction_begin(struct transaction *t);
static struct transaction_action transaction_begun(struct transaction *t, const struct dataplane_answer *a);
static struct transaction_action transaction_advance(struct transaction *t);
static struct transaction_action transaction_previewed(struct transaction *t, const struct dataplane_answer *a);
static struct transaction_action transaction_deleted(struct transaction *t, const struct dataplane_answer *a);
static struct transaction_action transaction_list(struct transaction *t);
static struct transaction_action transaction_listed(struct transaction *t, const struct dataplane_answer *a);
static struct transaction_action transaction_dead_deleted(struct transaction *t, const struct dataplane_answer *a);
static struct transaction_action transaction_fail(struct transaction *t, const struct dataplane_answer *a,
                                                  const char *but);
static struct transaction_action transaction_stop(struct transaction *t);
static struct transaction_action transaction_done(struct transaction *t);

/* ---- ids ---- */

static void free_ids(char ***ids, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        free((*ids)[i]);
    free(*ids);
    *ids = NULL;
    *count = 0;
}

static bool has_id(char *const *ids, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(ids[i], id))
            return true;
    return false;
}

static void add_id(char ***ids, size_t *count, size_t max, const char *id)
{
    if (*count == max || has_id(*ids, *count, id))
        return;
    *ids = mem_resize(*ids, *count + 1, sizeof(**ids));
    (*ids)[(*count)++] = mem_strdup(id);
}

static void transaction_forget_id(struct transaction *t)
{
    free(t->id);
    t->id = NULL;
}

static void transaction_hold(struct transaction *t)
{
    if (t->id != NULL)
        add_id(&t->held, &t->held_count, HELD_MAX, t->id);
    transaction_forget_id(t);
}

/* ---- life ---- */

void transaction_init(struct transaction *t)
{
    *t = (struct transaction){.state = TRANSACTION_IDLE, .version = -1, .retry_after_ms = -1};
}

void transaction_steps_free(struct transaction_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(steps[i].path);
        free(steps[i].body);
        free(steps[i].what);
    }
    free(steps);
}

void transaction_fini(struct transaction *t)
{
    transaction_reset(t);
    free_ids(&t->held, &t->held_count);
    free(t->noted);
    buf_fini(&t->path);
    transaction_init(t);
}

/* ---- events ---- */

struct transaction_action transaction_start(struct transaction *t, int64_t version, struct transaction_step *steps,
                                            size_t count)
{
    transaction_reset(t);
    t->version = version;
    t->steps = steps;
    t->step_count = count;
    return transaction_begin(t);
}

void transaction_preview_first(struct transaction *t)
{
    t->preview_wanted = true;
}

struct transaction_action transaction_start_preview(struct transaction *t, int64_t version)
{
    transaction_reset(t);
    t->version = version;
    t->preview_only = true;
    return transaction_begin(t);
}

struct transaction_action transaction_start_cleanup(struct transaction *t)
{
    transaction_reset(t);
    t->cleanup_only = true;
    return transaction_list(t);
}

void transaction_abort(struct transaction *t)
{
    t->abort_wanted = true;
}

struct transaction_action transaction_answer(struct transaction *t, const struct dataplane_answer *a)
{
    switch (t->state) {
    case TRANSACTION_BEGIN:
        return transaction_begun(t, a);
    case TRANSACTION_CHANGE:
        t->change_us += a->duration_us;
        if (t->abort_wanted)
            return transaction_stop(t);
        if (!transaction_is_done(a))
            return transaction_fail(t, a, transaction_wrong_answer(a));
        t->next_step++;
        return transaction_advance(t);
    case TRANSACTION_PREVIEW:
        return transaction_previewed(t, a);
    case TRANSACTION_COMMIT:
        t->commit_us += a->duration_us;
        if (!transaction_is_commit_answer(a))
            return transaction_fail(t, a, transaction_wrong_answer(a));
        transaction_forget_id(t);
        free_ids(&t->held, &t->held_count); /* outdated now, and cleared with this commit */
        t->result = TRANSACTION_COMMITTED;
        t->version = a->version > 0 ? a->version : -1;
        t->reload_id = mem_strdup(a->reload_id);
        error_clear(&t->error);
        return transaction_done(t);
    case TRANSACTION_DELETE:
        return transaction_deleted(t, a);
    case TRANSACTION_LIST:
        return transaction_listed(t, a);
    case TRANSACTION_DELETE_DEAD:
        return transaction_dead_deleted(t, a);
    case TRANSACTION_IDLE:
    case TRANSACTION_DONE:
        break;
    }
    return transaction_done(t);
}

static void transaction_reset(struct transaction *t)
{
    transaction_steps_free(t->steps, t->step_count);
    free_ids(&t->dead, &t->dead_count);
    free_ids(&t->foreign, &t->foreign_count);
    transaction_hold(t);
    free(t->reload_id);
    free(t->refusal);
    struct transaction fresh = {.version = -1,
                                .retry_after_ms = -1,
                                .held = t->held,
                                .held_count = t->held_count,
                                .noted = t->noted,
                                .result = TRANSACTION_ABORTED,
                                .path = t->path};
    *t = fresh;
}

/* ---- requests ---- */

/* A request for that path, which ends with that id. */
static struct transaction_action transaction_send(struct transaction *t, enum transaction_state state,
                                                  const char *method, const char *path, const char *id)
{
    cleanup(mem_free_ptr) char *encoded = str_url_encode(id);
    t->state = state;
    buf_clear(&t->path);
    buf_printf(&t->path, "%s%s", path, encoded);
    return (struct transaction_action){.type = TRANSACTION_SEND, .method = method, .path = buf_str(&t->path)};
}

static struct transaction_action transaction_begin(struct transaction *t)
{
    cleanup(mem_free_ptr) char *version = mem_printf("%" PRId64, t->version);
    return transaction_send(t, TRANSACTION_BEGIN, "POST", "/transactions?version=", version);
}

static struct transaction_action transaction_list(struct transaction *t)
{
    return transaction_send(t, TRANSACTION_LIST, "GET", "/transactions", "");
}

/* The next change, or the commit where none is left. */
static struct transaction_action transaction_advance(struct transaction *t)
{
    if (t->preview_only || (t->preview_wanted && t->next_step == t->step_count))
        return transaction_send(t, TRANSACTION_PREVIEW, "GET", "/configuration/raw?transaction_id=", t->id);
    if (t->next_step == t->step_count)
        return transaction_send(t, TRANSACTION_COMMIT, "PUT", "/transactions/", t->id);
    const struct transaction_step *step = &t->steps[t->next_step];
    cleanup(mem_free_ptr) char *path =
        mem_printf("%s%ctransaction_id=", step->path, strchr(step->path, '?') != NULL ? '&' : '?');
    struct transaction_action next = transaction_send(t, TRANSACTION_CHANGE, step->method, path, t->id);
    next.body = step->body;
    return next;
}

/* ---- the end ---- */

static struct transaction_action transaction_done(struct transaction *t)
{
    t->state = TRANSACTION_DONE;
    return (struct transaction_action){.type = TRANSACTION_FINISHED};
}

/* Deletes the open transaction, if any; the result stands already. */
static struct transaction_action transaction_give_up(struct transaction *t)
{
    return t->id != NULL ? transaction_send(t, TRANSACTION_DELETE, "DELETE", "/transactions/", t->id)
                         : transaction_done(t);
}

/* "add server n1" or "begin at version 7": what the request in hand was for. */
static char *transaction_doing(const struct transaction *t)
{
    switch (t->state) {
    case TRANSACTION_BEGIN:
        return mem_printf("begin a transaction at version %" PRId64, t->version);
    case TRANSACTION_CHANGE:
        return mem_strdup(t->steps[t->next_step].what != NULL ? t->steps[t->next_step].what : "change");
    case TRANSACTION_PREVIEW:
        return mem_printf("preview transaction %s", t->id);
    case TRANSACTION_COMMIT:
        return mem_printf("commit transaction %s", t->id);
    case TRANSACTION_DELETE:
        return mem_printf("delete transaction %s", t->id);
    case TRANSACTION_LIST:
        return mem_strdup("list transactions");
    case TRANSACTION_DELETE_DEAD:
        return mem_printf("delete transaction %s", t->dead[t->next_dead]);
    case TRANSACTION_IDLE:
    case TRANSACTION_DONE:
        break;
    }
    return mem_strdup("nothing");
}

/* A 400 about a dead transaction. */
static void transaction_mark_conflict(struct transaction *t)
{
    if (t->result == TRANSACTION_CONFLICT && t->error.kind == ERROR_INVALID)
        t->error.kind = ERROR_CONFLICT;
}

static struct transaction_action transaction_fail(struct transaction *t, const struct dataplane_answer *a,
                                                  const char *but)
{
    cleanup(mem_free_ptr) char *doing = transaction_doing(t);
    t->failed_in = t->state;
    t->result = transaction_result_of(t->state, a);
    t->retry_after_ms = a->retry_after_ms;
    transaction_explain(&t->error, a, doing, but);
    transaction_mark_conflict(t);
    if (t->state == TRANSACTION_COMMIT && transaction_is_gone(a))
        transaction_forget_id(t); /* nothing is left to delete */
    return transaction_give_up(t);
}

static struct transaction_action transaction_stop(struct transaction *t)
{
    t->failed_in = t->state;
    t->result = TRANSACTION_ABORTED;
    (void)error_set(&t->error, ERROR_RETRY, "aborted before its commit, as requested");
    return transaction_give_up(t);
}

/* ---- begin, preview, delete ---- */

static struct transaction_action transaction_begun(struct transaction *t, const struct dataplane_answer *a)
{
    t->begin_us += a->duration_us;
    struct codec_transaction got = {0};
    struct error why = {0};
    if (transaction_is_success(a) && codec_read_transaction(a->body, a->body_len, &got, &why) == 0) {
        t->id = got.id;
        free(got.status);
        return t->abort_wanted ? transaction_stop(t) : transaction_advance(t);
    }
    if (t->abort_wanted)
        return transaction_stop(t);
    struct transaction_action next = transaction_fail(t, a, transaction_is_success(a) ? why.message : NULL);
    if (a->error == NULL && a->status == 500)
        t->refusal = codec_refusal(a->body, a->body_len);
    return (t->result == TRANSACTION_LIMIT && !t->cleaned) || t->refusal != NULL ? transaction_list(t) : next;
}

/* An API that cannot show it is one to be lived with. A transaction that is dead by now has another version, or
 * none. */
static bool transaction_knows_no_preview(const struct transaction *t, const struct dataplane_answer *a)
{
    return a->error == NULL && a->version == t->version &&
           (a->status == 400 || a->status == 404 || a->status == 405 || a->status == 422);
}

static struct transaction_action transaction_previewed(struct transaction *t, const struct dataplane_answer *a)
{
    if (t->abort_wanted) {
        struct transaction_action next = transaction_stop(t);
        return a->error != NULL ? transaction_done(t)
                                : next; /* the end does not wait for an API that hangs to delete what is empty */
    }
    if (transaction_is_success(a) && a->version >= 0)
        return (struct transaction_action){.type = TRANSACTION_JUDGE};
    if (transaction_knows_no_preview(t, a) && !t->preview_only)
        return transaction_judged(t, NULL);
    struct transaction_action next = transaction_fail(t, a, transaction_wrong_answer(a));
    if (transaction_knows_no_preview(t, a))
        t->result = TRANSACTION_PREVIEWED;
    return next;
}

struct transaction_action transaction_judged(struct transaction *t, const char *problem)
{
    if (problem == NULL && !t->preview_only) {
        t->preview_wanted = false;
        return transaction_advance(t);
    }
    t->failed_in = t->state;
    t->result = problem != NULL ? TRANSACTION_HARMFUL : TRANSACTION_PREVIEWED;
    error_clear(&t->error); /* of a begin before, for which there was no room: it is no word about the preview */
    if (problem != NULL)
        (void)error_set(&t->error, ERROR_INVALID, "%s", problem);
    return transaction_give_up(t);
}

static struct transaction_action transaction_deleted(struct transaction *t, const struct dataplane_answer *a)
{
    t->result = transaction_result_in_hindsight(t, a);
    transaction_mark_conflict(t);
    if (transaction_is_done(a) || transaction_is_gone(a)) {
        transaction_forget_id(t);
        return transaction_done(t);
    }
    struct error why, before = t->error;
    cleanup(mem_free_ptr) char *doing = transaction_doing(t);
    transaction_explain(&why, a, doing, transaction_wrong_answer(a));
    (void)error_set(&t->error, before.kind, "%s; the transaction could not be deleted: %s", before.message,
                    why.message);
    t->error.http_status = before.http_status;
    transaction_hold(t);
    return transaction_done(t);
}

/* ---- what earlier runs left behind ---- */

void transaction_note_refusal(struct transaction *t, const char *message)
{
    char *both = mem_printf("%s\n%.*s", t->noted != NULL ? t->noted : "", CODEC_MAX_REFUSAL_BYTES, message);
    free(t->noted);
    t->noted = strlen(both) <= NOTED_MAX ? both : NULL;
    if (t->noted == NULL)
        free(both);
}

/* The file of a transaction is haproxy.cfg.ID; it is written to another first, of that name with digits behind it. */
static bool names_file_of(const char *message, const char *id)
{
    size_t len = strlen(id);
    for (const char *at = message; (at = strstr(at, id)) != NULL; at += len) {
        const char *end = at + len + strspn(at + len, "0123456789");
        if (at > message && at[-1] == '.' && (*end == ':' || *end == '\n' || *end == '\0'))
            return true;
    }
    return false;
}

/* A write whose file cannot be written (a full disk) is refused with 500, and yet leaves a transaction in progress that
 * no commit ends; after 20 of them none can be begun any more. No field of the answer has the id, and the list of
 * transactions does not show their owner; but the message names the file. */
static void transaction_hold_named(struct transaction *t, const char *refusal, const struct codec_transaction *all,
                                   size_t count)
{
    for (size_t i = 0; refusal != NULL && i < count; i++)
        if (str_eq(all[i].status, "in_progress") && strlen(all[i].id) >= ID_SHOWN && names_file_of(refusal, all[i].id))
            add_id(&t->held, &t->held_count, HELD_MAX, all[i].id);
}

/* Another client's, open or leaked: only an operator knows. */
static void transaction_describe_foreign(struct transaction *t, const struct codec_transaction *all, size_t count)
{
    cleanup(buf_fini) struct buf names = {0};
    size_t foreign = 0;
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(all[i].status, "in_progress") || has_id(t->dead, t->dead_count, all[i].id))
            continue;
        if (foreign++ < 3)
            buf_printf(&names, "%s%.64s", foreign > 1 ? ", " : "", all[i].id);
    }
    struct error before = t->error;
    (void)error_set(&t->error, before.kind,
                    "%s; %zu are in progress by other clients (%s%s): they end with the next commit of any client, or "
                    "by DELETE %s/transactions/ID",
                    before.message, foreign, buf_str(&names), foreign > 3 ? ", ..." : "", DATAPLANE_API);
    t->error.http_status = before.http_status;
}

static struct transaction_action transaction_delete_next(struct transaction *t)
{
    return transaction_send(t, TRANSACTION_DELETE_DEAD, "DELETE", "/transactions/", t->dead[t->next_dead]);
}

/* What could not be searched or deleted is for the next clean-up; what was begun by a write that failed is not cleared
 * by a commit, so it is not enough to hold it. */
static struct transaction_action transaction_searched(struct transaction *t, bool all_gone)
{
    if (t->refusal != NULL && !all_gone)
        transaction_note_refusal(t, t->refusal);
    if (t->cleanup_only && all_gone) {
        free(t->noted);
        t->noted = NULL;
    }
    return transaction_done(t);
}

static struct transaction_action transaction_listed(struct transaction *t, const struct dataplane_answer *a)
{
    struct codec_transaction *all = NULL;
    size_t count = 0;
    struct error why = {0};
    t->cleaned = true;
    if (t->abort_wanted)
        return transaction_stop(t);
    if (!transaction_is_success(a) || codec_read_transactions(a->body, a->body_len, &all, &count, &why) != 0)
        return t->cleanup_only ? transaction_fail(t, a, transaction_is_success(a) ? why.message : NULL)
                               : transaction_searched(t, false); /* what refused us stands */
    free_ids(&t->dead, &t->dead_count);
    t->next_dead = t->freed = 0;
    t->outlived = false;
    transaction_hold_named(t, t->refusal, all, count);
    transaction_hold_named(t, t->noted, all, count);
    for (size_t i = 0; i < t->held_count; i++)
        add_id(&t->dead, &t->dead_count, DEAD_MAX, t->held[i]);
    for (size_t i = 0; t->refusal == NULL && i < count; i++)
        if (str_eq(all[i].status, "failed") || str_eq(all[i].status, "outdated"))
            add_id(&t->dead, &t->dead_count, DEAD_MAX, all[i].id);
    bool no_room = t->refusal == NULL && t->dead_count == 0 && !t->cleanup_only;
    if (no_room) {
        /* Other clients': begun at an older version than the file has, as the answer says. Versions only grow, so that these can never be committed; they fill the API's places until the next commit of any client, which has no room to begin. */
        int64_t version = a->version;
        for (size_t i = 0; i < count; i++)
            if (str_eq(all[i].status, "in_progress") && all[i].version >= 0 && all[i].version < version)
                add_id(&t->dead, &t->dead_count, DEAD_MAX, all[i].id);
        t->outlived = t->dead_count > 0;
    }
    if (no_room && t->dead_count == 0)
        transaction_describe_foreign(t, all, count);
    codec_transactions_free(all, count);
    if (t->dead_count > 0)
        return transaction_delete_next(t);
    if (t->cleanup_only)
        t->result = TRANSACTION_CLEANED;
    return transaction_searched(t, true);
}

static void transaction_forget_held(struct transaction *t, const char *id)
{
    for (size_t i = 0; i < t->held_count; i++) {
        if (str_eq(t->held[i], id)) {
            free(t->held[i]);
            t->held[i] = t->held[--t->held_count];
            return;
        }
    }
}

static struct transaction_action transaction_dead_deleted(struct transaction *t, const struct dataplane_answer *a)
{
    bool freed = transaction_is_done(a) || transaction_is_gone(a);
    if (freed) {
        t->freed++;
        transaction_forget_held(t, t->dead[t->next_dead]);
        if (t->outlived && !transaction_is_gone(a))
            add_id(&t->foreign, &t->foreign_count, DEAD_MAX, t->dead[t->next_dead]);
    } else if (t->cleanup_only) {
        (void)transaction_fail(t, a,
                               transaction_wrong_answer(a)); /* the result stands unless a later one goes better */
        t->state = TRANSACTION_DELETE_DEAD;
    }
    bool hopeless = !freed && (a->error != NULL || a->status == 401 || a->status == 403);
    if (t->abort_wanted)
        return transaction_stop(t);
    if (!hopeless && ++t->next_dead < t->dead_count)
        return transaction_delete_next(t);
    bool all_gone = t->freed == t->dead_count;
    if (t->refusal != NULL)
        return transaction_searched(t, all_gone);
    if (!t->cleanup_only)
        return t->freed > 0 ? transaction_begin(t) : transaction_done(t);
    if (!hopeless && t->freed > 0) {
        t->result = TRANSACTION_CLEANED;
        error_clear(&t->error);
    }
    return transaction_searched(t, all_gone);
}

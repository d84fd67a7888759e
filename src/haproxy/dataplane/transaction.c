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
#define ID_TELLING 8 /* a shorter one could be a part of anything; the API's are UUIDs */

void txn_init(struct txn *t)
{
    *t = (struct txn){.state = TXN_IDLE, .version = -1, .retry_after_ms = -1};
}

void txn_steps_free(struct txn_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(steps[i].path);
        free(steps[i].body);
        free(steps[i].what);
    }
    free(steps);
}

static void free_ids(char ***ids, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        free((*ids)[i]);
    free(*ids);
    *ids = NULL;
    *count = 0;
}

/* Takes ownership of id. */
static void add_id(char ***ids, size_t *count, size_t max, char *id)
{
    for (size_t i = 0; i < *count; i++) {
        if (str_eq((*ids)[i], id)) {
            free(id);
            return;
        }
    }
    if (*count == max) {
        free(id);
        return;
    }
    *ids = mem_resize(*ids, *count + 1, sizeof(**ids));
    (*ids)[(*count)++] = id;
}

static bool has_id(char *const *ids, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(ids[i], id))
            return true;
    return false;
}

static void hold(struct txn *t)
{
    if (t->id != NULL)
        add_id(&t->held, &t->held_count, HELD_MAX, t->id);
    t->id = NULL;
}

void txn_fini(struct txn *t)
{
    txn_steps_free(t->steps, t->step_count);
    free_ids(&t->dead, &t->dead_count);
    free_ids(&t->held, &t->held_count);
    free_ids(&t->strangers, &t->stranger_count);
    free(t->id);
    free(t->reload_id);
    free(t->refusal);
    free(t->noted);
    buf_fini(&t->path);
    txn_init(t);
}

static struct txn_action done(struct txn *t)
{
    t->state = TXN_DONE;
    return (struct txn_action){.type = TXN_FINISHED};
}

static struct txn_action send(struct txn *t, enum txn_state state, const char *method, const char *body)
{
    t->state = state;
    return (struct txn_action){.type = TXN_SEND, .method = method, .path = buf_str(&t->path), .body = body};
}

static void path_of_transaction(struct txn *t, const char *id)
{
    cleanup(mem_free_ptr) char *encoded = str_url_encode(id);
    buf_clear(&t->path);
    buf_printf(&t->path, "/transactions/%s", encoded);
}

static struct txn_action begin(struct txn *t)
{
    buf_clear(&t->path);
    buf_printf(&t->path, "/transactions?version=%" PRId64, t->version);
    return send(t, TXN_BEGIN, "POST", NULL);
}

static struct txn_action list(struct txn *t)
{
    buf_clear(&t->path);
    buf_add(&t->path, "/transactions");
    return send(t, TXN_LIST, "GET", NULL);
}

static struct txn_action preview(struct txn *t)
{
    cleanup(mem_free_ptr) char *encoded = str_url_encode(t->id);
    buf_clear(&t->path);
    buf_printf(&t->path, "/configuration/raw?transaction_id=%s", encoded);
    return send(t, TXN_PREVIEW, "GET", NULL);
}

/* The next change, or the commit where none is left. */
static struct txn_action advance(struct txn *t)
{
    if (t->preview_only || (t->look_wanted && t->next_step == t->step_count))
        return preview(t);
    if (t->next_step == t->step_count) {
        path_of_transaction(t, t->id);
        return send(t, TXN_COMMIT, "PUT", NULL);
    }
    const struct txn_step *step = &t->steps[t->next_step];
    cleanup(mem_free_ptr) char *encoded = str_url_encode(t->id);
    buf_clear(&t->path);
    buf_printf(&t->path, "%s%ctransaction_id=%s", step->path, strchr(step->path, '?') != NULL ? '&' : '?', encoded);
    return send(t, TXN_CHANGE, step->method, step->body);
}

/* Deletes what we hold, if anything; the result stands already. */
static struct txn_action give_up(struct txn *t)
{
    if (t->id == NULL)
        return done(t);
    path_of_transaction(t, t->id);
    return send(t, TXN_DELETE, "DELETE", NULL);
}

/* "add server n1" or "begin at version 7": what the request in hand was for. */
static char *doing_what(const struct txn *t)
{
    switch (t->state) {
    case TXN_BEGIN:
        return mem_printf("begin a transaction at version %" PRId64, t->version);
    case TXN_CHANGE:
        return mem_strdup(t->steps[t->next_step].what != NULL ? t->steps[t->next_step].what : "change");
    case TXN_PREVIEW:
        return mem_printf("look at what transaction %s would write", t->id);
    case TXN_COMMIT:
        return mem_printf("commit transaction %s", t->id);
    case TXN_DELETE:
        return mem_printf("delete transaction %s", t->id);
    case TXN_LIST:
        return mem_strdup("list transactions");
    case TXN_DELETE_DEAD:
        return mem_printf("delete transaction %s", t->dead[t->next_dead]);
    case TXN_IDLE:
    case TXN_DONE:
        break;
    }
    return mem_strdup("nothing");
}

/* A 400 about a dead transaction. */
static void mark_conflict(struct txn *t)
{
    if (t->result == TXN_CONFLICT && t->error.kind == ERROR_INVALID)
        t->error.kind = ERROR_CONFLICT;
}

static struct txn_action fail(struct txn *t, const struct dataplane_answer *a, const char *but)
{
    cleanup(mem_free_ptr) char *doing = doing_what(t);
    t->failed_in = t->state;
    t->result = txn_result_of(t->state, a);
    t->retry_after_ms = a->retry_after_ms;
    txn_explain(&t->error, a, doing, but);
    mark_conflict(t);
    if (t->state == TXN_COMMIT && txn_is_gone(a)) {
        free(t->id);
        t->id = NULL; /* nothing is left to delete */
    }
    return give_up(t);
}

static struct txn_action stop(struct txn *t)
{
    t->failed_in = t->state;
    t->result = TXN_ABORTED;
    (void)error_set(&t->error, ERROR_RETRY, "given up before its commit, as asked");
    return give_up(t);
}

static struct txn_action begun(struct txn *t, const struct dataplane_answer *a)
{
    t->begin_us += a->duration_us;
    struct codec_transaction got = {0};
    struct error why = {0};
    if (txn_is_success(a) && codec_read_transaction(a->body, a->body_len, &got, &why) == 0) {
        t->id = got.id;
        free(got.status);
        return t->abort_wanted ? stop(t) : advance(t);
    }
    if (t->abort_wanted)
        return stop(t);
    struct txn_action next = fail(t, a, txn_is_success(a) ? why.message : NULL);
    if (a->error == NULL && a->status == 500)
        t->refusal = codec_refusal(a->body, a->body_len);
    return (t->result == TXN_LIMIT && !t->cleaned) || t->refusal != NULL ? list(t) : next;
}

static struct txn_action changed(struct txn *t, const struct dataplane_answer *a)
{
    t->change_us += a->duration_us;
    if (t->abort_wanted)
        return stop(t);
    if (!txn_is_done(a))
        return fail(t, a, txn_wrong_answer(a));
    t->next_step++;
    return advance(t);
}

/* An API that cannot show it is one to be lived with. A transaction that is dead by now has another version, or none. */
static bool knows_no_preview(const struct txn *t, const struct dataplane_answer *a)
{
    return a->error == NULL && a->version == t->version &&
           (a->status == 400 || a->status == 404 || a->status == 405 || a->status == 422);
}

static struct txn_action previewed(struct txn *t, const struct dataplane_answer *a)
{
    if (t->abort_wanted) {
        struct txn_action next = stop(t);
        return a->error != NULL ? done(t)
                                : next; /* the end does not wait for an API that hangs to delete what is empty */
    }
    if (txn_is_success(a) && a->version >= 0)
        return (struct txn_action){.type = TXN_JUDGE};
    if (knows_no_preview(t, a) && !t->preview_only)
        return txn_judged(t, NULL);
    struct txn_action next = fail(t, a, txn_wrong_answer(a));
    if (knows_no_preview(t, a))
        t->result = TXN_PREVIEWED;
    return next;
}

struct txn_action txn_judged(struct txn *t, const char *problem)
{
    if (problem == NULL && !t->preview_only) {
        t->look_wanted = false;
        return advance(t);
    }
    t->failed_in = t->state;
    t->result = problem != NULL ? TXN_HARMFUL : TXN_PREVIEWED;
    if (problem != NULL)
        (void)error_set(&t->error, ERROR_INVALID, "%s", problem);
    return give_up(t);
}

static struct txn_action committed(struct txn *t, const struct dataplane_answer *a)
{
    t->commit_us += a->duration_us;
    if (!txn_is_commit_answer(a))
        return fail(t, a, txn_wrong_answer(a));
    free(t->id);
    t->id = NULL;
    free_ids(&t->held, &t->held_count); /* outdated now, and cleared with this commit */
    t->result = TXN_COMMITTED;
    t->version = a->version > 0 ? a->version : -1;
    t->reload_id = mem_strdup(a->reload_id);
    error_clear(&t->error);
    return done(t);
}

static struct txn_action deleted(struct txn *t, const struct dataplane_answer *a)
{
    t->result = txn_result_in_hindsight(t, a);
    mark_conflict(t);
    if (txn_is_done(a) || txn_is_gone(a)) {
        free(t->id);
        t->id = NULL;
        return done(t);
    }
    struct error why, before = t->error;
    cleanup(mem_free_ptr) char *doing = doing_what(t);
    txn_explain(&why, a, doing, txn_wrong_answer(a));
    (void)error_set(&t->error, before.kind, "%s; it stays behind: %s", before.message, why.message);
    t->error.http_status = before.http_status;
    hold(t);
    return done(t);
}

static struct txn_action next_dead(struct txn *t)
{
    path_of_transaction(t, t->dead[t->next_dead]);
    return send(t, TXN_DELETE_DEAD, "DELETE", NULL);
}

/* Somebody's, or leaked by a client that died: only an operator can tell. */
static void describe_strangers(struct txn *t, const struct codec_transaction *all, size_t count)
{
    cleanup(buf_fini) struct buf names;
    size_t strangers = 0;
    buf_init(&names, 0);
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(all[i].status, "in_progress") || has_id(t->dead, t->dead_count, all[i].id))
            continue;
        if (strangers++ < 3)
            buf_printf(&names, "%s%.64s", strangers > 1 ? ", " : "", all[i].id);
    }
    struct error before = t->error;
    (void)error_set(&t->error, before.kind,
                    "%s; %zu are in progress and not ours (%s%s): they end with the next commit of anyone, or by "
                    "DELETE %s/transactions/ID",
                    before.message, strangers, buf_str(&names), strangers > 3 ? ", ..." : "", DATAPLANE_API);
    t->error.http_status = before.http_status;
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

/* A write whose file cannot be written (a full disk) is refused with 500, and yet leaves a transaction in progress that no commit
 * of anybody ends; after 20 of them none can be begun any more. No field of the answer has the id, and the list of transactions
 * does not tell whose they are; but the message names the file. */
static void hold_named(struct txn *t, const char *refusal, const struct codec_transaction *all, size_t count)
{
    for (size_t i = 0; refusal != NULL && i < count; i++)
        if (str_eq(all[i].status, "in_progress") && strlen(all[i].id) >= ID_TELLING &&
            names_file_of(refusal, all[i].id))
            add_id(&t->held, &t->held_count, HELD_MAX, mem_strdup(all[i].id));
}

static void collect_dead(struct txn *t, const struct codec_transaction *all, size_t count)
{
    free_ids(&t->dead, &t->dead_count);
    t->next_dead = t->freed = 0;
    t->outlived = false;
    hold_named(t, t->refusal, all, count);
    hold_named(t, t->noted, all, count);
    for (size_t i = 0; i < t->held_count; i++)
        add_id(&t->dead, &t->dead_count, DEAD_MAX, mem_strdup(t->held[i]));
    for (size_t i = 0; t->refusal == NULL && i < count; i++)
        if (str_eq(all[i].status, "failed") || str_eq(all[i].status, "outdated"))
            add_id(&t->dead, &t->dead_count, DEAD_MAX, mem_strdup(all[i].id));
}

/* Of strangers: begun at an older version than the file has, as the answer says. Versions only grow, so that these can never be
 * committed; they fill the API's places until somebody's next commit, which has no room to begin. */
static void collect_outlived(struct txn *t, const struct codec_transaction *all, size_t count, int64_t version)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(all[i].status, "in_progress") && all[i].version >= 0 && all[i].version < version)
            add_id(&t->dead, &t->dead_count, DEAD_MAX, mem_strdup(all[i].id));
    t->outlived = t->dead_count > 0;
}

/* What could not be looked for, or not be deleted, is for the next clean-up; what was begun by a write that failed is not cleared by a
 * commit, so it is not enough to hold it. */
static struct txn_action looked_for(struct txn *t, bool all_gone)
{
    if (t->refusal != NULL && !all_gone)
        txn_note_refusal(t, t->refusal);
    if (t->cleanup_only && all_gone) {
        free(t->noted);
        t->noted = NULL;
    }
    return done(t);
}

static struct txn_action listed(struct txn *t, const struct dataplane_answer *a)
{
    struct codec_transaction *all = NULL;
    size_t count = 0;
    struct error why = {0};
    t->cleaned = true;
    if (t->abort_wanted)
        return stop(t);
    if (!txn_is_success(a) || codec_read_transactions(a->body, a->body_len, &all, &count, &why) != 0)
        return t->cleanup_only ? fail(t, a, txn_is_success(a) ? why.message : NULL)
                               : looked_for(t, false); /* what refused us stands */
    collect_dead(t, all, count);
    bool no_room = t->refusal == NULL && t->dead_count == 0 && !t->cleanup_only;
    if (no_room)
        collect_outlived(t, all, count, a->version);
    if (no_room && t->dead_count == 0)
        describe_strangers(t, all, count);
    codec_transactions_free(all, count);
    if (t->dead_count > 0)
        return next_dead(t);
    if (t->cleanup_only)
        t->result = TXN_CLEANED;
    return looked_for(t, true);
}

static void forget_held(struct txn *t, const char *id)
{
    for (size_t i = 0; i < t->held_count; i++) {
        if (str_eq(t->held[i], id)) {
            free(t->held[i]);
            t->held[i] = t->held[--t->held_count];
            return;
        }
    }
}

static struct txn_action dead_deleted(struct txn *t, const struct dataplane_answer *a)
{
    bool freed = txn_is_done(a) || txn_is_gone(a);
    if (freed) {
        t->freed++;
        forget_held(t, t->dead[t->next_dead]);
        if (t->outlived && !txn_is_gone(a))
            add_id(&t->strangers, &t->stranger_count, DEAD_MAX, mem_strdup(t->dead[t->next_dead]));
    } else if (t->cleanup_only) {
        (void)fail(t, a, txn_wrong_answer(a)); /* the result stands unless a later one goes better */
        t->state = TXN_DELETE_DEAD;
    }
    bool hopeless = !freed && (a->error != NULL || a->status == 401 || a->status == 403);
    if (t->abort_wanted)
        return stop(t);
    if (!hopeless && ++t->next_dead < t->dead_count)
        return next_dead(t);
    bool all_gone = t->freed == t->dead_count;
    if (t->refusal != NULL)
        return looked_for(t, all_gone);
    if (!t->cleanup_only)
        return t->freed > 0 ? begin(t) : done(t);
    if (!hopeless && t->freed > 0) {
        t->result = TXN_CLEANED;
        error_clear(&t->error);
    }
    return looked_for(t, all_gone);
}

static void reset(struct txn *t)
{
    txn_steps_free(t->steps, t->step_count);
    free_ids(&t->dead, &t->dead_count);
    free_ids(&t->strangers, &t->stranger_count);
    hold(t);
    free(t->reload_id);
    free(t->refusal);
    struct txn fresh = {.version = -1,
                        .retry_after_ms = -1,
                        .held = t->held,
                        .held_count = t->held_count,
                        .noted = t->noted,
                        .result = TXN_ABORTED,
                        .path = t->path};
    *t = fresh;
}

struct txn_action txn_start(struct txn *t, int64_t version, struct txn_step *steps, size_t count)
{
    reset(t);
    t->version = version;
    t->steps = steps;
    t->step_count = count;
    return begin(t);
}

void txn_look_first(struct txn *t)
{
    t->look_wanted = true;
}

struct txn_action txn_start_preview(struct txn *t, int64_t version)
{
    reset(t);
    t->version = version;
    t->preview_only = true;
    return begin(t);
}

struct txn_action txn_start_cleanup(struct txn *t)
{
    reset(t);
    t->cleanup_only = true;
    return list(t);
}

void txn_note_refusal(struct txn *t, const char *message)
{
    char *both = mem_printf("%s\n%.*s", t->noted != NULL ? t->noted : "", CODEC_MAX_REFUSAL_BYTES, message);
    free(t->noted);
    t->noted = strlen(both) <= NOTED_MAX ? both : NULL;
    if (t->noted == NULL)
        free(both);
}

struct txn_action txn_answer(struct txn *t, const struct dataplane_answer *a)
{
    switch (t->state) {
    case TXN_BEGIN:
        return begun(t, a);
    case TXN_CHANGE:
        return changed(t, a);
    case TXN_PREVIEW:
        return previewed(t, a);
    case TXN_COMMIT:
        return committed(t, a);
    case TXN_DELETE:
        return deleted(t, a);
    case TXN_LIST:
        return listed(t, a);
    case TXN_DELETE_DEAD:
        return dead_deleted(t, a);
    case TXN_IDLE:
    case TXN_DONE:
        break;
    }
    return done(t);
}

void txn_abort(struct txn *t)
{
    t->abort_wanted = true;
}

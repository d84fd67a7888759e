/*
 * Whether the file may be written to at all. Each write of a Data Plane API writes the whole file anew, as its parser understood
 * it, and some files mean something else then. So nothing is written before the file was examined, and an empty transaction showed
 * what would come of it; not again while nobody but us writes. The first transaction of each backend after that is looked at before its
 * commit, too: what is not ours may be lost by our own change.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/dataplane/client.h"
#include "net/digest.h"
#include "servers/target_internal.h"

static void set_problem(struct guard *g, const char *problem)
{
    free(g->problem);
    g->problem = mem_strdup(problem);
}

static void take_file(struct guard *g, const struct buf *text)
{
    char digest[DIGEST_SHA256_TEXT_BYTES];
    digest_sha256(text->data, text->len, digest);
    if (g->file[0] != '\0' && !str_eq(g->file, digest))
        g->passed = g->refused = -1;
    memcpy(g->file, digest, sizeof(digest));
}

static void set_harmless(struct target *t, bool harmless)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        t->slots[i].harmless = harmless;
}

/* Unless a transaction is still to be compared with it. */
static void free_file(struct target *t)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (!t->slots[i].harmless)
            return;
    buf_fini(&t->reader.file);
}

void target_guard_look(struct target *t)
{
    struct guard *g = &t->guard;
    const struct reader *o = &t->reader;
    if (o->file.len > 0)
        take_file(g, &o->file);
    const char *problem = o->file_problem == NULL && g->blind ? o->defaults_problem : o->file_problem;
    if (problem != NULL)
        g->passed = g->refused = -1;
    else if (g->blind)
        g->passed = t->version;
    if (problem != NULL || g->refused != t->version)
        set_problem(g, problem);
    if (target_guard_passed(t))
        free_file(t);
}

void target_guard_forget(struct target *t)
{
    t->guard.passed = t->guard.refused = t->guard.unsure = -1;
    t->guard.blind = false; /* the API may be another release by now */
    set_harmless(t, false);
    set_problem(&t->guard, NULL);
}

bool target_guard_passed(const struct target *t)
{
    return t->guard.problem == NULL && t->guard.passed == t->version;
}

/* After a failed reload, the file is another one than what the API would write anew: there is nothing to compare. */
static bool is_split(const struct target *t)
{
    return t->split_version == t->version;
}

bool target_guard_lets_write(const struct target *t)
{
    return target_guard_passed(t) || is_split(t);
}

void target_guard_wrote(struct target *t, int64_t version)
{
    if (target_guard_passed(t) && version == t->version + 1)
        t->guard.passed = version;
    else
        buf_fini(&t->reader.file); /* what is compared next has our write in it */
    t->guard.file[0] = '\0';
}

/* ---- the look at what a write would make of it ---- */

bool target_guard_wants(const struct target *t)
{
    return t->guard.problem == NULL && !target_guard_passed(t) && !is_split(t) && t->reader.file.len > 0 &&
           clock_mono_ms() >= t->write_wait_until_ms;
}

bool target_guard_looks_first(const struct target *t)
{
    bool first = false;
    for (size_t i = 0; i < t->options.backend_count; i++)
        first = first || (t->slots[i].writing && !t->slots[i].harmless);
    return first && target_guard_passed(t) && !t->guard.blind && t->reader.file.len > 0;
}

void target_guard_committed(struct target *t)
{
    /* What was not looked at was harmless before, or nobody can look. */
    for (size_t i = 0; i < t->options.backend_count; i++)
        t->slots[i].harmless = t->slots[i].harmless || t->slots[i].writing;
    buf_fini(&t->reader.file);
}

static const struct slot *slot_of(const struct target *t, const char *kind, const char *name)
{
    for (size_t i = 0; i < t->options.backend_count; i++)
        if (str_eq(kind, "backend") && str_eq(name, t->slots[i].name))
            return &t->slots[i];
    return NULL;
}

static bool is_our_server(const struct slot *s, const char *name)
{
    for (size_t i = 0; i < s->actual.server_count; i++)
        if (str_eq(s->actual.servers[i].name, name))
            return !diff_server_is_foreign(&s->actual.servers[i], &s->target->options.rules.diff);
    return true;
}

/* What the transaction in hand may write: our servers, and the settings that its plan changes. */
static bool is_ours(const void *arg, const char *kind, const char *name, const char *first, const char *second)
{
    const struct slot *s = slot_of(arg, kind, name);
    if (s == NULL)
        return false;
    const struct diff *d = &s->plan.diff;
    if (s->writing && d->create_backend)
        return true;
    if (first == NULL)
        return false;
    if (str_eq(first, "server"))
        return is_our_server(s, second);
    return s->writing && d->backend_change &&
           (str_eq(first, "balance") || str_eq(first, "default-server") ||
            (str_eq(first, "option") && (str_has_suffix(second, "chk") || str_has_suffix(second, "-check"))));
}

char *target_guard_judge(struct target *t, const struct dataplane_answer *a)
{
    cleanup(cfg_file_fini) struct cfg_file before = {0};
    cleanup(cfg_file_fini) struct cfg_file after = {0};
    struct error err = {0};
    if (cfg_file_init(&before, t->reader.file.data, t->reader.file.len, &err) != 0 ||
        cfg_file_init(&after, a->body, a->body_len, &err) != 0)
        return mem_strdup(err.message);
    t->guard.blind = before.version < 0 && after.version < 0; /* what it would write has a version */
    const struct cfg_file_ours ours = {.is_ours = is_ours, .arg = t};
    cleanup(mem_free_ptr) char *found = cfg_file_compare(&before, &after, t->transaction.preview_only ? NULL : &ours);
    return found == NULL ? NULL : mem_printf("%s; write them as the API keeps them, see docs/haproxy-side.md", found);
}

static void failed(struct target *t)
{
    const struct write_failure f = {.result = t->transaction.result,
                                    .error = &t->transaction.error,
                                    .retry_after_ms = t->transaction.retry_after_ms};
    if (f.result == TRANSACTION_CONFLICT)
        t->seen = false;
    if (f.result ==
        TRANSACTION_ABORTED) /* at the end nothing can be left in a file that has not passed: that needs no more looks */
        t->handed_over = t->looked_at_end = true;
    if (f.result != TRANSACTION_LIMIT && f.result != TRANSACTION_REJECTED) {
        target_write_failed(t, &f);
        return;
    }
    if (f.result == TRANSACTION_LIMIT &&
        t->guard.unsure == t->version) { /* no room to make sure: what needs none goes on */
        t->guard.passed = t->version;
        return;
    }
    /* What needs no write goes on. */
    target_write_not_before(t, clock_mono_ms() + backoff_next_ms(&t->backoff));
    t->write_failing = true;
    target_problem(t, "cannot look at what a write would do to HAProxy's configuration", f.error);
}

void target_guard_previewed(struct target *t)
{
    struct guard *g = &t->guard;
    if (t->transaction.result == TRANSACTION_HARMFUL) {
        g->refused = t->version;
        set_problem(g, t->transaction.error.message);
    } else if (t->transaction.result != TRANSACTION_PREVIEWED) {
        failed(t);
    } else if (t->transaction.error.kind == ERROR_NONE && !g->blind) {
        g->passed = t->version;
        set_harmless(t, false);
    } else {
        g->blind = true;
        log_warn(t->options.log,
                 "this Data Plane API does not show what it would write; haproxy.cfg is judged by its lines alone",
                 log_str("target", dataplane_client_url(t->options.client)),
                 log_str("error", t->transaction.error.message));
        target_guard_look(t);
    }
}

/* One document after another: the source's next one, an older one where a HAProxy does badly with it, or the last one that
 * ran for a HAProxy that is new. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"

static void canary_begin(struct configuration *c)
{
    c->canary_passed = false;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        t->watch.canary = t->watch.written = t->watch.load_failed = t->watch.reported = false;
        probation_end(&t->watch.probation);
    }
}

static void target_new_end(struct target *t)
{
    document_unref(t->own);
    t->own = NULL;
}

void configuration_use(struct configuration *c, struct document *d, unsigned version)
{
    bool waited = c->next != NULL && str_eq(c->next->id, d->id);
    document_unref(c->next);
    c->next = NULL;
    if (c->document != NULL && str_eq(c->document->id, d->id) && c->document->trial == d->trial &&
        c->version == version)
        return;
    if (configuration_keeps(c, version)) {
        c->next = document_ref(d);
        c->next_version = version;
        for (struct target *t = waited ? NULL : target_next(c, NULL); t != NULL; t = target_next(c, t))
            target_hurry(t);
        return;
    }
    if (c->document == NULL || configuration_was_tried(c) ||
        clock_mono_ms() - c->tried_ms >= CONFIGURATION_PATIENCE_MAX_MS)
        c->tried_ms = clock_mono_ms();
    document_unref(c->document);
    c->document = document_ref(d);
    c->version = version;
    c->begun = false;
    canary_begin(c);
    log_info(c->options.log, version != 0 ? "configuration rolled back" : "configuration changed",
             log_str("source", d->origin), log_str("sha256", d->hash), log_int("bytes", (int64_t)d->content->len),
             log_if(version != 0, log_int("version", version)));
    configuration_tell(c, CONFIGURATION_CHANGED, NULL, NULL);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        target_new_end(t);
        target_set(t);
    }
    timer_set(&c->step, 0);
}

void configuration_take_next(struct configuration *c)
{
    cleanup(document_unref_ptr) struct document *next = c->next != NULL ? document_ref(c->next) : NULL;
    if (next != NULL)
        configuration_use(c, next, c->next_version);
}

/* ---- what a HAProxy does badly with goes back, by itself: to the last version that was watched and good, or, where none is kept
 * yet, to the file that was there before ---- */

static void configuration_report(struct target *t, const struct error *evidence)
{
    const struct configuration *c = t->of;
    log_warn(c->options.log, "HAProxy has problems with the configuration; nothing is rolled back",
             log_str("target", target_url(t)), log_str("sha256", c->document->hash),
             log_str("evidence", evidence->message));
    configuration_tell(c, CONFIGURATION_DEGRADED, t, evidence);
}

static bool rollback_has_document(const struct target *t)
{
    return t->own == NULL && (t->sent.progress == PROGRESS_WRITTEN || t->sent.progress == PROGRESS_APPLIED);
}

static void rollback_tell(const struct configuration *c, const struct document *from, const char *reason,
                          const struct error *why)
{
    const struct configuration_listener *l = &c->options.listener;
    const struct configuration_event e = {
        .kind = CONFIGURATION_ROLLED_BACK, .document = from, .reason = reason, .error = why};
    if (l->happened != NULL)
        l->happened(l->arg, &e);
}

/* Each HAProxy that has it gets its own file from before, and rejects the document. The files beside it are not known. */
static bool rollback_file(struct configuration *c, const struct error *why)
{
    bool any = false;
    for (struct target *t = c->document->with_files ? NULL : target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (!rollback_has_document(t) || t->sent.unchanged || t->runs.good == NULL)
            continue;
        t->failed.restores = any = true;
        t->sent.progress = PROGRESS_RESTORING;
        t->failed.why = *why;
        cfg_content_hold(&t->failed.unloadable, c->document->content);
        store_reject(c->options.store, c->document->id, target_name(t), instance_view(t->in).haproxy, why->message);
        store_taken_back(c->options.store, c->document->id, target_name(t));
    }
    return any;
}

static void rollback_to(struct configuration *c, struct document *d, unsigned number, const char *why)
{
    document_unref(c->withdrawn);
    c->withdrawn = document_ref(c->document);
    store_hold(c->options.store, c->document->id, number, why);
    c->not_before_ms = 0;
    configuration_use(c, d, number);
}

static void rollback(struct target *bad, const char *reason, const struct error *evidence)
{
    struct configuration *c = bad->of;
    struct error err = {0}, why = *evidence;
    unsigned number = store_good(c->options.store, c->document->id);
    cleanup(document_unref_ptr) struct document *d =
        number != 0 ? store_document(c->options.store, number, &err) : NULL;
    cleanup(document_unref_ptr) struct document *from = document_ref(c->document);
    (void)error_prefix(&why, "target %s", target_url(bad));
    store_reject(c->options.store, from->id, target_name(bad), instance_view(bad->in).haproxy, why.message);
    if (d != NULL)
        rollback_to(c, d, number, why.message);
    else if (!rollback_file(c, &why)) {
        (void)error_prefix(&why, "there is nothing to go back to");
        bad->watch.reported = true;
        configuration_report(bad, &why);
        return;
    }
    log_error(c->options.log,
              "configuration rolled back automatically; it is tried again when it changes, or on SIGHUP",
              log_str("target", target_url(bad)), log_str("from_sha256", from->hash),
              log_str("to_sha256", d != NULL ? d->hash : NULL), log_if(d != NULL, log_int("version", number)),
              log_str("reason", reason), log_str("evidence", evidence->message));
    if (d != NULL)
        (void)error_prefix(&why, "rolling back to version %u", number);
    rollback_tell(c, from, reason, &why);
}

/* A rollback is not rolled back, nor what was good before. */
static bool rollback_is_allowed(const struct configuration *c)
{
    return c->options.rollback != CONFIGURATION_ROLLBACK_REPORT && c->version == 0 && configuration_writes(c) &&
           !store_is_proven(c->options.store, c->document->id);
}

static void rollback_canary_failed(struct target *t, const struct error *evidence)
{
    struct configuration *c = t->of;
    if (!t->watch.canary || !canary_goes_on(c) || t->watch.reported)
        return;
    log_error(c->options.log, "canary failed; no other HAProxy gets the configuration",
              log_str("target", target_url(t)), log_str("sha256", c->document->hash),
              log_str("evidence", evidence->message));
    configuration_tell(c, CONFIGURATION_CANARY_FAILED, t, evidence);
}

/* True: it was rolled back. */
static bool rollback_judge(struct target *t)
{
    const struct probation *w = &t->watch.probation;
    const struct error evidence = w->evidence;
    if (w->state != PROBATION_BAD || t->sent.progress != PROGRESS_APPLIED || t->watch.reported)
        return false;
    rollback_canary_failed(t, &evidence);
    t->watch.reported = true;
    if (t->watch.joins || !rollback_is_allowed(t->of)) {
        configuration_report(t, &evidence);
        return false;
    }
    rollback(t, probation_reason_name(w->reason), &evidence);
    return true;
}

static bool rollback_others_have(const struct target *t)
{
    const struct configuration *c = t->of;
    for (const struct target *other = target_next(c, NULL); other != NULL; other = target_next(c, other)) {
        if (other != t && rollback_has_document(other))
            return true;
    }
    return false;
}

/* One HAProxy could not load it, and has the file from before again: so do those that could. */
static bool rollback_unloadable(struct target *t)
{
    const struct error why = t->failed.why;
    if (!t->watch.load_failed)
        return false;
    rollback_canary_failed(t, &why);
    t->watch.reported = true;
    if (t->watch.joins || t->sent.progress != PROGRESS_REJECTED || !rollback_others_have(t) ||
        !rollback_is_allowed(t->of))
        return false;
    t->watch.load_failed = false;
    rollback(t, CONFIGURATION_REASON_RELOAD, &why);
    return true;
}

static bool rollback_step(struct configuration *c)
{
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (rollback_judge(t) || rollback_unloadable(t))
            return true;
    return false;
}

/* ---- what came of it ---- */

static bool canary_none_elsewhere(const void *arg, const char *backend)
{
    const struct target *t = arg;
    for (const struct target *other = target_next(t->of, NULL); other != NULL; other = target_next(t->of, other))
        if (other != t && probation_has_none(&other->watch.probation, backend))
            return true;
    return false;
}

static bool canary_never_counts(const void *arg, const char *backend)
{
    (void)arg;
    (void)backend;
    return true;
}

static void canary_judge(struct target *t)
{
    const struct configuration *c = t->of;
    bool counts = c->options.rollback == CONFIGURATION_ROLLBACK_SERVING || (t->watch.canary && canary_goes_on(c));
    struct error said;
    if (!probation_is_to_judge(&t->watch.probation))
        return;
    probation_judge(&t->watch.probation, counts ? canary_none_elsewhere : canary_never_counts, t, &said);
    if (said.kind == ERROR_NONE)
        return;
    (void)error_prefix(&said, counts ? "on another HAProxy, too" : "CONFIG_ROLLBACK is not serving");
    configuration_report(t, &said);
}

static bool canary_is_good(const struct target *t)
{
    return t->own == NULL && t->sent.progress == PROGRESS_APPLIED && t->watch.probation.state == PROBATION_GOOD;
}

static void canary_pass(struct configuration *c)
{
    size_t members = 0, good = 0;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        members += t->watch.canary;
        good += t->watch.canary && canary_is_good(t);
    }
    if (!canary_goes_on(c) || members == 0 || good < members)
        return;
    c->canary_passed = true;
    log_info(c->options.log, "canary passed; the others get the configuration", log_str("sha256", c->document->hash),
             log_int("targets", (int64_t)members));
    configuration_tell(c, CONFIGURATION_CANARY_PASSED, NULL, NULL);
}

/* It is what is gone back to from now on; the next document is compared with what runs now. */
static void canary_prove(struct configuration *c)
{
    size_t good = 0;
    for (const struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (!canary_is_good(t) && !t->failed.away && !t->watch.joins)
            return;
        good += canary_is_good(t) && !t->watch.joins;
    }
    if (good == 0)
        return;
    store_prove(c->options.store, c->document->id);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (!t->watch.joins)
            probation_forget(&t->watch.probation);
}

void canary_step(struct configuration *c)
{
    if (c->document == NULL || c->next != NULL)
        return; /* a newer one is about to come */
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        canary_judge(t);
    if (rollback_step(c))
        return;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        t->watch.joins = t->watch.joins && !canary_is_good(t); /* it belongs to them from now on */
    canary_pass(c);
    canary_prove(c);
}

void rollback_try_again(struct configuration *c)
{
    c->try_again = false;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (t->watch.probation.state == PROBATION_BAD && t->sent.progress == PROGRESS_APPLIED)
            canary_applied(t, true);
    }
    if (c->withdrawn == NULL || store_held_why(c->options.store) == NULL)
        return;
    cleanup(document_unref_ptr) struct document *d = c->withdrawn;
    c->withdrawn = NULL;
    store_release(c->options.store);
    configuration_use(c, d, 0);
}

/* ---- a HAProxy that has run nothing yet, while the latest document is rejected: it gets the one that ran last, as others run
 * it, and waits for the next one with them ---- */

/* As far as is known: perhaps it did so before a restart of the daemon. */
static bool target_new_has_none(const struct target *t)
{
    bool begins = t->sent.progress == PROGRESS_NEW || t->sent.progress == PROGRESS_VALID;
    return begins && t->own == NULL && t->in != NULL && t->runs.hash[0] == '\0' && t->sent.writing == NULL &&
           store_latest(t->of->options.store, target_name(t)) == NULL;
}

/* NULL: there is none. */
static struct document *target_new_last(const struct configuration *c, unsigned *ret_number)
{
    const struct store *store = c->options.store;
    struct error err = {0}; /* its text is lost: it gets none */
    size_t i = 0;
    while (i < store_count(store) && store_is_rejected(store, store_version(store, i)->id))
        i++; /* it ran, and was rolled back */
    if (i == store_count(store))
        return NULL;
    const struct store_version *v = store_version(store, i);
    *ret_number = v->number;
    return store_document(store, v->number, &err);
}

static void target_new_take(struct target *t)
{
    const struct configuration *c = t->of;
    unsigned number = 0;
    struct document *d = target_new_last(c, &number);
    if (d == NULL)
        return;
    log_info(c->options.log, "HAProxy is new, and the latest configuration is rejected: it gets the last one that ran",
             log_str("target", target_url(t)), log_str("sha256", d->hash), log_int("version", number));
    t->own = d;
    t->watch.joins = true;
    target_set(t);
}

void target_new_step(struct configuration *c)
{
    if (c->document == NULL || c->next != NULL)
        return;
    bool rejected = configuration_rejected(c);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (rejected && target_new_has_none(t)) {
            target_new_take(t);
        } else if (!rejected && t->own != NULL && !target_files_half_way(t)) { /* as configuration_half_way has it */
            target_new_end(t);
            target_set(t);
        }
    }
}

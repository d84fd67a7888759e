/* One document after another: the source's next one, an older one where a HAProxy does badly with it, or the last
 * one that ran for a HAProxy that is new. */
#include "base/clock.h"
#include "base/str.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"

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
    c->canary_passed = false;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        struct target_watch *w = &t->watch;
        w->canary = w->written = w->load_failed = w->reported = false;
        probation_end(&w->probation);
    }
    log_info(c->options.log, version != 0 ? "configuration rolled back" : "configuration changed",
             log_str("source", d->origin), log_str("sha256", d->hash), log_int("bytes", (int64_t)d->content->len),
             log_if(version != 0, log_int("version", version)));
    configuration_tell(c, CONFIGURATION_CHANGED, NULL, NULL);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        target_set(t, NULL);
    timer_set(&c->step, 0);
}

/* ---- what a HAProxy does badly with goes back, by itself: to the last version that was watched and good, or, where
 * none is kept yet, to the file that was there before ---- */

static bool rollback_has_document(const struct target *t)
{
    return t->own == NULL && (t->sent.progress == PROGRESS_WRITTEN || t->sent.progress == PROGRESS_APPLIED);
}

static void rollback_report(struct target *t, const struct error *evidence)
{
    const struct configuration *c = t->of;
    log_warn(c->options.log, "HAProxy has problems with the configuration; nothing is rolled back",
             log_str("target", target_url(t)), log_str("sha256", c->document->hash),
             log_str("evidence", evidence->message));
    configuration_tell(c, CONFIGURATION_DEGRADED, t, evidence);
}

static void rollback(struct target *bad, const char *reason, const struct error *evidence)
{
    struct configuration *c = bad->of;
    struct store *store = c->options.store;
    struct error err = {0}, why = *evidence;
    unsigned number = store_good(store, c->document->id);
    cleanup(document_unref_ptr) struct document *from = document_ref(c->document);
    cleanup(document_unref_ptr) struct document *to = number != 0 ? store_document(store, number, &err) : NULL;
    bool any = to != NULL;
    (void)error_prefix(&why, "target %s", target_url(bad));
    store_reject(store, from->id, target_name(bad), instance_view(bad->in).haproxy, why.message);
    if (to != NULL) {
        document_unref(c->withdrawn);
        c->withdrawn = document_ref(from);
        store_hold(store, from->id, number, why.message);
        c->not_before_ms = 0;
        configuration_use(c, to, number);
    }
    /* Each HAProxy that has it gets its own file from before, and rejects the document. The files beside it are not
     * known. */
    bool files = to == NULL && !from->with_files;
    for (struct target *t = files ? target_next(c, NULL) : NULL; t != NULL; t = target_next(c, t))
        any = (rollback_has_document(t) && target_take_back(t, &why)) || any;
    if (!any) {
        (void)error_prefix(&why, "there is nothing to go back to");
        rollback_report(bad, &why);
        return;
    }
    log_error(c->options.log,
              "configuration rolled back automatically; it is tried again when it changes, or on SIGHUP",
              log_str("target", target_url(bad)), log_str("from_sha256", from->hash),
              log_str("to_sha256", to != NULL ? to->hash : NULL), log_if(to != NULL, log_int("version", number)),
              log_str("reason", reason), log_str("evidence", evidence->message));
    if (to != NULL)
        (void)error_prefix(&why, "rolling back to version %u", number);
    const struct configuration_listener *l = &c->options.listener;
    if (l->happened != NULL)
        l->happened(l->arg, &(struct configuration_event){
                                .kind = CONFIGURATION_ROLLED_BACK, .document = from, .reason = reason, .error = &why});
}

/* The document is to blame: that is reported, of a canary first. */
static void rollback_begin(struct target *t, const struct error *evidence)
{
    const struct configuration *c = t->of;
    struct target_watch *w = &t->watch;
    if (w->canary && canary_goes_on(c) && !w->reported) {
        log_error(c->options.log, "canary failed; no other HAProxy gets the configuration",
                  log_str("target", target_url(t)), log_str("sha256", c->document->hash),
                  log_str("evidence", evidence->message));
        configuration_tell(c, CONFIGURATION_CANARY_FAILED, t, evidence);
    }
    w->reported = true;
}

/* True: it was rolled back. */
static bool rollback_judge(struct target *t)
{
    struct target_watch *w = &t->watch;
    const struct configuration *c = t->of;
    /* A rollback is not rolled back, nor what was good before. */
    bool allowed = !w->joins && c->options.rollback != CONFIGURATION_ROLLBACK_REPORT && c->version == 0 &&
                   configuration_writes(c) && !store_is_proven(c->options.store, c->document->id);
    bool others = false;
    if (w->probation.state == PROBATION_BAD && t->sent.progress == PROGRESS_APPLIED && !w->reported) {
        const struct error evidence = w->probation.evidence;
        rollback_begin(t, &evidence);
        if (allowed)
            rollback(t, probation_reason_name(w->probation.reason), &evidence);
        else
            rollback_report(t, &evidence);
        if (allowed)
            return true;
    }
    if (!w->load_failed)
        return false;
    /* One HAProxy could not load it, and has the file from before again: so do those that could. */
    const struct error why = t->failed.why;
    rollback_begin(t, &why);
    for (const struct target *o = target_next(t->of, NULL); o != NULL; o = target_next(t->of, o))
        others = others || (o != t && rollback_has_document(o));
    if (!allowed || t->sent.progress != PROGRESS_REJECTED || !others)
        return false;
    w->load_failed = false;
    rollback(t, CONFIGURATION_REASON_RELOAD, &why);
    return true;
}

static void rollback_try_again(struct configuration *c)
{
    c->try_again = false;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (t->watch.probation.state == PROBATION_BAD && t->sent.progress == PROGRESS_APPLIED)
            canary_applied(t, true);
    if (c->withdrawn == NULL || store_view(c->options.store).held_why == NULL)
        return;
    cleanup(document_unref_ptr) struct document *d = c->withdrawn;
    c->withdrawn = NULL;
    store_release(c->options.store);
    configuration_use(c, d, 0);
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

static void canary_judge(struct target *t)
{
    const struct configuration *c = t->of;
    bool counts = c->options.rollback == CONFIGURATION_ROLLBACK_SERVING || (t->watch.canary && canary_goes_on(c));
    struct error said;
    if (!probation_is_to_judge(&t->watch.probation))
        return;
    probation_judge(&t->watch.probation, counts ? canary_none_elsewhere : NULL, t, &said);
    if (said.kind == ERROR_NONE)
        return;
    (void)error_prefix(&said, counts ? "on another HAProxy, too" : "CONFIG_ROLLBACK is not serving");
    rollback_report(t, &said);
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

static void canary_step(struct configuration *c)
{
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        canary_judge(t);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (rollback_judge(t))
            return;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        struct target_watch *w = &t->watch;
        w->joins = w->joins && !canary_is_good(t); /* it belongs to the others from now on */
    }
    canary_pass(c);
    canary_prove(c);
}

/* ---- a HAProxy that has run nothing yet, while the latest document is rejected: it gets the one that ran last, as
 * others run it, and waits for the next one with them ---- */

static void target_new_take(struct target *t)
{
    const struct configuration *c = t->of;
    const struct store *store = c->options.store;
    struct error err = {0};
    size_t i = 0;
    while (i < store_count(store) && store_is_rejected(store, store_version(store, i)->id))
        i++; /* it ran, and was rolled back */
    unsigned number = i < store_count(store) ? store_version(store, i)->number : 0;
    struct document *d = number != 0 ? store_document(store, number, &err) : NULL;
    if (d == NULL)
        return; /* there is none, or its text is lost */
    log_info(c->options.log, "HAProxy is new, and the latest configuration is rejected: it gets the last one that ran",
             log_str("target", target_url(t)), log_str("sha256", d->hash), log_int("version", number));
    target_set(t, d);
}

void succession_step(struct configuration *c)
{
    cleanup(document_unref_ptr) struct document *next = c->next != NULL ? document_ref(c->next) : NULL;
    if (next != NULL)
        configuration_use(c, next, c->next_version);
    if (c->try_again)
        rollback_try_again(c);
    if (c->document != NULL && c->next == NULL) /* else a newer one is about to come */
        canary_step(c);
    if (c->document != NULL && c->next == NULL) {
        bool rejected = configuration_rejected(c);
        for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
            /* As far as is known: perhaps it ran one before a restart of the daemon. */
            bool has_none = target_is_unwritten(t) && t->own == NULL && t->in != NULL && t->has.hash[0] == '\0' &&
                            t->sent.writing == NULL && store_latest(c->options.store, target_name(t)) == NULL;
            if (rejected && has_none)
                target_new_take(t);
            else if (!rejected && t->own != NULL && !target_files_half_way(t)) /* as configuration_half_way has it */
                target_set(t, NULL);
        }
    }
}

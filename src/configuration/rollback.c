/* What a HAProxy did badly with goes back, by itself: to the last version that was watched and good, or, where none is kept
 * yet, to the file that was there before. */
#include "base/clock.h"
#include "base/mem.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/instance.h"

void configuration_report(struct target *t, const struct error *evidence)
{
    const struct configuration *c = t->of;
    log_warn(c->options.log, "HAProxy has problems with the configuration; nothing is rolled back",
             log_str("target", target_url(t)), log_str("sha256", c->document->hash),
             log_str("evidence", evidence->message));
    configuration_tell(c, CONFIGURATION_DEGRADED, t, evidence);
}

/* A rollback is not rolled back, nor what was good before. */
static bool rollback_is_allowed(const struct configuration *c)
{
    return c->options.rollback != CONFIGURATION_ROLLBACK_REPORT && c->version == 0 && configuration_writes(c) &&
           !store_is_proven(c->options.store, c->document->id);
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

static bool rollback_has_document(const struct target *t)
{
    return t->own == NULL && (t->progress == PROGRESS_WRITTEN || t->progress == PROGRESS_APPLIED);
}

/* Each HAProxy that has it gets its own file from before, and rejects the document. The files beside it are not known. */
static bool rollback_file(struct configuration *c, const struct error *why)
{
    bool any = false;
    for (struct target *t = c->document->with_files ? NULL : target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (!rollback_has_document(t) || t->unchanged || t->good == NULL)
            continue;
        t->restores = any = true;
        t->progress = PROGRESS_RESTORING;
        t->why = *why;
        cfg_content_hold(&t->unloadable, c->document->content);
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
        bad->evidence_told = true;
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

static void rollback_canary_failed(struct target *t, const struct error *evidence)
{
    struct configuration *c = t->of;
    if (!t->canary || !canary_goes_on(c) || t->evidence_told)
        return;
    log_error(c->options.log, "canary failed; no other HAProxy gets the configuration",
              log_str("target", target_url(t)), log_str("sha256", c->document->hash),
              log_str("evidence", evidence->message));
    configuration_tell(c, CONFIGURATION_CANARY_FAILED, t, evidence);
}

/* True: it was rolled back. */
static bool rollback_judge(struct target *t)
{
    const struct probation *w = &t->probation;
    const struct error evidence = w->evidence;
    if (w->state != PROBATION_BAD || t->progress != PROGRESS_APPLIED || t->evidence_told)
        return false;
    rollback_canary_failed(t, &evidence);
    t->evidence_told = true;
    if (t->joins || !rollback_is_allowed(t->of)) {
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
    const struct error why = t->why;
    if (!t->load_failed)
        return false;
    rollback_canary_failed(t, &why);
    t->evidence_told = true;
    if (t->joins || t->progress != PROGRESS_REJECTED || !rollback_others_have(t) || !rollback_is_allowed(t->of))
        return false;
    t->load_failed = false;
    rollback(t, CONFIGURATION_REASON_RELOAD, &why);
    return true;
}

bool rollback_step(struct configuration *c)
{
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t))
        if (rollback_judge(t) || rollback_unloadable(t))
            return true;
    return false;
}

void rollback_try_again(struct configuration *c)
{
    c->try_again = false;
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (t->probation.state == PROBATION_BAD && t->progress == PROGRESS_APPLIED)
            canary_applied(t, true);
    }
    if (c->withdrawn == NULL || store_held_why(c->options.store) == NULL)
        return;
    cleanup(document_unref_ptr) struct document *d = c->withdrawn;
    c->withdrawn = NULL;
    store_release(c->options.store);
    configuration_use(c, d, 0);
}

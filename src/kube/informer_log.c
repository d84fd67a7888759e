#include "kube/informer_log.h"

#include "base/clock.h"
#include "base/str.h"
#include "kube/outage.h"

#define LIMIT_MS 60000
/* Says which watch a line is about. */
#define OF(l) log_str("resource", (l)->resource), log_str((l)->scope_is, (l)->scope)

void informer_log_init(struct informer_log *l, const struct log *log, struct kube_outage *outage, const char *resource,
                       const char *scope, const char *scope_is)
{
    *l = (struct informer_log){.log = log,
                               .outage = outage,
                               .resource = resource,
                               .scope = scope,
                               .scope_is = scope_is != NULL ? scope_is : "service"};
    l->trouble.period_ms = l->relists.period_ms = l->skipped.period_ms = LIMIT_MS;
}

void informer_log_object(struct informer_log *l, const struct kube_event *e)
{
    const struct error *why = e->skipped.kind != ERROR_NONE ? &e->skipped : &e->partial;
    unsigned held_back;
    /* One key for all of them: thousands of bad objects in one list are one line. */
    if (why->kind == ERROR_NONE || !log_limit_pass(&l->skipped, clock_mono_ms(), "object", &held_back))
        return;
    if (l->is_hint) {
        log_debug(l->log, "unexpected object from Kubernetes", OF(l), log_str("error", why->message));
        return;
    }
    log_warn(l->log, "unexpected object from Kubernetes", OF(l), log_str("error", why->message),
             log_if(held_back > 0, log_int("others_before", held_back)));
}

void informer_log_synced(struct informer_log *l, size_t objects, bool paged, uint64_t took_us)
{
    log_info(l->log, "synced with Kubernetes", OF(l), log_int("objects", objects),
             log_str("how", paged ? "paged list" : "streaming list"), log_us_as_ms("ms", took_us));
}

static const char *lost_text(const struct watch *w)
{
    return w->synced ? "no contact with the Kubernetes API; keeping the last state"
                     : "no complete list from the Kubernetes API yet; HAProxy stays unchanged";
}

static void log_lost(struct informer_log *l, const struct watch *w, uint64_t now_ms)
{
    unsigned held_back;
    /* One outage shows as several of these in turn: lost, then unreachable, ... */
    static const char *const outage[] = {"lost", "unreachable", "closed", "no_answer", "silent", "no_data"};
    const char *key = w->reason;
    for (size_t i = 0; i < array_len(outage); i++)
        if (str_eq(w->reason, outage[i]))
            key = "outage";
    bool denied = str_eq(w->reason, "forbidden") || str_eq(w->reason, "not_found");
    bool first = l->lost_ms == 0;
    if (first)
        l->lost_ms = now_ms;
    if ((l->quiet && !w->synced) || (l->may_be_denied && denied)) {
        log_debug(l->log, w->synced ? "still denied" : "still no list", OF(l), log_str("error", w->detail));
        return;
    }
    if (str_eq(w->reason, "no_credentials")) { /* of a plugin, which is said once for all watches, where it fails */
        log_debug(l->log, "waiting for credentials", OF(l), log_str("error", w->detail));
        return;
    }
    if (kube_outage_is(w->reason, w->detail)) {
        /* The others have nothing to add: it is one server. */
        const struct kube_outage_loss loss = {.text = lost_text(w),
                                              .reason = w->reason,
                                              .error = w->detail,
                                              .repeats = w->state == WATCH_WAITING,
                                              .retry_ms = w->wait_until_ms - now_ms};
        l->is_out = true;
        if (!kube_outage_begin(l->outage, l->log, &loss, now_ms))
            log_debug(l->log, "no contact", OF(l), log_str("reason", w->reason), log_str("error", w->detail));
        return;
    }
    l->is_out = false;
    if (first && (str_eq(w->reason, "lost") || str_eq(w->reason, "closed"))) { /* the next request shows more */
        log_debug(l->log, "connection ended", OF(l), log_str("reason", w->reason), log_str("error", w->detail));
        return;
    }
    if (!log_limit_pass(&l->trouble, now_ms, key, &held_back))
        return;
    if (kube_outage_is_shared(l->outage, w->detail, now_ms)) {
        log_debug(l->log, "no contact", OF(l), log_str("reason", w->reason), log_str("error", w->detail));
        return;
    }
    if (!str_eq(key, l->last_key))
        held_back = 0; /* those were of another kind */
    l->last_key = key;
    l->loss_was_said = true;
    log_warn(l->log, lost_text(w), OF(l), log_str("reason", w->reason), log_str("error", w->detail),
             log_if(str_eq(w->reason, "forbidden"), log_str("hint", kube_refusal_hint(w->detail))),
             log_if(w->state == WATCH_WAITING, log_us_as_ms("retry_ms", (w->wait_until_ms - now_ms) * 1000)),
             log_if(held_back > 0, log_int("repeated", held_back)));
}

void informer_log_step(struct informer_log *l, unsigned actions, const struct watch *w, uint64_t now_ms)
{
    if (actions & (WATCH_LISTED | WATCH_ENDED)) {
        /* Lists and watches that follow a loss of contact need no line of their own. */
        unsigned held_back;
        bool worth_it =
            (actions & WATCH_LISTED) && w->contact && log_limit_pass(&l->relists, now_ms, w->reason, &held_back);
        if (worth_it)
            log_info(l->log, "relisting", OF(l), log_str("reason", w->reason), log_str("error", w->detail),
                     log_if(held_back > 0, log_int("repeated", held_back)));
        else
            log_debug(l->log, actions & WATCH_LISTED ? "list started" : "watch ended", OF(l),
                      log_str("reason", w->reason), log_if(w->detail[0] != '\0', log_str("detail", w->detail)));
    }
    if (actions & WATCH_CONTACT_LOST)
        log_lost(l, w, now_ms);
    if (actions & WATCH_CONTACT_BACK) {
        /* After a first list "synced" says it all. */
        if (l->is_out)
            kube_outage_end(l->outage, l->log, now_ms);
        l->is_out = false;
        if (l->loss_was_said)
            log_info(l->log, "contact with the Kubernetes API recovered", OF(l),
                     log_us_as_ms("away_ms", (now_ms - l->lost_ms) * 1000));
        l->loss_was_said = false;
        l->lost_ms = 0;
    }
}

void informer_log_warning(struct informer_log *l, const char *warning)
{
    if (l->warned || str_empty(warning))
        return;
    l->warned = true;
    log_info(l->log, "warning from the Kubernetes API server", OF(l), log_str("warning", warning));
}

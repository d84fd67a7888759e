#include "kube/outage.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"
#include "net/http.h"

#define LIMIT_MS 60000
#define HOLD_MS 3000

void kube_outage_init(struct kube_outage *o, const char *server)
{
    *o = (struct kube_outage){.server = server};
    o->limit.period_ms = o->watches.period_ms = o->others.period_ms = o->heard.period_ms = LIMIT_MS;
}

/* Who sends no credentials is refused everything, one right after the other. */
static bool outage_is_anonymous(const char *said)
{
    return strstr(said, "system:anonymous\"") != NULL || strstr(said, "system:anonymous\\\"") != NULL;
}

bool kube_outage_is(const char *reason, const char *detail)
{
    return str_eq(reason, "unreachable") || str_eq(reason, "unauthorized") ||
           (str_eq(reason, "forbidden") && outage_is_anonymous(detail));
}

/* A connection that is lost in the middle of a request is that request's trouble, unless there is none to be had. */
const char *kube_outage_reason(const struct kube_outage *o, const struct http_response *r, const struct error *err)
{
    if (err != NULL)
        return http_response_connection(r).reached < HTTP_REACHED_TLS || (err->kind == ERROR_RETRY && o->lost_ms != 0)
                   ? "unreachable"
                   : NULL;
    if (r->status == 401)
        return "unauthorized";
    return r->status == 403 && outage_is_anonymous(buf_str(r->body)) ? "forbidden" : NULL;
}

const char *kube_refusal_hint(const char *said)
{
    if (strstr(said, "\"system:anonymous\"") != NULL)
        return "no credentials are sent: the kubeconfig's user needs a token, a client certificate or a plugin";
    static const char *const ours[] = {"services", "endpoints", "endpointslices", "nodes", "leases", "events"};
    const char *resource = strstr(said, "resource \"");
    if (resource == NULL)
        return "deploy/rbac.yaml grants it";
    resource += strlen("resource \"");
    for (size_t i = 0; i < array_len(ours); i++)
        if (str_has_prefix(resource, ours[i]) && resource[strlen(ours[i])] == '"')
            return "deploy/rbac.yaml grants it";
    return str_has_prefix(resource, "secrets\"")
               ? "deploy/config/rbac.yaml grants it"
               : "a Role or ClusterRole has to grant it, which the chart makes of templates.watch";
}

bool kube_outage_begin(struct kube_outage *o, const struct log *log, const struct kube_outage_loss *loss,
                       uint64_t now_ms)
{
    unsigned held_back;
    const char *hint = str_eq(loss->reason, "forbidden") ? kube_refusal_hint(loss->error) : NULL;
    snprintf(o->problem, sizeof(o->problem), "%s%s%s", loss->error, hint != NULL ? "; " : "", hint != NULL ? hint : "");
    if (o->lost_ms == 0)
        o->lost_ms = now_ms;
    /* Reasons that take turns, as while a server starts, pass once each. */
    if (!log_limit_pass_message(&o->limit, now_ms, loss->reason, &held_back))
        return false;
    o->was_said = true;
    log_warn(log, loss->text, log_str("server", o->server), log_str("reason", loss->reason),
             log_str("error", loss->error), log_str("hint", hint),
             log_if(loss->repeats, log_us_as_ms("retry_ms", loss->retry_ms * 1000)),
             log_if(held_back > 0, log_int("repeated", held_back)));
    return true;
}

/* What is said of all; NULL: of one resource. */
static const char *outage_words(const char *message)
{
    const char *answer = strstr(message, ": HTTP "), *colon = strstr(message, ": ");
    if (answer == NULL)
        return colon != NULL ? colon : message;
    return strncmp(answer, ": HTTP 4", 8) == 0 && strncmp(answer, ": HTTP 429", 10) != 0 ? NULL : answer;
}

bool kube_outage_is_shared(struct kube_outage *o, const char *message, uint64_t now_ms)
{
    unsigned held_back;
    const char *words = outage_words(message);
    if (words == NULL || !log_limit_pass_message(&o->watches, now_ms, words, &held_back))
        return words != NULL;
    (void)log_limit_pass_message(&o->others, now_ms, words, &held_back);
    return false;
}

bool kube_outage_holds(struct kube_outage *o, const char *message, uint64_t now_ms)
{
    unsigned held_back;
    const char *words = outage_words(message);
    if (words == NULL || !str_has_prefix(words, ": HTTP "))
        return false;
    if (log_limit_pass_message(&o->heard, now_ms, words, &held_back))
        o->heard_ms = now_ms;
    return now_ms < o->heard_ms + HOLD_MS || !log_limit_pass_message(&o->others, now_ms, words, &held_back);
}

void kube_outage_end(struct kube_outage *o, const struct log *log, uint64_t now_ms)
{
    if (o->was_said)
        log_info(log, "contact with the Kubernetes API recovered", log_str("server", o->server),
                 log_us_as_ms("away_ms", (now_ms - o->lost_ms) * 1000));
    o->was_said = false;
    o->met = true;
    o->lost_ms = 0;
}

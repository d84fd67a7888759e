/*
 * What keeps all requests from an API server: no connection, or credentials that are missing or refused. One for each
 * server, shared by its watches and by all other requests: the first to notice says it, and the first to be back says
 * that. What the others have to say meanwhile is of debug level.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

struct error;
struct http_response;

struct kube_outage {
    const char *server; /* borrowed */
    uint64_t lost_ms;   /* 0: there is none */
    bool was_said;
    bool met;          /* there was contact before */
    char problem[512]; /* as last noticed, with what to do about it */
    struct log_limit limit;
    /* What many requests get as an answer in the same words: by watches, by others, and since when by others. */
    struct log_limit watches, others, heard;
    uint64_t heard_ms;
};

/* One that was noticed. */
struct kube_outage_loss {
    const char *text;           /* what that means, the message of the line */
    const char *reason, *error; /* a fixed word, and it for people */
    bool repeats;               /* it is tried again */
    uint64_t retry_ms;          /* then */
};

void kube_outage_init(struct kube_outage *o, const char *server);

/* Whether that is the cause, by the reason and the detail of a watch. */
bool kube_outage_is(const char *reason, const char *detail);
/* The same of how another request ended, as such a reason; NULL: it has none. */
const char *kube_outage_reason(const struct kube_outage *o, const struct http_response *r, const struct error *err);

/* False: nothing was logged, because that was said. */
bool kube_outage_begin(struct kube_outage *o, const struct log *log, const struct kube_outage_loss *loss,
                       uint64_t now_ms);
/* A load balancer's 503, an etcd that is away or a hang is one cause for all, and comes in the same words. message:
 * "GET https://...: HTTP 503: busy", "watch: no answer in time"; what stands before the answer does not matter. A
 * refusal (HTTP 400 to 499, but 429) is of one resource, and never shared. */
/* Of a watch: whether one of them logged that in the last minute. */
bool kube_outage_is_shared(struct kube_outage *o, const char *message, uint64_t now_ms);
/* Of another request: whether it needs no line. Watches have more to say, that the last state is kept; so an answer that
 * is no refusal waits three seconds for a watch that logs it, and is not logged for a minute after one did. */
bool kube_outage_holds(struct kube_outage *o, const char *message, uint64_t now_ms);
/* There is contact. */
void kube_outage_end(struct kube_outage *o, const struct log *log, uint64_t now_ms);

/* What to do about a 403 of the API, for the log and /readyz. said: the server's message, which only chooses between
 * hints: a request without credentials is refused to a user system:anonymous, and no server says that credentials are
 * missing; rights would be the wrong hint. Secrets are in no manifest but that of a whole configuration; what templates watch
 * is in none. */
const char *kube_refusal_hint(const char *said);

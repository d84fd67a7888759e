/*
 * What keeps all requests from an API server: no connection, or credentials that are missing or refused. One for each
 * server, shared by its watches and by all other requests: the first to notice says it, and the first to be back says
 * that. What the others have to say meanwhile is of debug level.
 */
#ifndef KUBE_OUTAGE_H
#define KUBE_OUTAGE_H

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
/* There is contact. */
void kube_outage_end(struct kube_outage *o, const struct log *log, uint64_t now_ms);

#endif

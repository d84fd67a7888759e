/* The log of an informer: few lines, each once, repeated trouble with a count. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "kube/decode/decode.h"
#include "kube/watch.h"

struct kube_outage;

struct informer_log {
    const struct log *log;
    const char *resource; /* borrowed */
    const char *scope;    /* borrowed; NULL: none */
    const char *scope_is; /* "service", "namespace" */
    struct log_limit trouble, relists, skipped;
    const char *last_key;
    struct kube_outage *outage; /* of its server; borrowed */
    bool is_out;                /* it has no contact for that cause */
    uint64_t lost_ms;           /* contact was lost then; 0: it is there, or never was */
    bool loss_was_said;         /* so its end is said, too */
    bool quiet;                 /* that it has no list is known and lived with: debug level */
    bool is_hint;               /* who has it reads the object itself, and reports what is wrong: debug level */
    bool may_be_denied;         /* its owner reports that it is denied: debug level */
    bool warned;                /* the API server's warning was passed on */
};

/* scope_is NULL: "service"; a constant. */
void informer_log_init(struct informer_log *l, const struct log *log, struct kube_outage *outage, const char *resource,
                       const char *scope, const char *scope_is);

/* An object, or a part of it, that cannot be used. */
void informer_log_object(struct informer_log *l, const struct kube_event *e);
/* A list is complete. */
void informer_log_synced(struct informer_log *l, size_t objects, bool paged, uint64_t took_us);
/* WATCH_LISTED, WATCH_ENDED, WATCH_CONTACT_LOST and WATCH_CONTACT_BACK of a step. */
void informer_log_step(struct informer_log *l, unsigned actions, const struct watch *w, uint64_t now_ms);
/* The Warning header of an answer (RFC 7234 5.5; deprecated APIs carry it), NULL where there is none. */
void informer_log_warning(struct informer_log *l, const char *warning);

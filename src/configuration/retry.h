/*
 * When one HAProxy is asked again after a failure that says nothing of the configuration, by the class of the failure,
 * in the words of an operator for such configurations. The first pause is 30 s, the longest 5 min. A Data Plane API
 * that could not be read and can be again is asked at once. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum retry_class {
    RETRY_NONE,
    RETRY_AUTH,         /* 401, 403; no credentials */
    RETRY_CONFLICT,     /* another writer was faster: the first ones are tried again at once */
    RETRY_RATE_LIMITED, /* 429 */
    RETRY_SERVER,       /* 5xx */
    RETRY_UNKNOWN,      /* whatever else an API answers that judges no configuration */
    RETRY_TLS,
    RETRY_CONNECTION,
    RETRY_CLASSES,
};

enum retry_class retry_class_of(const struct error *err);
const char *retry_class_name(enum retry_class class); /* "AuthError"; NULL: RETRY_NONE */

struct retry {
    enum retry_class class; /* of the last failure; RETRY_NONE: what was tried last went well */
    uint64_t not_before_ms; /* the next try; 0: as soon as it can be read, and no write is in the way */
    unsigned attempts;      /* that failed in a row */
    bool ordered;           /* by a Retry-After */
    bool until_read;        /* a reading that goes well ends the pause */
    unsigned seed;
};

void retry_init(struct retry *r, unsigned seed);
/* retry_after_ms: -1 where the answer had none. */
void retry_failed(struct retry *r, const struct error *err, int64_t retry_after_ms, uint64_t now_ms);
void retry_unreadable(struct retry *r);   /* it cannot even be read; */
void retry_readable(struct retry *r);     /* and now it can */
void retry_new_document(struct retry *r); /* what failed was about another one; a Retry-After holds all the same */
void retry_forget(struct retry *r);       /* it went well, or an operator asks */
bool retry_waits(const struct retry *r, uint64_t now_ms);

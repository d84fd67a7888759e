/*
 * How a load balancer stands with what was published (configuration/published.h): what it writes at PATH/status/NAME, under a lease
 * that ends with it, as JSON:
 *
 *     {"name": "lb-1", "version": 7, "sha256": "...", "state": "in_sync", "reason": "", "accepted": true, "refused": "",
 *      "haproxies": ["/etc/haproxy/dynamic.cfg"], "since": "2026-11-27T10:00:00.000Z"}
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "net/digest.h"

enum load_balancer_state {
    LOAD_BALANCER_IN_SYNC, /* it runs what it has read */
    LOAD_BALANCER_BEHIND,  /* it does not yet */
    LOAD_BALANCER_FAILED,  /* it cannot: `reason` says why */
    LOAD_BALANCER_STATES
};
const char *load_balancer_state_name(enum load_balancer_state s); /* "in_sync" */

struct load_balancer {
    char *name;
    uint64_t version;                     /* that it has read last; 0: none, or of an older producer */
    char sha256[DIGEST_SHA256_HEX_BYTES]; /* what all of its HAProxies run; "": nothing yet, or not the same */
    enum load_balancer_state state;
    char *reason;     /* "": none */
    bool accepted;    /* `version`: its HAProxies run it, or find it valid, where it is only to be checked */
    char *refused;    /* why they do not accept it, or cannot load it; "": they do, or it is not known */
    char **haproxies; /* their URLs or files */
    size_t haproxy_count;
    int64_t since_ms; /* wall clock: in this state */
};

void load_balancer_fini(struct load_balancer *l); /* a zeroed one is allowed */
void load_balancer_print(const struct load_balancer *l, struct buf *out);
/* ERROR_INVALID: it is none. */
int load_balancer_parse(const char *json, size_t len, struct load_balancer *ret, struct error *err) must_check;

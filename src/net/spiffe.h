/*
 * A client of the SPIFFE Workload API (the "SPIFFE Workload API" and "SPIFFE Workload Endpoint" specifications): one
 * stream over the agent's unix socket, FetchX509SVID, whose every message is the whole identity. It is opened anew with
 * backoff when it ends. The last identity stays in use while the agent is away, until it expires. What requests began
 * with stays theirs; those that follow get the new one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "net/http.h"

struct event_base;
struct spiffe;

struct spiffe_options {
    const char *socket;  /* the agent's; path */
    const char *peer_id; /* the SPIFFE ID that servers have to have; NULL: any of the daemon's own trust domain */
    const struct log *log;
    /* From the loop: there is an identity and was none, or it turned out for the first time that none comes. */
    void (*news)(void *arg); /* may be NULL */
    void *arg;
};

/* The options are copied, but not what they lead to. It begins with the next turn of the loop. */
struct spiffe *spiffe_new(struct event_base *base, struct http *http, const struct spiffe_options *options) must_check;
void spiffe_free(struct spiffe *s); /* NULL is allowed */

/* The agent was asked, and something came of it. It is within some seconds. */
bool spiffe_settled(const struct spiffe *s);

/* -1: there is no identity that can be used now; ERROR_RETRY says why, and what to do. To be asked before each request:
 * without one nothing is to be sent. */
int spiffe_usable(const struct spiffe *s, struct error *err) must_check;

/* For an http_endpoint. The pointer is good for the life of s; what it leads to changes with each identity. Only where it
 * is usable. */
const struct http_tls *spiffe_tls(const struct spiffe *s);

/* What /status and the doctor report of it. */
struct spiffe_state {
    const char *socket;
    const char *id;      /* NULL: none yet */
    int64_t not_after_s; /* of the SVID; INT64_MAX: none */
    const char *peer_id; /* that is expected; NULL: any of the daemon's own trust domain */
    bool expired;
    const char *problem; /* why the stream is down; NULL: it is not */
};
struct spiffe_state spiffe_state(const struct spiffe *s);

/* The SPIFFE ID of the server at that URL, as it was seen last; NULL: not yet. */
const char *spiffe_peer_seen(const struct spiffe *s, const char *base_url);

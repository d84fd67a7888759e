/*
 * Does a port expect the PROXY protocol? Four short connections side by side ask it, HTTP and TLS with a header and
 * without. No credentials are sent, no answer is read further than its first bytes, nothing is left open.
 *
 * PROXY protocol: https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt. The header is of version 2 and says
 * LOCAL, as those of health checks do: no client address is sent. A receiver that wants a header has to close a
 * connection without one; one that knows of none takes its bytes for a broken request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* What a port speaks is not known beforehand, so it is spoken to in both. */
enum proxy_talk { PROXY_TALK_HTTP, PROXY_TALK_TLS, PROXY_TALKS };

/* From the least to the most informative. */
enum proxy_reply {
    PROXY_REPLY_UNREACHED, /* there was no connection */
    PROXY_REPLY_SILENT,    /* connected, and nothing came in time */
    PROXY_REPLY_CLOSED,    /* it ended the connection without a word */
    PROXY_REPLY_ODD,       /* bytes that are neither HTTP nor TLS */
    PROXY_REPLY_REFUSED,   /* an answer that says "what is this?": HTTP 400, an alert of TLS, the other language */
    PROXY_REPLY_SPOKE,     /* a proper answer */
};

/* More than is needed of any answer. */
#define PROXY_TALK_MAX_BYTES 64

/* The whole of what one connection says. */
void proxy_talk_write(enum proxy_talk talk, bool with_header, struct buf *out);

/* What an answer that begins so is: SPOKE, REFUSED or ODD. False: more bytes are needed. */
bool proxy_talk_read(enum proxy_talk talk, const unsigned char *bytes, size_t len, enum proxy_reply *ret) must_check;

/* Of one port. */
struct proxy_replies {
    enum proxy_reply plain[PROXY_TALKS];
    enum proxy_reply headed[PROXY_TALKS];
};

enum proxy_verdict {
    PROXY_UNKNOWN,   /* nothing can be concluded */
    PROXY_UNREACHED, /* no connection at all */
    PROXY_WANTED,    /* it answers with a header only */
    PROXY_UNWANTED,  /* it answers without one, and with one it does not, or not properly */
    PROXY_EITHER,    /* it answers properly with and without */
};

enum proxy_verdict proxy_talk_judge(const struct proxy_replies *r);
/* Which of the two the port speaks, as far as it answered properly; PROXY_TALKS: not known. */
enum proxy_talk proxy_talk_language(const struct proxy_replies *r);
/* "without a PROXY header it answers HTTP, with one it closes the connection": what was seen. Allocates. */
char *proxy_talk_seen(const struct proxy_replies *r) must_check;

struct event_base;
struct proxy_probe;

/* done: once, from the loop, within timeout_ms; the probe is freed after it. address: an IP literal; anything else is
 * not reached. os_error: why the first connection could not be made; 0: it could, or it took too long. */
struct proxy_probe *proxy_probe_start(struct event_base *base, const char *address, uint16_t port, uint64_t timeout_ms,
                                      void (*done)(void *arg, const struct proxy_replies *replies, int os_error),
                                      void *arg) must_check;
/* Ends it without calling back. NULL is allowed. */
void proxy_probe_cancel(struct proxy_probe *p);

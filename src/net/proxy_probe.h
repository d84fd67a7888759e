/*
 * Asks one port whether it expects the PROXY protocol: four short connections side by side, HTTP and TLS with a header
 * and without (net/proxy_talk). No credentials are sent, no answer is read further than its first bytes, nothing is
 * left open.
 */
#ifndef NET_PROXY_PROBE_H
#define NET_PROXY_PROBE_H

#include <stdint.h>

#include "net/proxy_talk.h"

struct event_base;
struct proxy_probe;

/* done: once, from the loop, within timeout_ms; the probe is freed after it. address: an IP literal; anything else is
 * not reached. os_error: why the first connection could not be made; 0: it could, or it took too long. */
struct proxy_probe *proxy_probe_start(struct event_base *base, const char *address, uint16_t port, uint64_t timeout_ms,
                                      void (*done)(void *arg, const struct proxy_replies *replies, int os_error),
                                      void *arg) must_check;
/* Ends it without calling back. NULL is allowed. */
void proxy_probe_cancel(struct proxy_probe *p);

#endif

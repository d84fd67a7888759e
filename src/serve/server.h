/*
 * The daemon's own HTTP listener: GET and HEAD of /healthz, /livez, /readyz, /metrics; one request a connection. Bounded: at
 * most 64 connections, 8 KiB of headers, 1 KiB of body, and 10 s from accept to the last byte of the answer, however busily
 * the other side sends or reads. Further connections wait in the kernel's queue, and as long as they do, it is 0.5 s. Out of file
 * descriptors it looks for connections every 0.5 s only.
 */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"

struct event_base;
struct metrics;
struct server;

struct server_callbacks {
    /* Writes one "[+]part ok" or "[-]part: why" line for each part; true where all are ready. */
    bool (*ready)(void *arg, struct buf *body);
    /* Alive: the loop turned recently. false answers 500. */
    bool (*alive)(void *arg, struct buf *body);
};

/* host "" listens on every address, both families. port 0: the kernel chooses (tests). ERROR_FATAL naming the address. The
 * process has to ignore SIGPIPE: libevent writes without MSG_NOSIGNAL. log may be NULL. */
struct server *server_new(struct event_base *base, const char *host, uint16_t port, struct metrics *metrics,
                          const struct log *log, const struct server_callbacks *callbacks, void *arg,
                          struct error *err) must_check;
void server_free(struct server *s); /* closes all connections; before the event base is freed */
uint16_t server_port(const struct server *s);
/* Other limits for new connections; for tests, which have no 10 s. */
void server_set_limits(struct server *s, unsigned max_connections, uint64_t request_ms);
unsigned server_connections(const struct server *s); /* open ones */

#endif

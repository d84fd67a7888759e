/*
 * The daemon's own HTTP listener: GET /healthz, /livez, /readyz, /metrics. Bounded: at most 64 connections, small headers,
 * a total deadline of 10 s for each request.
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

/* host "" listens on every address, both families. port 0: the kernel chooses (tests). ERROR_FATAL naming the address. */
struct server *server_new(struct event_base *base, const char *host, uint16_t port, struct metrics *metrics,
                          const struct log *log, const struct server_callbacks *callbacks, void *arg,
                          struct error *err) must_check;
void server_free(struct server *s);
uint16_t server_port(const struct server *s);

#endif

/*
 * The daemon's own HTTP listener: GET and HEAD of /healthz, /livez, /readyz, /metrics, and with a status page, of /
 * (the page), /status (its JSON), /status/stream (the same by server-sent events) and, for clients on this machine, /plan; one
 * request a connection.
 * Bounded: at most 64 connections, 8 KiB of headers, 1 KiB of body, and 10 s from accept to the last byte of the
 * answer, however slowly the peer sends or reads. Further connections wait in the kernel's queue; while some wait, the
 * limit is 0.5 s, and 0.1 s for one that has sent no request. Out of file descriptors it accepts every 0.5 s only. Streams have no deadline; there are at most 8
 * (serve/status_feed), and they are the first to be closed when connections have to wait: no page keeps a probe out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"

struct event_base;
struct metrics;
struct server;
struct status_feed;

enum server_part { SERVER_PROBES = 1, SERVER_METRICS = 2, SERVER_PAGE = 4, SERVER_ALL = 7 };

struct server_callbacks {
    unsigned parts; /* of server_part, those that are answered; 0: all */
    /* Writes one "[+]part ok" or "[-]part: why" line for each part; true if ready. */
    bool (*ready)(void *arg, struct buf *body);
    /* Alive: the loop ran recently. false answers 500. */
    bool (*alive)(void *arg, struct buf *body);
    /* The status page's JSON, as serve/status_feed wants it. NULL: there is no such page. */
    void (*status)(void *arg, struct buf *json, size_t *ret_news_at);
    /* The JSON of /plan, by what stands behind its '?'. NULL where there is no status page. */
    void (*plan)(void *arg, const char *query, struct buf *json);
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

/* The status may have changed: its streams get it. From anywhere; nothing happens before the loop runs. s NULL:
 * nothing. */
void server_status_changed(struct server *s);
struct status_feed *server_status_feed(struct server *s); /* NULL: no status page; for tests */

/*
 * The main loop: informers fill the caches, bursts are coalesced, the desired state is computed and handed to the
 * targets; readiness and metrics are kept. One thread, one event loop; nothing here blocks.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

struct settings;
struct controller;
struct event_base;
struct kube_access;

/* settings outlives the controller. ERROR_FATAL: address in use, certificates unreadable, no memory for libcurl. */
struct controller *controller_new(struct event_base *base, struct settings *settings, const struct kube_access *access,
                                  const char *version, const struct log *log, struct error *err) must_check;
void controller_free(struct controller *c);

/* The one folder that is written to (STATE_DIR), for host/sandbox; -1: none. */
int controller_state_fd(const struct controller *c);

void controller_start(struct controller *c);

/* SIGHUP: compares HAProxy with the desired state now, and ends waits for retries of Kubernetes. */
void controller_compare(struct controller *c);

/* SIGTERM: finishes or aborts the transaction in hand, saves what drains (servers/shutdown.c), and ends the loop within 4 s. */
void controller_shutdown(struct controller *c);
/* By itself once all is done (`apply`); after that time it has failed, and the log says at what. */
void controller_shutdown_when_done(struct controller *c, uint64_t within_ms);
/* It ended because it cannot go on, which the log says: to be started again. */
bool controller_failed(const struct controller *c);

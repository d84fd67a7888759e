/*
 * The watch of the EndpointSlices of all Services. Where they may not be read (403, 404), the daemon goes on without them; it
 * asks again and takes them up once they can be read.
 */
#ifndef DAEMON_SERVICES_SLICES_WATCH_H
#define DAEMON_SERVICES_SLICES_WATCH_H

#include <stdbool.h>

#include "base/compiler.h"

struct checks;
struct event_base;
struct kube_client;
struct log;
struct service_slices;
struct slices_watch;
struct source;
struct telemetry;

/* Borrowed. nodes: a refusal counts only if it is newer than what that source read. changed: from the loop or from inside
 * libcurl, another slice or another answer to the questions below; cause is valid during the call. */
struct slices_watch_options {
    struct kube_client *kube;
    struct telemetry *telemetry; /* NULL: not measured */
    const struct log *log;
    const struct source *nodes;
    void (*changed)(void *arg, const char *cause);
    void *arg;
};

struct slices_watch *slices_watch_new(struct event_base *base, const struct slices_watch_options *options) must_check;
void slices_watch_free(struct slices_watch *w); /* NULL is allowed */
void slices_watch_start(struct slices_watch *w);
void slices_watch_stop(struct slices_watch *w);
void slices_watch_poke(struct slices_watch *w);
void slices_watch_settle(struct slices_watch *w); /* soon, as the nodes were read */

struct service_slices *slices_watch_slices(const struct slices_watch *w);
bool slices_watch_known(const struct slices_watch *w);   /* read completely once, and still allowed */
bool slices_watch_settled(const struct slices_watch *w); /* known, or refused */
bool slices_watch_ready(const struct slices_watch *w, struct checks *checks);

#endif

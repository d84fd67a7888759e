/*
 * What a template set watches, watched: each resource is looked up at the API server (kube/discovery), then followed by an
 * informer, or by one for each namespace that the set lists. What is not served is named, and asked for again with growing
 * pauses; templates see no object of it until then. What may not be watched (403) is waited for: nothing is rendered of a part. One
 * that comes with another namespace later is not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct checks;
struct event_base;
struct informer_status;
struct losses;
struct objects;
struct template_set;
struct template_source_options;
struct watches;

/* changed: an object did, or more is known of what can be watched; cause is valid in the call. From the loop, where requests
 * may be started. */
struct watches *watches_new(struct event_base *base, struct template_set *set,
                            const struct template_source_options *options,
                            void (*changed)(void *arg, const char *cause), void *arg) must_check;
void watches_free(struct watches *w); /* once for watches_new, and for each watches_share; NULL is allowed */
/* The same for another set, where that watches the same in the same order; NULL: it does not, or w is NULL. follows: it may list
 * other namespaces, and from now on those are watched. */
struct watches *watches_share(struct watches *w, struct template_set *set, bool follows) must_check;
void watches_start(struct watches *w);
void watches_stop(struct watches *w);
void watches_poke(struct watches *w); /* asks again now */

/* A resource for each watch, in their order. */
struct objects *watches_objects(const struct watches *w);
struct losses *watches_losses(const struct watches *w);
/* Each resource has been read, or is not served. */
bool watches_settled(struct watches *w);
/* Whether one is known well enough for a render. complete: all were before it, so that it holds up no other. */
bool watches_decides(const struct informer_status *status, bool complete);
/* Adds a check for each. */
bool watches_ready(const struct watches *w, struct checks *checks);

struct watch_view {
    const char *name, *resource;    /* "ingresses", "networking.k8s.io/v1 Ingress" */
    const char *state;              /* "synced", "stale", "waiting", "not served", "refused" */
    bool synced;                    /* all of it was read; a stale one, too */
    size_t objects, bytes, delayed; /* removals: of endpoints, where it has those */
    char problem[600];              /* "": none */
};
size_t watches_count(const struct watches *w);
void watches_view(const struct watches *w, size_t i, struct watch_view *ret);

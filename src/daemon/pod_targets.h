/*
 * The HAProxies of a template set's `targets`: pods, each with a Data Plane API, followed by an informer. One that runs and has an
 * address becomes a target (daemon/targets), ready or not, as the configuration is what makes it ready; one that is being
 * deleted, or is another pod of that name, is one no more. Every replica follows them, the one that leads has the targets.
 */
#pragma once

#include "daemon/daemon.h"

struct clients;
struct clients_hooks;
struct pod_targets;
struct targets;
struct template_targets;

#define POD_TARGETS_MAX 64 /* further pods are left out, by name */

/* hooks: of their connections. All borrowed. */
struct pod_targets *pod_targets_new(const struct daemon *in, struct clients *clients,
                                    const struct clients_hooks *hooks) must_check;
/* In all of these NULL is allowed: there are no templates. */
void pod_targets_free(struct pod_targets *p); /* after the targets */

/* Those of the set that is in use from now on; pods of an earlier one stay until these are known. ERROR_INVALID: it has
 * targets and the settings have HAProxies, or neither has; or what it says cannot be followed. Not from inside libcurl. */
int pod_targets_follow(struct pod_targets *p, const struct template_targets *t, struct error *err) must_check;
void pod_targets_poke(struct pod_targets *p);
void pod_targets_stop(struct pod_targets *p);

/* t gets them, those that are there now at once. NULL: it is gone, or stops. */
void pod_targets_lead(struct pod_targets *p, struct targets *t);

/* Adds how the watch stands, and how many there are. */
bool pod_targets_ready(const struct pod_targets *p, struct checks *checks);

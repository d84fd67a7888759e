/*
 * All HAProxies: each has an instance (haproxy/instance) and the engines that drive it, and converges independently;
 * one that is down delays no other.
 */
#pragma once

#include "configuration/configuration.h"
#include "daemon/daemon.h"
#include "haproxy/instance.h"
#include "servers/servers.h"

struct driver;
struct targets;

struct target {
    struct instance *instance;
    struct servers *servers;             /* NULL: no servers are managed */
    struct configuration *configuration; /* NULL: no whole configuration is */
    size_t number;                       /* of it there */
    char *pod;                           /* "ns/name"; NULL: it is one of the settings */
};

/* One that is no HAProxy of the settings. */
struct target_addition {
    struct driver *driver; /* taken over, whatever comes of it */
    const char *pod;       /* copied */
    const char *identity;  /* no other one ever has it; copied */
    /* Its instance is freed: what the driver uses can be, too. */
    void (*gone)(void *arg);
    void *arg;
};

/* For each of them; the driver of `instance` is filled in. What the options borrow outlives the targets. */
struct targets_options {
    struct instance_options instance;
    struct servers_options servers;
    struct configuration *configuration; /* NULL: none */
};

/* The drivers are taken over, whatever comes of it; the list is not. */
struct targets *targets_new(struct event_base *base, const struct targets_options *options,
                            struct driver *const *drivers, size_t count, struct error *err) must_check;
void targets_free(struct targets *t); /* NULL is allowed */

/* One more, started at once; it gets the configuration that the others have. -1: `gone` is not called. For a
 * configuration alone: there are no servers. */
int targets_add(struct targets *t, const struct target_addition *a, struct error *err) must_check;
/* It counts no more from now on. Ends what it has in hand, and then is freed: nothing waits for that. */
void targets_remove(struct targets *t, const char *identity);

/* As those of servers/servers and haproxy/instance. */
void targets_start(struct targets *t);
void targets_set_desired(struct targets *t, size_t backend, const struct desired *desired, const char *cause,
                         uint64_t received_us);
void targets_apply(struct targets *t);
void targets_refresh(struct targets *t);
/* stopped is called once, when the last one has stopped (perhaps at once). */
void targets_stop(struct targets *t, void (*stopped)(void *arg), void *arg);
void targets_end_traces(struct targets *t); /* NULL is allowed */
size_t targets_count(const struct targets *t);
const struct target *targets_at(const struct targets *t, size_t i);
/* True if any of them is ready; all are listed. */
bool targets_ready(const struct targets *t, struct checks *checks);

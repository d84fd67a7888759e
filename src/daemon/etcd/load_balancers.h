/* The load balancers that take what is published, as they say themselves (configuration/load_balancer): read once, then watched. */
#ifndef DAEMON_ETCD_LOAD_BALANCERS_H
#define DAEMON_ETCD_LOAD_BALANCERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "configuration/load_balancer.h"

struct etcd_client;
struct event_base;
struct load_balancers;
struct settings;
struct telemetry;

#define LOAD_BALANCERS_MAX 10000 /* the others are not shown; logged once */

struct load_balancers *load_balancers_new(struct event_base *base, const struct settings *settings,
                                          struct etcd_client *client, const struct log *log) must_check;
/* NULL is allowed in all of these. */
void load_balancers_free(struct load_balancers *l);
void load_balancers_start(struct load_balancers *l);
void load_balancers_stop(struct load_balancers *l);
size_t load_balancers_count(const struct load_balancers *l);
/* By their names. Borrowed until the loop goes on. */
const struct load_balancer *load_balancers_at(const struct load_balancers *l, size_t i);
/* version: that is published; 0: not known. What one says of itself may be of an older one. */
enum load_balancer_state load_balancer_stands(const struct load_balancer *l, uint64_t version);
void load_balancers_measure(const struct load_balancers *l, uint64_t version, const struct telemetry *t);

#endif

/* The load balancers that take what is published, as they say themselves (configuration/load_balancer): read once, then watched. */
#pragma once

#include "configuration/load_balancer.h"
#include "daemon/daemon.h"

struct culprits_verdict;
struct etcd_client;
struct load_balancers;

#define LOAD_BALANCERS_MAX 10000 /* the others are not shown; logged once */

/* changed: any is another one; from the loop. */
struct load_balancers *load_balancers_new(const struct daemon *in, struct etcd_client *client,
                                          void (*changed)(void *arg), void *arg) must_check;
void load_balancers_free(struct load_balancers *l); /* NULL is allowed */
void load_balancers_start(struct load_balancers *l);
void load_balancers_stop(struct load_balancers *l);
/* By their names. Borrowed until the loop goes on. */
const struct load_balancer *load_balancers_list(const struct load_balancers *l, size_t *ret_count);
/* version: that is published; 0: not known. What one says of itself may be of an older one. */
enum load_balancer_state load_balancer_stands(const struct load_balancer *l, uint64_t version);
/*
 * What they make of the version that is published: it is refused where more than half of them refuse it, and accepted where half of
 * them run it, so that one with a wrong HAProxy is outvoted by one with a good one. Neither counts one that cannot say: whose HAProxy
 * does not answer, which cannot read etcd, or whose operator has it run another version. waits: those that have said nothing of it yet
 * count. False: it is not decided, or there are none. ret->why is borrowed until the loop goes on.
 */
bool load_balancers_judge(const struct load_balancers *l, uint64_t version, const char *sha256, bool waits,
                          struct culprits_verdict *ret);
void load_balancers_measure(const struct load_balancers *l, uint64_t version);

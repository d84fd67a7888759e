/*
 * What a load balancer (CONFIG_SOURCE=etcd) says of itself in etcd: which version it has read and how its HAProxies stand with it, at
 * PATH/status/NAME (configuration/load_balancer). The key is under a lease of LEASE_S seconds, so that one that is gone is seen to
 * be. It says nothing twice, and waits for nothing: etcd that is away costs HAProxy nothing.
 */
#pragma once

#include "daemon/daemon.h"

#define ETCD_REPORT_LEASE_S 60

struct configuration;
struct culprits_verdict;
struct etcd_client;
struct etcd_report;
struct etcd_source;

struct etcd_report *etcd_report_new(const struct daemon *in, struct etcd_client *client,
                                    const struct etcd_source *source) must_check;
/* NULL is allowed in all of these. */
void etcd_report_free(struct etcd_report *r);
/* This replica leads, and drives that from now on; NULL: no longer, and it says nothing more. */
void etcd_report_lead(struct etcd_report *r, const struct configuration *c);
/* Something happened: what there is to say is said soon. v: what became of what the source has; NULL: nothing is known. Copied. */
void etcd_report_poke(struct etcd_report *r, const struct culprits_verdict *v);

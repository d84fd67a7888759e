/*
 * CONFIG_TARGET=etcd: what CONFIG_SOURCE has is published for load balancers, as configuration/published.h says. Each round reads what
 * lies there; where it is another configuration, or incomplete, its parts are put first, then the manifest and the configuration in one
 * transaction that compares all that was read: of two producers none loses what the other one wrote unseen. Old versions and parts
 * that no manifest names are deleted behind it. It reads again with each RESYNC_PERIOD, and repairs. Of a document that is only to be
 * checked, its parts and its manifest at PATH/versions/trial are put; that goes with the next one that is none.
 */
#pragma once

#include "daemon/daemon.h"

struct document;
struct etcd_client;
struct publisher;

#define PUBLISHER_VERSIONS 5

/* versions: that are kept, the newest included. published: what the source has lies there, or is found so; NULL: not called. */
struct publisher *publisher_new(const struct daemon *in, struct etcd_client *client, unsigned versions,
                                void (*published)(void *arg), void *arg) must_check;
/* NULL is allowed in all of these. */
void publisher_free(struct publisher *p);
/* This replica leads, and so writes; or no longer. */
void publisher_lead(struct publisher *p, bool leads);
void publisher_set(struct publisher *p, struct document *d); /* referenced; the latest wins */
/* The source has nothing that can be used: what is published stays. */
void publisher_refuse(struct publisher *p, const struct error *err);
void publisher_poke(struct publisher *p); /* compares now */
bool publisher_ready(const struct publisher *p, struct checks *checks);

struct publisher_view {
    bool leads;
    uint64_t version;                /* that lies there; 0: not known */
    const char *sha256;              /* of it, where it is the source's; NULL: it is not, or not known */
    const struct document *document; /* the source's; NULL: it has none */
    const char *problem;             /* NULL: none */
    int64_t published_ms;            /* wall clock; 0: not known */
};
struct publisher_view publisher_view(const struct publisher *p);

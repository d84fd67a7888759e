/*
 * The source of CONFIG_SOURCE=etcd: what a producer published (configuration/published.h), read as it was at one revision and
 * followed from there by a watch on its one key; with each RESYNC_PERIOD it is checked whether it is still that. Sums are checked; what is
 * incomplete changes nothing. An older producer's value, with neither manifest nor versions, is taken as it is. What is only to be
 * checked (PATH/versions/trial) is taken as long as it lies there, and is newer than that.
 */
#pragma once

#include "daemon/daemon.h"

struct etcd_client;
struct etcd_source;

/* Borrowed. */
struct etcd_source_options {
    const struct daemon *in;
    struct etcd_client *client;
    /* From the loop. files: the callee's to empty. -1: it can be no configuration, which was logged. */
    int (*made)(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files);
    void (*failed)(void *arg, const struct error *err); /* it names the source */
    void *arg;
};

struct etcd_source *etcd_source_new(const struct etcd_source_options *options) must_check;
extern const struct source_ops etcd_source_ops; /* of a struct etcd_source */

const char *etcd_source_problem(const struct etcd_source *s); /* why what lies there cannot be used; NULL: it can */
bool etcd_source_trial(const struct etcd_source *s);       /* what was made last, or is being, is only to be checked */
uint64_t etcd_source_version(const struct etcd_source *s); /* of the manifest that was taken last; 0: it had none */

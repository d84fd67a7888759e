/*
 * The source of CONFIG_SOURCE=etcd: what a producer published (configuration/published.h), read as it was at one revision and
 * followed from there by a watch on its one key; with each RESYNC_PERIOD it is checked whether it is still that. Sums are checked; what is
 * incomplete changes nothing. An older producer's value, with neither manifest nor versions, is taken as it is. What is only to be
 * checked (PATH/versions/trial) is taken as long as it lies there, and is newer than that.
 */
#ifndef DAEMON_ETCD_ETCD_SOURCE_H
#define DAEMON_ETCD_ETCD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"

struct checks;
struct etcd_client;
struct etcd_source;
struct event_base;
struct settings;
struct storage_files;

/* Borrowed. */
struct etcd_source_options {
    const struct settings *settings;
    struct etcd_client *client;
    const struct log *log;
};

/* From the loop. */
struct etcd_source_callbacks {
    /* files: the callee's to empty. */
    void (*made)(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files);
    void (*failed)(void *arg, const struct error *err); /* it names the source */
};

struct etcd_source *etcd_source_new(struct event_base *base, const struct etcd_source_options *options,
                                    const struct etcd_source_callbacks *callbacks, void *arg) must_check;
/* NULL is allowed in all of these. */
void etcd_source_free(struct etcd_source *s);
void etcd_source_start(struct etcd_source *s);
void etcd_source_stop(struct etcd_source *s);
void etcd_source_poke(struct etcd_source *s); /* reads it anew */
bool etcd_source_ready(const struct etcd_source *s, struct checks *checks);
const char *etcd_source_problem(const struct etcd_source *s); /* why what lies there cannot be used; NULL: it can */
bool etcd_source_trial(const struct etcd_source *s);       /* what was made last, or is being, is only to be checked */
uint64_t etcd_source_version(const struct etcd_source *s); /* of the manifest that was taken last; 0: it had none */

#endif

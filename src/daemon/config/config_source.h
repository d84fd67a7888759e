/*
 * Where a whole configuration comes from (CONFIG_SOURCE): a file, a key of a Secret, templates, annotated Services, or etcd. What it gave last is kept, so that
 * a new leader gets it at once; while it has nothing that can be used, the last good document stays.
 */
#ifndef DAEMON_CONFIG_SOURCE_H
#define DAEMON_CONFIG_SOURCE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "configuration/document.h"

struct buf;
struct checks;
struct config_trace;
struct config_source;
struct culprits_verdict;
struct etcd_client;
struct etcd_source;
struct event_base;
struct events;
struct kube_client;
struct pod_targets;
struct secret_object;
struct services_source;
struct settings;
struct telemetry;
struct template_source;

/* Borrowed. */
struct config_source_options {
    const struct settings *settings;
    enum document_use use;
    struct kube_client *kube; /* NULL: not needed */
    struct etcd_client *etcd; /* NULL: not needed */
    struct pod_targets *pods; /* NULL: no templates */
    int state_fd;             /* of STATE_DIR, to write to; -1: nothing is kept */
    struct telemetry *telemetry;
    struct config_trace *trace; /* NULL: none */
    const struct log *log;
};

/* From the loop. */
struct config_source_callbacks {
    void (*changed)(void *arg, struct document *d);     /* borrowed */
    void (*followed)(void *arg, struct document *d);    /* the same, while what failed last still does */
    void (*failed)(void *arg, const struct error *err); /* it names the source */
    void (*paused)(void *arg, bool paused);             /* by an annotation: nothing is to be written */
};

/* NULL, ERROR_FATAL: no inotify. */
struct config_source *config_source_new(struct event_base *base, const struct config_source_options *options,
                                        const struct config_source_callbacks *callbacks, void *arg,
                                        struct error *err) must_check;
/* NULL is allowed in all of these. */
void config_source_free(struct config_source *s);
void config_source_start(struct config_source *s);
void config_source_stop(struct config_source *s);
void config_source_poke(struct config_source *s); /* SIGHUP: asks again now */
void config_source_give(struct config_source *s); /* calls back with what it has now */
void config_source_lead(struct config_source *s, bool leads);
/* This replica leads: notes of templates about objects are reported, now and whenever it is another thing; NULL: no longer. */
void config_source_tell_to(struct config_source *s, struct events *events);
/* Its document has places of servers, which depend on what was given before. */
bool config_source_places(const struct config_source *s);
/* That is what HAProxies have in their files, rather than what it gave itself: calls back with a document made by it. Takes the text. */
void config_source_see(struct config_source *s, struct buf *text);
/* What became of that document. */
void config_source_judge(struct config_source *s, const struct document *d, const struct culprits_verdict *v);
/* The same of what it has now; false: that is not known. Borrowed until the loop goes on. */
bool config_source_verdict(const struct config_source *s, struct culprits_verdict *ret);
void config_source_measure(const struct config_source *s);
/* What it reads in etcd; NULL: nothing. */
const struct etcd_source *config_source_etcd(const struct config_source *s);
/* Its templates; NULL: none. */
const struct template_source *config_source_template(const struct config_source *s);
/* Its annotated Services; NULL: none. */
const struct services_source *config_source_services(const struct config_source *s);
/* The Secret or ConfigMap, as known now; NULL: there is none, or it is not known. Borrowed until the loop goes on. */
const struct secret_object *config_source_secret(const struct config_source *s);
bool config_source_has(const struct config_source *s); /* a document */
bool config_source_ready(const struct config_source *s, struct checks *checks);

#endif

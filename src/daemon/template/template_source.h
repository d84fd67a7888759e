/*
 * The source of CONFIG_SOURCE=template: a set (daemon/template/set_source), what it watches (daemon/template/watches), and
 * renders of both (template/render). The first change is rendered at once, then no sooner than 100 ms after the
 * last beginning; one that comes while a render is under way is rendered after it. The same output is given once. While the newest
 * set is wrong, or cannot be rendered, the last good one is rendered with the objects as they are then: endpoints go on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "daemon/template/renders.h"

struct buf;
struct checks;
struct config_trace;
struct event_base;
struct events;
struct kube_client;
struct pod_targets;
struct quarantine;
struct remarks;
struct render_options;
struct secret_object;
struct set_source;
struct settings;
struct source_ops;
struct storage_files;
struct storage_known;
struct metric_table;
struct template_set;
struct template_source;
struct watches;

/* Borrowed. */
struct template_source_options {
    const struct settings *settings;
    struct kube_client *kube;
    struct pod_targets *pods; /* that follow the set's targets */
    struct quarantine *quarantine;
    struct storage_known *known; /* certificates of configurations before */
    struct host_memory *hosts;   /* the owners of hosts; NULL: none are known, and none are kept */
    int state_fd;                /* of STATE_DIR, where what is seen is kept; -1: it is not */
    struct metric_table *metrics;
    struct config_trace *trace; /* NULL: none */
    const struct log *log;
};

/* From the loop. */
struct template_source_callbacks {
    /* What was rendered. files: the callee's to empty. ERROR_INVALID: it is no configuration; err names the origin. */
    int (*made)(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files,
                struct error *err);
    void (*changed)(void *arg);                         /* what was made last is what the newest set gives */
    void (*followed)(void *arg);                        /* it is what the last good one gives; what failed still does */
    void (*failed)(void *arg, const struct error *err); /* it names the set */
};

/* NULL: ERROR_INVALID, where this build has no templates: says what to build it with; ERROR_FATAL: no inotify. */
struct template_source *template_source_new(struct event_base *base, const struct template_source_options *options,
                                            const struct template_source_callbacks *callbacks, void *arg,
                                            struct error *err) must_check;
/* A struct template_source. Where this replica leads, what templates say of objects becomes Events on them, once for as long as they
 * say it, and what they see is kept in STATE_DIR. Its object is the ConfigMap of the set. */
extern const struct source_ops template_source_ops;
/* What it gave last has places of servers (slots): they depend on what it gave before. */
bool template_source_places(const struct template_source *s);
/* In place of that: what HAProxies have. Takes the text, renders, and gives what comes of it, even the same. */
void template_source_see(struct template_source *s, struct buf *text);

struct template_view {
    const char *from;            /* "ConfigMap ns/name", "pods:ns", or the folder's path */
    const char *set_hash;        /* of the last set that could be read; NULL: none yet */
    size_t set_bytes, templates; /* of it */
    const char *good_hash; /* of the one that is rendered in place of a newer one, which is wrong; NULL: it is not */
    const struct watches *watches; /* NULL: no set was read yet */
    struct renders_view renders;
    const struct remarks *remarks; /* of the last render that went well */
    const struct remarks *of_pods; /* of the objects of templates over pods; NULL: it is another set */
    const struct error *problem;   /* of the set or the last render; kind NONE: there is none */
};
struct template_view template_source_view(const struct template_source *s);

/* ---- set_source.c, for template_source.c alone ---- */

/*
 * Where the template set comes from (TEMPLATE_FROM): a folder, a ConfigMap, or the four objects of pods:NAMESPACE (template/pods);
 * each followed. What a folder or a ConfigMap gives is parsed, and the same bytes are not given twice.
 *
 * While one of the four is not known there is nothing; one that is gone or wrong is an error; a key that is wrong is left out,
 * reported by the log, and by an Event on its object from the replica that leads.
 */

/* From the loop. */
struct set_source_callbacks {
    void (*changed)(void *arg, struct template_set *set, size_t bytes); /* the callee's now */
    void (*failed)(void *arg, const struct error *err);                 /* it names the source */
};

/* NULL, ERROR_FATAL: no inotify. */
struct set_source *set_source_new(struct event_base *base, const struct template_source_options *options,
                                  const struct set_source_callbacks *callbacks, void *arg,
                                  struct error *err) must_check;
void set_source_free(struct set_source *s); /* NULL is allowed */
void set_source_start(struct set_source *s);
void set_source_stop(struct set_source *s);
void set_source_poke(struct set_source *s);

/* Before a render: reads STATISTICS_PASSWORD_FILE again. */
void set_source_refresh(struct set_source *s);
/* In the child of a render of the set that was given last, which ends with all of it: over pods, variables and certificates. */
void set_source_prepare(struct set_source *s, struct render_options *options);
void set_source_tell_to(struct set_source *s, struct events *events); /* NULL: another replica leads */

const char *set_source_name(const struct set_source *s); /* "ConfigMap ns/name", "pods:ns", or the folder's path */
/* Over pods: what was left out of the four objects; NULL: it is another source. */
const struct remarks *set_source_remarks(const struct set_source *s);
/* SHA-256 of what was given last, in hexadecimal digits; "": nothing, or it is wrong now. */
const char *set_source_hash(const struct set_source *s);
/* As known now; NULL: there is none, or it is a folder. Borrowed until the loop goes on. */
const struct secret_object *set_source_config_map(const struct set_source *s);
bool set_source_ready(const struct set_source *s, struct checks *checks);

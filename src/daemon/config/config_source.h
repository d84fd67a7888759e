/*
 * Where a whole configuration comes from (CONFIG_SOURCE): nowhere, a file, Secrets, templates, annotated Services, or etcd; each of these is
 * a struct source_ops. What it gave last is kept, so that a new leader gets it at once; while it has nothing that can be used, the last
 * good document stays.
 */
#pragma once

#include "configuration/document.h"
#include "daemon/daemon.h"

struct config_source;
struct config_trace;
struct culprits_verdict;
struct etcd_client;
struct pod_targets;

/* What a kind of source does. NULL: nothing, and it is ready. */
struct source_ops {
    void (*free)(void *source);
    void (*start)(void *source);
    void (*stop)(void *source);
    void (*poke)(void *source); /* SIGHUP: asks again now */
    /* leads: this replica does; what is said of objects becomes Events then. events NULL: none are written. */
    void (*lead)(void *source, bool leads, struct events *events);
    /* Where a newer document is being made: has that given once it is, even if it is the same, and true. NULL: never. */
    bool (*defer)(void *source);
    void (*measure)(const void *source); /* for a scrape */
    bool (*ready)(const void *source, struct checks *checks);
    /* The Secret or ConfigMap that it is read from. NULL: it is not known, or there is none. Borrowed until the loop goes on. */
    const struct secret_object *(*object)(const void *source);
    bool may_have_no_files; /* until it has brought some, HAProxy's own are left alone */
};

/* Borrowed. */
struct config_source_options {
    const struct daemon *in;
    enum document_use use;
    struct etcd_client *etcd;   /* NULL: not needed */
    struct pod_targets *pods;   /* NULL: no templates */
    int state_fd;               /* of STATE_DIR, to write to; -1: nothing is kept */
    struct config_trace *trace; /* NULL: none */
};

/* From the loop. */
struct config_source_callbacks {
    void (*changed)(void *arg, struct document *d);     /* borrowed */
    void (*followed)(void *arg, struct document *d);    /* the same, while what failed last still does */
    void (*failed)(void *arg, const struct error *err); /* it names the source */
    void (*paused)(void *arg, bool paused);             /* by an annotation: nothing is to be written */
};

/* NULL, ERROR_FATAL: no inotify. */
struct config_source *config_source_new(const struct config_source_options *options,
                                        const struct config_source_callbacks *callbacks, void *arg,
                                        struct error *err) must_check;
void config_source_free(struct config_source *s); /* NULL is allowed */
void config_source_start(struct config_source *s);
void config_source_stop(struct config_source *s);
void config_source_poke(struct config_source *s);
void config_source_give(struct config_source *s); /* calls back with what it has now */
void config_source_lead(struct config_source *s, bool leads, struct events *events);
/* For a new leader: as config_source_give, but not with what is being made anew just now. */
void config_source_begin(struct config_source *s);
/* Its document has places of servers, which depend on what was given before. */
bool config_source_places(const struct config_source *s);
/* That is what HAProxies have in their files, rather than what it gave itself: calls back with a document made by it. Takes the text. */
void config_source_see(struct config_source *s, struct buf *text);
/* What became of that document. */
void config_source_judge(struct config_source *s, const struct document *d, const struct culprits_verdict *v);
/* The same of what it has now; false: that is not known. Borrowed until the loop goes on. */
bool config_source_verdict(const struct config_source *s, struct culprits_verdict *ret);
void config_source_measure(const struct config_source *s);
/* The source itself, where it is of that kind; else NULL. */
const void *config_source_as(const struct config_source *s, const struct source_ops *kind);
/* As in struct source_ops. */
const struct secret_object *config_source_object(const struct config_source *s);
bool config_source_has(const struct config_source *s); /* a document */
bool config_source_ready(const struct config_source *s, struct checks *checks);

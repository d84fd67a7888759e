/*
 * The second engine in the daemon: from CONFIG_SOURCE to the configuration that the targets drive, and to what is reported
 * about it. The source is read by every replica; the configuration is there while this one leads. Without a CONFIG_SOURCE there is no
 * source, no configuration, and nothing is reported.
 */
#pragma once

#include "configuration/keep.h"
#include "daemon/daemon.h"

struct clients;
struct config_engine;
struct config_source;
struct configuration;
struct load_balancers;
struct pod_targets;
struct publisher;

/* What an operator asks of the running daemon by `haproxy-k8s-sync config rollback` and `config apply`: a line in this
 * file of STATE_DIR, which only the daemon's own user can write. The daemon removes it when it has done so. */
#define CONFIG_REQUEST_FILE "request"
#define CONFIG_REQUEST_APPLY "apply"       /* forget rejections, compare, and apply what the source has */
#define CONFIG_REQUEST_ROLLBACK "rollback" /* and a version: "rollback 3" */

/* All of it borrowed. */
struct config_engine_options {
    const struct daemon *in;
    struct settings *settings; /* its secrets are read again where they changed */
    struct pod_targets *pods;  /* NULL: no templates */
    size_t target_count;
    struct keep_rules keep; /* whose server lines are no document's */
};

/* From the loop. */
struct config_engine_callbacks {
    void (*read)(void *arg);    /* the source was read, or said why it cannot be: this replica may be a candidate */
    void (*lead)(void *arg);    /* config_engine_may_lead may say something else by now */
    void (*compare)(void *arg); /* `config apply` asks for what SIGHUP does */
};

/* NULL with ERROR_FATAL: STATE_DIR is unwritable, or there is no inotify. */
struct config_engine *config_engine_new(const struct config_engine_options *options,
                                        const struct config_engine_callbacks *callbacks, void *arg,
                                        struct error *err) must_check;
void config_engine_free(struct config_engine *e); /* after the targets, before the events; NULL is allowed */
/* Once, before it starts; events NULL: none are written. */
void config_engine_report_to(struct config_engine *e, struct events *events);
void config_engine_start(struct config_engine *e);
void config_engine_stop(struct config_engine *e);
void config_engine_poke(struct config_engine *e); /* SIGHUP: the source is asked again now */

/* False: another daemon has STATE_DIR still; `lead` is called, to ask again. */
bool config_engine_may_lead(struct config_engine *e);
/* After that: what the targets drive from now on, owned by e until it steps down; NULL: no CONFIG_SOURCE, or it goes to etcd. */
struct configuration *config_engine_lead(struct config_engine *e);
void config_engine_give(struct config_engine *e);       /* the targets are there: they get what the source has */
void config_engine_end_traces(struct config_engine *e); /* at the end, before the last of them are sent */
void config_engine_step_down(struct config_engine *e);  /* the targets are gone, or there were none yet */

/* Each adds its checks: the source has been read; the targets run what it has (nothing is added while another replica leads). */
bool config_engine_ready(const struct config_engine *e, struct checks *checks);
void config_engine_measure(const struct config_engine *e, const struct clients *clients); /* for a scrape */
bool config_engine_applied(const struct config_engine *e, struct checks *checks);
/* Both NULL but with CONFIG_TARGET=etcd. */
const struct publisher *config_engine_publisher(const struct config_engine *e);
const struct load_balancers *config_engine_load_balancers(const struct config_engine *e);
const struct config_source *config_engine_source(const struct config_engine *e);
/* The folder that is written to (STATE_DIR); -1: none. */
int config_engine_state_fd(const struct config_engine *e);

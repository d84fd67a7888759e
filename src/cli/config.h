/*
 * `config plan`, `validate` and `apply FILE`: a haproxy.cfg and each HAProxy, by the engine that the daemon runs
 * (configuration/). The first two write nothing. The settings are the daemon's; no Kubernetes is needed.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"

struct buf;
struct configuration;
struct document;
struct event_base;
struct page;
struct settings;

struct config_target {
    const char *url;
    const char *problem; /* of the connection; "": none */
};

/* Valid while it is shown. */
struct config_report {
    enum command_config what;
    const struct document *document;
    const struct configuration *configuration; /* what became of it with each of: */
    const struct config_target *targets;
    size_t count;
};

struct config_options {
    enum command_config what;
    const char *file; /* "-": standard input */
    uint64_t timeout_ms;
    const char *version; /* of the program */
    void (*show)(void *arg, const struct config_report *report);
    void *arg;
};

/* Runs the loop of base until each HAProxy has an answer or the time is over. -1: the file is no configuration
 * (ERROR_INVALID), or there is no way to a HAProxy; nothing is shown. */
int config_run(struct event_base *base, struct settings *settings, const struct log *log,
               const struct config_options *options, struct error *err) must_check;

void config_print(const struct config_report *r, struct page *p);
/* {"source", "sha256", "bytes", "targets": [{"url", "state", "reason", "effect", "reload_why", "commands":
 * ["set server b/n1 weight 5"], "files": (config_print_files), "changes": ["backend b: balance"], "change_count"}]};
 * effect: "none", "runtime" (by `commands` and those of `files`) or "reload" (reload_why); at most 20 commands and
 * changes are listed. */
void config_print_json(const struct config_report *r, struct buf *out);
/* 1 where a HAProxy rejects it or does not answer; else 2 for a plan that changes something; else 0. */
int config_status(const struct config_report *r) must_check;

#endif

/*
 * `config plan`, `validate` and `apply FILE`: a haproxy.cfg and each HAProxy, by the engine that the daemon runs
 * (configuration/). The first two write nothing. The settings are the daemon's; no Kubernetes is needed. Here: how their
 * results are shown (config_print.c).
 */
#pragma once

#include "cli/command.h"

struct buf;
struct configuration;
struct document;
struct page;

struct config_target {
    const char *url;
    const char *problem; /* of the connection; "": none */
};

/* Valid while it is shown. */
struct config_report {
    enum command_kind what;
    const struct document *document;
    const struct configuration *configuration; /* what became of it with each of: */
    const struct config_target *targets;
    size_t count;
};

void config_print(const struct config_report *r, struct page *p);
/* {"source", "sha256", "bytes", "targets": [{"url", "state", "reason", "effect", "reload_why", "commands":
 * ["set server b/n1 weight 5"], "files": [{"name", "effect", "why", "entries": {"new", "gone", "changed"}, "commands"}],
 * "changes": ["backend b: balance"], "change_count", "lines": [{"section", "line"}], "line_count"}]};
 * effect: "none", "runtime" (by `commands` and those of `files`) or "reload" (reload_why); at most 20 commands, changes
 * and lines are listed. */
void config_print_json(const struct config_report *r, struct buf *out);
/* 1 where a HAProxy rejects it or does not answer; else 2 for a plan that changes something; else 0. */
int config_status(const struct config_report *r) must_check;

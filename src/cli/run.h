/*
 * What each command does, once its words and the settings are known: a function for each, named by cli/command_table, and
 * what these have in common.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/log.h"
#include "base/page.h"
#include "cli/command.h"
#include "daemon/clients.h"
#include "daemon/mappings.h"
#include "report/metric_table.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

struct cfg_line_difference;
struct controller;
struct settings_findings;
struct yyjson_mut_doc;
struct yyjson_mut_val;

struct run {
    const struct command *command;
    const struct flags *flags;
    char **environ;
    const char *version, *commit; /* "" where it is not known */
    bool has_templates;
    struct settings *settings; /* NULL: the command reads none. They can be used, but for `doctor` */
    const struct settings_findings *findings;
    bool ok; /* they can */
};

/* The exit status. */
int run_version(const struct run *r) must_check;
int run_check_config(const struct run *r) must_check;
int run_inspect(const struct run *r) must_check; /* plan, explain */
int run_services(const struct run *r) must_check;
int run_doctor(const struct run *r) must_check;
int run_release(const struct run *r) must_check;
int run_config(const struct run *r) must_check;
int run_template(const struct run *r) must_check;
int run_copy_to(const struct run *r) must_check;
int run_completion(const struct run *r) must_check;

int run_fail(const struct error *err, int status); /* says why; returns that status */
/* -1: there are no backends whose servers the settings name. */
int run_manages_servers(const struct settings *s, struct error *err) must_check;

/* ---- show.c: standard output, as the command and the environment want it */

struct show {
    struct buf out;
    struct page page; /* writes to it */
    bool json;
};

void show_init(struct show *s, const struct run *r);
void show_fini(struct show *s);
/* Adds the document, which is freed, where JSON is asked for; else the text. */
void show_either(struct show *s, struct yyjson_mut_doc *doc, const char *text);
/* Brings it to standard output. The status, or 1 where it cannot be written. */
int show_end(struct show *s, int status) must_check;

/* For what goes to that file: colours and width as it, the command and the environment want them. */
void show_page_init(struct page *p, struct buf *out, FILE *to, const struct command *command, char *const *environ);
/* -1: it cannot be written. */
int show_text(const struct buf *b, FILE *to) must_check;
/* What differs between two haproxy.cfg: sections at that column, their lines at the second one. */
void show_lines(const struct cfg_line_difference *d, size_t column, size_t deeper, struct page *p);
/* "lines": [{"section", "line"}], "line_count" */
void show_put_lines(const struct cfg_line_difference *d, struct yyjson_mut_doc *doc, struct yyjson_mut_val *to);

/* ---- the ways to Kubernetes and each HAProxy */

/* How the Kubernetes API is reached, where it is needed at all: else ret stays zeroed. */
int start_access(const struct settings *settings, char **environ_, struct kube_access *ret,
                 struct error *err) must_check;

/* The exit status for what kept a command from starting: 78 where the settings name what cannot be used. */
int start_status(const struct error *err);

/* The answer is the output: what a daemon logs on its way is logged from that level on, or as -v asks. */
struct log run_log(const struct run *r, enum log_level least);
/* NULL: err says why. */
struct event_base *run_base(struct error *err) must_check;

struct session {
    struct event_base *base;
    struct log log;
    struct clients clients;
    struct mappings mappings;
    struct metric_table metrics; /* that nothing shows */
};

/* access NULL: Kubernetes is not asked. session_end in either case. */
int session_begin(const struct run *r, const struct kube_access *access, enum log_level least, struct session *ret,
                  struct error *err) must_check;
void session_end(struct session *s);

/* Runs the loop until *over is set. */
void run_until_over(struct event_base *base, const bool *over);
/* Runs the loop until settled says so, which is asked each poll_ms, something else ends the loop, or the time is over. */
void run_until(struct event_base *base, uint64_t timeout_ms, uint64_t poll_ms, bool (*settled)(void *arg), void *arg);

/* ---- start.c: the daemon up to its event loop, for the daemon itself and for check-config: what keeps the one from starting is
 * what the other reports */

struct start {
    struct kube_access access;
    struct event_base *base;
    struct controller *controller;
    const char *what; /* after a failure, for the log: "cannot start" */
};

/* Nothing is sent before the loop of base runs. settings and log outlive it. The exit status; err says why it is not 0.
 * start_fini in either case. */
int start_make(struct settings *settings, char **environ_, const char *version, const struct log *log,
               struct start *ret, struct error *err) must_check;
/* The last thing before the loop: what is needed once only (sockets that listen) is there by now. For good, where SECCOMP
 * is set. The exit status, as above. */
int start_enter(const struct start *s, const struct settings *settings, const struct log *log,
                struct error *err) must_check;
void start_fini(struct start *s);

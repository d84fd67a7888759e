/*
 * The daemon up to its event loop, for the daemon itself and for check-config: what keeps the one from starting is what the
 * other reports.
 */
#ifndef CLI_START_H
#define CLI_START_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "settings/kubeconfig/kubeconfig.h"

struct controller;
struct event_base;
struct settings;

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

/* How the Kubernetes API is reached, where it is needed at all: else ret stays zeroed. */
int start_access(const struct settings *settings, char **environ_, struct kube_access *ret,
                 struct error *err) must_check;

/* The exit status for what kept a command from starting: 78 where the settings name what cannot be used. */
int start_status(const struct error *err);

#endif

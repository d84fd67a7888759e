/*
 * Asks one Kubernetes API what `doctor` needs: whether it can be reached, its version, the user that it sees, and each
 * right. Leaves nothing behind.
 */
#ifndef CLI_DOCTOR_DOCTOR_KUBERNETES_H
#define CLI_DOCTOR_DOCTOR_KUBERNETES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kube/client.h"
#include "net/http.h"
#include "host/timer.h"
#include "cli/doctor/doctor_clock.h"
#include "cli/doctor/doctor_rights.h"

struct checks;
struct settings;
struct doctor_report;
struct doctor_section;
struct event_base;
struct kube_access;

/* How one of the requests ended. */
struct doctor_reply {
    bool asked;         /* there was an end */
    bool unsent;        /* it could not even be started: there are no credentials to send with it */
    int status;         /* 0: no answer */
    struct error error; /* kind NONE: what was asked for came */
};

struct doctor_kubernetes {
    struct kube_client *client; /* borrowed */
    struct http_request *request;
    struct kube_client_listener listener;
    bool plugin_ended; /* the plugin has ended: credentials that are missing now stay missing */
    struct timer deadline, later;
    int step;
    size_t right, verb; /* that is being asked */
    void (*done)(void *arg);
    void *arg;

    /* what came of it */
    struct http_connection connection; /* of the first request */
    struct doctor_reply reached, self, rights_reply;
    char *version; /* "v1.34.4"; NULL: not known */
    char *user;    /* NULL: not known */
    struct doctor_skew skew;
    struct doctor_rights rights;
};

/* done is called once, from the loop. */
void doctor_kubernetes_start(struct doctor_kubernetes *k, struct event_base *base, struct kube_client *client,
                             const struct settings *settings, const char *pod_namespace, uint64_t timeout_ms,
                             void (*done)(void *arg), void *arg);
void doctor_kubernetes_fini(struct doctor_kubernetes *k);

/* At least one answer was that of a Kubernetes API, or a refusal. Otherwise something else may listen there. */
bool doctor_kubernetes_is_one(const struct doctor_kubernetes *k);
/* It can be asked for objects: connected, a Kubernetes API, and it does not refuse all requests. */
bool doctor_kubernetes_usable(const struct doctor_kubernetes *k);

/* The checks: access (NULL: there is none, because of no_access), client (NULL: because of no_access, too). */
void doctor_kubernetes_report(const struct doctor_kubernetes *k, const struct kube_access *access,
                              const struct error *no_access, const struct settings *settings, struct doctor_section *s);

/* Which of its objects were not received although no other check explains it. seen: the checks of the watches. */
void doctor_kubernetes_report_missing(const struct checks *seen, const struct doctor_report *r,
                                      struct doctor_section *s);

#endif

/*
 * The permissions that the settings need, each asked for by SelfSubjectAccessReview, what a missing one means, and how
 * to grant it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

struct access_right;
struct access_review;
struct settings;
struct doctor_section;

enum doctor_need {
    DOCTOR_NODES,
    DOCTOR_SLICES,
    DOCTOR_SERVICE,
    DOCTOR_ENDPOINTS,     /* only where slices may not be read */
    DOCTOR_SECRET,        /* of the whole configuration */
    DOCTOR_SECRET_REPORT, /* what became of it */
    DOCTOR_CONFIGMAP_REPORT,
    DOCTOR_HOST_OWNERS,
    DOCTOR_HOST_OWNERS_WRITE,
    DOCTOR_TEMPLATES,     /* the ConfigMap with the set; what that watches is not known here */
    DOCTOR_TEMPLATE_KEYS, /* the Secret of templates over pods */
    DOCTOR_PODS,
    DOCTOR_ANNOTATED,         /* Services of all namespaces */
    DOCTOR_ANNOTATED_SECRETS, /* of SERVICES_SECRET_NAMESPACES */
    DOCTOR_ANNOTATED_SLICES,  /* of those Services */
    DOCTOR_LEASE,
    DOCTOR_LEASE_CREATE,
    DOCTOR_EVENTS,
};

enum doctor_answer { DOCTOR_UNASKED, DOCTOR_ALLOWED, DOCTOR_DENIED, DOCTOR_UNANSWERED };

#define DOCTOR_VERBS_MAX 3

struct doctor_right {
    enum doctor_need need;
    const char *namespace;                        /* NULL: of the cluster; borrowed, as is name */
    const char *name;                             /* of the one object; NULL: of all */
    enum doctor_answer answers[DOCTOR_VERBS_MAX]; /* as the verbs of the need */
    char *reason;         /* why it is denied, as the API server says; NULL: it gives no reason */
    struct error problem; /* UNANSWERED: why */
};

struct doctor_rights {
    struct doctor_right *list;
    size_t count;
};

/* namespace: of the pod, NULL: not in one. */
void doctor_rights_init(struct doctor_rights *r, const struct settings *settings, const char *pod_namespace);
void doctor_rights_fini(struct doctor_rights *r); /* a zeroed one is allowed */

/* The next one to ask, which is UNASKED: its index and that of its verb. False: all are asked. */
bool doctor_rights_next(const struct doctor_rights *r, size_t *at, size_t *verb) must_check;
struct access_right doctor_rights_question(const struct doctor_rights *r, size_t at, size_t verb);
/* problem NULL: review is the answer. */
void doctor_rights_answer(struct doctor_rights *r, size_t at, size_t verb, const struct access_review *review,
                          const struct error *problem);

/* The server said so of one of its verbs. */
bool doctor_rights_denied(const struct doctor_rights *r, enum doctor_need need);

/* A check for each right. user: as the API server names it; NULL: not known. */
void doctor_rights_report(const struct doctor_rights *r, const struct settings *settings, const char *user,
                          struct doctor_section *s);

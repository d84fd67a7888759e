/* Which Services there are, where the one that the settings name is not: asked only then. */
#ifndef CLI_DOCTOR_DOCTOR_NAMES_H
#define CLI_DOCTOR_DOCTOR_NAMES_H

#include "base/compiler.h"

struct event_base;
struct kube_client;

struct doctor_names {
    char *here;  /* Services of that namespace, the nearest first: "web, api"; NULL: none, or they may not be listed */
    char *first; /* the nearest of them; NULL: as here */
    char *other; /* namespaces that have one of that name; NULL: as here */
};

/* Runs the loop of base until the API server has answered both questions, or a few seconds have passed. */
void doctor_names_find(struct doctor_names *ret, struct event_base *base, struct kube_client *kube,
                       const char *namespace, const char *service);
void doctor_names_fini(struct doctor_names *n);

#endif

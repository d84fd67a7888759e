/* Counts of nodes and endpoints instead of thousands of lines. Pure; the checks of a Service, which show them, are in
 * cli/doctor/doctor_parts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/text.h"

struct object_caches;
struct node_rules;
struct service;

#define DOCTOR_REASONS_MAX 4
#define DOCTOR_NAMES_SHOWN 3

/* Things that have a reason in common, the first of them by name. */
struct doctor_group {
    const char *reason; /* borrowed */
    struct text_list names;
};

struct doctor_nodes {
    size_t all, usable;
    struct doctor_group left_out[DOCTOR_REASONS_MAX];
};

/* service NULL: not known. strict: as for node_address_choose. */
void doctor_count_nodes(const struct object_caches *caches, const struct node_rules *rules,
                        const struct service *service, bool strict, struct doctor_nodes *ret);
void doctor_nodes_fini(struct doctor_nodes *n);

struct doctor_endpoints {
    size_t all, ready;
    size_t objects; /* EndpointSlices, or Endpoints where these cannot be read */
    bool slices;
};

/* What is synced of the Service's. */
void doctor_count_endpoints(const struct object_caches *caches, struct doctor_endpoints *ret);

/* One more of that reason; beyond DOCTOR_REASONS_MAX of them, to the last one. */
void doctor_group_add(struct doctor_group *groups, const char *reason, const char *name);
/* "n1, n2: REASON", all of them, "; " between; the groups are empty after. Allocates. */
char *doctor_groups_text(struct doctor_group *groups) must_check;

/*
 * Which nodes may have a server, and at which address. Pure.
 *
 * Not eligible: excluded by label, tainted to be deleted, being deleted. NotReady and cordoned nodes are eligible
 * (KEP-3458): HAProxy's health check decides whether they answer, and a control-plane hiccup must not be an outage.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "model/objects.h"

enum ip_family_rule {
    IP_FAMILY_DUAL, /* either; the Service's preferred one first, else the node's first */
    IP_FAMILY_IPV4, /* only this one */
    IP_FAMILY_IPV6,
    IP_FAMILY_IPV4_FIRST, /* either, this one first */
    IP_FAMILY_IPV6_FIRST,
};

struct node_rules {
    enum node_address_type types[NODE_ADDRESS_TYPES]; /* in this order */
    size_t type_count;
    enum ip_family_rule family;
    bool ignores_label; /* EXCLUDED_BY_LABEL excludes nothing (NODE_EXCLUDE_LABEL) */
};

/* InternalIP, IP_FAMILY_DUAL. */
extern const struct node_rules node_rules_default;

enum node_exclusion_by {
    EXCLUDED_BY_LABEL, /* that is there, whatever its value, as Kubernetes has it */
    EXCLUDED_BY_TAINT, /* whatever its effect */
    EXCLUDED_BY_DELETION,
};

/* What excludes a node. Another label or taint is another row: struct node has a bit for each, set by its decoder. */
struct node_exclusion_rule {
    enum node_exclusion_by by;
    const char *key; /* of the label or taint */
    const char *sentence;
};

#define NODE_EXCLUSIONS 3 /* at most 8 */
extern const struct node_exclusion_rule node_exclusions[NODE_EXCLUSIONS];

/* The bits of the rows that say so; key NULL: that of a deletion. */
uint8_t node_excluded_by(enum node_exclusion_by by, const char *key);

/* Why the node may have no server whatever runs on it: "it has the label node.kubernetes.io/exclude-...", a constant.
 * NULL: it may. */
const char *node_exclusion(const struct node *n, const struct node_rules *rules);

/*
 * The address to connect to: the first type of the rules that has one, in it the preferred family; a DNS name
 * (Hostname) is of every family. service NULL: not known. With strict, families that the Service does not have are not
 * used (its NodePort does not listen there). NULL: none.
 */
const struct node_address *node_address_choose(const struct node *n, const struct node_rules *rules,
                                               const struct service *service, bool strict);

/* "InternalIP, IPv4": what was required, for messages. Allocates. */
char *node_rules_text(const struct node_rules *rules, const struct service *service, bool strict) must_check;

/*
 * Why a node is in, draining or out, rule by rule: what servers/desired/desired decides, by the same code, step by
 * step. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "servers/desired/desired.h"

struct explain_rule {
    const char *rule; /* a short word: "known", "eligible", "address", "policy", "endpoints", "port", "name", "state" */
    bool passed;
    char *text; /* "InternalIP 10.0.0.1 (NODE_ADDRESS_TYPES=InternalIP, IP_FAMILY=dual)" */
};

struct explanation {
    enum server_state state;    /* LIVE, DRAINING or OUT */
    char *server;               /* its name in HAProxy */
    char *verdict;              /* one sentence: the reason of its server, or of its being out */
    struct explain_rule *rules; /* in the order in which they decide; those after the one that failed are left out */
    size_t rule_count;
};

/* name: of a node, or the IP of an endpoint that names none. -1: nothing of that name is known (ret is empty then). The
 * states of in are ignored: a drain begins now. */
int explain_node(const struct desired_input *in, const char *name, struct explanation *ret) must_check;
void explanation_fini(struct explanation *e);

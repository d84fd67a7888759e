/* What the parts of servers/change/diff share. */
#pragma once

#include "base/buf.h"
#include "base/compiler.h"
#include "servers/change/diff.h"

/* Adds to a list of what changes, with a comma where there is something already. */
void diff_say(struct buf *said, const char *fmt, ...) printf_like(2, 3);

/* The desired state against what is there, name by name. */
struct diff_merge {
    const struct backend *actual;
    const struct diff_lines *lines;
    const struct desired *desired;
    const struct desired_outs *outs; /* of desired state */
    const struct diff_rules *rules;
    struct diff *d;
    int new_weight;     /* where the desired state says nothing of it; -1: SERVER_WEIGHT_DEFAULT */
    const char *common; /* to all managed lines (haproxy/siblings); NULL: nothing */
    size_t live;        /* desired states that can be had and are to serve */
    size_t room;        /* with rules.parking: so many live lines that are no spares may be parked */
    size_t parked;      /* so many lines will be, spares among them */
};

/* The median of the desired servers that are there, such as adopted ones: a heavier one among them would take nearly all
 * connections. Of two in the middle the lower one. -1: there is none. */
int diff_common_weight(const struct backend *actual, const struct desired *desired);

/* The change that is added; it is valid until the next one. */
struct diff_change *diff_add_server(struct diff_merge *m, const struct desired_server *want);
/* No change where no managed field differs. */
void diff_change_server(struct diff_merge *m, const struct backend_server *is, const struct desired_server *want);
/* reason NULL: what the desired state says of it. */
struct diff_change *diff_remove_server(struct diff_merge *m, const struct backend_server *is, const char *reason);
/* A managed live line that is not desired: into maintenance. */
void diff_park_server(struct diff_merge *m, const struct backend_server *is);

/* Whether a line needs a transaction to become what c says. */
bool diff_line_needs_transaction(const struct backend *actual, const struct backend_server *is,
                                 const struct diff_change *c, const struct diff_rules *rules);

/* The port at which each managed server is checked by HTTP; 0: none. */
uint16_t diff_check_port(const struct desired *desired, const struct diff_rules *rules);

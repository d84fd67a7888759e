/* What the parts of servers/change/route share. */
#ifndef SERVERS_CHANGE_ROUTE_INTERNAL_H
#define SERVERS_CHANGE_ROUTE_INTERNAL_H

#include "servers/change/route.h"

/* The lines that a call can mean: ours, and of a name that stands on no other line. Ordered by name. */
struct route_lines {
    const struct backend_server **list;
    size_t count;
};

void route_lines_read(struct route_lines *l, const struct backend *actual, const struct diff_rules *rules);
void route_lines_fini(struct route_lines *l);

/* As admin_states_find, with those that only say what the rows do not show yet. */
const struct admin_state *admin_states_any(const struct admin_states *m, const char *name);

/* The state that the server is in as far as we know: the row may be older than our last call. mark: NULL allowed. */
enum runtime_admin route_state_now(const struct admin_state *mark, const struct runtime_server *row);

#endif

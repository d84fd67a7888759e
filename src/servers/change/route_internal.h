/* What the parts of servers/change/route share. */
#ifndef SERVERS_CHANGE_ROUTE_INTERNAL_H
#define SERVERS_CHANGE_ROUTE_INTERNAL_H

#include "servers/change/route.h"

/* The lines that a command can mean: managed, and the only one of its name. Ordered by name. */
struct route_lines {
    const struct backend_server **list;
    size_t count;
};

void route_lines_read(struct route_lines *l, const struct backend *actual, const struct desired *desired,
                      const struct diff_rules *rules);
void route_lines_fini(struct route_lines *l);

/* As admin_states_find, with those that only say what the rows do not show yet. */
const struct admin_state *admin_states_any(const struct admin_states *m, const char *name);

/* The state of the server as far as is known: the row may be older than the last command. mark: NULL allowed. */
enum runtime_admin route_state_now(const struct admin_state *mark, const struct runtime_server *row);

#endif

/* What the parts of servers/change/route share. */
#ifndef SERVERS_CHANGE_ROUTE_INTERNAL_H
#define SERVERS_CHANGE_ROUTE_INTERNAL_H

#include "servers/change/route.h"

/* The lines that a call can mean: ours, and of a name that stands on no other line. Ordered by name. */
struct lane_lines {
    const struct backend_server **list;
    size_t count;
};

void lane_lines_read(struct lane_lines *l, const struct backend *actual, const struct diff_rules *rules);
void lane_lines_fini(struct lane_lines *l);

/* As lane_memory_find, with those that only say what the rows do not show yet. */
const struct lane_mark *lane_memory_any(const struct lane_memory *m, const char *name);

/* The state that the server is in as far as we know: the row may be older than our last call. mark: NULL allowed. */
enum runtime_admin lane_state_now(const struct lane_mark *mark, const struct runtime_server *row);

#endif

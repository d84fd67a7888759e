/* What is shown of one mapping's desired servers, from the shared state itself; bounded, since there may be thousands. */
#ifndef DAEMON_STATUS_NODES_H
#define DAEMON_STATUS_NODES_H

#include <stddef.h>

struct desired;
struct yyjson_mut_doc;
struct yyjson_mut_val;

/* Puts state, problem, note, paused, endpoints and nodes (at most STATUS_LIST_MAX, the most telling first) into obj. d NULL:
 * nothing was computed yet. *left: how many may still be listed. */
void status_nodes_put(const struct desired *d, struct yyjson_mut_doc *doc, struct yyjson_mut_val *obj, size_t *left);

#endif

/* What an operator can choose, for settings and for the code that decides by it. */
#pragma once

#include <stdint.h>

/* Which nodes get a server: those with a usable endpoint, or all. */
enum node_mode { NODE_MODE_ENDPOINTS, NODE_MODE_ALL };

enum server_weights {
    WEIGHTS_KEEP,  /* an existing weight is kept, a new server gets that of all others, else SERVER_WEIGHT_DEFAULT */
    WEIGHTS_EQUAL, /* SERVER_WEIGHT_DEFAULT for all */
    WEIGHTS_ENDPOINTS, /* the number of ready endpoints on the node, 1..256; with policy Cluster as EQUAL */
};

/* What happens to a line at the place of a desired server, under another name (servers/names). */
enum adopt { ADOPT_KEEP, ADOPT_RENAME, ADOPT_NO };

/* Ports; both ends are among them. */
struct port_range {
    uint16_t from, to;
};

/*
 * What brings a server about in a running HAProxy, or takes it out, without a reload (HAProxy management guide, 9.3 "add
 * server", "del server", "enable health", "set server"; 2.6 on). HAProxy applies no default-server to a server that is
 * added so: its words go with it. Pure.
 */
#ifndef HAPROXY_LOCAL_SERVER_COMMAND_H
#define HAPROXY_LOCAL_SERVER_COMMAND_H

#include <stddef.h>

#include "base/error.h"
#include "haproxy/change.h"

struct cfg_file;

struct server_commands {
    char **list; /* in their order; each has to succeed before the next */
    size_t count;
};

void server_commands_fini(struct server_commands *c); /* a zeroed one is allowed */

/* Appends those of this change; f is the file with it. ERROR_INVALID: it takes a reload, and why. */
int server_commands_add(struct server_commands *c, const struct cfg_file *f, const struct change *change,
                        struct error *err) must_check;

#endif

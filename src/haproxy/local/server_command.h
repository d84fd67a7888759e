/*
 * What brings a server about in a running HAProxy, or takes it out, without a reload (HAProxy management guide, 9.3 "add
 * server", "del server", "enable health", "set server"; 2.6 on). HAProxy applies no default-server to a server that is
 * added so: its words go with it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "haproxy/change.h"

struct cfg_lines;

struct server_command {
    char *text;
    bool is_first;
    bool done; /* by the driver: HAProxy did it, or may have */
};

struct server_commands {
    struct server_command *list; /* in their order, after server_commands_order */
    size_t count, first;         /* the others build upon the first ones, and are not sent where one of those failed */
};

void server_commands_fini(struct server_commands *c); /* a zeroed one is allowed */

/* place: "backend/server", so many bytes. */
void server_commands_add_removal(struct server_commands *c, const char *place, size_t len);
/* Appends those of `of` that make a server ready that was added there. */
void server_commands_add_ready(struct server_commands *c, const struct server_commands *of, const char *place,
                               size_t len);

/* Appends those of this change. lines: of its backend, in the file with it; NULL, for CHANGE_SET_SERVER: none are needed.
 * haproxy: its version. elsewhere: HAProxy reads other files in front of it, whose defaults are not known. ERROR_INVALID: it
 * takes a reload, and why. */
int server_commands_add(struct server_commands *c, struct cfg_lines *lines, const char *haproxy, bool elsewhere,
                        const struct change *change, struct error *err) must_check;
void server_commands_order(struct server_commands *c); /* once all are there: those that come first */

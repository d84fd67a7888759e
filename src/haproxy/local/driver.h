/*
 * The way to a HAProxy on this machine, by its file and its sockets (haproxy/local/helper), for haproxy/driver.
 *
 * The file is written as it is given, byte for byte, after `haproxy -c` took it (or HAProxy itself all that is new in it,
 * haproxy/local/alike), and only where no other writer wrote it since it was read. A reload is asked for with the write that
 * loads it; how it ended is answered by the master, or, where that says nothing (HAProxy 2.6, a signal, a command), by the
 * worker that runs afterwards.
 */
#pragma once

#include <stdint.h>

#include "haproxy/driver.h"

struct event_base;
struct local_helper;

struct local_driver_options {
    /* Borrowed, attached to the loop. commands: a second one, so that a command does not wait for `haproxy -c` or a
     * reload; NULL: the running HAProxy is neither read nor written to. The helper has a folder for each storage_kind,
     * in their order. */
    struct local_helper *helper, *commands;
    const char *file;           /* of the helper's options; borrowed */
    const char *const *folders; /* the same; copied. NULL: none, and no files are stored */
    bool has_master;            /* there is a master socket */
    bool has_stats;             /* there is a stats socket; else commands go through the master */
    bool by_master;             /* which reloads */
    bool files_before;          /* the helper has some: HAProxy reads them in front of the file */
    bool files_after;           /* or behind it */
    bool takes_turns;           /* with other daemons: the file is held only while it is read, or written and loaded */
    uint64_t deadline_ms;       /* of a reload that says nothing; 0: 60 s */
};

struct driver *local_driver_new(struct event_base *base, const struct local_driver_options *options) must_check;

/*
 * Reports the daemon's state to systemd, in the way of sd_notify(3): datagrams of NAME=value lines to the unix socket
 * that NOTIFY_SOCKET names, a path or "@" and a name of the abstract namespace; the protocol is promised to stay as it
 * is. systemd's own library is not used: it would bring half a dozen others, for what takes a page.
 *
 * It reports a state, not an event: what did not get through, since the queue was full or systemd is being restarted,
 * goes with the next call of notify_send. Nothing waits for it, and nothing ends by it. The socket is made at once, for
 * the filter of system calls lets none be made later (host/sandbox.h).
 */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/log.h"

struct notify;

enum notify_phase {
    NOTIFY_STARTING, /* nothing was sent yet */
    NOTIFY_READY,
    NOTIFY_STOPPING,
};

/* Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the process's environment: they are not for children. NULL
 * where no socket is set, or, with a warning, where NOTIFY_SOCKET cannot be used; all that is below does nothing then.
 * log is borrowed. */
struct notify *notify_new(const struct log *log) must_check;
void notify_free(struct notify *n);

/* In how long notify_send is called next: in wanted_ms, or sooner for the watchdog's sake. */
uint64_t notify_next_ms(struct notify *n, uint64_t wanted_ms);

/* Sends what differs from what was sent last; and a sign of life, where half of the watchdog's interval would be over
 * before the next call. So it belongs on a timer of the loop that is to be watched. status: one line of UTF-8. */
void notify_send(struct notify *n, enum notify_phase phase, const char *status, uint64_t now_ms);

/* A reload was asked for (SIGHUP): reports it; notify_send with NOTIFY_READY reports that it was done. */
void notify_reloading(struct notify *n, uint64_t now_us);

/* What a supervisor such as systemd is told of the daemon: host/systemd has the way, /readyz the words. */
#ifndef DAEMON_SYSTEMD_STATUS_H
#define DAEMON_SYSTEMD_STATUS_H

#include <stdbool.h>

#include "base/buf.h"

struct notify;

/* ready: as serve/server.h has it. Asked only where there is a supervisor. */
void supervisor_tell(struct notify *n, bool stopping, bool (*ready)(void *arg, struct buf *body), void *arg);

#endif

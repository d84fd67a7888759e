/* What a supervisor such as systemd is told of the daemon: net/notify has the way, /readyz the words. */
#ifndef SYNC_SUPERVISOR_H
#define SYNC_SUPERVISOR_H

#include <stdbool.h>

#include "base/buf.h"

struct notify;

/* ready: as serve/server.h has it. Asked only where there is a supervisor. */
void supervisor_tell(struct notify *n, bool stopping, bool (*ready)(void *arg, struct buf *body), void *arg);

#endif

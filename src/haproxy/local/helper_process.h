/* The helper's own side: one request after the other, until the other end is closed. */
#pragma once

#include "haproxy/local/helper.h"

/* socket: this end. daemon: who holds the lock, for others to read. Returns when the other end is closed or sends what is
 * no message; the process has to end then. */
void local_helper_serve(const struct local_helper_options *options, int socket, pid_t daemon);

/* A listening TCP socket for the server. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

/* host "": every address of both families, or of IPv4 where the machine has no IPv6; a name: the first of its addresses
 * that works. Non-blocking, close-on-exec. Returns the descriptor; -1: ERROR_FATAL naming the address. */
int listen_open(const char *host, uint16_t port, struct error *err) must_check;

/* The port it got; 0: none. */
uint16_t listen_port(int fd);

#endif

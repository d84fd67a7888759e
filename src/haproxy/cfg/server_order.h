/* The order of a backend's `server` lines in haproxy.cfg, for who was told of them in another one. Pure. */
#ifndef HAPROXY_CFG_SERVER_ORDER_H
#define HAPROXY_CFG_SERVER_ORDER_H

#include <stdbool.h>

#include "base/compiler.h"

struct backend;
struct cfg_file;

/* Puts b->servers and b->templates in the order of their lines. False: they are not, by name, exactly what the lines of
 * the one backend of that name make, so that the file does not say how the API would have listed them. */
bool cfg_order_servers(const struct cfg_file *f, struct backend *b) must_check;

#endif

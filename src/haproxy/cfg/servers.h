/*
 * The `server` lines of one backend in haproxy.cfg itself (GET .../configuration/raw), to find what the API does not
 * show or would damage with a write: HAProxy configuration manual, section 2 (quoting, comments, continuation) and
 * 5.2.
 */
#ifndef HAPROXY_CFG_SERVERS_H
#define HAPROXY_CFG_SERVERS_H

#include "base/error.h"
#include "haproxy/backend.h"

struct cfg_file;

/* Compares the lines of backend b->name with what the API shows (b->servers, b->templates, b->json) and fills
 * b->unsupported (the first 64): a server line that the API does not show, a server that it shows but the file lacks, a
 * keyword that its object does not account for (3.0.x drops it with any write, even with one to another server) or
 * shows as another value, a second line of the same name. Where the file carries another version than b->version (the
 * API keeps a configuration whose reload failed, the file went back) nothing can be compared and nothing is found. What
 * default-server lines say of its servers' state, those of its `defaults` section too, which the API does not show with
 * it, goes into b and its servers in any case. ERROR_INVALID: the file has no such backend. */
int cfg_find_unsupported(const struct cfg_file *f, struct backend *b, struct error *err) must_check;

#endif

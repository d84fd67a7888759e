/*
 * Who had it first: host names of namespaces, and the way in which an address and port are served. Kept by a daemon from one plan to the next, so that who is
 * served stays, whatever the age of those who come. Pure.
 */
#pragma once

#include "base/buf.h"

struct service_owner;

struct service_owners {
    struct service_owner *all; /* by their keys; NULL: none */
};

/* Borrowed until the next change; NULL: it has none. o NULL: there are none. */
const char *service_owners_find(const struct service_owners *o, const char *key);
void service_owners_set(struct service_owners *o, const char *key, const char *owner); /* copies both */
/* Host names that `from` has of those owners who are keys of `of`. */
void service_owners_keep(struct service_owners *o, const struct service_owners *from, const struct service_owners *of);
void service_owners_fini(struct service_owners *o);

/* "KEY OWNER\n" for each, by key; and the same read. A line that is none is left out. */
void service_owners_print(struct service_owners *o, struct buf *out);
void service_owners_read(struct service_owners *o, const char *text);

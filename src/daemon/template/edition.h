/*
 * A template set that was read, and the watches that it is rendered with. Two editions that watch the same share those: the
 * one that was read last, and the last good one, which is rendered while that cannot be.
 */
#ifndef DAEMON_TEMPLATE_EDITION_H
#define DAEMON_TEMPLATE_EDITION_H

#include <stdbool.h>
#include <stddef.h>

#include "net/digest.h"

struct event_base;
struct template_set;
struct watches;
struct watches_options;

struct watched {
    struct template_set *set; /* whose watches these are, perhaps one that is rendered no more */
    struct watches *watches;
    unsigned references;
};

struct edition {
    struct template_set *set; /* NULL: there is none */
    size_t bytes;
    char hash[DIGEST_SHA256_HEX_BYTES];
    struct watched *watched;
    bool good; /* it was rendered well */
};

/* Takes the set over. Watches of its own are to be started by the caller (watches_start); `of` (NULL: none) is
 * shared where it watches the same, in the same namespaces. follows: other namespaces are no matter, and the watches follow the set.
 * changed: as watches_new. Returns whether they are shared. */
bool edition_init(struct edition *e, struct template_set *set, struct watched *of, bool follows,
                  struct event_base *base, const struct watches_options *options,
                  void (*changed)(void *arg, const char *cause), void *arg);
void edition_fini(struct edition *e); /* a zeroed one is allowed; zeroed afterwards */

#endif

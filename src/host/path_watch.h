/*
 * Paths that are followed by inotify(7): through editors that rename, symbolic links that are swapped (as a kubelet does
 * with ..data), folders that are removed and made again. Each folder on the way is watched for the one name in it that
 * matters. What is there is the caller's to read: whenever it does it says the paths anew, since they may lead elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct event_base;
struct path_watch;

/* How long what is made without being closed by a writer is given: a link, or a file that its writer has still to fill. */
#define PATH_WATCH_SETTLE_MS 200
#define PATH_WATCH_ANY "*" /* as the last component of a path: whatever is in that folder */

/* changed: in wait_ms there is something to read; 0: no process writes to it any more. NULL, ERROR_FATAL: no inotify; what
 * names what was to be followed. */
struct path_watch *path_watch_new(struct event_base *base, const char *what,
                                  void (*changed)(void *arg, uint64_t wait_ms), void *arg,
                                  struct error *err) must_check;
void path_watch_free(struct path_watch *w); /* NULL is allowed */

void path_watch_begin(struct path_watch *w);
void path_watch_add(struct path_watch *w, const char *path); /* absolute */
void path_watch_end(struct path_watch *w); /* what was not added since the beginning is not followed any more */

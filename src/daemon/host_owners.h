/* Which namespace is served at which host name, kept in STATE_DIR, so that who is served stays over a restart. A text: "HOST NAMESPACE\n"
 * for each. */
#ifndef DAEMON_HOST_OWNERS_H
#define DAEMON_HOST_OWNERS_H

#include "base/compiler.h"

struct log;
struct settings;

char *host_owners_recall(const struct settings *settings) must_check; /* "": nothing is known. Allocates */
/* state_fd: of STATE_DIR, to write to; -1: nothing is kept. Nothing is written where both are the same. */
void host_owners_keep(const struct settings *settings, int state_fd, const char *before, const char *now,
                      const struct log *log);

#endif

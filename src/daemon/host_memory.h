/*
 * Which namespace is served at which host name, "HOST NAMESPACE\n" for each: kept in STATE_DIR and in HOST_OWNERS_CONFIGMAP. The leader
 * writes the ConfigMap; the other replicas follow it, so that a host name stays where it is when another one leads.
 */
#pragma once

#include "daemon/daemon.h"

struct host_memory;

/* state_fd: of STATE_DIR, to write to; -1: nothing is kept there. */
struct host_memory *host_memory_new(const struct daemon *in, int state_fd) must_check;
void host_memory_free(struct host_memory *m); /* NULL is allowed */
void host_memory_start(struct host_memory *m);
void host_memory_stop(struct host_memory *m);
void host_memory_poke(struct host_memory *m);

/* changed: from the loop; it is known for the first time, or the leader has changed it, and is to be recalled. */
void host_memory_listen(struct host_memory *m, void (*changed)(void *arg), void *arg);
/* Whether the ConfigMap was read: nothing is to be decided before. True where there is none, and with NULL. */
bool host_memory_known(const struct host_memory *m);
/* What the ConfigMap has; where it has nothing, what STATE_DIR has. Allocates. m NULL: "". */
char *host_memory_recall(const struct host_memory *m) must_check;
/* before: as it was recalled or kept last. m NULL: nothing is kept. */
void host_memory_keep(struct host_memory *m, const char *before, const char *now);
void host_memory_lead(struct host_memory *m, bool leads); /* who leads writes the ConfigMap */

bool host_memory_ready(const struct host_memory *m, struct checks *checks);

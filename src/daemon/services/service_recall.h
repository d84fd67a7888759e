/*
 * The servers that a haproxy.cfg of this program has, for a daemon that starts: its losses are counted from them, and where nothing is
 * desired they stay. It knows the lines that service_row prints and passes over all else. Pure.
 */
#ifndef DAEMON_SERVICES_SERVICE_RECALL_H
#define DAEMON_SERVICES_SERVICE_RECALL_H

#include "daemon/services/service_row.h"

/* Calls fn for each backend of `text` that has servers; what it gets is valid during the call. */
void service_recall(const char *text, void (*fn)(void *arg, const struct service_servers *servers), void *arg);

#endif

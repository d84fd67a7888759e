/* `services view` and `services explain`: annotated Services as they are now, read once; nothing is written anywhere. */
#ifndef CLI_SERVICES_H
#define CLI_SERVICES_H

#include "base/error.h"
#include "base/log.h"

struct command;
struct event_base;
struct kube_access;
struct settings;

/* To standard output; what is wrong, and cannot be waited for, to standard error. The exit status: 0, or 1 where Kubernetes
 * could not be read in time, nothing is served, or there is no such Service. */
int services_command(struct event_base *base, const struct settings *settings, const struct kube_access *access,
                     const char *version, const struct log *log, const struct command *command);

#endif

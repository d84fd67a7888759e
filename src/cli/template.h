/* `haproxy-k8s-sync template WORD DIR`: template sets without a cluster. */
#ifndef CLI_TEMPLATE_H
#define CLI_TEMPLATE_H

#include "cli/command.h"

/* The exit status: 0; 1: what was asked for is not so (an error of a template, a failed test); 64: how it was asked. */
int template_command(const struct command *command, char *const *environ_) must_check;

#endif

/*
 * Settings on the command line: those that an operator for haproxy.cfg in a Secret takes there (struct setting, alias and
 * flag), in front of a command or alone: "--mode=k8s --namespace haproxy". Pure.
 */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"

struct flags {
    int argc; /* what is left: the program's name, the command */
    char **argv;
    char **environment; /* each flag as "NAME=value", then the variables: a flag is stronger */
    size_t count;
};

/* -1: err says what is wrong with which; ret holds nothing. argv and environ_ are borrowed. */
int flags_take(int argc, char *const *argv, char *const *environ_, struct flags *ret, struct error *err) must_check;
void flags_fini(struct flags *f);

#endif

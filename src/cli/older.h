/*
 * The command line of an older system for annotated Services (docs/services.md): apply, view and watch, with its flags before or behind
 * them. They become settings and commands of this program:
 *
 *     view     services view
 *     watch    the daemon
 *     apply    the daemon, until what it has is published, or runs
 *
 * Where --haproxy-config or --exec is given, the configuration is written to that file and the command reloads HAProxy; else
 * it goes to etcd. Pure.
 */
#ifndef CLI_OLDER_H
#define CLI_OLDER_H

#include "base/compiler.h"
#include "base/error.h"
#include "cli/flags.h"

/* As flags_take (fini it in either case). 1: it is one of those commands, and ret has what is left of it; 0: it is none, ret is empty;
 * -1: a flag of it is wrong. folder: that a relative --haproxy-config is in. */
int older_take(int argc, char *const *argv, char *const *environ_, const char *folder, struct flags *ret,
               struct error *err) must_check;

#endif

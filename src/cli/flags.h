/*
 * Settings on the command line: those that people type (--dry-run), and those that an operator for haproxy.cfg in a Secret
 * takes there (struct setting, flag and alias), before or behind the command: "plan --dry-run", "--mode=k8s --namespace
 * haproxy". -v is --log-level=debug. A flag is stronger than its variable, and of two the last one counts. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "settings/show.h"

struct nearest;
struct setting;

struct flags {
    int argc; /* what is left: the program's name, the command with its options */
    char **argv;
    char **environment; /* each flag as "NAME=value", then the variables: a flag is stronger */
    size_t count;
    struct settings_flag *given; /* which they were, as many as given_count */
    size_t given_count;
};

/* -1: err says what is wrong with which; ret holds nothing. argv and environ_ are borrowed. */
int flags_take(int argc, char *const *argv, char *const *environ_, struct flags *ret, struct error *err) must_check;
void flags_fini(struct flags *f);

/* The word that gave this setting, "--log-level"; NULL: none did. */
const char *flags_word(const struct flags *f, const struct setting *row);

/* For "did you mean" and for help: the flags that are settings. */
void flags_add_names(struct nearest *n);

/* ---- older.c */

/*
 * The command line of an older system for annotated Services (docs/services.md): apply, view and watch, with its flags before or behind
 * them. They become settings and commands of this program:
 *
 *     view     services view
 *     watch    the daemon
 *     apply    the daemon, until what it has is published, or runs
 *
 * Where --haproxy-config or --exec is given, the configuration is written to that file and the command reloads HAProxy; else
 * it goes to etcd.
 *
 * As flags_take (fini it in either case). 1: it is one of those commands, and ret has what is left of it; 0: it is none, ret is empty;
 * -1: a flag of it is wrong. folder: that a relative --haproxy-config is in. */
int older_take(int argc, char *const *argv, char *const *environ_, const char *folder, struct flags *ret,
               struct error *err) must_check;

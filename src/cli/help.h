/* `help`: one screen of what is usual, all of one command, all commands, or the settings. Pure. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

struct command;

/* -1: it is about a setting that there is not; err names what may be meant. */
int help_print(const struct command *c, struct buf *out, struct error *err) must_check;

#endif

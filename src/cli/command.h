/* The command line. Pure. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/page.h"

#define COMMAND_USAGE_EXIT_CODE 64 /* EX_USAGE of sysexits.h */

enum command_kind {
    COMMAND_RUN, /* no argument at all */
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_CHECK_CONFIG,
    COMMAND_PLAN,
    COMMAND_DOCTOR,
    COMMAND_EXPLAIN,
    COMMAND_COPY_TO,
    COMMAND_RELEASE,
    COMMAND_APPLY,           /* of an older system (cli/older.h) */
    COMMAND_OLDER,           /* which that makes another one of */
    COMMAND_CONFIG_PLAN,     /* [FILE] */
    COMMAND_CONFIG_VALIDATE, /* FILE */
    COMMAND_CONFIG_APPLY,    /* [FILE] */
    COMMAND_CONFIG_HISTORY,
    COMMAND_CONFIG_ROLLBACK, /* [N] */
    COMMAND_TEMPLATE_RENDER,
    COMMAND_TEMPLATE_TEST, /* -o junit, too */
    COMMAND_TEMPLATE_DIFF, /* --against=DIR|FILE */
    COMMAND_TEMPLATE_VALIDATE,
    COMMAND_TEMPLATE_BENCHMARK, /* [--count=N] */
    COMMAND_TEMPLATE_SCHEMA,    /* DIR may be left out */
    COMMAND_SERVICES_VIEW,
    COMMAND_SERVICES_EXPLAIN, /* NAMESPACE/NAME */
};

/* What help is about. */
enum command_help {
    COMMAND_HELP_SCREEN, /* the usual */
    COMMAND_HELP_ALL,
    COMMAND_HELP_ROW,      /* one command, or with is_whole all words of it */
    COMMAND_HELP_SETTINGS, /* with an operand: one of them */
};

struct command_row;
struct flags;

struct command {
    enum command_kind kind;
    const struct command_row *row; /* of cli/command_table; NULL: RUN, or HELP about no command */
    enum command_help help;
    bool is_whole;
    bool changed;        /* CHECK_CONFIG */
    bool servers, yes;   /* RELEASE */
    const char *operand; /* EXPLAIN: NODE; CONFIG: FILE ("-" is standard input) or N; COPY_TO: FOLDER; TEMPLATE: DIR;
                          * SERVICES: NAMESPACE/NAME; HELP: a setting; borrowed from argv; NULL: none */
    bool json, junit;
    const char *test, *against; /* TEMPLATE; NULL: none */
    uint64_t count;             /* TEMPLATE_BENCHMARK; 0: by itself */
    const char *daemon;         /* as in cli/daemon_memory.h, borrowed from argv; "" by itself */
    enum page_colour colour;
    uint64_t timeout_ms;
};

/* What flags_take left of it. Options may stand before or behind the command and its operand, with "=" or as two words;
 * behind "--" comes no option. -1: err says what is wrong with which argument. */
int command_parse(int argc, char *const *argv, struct command *ret, struct error *err) must_check;

/* Whether the flags that are settings mean something to it. */
int command_check_flags(const struct command *c, const struct flags *flags, struct error *err) must_check;

/* "[-o json] [--timeout=30s]": the options that a command takes. Allocates. */
char *command_options_text(const struct command_row *row) must_check;

#endif

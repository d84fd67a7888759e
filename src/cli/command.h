/*
 * The command line: its words and options, the table of commands, and help. A command is a row of the table, in the order in
 * which help shows them: the parser, help and what runs (cli/run) come from it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
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
    COMMAND_COMPLETION,
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
struct nearest;
struct run;

struct command {
    enum command_kind kind;
    const struct command_row *row; /* of command_table; NULL: RUN, or HELP about no command */
    enum command_help help;
    bool is_whole;
    bool changed;        /* CHECK_CONFIG */
    bool watch;          /* PLAN, EXPLAIN */
    bool servers, yes;   /* RELEASE */
    const char *operand; /* EXPLAIN: NODE; CONFIG: FILE ("-" is standard input) or N; COPY_TO: FOLDER; TEMPLATE: DIR;
                          * SERVICES: NAMESPACE/NAME; HELP: a setting; borrowed from argv; NULL: none */
    bool json, junit;
    const char *test, *against; /* TEMPLATE; NULL: none */
    uint64_t count;             /* TEMPLATE_BENCHMARK; 0: by itself */
    const char *daemon; /* "http://host:port", borrowed from argv; "" by itself: at LISTEN_ADDRESS; NULL: none */
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

/* help.c: one screen of what is usual, all of one command, all commands, or the settings. -1: it is about a setting that
 * there is not; err names what may be meant. */
int help_print(const struct command *c, struct buf *out, struct error *err) must_check;

/* ---- command_table.c */

/* Which options a command takes; those that are settings (cli/flags) go with all that read settings. */
enum {
    TAKES_OUTPUT = 1 << 0, /* -o json; each command that prints for people knows -o text */
    TAKES_COLOUR = 1 << 1,
    TAKES_TIMEOUT = 1 << 2,
    TAKES_DAEMON = 1 << 3,
    TAKES_TEST = 1 << 4,
    TAKES_AGAINST = 1 << 5,
    TAKES_COUNT = 1 << 6,
    TAKES_JUNIT = 1 << 7, /* -o junit, too */
    TAKES_CHANGED = 1 << 8,
    TAKES_RELEASE = 1 << 9, /* --servers, --yes */
    TAKES_WATCH = 1 << 10,
    TAKES_USUAL = TAKES_OUTPUT | TAKES_COLOUR | TAKES_TIMEOUT,
};

struct command_row {
    const char *word, *sub; /* "config", "plan"; sub NULL: the command has no words */
    enum command_kind kind;
    unsigned takes;
    const char *operand;  /* "NODE"; in brackets: it may be left out; NULL: it takes none */
    const char *what;     /* what the operand is: "the name of a node" */
    bool has_no_settings; /* then flags that are settings mean nothing to it */
    const char *brief;    /* its line in the help of one screen, at most 60 characters; NULL: it has none */
    const char *help;     /* one paragraph */
    const char *examples; /* lines to be copied; NULL: none */
    const char *status;   /* "0 in sync, 2 changes, 1 unknown"; NULL: 0 done, 1 not */
    /* NULL: main knows it (the daemon, help, version). The exit status. */
    int (*run)(const struct run *r);
};

/* Behind the last comes one without a word. */
extern const struct command_row command_table[];

/* sub NULL: the first row of that word. NULL: there is none. */
const struct command_row *command_find(const char *word, const char *sub);
/* The words of commands, or with one of them the words behind it. */
void command_add_words(const char *of, struct nearest *n);
/* "plan, validate, apply"; of NULL: the commands. Allocates. */
char *command_list_words(const char *of) must_check;

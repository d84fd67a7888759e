/*
 * The commands, one row for each, in the order in which help shows them: the parser (cli/command), help (cli/help) and
 * what runs (cli/run) come from it. Another command is another row.
 */
#ifndef CLI_COMMAND_TABLE_H
#define CLI_COMMAND_TABLE_H

#include <stdbool.h>

#include "cli/command.h"

struct nearest;
struct run;

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

#endif

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
    COMMAND_PLAN,     /* plan [-o text|json] [--color=auto|always|never] [--timeout=30s] [--daemon=URL|none] */
    COMMAND_DOCTOR,   /* doctor [-o text|json] [--color=...] [--timeout=...] */
    COMMAND_EXPLAIN,  /* explain [--color=...] [--timeout=...] NODE */
    COMMAND_COPY_TO,  /* copy-to FOLDER */
    COMMAND_TEMPLATE, /* template WORD [--test NAME] [-o text|json] [--color=...] [--timeout=...] DIR */
    COMMAND_SERVICES, /* services WORD [--timeout=...] [NAMESPACE/NAME] */
    COMMAND_RELEASE,  /* release [--servers] [--yes] [--color=...] [--timeout=...] [--daemon=URL|none] */
    COMMAND_APPLY,    /* apply: of an older system (cli/older.h) */
    COMMAND_CONFIG,   /* config WORD [-o text|json] [--color=...] [--timeout=...] [FILE or N] */
};

/* Its words. */
enum command_config {
    COMMAND_CONFIG_PLAN,     /* [FILE] */
    COMMAND_CONFIG_VALIDATE, /* FILE */
    COMMAND_CONFIG_APPLY,    /* [FILE] */
    COMMAND_CONFIG_HISTORY,
    COMMAND_CONFIG_ROLLBACK, /* [N] */
};

/* Those of template. */
enum command_template {
    COMMAND_TEMPLATE_RENDER,
    COMMAND_TEMPLATE_TEST, /* -o junit, too */
    COMMAND_TEMPLATE_DIFF, /* --against=DIR|FILE */
    COMMAND_TEMPLATE_VALIDATE,
    COMMAND_TEMPLATE_BENCHMARK, /* [--count=N] */
    COMMAND_TEMPLATE_SCHEMA,    /* DIR may be left out */
};

/* Those of services. */
enum command_services {
    COMMAND_SERVICES_VIEW,
    COMMAND_SERVICES_EXPLAIN, /* NAMESPACE/NAME */
};

struct command {
    enum command_kind kind;
    const char *node; /* EXPLAIN; borrowed from argv, as the next */
    enum command_config config;
    enum command_template template;
    enum command_services services;
    const char *operand; /* CONFIG: FILE ("-" is standard input) or N; COPY_TO: FOLDER; TEMPLATE: DIR; SERVICES:
                          * NAMESPACE/NAME; NULL: none */
    bool json, junit;
    bool servers, yes;          /* RELEASE */
    const char *test, *against; /* TEMPLATE; NULL: none */
    uint64_t count;             /* TEMPLATE_BENCHMARK; 0: by itself */
    const char *daemon;         /* as in cli/daemon_memory.h, borrowed from argv; "" by itself */
    enum page_colour colour;
    uint64_t timeout_ms;
};

/* Options may stand before or behind NODE, with "=" or as two words; behind "--" comes no option. -1: err says what is
 * wrong with which argument. */
int command_parse(int argc, char *const *argv, struct command *ret, struct error *err) must_check;

#endif

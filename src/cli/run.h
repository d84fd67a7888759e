/* What each command does, once its words and the settings are known: a function for each, named by cli/command_table. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <stdbool.h>

#include "base/compiler.h"

struct command;
struct flags;
struct settings;
struct settings_findings;

struct run {
    const struct command *command;
    const struct flags *flags;
    char **environ;
    const char *version;
    struct settings *settings; /* NULL: the command reads none */
    const struct settings_findings *findings;
    bool ok; /* the settings can be used */
};

/* The exit status. */
int run_check_config(const struct run *r) must_check;
int run_inspect(const struct run *r) must_check; /* plan, explain */
int run_services(const struct run *r) must_check;
int run_doctor(const struct run *r) must_check;
int run_release(const struct run *r) must_check;
int run_config(const struct run *r) must_check;
int run_template(const struct run *r) must_check;
int run_copy_to(const struct run *r) must_check;

#endif

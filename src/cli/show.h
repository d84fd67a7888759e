/* Brings a report to standard output. The exit status: as the report has it, or 1 where that cannot be written. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdio.h>

#include "base/compiler.h"

struct buf;
struct command;
struct config_report;
struct doctor_report;
struct inspect_report;
struct page;
struct settings;

/* For what goes to that file: colours and width as it, the command and the environment want them. */
void show_page_init(struct page *p, struct buf *out, FILE *to, const struct command *command, char *const *environ);

/* -1: it cannot be written. */
int show_text(const struct buf *b, FILE *to) must_check;

/* What concerns no backend goes to standard error. */
int inspect_show(const struct inspect_report *report, const struct command *command, char *const *environ);
int config_show_report(const struct config_report *report, const struct command *command, char *const *environ);
/* What cannot be read goes to standard error. */
int config_show_history(const struct settings *settings, const struct command *command, char *const *environ);
int doctor_show(const struct doctor_report *report, const struct command *command, char *const *environ);

#endif

/* Brings a report to standard output, and what concerns no backend to standard error. */
#ifndef CLI_INSPECT_SHOW_H
#define CLI_INSPECT_SHOW_H

struct command;
struct inspect_report;

/* The exit status: as the report has it, or 1 where standard output cannot be written. */
int inspect_show(const struct inspect_report *report, const struct command *command, char *const *environ);

#endif

/* Brings a report to standard output. */
#ifndef CLI_DOCTOR_DOCTOR_SHOW_H
#define CLI_DOCTOR_DOCTOR_SHOW_H

struct command;
struct doctor_report;

/* The exit status: as the report has it, or 1 where standard output cannot be written. */
int doctor_show(const struct doctor_report *report, const struct command *command, char *const *environ);

#endif

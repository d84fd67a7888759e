/*
 * The servers of one backend, a row for each that would change or stays, in columns:
 *
 *   + n3  10.0.0.3:30443  weight 100  reload   why it is wanted
 *
 * "reload" only where others of the changes need none.
 */
#ifndef CLI_PLAN_ROWS_H
#define CLI_PLAN_ROWS_H

struct inspect_backend;
struct inspect_report;
struct page;

void inspect_print_rows(const struct inspect_report *report, const struct inspect_backend *b, struct page *p);

#endif

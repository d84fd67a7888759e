/* What the words of `template` share. */
#ifndef CLI_TEMPLATE_INTERNAL_H
#define CLI_TEMPLATE_INTERNAL_H

#include "base/page.h"
#include "cli/command.h"
#include "template/trial.h"

struct render_file;
struct template_set;
struct template_test;

struct template_run {
    const struct command *command;
    const struct template_set *set;
    const struct template_test *test; /* that --test names; NULL: none is named */
    struct trial_options trial;
};

/* The set in a folder. */
struct template_set *template_read(const char *dir, struct error *err) must_check;
int template_fail(const char *dir, const struct error *err); /* says so; the exit status */
/* Prints to standard output what fn writes. */
void template_show(const struct template_run *r, void (*fn)(struct page *p, const void *arg), const void *arg);
/* "maps/hosts.map" */
char *template_file_name(const struct render_file *f) must_check;

/* Each returns the exit status. */
int template_test(const struct template_run *r) must_check;
int template_validate(const struct template_run *r) must_check;
int template_diff(const struct template_run *r) must_check;
int template_benchmark(const struct template_run *r) must_check;

#endif

/* `haproxy-k8s-sync template WORD DIR`: template sets without a cluster; what its words share. */
#pragma once

#include "cli/run.h"
#include "template/trial.h"

struct render_file;
struct template_set;
struct template_test;

struct template_run {
    const struct run *run;
    const struct command *command;
    const struct template_set *set;
    const struct template_test *test; /* that --test names; NULL: none is named */
    struct trial_options trial;
};

/* The set in a folder. */
struct template_set *template_read(const char *dir, struct error *err) must_check;
int template_fail(const char *dir, const struct error *err); /* says so; the exit status */
/* Each test whose fixtures are rendered, or that alone which --test names; of a set without tests one time, with NULL. *at: 0
 * the first time. False: no more. */
bool template_next(const struct template_run *r, size_t *at, const struct template_test **ret);
/* "maps/hosts.map" */
char *template_file_name(const struct render_file *f) must_check;

/* Each returns the exit status. */
int template_render(const struct template_run *r) must_check;
int template_benchmark(const struct template_run *r) must_check;
int template_diff(const struct template_run *r) must_check; /* template_diff.c */

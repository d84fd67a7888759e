/* The lines of /readyz taken apart, and what they come to in one word and one line. Pure. */
#ifndef REPORT_CHECKS_H
#define REPORT_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* From the best to the worst. */
enum status_state {
    STATUS_IN_STEP,
    STATUS_CHANGING, /* a write or a reload is under way */
    STATUS_HOLDING,  /* it stays as it is on purpose */
    STATUS_WAITING,  /* something has not answered yet */
    STATUS_PROBLEM,
};

const char *status_state_name(enum status_state s); /* "in_step", ... */

struct status_check {
    bool ok;
    char *subject; /* "target http://lb1:5555 backend be", "watch nodes", "stopping" */
    char *text;    /* "in step"; "" where the subject says it all */
};

struct status_checks {
    struct status_check *list;
    size_t count;
};

/* A line that begins otherwise goes on with the one before. */
void status_checks_parse(struct status_checks *c, const char *readiness);
void status_checks_fini(struct status_checks *c);

/* What is said of a backend in a HAProxy; NULL: nothing. */
const struct status_check *status_checks_of(const struct status_checks *c, const char *url, const char *backend);

/* One line: what is wrong first, and how much more there is. calm: what it is where nothing is wrong. Allocates. */
char *status_checks_summary(const struct status_checks *c, const char *calm) must_check;

#endif

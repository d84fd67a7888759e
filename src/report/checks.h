/*
 * What is checked, and how it stands: each part of the daemon adds its own, and /readyz, /status, systemd's line and
 * plan render the same ones. `doctor` has them, too, with more to say about each (cli/doctor/doctor_report).
 */
#ifndef REPORT_CHECKS_H
#define REPORT_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct buf;

enum check_state {
    CHECK_OK,
    CHECK_WARN, /* good enough, and there is more to say than usual */
    CHECK_FAIL,
    CHECK_SKIP, /* it could not be looked at; only doctor has these */
    CHECK_STATES
};

const char *check_state_word(enum check_state s); /* "ok", "warn", "fail", "skip" */

struct check {
    char *name; /* "target http://lb1:5555 backend be", "watch nodes", "stopping" */
    enum check_state state;
    char *reason; /* what was found: "in step"; NULL: the name says it all */
    char *hint;   /* what to do about it; NULL: nothing to say */
};

struct checks {
    struct check *list;
    size_t count;
};

/* Takes the texts, which were allocated; reason and hint may be NULL. */
void checks_add(struct checks *c, enum check_state state, char *name, char *reason, char *hint);
void checks_fini(struct checks *c); /* a zeroed one is allowed */
void check_fini(struct check *c);

const struct check *checks_find(const struct checks *c, const char *name); /* NULL: there is none */
/* The first that failed; NULL: none did. *ret_more (NULL: not asked for): how many others did. */
const struct check *checks_failed(const struct checks *c, size_t *ret_more);

/* "[+]watch nodes: synced, 5 objects", a line for each; "[-]" where it failed. */
void checks_print(const struct checks *c, struct buf *out);
/* "REASON; HINT", "" where there is neither. Allocates. */
char *checks_text(const struct check *c) must_check;
/* "NAME: REASON; HINT". Allocates. */
char *checks_line(const struct check *c) must_check;
/* One line: what failed first, and how much more did; otherwise what is to be said beside that all is well, or `calm`.
 * Allocates. */
char *checks_summary(const struct checks *c, const char *calm) must_check;

#define CHECKS_STATUS_MAX_BYTES 512
/* The same as systemd shows it of a service: "ready", "not ready: watch nodes: ... (and 2 more, see /readyz)". What
 * cannot be shown on a terminal is escaped, what is too long is cut. Allocates. */
char *checks_status(const struct checks *c, bool ready) must_check;

/* Of a backend, from the best to the worst. */
enum status_state {
    STATUS_IN_STEP,
    STATUS_CHANGING, /* a write or a reload is under way */
    STATUS_HOLDING,  /* it stays as it is on purpose */
    STATUS_WAITING,  /* something has not answered yet */
    STATUS_PROBLEM,
};

const char *status_state_name(enum status_state s); /* "in_step", ... */

#endif

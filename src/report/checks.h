/*
 * Checks and their results: each part of the daemon adds its own, and /readyz, /status, metrics, systemd's status line
 * and plan render the same ones. `doctor` has them, too, with more about each (cli/doctor/doctor_report).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct buf;

enum check_state {
    CHECK_OK,
    CHECK_WARN, /* ready, with a remark */
    CHECK_FAIL,
    CHECK_SKIP, /* it could not be checked; only doctor has these */
    CHECK_STATES
};

const char *check_state_word(enum check_state s); /* "ok", "warn", "fail", "skip" */

struct check {
    char *name; /* "target http://lb1:5555 backend be", "watch nodes", "stopping" */
    enum check_state state;
    char *reason; /* what was found: "in sync"; NULL: the name says everything */
    char *hint;   /* what to do about it; NULL: nothing */
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
/* The first that failed; NULL: none. *ret_more (may be NULL): how many others failed. */
const struct check *checks_failed(const struct checks *c, size_t *ret_more);

/* "[+]watch nodes: synced, 5 objects", a line for each; "[-]" if it failed. */
void checks_print(const struct checks *c, struct buf *out);
/* "REASON; HINT", "" where there is neither. Allocates. */
char *checks_text(const struct check *c) must_check;
/* "NAME: REASON; HINT". Allocates. */
char *checks_line(const struct check *c) must_check;
/* One line: the first that failed and the number of others; otherwise the first remark, or `calm`. Allocates. */
char *checks_summary(const struct checks *c, const char *calm) must_check;

#define CHECKS_STATUS_MAX_BYTES 512
/* The same for systemd's status line: "ready", "not ready: watch nodes: ... (and 2 more, see /readyz)". What
 * cannot be shown on a terminal is escaped, what is too long is cut. Allocates. */
char *checks_status(const struct checks *c, bool ready) must_check;

/* Of a backend, from the best to the worst. */
enum status_state {
    STATUS_IN_SYNC,
    STATUS_CHANGING,        /* a write or a reload is under way */
    STATUS_NOT_WRITTEN,     /* by a dry run or a pause */
    STATUS_REMOVAL_DELAYED, /* by the loss limit, or because there is no usable endpoint */
    STATUS_WAITING,         /* something has not answered yet */
    STATUS_PROBLEM,
};

const char *status_state_name(enum status_state s); /* "in_sync", ... */

/*
 * What to do next about one HAProxy. Pure: the daemon, and later `plan` and `explain`, decide by the same code.
 */
#ifndef SYNC_PLAN_H
#define SYNC_PLAN_H

#include <stdbool.h>

#include "model/backend.h"
#include "model/desired.h"
#include "model/diff.h"

enum plan_verdict {
    PLAN_WAIT,         /* the wish is not known yet or needs a decision by the user: nothing is written */
    PLAN_IN_STEP,      /* nothing to do */
    PLAN_WRITE,        /* a transaction with diff's changes */
    PLAN_RELOAD_AGAIN, /* an empty commit: the last reload failed or its end is not known */
    PLAN_HOLD,         /* no usable endpoint: the last good servers stay */
    PLAN_REFUSE,       /* must not write; an operator has to act */
};

struct plan {
    enum plan_verdict verdict;
    struct diff diff; /* empty with PLAN_WAIT */
    const char *why;  /* WAIT, HOLD, REFUSE; borrowed from diff and wish */
};

/* dirty: the last reload failed or its end is not known, so HAProxy may run something else than the file says. */
void plan_make(const struct backend *actual, const struct desired *wish, const struct diff_rules *rules, bool dirty,
               struct plan *ret);
void plan_fini(struct plan *p);

#endif

/*
 * What to do next about one backend of one HAProxy, and which way it goes there: the daemon and `plan` decide here, by what
 * each of them knows. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "haproxy/backend.h"
#include "servers/desired/desired.h"
#include "servers/change/diff.h"
#include "servers/change/loss_limit.h"
#include "servers/change/route.h"

enum plan_verdict {
    PLAN_WAIT,         /* the desired state is not known yet or needs a choice by the user: nothing is written */
    PLAN_IN_SYNC,      /* nothing to do */
    PLAN_WRITE,        /* a transaction with diff's changes; held_back of them wait */
    PLAN_RELOAD_AGAIN, /* an empty commit: the last reload failed or its end is not known */
    PLAN_NO_ENDPOINT,  /* no usable endpoint: the last good servers stay */
    PLAN_LOSS_LIMIT,   /* the loss limit delays removals, and nothing else differs */
    PLAN_NOT_WRITTEN,  /* there is something to write (diff), but writing is paused or this is a dry run */
    PLAN_REFUSE,       /* must not write; an operator has to act */
};

struct plan_rules {
    struct diff_rules diff;
    unsigned max_loss_percent; /* 100: no loss limit */
    uint64_t loss_window_ms;   /* its window, and how long a removal is delayed */
    bool dry_run;
    const char *file_problem; /* why a write would damage the file that it is in; NULL: it would not. Borrowed */
};

struct plan_delayed {
    char *server;
    uint64_t until_ms; /* monotonic */
};

struct plan {
    enum plan_verdict verdict;
    struct diff diff; /* empty with PLAN_WAIT */
    /* WAIT, NO_ENDPOINT, REFUSE, LOSS_LIMIT, NOT_WRITTEN, and any other with held_back; part of diff or of text */
    const char *why;
    char *text;
    struct plan_delayed *held; /* losses that the loss limit keeps out of diff (WRITE, LOSS_LIMIT, RELOAD_AGAIN and
                          * NOT_WRITTEN); ordered by server */
    size_t held_back;          /* so many */
    char *delayed_names;       /* "n1, n2 and 3 more"; NULL: none */
    uint64_t delayed_until_ms; /* with held_back: the first of them goes then; plan again */
};

/* dirty: the last reload failed or its end is not known, so HAProxy may run something else than the file says. loss
 * limit: of this backend, kept from plan to plan: each plan reports its losses. now_ms: monotonic. */
void plan_make(const struct backend *actual, const struct desired *desired, const struct plan_rules *rules, bool dirty,
               struct loss_limit *loss_limit, uint64_t now_ms, struct plan *ret);
void plan_fini(struct plan *p);
/* Of a desired state that another may follow before there is a plan. */
void plan_note_returns(const struct desired *desired, struct loss_limit *loss_limit);
const struct plan_delayed *plan_find_delayed(const struct plan *p, const char *server); /* NULL: its removal is not
                                                                                         * delayed */
/* "n1 until 2026-01-02T03:04:05.678Z, n2 until ... and 3 more"; NULL: no removal is delayed. Allocates. */
char *plan_delayed_text(const struct plan *p, int64_t wall_minus_mono_ms) must_check;

struct backend_decision_input {
    struct route_input at; /* what is there and desired; without diff and may_write */
    /* For all backends: parking, file_problem and diff.runtime are those of this one. */
    const struct plan_rules *rules;
    const struct parking *parking;
    const char *file_problem;
    struct loss_limit *loss_limit; /* NULL: nothing was lost before */
    uint64_t now_ms;
    bool dirty;    /* HAProxy may run something else than its file says */
    bool conflict; /* another writer reverts the daemon's changes, so that they pause */
    bool as_if;    /* neither paused nor a dry run: to show what would be done */
    bool for_file; /* the file is to say everything, as a reload forgets what the running HAProxy alone was commanded */
};

bool backend_decision_suspended(const struct backend_decision_input *in);
void backend_decision_plan(const struct backend_decision_input *in, struct plan *ret);
/* Of a plan for that input. */
void backend_decision_route(const struct backend_decision_input *in, const struct plan *p, struct route *ret);
/* What the running HAProxy alone was commanded of this one is to go into another backend's transaction. */
bool backend_decision_joins(const struct backend_decision_input *in, enum plan_verdict verdict);

/*
 * The loss limit: servers that are lost without an announcement, more of them than a share of the live ones, are more
 * often a fault of a control plane than a desired state, so their removal is delayed. It remembers, for one backend of
 * one HAProxy. Pure.
 *
 *   loss      a managed live line (not in maintenance in the file) that is not desired, and whose end was not announced
 *   report    one call of loss_limit_report; its new losses are those of servers that have none yet
 *   window    a loss counts for period_ms from its report, whether its server left or its removal is delayed
 *   base      the live servers before the oldest loss that counts was reported (of the same moment: the most): lines
 *             that are live in the file, less those whose loss let them go already. Where none counts: those now. So
 *             servers that come later make no loss smaller
 *   limit     losses that count, the new ones among them, above max_percent of base: the removals of all new ones of
 *             this report are delayed; else all of them may leave. What was decided before stays
 *   delay     until period_ms after the server's own report, however many others return. Then it may leave, and does
 *             not count any more
 *   return    the loss of a server that is desired again, or whose end is announced now, is forgotten; lost again it is
 *             a new loss. So is that of a delayed server whose line is gone or was put into maintenance otherwise
 *
 * With max_percent 100 nothing is remembered; with period_ms 0 nothing is delayed. A loss that may leave and does not
 * (a pause, a write that fails) is kept, counting for period_ms as others do. No more losses are kept than the file has
 * live lines, or had in the window.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct loss_limit_loss {
    char *server;
    uint64_t until_ms; /* it counts, and is delayed, before that; 0: one period after the next report */
    size_t live;       /* the base, as it would be with this loss as the oldest */
    bool held;
};

struct loss_limit {
    struct loss_limit_loss *losses; /* ordered by server */
    size_t count;
    size_t over, of; /* so many losses of so many servers, when some were delayed last */
};

struct loss_limit_report {
    const char **lost; /* of all servers that are lost now; is sorted */
    size_t lost_count;
    size_t live; /* live lines, those of `lost` among them */
    unsigned max_percent;
    uint64_t period_ms, now_ms; /* monotonic; the period never changes */
    /* Whether the server of a loss that is not among `lost` is desired again, or was announced; else it has left. */
    bool (*returned)(const void *arg, const char *server);
    const void *arg;
};

void loss_limit_report(struct loss_limit *b, const struct loss_limit_report *r); /* a zeroed loss limit is a new one */

void loss_limit_copy(struct loss_limit *ret, const struct loss_limit *from); /* for what is planned, and not done */

/* Whether its removal is delayed, until *ret_until_ms. */
bool loss_limit_delays(const struct loss_limit *b, const char *server, uint64_t now_ms, uint64_t *ret_until_ms);

/* Why removals were delayed last. Allocates. */
char *loss_limit_text(const struct loss_limit *b, unsigned max_percent) must_check;

/* Those that returned between two reports: lost again by the next, theirs are new losses. */
void loss_limit_forget(struct loss_limit *b, bool (*returned)(const void *arg, const char *server), const void *arg);

/* What is lost is not known for a time, or nothing is desired: each delay begins anew with the next report, and its loss
 * keeps its base. The losses that may leave go on counting. */
void loss_limit_suspend(struct loss_limit *b);

void loss_limit_fini(struct loss_limit *b); /* leaves a new one */

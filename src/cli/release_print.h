/*
 * What `release` says. Its JSON has
 *
 *     released    nothing is left to be done
 *     writes      it was to be done (--yes, without DRY_RUN)
 *     problems    texts: what stands against being sure that no daemon runs
 *     haproxies   url, released, problem (null)
 *     backends    of each HAProxy: backend, haproxy; verdict: released, to_do, failed, unknown; why (null); exists;
 *                 changes: what is left to be done (op, server, parked); drains: servers whose drain is to end;
 *                 overridden: servers that an operator has put into maintenance; removed, drains_ended: what was done;
 *                 kept, unmanaged: lines that stay
 */
#ifndef CLI_RELEASE_PRINT_H
#define CLI_RELEASE_PRINT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct page;
struct release_view;

/* Of one HAProxy. All is borrowed. */
struct release_report_target {
    const char *url, *problem;           /* problem NULL: none */
    const struct release_view *backends; /* backend_count of them */
};

struct release_report {
    const struct release_report_target *targets;
    size_t target_count, backend_count;
    bool writes, yes, servers;
    const char *unknown; /* why it is not sure that no daemon runs; NULL: it is */
};

/* 0 nothing is left to be done, RELEASE_STATUS_TO_DO, 1 not all could be done. */
int release_report_status(const struct release_report *r);
void release_print_text(const struct release_report *r, struct page *p);
void release_print_json(const struct release_report *r, struct buf *out);

#endif

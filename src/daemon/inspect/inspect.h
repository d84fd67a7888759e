/*
 * What a controller would do, by what it has: for a command's dry run (cli/inspect), and for GET /plan, where the daemon gives
 * `plan` its own answer.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "daemon/mappings.h"
#include "daemon/targets.h"

struct inspect_report;
struct settings;
struct sources;

struct inspect_of {
    const struct settings *settings;
    const struct mappings *mappings;
    const struct sources *sources; /* NULL: Kubernetes is not asked */
    const struct targets *targets;
    const struct plan_rules *rules;
    const char *node; /* of `explain`; NULL: none */
};

/* Of a report that has a desired state for each mapping: all else up to what inspect_decide makes of it. It borrows from all
 * of these. */
void inspect_fill(const struct inspect_of *of, struct inspect_report *ret);

/* How `plan` is to be shown. */
struct inspect_page {
    bool json;
    bool colour, colour_of_problems;
    size_t width, width_of_problems;
};
void inspect_show(const struct inspect_report *r, const struct inspect_page *how, struct buf *out,
                  struct buf *problems);

/* What decides about servers, a line for each: "backends=be ingress/web:https", "setting DRY_RUN=false". A plan is of another
 * daemon where any of them is another. */
void inspect_print_settings(const struct settings *s, struct buf *out);

/* "/plan?text,100,1,100,1,http://127.0.0.1:8080"; url: by which the daemon is called in it. Allocates. */
char *inspect_query(const struct inspect_page *how, const char *url) must_check;
/* The answer to one with that behind its '?', JSON: {"why": "it is not the leader"}, or {"settings": as above, "status": that of
 * `plan`, "out", "problems": for standard output and standard error}. targets NULL: it does not lead. */
void inspect_answer(const struct inspect_of *of, const struct mapping_state *states, const char *query,
                    struct buf *body);

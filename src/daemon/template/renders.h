/* How renders went: how many, what the last one that gave something else changed, what the last failure was. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

#define RENDERS_CHANGES_MAX 50 /* that are kept by their names */

struct rendered;
struct renders;
struct storage_files;
struct metric_table;

struct renders *renders_new(struct metric_table *metrics) must_check; /* NULL: nothing is counted */
void renders_free(struct renders *r);                                 /* NULL is allowed */

/* Of the set, or, with rendered, of a render. */
void renders_failed(struct renders *r, const struct error *err, bool rendered);
/* same: it gave what was given last. newest: of the newest set, which is right then. */
void renders_succeeded(struct renders *r, const struct rendered *rendered, const struct storage_files *files, bool same,
                       bool newest);

struct render_change {
    const char *kind; /* "haproxy.cfg", "map", "certificate", "file" */
    char *name;
    const char *what;      /* "new", "gone", "changed" */
    bool counted;          /* of a certificate no lines are */
    size_t added, removed; /* lines; neither of one that has changed: their order is another one */
};

struct renders_view {
    uint64_t changed, unchanged, failed;
    int64_t succeeded_wall_ms;           /* the last time; 0: never */
    uint64_t took_us;                    /* then */
    size_t files;                        /* then, besides haproxy.cfg */
    int64_t changed_wall_ms;             /* when it gave something else last; 0: never */
    bool first;                          /* that was the first of this process, so that all was new */
    const struct render_change *changes; /* of that one; haproxy.cfg first, if that has */
    size_t change_count;                 /* of all; RENDERS_CHANGES_MAX of them are there */
    size_t added, removed;               /* lines of all that are counted */
    int64_t failed_wall_ms;              /* the last time; 0: never */
    const char *failure;                 /* then */
};
struct renders_view renders_view(const struct renders *r);

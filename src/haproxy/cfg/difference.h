/*
 * What a change of a haproxy.cfg is: in words for people, and what it costs. Pure.
 *
 * The same: the same tokens in the same order, but for blanks and comments. Behind a Data Plane API, which keeps a file by
 * kinds of lines, the order of sections and of lines of different kinds is not in the file (haproxy/cfg/entries), and
 * nothing is concluded from it. By the runtime only what enum cfg_effect lists, where all other lines that HAProxy reads
 * are the same byte for byte, and no conditional and no environment variable decides what the backend is. All else takes
 * a reload.
 */
#pragma once

#include "base/compiler.h"
#include "haproxy/cfg/file.h"
#include "haproxy/change.h"

enum cfg_effect {
    CFG_EFFECT_NONE,
    /* HAProxy's runtime API can do all of it (management guide, 9.3 "set server"): a server's IP address and port where it
     * had such before, its weight under a dynamic algorithm, `disabled`. Not of a server with `track`, or with a keyword
     * that haproxy/cfg/keywords does not know. */
    CFG_EFFECT_RUNTIME,
    /* The same, and servers come and go under a dynamic algorithm ("add server", "del server"); a backup server only behind
     * all others. */
    CFG_EFFECT_RUNTIME_SERVERS,
    CFG_EFFECT_RELOAD,
};

#define CFG_DIFFERENCE_MAX 20

/* "backend b: server n1 address, weight", "frontend f: new bind", "backend x: new", "global: maxconn": never a word
 * behind the second of a line, which may be a secret, but for keywords of servers. */
struct cfg_difference {
    enum cfg_effect effect;          /* of all together */
    size_t count;                    /* CFG_EFFECT_NONE: 0 */
    char *texts[CFG_DIFFERENCE_MAX]; /* the first of them */
    char *why;                       /* the first one that takes `effect`; NULL: none */
    struct changes changes;          /* for the runtime API: all of it, unless it takes a reload */
};

/* From `before` to `after`. regrouped: a Data Plane API wrote `before`, and will write `after`. */
void cfg_difference_init(struct cfg_difference *d, const struct cfg_file *before, const struct cfg_file *after,
                         bool regrouped);
void cfg_difference_fini(struct cfg_difference *d);

/* HAProxy reads the same in both, for certain. */
bool cfg_same_meaning(const struct cfg_file *a, const struct cfg_file *b, bool regrouped);

#define CFG_LINE_DIFFERENCE_MAX 20
#define CFG_LINE_DIFFERENCE_LINE_MAX_BYTES 200

/* The same line by line, for people, with secrets masked (haproxy/cfg/mask). Where the lines are the same, and only their
 * order differs, there is none of them. */
struct cfg_line_difference {
    size_t count;
    struct cfg_line_of {
        char *section;                /* "backend b" */
        char *text;                   /* "- server n1 10.0.0.1:80 check" of the first file, "+ ..." of the second */
    } lines[CFG_LINE_DIFFERENCE_MAX]; /* the first of them */
};

void cfg_line_difference_init(struct cfg_line_difference *d, const struct cfg_file *before,
                              const struct cfg_file *after);
void cfg_line_difference_fini(struct cfg_line_difference *d);

/*
 * The text of a haproxy.cfg as sections and lines, and what a Data Plane API's write would do to it: its parser writes the whole
 * file anew, by kind of line, and what it does not understand, or what HAProxy understands by its place, changes in meaning. Pure.
 */
#ifndef HAPROXY_CFG_FILE_H
#define HAPROXY_CFG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The API's scanner gives the rest of a file up at a line of so many bytes. */
#define CFGFILE_LINE_MAX_BYTES 65536

/* Neither blank nor a comment alone. */
struct cfgfile_line {
    const char *text; /* without its end; borrowed */
    size_t len;
    unsigned number;
};

struct cfgfile_section {
    char *kind, *name, *from;         /* "" where there is none; quotes resolved */
    const struct cfgfile_line *line;  /* its header */
    const struct cfgfile_line *lines; /* the others */
    size_t line_count;
};

struct cfgfile {
    int64_t version;            /* `# _version=N`; -1 where absent */
    struct cfgfile_line *lines; /* all of the file; those before the first section belong to none */
    size_t line_count;
    struct cfgfile_section *sections; /* in the order of the file */
    size_t section_count;
    unsigned too_long; /* the first line, comments included, that the API would stop at; 0: none */
};

/* text is borrowed: it outlives f. ERROR_INVALID: that is no configuration, and f is empty. */
int cfgfile_init(struct cfgfile *f, const char *text, size_t len, struct error *err) must_check;
void cfgfile_fini(struct cfgfile *f);

/* One that takes what it does not say from a defaults section. */
bool cfgfile_is_proxy(const char *kind);

/* What a write would change in meaning by the lines themselves, with their numbers and what to do about it: conditionals, a line
 * that is too long, a default-server behind a server. NULL: nothing of the kind. Allocates. */
char *cfgfile_problem(const struct cfgfile *f) must_check;
/* Proxies without `from` among several defaults sections: some Data Plane APIs write the `from` that keeps each under its own,
 * some do not, which only a look at what they would write can tell. NULL: none. Allocates. */
char *cfgfile_defaults_problem(const struct cfgfile *f) must_check;

/* Which lines may differ: those that a transaction is to write. section NULL: the header of s itself. */
struct cfgfile_ours {
    bool (*is_ours)(const void *arg, const char *kind, const char *name, const char *first, const char *second);
    const void *arg;
};

/* What of `before` means something else in `after`, which the API would write in its place, with line numbers of `before`: not
 * comments, white space, quotes, the order of sections or that of lines of different kinds. ours NULL: nothing may differ. NULL:
 * nothing. Allocates. Lines are named by their first two words: what follows may be a secret. */
char *cfgfile_compare(const struct cfgfile *before, const struct cfgfile *after,
                      const struct cfgfile_ours *ours) must_check;

#endif

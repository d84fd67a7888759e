/*
 * The text of a haproxy.cfg as sections and lines (HAProxy's configuration manual, 2.1 and 2.2: a statement is a line,
 * a backslash at its end goes on nowhere; `-f a -f b` are files of their own, no section goes on in the next), and what
 * a Data Plane API's write would do to it: its parser writes the whole file anew, by kind of line, and what it does not
 * understand, or what HAProxy understands by its place, changes in meaning. Nothing is lost: the text itself stays, and
 * haproxy/cfg/edit prints it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The API's scanner gives the rest of a file up at a line of so many bytes. */
#define CFGFILE_LINE_MAX_BYTES 65536

struct cfg_file_line {
    const char *text; /* without its end; borrowed */
    size_t len;
    unsigned number;      /* from 1 */
    unsigned end_len : 2; /* of "\n" or "\r\n"; behind the last line there may be none, or a "\r" */
    bool
        conditional : 1; /* stands between .if and .endif, and is no directive itself; of the lines of a struct cfg_file */
    const char *plain; /* where its words begin, as cfg_line_plain has it; NULL: it is another line, or was not split */
    size_t plain_len;
};

struct cfg_file_section {
    char *kind, *name, *from;          /* "" where there is none; quotes resolved */
    const struct cfg_file_line *line;  /* its header */
    const struct cfg_file_line *lines; /* the others */
    size_t line_count;
    /* Of a `defaults` section without a name: the one that the API gives it, which no section of the file has. */
    char *given_name;
    const struct cfg_file_section *defaults; /* that it inherits from: by `from`, a proxy otherwise by place; or NULL */
};

struct cfg_file {
    const char *text; /* borrowed */
    size_t len;
    int64_t version; /* `# _version=N`; -1 where absent */
    struct cfg_file_line
        *lines; /* all that are neither blank nor a comment alone; those before the first section belong
                                  * to none */
    size_t line_count;
    struct cfg_file_section *sections; /* in the order of the file */
    size_t section_count;
    unsigned too_long; /* the first line, comments included, that the API would stop at; 0: none */
    unsigned wordy;    /* the first line of more than CFGFILE_WORDS_MAX words; 0: none */
    unsigned broken;   /* the first line with a quote that does not end, which HAProxy refuses; 0: none */
    bool too_many;     /* lines: a million are kept */

    /* The file that HAProxy reads before this one (-f a -f b); NULL: none. */
    const struct cfg_file *before;
};

/* Any bytes. text is borrowed: it outlives f. */
void cfg_file_parse(struct cfg_file *f, const char *text, size_t len);
/* The same of one of several files: its proxies inherit from defaults sections of those before it, too. before is
 * borrowed, as text is. */
void cfg_file_parse_behind(struct cfg_file *f, const char *text, size_t len, const struct cfg_file *before);
/* The same of what a Data Plane API gave. ERROR_INVALID: that is no configuration, and f is empty. */
int cfg_file_init(struct cfg_file *f, const char *text, size_t len, struct error *err) must_check;
void cfg_file_fini(struct cfg_file *f);

/* The line behind `line`, blank ones and comments, too; a zeroed one is before the first. false: there is none. */
bool cfg_file_next(const struct cfg_file *f, struct cfg_file_line *line);

/* ".if", ".notice" and others: no line of the section that it stands in. */
bool cfg_file_is_directive(const struct cfg_file_line *line);

/* The last line of s that is none, or its header: what stands behind it may be about the next section. */
const struct cfg_file_line *cfg_file_last_own_line(const struct cfg_file_section *s);

/* The first section of that backend, and the next one behind that; NULL: there is none. */
const struct cfg_file_section *cfg_file_backend(const struct cfg_file *f, const char *backend);
const struct cfg_file_section *cfg_file_backend_again(const struct cfg_file *f, const struct cfg_file_section *first);

/* By kind and name, then as in the file. Allocates. */
const struct cfg_file_section **cfg_file_ordered_sections(const struct cfg_file *f) must_check;
/* By kind and name alone. */
int cfg_file_section_order(const struct cfg_file_section *a, const struct cfg_file_section *b);

/* given_name where it has one. */
const char *cfg_file_name(const struct cfg_file_section *s);

/* One that takes what it does not say from a defaults section. */
bool cfg_file_is_proxy(const char *kind);

/* What a write would change in meaning by the lines themselves, with their numbers and what to do about it:
 * conditionals, a line that is too long, a default-server behind a server. NULL: nothing of the kind. Allocates. */
char *cfg_file_problem(const struct cfg_file *f) must_check;
/* Proxies without `from` among several defaults sections: some Data Plane APIs write the `from` that keeps each under
 * its own, some do not, which only a preview shows. NULL: none. Allocates. */
char *cfg_file_defaults_problem(const struct cfg_file *f) must_check;

/*
 * A haproxy.cfg as what it says, in an order that makes two of them comparable: by section, then by kind of line, and
 * within a kind, where the order matters, as in the file. Comments, white space, quotes, the order of sections and of
 * lines of different kinds say nothing (HAProxy's configuration manual, 2.1). For haproxy/cfg/difference and damage.
 */
#pragma once

#include "haproxy/cfg/file.h"

struct cfg_file_managed;

/* A line, or a section's header. */
struct cfg_entry {
    char *key; /* "KIND NAME" of the section, '\n', kind of line, among peers CFG_BETWEEN_WORDS and the name; a header's
                 * ends with the '\n' */
    char *text; /* its words, with CFG_BETWEEN_WORDS; of a header the defaults that it inherits from. May be a secret */
    const struct cfg_file_line *line; /* that it is made of */
    size_t order;
    const struct cfg_file_section *in;
};

#define CFG_BETWEEN_WORDS '\x1f'

/* Those of one key; where the last one counts, that alone. */
struct cfg_run {
    const struct cfg_entry *list; /* NULL: none */
    size_t count;
};

/* Calls `see` for each key that one of two files has, with the runs of both: without the sections that are there once in
 * both, and have the same lines. ours NULL: all lines count. */
typedef void cfg_entries_see(void *arg, struct cfg_run was, struct cfg_run is);
void cfg_entries_compare(const struct cfg_file *before, const struct cfg_file *after,
                         const struct cfg_file_managed *ours, cfg_entries_see *see, void *arg);

/* Which lines of two runs have none of the same text in the other one, whatever their order is. */
struct cfg_lone_lines {
    bool *gone, *new;
    size_t gone_count, new_count;
};
struct cfg_lone_lines cfg_lone_lines_of(struct cfg_run was, struct cfg_run is) must_check;
void cfg_lone_lines_fini(struct cfg_lone_lines *l);

bool cfg_entry_is_header(const struct cfg_entry *e);

/* The same tokens, but for blanks and the comment; behind a quote or a backslash, byte for byte. */
bool cfg_entries_same_line(const struct cfg_file_line *a, const struct cfg_file_line *b);

/*
 * A haproxy.cfg as what it says, in an order that makes two of them comparable: by section, then by kind of line, and
 * within a kind, where the order matters, as in the file. Comments, white space, quotes, the order of sections and of
 * lines of different kinds say nothing (HAProxy's configuration manual, 2.1). For haproxy/cfg/compare and difference.
 */
#ifndef HAPROXY_CFG_ENTRIES_H
#define HAPROXY_CFG_ENTRIES_H

#include "haproxy/cfg/file.h"

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

struct cfg_entries {
    struct cfg_entry *list; /* ordered by key, then as in the file */
    size_t count, room;
    size_t at; /* of cfg_entries_next */
};

/* Of two files that are to be compared, which are borrowed: without the sections that are there once in both, and have
 * the same lines. ours NULL: all lines. */
void cfg_entries_init_both(struct cfg_entries *a, struct cfg_entries *b, const struct cfg_file *before,
                           const struct cfg_file *after, const struct cfg_file_managed *ours);
void cfg_entries_fini(struct cfg_entries *e);

/* Those of one key; where the last one counts, that alone. */
struct cfg_run {
    const struct cfg_entry *list; /* NULL: none */
    size_t count;
};

/* The runs of the next key, in both or in one of them. false: that was all. */
bool cfg_entries_next(struct cfg_entries *a, struct cfg_entries *b, struct cfg_run *ret_a, struct cfg_run *ret_b);

bool cfg_entry_is_header(const struct cfg_entry *e);

/* The same tokens, but for blanks and the comment; behind a quote or a backslash, byte for byte. */
bool cfg_entries_same_line(const struct cfg_file_line *a, const struct cfg_file_line *b);

#endif

/*
 * A haproxy.cfg printed, as it stands or with some of its lines edited. What no edit is for is the same byte for byte:
 * blanks, comments, quotes, ends of lines. Pure.
 */
#pragma once

#include "base/buf.h"
#include "haproxy/cfg/file.h"

enum cfg_edit_kind {
    CFG_EDIT_REPLACE, /* the line's text; its end stays */
    CFG_EDIT_REMOVE,  /* the line and its end */
    CFG_EDIT_INSERT,  /* a line behind it, with an end like its own; line 0: at the top */
};

/* Of one file. A zeroed one is empty. Line numbers are those of the file before any edit. */
struct cfg_edits {
    struct cfg_edit {
        unsigned line;
        enum cfg_edit_kind kind;
        char *text; /* without an end; may be a secret */
    } * list;       /* in the order of lines, those of a line as they were added */
    size_t count;
};

/* In any order, but at most one REPLACE or REMOVE for a line. Copies len bytes of text (NULL for CFG_EDIT_REMOVE). */
void cfg_edits_add(struct cfg_edits *e, unsigned line, enum cfg_edit_kind kind, const char *text, size_t len);
void cfg_edits_fini(struct cfg_edits *e);

/* From the lines of what was printed back to those of the file before: in ascending order from a zeroed one on. */
struct cfg_edits_back {
    size_t at;
    long shift;
};

/* *ret_inserted: it was inserted behind that one. */
unsigned cfg_edits_line(const struct cfg_edits *e, struct cfg_edits_back *back, unsigned printed, bool *ret_inserted);

/* Adds the text to out. edits NULL: none. end NULL: each line keeps its own; otherwise all have that one, the last one,
 * too. Where the last line of the file has no end, and one is inserted behind it, "\n" stands between them. */
void cfg_file_print(const struct cfg_file *f, const struct cfg_edits *edits, const char *end, struct buf *out);

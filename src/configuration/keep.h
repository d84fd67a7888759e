/*
 * The server lines that are not the document's: those of backends whose servers the daemon itself or another one
 * manages. What is sent is the document with the lines that the file has now, behind the last line of each of these
 * backends that is no directive (".if"), which may be about the next section. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "haproxy/cfg/edit.h"

/* A `backend` or `listen`, with all of its `server` and `server-template` lines, or those of them that the servers
 * engine manages. */
struct keep_backend {
    const char *name;
    bool (*manages)(const void *arg, const char *server, bool backup); /* NULL: all, which are another daemon's */
    const void *arg;
};

struct keep_rules {
    const struct keep_backend *list; /* none twice */
    size_t count;
};

/* ERROR_INVALID: the document has such lines, or lacks such a backend, or a conditional decides about a line of one: which,
 * by its lines, and what to do. */
int keep_check(const struct cfg_file *document, const struct keep_rules *rules, struct error *err) must_check;

/* Adds text (the document, or a file from before) to out, with the lines of `now` in place of its own: by these
 * edits. */
void keep_print(const struct cfg_file *text, const struct cfg_file *now, const struct keep_rules *rules,
                struct cfg_edits *ret_edits, struct buf *out);

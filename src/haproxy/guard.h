/*
 * Whether the file may be written to at all. Each write of a Data Plane API writes the whole file anew, as its parser
 * understood it, and some files mean something else then. So nothing is written before the file was examined and a
 * preview (of an empty transaction) showed what a write would make of it; not again while the daemon is the only
 * writer. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "haproxy/cfg/damage.h"
#include "net/digest.h"

struct cfg_content;

struct guard {
    int64_t passed, refused; /* versions of the file: one that a write leaves as it is, one that it would not; -1 */
    int64_t unsure; /* the one that the daemon's write, whose answer was lost, probably made of one that passed; -1 */
    /* As it was read last, as an edit while the API is down moves no version: itself, or its digest. NULL and "": we
     * wrote since. */
    struct cfg_content *file;
    char digest[DIGEST_SHA256_TEXT_BYTES];
    bool blind;    /* the API cannot preview a write: only the lines of the file are checked */
    char *problem; /* why nothing is written; NULL */
};

void guard_init(struct guard *g);
void guard_fini(struct guard *g);

/* The file was read: its text (NULL: not known), and what is wrong with it by its lines, for sure or perhaps (NULL:
 * nothing). behind: a failed reload put an older one back, and what is known of `version` stays. */
void guard_read(struct guard *g, int64_t version, bool behind, struct cfg_content *file, const char *problem,
                const char *defaults_problem);
void guard_let_file_go(struct guard *g); /* its digest is kept */
void guard_forget(struct guard *g);      /* the next reading is examined anew */
bool guard_passed(const struct guard *g, int64_t version);
/* The daemon wrote `version`, where the file was at `was`. False: what was read has not passed, or is not what was
 * written to. */
bool guard_wrote(struct guard *g, int64_t was, int64_t version);
void guard_answer_lost(struct guard *g, int64_t version);
/* What a write would make of the file, against what it is. managed NULL: nothing may differ. NULL: nothing does.
 * Allocates. */
char *guard_compare(struct guard *g, struct cfg_content *before, const char *after, size_t after_len,
                    const struct cfg_file_managed *ours) must_check;
void guard_pass(struct guard *g, int64_t version);
void guard_refuse(struct guard *g, int64_t version, const char *problem);

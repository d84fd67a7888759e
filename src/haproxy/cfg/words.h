/*
 * One line of haproxy.cfg as words, by the rules of HAProxy's configuration manual, section 2.2: white space
 * separates, '#' begins a comment, "" and '' quote, a backslash escapes. For haproxy/cfg/unsupported_lines only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* HAProxy refuses a line of more. */
#define CFGFILE_WORDS_MAX 64
#define RAWCFG_MAX_WORDS 128

struct cfg_word {
    const char *text; /* quotes and escapes resolved; environment variables are not */
    const char *raw;  /* as it stands in the file; raw_len bytes, borrowed from the file's text */
    size_t raw_len;
    bool plain; /* both are the same */
};

struct cfg_line {
    struct cfg_word words[RAWCFG_MAX_WORDS];
    size_t count;
    bool broken; /* too many words, or a quote that does not end: HAProxy refuses such a line */
    struct buf text;
};

void cfg_line_init(struct cfg_line *l);
void cfg_line_fini(struct cfg_line *l);

/* The line without its end; the words are valid until the next call. */
void cfg_line_split(struct cfg_line *l, const char *line, size_t len);

/* Of a line in which nothing but blanks and a comment has a meaning, as in most: where its words begin, and *ret_len
 * bytes to their end, blanks included; 0: there are none. NULL: it is another one, to be split. */
const char *cfg_line_plain(const char *line, size_t len, size_t *ret_len);

/* What a word means: quotes are no matter, but a variable is one only in "". *ret_len bytes. */
const char *cfg_word_meaning(const struct cfg_word *w, size_t *ret_len);

/* In "" HAProxy puts the value of a variable of its environment in its place. */
bool cfg_word_has_variable(const struct cfg_word *w);
bool cfg_line_has_variable(const struct cfg_line *l);

/* The i-th word; "" behind the last. */
const char *cfg_word(const struct cfg_line *l, size_t i);

bool cfg_is_among(const char *word, const char *const *words, size_t count);

/* Whether it can stand in a command to HAProxy, which ends at a newline or a ';' and knows other quotes than the file: and it is not empty. */
bool cfg_fits_command(const char *word);

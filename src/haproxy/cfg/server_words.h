/*
 * A server line together with the default-server lines before it (HAProxy's configuration manual, 5.2 and 4.2
 * "default-server"), in one form for all ways to write it: keywords by the alphabet, each once. Pure.
 */
#ifndef HAPROXY_CFG_SERVER_WORDS_H
#define HAPROXY_CFG_SERVER_WORDS_H

#include <stddef.h>

#include "base/buf.h"
#include "haproxy/cfg/words.h"

/* Words, each with a NUL behind it. */
struct cfg_server_words {
    struct buf text;
    size_t count;
};

#define CFG_SERVER_WORDS_MAX 256

void cfg_server_words_add(struct cfg_server_words *w, const struct cfg_line *l, size_t first);
void cfg_server_words_fini(struct cfg_server_words *w);

#define CFG_WITHIN_KEYWORD '\x1e' /* between keyword and argument */
#define CFG_IN_ORDER "?"          /* begins what is not known well enough: all keywords as they follow each other */

/* Adds the keywords of l from word `first` on, behind what `given` says, to out, each behind CFG_BETWEEN_WORDS. */
void cfg_server_words_print(const struct cfg_server_words *given, const struct cfg_line *l, size_t first,
                            struct buf *out);

#endif

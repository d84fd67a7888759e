/*
 * The words that a server of a haproxy.cfg has in the end: those of its line and of the default-server lines that reach it, the last of each
 * kind (HAProxy configuration manual, 4.2 "default-server" and 5.2). For what adds a server to a HAProxy that runs: it applies no
 * default-server then. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct cfg_file_line;
struct cfg_line;
struct cfg_lines;

struct server_words {
    struct server_word {
        char *keyword, *argument; /* argument NULL: none */
    } * list;
    size_t count;
    bool plain_checks; /* no-check-ssl */
};

/* A HAProxy of that version gives a server that is added while it runs no share of the hash that these lines say. */
#define SERVER_WITHOUT_SHARE \
    "HAProxy before 3.0 gives a server that is added while it runs no share of a consistent hash (`balance random`)"
bool server_is_without_share(const struct cfg_lines *lines, const char *haproxy);

void server_words_fini(struct server_words *w); /* a zeroed one is allowed */
bool server_words_have(const struct server_words *w, const char *keyword);

/* Fills ret, which is zeroed, with those of a server line of these lines, which is split into `words`. Without what is of the file alone
 * ("disabled", "resolvers"), and with what HAProxy derives from a line ("check-ssl" of "ssl") written out. ERROR_INVALID: what a word
 * takes is not known, or it fits into no command. */
int server_words_of(const struct cfg_lines *lines, const struct cfg_file_line *line, const struct cfg_line *words,
                    struct server_words *ret, struct error *err) must_check;

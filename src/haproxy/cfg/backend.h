/*
 * A backend as haproxy.cfg itself has it, for a HAProxy that is reached without a Data Plane API: the same plain values
 * that haproxy/dataplane/codec fills from JSON (HAProxy configuration manual, 4.2 "balance", "default-server", "option
 * httpchk", "server", "server-template", and 5.2). Pure.
 */
#pragma once

#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/cfg/words.h"

struct cfg_file;
struct cfg_file_section;
struct cfg_file_line;

/* Fills ret, of which the name is given; exists stays false where the file has none of that name. json is NULL of all of
 * it. A server line that HAProxy reads in a way that is unknown here goes into `unsupported`.
 * ERROR_INVALID, with the line: what is read depends on a conditional or on a variable of the environment, the backend
 * stands there twice, or a line is broken. Elsewhere in the file these are no matter. */
int cfg_backend_read(const struct cfg_file *f, struct backend *ret, struct error *err) must_check;

/* ---- for haproxy/local/config_edit */

/* The lines of one backend, read once: several thousand may be about to change. */
struct cfg_lines {
    const char *backend;                    /* borrowed */
    const struct cfg_file_section *section; /* NULL: the file has none */
    struct cfg_lines_server_line {
        char *name;
        const struct cfg_file_line *line;
    } * servers; /* ordered by name, those of one name by their place */
    size_t count;
    const struct cfg_file_line *last;      /* server line; NULL: there is none */
    const struct cfg_file_line **defaults; /* its default-server lines */
    size_t default_count;
    bool
        hashed; /* servers get connections by a hash: by the last `balance`, there or in the defaults that it is from */
    struct cfg_lines_said {
        char *tail;           /* what stands behind the address in a line; NULL: none was made yet */
        size_t default_count; /* default-server lines in front of that line */
        char *text;           /* what a command says instead */
        bool check, agent;
    } said; /* of the server that was added last: most servers of a backend have the same */
};

/* Of that backend of f; a zeroed one at first, then those of a backend that was in hand before. */
void cfg_lines_find(struct cfg_lines *l, const struct cfg_file *f, const char *backend);
void cfg_lines_fini(struct cfg_lines *l);
/* The first `server` line of that name; NULL: there is none. */
const struct cfg_file_line *cfg_lines_server(const struct cfg_lines *l, const char *name);

/* A word of a server or default-server line with what belongs to it. */
struct cfg_lines_word {
    const char *name; /* "weight"; valid as long as the line's words are */
    size_t at, last;  /* word numbers: of the keyword, and of its argument, or the same */
    bool known;
};

/* The keyword at word `at`; `last` + 1 is the next one. */
struct cfg_lines_word cfg_lines_keyword(const struct cfg_line *l, size_t at);

/* "10.0.0.1:80", "[::1]:80", "name": *ret_address is base/shared_text's. A port that is no plain number ("+1000", a
 * range) is left with the address, and 0. */
void cfg_split_address(const char *text, const char **ret_address, uint16_t *ret_port);

/* The kinds of check that `option` names, one of which a backend has; ends with NULL. */
extern const char *const cfg_check_options[];

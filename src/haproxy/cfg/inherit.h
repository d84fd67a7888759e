/*
 * What the default-server lines that reach a backend say of its servers' state: those of the `defaults` section that it
 * is from, and its own (HAProxy configuration manual, 4.1 "default-server", "defaults"). For haproxy/cfg/servers only.
 */
#ifndef HAPROXY_CFG_INHERIT_H
#define HAPROXY_CFG_INHERIT_H

#include <stddef.h>

#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/backend.h"

/* The lines that say `disabled` and `backup`; 0: none, or a later one took it back. */
struct cfg_state {
    unsigned disabled_line, backup_line;
};

struct cfg_defaults {
    char *name; /* "": none */
    struct cfg_state state;
};

struct cfg_inherit {
    struct cfg_defaults *defaults; /* the sections so far */
    size_t count;
    struct cfg_state backend; /* of the backend that is asked for */
    struct cfg_state *at;     /* of the section in hand; NULL: one that does not matter */
};

/* The algorithm of a proxy: by its last `balance`, or that of the defaults that it is from; HAProxy's own without one. Valid as
 * long as words is as it was left. */
const char *cfg_inherit_balance(const struct cfg_file_section *s, struct cfg_line *words);

/* The line that brings places and states of servers into that backend, or any (NULL), from somewhere else; 0: there is none. */
unsigned cfg_state_file_line(const struct cfg_file *f, const char *backend);

void cfg_inherit_fini(struct cfg_inherit *r); /* a zeroed one is the beginning */
/* A section of any kind begins. */
void cfg_inherit_section(struct cfg_inherit *r, const struct cfg_file_section *section, const char *backend);
/* A default-server line. */
void cfg_inherit_line(struct cfg_inherit *r, const struct cfg_line *l, unsigned number);
/* At the end of the file: what its servers are by all that. */
void cfg_inherit_apply(const struct cfg_inherit *r, struct backend *b);

#endif

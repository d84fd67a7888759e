/*
 * What the default-server lines that reach a backend say of its servers' state: those of the `defaults` section that it
 * is from, and its own (HAProxy configuration manual, 4.1 "default-server", "defaults").
 */
#pragma once

#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/backend.h"

/* The algorithm of a proxy: by its last `balance`, or that of the defaults that it is from; HAProxy's own without one. Valid as
 * long as words is as it was left. */
const char *cfg_inherit_balance(const struct cfg_file_section *s, struct cfg_line *words);

/* The line that brings places and states of servers into that backend, or any (NULL), from somewhere else; 0: there is none. */
unsigned cfg_state_file_line(const struct cfg_file *f, const char *backend);

/* What the servers of b are by all the default-server lines that reach `own`, its section (NULL: none). */
void cfg_inherit_apply(const struct cfg_file_section *own, struct backend *b);

/*
 * What stands on a `server` line against what the Data Plane API shows of it: its models' names and forms of the server
 * keywords that HAProxy 2.4 to 3.2 knows. For haproxy/cfg/servers only.
 */
#ifndef HAPROXY_CFG_SERVER_LINE_H
#define HAPROXY_CFG_SERVER_LINE_H

#include <stddef.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "haproxy/cfg/words.h"

/* Why a write would damage the line `server NAME ADDRESS ...`, of which the API shows obj; NULL: it would not.
 * free(). */
char *cfg_server_problem(const struct cfg_line *l, yyjson_val *obj) must_check;

/* The keywords from word `first` on; obj NULL: only whether they are known at all. values: compare those too. */
char *cfg_keywords_problem(const struct cfg_line *l, size_t first, yyjson_val *obj, bool values) must_check;

#endif

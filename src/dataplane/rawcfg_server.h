/*
 * What stands on a `server` line against what the Data Plane API shows of it: its models' names and forms of the server
 * keywords that HAProxy 2.4 to 3.2 knows. For dataplane/rawcfg only.
 */
#ifndef DATAPLANE_RAWCFG_SERVER_H
#define DATAPLANE_RAWCFG_SERVER_H

#include <stddef.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "dataplane/rawcfg_words.h"

/* Why a write would damage the line `server NAME ADDRESS ...`, of which the API shows obj; NULL: it would not. free(). */
char *rawcfg_server_problem(const struct rawcfg_line *l, yyjson_val *obj) must_check;

/* The keywords from word `first` on; obj NULL: only whether they are known at all. values: compare those too. */
char *rawcfg_keywords_problem(const struct rawcfg_line *l, size_t first, yyjson_val *obj, bool values) must_check;

#endif

/*
 * The `server` lines of one backend in haproxy.cfg itself (GET .../configuration/raw), to find what the API does not
 * show or would damage with a write: HAProxy configuration manual, section 2 (quoting, comments, continuation) and
 * 5.2. The models' names and forms of the server keywords are those that HAProxy 2.4 to 3.2 knows. Pure.
 */
#pragma once

#include <yyjson.h>

#include "base/error.h"
#include "haproxy/backend.h"
#include "haproxy/cfg/words.h"

struct cfg_file;

/* Compares the lines of backend b->name with what the API shows (b->servers, b->templates, b->json) and fills
 * b->unsupported (the first 64): a server line that the API does not show, a server that it shows but the file lacks, a
 * keyword that its object does not account for (3.0.x drops it with any write, even with one to another server) or
 * shows as another value, a second line of the same name. Where the file carries another version than b->version (the
 * API keeps a configuration whose reload failed, the file went back) nothing can be compared and nothing is found. What
 * default-server lines say of its servers' state, those of its `defaults` section too, which the API does not show with
 * it, goes into b and its servers in any case. ERROR_INVALID: the file has no such backend. */
int cfg_find_unsupported(const struct cfg_file *f, struct backend *b, struct error *err) must_check;

/* Puts b->servers and b->templates in the order of their lines. False: they are not, by name, exactly what the lines of
 * the one backend of that name make, so that the file does not say how the API would have listed them. */
bool cfg_order_servers(const struct cfg_file *f, struct backend *b) must_check;

/* Why a write would damage the line `server NAME ADDRESS ...`, of which the API shows obj; NULL: it would not.
 * free(). */
char *cfg_server_problem(const struct cfg_line *l, yyjson_val *obj) must_check;

/* The keywords from word `first` on; obj NULL: only whether they are known at all. values: compare those too. */
char *cfg_keywords_problem(const struct cfg_line *l, size_t first, yyjson_val *obj, bool values) must_check;

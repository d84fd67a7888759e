/*
 * What the server lines of a backend have in common, for a new line beside them: keywords that the daemon does not manage
 * (`ssl`, `fall`, `send-proxy`), and that may stand on each of them. Not `id`, `guid`, `cookie` or `track`, which are one
 * server's own. Of a HAProxy's own file they are words as they stand there, with blanks between; of a Data Plane API a
 * JSON object of its model. Pure.
 */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "haproxy/cfg/words.h"

/* Both are base/shared_text's; NULL: nothing. */
const char *siblings_rest_of_line(const struct cfg_line *l) must_check;
const char *siblings_rest_of_object(yyjson_val *server) must_check;

/* What two of them have in common, with the same values. base/shared_text's; NULL: nothing. */
const char *siblings_common(const char *a, const char *b) must_check;

/* The keywords that `all` has beyond `common`: "ssl, verify". Allocates; NULL: none. */
char *siblings_beyond(const char *all, const char *common) must_check;

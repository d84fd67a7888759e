/*
 * What the server lines of a backend have in common, for a new line beside them: keywords that the daemon does not manage
 * (`ssl`, `fall`, `send-proxy`), and that may stand on each of them. Not `id`, `guid`, `cookie` or `track`, which are one
 * server's own. Of a HAProxy's own file they are words as they stand there, with blanks between; of a Data Plane API a
 * JSON object of its model. Pure.
 */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "haproxy/cfg/words.h"

/* Both are base/shared_text's; NULL: nothing. */
const char *siblings_rest_of_line(const struct cfg_line *l) must_check;
const char *siblings_rest_of_object(yyjson_val *server) must_check;

/* What two of them have in common, with the same values. base/shared_text's; NULL: nothing. */
const char *siblings_common(const char *a, const char *b) must_check;

/* The keywords that `all` has beyond `common`: "ssl, verify". Allocates; NULL: none. */
char *siblings_beyond(const char *all, const char *common) must_check;

/* Appends them as words of a line, each with a blank in front. ERROR_INVALID: one of an object cannot be written so. */
int siblings_print(const char *rest, struct buf *out, struct error *err) must_check;

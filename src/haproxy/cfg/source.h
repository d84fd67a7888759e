/*
 * A user's haproxy.cfg on its way to a HAProxy, mostly by a Data Plane API (POST /v3/services/haproxy/configuration/raw): what cannot be
 * sent, by line of the user's file, and what is sent in its place so that the API, which writes the file anew by kinds
 * of lines and names of sections, keeps its meaning. HAProxy itself, asked through the API, judges the rest. Pure.
 *
 * No error: CRLF (the API drops the CR, HAProxy ends a line at it) and no newline at the end (HAProxy refuses a file
 * without): what is sent ends each line with "\n", the last one, too.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/cfg/file.h"

/* Parses and checks it. text is borrowed: it outlives f. ERROR_INVALID: it is not to be sent, f is empty, and the
 * message says what, in which lines, and what to do: empty, no section, NUL, not UTF-8, a CR within a line, more than 64
 * words or a quote that does not end (HAProxy refuses both), what cfg_file_problem knows (conditionals, 64 KiB, a late default-server), a line
 * before the first section, two sections of one kind and name (the API keeps the last), a proxy before the first defaults section (it would inherit), a
 * word in a late `global` that holds for what follows it (the API has `global` first), a
 * byte order mark, a million lines. It shows at most the names of sections. */
int cfg_source_init(struct cfg_file *f, const char *text, size_t len, struct error *err) must_check;

/* The same for a HAProxy that reads the file as it is: only what is no haproxy.cfg at all is refused (empty, no section, NUL,
 * not UTF-8). HAProxy judges the rest, and conditionals are its own. */
int cfg_source_init_as_it_is(struct cfg_file *f, const char *text, size_t len, struct error *err) must_check;

/* What is to be sent of it is the text itself. */
bool cfg_source_is_as_sent(const struct cfg_file *f);
/* Adds what is to be sent to out. Among several defaults sections, those without a name have one (given_name), and
 * each proxy its `from` (HAProxy's configuration manual, 4 "Proxies"): in the lines of their headers alone, so that line
 * numbers stay those of the user's file. f comes from cfg_source_init. */
void cfg_source_print(const struct cfg_file *f, struct buf *out);

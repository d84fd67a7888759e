/*
 * What HAProxy said of a configuration that it refused, for people: "line 19: unknown keyword 'bogus' in 'backend'
 * section". Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

struct cfg_edits;

/* edits: that what was checked was printed with, as lines are those of the file before; NULL: none. The messages that name
 * something, separated by "; "; all of it where it has another form. Both allocate. */

/* Of the Data Plane API's answer to only_validate (400; lines `msg="config parsing [FILE:LINE] TEXT"`). rewritten: HAProxy
 * had the file as the API writes it anew, whose lines are nobody's. */
char *validation_text(const char *message, const struct cfg_edits *edits, bool rewritten) must_check;

/* Of `haproxy -c` (lines `[ALERT] (PID) : config : parsing [FILE:LINE] : TEXT`). file: the one that was checked; another
 * one's name stands with its line. */
char *validation_text_of_program(const char *said, const char *file, const struct cfg_edits *edits) must_check;

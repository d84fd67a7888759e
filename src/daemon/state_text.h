/* Small texts that STATE_DIR keeps over a restart. */
#pragma once

#include "base/compiler.h"

struct log;

enum state_text {
    STATE_HOST_OWNERS, /* which namespace is served at which host name: "HOST NAMESPACE\n" for each */
    STATE_QUARANTINE,  /* as configuration/culprits prints it */
    STATE_OBJECTS,     /* that templates were given, as daemon/template/losses prints them */
};

/* folder: STATE_DIR, NULL: none. "": nothing is known; a file that is there and cannot be read is a warning. Allocates. */
char *state_text_recall(const char *folder, enum state_text which, const struct log *log) must_check;
/* fd: of folder, to write to; -1: nothing is kept. Nothing is written where before (NULL allowed) and now are the same; with "", or
 * too much, the file is removed. What cannot be written is a warning. */
void state_text_keep(const char *folder, int fd, enum state_text which, const char *before, const char *now,
                     const struct log *log);

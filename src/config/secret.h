/*
 * A secret that is given as a value or as a file that is read again when it changes (a mounted Secret swaps symlinks, so
 * the path is looked up anew each time). A file that cannot be read keeps the old value in use.
 */
#ifndef CONFIG_SECRET_H
#define CONFIG_SECRET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/compiler.h"
#include "base/error.h"

struct secret {
    char *value; /* NULL: not set (or its file was never readable) */
    char *path;  /* NULL: given as a value */
    /* what the file looked like when it was read */
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
};

void secret_set_value(struct secret *s, const char *value);
void secret_set_path(struct secret *s, const char *path);
bool secret_is_set(const struct secret *s); /* given, in whichever form */

/* Reads the file again where it changed (or `force`); one trailing newline is dropped. *ret_changed (may be NULL) tells
 * whether the value is another one. -1 with ERROR_INVALID naming the path: unreadable, no regular file, empty, over 64 KiB, or
 * with control characters; the old value stays, and the next call tries again. */
int secret_refresh(struct secret *s, bool force, bool *ret_changed, struct error *err) must_check;
void secret_fini(struct secret *s); /* wipes */

#endif

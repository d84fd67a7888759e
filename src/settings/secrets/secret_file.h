/* Reading small files that hold secrets: what was read is wiped, and the state of the file is remembered. */
#ifndef SETTINGS_SECRETS_SECRET_FILE_H
#define SETTINGS_SECRETS_SECRET_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/compiler.h"
#include "base/error.h"

/* The state of a file; all zero: nothing is known. */
struct secret_stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
};

#define SECRET_FILE_MAX_BYTES (64u * 1024u) /* enough for any password or token */

struct secret_file {
    char *text; /* NUL-terminated; may hold NULs */
    size_t len;
    size_t size;               /* of the memory at text */
    struct secret_stamp stamp; /* zero where it cannot show whether the file changes from here on */
};

/* -1 with ERROR_INVALID naming the path: unreadable, no regular file, over max_bytes; *ret is empty then. */
int secret_file_read(const char *path, size_t max_bytes, struct secret_file *ret, struct error *err) must_check;
void secret_file_fini(struct secret_file *f); /* wipes */

/* Whether the file that is there now is in the same state. */
bool secret_file_unchanged(const char *path, const struct secret_stamp *then);

#endif

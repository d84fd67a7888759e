/*
 * A secret that is given as a value or as a file that is read again when it changes (a mounted Secret swaps symlinks,
 * so the path is opened anew each time): the whole file, or a part of a line of it
 * (settings/secrets/credentials_file.h). A file that cannot be used keeps the old value in use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/compiler.h"
#include "base/error.h"
#include "settings/secrets/credentials_file.h"

/* ---- small files that hold secrets: what was read is wiped, and the state of the file is remembered ---- */

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

/* ---- a secret ---- */

struct secret {
    char *value;           /* NULL: not set (or its file was never readable) */
    char *path;            /* NULL: given as a value */
    char *url;             /* whose line of the file at path it is in; NULL: the file is the secret */
    enum secret_part part; /* of that line; of no meaning without url */
    struct secret_stamp stamp;
    unsigned changes; /* goes up whenever a reading gave another value: for those who share it */
};

void secret_set_value(struct secret *s, const char *value);
void secret_set_path(struct secret *s, const char *path);

/* The user name, the password or the token in the line of url, which is in its checked form. A line has either the
 * first two or the last: what it does not have is not set, and that may change each time the file is read. */
void secret_set_line(struct secret *s, const char *path, const char *url, enum secret_part part);

void secret_copy(struct secret *to, const struct secret *from);

/* Forgets the value of one that is in a file: for one that is not read again. */
void secret_forget(struct secret *s);

/* Given, in whichever form; of a line: it had this part when it was last read. */
bool secret_is_set(const struct secret *s);

/* Reads the file again where it changed (or `force`); one trailing newline is dropped. *ret_changed (may be NULL):
 * whether the value is another one, or is gone because the line is of the other kind now. -1 with ERROR_INVALID naming
 * the path: unreadable, no regular file, empty, over 64 KiB, or with control characters; of a line also: any line of
 * the file is malformed, or none is for the URL. The same message for each part of a line. The old value stays then,
 * and the next call tries again. */
int secret_refresh(struct secret *s, bool force, bool *ret_changed, struct error *err) must_check;
void secret_fini(struct secret *s); /* wipes */

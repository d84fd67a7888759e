/* A file that is followed (host/path_watch), and a folder of further ones with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct event_base;
struct file_source;
struct storage_files;

struct file_source_callbacks {
    /* Also the first time. hash: SHA-256 of the bytes, in hexadecimal digits. files: the callee's to empty; NULL without
     * a folder. */
    void (*changed)(void *arg, const char *bytes, size_t len, const char *hash, struct storage_files *files);
    void (*failed)(void *arg, const struct error *err); /* it cannot be read; ERROR_INVALID says why */
};

struct file_source_options {
    const char *path;   /* absolute; borrowed */
    const char *folder; /* of further files, as of files_folder_read, and followed with it; NULL: none */
    size_t max_bytes;
    uint64_t reread_ms; /* on a file system that has no events; 0: never */
    bool once;          /* it is not followed: read at the start, and when it is poked */
};

/* NULL, ERROR_FATAL: no inotify. */
struct file_source *file_source_new(struct event_base *base, const struct file_source_options *options,
                                    const struct file_source_callbacks *callbacks, void *arg,
                                    struct error *err) must_check;
/* Of a struct file_source. */
void file_source_free(void *source); /* NULL is allowed */
void file_source_start(void *source);
void file_source_poke(void *source); /* reads it now */

/* The files of a configuration from a folder: maps/NAME, certs/NAME, files/NAME. What begins with a dot is none of
 * them; a kind without its folder has none. ERROR_INVALID names what is wrong, and *ret is empty then. */
int files_folder_read(const char *path, struct storage_files *ret, struct error *err) must_check;

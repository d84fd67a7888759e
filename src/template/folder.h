/* A template set in a folder: its files as template/set reads them. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "template/set.h"

struct template_folder {
    struct template_file *files; /* by name; what a name begins with "." is left out */
    size_t count;
    size_t bytes;
    int64_t newest_ms; /* when the last of them was written to, since the Unix epoch */
};

/* ERROR_INVALID: what cannot be read, and why. */
int template_folder_read(const char *path, struct template_folder *ret, struct error *err) must_check;
int template_file_order(const void *a, const void *b); /* for qsort over template_file */
void template_folder_fini(struct template_folder *f);  /* for cleanup() */

/* What a version consists of, as files in the folder of configuration/store: its text, and the files that belong to it. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "configuration/document.h"

struct store_version;

/* fd: of the folder. A reader sees the old bytes or the new ones. -1 with errno. */
int store_content_write(int fd, const char *name, const char *bytes, size_t len) must_check;
int store_content_put(int fd, unsigned number, const struct document *d) must_check; /* -1 with errno */
void store_content_remove(int fd, unsigned number);
/* NULL, ERROR_INVALID: it is lost, or is not what was written (by text_hash, and the version's id). */
struct document *store_content_get(const char *folder, const struct store_version *v, const char *text_hash,
                                   enum document_use use, struct error *err) must_check;

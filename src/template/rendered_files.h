/* What was rendered beside haproxy.cfg, as the files that a HAProxy gets. */
#ifndef TEMPLATE_RENDERED_FILES_H
#define TEMPLATE_RENDERED_FILES_H

#include "base/compiler.h"
#include "base/error.h"

struct rendered;
struct storage_files;
struct storage_known;

/* Adds them, copied. known: as of storage_files_add_known, or NULL. -1 with ERROR_INVALID: which one cannot be stored, and
 * why. */
int rendered_files(const struct rendered *r, struct storage_known *known, struct storage_files *ret,
                   struct error *err) must_check;

#endif

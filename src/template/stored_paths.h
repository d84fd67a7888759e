/*
 * A text that refers to certificates by the names that they have where they come from, by where they are stored
 * (haproxy/storage_files): "/etc/haproxy/ssl/shop.example.pem" becomes "/etc/haproxy/ssl/shop_example.pem".
 */
#ifndef TEMPLATE_STORED_PATHS_H
#define TEMPLATE_STORED_PATHS_H

#include <stddef.h>

#include "base/buf.h"

struct storage_files;

/* folders: by enum storage_kind, each with a slash at its end. */
void stored_paths(const char *text, size_t len, const struct storage_files *files, const char *const folders[3],
                  struct buf *out);

#endif

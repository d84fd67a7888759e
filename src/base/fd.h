/* Writing to a descriptor: all that there is, or, where others may share it, without ever waiting for its reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* All of text or nothing. False: there is no room without waiting for it, or it cannot be written. */
bool fd_put(int fd, const char *text, size_t len);

/* All of it, however long that takes. False: errno says why not. */
bool fd_write_all(int fd, const char *bytes, size_t len);

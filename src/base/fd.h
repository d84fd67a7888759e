/* Writing to a descriptor that others may share, without ever waiting for its reader. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stdbool.h>
#include <stddef.h>

/* All of text or nothing. False: there is no room without waiting for it, or it cannot be written. */
bool fd_put(int fd, const char *text, size_t len);

#endif

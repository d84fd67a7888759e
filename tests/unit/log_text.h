/* What was logged to a file descriptor. */
#pragma once

#include "test.h"
#include <unistd.h>

static inline unsigned log_count(int fd, const char *text)
{
    cleanup(buf_fini) struct buf all = {0};
    char piece[4096];
    ssize_t n;
    unsigned count = 0;
    for (off_t at = 0; (n = pread(fd, piece, sizeof(piece), at)) > 0; at += n)
        buf_addn(&all, piece, (size_t)n);
    for (const char *s = buf_str(&all); (s = strstr(s, text)) != NULL; s++)
        count++;
    return count;
}

static inline void log_forget(int fd)
{
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
}

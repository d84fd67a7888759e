/* A folder of a test's own, and files in it. */
#pragma once

#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32];

static inline void folder_make(void)
{
    snprintf(folder, sizeof(folder), "/tmp/test_unit.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline int folder_remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    return remove(path);
}

static inline void folder_remove(void)
{
    ck_assert_int_eq(nftw(folder, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline char *in_folder(const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

/* What is there is overwritten, in place. */
static inline void write_bytes(const char *path, const void *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_msg(fd >= 0, "%s: %m", path);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    ck_assert_int_eq(close(fd), 0);
}

static inline void write_file(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static inline void set_mtime(const char *path, time_t when)
{
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

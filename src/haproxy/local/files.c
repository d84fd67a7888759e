#include "haproxy/local/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"

#define NEW_FILE_MODE 0640
#define ATTRIBUTE_NAMES_BYTES 4096
#define ATTRIBUTE_BYTES 65536

bool local_identity_same(const struct local_identity *a, const struct local_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size && a->modified_ns == b->modified_ns &&
           a->owner == b->owner && a->group == b->group && a->mode == b->mode;
}

/* ---- places ---- */

int local_place_in_folder(struct local_place *p, const char *folder, const char *name)
{
    *p = (struct local_place){.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (p->folder < 0)
        return -1;
    p->folder_path = mem_strdup(folder);
    p->name = mem_strdup(name);
    return 0;
}

int local_place_of_file(struct local_place *p, const char *path)
{
    *p = (struct local_place){.folder = -1};
    cleanup(mem_free_ptr) char *real = realpath(path, NULL);
    char *slash = real != NULL ? strrchr(real, '/') : NULL;
    if (slash == NULL)
        return -1;
    *slash = '\0';
    return local_place_in_folder(p, slash == real ? "/" : real, slash + 1);
}

void local_place_fini(struct local_place *p)
{
    if (p->folder >= 0)
        close(p->folder);
    mem_free_all(p->folder_path, p->name);
    *p = (struct local_place){.folder = -1};
}

/* ---- reading ---- */

static void file_identify(const struct stat *st, struct local_identity *ret)
{
    *ret = (struct local_identity){.device = st->st_dev,
                                   .inode = st->st_ino,
                                   .size = (uint64_t)st->st_size,
                                   .modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
                                   .owner = st->st_uid,
                                   .group = st->st_gid,
                                   .mode = st->st_mode & 07777};
}

static void file_close(const int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

/* A fifo or a device would make us wait, or worse. */
static int file_open(const struct local_place *p, const char *name, struct stat *st)
{
    int fd = openat(p->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, st) == 0 && S_ISREG(st->st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

int local_file_read(const struct local_place *p, struct buf *bytes, struct local_identity *ret)
{
    struct stat before, after;
    cleanup(file_close) int fd = file_open(p, p->name, &before);
    if (fd < 0)
        return -1;
    file_identify(&before, ret);
    if (bytes == NULL)
        return 0;
    if (bytes->max_bytes > 0 && (uint64_t)before.st_size > bytes->max_bytes) {
        errno = EFBIG;
        return -1;
    }
    if (buf_read_fd(bytes, fd) != 0 || fstat(fd, &after) != 0)
        return -1;
    struct local_identity now;
    file_identify(&after, &now);
    /* Another writer writes into it right now: half of it is nothing that may be decided by. */
    if (local_identity_same(ret, &now) && bytes->len == ret->size)
        return 0;
    errno = EBUSY;
    return -1;
}

int local_path_read(const char *path, struct buf *bytes)
{
    cleanup(local_place_fini) struct local_place p = {.folder = -1};
    struct local_identity identity;
    return local_place_of_file(&p, path) == 0 ? local_file_read(&p, bytes, &identity) : -1;
}

/* ---- writing ---- */

/* What a file system or a security module has put there by itself is right already. */
static int file_copy_attribute(int from, int to, const char *name, char value[ATTRIBUTE_BYTES])
{
    char there[1024];
    ssize_t len = fgetxattr(from, name, value, ATTRIBUTE_BYTES);
    if (len < 0)
        return errno == ENODATA ? 0 : -1;
    if ((size_t)len <= sizeof(there) && fgetxattr(to, name, there, sizeof(there)) == len &&
        memcmp(there, value, (size_t)len) == 0)
        return 0;
    return fsetxattr(to, name, value, (size_t)len, 0);
}

static int file_copy_attributes(int from, int to)
{
    char names[ATTRIBUTE_NAMES_BYTES];
    ssize_t len = flistxattr(from, names, sizeof(names));
    if (len <= 0)
        return len == 0 || errno == ENOTSUP ? 0 : -1;
    cleanup(mem_free_ptr) char *value = mem_alloc(ATTRIBUTE_BYTES);
    for (const char *name = names; name < names + len; name += strlen(name) + 1)
        if (file_copy_attribute(from, to, name, value) != 0)
            return -1;
    return 0;
}

static int file_write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR)
            return -1;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* The group first: a change of either takes bits of the mode away. */
static int file_own(int fd, const struct stat *like)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -1;
    if (st.st_gid != like->st_gid && fchown(fd, (uid_t)-1, like->st_gid) != 0)
        return -1;
    if (st.st_uid != like->st_uid && fchown(fd, like->st_uid, (gid_t)-1) != 0)
        return -1;
    return fchmod(fd, like->st_mode & 07777);
}

static int file_fill(int to, int from, const struct stat *like, const char *bytes, size_t len, const char **ret_step)
{
    *ret_step = "write";
    if (file_write_all(to, bytes, len) != 0)
        return -1;
    *ret_step = "give its owner, group and mode to";
    if (from >= 0 ? file_own(to, like) != 0 : fchmod(to, NEW_FILE_MODE) != 0)
        return -1;
    *ret_step = "give its label and attributes to";
    if (from >= 0 && file_copy_attributes(from, to) != 0)
        return -1;
    *ret_step = "sync to the disk";
    return fsync(to);
}

int local_file_write_beside(const struct local_place *p, const char *temporary, const char *bytes, size_t len,
                            const char **ret_step)
{
    struct stat like;
    *ret_step = "open";
    cleanup(file_close) int from = file_open(p, p->name, &like);
    if (from < 0 && errno != ENOENT)
        return -1;
    *ret_step = "create";
    (void)unlinkat(p->folder, temporary, 0); /* of one of us that was killed */
    cleanup(file_close) int to =
        openat(p->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return -1;
    if (file_fill(to, from, &like, bytes, len, ret_step) == 0)
        return 0;
    int saved = errno;
    (void)unlinkat(p->folder, temporary, 0);
    errno = saved;
    return -1;
}

static bool file_is(const struct local_place *p, const char *name, const struct local_identity *expected)
{
    struct stat st;
    struct local_identity is;
    if (fstatat(p->folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    file_identify(&st, &is);
    return S_ISREG(st.st_mode) && local_identity_same(&is, expected);
}

/* Is that file, whatever became of its owner and mode. */
static bool file_is_inode(const struct local_place *p, const char *name, const struct stat *is)
{
    struct stat st;
    return fstatat(p->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == is->st_dev &&
           st.st_ino == is->st_ino;
}

/* Another writer's file came out of the exchange: it goes back to its place, and ours out of it. Where that moved once more,
 * what cannot go back stays, by a name that nobody else writes to. */
static void file_give_back(const struct local_place *p, const char *temporary, const struct stat *ours)
{
    struct stat his;
    if (renameat2(p->folder, temporary, p->folder, p->name, RENAME_EXCHANGE) != 0 &&
        renameat2(p->folder, temporary, p->folder, p->name, RENAME_NOREPLACE) == 0)
        return;
    if (file_is_inode(p, temporary, ours) || fstatat(p->folder, temporary, &his, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    cleanup(mem_free_ptr) char *aside = mem_printf("%s.%llu", temporary, (unsigned long long)his.st_ino);
    (void)renameat2(p->folder, temporary, p->folder, aside, RENAME_NOREPLACE);
}

/* 0, or -1. What comes out of the exchange is compared: a writer that came between our last reading and the rename is not
 * lost. */
static int file_exchange(const struct local_place *p, const char *temporary, const struct local_identity *expected,
                         const struct stat *ours, bool *ret_changed)
{
    *ret_changed = !file_is(p, p->name, expected);
    if (*ret_changed)
        return -1;
    if (renameat2(p->folder, temporary, p->folder, p->name, RENAME_EXCHANGE) != 0)
        return errno == EINVAL || errno == ENOSYS ? renameat(p->folder, temporary, p->folder, p->name) : -1;
    *ret_changed = !file_is(p, temporary, expected);
    if (*ret_changed)
        file_give_back(p, temporary, ours);
    else
        (void)unlinkat(p->folder, temporary, 0);
    return *ret_changed ? -1 : 0;
}

enum local_swap local_file_swap(const struct local_place *p, const char *temporary,
                                const struct local_identity *expected)
{
    bool changed = false;
    struct stat ours;
    if (fstatat(p->folder, temporary, &ours, AT_SYMLINK_NOFOLLOW) != 0)
        return LOCAL_SWAP_FAILED;
    int rc = expected != NULL ? file_exchange(p, temporary, expected, &ours, &changed)
                              : renameat(p->folder, temporary, p->folder, p->name);
    if (rc != 0) {
        int saved = errno;
        if (file_is_inode(p, temporary, &ours))
            (void)unlinkat(p->folder, temporary, 0);
        errno = saved;
        return changed ? LOCAL_SWAP_CHANGED : LOCAL_SWAP_FAILED;
    }
    return fsync(p->folder) == 0 ? LOCAL_SWAPPED : LOCAL_SWAPPED_UNSYNCED;
}

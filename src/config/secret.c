#include "config/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define SECRET_MAX_BYTES (64u * 1024u)
#define SETTLED_SECONDS 2

void secret_set_value(struct secret *s, const char *value)
{
    secret_fini(s);
    s->value = mem_strdup(value);
}

void secret_set_path(struct secret *s, const char *path)
{
    secret_fini(s);
    s->path = mem_strdup(path);
}

bool secret_is_set(const struct secret *s)
{
    return s->value != NULL || s->path != NULL;
}

void secret_fini(struct secret *s)
{
    mem_wipe_free(s->value);
    free(s->path);
    *s = (struct secret){0};
}

static bool same_file(const struct secret *s, const struct stat *st)
{
    return s->ino != 0 && s->dev == st->st_dev && s->ino == st->st_ino && s->size == st->st_size &&
           s->mtime.tv_sec == st->st_mtim.tv_sec && s->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

/* What is remembered of the file. One that was written a moment ago may be written again within the same tick of the file
 * system's clock and look the same: it is not trusted to be unchanged until it has settled. */
static void remember(struct secret *s, const struct stat *before, const struct stat *after)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    s->dev = after->st_dev;
    s->ino = after->st_ino;
    s->size = after->st_size;
    s->mtime = after->st_mtim;
    if (!same_file(s, before) || now.tv_sec < after->st_mtim.tv_sec + SETTLED_SECONDS)
        s->ino = 0;
}

/* Reads up to size bytes; the number, or -1 with errno. */
static ssize_t read_all(int fd, char *to, size_t size)
{
    size_t len = 0;
    while (len < size) {
        ssize_t n = read(fd, to + len, size - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

/* Opens only what can be read again and again, and never waits for a pipe's other end. */
static int open_regular(const char *path, struct stat *ret, struct error *err)
{
    if (stat(path, ret) != 0)
        return error_set(err, ERROR_INVALID, "%s: %m", path);
    if (!S_ISREG(ret->st_mode))
        return error_set(err, ERROR_INVALID, "%s: is not a regular file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set(err, ERROR_INVALID, "%s: %m", path);
    if (fstat(fd, ret) != 0 || !S_ISREG(ret->st_mode)) {
        close(fd);
        return error_set(err, ERROR_INVALID, "%s: changed its kind while it was opened", path);
    }
    return fd;
}

/* Ends text where its content ends; why it cannot be used, or NULL. */
static const char *check_text(char *text, size_t len)
{
    if (len > SECRET_MAX_BYTES)
        return "is larger than 64 KiB, so it is not a secret";
    if (len > 0 && text[len - 1] == '\n')
        len--;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    text[len] = '\0';
    if (len == 0)
        return "is empty";
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return "holds a control character: expected one line";
    return NULL;
}

static int read_file(struct secret *s, char *text, size_t size, struct error *err)
{
    struct stat before, after = {0};
    int fd = open_regular(s->path, &before, err);
    if (fd < 0)
        return -1;
    ssize_t len = read_all(fd, text, size);
    int saved = len < 0 || fstat(fd, &after) != 0 ? errno : 0;
    close(fd);
    errno = saved;
    if (saved != 0)
        return error_set(err, ERROR_INVALID, "%s: %m", s->path);
    const char *why = check_text(text, (size_t)len);
    if (why != NULL)
        return error_set(err, ERROR_INVALID, "%s: %s", s->path, why);
    remember(s, &before, &after);
    return 0;
}

int secret_refresh(struct secret *s, bool force, bool *ret_changed, struct error *err)
{
    struct stat st;
    bool changed = false;
    if (s->path != NULL && (force || stat(s->path, &st) != 0 || !same_file(s, &st))) {
        size_t size = SECRET_MAX_BYTES + 2; /* one more than allowed, and the NUL */
        char *text = mem_alloc(size);
        int rc = read_file(s, text, size - 1, err);
        if (rc == 0 && !str_eq(s->value, text)) {
            mem_wipe_free(s->value);
            s->value = mem_strdup(text);
            changed = true;
        }
        explicit_bzero(text, size);
        free(text);
        if (rc != 0)
            return -1;
    }
    if (ret_changed != NULL)
        *ret_changed = changed;
    return 0;
}

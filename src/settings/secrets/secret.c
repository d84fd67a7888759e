#include "settings/secrets/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/secrets/credentials_file.h"

#define SETTLED_SECONDS 2

/* ---- a file ---- */

static struct secret_stamp stamp_of(const struct stat *st)
{
    return (struct secret_stamp){.dev = st->st_dev, .ino = st->st_ino, .size = st->st_size, .mtime = st->st_mtim};
}

static bool same_stamp(const struct secret_stamp *a, const struct secret_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

bool secret_file_unchanged(const char *path, const struct secret_stamp *then)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    struct secret_stamp now = stamp_of(&st);
    return same_stamp(then, &now);
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

/* All at once into memory that is never moved: nothing of it stays behind in what was freed. */
static int read_text(const char *path, struct secret_file *f, struct error *err)
{
    size_t max_bytes = f->size - 2;
    struct stat before, after = {0};
    int fd = open_regular(path, &before, err);
    if (fd < 0)
        return -1;
    ssize_t len = read_all(fd, f->text, f->size - 1);
    int saved = len < 0 || fstat(fd, &after) != 0 ? errno : 0;
    close(fd);
    errno = saved;
    if (saved != 0)
        return error_set(err, ERROR_INVALID, "%s: %m", path);
    if ((size_t)len > max_bytes)
        return error_set(err, ERROR_INVALID, "%s: is larger than %zu KiB, the limit", path, max_bytes / 1024);
    f->len = (size_t)len;
    f->text[len] = '\0';
    /* A file that was written a moment ago may be written again within the same tick of the file system's clock and appear
     * the same: it is not trusted to be unchanged until it has settled. */
    struct secret_stamp a = stamp_of(&before), b = stamp_of(&after);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bool settled = same_stamp(&a, &b) && now.tv_sec >= b.mtime.tv_sec + SETTLED_SECONDS;
    f->stamp = settled ? b : (struct secret_stamp){0};
    return 0;
}

int secret_file_read(const char *path, size_t max_bytes, struct secret_file *ret, struct error *err)
{
    size_t size = max_bytes + 2; /* one more than allowed, and the NUL */
    *ret = (struct secret_file){.text = mem_alloc(size), .size = size};
    int rc = read_text(path, ret, err);
    if (rc != 0)
        secret_file_fini(ret);
    return rc;
}

void secret_file_fini(struct secret_file *f)
{
    if (f->text != NULL)
        explicit_bzero(f->text, f->size);
    free(f->text);
    *f = (struct secret_file){0};
}

/* ---- a secret ---- */

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

void secret_set_line(struct secret *s, const char *path, const char *url, enum secret_part part)
{
    secret_set_path(s, path);
    s->url = mem_strdup(url);
    s->part = part;
}

void secret_copy(struct secret *to, const struct secret *from)
{
    secret_fini(to);
    *to = *from;
    to->value = mem_strdup(from->value);
    to->path = mem_strdup(from->path);
    to->url = mem_strdup(from->url);
}

void secret_forget(struct secret *s)
{
    if (s->path == NULL)
        return;
    mem_wipe_free(s->value);
    s->value = NULL;
    s->stamp = (struct secret_stamp){0};
}

bool secret_is_set(const struct secret *s)
{
    return s->value != NULL || (s->path != NULL && s->url == NULL);
}

void secret_fini(struct secret *s)
{
    mem_wipe_free(s->value);
    mem_free_all(s->path, s->url);
    *s = (struct secret){0};
}

/* Ends text where its content ends; why it cannot be used, or NULL. */
static const char *secret_checks_text(char *text, size_t len)
{
    if (len > 0 && text[len - 1] == '\n')
        len--;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    text[len] = '\0';
    if (len == 0)
        return "is empty";
    return strlen(text) < len || str_has_control(text) ? "holds a control character: expected one line" : NULL;
}

static int secret_read_again(struct secret *s, bool *ret_changed, struct error *err)
{
    cleanup(secret_file_fini) struct secret_file file;
    cleanup(credentials_file_fini) struct credentials_file lines = {0};
    if (secret_file_read(s->path, SECRET_FILE_MAX_BYTES, &file, err) != 0)
        return -1;
    const char *value = file.text, *why = s->url == NULL ? secret_checks_text(file.text, file.len) : NULL;
    if (why != NULL)
        return error_set(err, ERROR_INVALID, "%s: %s", s->path, why);
    if (s->url != NULL) {
        credentials_file_parse(file.text, file.len, &lines);
        const struct credentials_line *bad = credentials_file_first_bad(&lines);
        if (bad != NULL)
            return error_set(err, ERROR_INVALID, "%s, line %zu: expected " CREDENTIALS_LINE_EXPECTED "; %s", s->path,
                             bad->number, bad->why);
        const struct credentials_line *line = credentials_file_find(&lines, s->url);
        if (line == NULL)
            return error_set(err, ERROR_INVALID,
                             "%s: the line for %s was removed; put it back, or restart to use the settings", s->path,
                             s->url);
        value = s->part == SECRET_USER ? line->user : s->part == SECRET_PASSWORD ? line->password : line->token;
    }
    s->stamp = file.stamp;
    *ret_changed = !str_eq(s->value, value);
    if (*ret_changed) {
        mem_wipe_free(s->value);
        s->value = mem_strdup(value);
        s->changes++;
    }
    return 0;
}

int secret_refresh(struct secret *s, bool force, bool *ret_changed, struct error *err)
{
    bool changed = false;
    if (s->path != NULL && (force || !secret_file_unchanged(s->path, &s->stamp)))
        if (secret_read_again(s, &changed, err) != 0)
            return -1;
    if (ret_changed != NULL)
        *ret_changed = changed;
    return 0;
}

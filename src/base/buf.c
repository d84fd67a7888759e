#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max_bytes = max_bytes};
}

void buf_init_secret(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max_bytes = max_bytes, .secret = true};
}

static void buf_forget(struct buf *b)
{
    *b = (struct buf){.max_bytes = b->max_bytes, .secret = b->secret};
}

static void wipe(struct buf *b)
{
    if (b->data != NULL)
        explicit_bzero(b->data, b->size);
}

static void buf_release(struct buf *b)
{
    if (b->secret)
        wipe(b);
    free(b->data);
}

void buf_fini(struct buf *b)
{
    buf_release(b);
    buf_forget(b);
}

void buf_wipe(struct buf *b)
{
    wipe(b);
    buf_fini(b);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data != NULL)
        b->data[0] = '\0';
}

/* Room for `more` bytes and the NUL behind them; the caller has checked the cap. */
void buf_reserve(struct buf *b, size_t more)
{
    size_t need = b->len + more + 1;
    if (need <= b->size)
        return;
    size_t size = b->size < 64 ? 64 : b->size;
    while (size < need)
        size += size / 2;
    if (b->secret) {
        char *moved = mem_resize(NULL, size, 1);
        if (b->len > 0)
            memcpy(moved, b->data, b->len);
        moved[b->len] = '\0';
        buf_release(b);
        b->data = moved;
    } else {
        b->data = mem_resize(b->data, size, 1);
    }
    b->size = size;
}

int buf_append(struct buf *b, const void *bytes, size_t len)
{
    if (b->max_bytes != 0 && (len > b->max_bytes || b->len > b->max_bytes - len))
        return -1;
    buf_reserve(b, len);
    if (len > 0)
        memcpy(b->data + b->len, bytes, len);
    b->len += len;
    b->data[b->len] = '\0';
    return 0;
}

void buf_addn(struct buf *b, const char *s, size_t len)
{
    if (buf_append(b, s, len) != 0)
        abort();
}

void buf_add(struct buf *b, const char *s)
{
    buf_addn(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || (b->max_bytes != 0 && b->len + (size_t)n > b->max_bytes))
        abort();
    buf_reserve(b, (size_t)n);
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
    va_end(again);
    b->len += (size_t)n;
}

void buf_consume(struct buf *b, size_t n)
{
    if (n == 0 || b->data == NULL)
        return;
    if (n > b->len)
        n = b->len;
    memmove(b->data, b->data + n, b->len - n + 1);
    b->len -= n;
}

const char *buf_str(const struct buf *b)
{
    return b->data != NULL ? b->data : "";
}

char *buf_take(struct buf *b)
{
    char *s = b->data != NULL ? b->data : mem_strdup("");
    buf_forget(b);
    return s;
}

int buf_read_fd(struct buf *b, int fd)
{
    char chunk[8192];
    int saved = 0;
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            saved = errno;
        else if (n > 0 && buf_append(b, chunk, (size_t)n) != 0)
            saved = EFBIG;
        if (n <= 0 || saved != 0)
            break;
    }
    explicit_bzero(chunk, sizeof(chunk)); /* it may have been a secret's file */
    errno = saved;
    return saved == 0 ? 0 : -1;
}

int buf_read_file(struct buf *b, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = buf_read_fd(b, fd), saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

/*
 * A byte buffer that grows up to a cap. Always NUL-terminated behind `len` once anything was written, so that `data`
 * can be read as a string; `data` is NULL while nothing was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* A zeroed one is empty, and without a cap. */
struct buf {
    char *data;
    size_t len;
    size_t size;      /* bytes allocated */
    size_t max_bytes; /* cap for len; 0: none (only for what this program builds) */
    bool secret;      /* nothing of it stays in memory that is free */
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_init_secret(struct buf *b, size_t max_bytes); /* what it held is overwritten: when it grows, and at its end */
void buf_fini(struct buf *b);                          /* for cleanup(); leaves it empty and usable */
void buf_wipe(struct buf *b);  /* as buf_fini, overwriting what is there now, of whichever kind it is */
void buf_clear(struct buf *b); /* keeps the memory */
/* What is then added stays where it is, up to so many bytes more, which may also be written behind `data + len`. */
void buf_reserve(struct buf *b, size_t more);

/* -1 when the cap would be passed; then nothing was added. */
int buf_append(struct buf *b, const void *bytes, size_t len) must_check;

/* For text of this program in buffers without a cap (passing a cap aborts: that would be a programming error). */
void buf_add(struct buf *b, const char *s);
void buf_addn(struct buf *b, const char *s, size_t len);
void buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);

/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);

/* The string (never NULL); valid until the next change. */
const char *buf_str(const struct buf *b);

/* Hands the string over to the caller (free()), never NULL; the buffer is empty after. */
char *buf_take(struct buf *b) must_check;

/* Reads a whole file into b (its cap holds). -1 with errno set; EFBIG for the cap. */
int buf_read_file(struct buf *b, const char *path) must_check;
int buf_read_fd(struct buf *b, int fd) must_check; /* the same, to its end; fd stays open */

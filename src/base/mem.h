/*
 * Allocation. Whatever a peer can make grow has a cap of its own (struct buf, decoders); what is left is small, so
 * running out of it is not handled call by call: the process says so and aborts, and is started again.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/compiler.h"

void *mem_alloc(size_t bytes) must_check;                           /* zeroed */
void *mem_array(size_t count, size_t bytes) must_check;             /* zeroed; overflow aborts */
void *mem_resize(void *old, size_t count, size_t bytes) must_check; /* new bytes are not zeroed */
/* Room for one more in a list of count elements, which no other function has given its room: that doubles at each power of
 * two, so that what a peer makes long takes no time that grows with its square. */
void *mem_one_more(void *list, size_t count, size_t bytes) must_check;
void *mem_aligned(size_t boundary, size_t bytes) must_check; /* not zeroed; bytes: a multiple of boundary */
char *mem_strdup(const char *s) must_check;                  /* NULL gives NULL */
char *mem_strndup(const char *s, size_t len) must_check;
char *mem_printf(const char *fmt, ...) must_check printf_like(1, 2);
char *mem_vprintf(const char *fmt, va_list ap) must_check printf_like(1, 0);

/* free() of each, NULL included. */
#define mem_free_all(...) \
    mem_free_each((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void mem_free_each(void *const *list, size_t count);

/* Overwrites a secret before it is freed; NULL is allowed. */
void mem_wipe_free(char *secret);
void mem_wipe_free_list(char **list); /* ends with NULL; NULL is allowed */

/* a and b as one string; unlike mem_printf, whose buffer grows, it leaves no part of a secret in what was freed. */
char *mem_join(const char *a, const char *b) must_check;

/* As free and realloc, but nothing of what was in the block stays in memory that is free; for those who hold secrets,
 * and for libraries that let their user choose how they allocate. NULL comes back where malloc has no more. */
void mem_wiping_free(void *p);
void *mem_wiping_realloc(void *p, size_t bytes);

/* Overwrites the stack below its caller, MEM_STACK_WIPED bytes deep, more than libcurl and OpenSSL use: registers that hold what
 * was copied last are saved there when a library's function is called for the first time, and at a signal. */
#define MEM_STACK_WIPED 65536
void mem_wipe_stack(void);

/* For `cleanup(mem_free_ptr) char *x = ...`. */
void mem_free_ptr(void *pointer_to_pointer);

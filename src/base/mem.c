#include "base/mem.h"

#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static _Noreturn void out_of_memory(void)
{
    static const char text[] = "haproxy-k8s-sync: out of memory; raise the memory limit of this process\n";
    fd_put(STDERR_FILENO, text, sizeof(text) - 1);
    abort();
}

void *mem_alloc(size_t bytes)
{
    return mem_array(1, bytes);
}

void *mem_array(size_t count, size_t bytes)
{
    void *p = calloc(count != 0 ? count : 1, bytes != 0 ? bytes : 1);
    if (p == NULL)
        out_of_memory();
    return p;
}

void *mem_resize(void *old, size_t count, size_t bytes)
{
    void *p = reallocarray(old, count != 0 ? count : 1, bytes != 0 ? bytes : 1);
    if (p == NULL)
        out_of_memory();
    return p;
}

void *mem_one_more(void *list, size_t count, size_t bytes)
{
    return (count & (count - 1)) == 0 ? mem_resize(list, count > 0 ? 2 * count : 1, bytes) : list;
}

void *mem_aligned(size_t boundary, size_t bytes)
{
    void *p = aligned_alloc(boundary, bytes);
    if (p == NULL)
        out_of_memory();
    return p;
}

char *mem_strndup(const char *s, size_t len)
{
    char *p = mem_alloc(len + 1);
    memcpy(p, s, len);
    return p;
}

char *mem_strdup(const char *s)
{
    return s != NULL ? mem_strndup(s, strlen(s)) : NULL;
}

char *mem_vprintf(const char *fmt, va_list ap)
{
    char *s = NULL;
    if (vasprintf(&s, fmt, ap) < 0)
        out_of_memory();
    return s;
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = mem_vprintf(fmt, ap);
    va_end(ap);
    return s;
}

void mem_free_each(void *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
}

void mem_wipe_free(char *secret)
{
    mem_wiping_free(secret); /* whatever stands behind a NUL in it, too */
}

void mem_wipe_free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        mem_wipe_free(list[i]);
    free(list);
}

char *mem_join(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    char *s = mem_alloc(a_len + b_len + 1);
    memcpy(s, a, a_len + 1);
    memcpy(s + a_len, b, b_len + 1);
    return s;
}

void mem_wiping_free(void *p)
{
    if (p == NULL)
        return;
    explicit_bzero(p, malloc_usable_size(p));
    free(p);
}

void *mem_wiping_realloc(void *p, size_t bytes)
{
    if (p == NULL)
        return malloc(bytes != 0 ? bytes : 1);
    size_t have = malloc_usable_size(p);
    if (bytes != 0 && bytes <= have)
        return p; /* where it is; all of it is overwritten in the end */
    void *moved = bytes != 0 ? malloc(bytes) : NULL;
    if (moved == NULL && bytes != 0)
        return NULL; /* the old one stays, as with realloc */
    if (moved != NULL)
        memcpy(moved, p, have);
    mem_wiping_free(p);
    return moved;
}

__attribute__((noinline)) void mem_wipe_stack(void)
{
    char below[MEM_STACK_WIPED];
    explicit_bzero(below, sizeof(below));
}

void mem_free_ptr(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

#include "template/stored_paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"

static int by_name(const void *a, const void *b)
{
    const struct storage_file *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Certificates that are stored by another name, or elsewhere, in the order of names. */
static const struct storage_file **renamed(const struct storage_files *files, size_t *ret_count)
{
    const struct storage_file **list = mem_array(files->count + 1, sizeof(list[0]));
    *ret_count = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct storage_file *f = &files->list[i];
        if (f->kind == STORAGE_CERTIFICATE && (f->place != f->kind || !str_eq(f->name, f->stored)))
            list[(*ret_count)++] = f;
    }
    if (*ret_count > 0)
        qsort(list, *ret_count, sizeof(list[0]), by_name);
    return list;
}

static const struct storage_file *find(const struct storage_file *const *list, size_t count, const char *name,
                                       size_t len)
{
    cleanup(mem_free_ptr) char *copy = mem_strndup(name, len);
    const struct storage_file wanted = {.name = copy}, *key = &wanted;
    const struct storage_file *const *found = bsearch(&key, list, count, sizeof(list[0]), by_name);
    return found != NULL ? *found : NULL;
}

void stored_paths(const char *text, size_t len, const struct storage_files *files, const char *const folders[3],
                  struct buf *out)
{
    const char *from = folders[STORAGE_CERTIFICATE], *at = text, *end = text + len;
    size_t count, from_len = strlen(from);
    cleanup(mem_free_ptr) const struct storage_file **list = renamed(files, &count);
    for (const char *hit; count > 0 && (hit = memmem(at, (size_t)(end - at), from, from_len)) != NULL;) {
        const char *name = hit + from_len;
        size_t name_len = 0;
        while (name + name_len < end && storage_is_of_name(name[name_len]))
            name_len++;
        bool whole = hit == text || !storage_is_of_name(hit[-1]); /* and no end of another path */
        const struct storage_file *f = whole ? find(list, count, name, name_len) : NULL;
        buf_addn(out, at, (size_t)(hit - at));
        if (f != NULL)
            buf_printf(out, "%s%s", folders[f->place], f->stored);
        else
            buf_addn(out, hit, from_len + name_len);
        at = name + name_len;
    }
    buf_addn(out, at, (size_t)(end - at));
}

#include "template/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/mem.h"

#define DEPTH 2 /* its folders have none */

static int folder_take(const char *path, const char *name, struct template_folder *f, struct error *err)
{
    struct buf bytes;
    size_t left = TEMPLATE_SET_MAX_BYTES - f->bytes;
    buf_init(&bytes, left + 1); /* one more than there may be, for 0 is no cap */
    int rc = buf_read_file(&bytes, path);
    if (rc == 0 ? bytes.len > left : errno == EFBIG)
        rc = error_set(err, ERROR_INVALID, "%s: a template set has at most %u MB", path, TEMPLATE_SET_MAX_BYTES >> 20);
    else if (rc != 0)
        rc = error_set(err, ERROR_INVALID, "cannot read %s: %m", path);
    if (rc != 0) {
        buf_fini(&bytes);
        return -1;
    }
    size_t len = bytes.len;
    f->files = mem_resize(f->files, f->count + 1, sizeof(f->files[0]));
    f->files[f->count++] = (struct template_file){mem_strdup(name), buf_take(&bytes), len};
    f->bytes += len;
    return 0;
}

/* below: "" or "maps/" */
static int folder_walk(const char *path, const char *below, unsigned depth, struct template_folder *f,
                       struct error *err)
{
    cleanup(dir_close_ptr) DIR *d = opendir(path);
    if (d == NULL)
        return error_set(err, ERROR_INVALID, "cannot open %s: %m", path);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        cleanup(mem_free_ptr) char *file = mem_printf("%s/%s", path, e->d_name);
        cleanup(mem_free_ptr) char *name = mem_printf("%s%s", below, e->d_name);
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        if (stat(file, &st) != 0)
            return error_set(err, ERROR_INVALID, "cannot open %s: %m", file);
        cleanup(mem_free_ptr) char *inner = mem_printf("%s/", name);
        int rc = 0;
        if (S_ISDIR(st.st_mode) && depth > 1)
            rc = folder_walk(file, inner, depth - 1, f, err);
        else if (S_ISREG(st.st_mode))
            rc = folder_take(file, name, f, err);
        int64_t ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
        f->newest_ms = ms > f->newest_ms ? ms : f->newest_ms;
        if (rc != 0)
            return -1;
    }
    return 0;
}

int template_file_order(const void *a, const void *b)
{
    return strcmp(((const struct template_file *)a)->name, ((const struct template_file *)b)->name);
}

int template_folder_read(const char *path, struct template_folder *ret, struct error *err)
{
    *ret = (struct template_folder){0};
    if (folder_walk(path, "", DEPTH, ret, err) != 0) {
        template_folder_fini(ret);
        return -1;
    }
    if (ret->count > 0)
        qsort(ret->files, ret->count, sizeof(ret->files[0]), template_file_order);
    return 0;
}

void template_folder_fini(struct template_folder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        mem_free_all((char *)(uintptr_t)f->files[i].name, (char *)(uintptr_t)f->files[i].bytes);
    }
    free(f->files);
    *f = (struct template_folder){0};
}

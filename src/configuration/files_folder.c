#include "configuration/files_folder.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/mem.h"
#include "base/str.h"

static int files_folder_take(const char *folder, const char *file, enum storage_kind kind, const char *name,
                             struct storage_files *ret, struct error *err)
{
    struct stat st;
    cleanup(buf_fini) struct buf bytes;
    buf_init_secret(&bytes, STORAGE_FILE_MAX_BYTES + 1);
    if (stat(file, &st) != 0)
        return error_set(err, ERROR_INVALID, "cannot open %s: %m", file);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_INVALID, "%s is no regular file", file);
    if (buf_read_file(&bytes, file) != 0)
        return error_set(err, ERROR_INVALID, errno == EFBIG ? "cannot read %s: it is too large" : "cannot read %s: %m",
                         file);
    if (storage_files_add(ret, kind, name, buf_str(&bytes), bytes.len, err) != 0)
        return error_prefix(err, "%s", folder);
    return 0;
}

static int files_folder_read_kind(const char *path, enum storage_kind kind, struct storage_files *ret,
                                  struct error *err)
{
    cleanup(mem_free_ptr) char *folder = mem_printf("%s/%s", path, storage_folder(kind));
    cleanup(dir_close_ptr) DIR *d = opendir(folder);
    if (d == NULL && errno == ENOENT)
        return 0;
    if (d == NULL)
        return error_set(err, ERROR_INVALID, "cannot open %s: %m", folder);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        cleanup(mem_free_ptr) char *file = mem_printf("%s/%s", folder, e->d_name);
        if (files_folder_take(path, file, kind, e->d_name, ret, err) != 0)
            return -1;
    }
    return 0;
}

/* One that is gone, as a volume that is not mounted, says nothing of the files in it. */
static int files_folder_is_there(const char *path, struct error *err)
{
    cleanup(dir_close_ptr) DIR *d = opendir(path);
    return d != NULL ? 0 : error_set(err, ERROR_INVALID, "cannot open %s: %m", path);
}

int files_folder_read(const char *path, struct storage_files *ret, struct error *err)
{
    if (files_folder_is_there(path, err) != 0)
        return -1;
    for (int kind = 0; kind < STORAGE_KINDS; kind++) {
        if (files_folder_read_kind(path, (enum storage_kind)kind, ret, err) != 0) {
            storage_files_fini(ret);
            return -1;
        }
    }
    return 0;
}

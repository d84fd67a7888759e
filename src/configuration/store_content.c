#include "configuration/store_content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/storage_files.h"
#include "json/read.h"
#include "json/write.h"

#define NAME_BYTES 32
#define FILES_MAX_BYTES (STORAGE_FILES_MAX_BYTES / 3 * 4 + (1u << 20)) /* in base64 */

static const char *const suffixes[] = {".cfg", ".json"};

static void store_content_name(char ret[NAME_BYTES], unsigned number, size_t which)
{
    snprintf(ret, NAME_BYTES, "version-%u%s", number, suffixes[which]);
}

int store_content_write(int fd, const char *name, const char *bytes, size_t len)
{
    static const char new_name[] = "new";
    int to = openat(fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), failed = 0;
    if (to < 0)
        return -1;
    while (len > 0 && failed == 0) {
        ssize_t n = write(to, bytes, len);
        if (n < 0 && errno != EINTR)
            failed = errno;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    if (failed == 0 && fdatasync(to) != 0)
        failed = errno;
    if (close(to) != 0 && failed == 0)
        failed = errno;
    if (failed == 0 && renameat(fd, new_name, fd, name) == 0) {
        fsync(fd); /* where a filesystem has that for a folder */
        return 0;
    }
    failed = failed != 0 ? failed : errno;
    unlinkat(fd, new_name, 0);
    errno = failed;
    return -1;
}

/* [{"kind": "maps", "name": "hosts.map", "base64": "..."}] */
static int store_content_put_files(int fd, unsigned number, const struct document *d)
{
    char name[NAME_BYTES];
    struct yyjson_mut_val *root;
    cleanup(json_free_ptr) struct yyjson_mut_doc *doc = json_new(&root);
    struct yyjson_mut_val *files = json_put_list(doc, root, "files");
    for (size_t i = 0; i < d->files.count; i++) {
        const struct storage_file *f = &d->files.list[i];
        struct yyjson_mut_val *obj = json_add_object(doc, files);
        char *bytes = base64_encode(f->bytes, f->len);
        json_fields(doc, obj, json_str("kind", storage_folder(f->kind)), json_str("name", f->name),
                    json_str("base64", bytes));
        mem_wipe_free(bytes);
    }
    cleanup(buf_fini) struct buf out;
    buf_init_secret(&out, 0);
    json_write(doc, false, &out);
    store_content_name(name, number, 1);
    return store_content_write(fd, name, out.data, out.len);
}

int store_content_put(int fd, unsigned number, const struct document *d)
{
    char name[NAME_BYTES];
    store_content_name(name, number, 0);
    if (store_content_write(fd, name, d->content->text, d->content->len) != 0)
        return -1;
    return d->with_files ? store_content_put_files(fd, number, d) : 0;
}

void store_content_remove(int fd, unsigned number)
{
    for (size_t i = 0; i < array_len(suffixes); i++) {
        char name[NAME_BYTES];
        store_content_name(name, number, i);
        unlinkat(fd, name, 0);
    }
}

static int store_content_get_files(const struct buf *text, struct storage_files *files, struct error *err)
{
    yyjson_val *root, *list, *one;
    size_t i, count, len;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(buf_str(text), text->len, 0, "it", err);
    if (json_object_of(doc, "it", &root, err) != 0 || json_get_array(root, "files", &list, err) != 0)
        return -1;
    yyjson_arr_foreach (list, i, count, one) {
        const char *kind, *name, *base64;
        enum storage_kind of;
        if (json_is_object(one, "a file", err) != 0 || json_need_string(one, "kind", &kind, err) != 0 ||
            json_need_string(one, "name", &name, err) != 0 || json_get_string(one, "base64", &base64, err) != 0)
            return -1;
        if (!storage_kind_of(kind, &of))
            return error_set(err, ERROR_INVALID, "\"kind\" of %s is unknown", name);
        char *bytes = base64_decode(base64, &len);
        if (bytes == NULL)
            return error_set(err, ERROR_INVALID, "\"base64\" of %s is none", name);
        int status = storage_files_add(files, of, name, bytes, len, err);
        mem_wiping_free(bytes);
        if (status != 0)
            return -1;
    }
    return 0;
}

static int store_content_read(const char *folder, unsigned number, size_t which, struct buf *ret, char **ret_path)
{
    char name[NAME_BYTES];
    store_content_name(name, number, which);
    free(*ret_path);
    *ret_path = mem_printf("%s/%s", folder, name);
    return buf_read_file(ret, *ret_path);
}

struct document *store_content_get(const char *folder, const struct store_version *v, const char *text_hash,
                                   enum document_use use, struct error *err)
{
    static const char *const other = "it is not what was written";
    char hash[DIGEST_SHA256_HEX_BYTES];
    cleanup(mem_free_ptr) char *path = NULL;
    cleanup(buf_fini) struct buf text, with;
    cleanup(storage_files_fini) struct storage_files files = {0};
    struct document *d = NULL;
    buf_init_secret(&text, DOCUMENT_MAX_BYTES);
    buf_init_secret(&with, FILES_MAX_BYTES);
    bool there = store_content_read(folder, v->number, 0, &text, &path) == 0;
    if (there)
        digest_sha256_hex(buf_str(&text), text.len, hash);
    if (!there)
        (void)error_set(err, ERROR_INVALID, "%m");
    else if (!str_eq(hash, text_hash))
        (void)error_set(err, ERROR_INVALID, "%s", other);
    else if (v->with_files && store_content_read(folder, v->number, 1, &with, &path) != 0)
        (void)error_set(err, ERROR_INVALID, "%m");
    else if (!v->with_files || store_content_get_files(&with, &files, err) == 0)
        d = document_restore(use, v->origin, buf_str(&text), text.len, v->with_files ? &files : NULL, v->hash, err);
    if (d != NULL && !str_eq(d->id, v->id)) {
        document_unref(d);
        d = NULL;
        (void)error_set(err, ERROR_INVALID, "%s", other);
    }
    if (d == NULL)
        (void)error_prefix(err, "version %u is lost: %s", v->number, path);
    return d;
}

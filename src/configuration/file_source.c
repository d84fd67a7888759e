#include "configuration/file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"
#include "host/path_watch.h"
#include "host/timer.h"
#include "net/digest.h"

struct file_source {
    struct file_source_options options;
    struct file_source_callbacks callbacks;
    void *arg;
    struct path_watch *watch;
    struct timer read;
    bool settled;                        /* an event or an operator says so: it is not being written to any more */
    char hash[DIGEST_SHA256_TEXT_BYTES]; /* of what was given last; "": nothing */
};

/* ---- what is watched ---- */

static void file_source_on_event(void *arg, uint64_t wait_ms)
{
    struct file_source *s = arg;
    timer_set_sooner(&s->read, wait_ms);
    s->settled = s->settled || wait_ms == 0;
}

/* ---- what is read ---- */

static int file_source_load(const struct file_source *s, struct buf *out, bool *ret_fresh, struct error *err)
{
    struct stat st = {0};
    struct timespec now;
    int fd = open(s->options.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status = 0;
    if (fd < 0)
        return error_set(err, ERROR_INVALID, "cannot open %s: %m", s->options.path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = error_set(err, ERROR_INVALID, "%s is no regular file", s->options.path);
    else if (buf_read_fd(out, fd) != 0)
        status = errno == EFBIG ? error_set(err, ERROR_INVALID, "%s: more than %zu bytes, which are not taken",
                                            s->options.path, s->options.max_bytes)
                                : error_set(err, ERROR_INVALID, "cannot read %s: %m", s->options.path);
    /* Where it was written to a moment ago, its writer may not be done. */
    clock_gettime(CLOCK_REALTIME, &now);
    bool known = fstat(fd, &st) == 0;
    int64_t age_ms = ((int64_t)now.tv_sec - st.st_mtim.tv_sec) * 1000 + (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;
    *ret_fresh = known && age_ms >= 0 && age_ms < PATH_WATCH_SETTLE_MS;
    close(fd);
    return status;
}

static void file_source_read(void *arg)
{
    struct file_source *s = arg;
    struct error err = {0};
    cleanup(buf_fini) struct buf text;
    cleanup(storage_files_fini) struct storage_files files = {0};
    char of_text[DIGEST_SHA256_HEX_BYTES], of_files[DIGEST_SHA256_HEX_BYTES], hash[DIGEST_SHA256_TEXT_BYTES];
    bool settled = s->settled, fresh = false;
    s->settled = false;
    buf_init_secret(&text, s->options.max_bytes);
    if (!s->options.once) {
        path_watch_begin(s->watch);
        path_watch_add(s->watch, s->options.path);
        for (int kind = 0; kind < STORAGE_KINDS && s->options.folder != NULL; kind++) {
            cleanup(mem_free_ptr) char *any =
                mem_printf("%s/%s/" PATH_WATCH_ANY, s->options.folder, storage_folder((enum storage_kind)kind));
            path_watch_add(s->watch, any);
        }
        path_watch_end(s->watch);
    }
    if (s->options.reread_ms > 0 && !s->options.once)
        timer_set(&s->read, s->options.reread_ms);
    int status = file_source_load(s, &text, &fresh, &err);
    if (fresh && !settled) { /* read by chance amid a write, half of it may be a configuration, too */
        timer_set_sooner(&s->read, PATH_WATCH_SETTLE_MS);
        return;
    }
    if (status != 0 || (s->options.folder != NULL && files_folder_read(s->options.folder, &files, &err) != 0)) {
        s->hash[0] = '\0';
        s->callbacks.failed(s->arg, &err);
        return;
    }
    digest_sha256_hex(buf_str(&text), text.len, of_text);
    storage_files_hash(&files, of_files);
    cleanup(mem_free_ptr) char *both = mem_printf("%s %s", of_text, of_files);
    digest_sha256(both, strlen(both), hash);
    if (str_eq(hash, s->hash))
        return;
    memcpy(s->hash, hash, sizeof(hash));
    s->callbacks.changed(s->arg, buf_str(&text), text.len, of_text, s->options.folder != NULL ? &files : NULL);
}

/* ---- the folder of further files ---- */

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

int files_folder_read(const char *path, struct storage_files *ret, struct error *err)
{
    cleanup(dir_close_ptr) DIR *d = opendir(path);
    if (d == NULL) /* as of a volume that is not mounted: that says nothing of the files in it */
        return error_set(err, ERROR_INVALID, "cannot open %s: %m", path);
    for (int kind = 0; kind < STORAGE_KINDS; kind++) {
        if (files_folder_read_kind(path, (enum storage_kind)kind, ret, err) != 0) {
            storage_files_fini(ret);
            return -1;
        }
    }
    return 0;
}

/* ---- life ---- */

struct file_source *file_source_new(struct event_base *base, const struct file_source_options *options,
                                    const struct file_source_callbacks *callbacks, void *arg, struct error *err)
{
    struct file_source *s = mem_alloc(sizeof(*s));
    *s = (struct file_source){.options = *options, .callbacks = *callbacks, .arg = arg};
    s->watch = path_watch_new(base, options->path, file_source_on_event, s, err);
    if (s->watch == NULL) {
        free(s);
        return NULL;
    }
    timer_init(&s->read, base, file_source_read, s);
    return s;
}

void file_source_free(void *source)
{
    struct file_source *s = source;
    if (s == NULL)
        return;
    path_watch_free(s->watch);
    timer_fini(&s->read);
    free(s);
}

void file_source_start(void *source)
{
    struct file_source *s = source;
    timer_set(&s->read, 0);
}

void file_source_poke(void *source)
{
    struct file_source *s = source;
    s->hash[0] = '\0';
    s->settled = true;
    timer_set(&s->read, 0);
}

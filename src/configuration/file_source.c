#include "configuration/file_source.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/files_folder.h"
#include "host/timer.h"
#include "net/digest.h"

#define WATCHES_MAX 128
#define ANY_NAME "*"
#define LINKS_MAX 40
/* What is made without being closed by a writer: a link, or a file that its writer has still to fill. */
#define SETTLE_MS 200

struct file_watch {
    int wd;
    char *name; /* the one in that folder that matters */
};

struct file_source {
    struct file_source_options options;
    struct file_source_callbacks callbacks;
    void *arg;
    int fd;
    struct event *event;
    struct timer read;
    bool told; /* by an event or an operator that there is something to read: nobody writes to it any more */
    struct file_watch watches[WATCHES_MAX];
    size_t watch_count;
    char hash[DIGEST_SHA256_TEXT_BYTES]; /* of what was given last; "": nothing */
};

/* ---- what is watched ---- */

/* last: the name is the file itself, which is written to; what is written to in folders on the way to it, such as /tmp,
 * is no matter. */
static void file_source_watch(struct file_source *s, const char *folder, const char *name, bool last)
{
    uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_ONLYDIR | IN_MASK_ADD;
    int wd = s->watch_count == WATCHES_MAX ? -1 : inotify_add_watch(s->fd, folder, last ? mask | IN_CLOSE_WRITE : mask);
    if (wd >= 0)
        s->watches[s->watch_count++] = (struct file_watch){.wd = wd, .name = mem_strdup(name)};
}

/* From a list of what was watched before and now: the folders that are not on the way any more. */
static void file_source_drop(struct file_source *s, struct file_watch *old, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool kept = false;
        for (size_t k = 0; k < s->watch_count; k++)
            kept = kept || s->watches[k].wd == old[i].wd;
        for (size_t k = 0; k < i; k++)
            kept = kept || old[k].wd == old[i].wd; /* done */
        if (!kept)
            inotify_rm_watch(s->fd, old[i].wd);
        free(old[i].name);
    }
}

/* Each component of the path from the root on; a link goes on with what it points to. */
static void file_source_walk_path(struct file_source *s, const char *path)
{
    size_t links = 0;
    cleanup(mem_free_ptr) char *rest = mem_strdup(path + strspn(path, "/"));
    cleanup(buf_fini) struct buf done = {0}; /* "" is the root */
    buf_add(&done, "");
    while (*rest != '\0') {
        size_t len = strcspn(rest, "/");
        cleanup(mem_free_ptr) char *name = mem_strndup(rest, len);
        char *behind = mem_strdup(rest + len + strspn(rest + len, "/")), target[PATH_MAX];
        file_source_watch(s, done.len > 0 ? buf_str(&done) : "/", name, *behind == '\0');
        cleanup(mem_free_ptr) char *here = mem_printf("%s/%s", buf_str(&done), name);
        ssize_t n = links < LINKS_MAX ? readlink(here, target, sizeof(target) - 1) : -1;
        free(rest);
        rest = behind;
        if (n < 0) {
            buf_clear(&done);
            buf_add(&done, here);
            continue;
        }
        links++;
        target[n] = '\0';
        if (target[0] == '/')
            buf_clear(&done);
        rest = mem_printf("%s%s%s", target + strspn(target, "/"), *behind != '\0' ? "/" : "", behind);
        free(behind);
    }
}

static void file_source_walk(struct file_source *s)
{
    struct file_watch old[WATCHES_MAX];
    size_t old_count = s->watch_count;
    memcpy(old, s->watches, sizeof(old));
    s->watch_count = 0;
    file_source_walk_path(s, s->options.path);
    for (int kind = 0; kind < STORAGE_KINDS && s->options.folder != NULL; kind++) {
        cleanup(mem_free_ptr) char *any =
            mem_printf("%s/%s/" ANY_NAME, s->options.folder, storage_folder((enum storage_kind)kind));
        file_source_walk_path(s, any);
    }
    file_source_drop(s, old, old_count);
}

/* ---- what is read ---- */

static int file_source_read_all(int fd, struct buf *out)
{
    char part[16384];
    ssize_t n;
    while ((n = read(fd, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && buf_append(out, part, (size_t)n) != 0) {
            errno = EFBIG;
            return -1;
        }
    return (int)n;
}

/* A moment ago: whoever does may not be done. */
static bool file_source_was_written_to(const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_ms = ((int64_t)now.tv_sec - st->st_mtim.tv_sec) * 1000 + (now.tv_nsec - st->st_mtim.tv_nsec) / 1000000;
    return age_ms >= 0 && age_ms < SETTLE_MS;
}

static int file_source_load(const struct file_source *s, struct buf *out, bool *ret_fresh, struct error *err)
{
    struct stat st;
    int fd = open(s->options.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status = 0;
    if (fd < 0)
        return error_set(err, ERROR_INVALID, "cannot open %s: %m", s->options.path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = error_set(err, ERROR_INVALID, "%s is no regular file", s->options.path);
    else if (file_source_read_all(fd, out) != 0)
        status = errno == EFBIG ? error_set(err, ERROR_INVALID, "%s: more than %zu bytes, which are not taken",
                                            s->options.path, s->options.max_bytes)
                                : error_set(err, ERROR_INVALID, "cannot read %s: %m", s->options.path);
    *ret_fresh = fstat(fd, &st) == 0 && file_source_was_written_to(&st);
    close(fd);
    return status;
}

static void file_source_hash(const struct buf *text, const struct storage_files *files,
                             char of_text[DIGEST_SHA256_HEX_BYTES], char ret[DIGEST_SHA256_TEXT_BYTES])
{
    char of_files[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex(buf_str(text), text->len, of_text);
    storage_files_hash(files, of_files);
    cleanup(mem_free_ptr) char *both = mem_printf("%s %s", of_text, of_files);
    digest_sha256(both, strlen(both), ret);
}

static void file_source_read(void *arg)
{
    struct file_source *s = arg;
    struct error err = {0};
    cleanup(buf_fini) struct buf text;
    cleanup(storage_files_fini) struct storage_files files = {0};
    char of_text[DIGEST_SHA256_HEX_BYTES], hash[DIGEST_SHA256_TEXT_BYTES];
    bool told = s->told, fresh = false;
    s->told = false;
    buf_init_secret(&text, s->options.max_bytes);
    if (!s->options.once)
        file_source_walk(s);
    if (s->options.reread_ms > 0 && !s->options.once)
        timer_set(&s->read, s->options.reread_ms);
    int status = file_source_load(s, &text, &fresh, &err);
    if (fresh && !told) { /* read by chance amid a write, half of it may be a configuration, too */
        timer_set_sooner(&s->read, SETTLE_MS);
        return;
    }
    if (status != 0 || (s->options.folder != NULL && files_folder_read(s->options.folder, &files, &err) != 0)) {
        s->hash[0] = '\0';
        s->callbacks.failed(s->arg, &err);
        return;
    }
    file_source_hash(&text, &files, of_text, hash);
    if (str_eq(hash, s->hash))
        return;
    memcpy(s->hash, hash, sizeof(hash));
    s->callbacks.changed(s->arg, buf_str(&text), text.len, of_text, s->options.folder != NULL ? &files : NULL);
}

/* In how many ms; a negative one: never. */
static int file_source_matters(const struct file_source *s, const struct inotify_event *e)
{
    bool matters = (e->mask & IN_Q_OVERFLOW) != 0, any = false;
    for (size_t i = 0; i < s->watch_count; i++) {
        const struct file_watch *w = &s->watches[i];
        if (w->wd != e->wd)
            continue;
        matters = matters || e->len == 0 || str_eq(w->name, e->name);
        any = any || str_eq(w->name, ANY_NAME);
    }
    if (!matters && !any)
        return -1;
    return !matters || (e->mask & (IN_CREATE | IN_ATTRIB)) != 0 ? SETTLE_MS : 0; /* files come in numbers */
}

static void file_source_on_event(evutil_socket_t fd, short what, void *arg)
{
    struct file_source *s = arg;
    union {
        struct inotify_event event;
        char bytes[16 * 1024];
    } in;
    (void)what;
    for (ssize_t n; (n = read(fd, in.bytes, sizeof(in.bytes))) > 0;) {
        for (const char *at = in.bytes; at < in.bytes + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)at;
            int wait_ms = file_source_matters(s, e);
            if (wait_ms >= 0)
                timer_set_sooner(&s->read, (uint64_t)wait_ms);
            s->told = s->told || wait_ms == 0;
            at += sizeof(*e) + e->len;
        }
    }
}

/* ---- life ---- */

struct file_source *file_source_new(struct event_base *base, const struct file_source_options *options,
                                    const struct file_source_callbacks *callbacks, void *arg, struct error *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        (void)error_set(err, ERROR_FATAL, "cannot follow %s: inotify: %m", options->path);
        return NULL;
    }
    struct file_source *s = mem_alloc(sizeof(*s));
    *s = (struct file_source){.options = *options, .callbacks = *callbacks, .arg = arg, .fd = fd};
    timer_init(&s->read, base, file_source_read, s);
    s->event = event_new(base, fd, EV_READ | EV_PERSIST, file_source_on_event, s);
    if (s->event == NULL || event_add(s->event, NULL) != 0)
        abort(); /* out of memory */
    return s;
}

void file_source_free(struct file_source *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->watch_count; i++)
        free(s->watches[i].name);
    event_free(s->event);
    timer_fini(&s->read);
    close(s->fd);
    free(s);
}

void file_source_start(struct file_source *s)
{
    timer_set(&s->read, 0);
}

void file_source_poke(struct file_source *s)
{
    s->hash[0] = '\0';
    s->told = true;
    timer_set(&s->read, 0);
}

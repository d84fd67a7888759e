#include "host/path_watch.h"

#include <event2/event.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define WATCHES_MAX 128
#define LINKS_MAX 40

struct watched {
    int wd;
    char *name; /* the one in that folder that matters */
};

struct path_watch {
    int fd;
    struct event *event;
    void (*changed)(void *arg, uint64_t wait_ms);
    void *arg;
    struct watched watches[WATCHES_MAX], old[WATCHES_MAX];
    size_t watch_count, old_count;
};

/* Each component of the path from the root on; a link goes on with what it points to. */
void path_watch_add(struct path_watch *w, const char *path)
{
    size_t links = 0;
    cleanup(mem_free_ptr) char *rest = mem_strdup(path + strspn(path, "/"));
    cleanup(buf_fini) struct buf done = {0}; /* "" is the root */
    buf_add(&done, "");
    while (*rest != '\0') {
        size_t len = strcspn(rest, "/");
        cleanup(mem_free_ptr) char *name = mem_strndup(rest, len);
        char *behind = mem_strdup(rest + len + strspn(rest + len, "/")), target[PATH_MAX];
        /* The last name is the file itself, which is written to; what is written to in folders on the way to it, such as
         * /tmp, is no matter. */
        uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_ONLYDIR | IN_MASK_ADD;
        int wd = w->watch_count == WATCHES_MAX ? -1
                                               : inotify_add_watch(w->fd, done.len > 0 ? buf_str(&done) : "/",
                                                                   *behind == '\0' ? mask | IN_CLOSE_WRITE : mask);
        if (wd >= 0)
            w->watches[w->watch_count++] = (struct watched){.wd = wd, .name = mem_strdup(name)};
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

void path_watch_begin(struct path_watch *w)
{
    memcpy(w->old, w->watches, sizeof(w->old));
    w->old_count = w->watch_count;
    w->watch_count = 0;
}

void path_watch_end(struct path_watch *w)
{
    for (size_t i = 0; i < w->old_count; i++) {
        bool kept = false;
        for (size_t k = 0; k < w->watch_count; k++)
            kept = kept || w->watches[k].wd == w->old[i].wd;
        for (size_t k = 0; k < i; k++)
            kept = kept || w->old[k].wd == w->old[i].wd; /* done */
        if (!kept)
            inotify_rm_watch(w->fd, w->old[i].wd);
        free(w->old[i].name);
    }
    w->old_count = 0;
}

/* ---- what happens there ---- */

static void path_watch_on_event(evutil_socket_t fd, short what, void *arg)
{
    struct path_watch *w = arg;
    union {
        struct inotify_event event;
        char bytes[16 * 1024];
    } in;
    (void)what;
    for (ssize_t n; (n = read(fd, in.bytes, sizeof(in.bytes))) > 0;) {
        for (const char *at = in.bytes; at < in.bytes + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)at;
            bool matters = (e->mask & IN_Q_OVERFLOW) != 0, any = false;
            for (size_t i = 0; i < w->watch_count; i++) {
                const struct watched *x = &w->watches[i];
                if (x->wd != e->wd)
                    continue;
                matters = matters || e->len == 0 || str_eq(x->name, e->name);
                any = any || str_eq(x->name, PATH_WATCH_ANY);
            }
            /* Files come in numbers: what is made is given time. */
            bool settles = !matters || (e->mask & (IN_CREATE | IN_ATTRIB)) != 0;
            if (matters || any)
                w->changed(w->arg, settles ? PATH_WATCH_SETTLE_MS : 0);
            at += sizeof(*e) + e->len;
        }
    }
}

/* ---- life ---- */

struct path_watch *path_watch_new(struct event_base *base, const char *what,
                                  void (*changed)(void *arg, uint64_t wait_ms), void *arg, struct error *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        (void)error_set(err, ERROR_FATAL, "cannot follow %s: inotify: %m", what);
        return NULL;
    }
    struct path_watch *w = mem_alloc(sizeof(*w));
    *w = (struct path_watch){.fd = fd, .changed = changed, .arg = arg};
    w->event = event_new(base, fd, EV_READ | EV_PERSIST, path_watch_on_event, w);
    if (w->event == NULL || event_add(w->event, NULL) != 0)
        abort(); /* out of memory */
    return w;
}

void path_watch_free(struct path_watch *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->watch_count; i++)
        free(w->watches[i].name);
    event_free(w->event);
    close(w->fd);
    free(w);
}

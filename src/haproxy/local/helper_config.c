/* The configuration file: read, locked, checked by HAProxy, replaced. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/files.h"
#include "haproxy/local/helper_internal.h"

#define CHECK_TIMEOUT_MS 60000
/* HAProxy's: 1, the file has errors; 2, it has none, and nothing to listen on. */
#define CHECK_WOULD_NOT_START 2
#define HELPER_PID_BYTES 32

static int helper_config_place(struct helper_work *w, struct local_place *p)
{
    if (local_place_of_file(p, w->helper->options->config_file) == 0)
        return 0;
    helper_fail(w, "cannot find %s: %m", w->helper->options->config_file);
    return -1;
}

void helper_config_read(struct helper_work *w)
{
    cleanup(local_place_fini) struct local_place p;
    if (helper_config_place(w, &p) != 0 || local_file_read(&p, &w->data, &w->answer.identity) == 0)
        return;
    buf_clear(&w->data);
    helper_fail(w, "cannot read %s: %m", w->helper->options->config_file);
}

/* ---- one daemon for each file ---- */

static pid_t helper_holder(int fd)
{
    char text[HELPER_PID_BYTES] = "";
    uint64_t pid = 0;
    if (pread(fd, text, sizeof(text) - 1, 0) < 0)
        return 0;
    return str_parse_uint(text, INT32_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

static int helper_note_holder(int fd, pid_t pid)
{
    cleanup(mem_free_ptr) char *text = mem_printf("%d", (int)pid);
    size_t len = strlen(text);
    return ftruncate(fd, 0) == 0 && pwrite(fd, text, len, 0) == (ssize_t)len ? 0 : -1;
}

static int helper_take_lock(struct helper_work *w, const struct local_place *p)
{
    cleanup(mem_free_ptr) char *name = mem_printf(".%s.lock", p->name);
    int fd = openat(p->folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
    if (fd < 0) {
        helper_fail(w, "cannot open the lock %s/%s: %m", p->folder_path, name);
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            w->answer.status = LOCAL_LOCKED;
            w->answer.pid = helper_holder(fd);
        } else {
            helper_fail(w, "cannot lock %s/%s: %m", p->folder_path, name);
        }
        close(fd);
        return -1;
    }
    /* The number is for people: without it the lock holds as well. */
    (void)helper_note_holder(fd, w->helper->daemon);
    w->helper->lock = fd;
    return 0;
}

int helper_config_lock(struct helper_work *w)
{
    if (w->helper->lock >= 0)
        return 0;
    cleanup(local_place_fini) struct local_place p;
    return helper_config_place(w, &p) != 0 ? -1 : helper_take_lock(w, &p);
}

/* ---- haproxy -c ---- */

static size_t helper_count(const char *const *list)
{
    size_t n = 0;
    while (list != NULL && list[n] != NULL)
        n++;
    return n;
}

static char **helper_check_arguments(const struct local_helper_options *o, const char *file)
{
    size_t before = helper_count(o->files_before), after = helper_count(o->files_after), n = 0;
    const char **args = mem_array(2 * (before + after) + 4, sizeof(args[0]));
    args[n++] = "-c";
    for (size_t i = 0; i < before; i++) {
        args[n++] = "-f";
        args[n++] = o->files_before[i];
    }
    args[n++] = "-f";
    args[n++] = file;
    for (size_t i = 0; i < after; i++) {
        args[n++] = "-f";
        args[n++] = o->files_after[i];
    }
    return (char **)(uintptr_t)args;
}

/* A file of many thousand warnings: the lines that say why it is refused are the ones that count. */
static bool helper_is_wanted(const char *line, size_t len, bool alerts_only)
{
    return !alerts_only || memmem(line, len, "[ALERT]", strlen("[ALERT]")) != NULL;
}

/* With the user's name of the file in place of the temporary one's; at most LOCAL_MESSAGE_MAX_BYTES, whole lines. */
static char *helper_check_message(const struct buf *said, const char *temporary, const char *name)
{
    const char *at = buf_str(said), *end = at + strlen(at);
    bool alerts_only = said->len > LOCAL_MESSAGE_MAX_BYTES / 2;
    struct buf out = {.max_bytes = LOCAL_MESSAGE_MAX_BYTES};
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = newline != NULL ? (size_t)(newline - at) + 1 : (size_t)(end - at);
        cleanup(buf_fini) struct buf line = {0};
        const char *from = at;
        for (const char *hit; (hit = memmem(from, len - (size_t)(from - at), temporary, strlen(temporary))) != NULL;
             from = hit + strlen(temporary)) {
            buf_addn(&line, from, (size_t)(hit - from));
            buf_add(&line, name);
        }
        buf_addn(&line, from, len - (size_t)(from - at));
        if (helper_is_wanted(at, len, alerts_only) && buf_append(&out, line.data, line.len) != 0)
            break;
        at += len;
    }
    return buf_take(&out);
}

/* 0: HAProxy takes it. */
static int helper_check(struct helper_work *w, const char *file)
{
    const struct local_helper_options *o = w->helper->options;
    cleanup(mem_free_ptr) char **args = helper_check_arguments(o, file);
    const struct child_options run = {.command = o->haproxy != NULL ? o->haproxy : "haproxy",
                                      .args = args,
                                      .env = w->helper->environment,
                                      .max_out_bytes = LOCAL_ANSWER_MAX_BYTES,
                                      .timeout_ms = o->check_timeout_ms > 0 ? o->check_timeout_ms : CHECK_TIMEOUT_MS,
                                      .together = true};
    if (helper_run(w, &run) != 0)
        return -1;
    cleanup(mem_free_ptr) char *said = helper_check_message(&w->data, file, o->config_file);
    buf_clear(&w->data);
    errno = 0;
    if (w->outcome != CHILD_EXITED || w->exit_status > CHECK_WOULD_NOT_START) {
        helper_fail(w, "%s -c: %s: %.1000s", run.command, w->outcome_text, said);
        return -1;
    }
    w->answer.status = w->exit_status == 0 ? LOCAL_OK : LOCAL_REJECTED;
    w->message = said;
    said = NULL;
    return w->exit_status == 0 ? 0 : -1;
}

/* ---- writing ---- */

static void helper_changed(struct helper_work *w, const struct local_identity *now)
{
    free(w->message);
    w->message = NULL;
    w->answer.status = LOCAL_CHANGED;
    w->answer.identity = *now;
}

static void helper_swap(struct helper_work *w, const struct local_place *p, const char *temporary,
                        const struct local_identity *expected)
{
    struct local_identity now = {0};
    enum local_swap swap = local_file_swap(p, temporary, expected);
    if (swap == LOCAL_SWAP_FAILED)
        helper_fail(w, "cannot rename to %s/%s: %m", p->folder_path, p->name);
    if (local_file_read(p, NULL, &now) != 0)
        now.inode = 0; /* it went meanwhile */
    if (swap == LOCAL_SWAP_CHANGED)
        helper_changed(w, &now);
    w->answer.identity = now;
}

static void helper_write(struct helper_work *w, const struct local_place *p, const struct local_ask *a,
                         const struct local_identity *expected)
{
    bool validate = (a->flags & LOCAL_WRITE_ONLY_VALIDATE) != 0, unchecked = (a->flags & LOCAL_WRITE_UNCHECKED) != 0;
    /* Who only asks need not have the lock, and has a file of its own. */
    cleanup(mem_free_ptr) char *temporary =
        validate ? mem_printf(".%s.check-%d", p->name, (int)getpid()) : mem_printf(".%s.new", p->name);
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", p->folder_path, temporary);
    const char *step;
    if (local_file_write_beside(p, temporary, a->bytes, a->len, &step) != 0) {
        helper_fail(w, "cannot %s a file beside %s/%s: %m", step, p->folder_path, p->name);
        return;
    }
    if ((unchecked || helper_check(w, path) == 0) && !validate)
        helper_swap(w, p, temporary, expected);
    else
        (void)unlinkat(p->folder, temporary, 0);
}

void helper_config_write(struct helper_work *w, const struct local_ask *a)
{
    cleanup(local_place_fini) struct local_place p;
    struct local_identity now;
    if (helper_config_place(w, &p) != 0)
        return;
    if ((a->flags & LOCAL_WRITE_ONLY_VALIDATE) == 0 && helper_config_lock(w) != 0)
        return;
    if (local_file_read(&p, NULL, &now) != 0)
        helper_fail(w, "cannot read %s: %m", w->helper->options->config_file);
    else if (a->expects && !local_identity_same(&now, &a->expected))
        helper_changed(w, &now);
    else
        helper_write(w, &p, a, a->expects ? &a->expected : NULL);
}

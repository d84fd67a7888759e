/* The configuration file: read, locked, checked by HAProxy, replaced. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/files.h"
#include "haproxy/local/helper_internal.h"

#define CHECK_TIMEOUT_MS 60000
/* HAProxy's: 1, the file has errors; 2, it has none, and nothing to listen on. */
#define CHECK_WOULD_NOT_START 2
#define LOCK_BYTES 256 /* a number, and two lines of four */

static int helper_config_place(struct helper_work *w, struct local_place *p)
{
    if (local_place_of_file(p, w->helper->options->config_file) == 0)
        return 0;
    helper_fail(w, "cannot find %s: %m", w->helper->options->config_file);
    return -1;
}

/* ---- one daemon for each file ---- */

/* The lock file says who has it, for people, and which files were written, for the daemon that comes next: "pid\n", and a
 * line "device inode size time\n" for each that was not loaded, behind "loaded " for one that was. Two at most: the one in
 * its place, and the one that is about to replace it. A machine that goes down loses nothing by it: HAProxy loads the file
 * as it starts. */

static char *helper_lock_name(const struct local_place *p)
{
    return mem_printf(".%s.lock", p->name);
}

static int helper_open_lock(const struct local_place *p, int flags, char **ret_name)
{
    *ret_name = helper_lock_name(p);
    return openat(p->folder, *ret_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0640);
}

/* A lock of the open file, as flock(2) has it, that can be queried without being taken. */
static int helper_flock(int fd, int command, struct flock *ret)
{
    *ret = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, command, ret);
}

static void helper_read_lock(int fd, char text[LOCK_BYTES])
{
    ssize_t n = pread(fd, text, LOCK_BYTES - 1, 0);
    text[n > 0 ? n : 0] = '\0';
}

static pid_t helper_holder(char *text)
{
    uint64_t pid = 0;
    text[strcspn(text, "\n")] = '\0';
    return str_parse_uint(text, INT32_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

static char *helper_note_line(const struct local_identity *i, bool loaded)
{
    return mem_printf("%s%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 "\n", loaded ? "loaded " : "", i->device,
                      i->inode, i->size, i->modified_ns);
}

/* Whatever became of its owner and mode. */
static bool helper_is_written_file(const struct helper *h, const struct local_identity *i)
{
    const struct local_identity *u = &h->written;
    return h->has_written && u->device == i->device && u->inode == i->inode && u->size == i->size &&
           u->modified_ns == i->modified_ns;
}

static bool helper_is_noted(const char *text, const struct local_identity *i, bool loaded)
{
    cleanup(mem_free_ptr) char *line = helper_note_line(i, loaded), *behind_another = mem_printf("\n%s", line);
    return strstr(text, behind_another) != NULL;
}

/* coming: what is about to be put in place; NULL: nothing. Written over what is there, so that a daemon that ends amid it
 * leaves one or the other. */
static int helper_note(const struct helper *h, int fd, const struct local_identity *coming)
{
    cleanup(mem_free_ptr) char *new = coming != NULL ? helper_note_line(coming, false) : mem_strdup("");
    cleanup(mem_free_ptr) char *old = h->has_written ? helper_note_line(&h->written, h->loaded) : mem_strdup("");
    cleanup(mem_free_ptr) char *text = mem_printf("%d\n%s%s", (int)h->daemon, new, old);
    size_t len = strlen(text);
    ssize_t n = pwrite(fd, text, len, 0);
    if (n >= 0 && n != (ssize_t)len)
        errno = ENOSPC;
    return n == (ssize_t)len && ftruncate(fd, (off_t)len) == 0 ? 0 : -1;
}

static void helper_take_notes(struct helper *h, int fd, const struct local_place *p)
{
    char text[LOCK_BYTES];
    struct local_identity now = {0};
    helper_read_lock(fd, text);
    bool there = local_file_read(p, NULL, &now) == 0, ours = there && helper_is_written_file(h, &now);
    bool loaded = there && helper_is_noted(text, &now, true), unloaded = there && helper_is_noted(text, &now, false);
    h->loaded = loaded || (ours && h->loaded);
    h->has_written = loaded || unloaded || ours;
    h->written = now;
    /* Without it the lock holds as well. */
    (void)helper_note(h, fd, NULL);
}

static int helper_take_lock(struct helper_work *w, const struct local_place *p)
{
    cleanup(mem_free_ptr) char *name = NULL;
    char text[LOCK_BYTES];
    struct flock lock;
    int fd = helper_open_lock(p, O_CREAT, &name);
    if (fd < 0) {
        helper_fail(w, "cannot open the lock %s/%s: %m", p->folder_path, name);
        return -1;
    }
    if (helper_flock(fd, F_OFD_SETLK, &lock) != 0) {
        if (errno == EAGAIN || errno == EACCES) {
            helper_read_lock(fd, text);
            w->answer.status = LOCAL_LOCKED;
            w->answer.pid = helper_holder(text);
        } else {
            helper_fail(w, "cannot lock %s/%s: %m", p->folder_path, name);
        }
        close(fd);
        return -1;
    }
    helper_take_notes(w->helper, fd, p);
    w->helper->lock = fd;
    return 0;
}

/* Another program removed it, or the link to the file leads to another one: who comes next would lock another file. */
static bool helper_lock_is_there(const struct helper *h, const struct local_place *p)
{
    cleanup(mem_free_ptr) char *name = helper_lock_name(p);
    struct stat ours, there;
    return fstat(h->lock, &ours) == 0 && fstatat(p->folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int helper_config_lock(struct helper_work *w)
{
    struct helper *h = w->helper;
    cleanup(local_place_fini) struct local_place p;
    if (helper_config_place(w, &p) != 0)
        return -1;
    if (h->lock >= 0 && helper_lock_is_there(h, &p))
        return 0;
    if (h->lock >= 0)
        close(h->lock);
    h->lock = -1;
    return helper_take_lock(w, &p);
}

void local_forget_lock(const char *config_file)
{
    cleanup(local_place_fini) struct local_place p;
    cleanup(mem_free_ptr) char *name = NULL;
    struct flock lock;
    if (local_place_of_file(&p, config_file) != 0)
        return;
    int fd = helper_open_lock(&p, 0, &name);
    if (fd >= 0 && helper_flock(fd, F_OFD_SETLK, &lock) == 0)
        (void)unlinkat(p.folder, name, 0);
    if (fd >= 0)
        close(fd);
}

void helper_config_release(struct helper_work *w)
{
    struct helper *h = w->helper;
    if (h->lock >= 0)
        close(h->lock);
    h->lock = -1;
}

/* Whether the file that ret->identity is was loaded, as far as it is noted: here, or in the lock file. */
static void helper_look_at_notes(const struct helper *h, const struct local_place *p, struct local_answer *ret)
{
    cleanup(mem_free_ptr) char *name = NULL;
    char text[LOCK_BYTES];
    struct flock lock;
    if (h->lock >= 0) {
        bool written = helper_is_written_file(h, &ret->identity);
        ret->loaded = written && h->loaded;
        ret->unloaded = written && !h->loaded;
        return;
    }
    int fd = helper_open_lock(p, 0, &name);
    if (fd < 0)
        return;
    helper_read_lock(fd, text);
    ret->unloaded = helper_is_noted(text, &ret->identity, false);
    ret->loaded = helper_is_noted(text, &ret->identity, true);
    if (ret->unloaded && helper_flock(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        ret->pid = helper_holder(text);
    close(fd);
}

/* ---- what is read ---- */

/* What a server's weight or state would come from. Those that run are compared with the file that is managed, which does not say so. */
static bool defaults_is_compared(const struct cfg_line *words)
{
    for (size_t i = 1; i < words->count; i++)
        if (str_eq(cfg_word(words, i), "weight") || str_eq(cfg_word(words, i), "disabled"))
            return true;
    return false;
}

/* -1: a conditional, whose branches only HAProxy knows; or a word that takes a reload. */
static int defaults_take(const struct cfg_file *f, struct buf *out)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    for (size_t i = 0; i < f->line_count; i++) {
        cfg_line_split(&words, f->lines[i].text, f->lines[i].len);
        if (cfg_word(&words, 0)[0] == '.')
            return -1;
    }
    for (size_t i = 0; i < f->section_count; i++) {
        const struct cfg_file_section *s = &f->sections[i];
        if (!str_eq(s->kind, "defaults"))
            continue;
        buf_addn(out, s->line->text, s->line->len);
        buf_add(out, "\n");
        for (size_t k = 0; k < s->line_count; k++) {
            cfg_line_split(&words, s->lines[k].text, s->lines[k].len);
            if (!str_eq(cfg_word(&words, 0), "default-server"))
                continue;
            if (defaults_is_compared(&words))
                return -1;
            buf_addn(out, s->lines[k].text, s->lines[k].len);
            buf_add(out, "\n");
        }
    }
    return 0;
}

/* What the files in front of the configuration say of servers: the default-server lines of their defaults sections, and nothing else of
 * them, for they may hold passwords. HAProxy applies none of it to a server that is added by a command, so the command has to.
 * NULL: what they say is not known. */
static char *helper_defaults(const char *const *files)
{
    struct buf out = {0};
    bool known = true;
    for (; files != NULL && *files != NULL && known; files++) {
        cleanup(cfg_file_fini) struct cfg_file f = {0};
        cleanup(buf_wipe) struct buf text;
        buf_init_secret(&text, LOCAL_FILE_MAX_BYTES);
        known = local_path_read(*files, &text) == 0;
        cfg_file_parse(&f, buf_str(&text), text.len);
        known = known && memchr(buf_str(&text), '\0', text.len) == NULL && f.broken == 0 && !f.too_many &&
                defaults_take(&f, &out) == 0;
    }
    char *said = known ? buf_take(&out) : NULL;
    buf_fini(&out);
    return said;
}

void helper_config_read(struct helper_work *w)
{
    const struct helper *h = w->helper;
    cleanup(local_place_fini) struct local_place p;
    if (helper_config_place(w, &p) != 0)
        return;
    if (local_file_read(&p, &w->data, &w->answer.identity) != 0) {
        buf_clear(&w->data);
        helper_fail(w, "cannot read %s: %m", h->options->config_file);
        return;
    }
    helper_look_at_notes(h, &p, &w->answer);
    w->message = helper_defaults(h->options->files_before);
    w->answer.error_number = w->message != NULL ? 0 : EINVAL;
}

void helper_config_note_loaded(struct helper_work *w, const struct local_ask *a)
{
    struct helper *h = w->helper;
    if (h->lock < 0 || !helper_is_written_file(h, &a->expected))
        return; /* another one was written since */
    h->loaded = true;
    if (helper_note(h, h->lock, NULL) != 0)
        helper_fail(w, "cannot write to the lock of %s: %m", h->options->config_file);
}

/* ---- haproxy -c ---- */

static size_t helper_count(const char *const *list)
{
    size_t n = 0;
    while (list != NULL && list[n] != NULL)
        n++;
    return n;
}

static char **helper_check_arguments(const struct local_helper_options *o, const char *file, const char *peer)
{
    size_t before = helper_count(o->files_before), after = helper_count(o->files_after), n = 0;
    const char **args = mem_array(2 * (before + after) + 6, sizeof(args[0]));
    args[n++] = "-c";
    if (peer != NULL) {
        args[n++] = "-L";
        args[n++] = peer;
    }
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

/* With the user's name of the file in place of the temporary one's; at most LOCAL_MESSAGE_MAX_BYTES, whole lines. */
static char *helper_check_message(const struct buf *said, const char *temporary, const char *name)
{
    const char *at = buf_str(said), *end = at + strlen(at);
    /* A file of many thousand warnings: the lines that say why it is refused are the ones that count. */
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
        bool is_wanted = !alerts_only || memmem(at, len, "[ALERT]", strlen("[ALERT]")) != NULL;
        if (is_wanted && buf_append(&out, line.data, line.len) != 0)
            break;
        at += len;
    }
    return buf_take(&out);
}

/* 0: HAProxy takes it. */
static int helper_check(struct helper_work *w, const char *file)
{
    const struct local_helper_options *o = w->helper->options;
    char **environment = helper_environment(w, file);
    const char *peer = environment != NULL ? helper_environment_value(environment, LOCAL_PEER) : NULL;
    cleanup(mem_free_ptr) char **args = helper_check_arguments(o, file, peer);
    const struct child_options run = {.command = o->haproxy != NULL ? o->haproxy : "haproxy",
                                      .args = args,
                                      .env = environment,
                                      .max_out_bytes = LOCAL_ANSWER_MAX_BYTES,
                                      .timeout_ms = o->check_timeout_ms > 0 ? o->check_timeout_ms : CHECK_TIMEOUT_MS,
                                      .together = true};
    int ran = environment != NULL ? helper_run(w, &run) : -1;
    cleanup(mem_free_ptr) char *said = ran == 0 ? helper_check_message(&w->data, file, o->config_file) : NULL;
    buf_clear(&w->data);
    for (size_t i = 0; ran == 0 && file == o->config_file && environment[i] != NULL; i++)
        buf_addn(&w->data, environment[i], strlen(environment[i]) + 1);
    mem_wipe_free_list(environment);
    if (ran != 0)
        return -1;
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

/* The same of its addresses, where HAProxy is known to listen where the file in its place does. */
static int helper_check_listening(struct helper_work *w, const struct local_place *p, const struct local_ask *a)
{
    struct local_answer now = {0};
    if (local_file_read(p, NULL, &now.identity) == 0)
        helper_look_at_notes(w->helper, p, &now);
    char *why = now.loaded ? helper_cannot_listen(w, a->bytes, a->len) : NULL;
    if (why == NULL)
        return 0;
    free(w->message);
    w->message = why;
    w->answer.status = LOCAL_REJECTED;
    return -1;
}

/* ---- writing ---- */

static void helper_changed(struct helper_work *w, const struct local_identity *now)
{
    free(w->message);
    w->message = NULL;
    w->answer.status = LOCAL_CHANGED;
    w->answer.identity = *now;
}

/* What is about to be put in place is noted before, and not as loaded: the next run finds it, whenever this one ends. */
static void helper_swap(struct helper_work *w, const struct local_place *p, const char *temporary,
                        const struct local_identity *expected)
{
    struct helper *h = w->helper;
    struct local_place beside = *p; /* borrows */
    struct local_identity coming, now = {0};
    beside.name = (char *)(uintptr_t)temporary;
    if (local_file_read(&beside, NULL, &coming) != 0 || helper_note(h, h->lock, &coming) != 0) {
        helper_fail(w, "cannot write to the lock %s/.%s.lock which file is to be loaded: %m", p->folder_path, p->name);
        (void)helper_note(h, h->lock, NULL);
        (void)unlinkat(p->folder, temporary, 0);
        return;
    }
    enum local_swap swap = local_file_swap(p, temporary, expected);
    if (swap == LOCAL_SWAP_FAILED)
        helper_fail(w, "cannot rename to %s/%s: %m", p->folder_path, p->name);
    if (swap == LOCAL_SWAPPED_UNSYNCED)
        helper_warn_unsynced(w, p);
    helper_take_notes(h, h->lock, p); /* of which one is in its place now */
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
    if ((unchecked || (helper_check(w, path) == 0 && helper_check_listening(w, p, a) == 0)) && !validate)
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
    if ((a->flags & LOCAL_WRITE_ONLY_VALIDATE) != 0 && a->len == 0)
        (void)helper_check(w, w->helper->options->config_file);
    else if (local_file_read(&p, NULL, &now) != 0)
        helper_fail(w, "cannot read %s: %m", w->helper->options->config_file);
    else if (a->expects && !local_identity_same(&now, &a->expected))
        helper_changed(w, &now);
    else
        helper_write(w, &p, a, a->expects ? &a->expected : NULL);
}

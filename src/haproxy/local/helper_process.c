#include "haproxy/local/helper_process.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "haproxy/local/files.h"
#include "haproxy/local/helper_internal.h"
#include "haproxy/local/message.h"

#define COMMAND_TIMEOUT_MS 10000
#define RELOAD_TIMEOUT_MS 60000
#define NEW_FOLDER_MODE 0750

static int helper_serve_one(struct helper *h);
static void helper_do(struct helper_work *w, const struct local_ask *a);
static void helper_command(struct helper_work *w, const struct local_ask *a);
static void helper_reload(struct helper_work *w);
static void helper_folder_file(struct helper_work *w, const struct local_ask *a);

/* ---- one request after the other ---- */

void local_helper_serve(const struct local_helper_options *options, int socket, pid_t daemon)
{
    const char *path = getenv("PATH");
    cleanup(mem_free_ptr) char *name = mem_printf("PATH=%s", path != NULL ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
    char *const environment[] = {name, NULL};
    struct helper h = {.options = options,
                       .environment = environment,
                       .socket = socket,
                       .daemon = daemon,
                       .lock = -1,
                       .base = event_base_new()};
    if (h.base == NULL)
        abort(); /* out of memory */
    while (!h.peer_gone && helper_serve_one(&h) == 0)
        continue;
    if (h.lock >= 0)
        close(h.lock);
    event_base_free(h.base);
}

static int helper_receive(int fd, char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, bytes, len, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int helper_send(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -1;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int helper_answer(struct helper *h, const struct local_ask *a)
{
    cleanup(buf_wipe) struct buf out = {.secret = true};
    struct helper_work w = {.helper = h, .answer = {.status = LOCAL_OK}};
    buf_init_secret(&w.data, a->kind == LOCAL_KIND_READ_CONFIG || a->kind == LOCAL_KIND_READ_FILE
                                 ? LOCAL_FILE_MAX_BYTES
                                 : LOCAL_ANSWER_MAX_BYTES);
    helper_do(&w, a);
    w.answer.message = w.message != NULL ? w.message : "";
    w.answer.data = buf_str(&w.data);
    w.answer.len = w.data.len;
    int rc = local_message_put_answer(&out, &w.answer);
    rc = rc != 0 ? rc : helper_send(h->socket, out.data, out.len);
    buf_wipe(&w.data);
    mem_free_all(w.message, w.outcome_text);
    return rc;
}

static int helper_serve_one(struct helper *h)
{
    char head[LOCAL_FRAME_HEAD_BYTES];
    size_t len;
    struct local_ask a;
    if (helper_receive(h->socket, head, sizeof(head)) != 0 || local_message_length(head, &len) != 0)
        return -1;
    char *bytes = mem_alloc(len + 1);
    int rc = helper_receive(h->socket, bytes, len);
    rc = rc != 0 ? rc : local_message_get_ask(bytes, len, &a);
    rc = rc != 0 ? rc : helper_answer(h, &a);
    explicit_bzero(bytes, len);
    free(bytes);
    return rc;
}

static void helper_do(struct helper_work *w, const struct local_ask *a)
{
    switch (a->kind) {
    case LOCAL_KIND_READ_CONFIG:
        helper_config_read(w);
        return;
    case LOCAL_KIND_WRITE_CONFIG:
        helper_config_write(w, a);
        return;
    case LOCAL_KIND_LOCK_CONFIG:
        if (helper_config_lock(w) == 0)
            w->answer.pid = w->helper->daemon;
        return;
    case LOCAL_KIND_RELEASE_CONFIG:
        helper_config_release(w);
        return;
    case LOCAL_KIND_NOTE_LOADED:
        helper_config_note_loaded(w, a);
        return;
    case LOCAL_KIND_COMMAND:
        helper_command(w, a);
        return;
    case LOCAL_KIND_RELOAD:
        helper_reload(w);
        return;
    case LOCAL_KIND_PUT_FILE:
    case LOCAL_KIND_DELETE_FILE:
    case LOCAL_KIND_READ_FILE:
        helper_folder_file(w, a);
        return;
    }
}

/* ---- commands and reloads ---- */

static void helper_command(struct helper_work *w, const struct local_ask *a)
{
    const struct helper *h = w->helper;
    uint64_t timeout_ms = h->options->command_timeout_ms > 0 ? h->options->command_timeout_ms : COMMAND_TIMEOUT_MS;
    struct error err = {0};
    errno = 0;
    if (a->where > LOCAL_SOCKET_STATS || strlen(a->bytes) != a->len || a->len > LOCAL_COMMAND_MAX_BYTES) {
        helper_fail(w, "no such command");
    } else if (helper_talk(h, (enum local_socket)a->where, a->bytes, timeout_ms, &w->data, &err) != 0) {
        helper_fail(w, "%s", err.message);
    } else if (w->data.len == 0) { /* what has nothing to say is an empty line */
        errno = ECONNRESET;
        helper_fail(w, "HAProxy closed the connection without an answer");
    }
}

static void helper_reload(struct helper_work *w)
{
    const struct helper *h = w->helper;
    const char *const *command = h->options->reload_command;
    struct error err = {0};
    if (command == NULL) {
        if (helper_talk(h, LOCAL_SOCKET_MASTER, "reload", RELOAD_TIMEOUT_MS, &w->data, &err) != 0)
            helper_fail(w, "%s", err.message);
        return;
    }
    const struct child_options run = {.command = command[0],
                                      .args = (char *const *)(uintptr_t)(command + 1),
                                      .env = h->environment,
                                      .max_out_bytes = LOCAL_ANSWER_MAX_BYTES,
                                      .timeout_ms = RELOAD_TIMEOUT_MS,
                                      .together = true};
    errno = 0;
    if (helper_run(w, &run) != 0)
        return;
    errno = 0;
    if (w->outcome != CHILD_EXITED || w->exit_status != 0)
        helper_fail(w, "%s: %s%s%.1000s", run.command, w->outcome_text, w->data.len > 0 ? ": " : "", buf_str(&w->data));
    if (w->outcome == CHILD_EXITED && w->exit_status != 0)
        w->answer.status = LOCAL_REJECTED;
}

/* ---- files of folders ---- */

/* It is to be there after a machine went down. */
static int helper_make_folder(const char *folder)
{
    cleanup(local_place_fini) struct local_place above = {.folder = -1};
    cleanup(mem_free_ptr) char *path = mem_printf("%s/..", folder);
    if (mkdir(folder, NEW_FOLDER_MODE) != 0 || local_place_in_folder(&above, path, "") != 0)
        return -1;
    return fsync(above.folder);
}

static int helper_folder(struct helper_work *w, const struct local_ask *a, struct local_place *p)
{
    const char *const *folders = w->helper->options->folders;
    unsigned count = 0;
    while (folders != NULL && folders[count] != NULL)
        count++;
    *p = (struct local_place){.folder = -1};
    errno = EINVAL;
    if (a->where >= count || !local_message_name_fits(a->name)) {
        helper_fail(w, "no such file can be in a folder");
        return -1;
    }
    const char *folder = folders[a->where];
    int rc = local_place_in_folder(p, folder, a->name);
    bool makes = rc != 0 && errno == ENOENT && a->kind == LOCAL_KIND_PUT_FILE;
    if (makes && helper_make_folder(folder) == 0)
        rc = local_place_in_folder(p, folder, a->name);
    bool nothing = rc != 0 && errno == ENOENT && a->kind == LOCAL_KIND_DELETE_FILE; /* to delete */
    if (rc != 0 && !nothing)
        helper_fail(w, "cannot %s the folder %s: %m%s", makes ? "make" : "open", folder,
                    makes ? "; make it, with the right for the daemon to write there" : "");
    return rc;
}

static void helper_fail_file(struct helper_work *w, const char *doing, const struct local_place *p)
{
    if (errno == ELOOP)
        helper_fail(w, "%s/%s is a symbolic link, which is not followed: a file is to be in its place", p->folder_path,
                    p->name);
    else
        helper_fail(w, "cannot %s %s/%s: %m", doing, p->folder_path, p->name);
}

static void helper_put_file(struct helper_work *w, const struct local_place *p, const struct local_ask *a)
{
    cleanup(mem_free_ptr) char *temporary = mem_printf(".%s.new", p->name);
    const char *step;
    if (local_file_write_beside(p, temporary, a->bytes, a->len, &step) != 0) {
        helper_fail_file(w, step, p);
        return;
    }
    enum local_swap swap = local_file_swap(p, temporary, NULL);
    if (swap == LOCAL_SWAPPED_UNSYNCED)
        helper_warn_unsynced(w, p);
    if (swap == LOCAL_SWAP_FAILED)
        helper_fail_file(w, "rename to", p);
    else if (local_file_read(p, NULL, &w->answer.identity) != 0)
        helper_fail_file(w, "read again", p);
}

static void helper_folder_file(struct helper_work *w, const struct local_ask *a)
{
    cleanup(local_place_fini) struct local_place p;
    struct stat st;
    if (helper_folder(w, a, &p) != 0)
        return;
    if (a->kind == LOCAL_KIND_PUT_FILE) {
        helper_put_file(w, &p, a);
    } else if (a->kind == LOCAL_KIND_READ_FILE) {
        if (local_file_read(&p, &w->data, &w->answer.identity) != 0) {
            helper_fail_file(w, "read", &p);
            buf_clear(&w->data);
        }
    } else if (fstatat(p.folder, p.name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) {
        if (unlinkat(p.folder, p.name, 0) != 0 || fsync(p.folder) != 0)
            helper_fail_file(w, "delete", &p);
    }
}

#include "template/haproxy_check.h"

#include <dirent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"
#include "haproxy/validation_text.h"
#include "host/child.h"
#include "settings/environment.h"
#include "template/render.h"

#define SAID_MAX_BYTES (1u << 20)
#define HAPROXY_CFG "haproxy.cfg"

static const char *const names[] = {"maps", "certificates", "files"};

int haproxy_check_init(struct haproxy_check *c, struct error *err)
{
    const char *parent = getenv("TMPDIR");
    *c =
        (struct haproxy_check){.folder = mem_printf("%s/haproxy-k8s-sync.XXXXXX", str_empty(parent) ? "/tmp" : parent)};
    if (mkdtemp(c->folder) == NULL) { /* for us alone */
        (void)error_set(err, ERROR_RETRY, "cannot make a folder %s: %m", c->folder);
        free(c->folder);
        c->folder = NULL;
        return -1;
    }
    for (size_t i = 0; i < array_len(names); i++) {
        c->folders[i] = mem_printf("%s/%s/", c->folder, names[i]);
        if (mkdir(c->folders[i], 0700) != 0) {
            (void)error_set(err, ERROR_RETRY, "cannot make a folder %s: %m", c->folders[i]);
            haproxy_check_fini(c);
            return -1;
        }
    }
    return 0;
}

static int check_write(const char *path, const char *bytes, size_t len, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int rc = fd >= 0 && fd_write_all(fd, bytes, len) ? 0 : error_set(err, ERROR_RETRY, "cannot write %s: %m", path);
    if (fd >= 0)
        close(fd);
    return rc;
}

struct check_wait {
    struct event_base *base;
    struct buf said;
    enum child_outcome outcome;
    int status;
};

static void check_on_done(void *arg, const struct child_result *result)
{
    struct check_wait *w = arg;
    buf_addn(&w->said, buf_str(result->out), result->out->len);
    w->outcome = result->outcome;
    w->status = result->status;
    event_base_loopbreak(w->base);
}

/* Without the folder, which is gone when it is read. */
static char *check_shown(const char *said, const char *folder)
{
    struct buf out = {0};
    for (const char *hit; (hit = strstr(said, folder)) != NULL;) {
        buf_addn(&out, said, (size_t)(hit - said));
        said = hit + strlen(folder);
        said += *said == '/';
    }
    buf_add(&out, said);
    return buf_take(&out);
}

static int check_judge(const struct haproxy_check *c, const struct check_wait *w, const char *program,
                       struct error *err)
{
    cleanup(mem_free_ptr) char *file = mem_printf("%s/" HAPROXY_CFG, c->folder);
    cleanup(mem_free_ptr) char *text = validation_text_of_program(buf_str(&w->said), file, NULL);
    cleanup(mem_free_ptr) char *shown = check_shown(text, c->folder);
    if (w->outcome == CHILD_EXITED && w->status == 0)
        return 0;
    if (w->outcome == CHILD_EXITED && w->status == 1)
        return error_set(err, ERROR_INVALID, "haproxy -c: %s", shown);
    return error_set(err, ERROR_RETRY, "%s -c did not end as it should (%s %d): %s", program,
                     w->outcome == CHILD_EXITED     ? "exit status"
                     : w->outcome == CHILD_SIGNALED ? "signal"
                                                    : "too late or too much",
                     w->status, shown);
}

int haproxy_check_run(const struct haproxy_check *c, const struct rendered *r, const char *program,
                      char *const *environment, uint64_t timeout_ms, struct error *err)
{
    char quiet[] = "-c", file[] = "-f";
    cleanup(mem_free_ptr) char *config = mem_printf("%s/" HAPROXY_CFG, c->folder);
    cleanup(storage_files_fini) struct storage_files files = {0};
    if (rendered_files(r, NULL, &files, err) != 0 || check_write(config, r->files[0].bytes, r->files[0].len, err) != 0)
        return -1;
    for (size_t i = 0; i < files.count; i++) { /* by the names that they are stored by, which lead nowhere else */
        const struct storage_file *f = &files.list[i];
        cleanup(mem_free_ptr) char *path = mem_printf("%s%s", c->folders[f->place], f->stored);
        if (check_write(path, f->bytes, f->len, err) != 0)
            return -1;
    }
    char *const args[] = {quiet, file, config, NULL};
    const struct child_options run = {.command = program,
                                      .args = args,
                                      .env = environment,
                                      .max_out_bytes = SAID_MAX_BYTES,
                                      .timeout_ms = timeout_ms,
                                      .together = true};
    struct check_wait w = {.base = event_base_new()};
    if (w.base == NULL)
        abort(); /* out of memory */
    int rc = -1;
    if (child_start(w.base, &run, check_on_done, &w, err) != NULL) {
        event_base_dispatch(w.base);
        rc = check_judge(c, &w, program, err);
    }
    event_base_free(w.base);
    buf_fini(&w.said);
    return rc;
}

static void check_remove(const char *folder)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d != NULL)
        closedir(d);
    (void)rmdir(folder);
}

void haproxy_check_fini(struct haproxy_check *c)
{
    for (size_t i = 0; i < array_len(names); i++) {
        if (c->folders[i] != NULL)
            check_remove(c->folders[i]);
        free(c->folders[i]);
    }
    if (c->folder != NULL)
        check_remove(c->folder);
    free(c->folder);
    *c = (struct haproxy_check){0};
}

char *haproxy_check_program(char *const *environment)
{
    const char *given = environment_get(environment, "HAPROXY_BIN"), *path = environment_get(environment, "PATH");
    const char *name = str_empty(given) ? "haproxy" : given;
    cleanup(mem_free_ptr) char *all = mem_printf("%s:/usr/local/sbin:/usr/sbin:/sbin", path != NULL ? path : "");
    char *rest = all;
    for (const char *folder; strchr(name, '/') == NULL && (folder = strsep(&rest, ":")) != NULL;) {
        char *program = mem_printf("%s/%s", folder, name);
        if (folder[0] == '/' && access(program, X_OK) == 0)
            return program;
        free(program);
    }
    return mem_strdup(str_empty(given) ? NULL : given); /* one that is named and not there is an error later */
}

/* Which HAProxies run here: /proc (proc(5)), which shows as much as it is told to. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_process.h"
#include "cli/doctor_local/doctor_local_facts.h"
#include "cli/doctor_local/doctor_local_gather.h"

#define COMMAND_LINE_MAX_BYTES (1u << 20)

struct process {
    uint64_t pid, parent;
};

/* ---- files by name ---- */

static bool process_same(const struct stat *a, const char *path)
{
    struct stat b;
    return path != NULL && stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

static bool process_is_around(const struct stat *folder, const char *file)
{
    cleanup(mem_free_ptr) char *real = realpath(file, NULL);
    char *slash = real != NULL ? strrchr(real, '/') : NULL;
    if (slash == NULL || !S_ISDIR(folder->st_mode))
        return false;
    slash[slash == real] = '\0';
    return process_same(folder, real);
}

static enum local_file_is process_file_is(const char *path, const struct settings_local *l)
{
    struct stat st;
    if (str_eq(path, l->file))
        return LOCAL_FILE_OURS;
    if (stat(path, &st) != 0)
        return LOCAL_FILE_UNSEEN;
    if (process_same(&st, l->file) || process_is_around(&st, l->file))
        return LOCAL_FILE_OURS;
    for (size_t i = 0; i < l->check_files.count; i++)
        if (process_same(&st, l->check_files.list[i]))
            return LOCAL_FILE_CHECKED;
    return LOCAL_FILE_OTHER;
}

enum local_file_is *local_gather_files(const struct haproxy_command_line *line, const struct settings_local *l,
                                       const char *working_folder)
{
    enum local_file_is *is = mem_array(line->file_count + 1, sizeof(is[0]));
    const char *folder = line->folder != NULL ? line->folder : working_folder;
    for (size_t i = 0; i < line->file_count; i++) {
        bool relative = *line->files[i] != '/';
        cleanup(mem_free_ptr) char *path =
            mem_printf("%s%s%s", relative ? folder : "", relative ? "/" : "", line->files[i]);
        is[i] = process_file_is(path, l);
    }
    return is;
}

/* ---- processes ---- */

static void process_read_command(pid_t pid, struct haproxy_command_line *ret)
{
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%d/cmdline", (int)pid);
    cleanup(buf_fini) struct buf text;
    buf_init(&text, COMMAND_LINE_MAX_BYTES);
    size_t count = 0;
    if (buf_read_file(&text, path) != 0)
        buf_clear(&text);
    cleanup(mem_free_ptr) const char **words = mem_array(text.len + 1, sizeof(words[0]));
    for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1)
        words[count++] = text.data + at;
    haproxy_command_line_read(ret, words + (count > 0), count > 0 ? count - 1 : 0);
}

static char *process_folder(pid_t pid)
{
    char text[4096];
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%d/cwd", (int)pid);
    ssize_t len = readlink(path, text, sizeof(text));
    return len > 0 ? mem_strndup(text, (size_t)len) : mem_strdup("");
}

static struct process *process_list(size_t *ret_count)
{
    DIR *folder = opendir("/proc");
    struct process *list = NULL;
    const struct dirent *entry;
    *ret_count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct process p;
        if (str_parse_uint(entry->d_name, INT32_MAX, &p.pid) != 0 || !doctor_is_haproxy(p.pid, &p.parent))
            continue;
        list = mem_resize(list, *ret_count + 1, sizeof(list[0]));
        list[(*ret_count)++] = p;
    }
    if (folder != NULL)
        closedir(folder);
    return list;
}

static const struct process *process_find(const struct process *list, size_t count, uint64_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

/* The HAProxy that it belongs to: the uppermost one above it. */
static uint64_t process_top(const struct process *list, size_t count, const struct process *p)
{
    for (const struct process *up; (up = process_find(list, count, p->parent)) != NULL && up != p;)
        p = up;
    return p->pid;
}

static void process_add(struct local_instance *i, uint64_t pid)
{
    i->processes = mem_resize(i->processes, i->process_count + 1, sizeof(i->processes[0]));
    i->processes[i->process_count++] = (pid_t)pid;
    i->has_workers = i->process_count > 1;
}

void local_gather_instances(const struct settings_local *l, struct local_facts *f)
{
    size_t count;
    cleanup(mem_free_ptr) struct process *list = process_list(&count);
    for (size_t i = 0; i < count; i++) {
        struct local_instance one = {.pid = (pid_t)list[i].pid};
        if (process_top(list, count, &list[i]) != list[i].pid)
            continue;
        process_read_command(one.pid, &one.line);
        if (!one.line.runs) { /* a check, the daemon's or ours */
            haproxy_command_line_fini(&one.line);
            continue;
        }
        for (size_t k = 0; k < count; k++)
            if (process_top(list, count, &list[k]) == list[i].pid)
                process_add(&one, list[k].pid);
        cleanup(mem_free_ptr) char *folder = process_folder(one.pid);
        one.files = local_gather_files(&one.line, l, folder);
        f->instances = mem_resize(f->instances, f->instance_count + 1, sizeof(f->instances[0]));
        f->instances[f->instance_count++] = one;
    }
}

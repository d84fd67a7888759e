/* The file, whose it is, and who we are. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/helper.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_local.h"

#define RIGHTS 07777
#define LOCK_BYTES 32

/* ---- who ---- */

static char *file_user(uid_t uid)
{
    const struct passwd *p = getpwuid(uid);
    return p != NULL ? mem_strdup(p->pw_name) : mem_printf("%u", (unsigned)uid);
}

static char *file_group(gid_t gid)
{
    const struct group *g = getgrgid(gid);
    return g != NULL ? mem_strdup(g->gr_name) : mem_printf("%u", (unsigned)gid);
}

static struct local_owner file_owner(const struct stat *st)
{
    int count = getgroups(0, NULL);
    cleanup(mem_free_ptr) gid_t *groups = mem_array(count > 0 ? (size_t)count : 1, sizeof(groups[0]));
    bool ours = st->st_gid == getegid();
    count = getgroups(count, groups);
    for (int i = 0; i < count; i++)
        ours = ours || groups[i] == st->st_gid;
    return (struct local_owner){.gid = st->st_gid,
                                .mode = st->st_mode & RIGHTS,
                                .user = file_user(st->st_uid),
                                .group = file_group(st->st_gid),
                                .is_us = st->st_uid == geteuid(),
                                .is_our_group = ours};
}

static bool file_has_capability(unsigned number)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capget, &head, data) == 0 && (data[number / 32].effective & 1u << number % 32) != 0;
}

/* ---- the file ---- */

static int file_access(const char *path, int how)
{
    return faccessat(AT_FDCWD, path, how, AT_EACCESS) == 0 ? 0 : errno;
}

/* Whether another process has it, and what number it wrote there: as haproxy/local/helper_config does, without taking it. */
static void file_read_lock(struct local_file_facts *f)
{
    char text[LOCK_BYTES] = "";
    uint64_t pid = 0;
    const char *name = strrchr(f->real, '/') + 1;
    f->lock = mem_printf("%s/.%s.lock", str_eq(f->folder, "/") ? "" : f->folder, name);
    bool exists = access(f->lock, F_OK) == 0;
    int fd = exists ? open(f->lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (exists && fd < 0)
        f->lock_error = errno;
    if (fd < 0)
        return;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    f->lock_held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
    text[strcspn(text, "\n")] = '\0';
    if (len > 0 && str_parse_uint(text, INT32_MAX, &pid) == 0)
        f->lock_pid = (pid_t)pid;
    close(fd);
}

static void file_read_facts(struct local_file_facts *f)
{
    struct stat st;
    struct statx x;
    char link[4096];
    ssize_t link_len = readlink(f->path, link, sizeof(link));
    f->link = link_len > 0 ? mem_strndup(link, (size_t)link_len) : NULL;
    f->real = realpath(f->path, NULL);
    if (f->real == NULL || stat(f->real, &st) != 0) {
        f->error = errno;
        free(f->real);
        f->real = NULL;
        return;
    }
    f->is_regular = S_ISREG(st.st_mode);
    f->size = (uint64_t)st.st_size;
    f->modified_s = st.st_mtim.tv_sec;
    f->owner = file_owner(&st);
    f->read_error = file_access(f->real, R_OK);
    f->replace_error = file_access(f->real, W_OK);
    /* It lies in another file system than its folder for rename(2) then, whatever stat(2) says. */
    f->is_mount = statx(AT_FDCWD, f->real, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &x) == 0 &&
                  (x.stx_attributes & x.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
    char *slash = strrchr(f->real, '/');
    f->folder = slash == f->real ? mem_strdup("/") : mem_strndup(f->real, (size_t)(slash - f->real));
    if (stat(f->folder, &st) == 0) {
        f->folder_owner = file_owner(&st);
        f->folder_is_sticky = (st.st_mode & S_ISVTX) != 0;
        f->folder_error = file_access(f->folder, W_OK | X_OK);
    } else {
        f->folder_error = errno;
    }
    file_read_lock(f);
}

/* ---- sockets and programs ---- */

static struct local_socket_facts file_socket(const char *path)
{
    struct local_socket_facts s = {.path = path};
    struct stat st;
    if (path != NULL && stat(path, &st) != 0) {
        s.error = errno;
    } else if (path != NULL) {
        s.is_socket = S_ISSOCK(st.st_mode);
        s.owner = file_owner(&st);
    }
    return s;
}

static bool file_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && file_access(path, X_OK) == 0;
}

/* A path, or a name in PATH; NULL: there is no such program that this user may run. Allocates. */
static char *file_program(const char *name)
{
    const char *at = getenv("PATH");
    if (strchr(name, '/') != NULL)
        return file_is_program(name) ? mem_strdup(name) : NULL;
    while (at != NULL && *at != '\0') {
        size_t len = strcspn(at, ":");
        char *path = mem_printf("%.*s/%s", (int)len, at, name);
        if (len > 0 && file_is_program(path))
            return path;
        free(path);
        at += len + (at[len] == ':');
    }
    return NULL;
}

/* ---- all of it ---- */

void local_facts_read(struct local_facts *f, const struct settings_local *l)
{
    f->self = (struct local_self){.user = file_user(geteuid()),
                                  .group = file_group(getegid()),
                                  .may_give_files = file_has_capability(CAP_CHOWN),
                                  .is_over_stickies = file_has_capability(CAP_FOWNER)};
    f->file.path = l->file;
    file_read_facts(&f->file);
    if (f->file.is_regular && f->file.read_error == 0) {
        cleanup(buf_wipe) struct buf text;
        buf_init_secret(&text, LOCAL_FILE_MAX_BYTES);
        if (buf_read_file(&text, f->file.real) == 0)
            local_global_read(buf_str(&text), text.len, &f->global);
    }
    f->master = file_socket(l->master_socket);
    f->stats = file_socket(l->stats_socket);
    f->program = file_program(l->program);
    if (l->reload_command != NULL) {
        const char *word = l->reload_command + strspn(l->reload_command, " \t");
        cleanup(mem_free_ptr) char *name = mem_strndup(word, strcspn(word, " \t"));
        f->reload_program = file_program(name);
    }
}

static void facts_free_owner(struct local_owner *o)
{
    mem_free_all(o->user, o->group);
}

static void facts_free_socket(struct local_socket_facts *s)
{
    facts_free_owner(&s->owner);
    mem_free_all(s->problem, s->level);
}

static void facts_free_list(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void local_facts_fini(struct local_facts *f)
{
    char *const texts[] = {f->self.user,     f->self.group,    f->file.real,     f->file.link,   f->file.folder,
                           f->file.lock,     f->global.chroot, f->program,       f->version.out, f->version.problem,
                           f->check.problem, f->check.out,     f->reload_program};
    for (size_t i = 0; i < array_len(texts); i++)
        free(texts[i]);
    facts_free_owner(&f->file.owner);
    facts_free_owner(&f->file.folder_owner);
    facts_free_list(f->global.sockets, f->global.socket_count);
    facts_free_list(f->global.variables, f->global.variable_count);
    buf_wipe(&f->environment);
    buf_wipe(&f->shown_environment);
    facts_free_socket(&f->master);
    facts_free_socket(&f->stats);
    cli_processes_fini(&f->processes);
    *f = (struct local_facts){0};
}

/* ---- what haproxy.cfg says ---- */

static void file_take_line(const struct cfg_line *l, struct local_global *g)
{
    if (str_eq(cfg_word(l, 0), "chroot") && *cfg_word(l, 1) != '\0') {
        free(g->chroot);
        g->chroot = mem_strdup(cfg_word(l, 1));
    }
    const char *address = cfg_word(l, 2);
    if (!str_eq(cfg_word(l, 0), "stats") || !str_eq(cfg_word(l, 1), "socket"))
        return;
    if (str_has_prefix(address, "unix@"))
        address += strlen("unix@");
    if (*address != '/')
        return;
    g->sockets = mem_resize(g->sockets, g->socket_count + 1, sizeof(g->sockets[0]));
    g->sockets[g->socket_count++] = mem_strdup(address);
}

static size_t file_find_variable(const struct local_global *g, const char *name, size_t len)
{
    size_t i = 0;
    while (i < g->variable_count && (strlen(g->variables[i]) != len || strncmp(g->variables[i], name, len) != 0))
        i++;
    return i;
}

static void file_take_variable(struct local_global *g, const char *name)
{
    size_t len = 0;
    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    if (len == 0 || file_find_variable(g, name, len) < g->variable_count)
        return;
    g->variables = mem_resize(g->variables, g->variable_count + 1, sizeof(g->variables[0]));
    g->variables[g->variable_count++] = mem_strndup(name, len);
}

/* The variables of the environment that a line uses: "$NAME", "${NAME}", and defined(NAME) of a conditional. */
static void file_take_variables(const struct cfg_file_line *line, struct local_global *g)
{
    const char *end = line->text + line->len;
    bool conditional = line->len > 0 && line->text[strspn(line->text, " \t")] == '.', single = false, quoted = false;
    for (const char *at = line->text; at < end; at++) {
        quoted = quoted != (*at == '"' && !single);
        single = single != (*at == '\'' && !quoted);
        if (*at == '\\' && !single)
            at++;
        else if (*at == '$' && quoted)
            file_take_variable(g, at + 1 + (at[1] == '{'));
        else if (conditional && !single && str_has_prefix(at, "defined("))
            file_take_variable(g, at + strlen("defined("));
        else if (*at == '#' && !single && !quoted)
            return;
    }
}

void local_global_read(const char *text, size_t len, struct local_global *ret)
{
    struct cfg_file f;
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_file_parse(&f, text, len);
    cfg_line_init(&words);
    for (size_t i = 0; i < f.section_count; i++) {
        const struct cfg_file_section *s = &f.sections[i];
        for (size_t k = 0; str_eq(s->kind, "global") && k < s->line_count; k++) {
            cfg_line_split(&words, s->lines[k].text, s->lines[k].len);
            file_take_line(&words, ret);
        }
    }
    for (size_t i = 0; i < f.line_count; i++)
        file_take_variables(&f.lines[i], ret);
    for (size_t i = 0; i < f.line_count; i++) {
        cfg_line_split(&words, f.lines[i].text, f.lines[i].len);
        if (!str_eq(cfg_word(&words, 0), "setenv") && !str_eq(cfg_word(&words, 0), "presetenv"))
            continue;
        size_t own = file_find_variable(ret, cfg_word(&words, 1), strlen(cfg_word(&words, 1)));
        if (own == ret->variable_count)
            continue;
        free(ret->variables[own]);
        ret->variables[own] = ret->variables[--ret->variable_count];
    }
    cfg_file_fini(&f);
}

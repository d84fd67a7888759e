/* From what is known of a HAProxy on this machine to the checks of its section: each is a table of what may be found. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/helper.h"
#include "haproxy/runtime.h"
#include "haproxy/validation_text.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_local.h"
#include "cli/doctor/doctor_report.h"
#include "daemon/inspect/inspect_report.h"

#define OLDEST_MAJOR 2
#define OLDEST_MINOR 6
#define NAMES_SHOWN 10
#define OLD_WORKERS_MANY 5
#define USUAL_MASTER_SOCKET "/run/haproxy-master.sock"
#define USUAL_STATS_SOCKET "/run/haproxy/admin.sock"

/* ---- haproxy.cfg ---- */

#define FIX_ONE_FILE \
    "fix set HAPROXY_CONFIG_FILE to the one file that the daemon manages; list further ones in HAPROXY_CHECK_FILES"

static void judge_file(const struct local_file_facts *f, const char *user, struct doctor_section *s)
{
    bool found = f->real != NULL;
    doctor_word(s, "remedy",
                f->error == EACCES ? "let user %s enter each of its folders (x)"
                                   : "create it, readable and writable for user %s",
                user);
    const struct doctor_row rows[] = {
        {!found, CHECK_FAIL,
         "{file}: {error}\n"
         "why the daemon manages this file; nothing is written without it\n"
         "fix {remedy}"},
        {!f->is_regular, CHECK_FAIL, "{file} is no file\n" FIX_ONE_FILE},
        {f->size > LOCAL_FILE_MAX_BYTES, CHECK_FAIL, "{size} bytes; at most {max-size} are supported\n" FIX_ONE_FILE},
        {f->read_error != 0, CHECK_FAIL,
         "user {user} may not read {file} ({owner})\n"
         "fix as root:\n  chown {user} {file}"},
        {f->link != NULL, CHECK_OK, "a link to {file}, which is followed and stays: {size} bytes, {owner}"},
        {true, CHECK_OK, "{size} bytes, {owner}"},
    };
    doctor_first(s, "haproxy.config", "haproxy.cfg", rows);
}

/* Whether it can be replaced: the new file gets what the old one has, or there is no new one. */
static void judge_write(const struct local_facts *f, struct doctor_section *s)
{
    static const char id[] = "haproxy.write", label[] = "write";
    const struct local_file_facts *file = &f->file;
    const struct local_owner *o = &file->owner;
    int closed = file->folder_error;
    bool gives = f->self.may_give_files || closed != 0;
    const struct doctor_row rows[] = {
        {closed == EROFS, CHECK_FAIL,
         "{folder} is read-only for this process\n"
         "why {writes}\n"
         "fix under systemd, in the daemon's unit (systemctl edit haproxy-k8s-sync):\n  [Service]\n"
         "  ReadWritePaths={folder}\n"
         "or in a pod, mount the volume that has haproxy.cfg without readOnly, and into both containers; a ConfigMap "
         "cannot be written to"},
        {closed == EPERM, CHECK_FAIL,
         "{folder} has the attribute \"immutable\"\n"
         "why {writes}\n"
         "fix as root:\n  chattr -i {folder}"},
        /* Never HAProxy's own group: its workers would write what its master runs. */
        {closed == EACCES, CHECK_FAIL,
         "user {user} may not make a file in {folder} ({folder-owner})\n"
         "why {writes}\n"
         "fix as root, let its group write there:\n  chgrp {group} {folder}\n  chmod g+wx {folder}"},
        {closed != 0 && closed != EROFS && closed != EPERM && closed != EACCES, CHECK_FAIL,
         "{folder}: {folder-error}\n"
         "why {writes}"},
        {file->is_mount, CHECK_FAIL,
         "{file} is mounted by itself: no file can be renamed to it\n"
         "why each change is a new file that is renamed to this one; a bind mount of one file, or subPath of a pod's "
         "volume, would keep the old one\n"
         "fix mount the folder that it is in, not the file, and into HAProxy's container, too"},
        {file->replace_error == EPERM, CHECK_FAIL,
         "{file} has the attribute \"immutable\"\n"
         "fix as root:\n  chattr -i {file}"},
        {file->folder_is_sticky && !o->is_us && !file->folder_owner.is_us && !f->self.is_over_stickies, CHECK_FAIL,
         "{folder} is sticky (mode {folder-mode}), and haproxy.cfg in it belongs to {file-user}\n"
         "why in such a folder only the owner of a file may replace it\n"
         "fix as root:\n  chmod -t {folder}"},
        {!gives && !o->is_us, CHECK_FAIL,
         "{file} belongs to user {file-user}, and only root could give a new file to it\n"
         "why a change keeps owner, group and mode of haproxy.cfg, or it is not made\n"
         "fix as root:\n  chown {user} {file}"},
        {!gives && !o->is_our_group, CHECK_FAIL,
         "{file} is of group {file-group}, which user {user} is not in\n"
         "why a change keeps owner, group and mode of haproxy.cfg, or it is not made\n"
         "fix under systemd, in the daemon's unit (systemctl edit haproxy-k8s-sync):\n  [Service]\n"
         "  SupplementaryGroups={file-group}\n"
         "or as root:\n  chgrp {group} {file}"},
    };
    doctor_set(s, "writes", "each change is written to a file beside haproxy.cfg, which is then renamed to it");
    if (file->real == NULL || !file->is_regular)
        doctor_skip(s, id, label, "needs haproxy.cfg, see above");
    else if (doctor_each(s, id, label, rows) == 0)
        doctor_say(s, CHECK_OK, id, label, "user {user} may replace it in {folder}; owner, group and mode are kept");
}

static void judge_config(const struct local_facts *f, struct doctor_section *s)
{
    const struct local_file_facts *file = &f->file;
    const struct local_owner *o = &file->owner, *folder = &file->folder_owner;
    char words[128];
    const char *place = file->real != NULL ? file->real : file->path;
    doctor_word(s, "file", "%s%s", file->real == NULL && file->link != NULL ? "is a link to " : "",
                file->real == NULL && file->link != NULL ? file->link : place);
    doctor_set(s, "error", strerror_r(file->error, words, sizeof(words)));
    doctor_set(s, "folder-error", strerror_r(file->folder_error, words, sizeof(words)));
    doctor_set(s, "lock-error", strerror_r(file->lock_error, words, sizeof(words)));
    doctor_word(s, "size", "%" PRIu64, file->size);
    doctor_word(s, "max-size", "%zu", (size_t)LOCAL_FILE_MAX_BYTES);
    doctor_word(s, "owner", "%s:%s, mode %04o", o->user != NULL ? o->user : "", o->group != NULL ? o->group : "",
                o->mode);
    doctor_sets(s, {"file-user", o->user}, {"file-group", o->group}, {"folder", file->folder});
    doctor_word(s, "folder-owner", "%s:%s, mode %04o", folder->user != NULL ? folder->user : "",
                folder->group != NULL ? folder->group : "", folder->mode);
    doctor_word(s, "folder-mode", "%04o", folder->mode);
    doctor_set(s, "lock", file->lock);
    doctor_word(s, "lock-pid", "%d", (int)file->lock_pid);
    judge_file(file, f->self.user, s);
    judge_write(f, s);
    /* One daemon for each file. */
    const struct doctor_row rows[] = {
        {file->lock_error != 0, CHECK_FAIL,
         "user {user} cannot open the lock {lock}: {lock-error}\n"
         "why a daemon of another user left it; without the lock nothing is written\n"
         "fix as root, while no daemon runs:\n  rm {lock}"},
        {file->lock_held && file->lock_pid > 0, CHECK_OK,
         "process {lock-pid} manages this file; a second daemon would wait until it ends"},
        {file->lock_held, CHECK_OK, "a daemon manages this file; a second one would wait until it ends"},
        {true, CHECK_OK, "no daemon manages this file now"},
    };
    if (file->real != NULL)
        doctor_first(s, "haproxy.lock", "one daemon", rows);
}

/* ---- the program, and what it says of the file ---- */

bool local_version_read(const char *said, struct local_version *ret)
{
    static const char *const starts[] = {"HAProxy version ", "HA-Proxy version "};
    for (size_t i = 0; i < array_len(starts); i++) {
        const char *at = str_has_prefix(said, starts[i]) ? said + strlen(starts[i]) : said;
        uint64_t major, minor;
        size_t first = strspn(at, "0123456789"), second = at[first] == '.' ? strspn(at + first + 1, "0123456789") : 0;
        cleanup(mem_free_ptr) char *one = mem_strndup(at, first);
        cleanup(mem_free_ptr) char *two = mem_strndup(at[first] == '.' ? at + first + 1 : "", second);
        if (at == said || str_parse_uint(one, 1000, &major) != 0 || str_parse_uint(two, 1000, &minor) != 0)
            continue;
        *ret = (struct local_version){.major = (unsigned)major, .minor = (unsigned)minor};
        snprintf(ret->text, sizeof(ret->text), "%.*s", (int)strcspn(at, " \n"), at);
        return true;
    }
    return false;
}

bool local_version_is_old(const struct local_version *v)
{
    return v->major < OLDEST_MAJOR || (v->major == OLDEST_MAJOR && v->minor < OLDEST_MINOR);
}

static void judge_program(const struct local_facts *f, const struct settings *settings, struct doctor_section *s)
{
    struct local_version v = {0};
    bool is_one = local_version_read(f->version.out != NULL ? f->version.out : "", &v);
    doctor_set(s, "problem", f->version.problem);
    if (f->program == NULL)
        doctor_word(s, "problem", "%s: no such program that user %s may run", settings->local.program, f->self.user);
    doctor_set(s, "version", v.text);
    const struct doctor_row rows[] = {
        {f->program == NULL || f->version.problem != NULL, CHECK_FAIL,
         "{problem}\n"
         "why each change is checked by it (haproxy -c) before it is written\n"
         "fix name the one that runs here:\n  HAPROXY_BIN=/usr/sbin/haproxy\n"
         "or in a pod beside HAProxy, use an image that has the same HAProxy in it"},
        {!is_one, CHECK_FAIL,
         "{program} -v does not answer as a HAProxy does\n"
         "fix name the one that runs here:\n  HAPROXY_BIN=/usr/sbin/haproxy"},
        {local_version_is_old(&v), CHECK_FAIL,
         "{program} is HAProxy {version}; 2.6 or later is needed\n"
         "why before it, servers cannot be added and removed while it runs\n"
         "fix upgrade HAProxy"},
        {true, CHECK_OK, "{program} is HAProxy {version}"},
    };
    doctor_first(s, "haproxy.program", "program", rows);
}

static void judge_check(const struct local_facts *f, const struct settings *settings, struct doctor_section *s)
{
    const struct local_run *r = &f->check;
    cleanup(mem_free_ptr) char *refusal =
        r->refused ? validation_text_of_program(r->out, settings->local.file, NULL) : NULL;
    doctor_word(s, "problem", "%s%s", r->problem != NULL ? "" : "refuses the file: ",
                r->problem != NULL ? r->problem
                : refusal != NULL  ? refusal
                                   : "");
    doctor_word(s, "took", "%.1f ms", (double)r->took_us / 1000.0);
    const struct doctor_row rows[] = {
        {!r->asked && f->program == NULL, CHECK_SKIP, "needs HAPROXY_BIN"},
        {!r->asked, CHECK_SKIP, "needs haproxy.cfg"},
        {r->problem == NULL && !r->refused, CHECK_OK, "takes the file as it is, {took}"},
        {true, CHECK_FAIL,
         "{problem}\n"
         "why each change is checked with the rest of the file, as user {user}: until this works, none is written\n"
         "fix see its whole output:\n  {program} -c{files}"},
    };
    doctor_first(s, "haproxy.check", "haproxy -c", rows);
}

/* Those that `haproxy -c` has by itself. */
static bool environment_is_haproxys(const char *name)
{
    static const char *const own[] = {"HAPROXY_BRANCH",         "HAPROXY_CFGFILES",   "HAPROXY_CLI",
                                      "HAPROXY_LOCALPEER",      "HAPROXY_MASTER_CLI", "HAPROXY_MWORKER",
                                      "HAPROXY_STARTUP_VERSION"};
    const char *end = str_has_prefix(name, "HAPROXY_") ? strstr(name, "_LOG_FMT") : NULL;
    return (end != NULL && str_eq(end, "_LOG_FMT")) || cfg_is_among(name, own, array_len(own));
}

/* What stands behind "NAME=" of a line, or a string, of that text; *ret_len bytes. NULL: nothing. */
static const char *environment_value(const struct buf *text, const char *name, char between, size_t *ret_len)
{
    size_t len = strlen(name);
    for (const char *at = text->data, *end = at + text->len, *next; at != NULL && at < end; at = next + 1) {
        next = memchr(at, between, (size_t)(end - at));
        next = next != NULL ? next : end;
        if ((size_t)(next - at) > len && memcmp(at, name, len) == 0 && at[len] == '=') {
            *ret_len = (size_t)(next - at) - len - 1;
            return at + len + 1;
        }
    }
    return NULL;
}

/* The variables of haproxy.cfg that the check does not have as HAProxy has them; where HAProxy's are not known: that it
 * does not have at all. NULL: none. Allocates. */
static char *environment_differs(const struct local_facts *f)
{
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < f->global.variable_count; i++) {
        const char *name = f->global.variables[i];
        size_t len = 0, shown_len = 0;
        const char *value = environment_value(&f->environment, name, '\0', &len);
        const char *shown = environment_value(&f->shown_environment, name, '\n', &shown_len);
        bool same = f->shows_environment ? (value != NULL) == (shown != NULL) &&
                                               (value == NULL || (len == shown_len && memcmp(value, shown, len) == 0))
                                         : value != NULL;
        if (!same && !environment_is_haproxys(name) && text_list_next(&names))
            buf_add(&names.text, name);
    }
    return text_list_take(&names);
}

static void judge_environment(const struct local_facts *f, const struct settings *settings, struct doctor_section *s)
{
    const char *file = settings->local.environment_file;
    bool shown = f->shows_environment;
    cleanup(mem_free_ptr) char *names = shown && file == NULL ? NULL : environment_differs(f);
    doctor_sets(
        s, {"names", names}, {"environment-file", file},
        {"means",
         "haproxy.cfg means to the check what it does not mean to HAProxy: what HAProxy refuses may be written"});
    doctor_word(s, "environment", "of haproxy -c: %s%s%s",
                file != NULL ? "that of "
                : shown      ? "HAProxy's own (show env, by "
                             : "none but PATH, as no socket shows HAProxy's",
                file != NULL                     ? file
                : shown && f->stats.path != NULL ? f->stats.path
                : shown                          ? "the master's socket"
                                                 : "",
                file == NULL && shown ? ")" : "");
    const struct doctor_row rows[] = {
        {f->environment.len == 0, CHECK_SKIP, "needs haproxy -c, see above"},
        {names == NULL, CHECK_OK, "{environment}"},
        {shown, CHECK_WARN,
         "{environment}; HAProxy has other values of {names}\n"
         "why {means}\n"
         "fix let HAProxy be asked for its own:\n  HAPROXY_ENVIRONMENT_FILE="},
        {file != NULL, CHECK_WARN,
         "{environment}; haproxy.cfg uses, and it has not {names}\n"
         "why {means}\n"
         "fix add them to {environment-file} as HAProxy has them"},
        {true, CHECK_WARN,
         "{environment}; haproxy.cfg uses, and it has not {names}\n"
         "why {means}\n"
         "fix name a file that has them, or let a socket of level admin show them:\n"
         "  HAPROXY_ENVIRONMENT_FILE=/etc/default/haproxy"},
    };
    doctor_first(s, "haproxy.environment", "environment", rows);
}

/* ---- the process ---- */

static bool socket_is_forbidden(const struct local_socket_facts *k)
{
    return k->error == EACCES || (k->error == 0 && k->is_socket && (k->ask_error == EACCES || k->ask_error == EPERM));
}

static void judge_process(const struct local_facts *f, int64_t now_s, struct doctor_section *s)
{
    struct local_version program, v;
    cleanup(mem_free_ptr) char *said = mem_printf("HAProxy version %s", f->info.version);
    bool old = local_version_read(said, &v) && local_version_is_old(&v);
    bool upgraded = f->version.out != NULL && local_version_read(f->version.out, &program) &&
                    !str_eq(program.text, f->info.version);
    bool newer = f->file.real != NULL && f->info.uptime_s >= 0 && f->file.modified_s > now_s - f->info.uptime_s + 1;
    int64_t age = f->info.uptime_s > 0 ? f->info.uptime_s : 0;
    bool master_shows = f->master.answered && f->processes.worker_pid > 0;
    const struct local_socket_facts *closed = socket_is_forbidden(&f->stats)    ? &f->stats
                                              : socket_is_forbidden(&f->master) ? &f->master
                                                                                : NULL;
    doctor_set(s, "running", f->info.version);
    doctor_word(s, "pid", "%d", (int)(f->has_info ? f->info.pid : f->processes.worker_pid));
    doctor_set(s, "closed", closed != NULL ? closed->path : NULL);
    if (age < 3600)
        doctor_word(s, "age", "%" PRId64 "%s", age < 60 ? age : age / 60, age < 60 ? "s" : "m");
    else if (age < 86400)
        doctor_word(s, "age", "%" PRId64 "h%" PRId64 "m", age / 3600, age / 60 % 60);
    else
        doctor_word(s, "age", "%" PRId64 "d%" PRId64 "h", age / 86400, age / 3600 % 24);
    const struct doctor_row rows[] = {
        {!f->has_info && !f->stats.asked && f->master.path == NULL, CHECK_SKIP,
         "needs HAPROXY_MASTER_SOCKET or HAPROXY_STATS_SOCKET"},
        {!f->has_info && master_shows, CHECK_OK,
         "runs, process {pid}, as its master says; its version is unknown, see runtime"},
        {!f->has_info && closed != NULL, CHECK_SKIP, "not known: user {user} may not connect to {closed}, see below"},
        {!f->has_info, CHECK_FAIL,
         "no HAProxy answers at a socket that is set\n"
         "why it does not run, runs with other sockets, or in a container whose sockets are not shared\n"
         "fix start it:\n  haproxy -W -S {master}{files}\n"
         "or under systemd, start it, and see why it ended:\n  systemctl start haproxy\n  systemctl status haproxy"},
        {old, CHECK_FAIL,
         "{running} runs, process {pid}; 2.6 or later is needed\n"
         "why before it, servers cannot be added and removed while it runs\n"
         "fix upgrade HAProxy"},
        {upgraded, CHECK_WARN,
         "{running} runs, process {pid}; HAPROXY_BIN is {version}\n"
         "why changes are checked by another HAProxy than the one that runs: after an upgrade the old one runs until "
         "it is restarted\n"
         "fix as root; a restart ends open connections:\n  systemctl restart haproxy"},
        {newer, CHECK_OK, "{running} runs, process {pid}, for {age}; haproxy.cfg was written since"},
        {true, CHECK_OK, "{running} runs, process {pid}, for {age}"},
    };
    doctor_first(s, "haproxy.running", "HAProxy", rows);
}

/* ---- its sockets ---- */

/* Why that socket does not answer. Allocates. */
static char *socket_problem(const struct local_socket_facts *k, const char *setting, const char *user)
{
    if (k->error == ENOENT || k->error == ENOTDIR)
        return mem_printf("there is no %s (%s)", k->path, setting);
    if (k->error == EACCES)
        return mem_printf("user %s may not enter the folder of %s", user, k->path);
    if (k->error == 0 && !k->is_socket)
        return mem_printf("%s is no socket (%s)", k->path, setting);
    if (k->ask_error == EACCES || k->ask_error == EPERM)
        return mem_printf("user %s may not connect to %s (%s:%s, mode %04o)", user, k->path, k->owner.user,
                          k->owner.group, k->owner.mode);
    if (k->ask_error == ECONNREFUSED)
        return mem_printf("no process listens at %s any more (%s)", k->path, setting);
    return mem_printf("%s: %s", k->path, k->problem != NULL ? k->problem : "not asked");
}

#define FIX_START                                                                               \
    "\nfix start HAProxy with it:\n"                                                            \
    "  haproxy -W -S {master}{master-options}{files}\n"                                         \
    "or under systemd, in HAProxy's unit (systemctl edit haproxy), beside its other options:\n" \
    "  [Service]\n"                                                                             \
    "  Environment=\"EXTRAOPTS=-S {master}{master-options}\"\n"                                 \
    "and then, as root; a restart ends open connections:\n"                                     \
    "  systemctl restart haproxy"

static void judge_master(const struct local_facts *f, struct doctor_section *s)
{
    const struct local_socket_facts *m = &f->master;
    const struct cli_processes *p = &f->processes;
    bool forbidden = socket_is_forbidden(m);
    const char *group = m->owner.group != NULL && m->owner.gid != 0 ? m->owner.group : "haproxy";
    cleanup(mem_free_ptr) char *problem =
        m->path != NULL && !m->answered ? socket_problem(m, "HAPROXY_MASTER_SOCKET", f->self.user) : NULL;
    doctor_set(s, "problem", problem);
    doctor_set_if(s, "master-options", ",mode,660,group,", forbidden ? group : NULL, "");
    doctor_set(s, "master-group", group);
    doctor_word(s, "master-pid", "%d", (int)p->master_pid);
    doctor_word(s, "worker-pid", "%d", (int)p->worker_pid);
    doctor_word(s, "old-workers", "%u", p->old_workers);
    const struct doctor_row rows[] = {
        {m->path == NULL && f->has_no_master, CHECK_FAIL,
         "process {pid} runs without a master\n"
         "why without a master, a reload is a restart that cuts every open connection" FIX_START},
        {m->path == NULL, CHECK_OK, "HAPROXY_MASTER_SOCKET is not set: HAPROXY_RELOAD_COMMAND reloads"},
        {m->answered && p->worker_pid == 0, CHECK_FAIL,
         "master {master-pid} has no worker\n"
         "why no process takes connections: the last start or reload failed\n"
         "fix see its log:\n  journalctl -u haproxy -n 50"},
        {m->answered && p->old_workers > OLD_WORKERS_MANY, CHECK_WARN,
         "master {master-pid}, worker {worker-pid}, and {old-workers} old workers\n"
         "why they stay until their last connection ends, and take memory\n"
         "fix in haproxy.cfg:\n  global\n    hard-stop-after 30m"},
        {m->answered && p->old_workers > 0, CHECK_OK,
         "master {master-pid}, worker {worker-pid}, {old-workers} old; open connections finish in the old worker after "
         "a reload"},
        {m->answered, CHECK_OK,
         "master {master-pid}, worker {worker-pid}; open connections finish in the old worker after a reload"},
        /* HAProxy 3 refuses to say more. */
        {str_eq(m->level, "user"), CHECK_FAIL,
         "{master} has level user, which may not ask\n"
         "why through this socket the daemon reloads HAProxy and reads the result" FIX_START},
        {forbidden, CHECK_FAIL,
         "{problem}\n"
         "why the socket belongs to the user that started HAProxy, unless -S sets another one" FIX_START "\n"
         "and in the daemon's unit (systemctl edit haproxy-k8s-sync):\n  [Service]\n"
         "  SupplementaryGroups={master-group}"},
        {f->has_no_master, CHECK_FAIL,
         "{problem}\n"
         "why process {pid} runs without a master (no -W): there a reload is a restart that cuts every open "
         "connection" FIX_START},
        {true, CHECK_FAIL,
         "{problem}\n"
         "why through this socket the daemon reloads HAProxy and reads the result" FIX_START},
    };
    doctor_first(s, "haproxy.master-worker", "master-worker", rows);
}

static void judge_reload(const struct local_facts *f, const struct settings *settings, struct doctor_section *s)
{
    const struct settings_local *l = &settings->local;
    const struct cli_processes *p = &f->processes;
    bool by_command = l->reload_command != NULL;
    doctor_set(s, "command", l->reload_command);
    doctor_word(s, "failed-reloads", "%u", p->failed_reloads);
    doctor_word(s, "reloads", "%u", p->reloads);
    const struct doctor_row rows[] = {
        {by_command && f->reload_program == NULL, CHECK_FAIL,
         "{command}: no such program that user {user} may run\n"
         "fix name one by its path:\n  HAPROXY_RELOAD_COMMAND=/usr/bin/systemctl reload haproxy"},
        {!by_command && !f->has_processes, CHECK_SKIP, "needs the master's socket, see above"},
        {f->has_processes && p->failed_reloads > 0, CHECK_FAIL,
         "the last one failed, {failed-reloads} in a row\n"
         "why HAProxy keeps what it ran before; what the file has is not what runs\n"
         "fix see why:\n  journalctl -u haproxy -n 50"},
        {!by_command && str_eq(f->master.level, "user"), CHECK_FAIL,
         "the master's socket has level user, which refuses a reload" FIX_START},
        {by_command, CHECK_OK, "by {command}"},
        {p->reloads > 0, CHECK_OK, "by the master's socket; {reloads} so far, the last one succeeded"},
        {true, CHECK_OK, "by the master's socket; {reloads} so far"},
    };
    doctor_first(s, "haproxy.reload", "reload", rows);
}

static void judge_stats(const struct local_facts *f, const struct settings *settings, struct doctor_section *s)
{
    const struct local_socket_facts *k = &f->stats;
    bool through_master = k->path == NULL, low = k->level != NULL && !str_eq(k->level, "admin");
    bool foreign = k->answered && f->has_processes;
    for (size_t i = 0; i < f->processes.count; i++)
        foreign = foreign && f->processes.processes[i].pid != (pid_t)f->info.pid;
    cleanup(mem_free_ptr) char *problem =
        through_master ? mem_strdup(k->problem) : socket_problem(k, "HAPROXY_STATS_SOCKET", f->self.user);
    doctor_sets(s, {"problem", problem}, {"by", through_master ? "the master's socket" : k->path},
                {"level", k->level != NULL ? k->level : "unknown"});
    const struct doctor_row rows[] = {
        {!k->asked, CHECK_SKIP, "needs the master's socket, see above, or HAPROXY_STATS_SOCKET"},
        {!k->answered && through_master, CHECK_FAIL,
         "no worker answers through the master's socket: {problem}\n"
         "fix see its log:\n  journalctl -u haproxy -n 50"},
        {!k->answered, CHECK_FAIL,
         "{problem}\n"
         "why without it, the daemon cannot see what runs, and each change takes a reload"},
        {foreign, CHECK_FAIL,
         "{by} belongs to process {pid}, which is no worker of master {master-pid}\n"
         "why the two sockets belong to two HAProxies: one is reloaded, the other one gets the runtime commands"},
        {low && through_master, CHECK_WARN,
         "{by} has level {level}\n"
         "why changes of servers need level admin; without, each takes a reload" FIX_START},
        {low, CHECK_WARN,
         "{by} has level {level}\n"
         "why changes of servers need level admin; without, each takes a reload"},
        {true, CHECK_OK, "{by} answers, level {level}: changes of servers need no reload"},
    };
    doctor_first(s, "haproxy.runtime", "runtime", rows);
    if (k->asked && (foreign || (!through_master && (!k->answered || low)))) {
        const char *set = settings->local.stats_socket;
        bool forbidden = !f->stats.answered && socket_is_forbidden(&f->stats);
        for (size_t i = 0; !forbidden && i < f->global.socket_count; i++)
            if (!str_eq(f->global.sockets[i], set)) {
                doctor_set(s, "other", f->global.sockets[i]);
                doctor_help(s, "or name one that haproxy.cfg has:\n  HAPROXY_STATS_SOCKET={other}");
            }
        doctor_set(s, "stats-group", forbidden ? " group haproxy" : "");
        doctor_help(s, "or in haproxy.cfg, then restart HAProxy:\n  global\n"
                       "    stats socket {stats} mode 660{stats-group} level admin expose-fd listeners");
        if (f->has_processes && set != NULL)
            doctor_help(s, "or go through the master's socket:\n  HAPROXY_STATS_SOCKET=");
    }
}

/* ---- what runs is the file ---- */

static void judge_drift(const struct settings *settings, const struct inspect_target *t, struct doctor_section *s)
{
    const struct inspect_backend *absent = NULL;
    for (size_t i = 0; i < settings->mapping_count && absent == NULL; i++)
        if (t->backends[i].seen && t->backends[i].actual.exists && !t->backends[i].runtime.readable)
            absent = &t->backends[i];
    doctor_sets(
        s, {"backend", absent != NULL ? absent->of->backend : NULL},
        {"problem", absent == NULL                ? NULL
                    : absent->runtime.why != NULL ? absent->runtime.why
                                                  : "no reason given"},
        {"drift", t->drift},
        {"cause", "the file was written and not loaded, or a server was changed by hand; the daemon would reload"});
    const struct doctor_row rows[] = {
        {absent != NULL, CHECK_WARN,
         "backend {backend} is in haproxy.cfg, and not in what runs: {problem}\n"
         "why {cause}"},
        {t->drift != NULL, CHECK_WARN,
         "running HAProxy differs from haproxy.cfg: {drift}\n"
         "why {cause}"},
    };
    doctor_first(s, "haproxy.drift", "drift", rows);
}

/* ---- all of it ---- */

void local_judge(const struct local_facts *f, const struct settings *settings, const struct inspect_target *target,
                 int64_t now_s, struct doctor_section *s)
{
    const struct settings_local *l = &settings->local;
    struct buf line = {0}; /* as the options of `haproxy -c` */
    bool listed = false;
    for (size_t i = 0; i < l->check_files.count; i++) {
        buf_printf(&line, " -f %s", l->check_files.list[i]);
        listed = listed || str_eq(l->check_files.list[i], l->file);
    }
    if (!listed)
        buf_printf(&line, " -f %s", l->file);
    cleanup(mem_free_ptr) char *files = buf_take(&line);
    doctor_sets(s, {"user", f->self.user}, {"group", f->self.group}, {"program", f->program}, {"files", files},
                {"master", l->master_socket != NULL ? l->master_socket : USUAL_MASTER_SOCKET},
                {"stats", l->stats_socket != NULL ? l->stats_socket : USUAL_STATS_SOCKET});
    judge_config(f, s);
    judge_program(f, settings, s);
    judge_check(f, settings, s);
    judge_environment(f, settings, s);
    judge_process(f, now_s, s);
    judge_master(f, s);
    judge_reload(f, settings, s);
    judge_stats(f, settings, s);
    if (target != NULL && f->has_info)
        judge_drift(settings, target, s);
    if (f->global.chroot != NULL)
        doctor_ok(s, "haproxy.chroot", "chroot",
                  "%s: sockets, maps and certificates are opened before it, by their paths outside", f->global.chroot);
}

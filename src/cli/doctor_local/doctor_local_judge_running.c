/* Who runs, and whether it answers. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/runtime.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor_local/doctor_local_judge.h"
#include "cli/inspect_report.h"

#define USUAL_MASTER_SOCKET "/run/haproxy-master.sock"
#define USUAL_STATS_SOCKET "/run/haproxy/admin.sock"
#define OLD_WORKERS_MANY 5

/* How to start HAProxy with that for -S. */
static void running_fix_start(const struct local_judged *in, const char *socket, struct doctor_check *c)
{
    cleanup(mem_free_ptr) char *files = local_judged_files(in);
    doctor_fix(c, "start HAProxy with it", "haproxy -W -S %s%s", socket, files);
    doctor_fix(c, "under systemd, in HAProxy's unit (systemctl edit haproxy), beside its other options",
               "[Service]\nEnvironment=\"EXTRAOPTS=-S %s\"", socket);
    doctor_fix(c, "then, as root; a restart ends open connections", "systemctl restart haproxy");
    doctor_also(c);
}

/* ---- the process ---- */

/* "40s", "12m", "3h20m", "5d3h" */
static char *running_age(int64_t s)
{
    return s < 60      ? mem_printf("%" PRId64 "s", s)
           : s < 3600  ? mem_printf("%" PRId64 "m", s / 60)
           : s < 86400 ? mem_printf("%" PRId64 "h%" PRId64 "m", s / 3600, s / 60 % 60)
                       : mem_printf("%" PRId64 "d%" PRId64 "h", s / 86400, s / 3600 % 24);
}

static void running_silent(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.running", label[] = "HAProxy";
    struct doctor_check *c = doctor_fail(s, id, label, "no HAProxy answers at a socket that is set");
    doctor_why(c, "it does not run, runs with other sockets, or in a container whose sockets are not shared");
    cleanup(mem_free_ptr) char *files = local_judged_files(in);
    doctor_fix(c, "start it", "haproxy -W -S %s%s",
               in->settings->local.master_socket != NULL ? in->settings->local.master_socket : USUAL_MASTER_SOCKET,
               files);
    doctor_fix(c, "under systemd, start it, and see why it ended", "systemctl start haproxy\nsystemctl status haproxy");
}

static void judge_process(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.running", label[] = "HAProxy";
    const struct local_facts *f = in->facts;
    struct local_version program, v;
    cleanup(mem_free_ptr) char *said = mem_printf("HAProxy version %s", f->info.version);
    if (!f->has_info && !f->stats.asked && f->master.path == NULL) {
        doctor_skip(s, id, label, "needs HAPROXY_MASTER_SOCKET or HAPROXY_STATS_SOCKET");
        return;
    }
    if (!f->has_info) {
        running_silent(in, s);
        return;
    }
    if (local_version_read(said, &v) && local_version_is_old(&v)) {
        struct doctor_check *c =
            doctor_fail(s, id, label, "%s runs, process %d; 2.6 or later is needed", f->info.version, (int)f->info.pid);
        doctor_why(c, "before it, servers cannot be added and removed while it runs");
        doctor_advice(c, "upgrade HAProxy");
        return;
    }
    if (f->version.out != NULL && local_version_read(f->version.out, &program) &&
        !str_eq(program.text, f->info.version)) {
        struct doctor_check *c = doctor_warn(s, id, label, "%s runs, process %d; HAPROXY_BIN is %s", f->info.version,
                                             (int)f->info.pid, program.text);
        doctor_why(c, "changes are checked by another HAProxy than the one that runs: after an upgrade the old one "
                      "runs until it is restarted");
        doctor_fix(c, "as root; a restart ends open connections", "systemctl restart haproxy");
        return;
    }
    cleanup(mem_free_ptr) char *age = running_age(f->info.uptime_s > 0 ? f->info.uptime_s : 0);
    bool newer = f->file.real != NULL && f->info.uptime_s >= 0 && f->file.modified_s > in->now_s - f->info.uptime_s + 1;
    doctor_ok(s, id, label, "%s runs, process %d, for %s%s", f->info.version, (int)f->info.pid, age,
              newer ? "; haproxy.cfg was written since" : "");
}

/* ---- why a socket does not answer ---- */

/* What is wrong with it, as a check of that id. */
static struct doctor_check *judge_socket(const struct local_socket_facts *k, const char *setting,
                                         const struct local_self *self, const char *id, const char *label,
                                         struct doctor_section *s)
{
    if (k->error == ENOENT || k->error == ENOTDIR)
        return doctor_fail(s, id, label, "there is no %s (%s)", k->path, setting);
    if (k->error == EACCES)
        return doctor_fail(s, id, label, "user %s may not enter the folder of %s", self->user, k->path);
    if (k->error == 0 && !k->is_socket)
        return doctor_fail(s, id, label, "%s is no socket (%s)", k->path, setting);
    if (k->ask_error == EACCES || k->ask_error == EPERM)
        return doctor_fail(s, id, label, "user %s may not connect to %s (%s:%s, mode %04o)", self->user, k->path,
                           k->owner.user, k->owner.group, k->owner.mode);
    if (k->ask_error == ECONNREFUSED)
        return doctor_fail(s, id, label, "no process listens at %s any more (%s)", k->path, setting);
    return doctor_fail(s, id, label, "%s: %s", k->path, k->problem != NULL ? k->problem : "not asked");
}

static bool is_forbidden(const struct local_socket_facts *k)
{
    return k->error == EACCES || (k->error == 0 && k->is_socket && (k->ask_error == EACCES || k->ask_error == EPERM));
}

/* ---- the master ---- */

static void master_forbidden(const struct local_judged *in, struct doctor_check *c)
{
    const struct local_owner *o = &in->facts->master.owner;
    const char *group = o->group != NULL && o->gid != 0 ? o->group : "haproxy";
    cleanup(mem_free_ptr) char *socket = mem_printf("%s,mode,660,group,%s", in->settings->local.master_socket, group);
    doctor_why(c, "the socket belongs to the user that started HAProxy, unless -S sets another one");
    running_fix_start(in, socket, c);
    doctor_fix(c, "and in the daemon's unit (systemctl edit haproxy-k8s-sync)", "[Service]\nSupplementaryGroups=%s",
               group);
    doctor_also(c);
}

static void master_answers(const struct local_facts *f, struct doctor_section *s)
{
    static const char id[] = "haproxy.master-worker", label[] = "master-worker";
    const struct cli_processes *p = &f->processes;
    if (p->worker_pid == 0) {
        struct doctor_check *c = doctor_fail(s, id, label, "master %d has no worker", (int)p->master_pid);
        doctor_why(c, "no process takes connections: the last start or reload failed");
        doctor_fix(c, "see its log", "journalctl -u haproxy -n 50");
        return;
    }
    if (p->old_workers > OLD_WORKERS_MANY) {
        struct doctor_check *c = doctor_warn(s, id, label, "master %d, worker %d, and %u old workers",
                                             (int)p->master_pid, (int)p->worker_pid, p->old_workers);
        doctor_why(c, "they stay until their last connection ends, and take memory");
        doctor_fix(c, "in haproxy.cfg", "global\n  hard-stop-after 30m");
        return;
    }
    cleanup(mem_free_ptr) char *old = p->old_workers > 0 ? mem_printf(", %u old", p->old_workers) : mem_strdup("");
    doctor_ok(s, id, label, "master %d, worker %d%s; open connections finish in the old worker after a reload",
              (int)p->master_pid, (int)p->worker_pid, old);
}

static void judge_master(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.master-worker", label[] = "master-worker";
    const struct local_facts *f = in->facts;
    if (f->master.path == NULL && f->has_no_master) {
        struct doctor_check *c = doctor_fail(s, id, label, "process %d runs without a master", (int)f->info.pid);
        doctor_why(c, "without a master, a reload is a restart that cuts every open connection");
        running_fix_start(in, USUAL_MASTER_SOCKET, c);
    } else if (f->master.path == NULL) {
        doctor_ok(s, id, label, "HAPROXY_MASTER_SOCKET is not set: HAPROXY_RELOAD_COMMAND reloads");
    } else if (f->master.answered) {
        master_answers(f, s);
    } else if (str_eq(f->master.level, "user")) { /* HAProxy 3 refuses to say more */
        struct doctor_check *c = doctor_fail(s, id, label, "%s has level user, which may not ask", f->master.path);
        doctor_why(c, "through this socket the daemon reloads HAProxy and reads the result");
        running_fix_start(in, f->master.path, c);
    } else {
        struct doctor_check *c = judge_socket(&f->master, "HAPROXY_MASTER_SOCKET", &f->self, id, label, s);
        if (is_forbidden(&f->master)) {
            master_forbidden(in, c);
            return;
        }
        if (f->has_no_master)
            doctor_why(c,
                       "process %d runs without a master (no -W): there a reload is a restart that cuts every open "
                       "connection",
                       (int)f->info.pid);
        else
            doctor_why(c, "through this socket the daemon reloads HAProxy and reads the result");
        running_fix_start(in, in->settings->local.master_socket, c);
    }
}

/* ---- reloads ---- */

static void judge_reload(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.reload", label[] = "reload";
    const struct settings_local *l = &in->settings->local;
    const struct local_facts *f = in->facts;
    struct doctor_check *c;
    if (l->reload == SETTINGS_RELOAD_COMMAND && f->reload_program == NULL) {
        c = doctor_fail(s, id, label, "%s: no such program that user %s may run", l->reload_command, f->self.user);
        doctor_fix(c, "name one by its path", "HAPROXY_RELOAD_COMMAND=/usr/bin/systemctl reload haproxy");
        return;
    }
    if (l->reload != SETTINGS_RELOAD_COMMAND && !f->has_processes) {
        doctor_skip(s, id, label, "needs the master's socket, see above");
        return;
    }
    if (f->has_processes && f->processes.failed_reloads > 0) {
        c = doctor_fail(s, id, label, "the last one failed, %u in a row", f->processes.failed_reloads);
        doctor_why(c, "HAProxy keeps what it ran before; what the file has is not what runs");
        doctor_fix(c, "see why", "journalctl -u haproxy -n 50");
        return;
    }
    if (l->reload == SETTINGS_RELOAD_SIGNAL && f->signal_error != 0) {
        c = doctor_fail(s, id, label, "user %s may not send a signal to HAProxy's master, process %d", f->self.user,
                        (int)f->processes.master_pid);
        doctor_fix(c, "let its socket reload it", "HAPROXY_RELOAD=master");
        return;
    }
    if (l->reload == SETTINGS_RELOAD_MASTER && str_eq(f->master.level, "user")) {
        c = doctor_fail(s, id, label, "the master's socket has level user, which refuses a reload");
        running_fix_start(in, l->master_socket, c);
        return;
    }
    if (l->reload == SETTINGS_RELOAD_COMMAND)
        doctor_ok(s, id, label, "by %s", l->reload_command);
    else
        doctor_ok(s, id, label, "by %s; %u so far%s",
                  l->reload == SETTINGS_RELOAD_SIGNAL ? "a signal to the master" : "the master's socket",
                  f->processes.reloads, f->processes.reloads > 0 ? ", the last one succeeded" : "");
}

/* ---- the stats socket ---- */

static void stats_fix(const struct local_judged *in, bool forbidden, struct doctor_check *c)
{
    const struct local_facts *f = in->facts;
    const char *path = in->settings->local.stats_socket != NULL ? in->settings->local.stats_socket : USUAL_STATS_SOCKET;
    for (size_t i = 0; !forbidden && i < f->global.socket_count; i++)
        if (!str_eq(f->global.sockets[i], in->settings->local.stats_socket))
            doctor_fix(c, "name one that haproxy.cfg has", "HAPROXY_STATS_SOCKET=%s", f->global.sockets[i]);
    doctor_fix(c, "in haproxy.cfg, then restart HAProxy",
               "global\n  stats socket %s mode 660%s level admin expose-fd listeners", path,
               forbidden ? " group haproxy" : "");
    if (f->has_processes && in->settings->local.stats_socket != NULL)
        doctor_fix(c, "go through the master's socket", "HAPROXY_STATS_SOCKET=");
}

/* Whether that process is one of the master's. */
static bool stats_are_of_master(const struct local_facts *f)
{
    for (size_t i = 0; i < f->processes.count; i++)
        if (f->processes.processes[i].pid == (pid_t)f->info.pid)
            return true;
    return !f->has_processes;
}

static void judge_stats(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.runtime", label[] = "runtime";
    const struct local_facts *f = in->facts;
    const char *by = f->stats.path != NULL ? f->stats.path : "the master's socket";
    struct doctor_check *c;
    if (!f->stats.asked) {
        doctor_skip(s, id, label, "needs the master's socket, see above, or HAPROXY_STATS_SOCKET");
        return;
    }
    if (!f->stats.answered && f->stats.path == NULL) {
        c = doctor_fail(s, id, label, "no worker answers through the master's socket: %s", f->stats.problem);
        doctor_fix(c, "see its log", "journalctl -u haproxy -n 50");
        return;
    }
    if (!f->stats.answered) {
        c = judge_socket(&f->stats, "HAPROXY_STATS_SOCKET", &f->self, id, label, s);
        doctor_why(c, "without it, the daemon cannot see what runs, and each change takes a reload");
        stats_fix(in, is_forbidden(&f->stats), c);
        return;
    }
    if (!stats_are_of_master(f)) {
        c = doctor_fail(s, id, label, "%s belongs to process %d, which is no worker of master %d", by, (int)f->info.pid,
                        (int)f->processes.master_pid);
        doctor_why(c,
                   "the two sockets belong to two HAProxies: one is reloaded, the other one gets the runtime commands");
        stats_fix(in, false, c);
        return;
    }
    if (f->stats.level != NULL && !str_eq(f->stats.level, "admin")) {
        c = doctor_warn(s, id, label, "%s has level %s", by, f->stats.level);
        doctor_why(c, "changes of servers need level admin; without, each takes a reload");
        if (f->stats.path != NULL)
            stats_fix(in, false, c);
        else
            running_fix_start(in, in->settings->local.master_socket, c);
        return;
    }
    doctor_ok(s, id, label, "%s answers, level %s: changes of servers need no reload", by,
              f->stats.level != NULL ? f->stats.level : "unknown");
}

/* ---- what runs is the file ---- */

static void judge_drift(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.drift", label[] = "drift";
    const struct inspect_target *t = in->target;
    struct doctor_check *c = NULL;
    if (t == NULL || !in->facts->has_info)
        return;
    for (size_t i = 0; i < in->settings->mapping_count; i++) {
        const struct inspect_backend *b = &t->backends[i];
        if (b->seen && b->actual.exists && !b->runtime.readable && c == NULL)
            c = doctor_warn(s, id, label, "backend %s is in haproxy.cfg, and not in what runs: %s", b->of->backend,
                            b->runtime.why != NULL ? b->runtime.why : "no reason given");
    }
    if (c == NULL && t->drift != NULL)
        c = doctor_warn(s, id, label, "running HAProxy differs from haproxy.cfg: %s", t->drift);
    if (c != NULL)
        doctor_why(c, "the file was written and not loaded, or a server was changed by hand; the daemon would reload");
}

void local_judge_running(const struct local_judged *in, struct doctor_section *s)
{
    judge_process(in, s);
    judge_master(in, s);
    judge_reload(in, s);
    judge_stats(in, s);
    judge_drift(in, s);
    if (in->facts->global.chroot != NULL)
        doctor_ok(s, "haproxy.chroot", "chroot",
                  "%s: sockets, maps and certificates are opened before it, by their paths outside",
                  in->facts->global.chroot);
}

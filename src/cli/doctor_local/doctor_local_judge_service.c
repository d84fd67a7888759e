/* How it was started, and what the next start would make of it. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor_local/doctor_local_judge.h"

#define NAMES_SHOWN 5

/* ---- files ---- */

static size_t service_count(const enum local_file_is *files, size_t count, enum local_file_is what)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += files[i] == what;
    return n;
}

/* Those that are neither the file nor among HAPROXY_CHECK_FILES. NULL: none. Allocates. */
static char *service_others(const struct haproxy_command_line *l, const enum local_file_is *files)
{
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < l->file_count; i++)
        if ((files[i] == LOCAL_FILE_OTHER || files[i] == LOCAL_FILE_UNSEEN) && text_list_next(&names))
            buf_add(&names.text, l->files[i]);
    return text_list_take(&names);
}

/* All of them in HAProxy's order, for HAPROXY_CHECK_FILES. Allocates. */
static char *service_all(const struct haproxy_command_line *l, const enum local_file_is *files, const char *ours)
{
    struct buf all = {0};
    for (size_t i = 0; i < l->file_count; i++)
        buf_printf(&all, "%s%s", i > 0 ? "," : "", files[i] == LOCAL_FILE_OURS ? ours : l->files[i]);
    return buf_take(&all);
}

static void service_foreign_file(const struct local_judged *in, const struct haproxy_command_line *l,
                                 struct doctor_check *c)
{
    doctor_why(c, "what the daemon writes is never read by that HAProxy");
    doctor_fix(c, "name the file that it reads", "HAPROXY_CONFIG_FILE=%s", l->files[l->file_count - 1]);
    if (in->facts->service.is_there)
        doctor_fix(c,
                   in->facts->service.environment_file_count > 0 ? in->facts->service.environment_files[0]
                                                                 : "in its environment",
                   "CONFIG=\"%s\"", in->settings->local.file);
}

/* Whether that command line reads the file, and what else. start: "process 12", "haproxy.service". */
static bool service_files(const struct local_judged *in, const char *start, const struct haproxy_command_line *l,
                          const enum local_file_is *files, const char *id, const char *label, struct doctor_section *s)
{
    cleanup(mem_free_ptr) char *others = service_others(l, files);
    if (l->file_count == 0 || others == NULL)
        return true;
    if (service_count(files, l->file_count, LOCAL_FILE_OURS) == 0) {
        /* Under another name in another container it may be the same. */
        bool sure = service_count(files, l->file_count, LOCAL_FILE_UNSEEN) == 0;
        service_foreign_file(in, l,
                             doctor_add(s, sure ? CHECK_FAIL : CHECK_WARN, id, label, "%s reads %s, not %s", start,
                                        others, in->settings->local.file));
        return false;
    }
    cleanup(mem_free_ptr) char *all = service_all(l, files, in->settings->local.file);
    struct doctor_check *c = doctor_warn(s, id, label, "%s reads %s, too", start, others);
    doctor_why(c,
               "the daemon checks its changes without that file: what HAProxy refuses together with it may be written");
    doctor_fix(c, "name all of them in that order", "HAPROXY_CHECK_FILES=%s", all);
    return false;
}

static void judge_command_line(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.files", label[] = "command line";
    const struct local_instance *ours = local_judge_ours(in->facts);
    if (ours == NULL || ours->line.file_count == 0)
        return;
    cleanup(mem_free_ptr) char *start = mem_printf("process %d", (int)ours->pid);
    if (!service_files(in, start, &ours->line, ours->files, id, label, s))
        return;
    size_t checked = service_count(ours->files, ours->line.file_count, LOCAL_FILE_CHECKED);
    if (checked > 0)
        doctor_ok(s, id, label, "%s reads this file, and %zu of HAPROXY_CHECK_FILES", start, checked);
    else
        doctor_ok(s, id, label, "%s reads this file", start);
}

/* ---- several ---- */

static void judge_instances(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.instances", label[] = "instances";
    const struct local_facts *f = in->facts;
    const struct local_instance *ours = local_judge_ours(f);
    struct text_list same = {.between = ", ", .max = NAMES_SHOWN}, all = same;
    for (size_t i = 0; i < f->instance_count; i++) {
        const struct local_instance *one = &f->instances[i];
        if (text_list_next(&all))
            buf_printf(&all.text, "%d", (int)one->pid);
        if (one != ours && local_judge_reads(one) && text_list_next(&same))
            buf_printf(&same.text, "process %d", (int)one->pid);
    }
    bool one_other = same.count == 1;
    cleanup(mem_free_ptr) char *others = text_list_take(&same), *list = text_list_take(&all);
    if (ours != NULL && others != NULL) {
        struct doctor_check *c = doctor_warn(s, id, label, "%s read%s the same file, and %d is the one at the sockets",
                                             others, one_other ? "s" : "", (int)ours->pid);
        doctor_why(c, "only the one at the sockets is reloaded and gets runtime commands; the other one keeps its old "
                      "configuration");
        doctor_fix(c, "see both, and stop the one that is not meant", "ps -o pid,ppid,user,lstart,args -C haproxy");
    } else if (f->instance_count > 1 && ours == NULL) {
        struct doctor_check *c = doctor_warn(s, id, label,
                                             "%zu run here (processes %s), and none of them is known to "
                                             "be the one at the sockets",
                                             f->instance_count, list);
        doctor_fix(c, "see which files and sockets they have", "ps -o pid,ppid,user,lstart,args -C haproxy");
    } else if (f->instance_count > 1) {
        doctor_ok(s, id, label, "%zu run here; the one at the sockets is process %d", f->instance_count,
                  (int)ours->pid);
    } else if (ours != NULL) {
        doctor_ok(s, id, label, "process %d is the only one here", (int)ours->pid);
    } else if (f->has_info || f->has_processes) {
        doctor_skip(s, id, label, "the process at the sockets cannot be seen from here");
    }
}

/* ---- systemd ---- */

static bool service_is_ours(const struct local_facts *f)
{
    const struct local_instance *ours = local_judge_ours(f);
    pid_t pid = f->has_processes ? f->processes.master_pid : ours != NULL ? ours->pid : 0;
    return pid == 0 || pid == f->service.main_pid;
}

static bool service_runs(const struct local_judged *in, const char *id, const char *label, struct doctor_section *s)
{
    const struct local_facts *f = in->facts;
    if (!f->service.is_active && (f->has_info || f->has_processes || f->instance_count > 0)) {
        struct doctor_check *c =
            doctor_warn(s, id, label, "haproxy.service is not active, though a HAProxy runs: systemd did not start it");
        doctor_why(c, "the next boot starts another one, or none");
        doctor_fix(c, "let systemd start it, after the other one was stopped", "systemctl enable --now haproxy");
        return false;
    }
    if (!f->service.is_active) {
        struct doctor_check *c = doctor_warn(s, id, label, "haproxy.service is not active");
        doctor_fix(c, "as root", "systemctl enable --now haproxy");
        return false;
    }
    if (!service_is_ours(f)) {
        struct doctor_check *c = doctor_warn(
            s, id, label, "haproxy.service is process %d, and another one is at the sockets", (int)f->service.main_pid);
        doctor_why(c, "systemctl reload and restart reach another HAProxy than the daemon");
        doctor_fix(c, "see both", "systemctl status haproxy\nps -o pid,ppid,user,lstart,args -C haproxy");
        return false;
    }
    return true;
}

/* What a restart would make of it. */
static bool service_starts_well(const struct local_judged *in, const char *id, const char *label,
                                struct doctor_section *s)
{
    const struct local_facts *f = in->facts;
    const struct settings_local *l = &in->settings->local;
    const struct haproxy_command_line *line = &f->service.line;
    if (!line->master && !f->global.master_worker) {
        struct doctor_check *c =
            doctor_warn(s, id, label, "haproxy.service starts HAProxy without a master (neither -W nor -Ws)");
        doctor_why(c, "without a master, a reload is a restart that cuts every open connection");
        local_judge_fix_start(in, l->master_socket != NULL ? l->master_socket : "/run/haproxy-master.sock", c);
        return false;
    }
    if (l->master_socket != NULL && !str_eq(line->socket, l->master_socket)) {
        struct doctor_check *c =
            line->socket == NULL
                ? doctor_warn(s, id, label, "haproxy.service starts HAProxy without a socket for its master (-S)")
                : doctor_warn(s, id, label, "haproxy.service sets the master's socket to %s", line->socket);
        doctor_why(c, "%s%s%s", "HAPROXY_MASTER_SOCKET is another one: after the next restart no process answers there",
                   f->service.extra_options != NULL ? "; EXTRAOPTS is " : "",
                   f->service.extra_options != NULL ? f->service.extra_options : "");
        local_judge_fix_start(in, l->master_socket, c);
        return false;
    }
    return true;
}

static void judge_systemd(const struct local_judged *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.service", label[] = "systemd";
    const struct local_service *sv = &in->facts->service;
    if (!sv->known) {
        doctor_skip(s, id, label, "%s", sv->problem != NULL ? sv->problem : "it is not here (no systemctl)");
        return;
    }
    if (!sv->is_there) {
        doctor_ok(s, id, label, "there is no haproxy.service: something else starts HAProxy");
        return;
    }
    bool well = service_runs(in, id, label, s);
    well = service_starts_well(in, id, label, s) && well;
    well = service_files(in, "haproxy.service", &sv->line, sv->files, id, label, s) && well;
    if (well)
        doctor_ok(s, id, label, "haproxy.service, process %d%s%s", (int)sv->main_pid,
                  sv->line.socket != NULL ? ", master's socket " : "", sv->line.socket != NULL ? sv->line.socket : "");
}

static void judge_chroot(const struct local_judged *in, struct doctor_section *s)
{
    if (in->facts->global.chroot != NULL)
        doctor_ok(s, "haproxy.chroot", "chroot",
                  "%s: sockets, maps and certificates are opened before it, by their paths outside",
                  in->facts->global.chroot);
}

void local_judge_service(const struct local_judged *in, struct doctor_section *s)
{
    judge_command_line(in, s);
    judge_instances(in, s);
    judge_systemd(in, s);
    judge_chroot(in, s);
}

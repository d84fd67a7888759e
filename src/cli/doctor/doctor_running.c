/* The running HAProxy: does it run, are runtime updates possible, how do its reloads end, has it a master. */
#include <string.h>

#include "base/str.h"
#include "settings/settings.h"
#include "settings/url.h"
#include "cli/doctor/doctor_dataplane.h"
#include "cli/doctor/doctor_haproxy.h"
#include "cli/doctor/doctor_process.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect_report.h"

#define SOCKET_LINES "global\n  stats socket /run/haproxy/admin.sock mode 660 level admin expose-fd listeners"

/* ---- it runs ---- */

static bool it_runs(const struct doctor_dataplane *d)
{
    const struct doctor_get *get = &d->gets[DATAPLANE_HAPROXY];
    return get->asked && get->error.kind == ERROR_NONE && d->haproxy.problem == NULL;
}

static void report_process(const struct doctor_dataplane *d, struct doctor_section *s)
{
    static const char id[] = "haproxy.running", label[] = "HAProxy";
    const struct doctor_get *get = &d->gets[DATAPLANE_HAPROXY];
    const char *problem = get->error.kind != ERROR_NONE ? get->error.message : d->haproxy.problem;
    if (!get->asked) {
        doctor_skip(s, id, label, "not asked before the timeout");
        return;
    }
    if (problem == NULL) {
        doctor_ok(s, id, label, "%s runs%s%s", d->haproxy.version != NULL ? d->haproxy.version : "it",
                  d->haproxy.socket != NULL ? ", socket " : "", d->haproxy.socket != NULL ? d->haproxy.socket : "");
        return;
    }
    struct doctor_check *c = doctor_fail(s, id, label, "the Data Plane API cannot reach it: %s", problem);
    doctor_why(c, "HAProxy does not run, or the API uses another socket");
    doctor_fix(c, "see whether it runs", "systemctl status haproxy");
    doctor_fix(c, "in haproxy.cfg, then restart HAProxy and the Data Plane API", SOCKET_LINES);
}

/* ---- runtime updates ---- */

/* The first backend that is there: what of it could be read. */
static const struct runtime *runtime_of(const struct doctor_haproxy_input *in)
{
    for (size_t i = 0; i < in->seen->mapping_count; i++)
        if (in->target->backends[i].seen && in->target->backends[i].actual.exists)
            return &in->target->backends[i].runtime;
    return NULL;
}

static void report_runtime(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.runtime", label[] = "runtime";
    const struct runtime *runtime = in->target != NULL ? runtime_of(in) : NULL;
    const struct doctor_dataplane *d = in->asked;
    bool global_known = d->gets[DATAPLANE_GLOBAL].asked && d->gets[DATAPLANE_GLOBAL].error.kind == ERROR_NONE;
    if (!it_runs(d) || runtime == NULL) {
        doctor_skip(s, id, label, "needs %s", it_runs(d) ? "a backend that can be read" : "HAProxy, see above");
        return;
    }
    if (runtime->readable && (!global_known || d->global.admin_socket || d->global.sockets == 0)) {
        doctor_ok(s, id, label, "readable; the first runtime update verifies that changes need no reload");
        return;
    }
    struct doctor_check *c = runtime->readable
                                 ? doctor_warn(s, id, label, "no stats socket in haproxy.cfg has level admin")
                                 : doctor_warn(s, id, label, "cannot read the running HAProxy: %s",
                                               runtime->why != NULL ? runtime->why : "no reason given");
    doctor_why(c, "runtime updates need it; without, each change takes a transaction and a reload. HAProxy before 2.7 "
                  "does not answer this at its master socket");
    doctor_fix(c, "in haproxy.cfg, then restart HAProxy and the Data Plane API", SOCKET_LINES);
}

/* ---- reloads ---- */

static void report_reloads(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.reload", label[] = "last reload";
    const struct doctor_dataplane *d = in->asked;
    const struct doctor_get *get = &d->gets[DATAPLANE_RELOADS];
    if (!get->asked || get->error.kind != ERROR_NONE) {
        doctor_skip(s, id, label, "the API does not say: %s",
                    get->asked ? get->error.message : "not asked before the timeout");
    } else if (d->reloads.last_failed) {
        bool silent = str_empty(d->reloads.response);
        struct doctor_check *c =
            doctor_fail(s, id, label, "failed: %s", silent ? "no message (is HAProxy running?)" : d->reloads.response);
        doctor_why(c, "HAProxy keeps its previous configuration; the daemon retries with backoff");
        doctor_fix(c, "see what HAProxy says about the file", "haproxy -c -f /etc/haproxy/haproxy.cfg");
        doctor_fix(c, "check how the API reloads it, in dataplaneapi.yml",
                   "haproxy:\n  reload:\n    reload_strategy: systemd\n    service_name: haproxy\n    reload_delay: 5");
    } else if (d->reloads.pending) {
        doctor_ok(s, id, label, "in progress");
    } else {
        doctor_ok(s, id, label, "%s",
                  d->reloads.response != NULL ? "succeeded" : "none since the Data Plane API started");
    }
    if (in->target == NULL || in->target->drift == NULL)
        return;
    struct doctor_check *c =
        doctor_warn(s, "haproxy.drift", "drift", "running HAProxy differs from haproxy.cfg: %s", in->target->drift);
    doctor_why(c, "an operator or another writer changed only one of them; the daemon would reload the file");
}

/* No line where a write keeps the meaning of the file. */
static void report_file(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.file", label[] = "haproxy.cfg";
    const struct inspect_target *t = in->target;
    if (t == NULL || (t->file_problem == NULL && t->file_warning == NULL))
        return;
    bool sure = t->file_problem != NULL;
    struct doctor_check *c =
        sure ? doctor_fail(s, id, label, "%s", t->file_problem) : doctor_warn(s, id, label, "%s", t->file_warning);
    doctor_why(c, "the Data Plane API rewrites the whole file with each change, which would change its meaning; %s",
               sure ? "nothing is written until that is fixed" : "the daemon checks the new file before it writes");
}

void doctor_running_report(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    report_process(in->asked, s);
    report_runtime(in, s);
    report_reloads(in, s);
    report_file(in, s);
}

/* ---- master and worker ---- */

/* The API is on this machine, and so its HAProxy's process may be, too. */
static bool is_here(const struct settings_dataplane *of)
{
    return of->socket != NULL || url_is_local(of->url);
}

enum master { MASTER_UNKNOWN, MASTER_YES, MASTER_NO };

static enum master check_master(const struct doctor_haproxy_input *in)
{
    const struct doctor_dataplane *d = in->asked;
    uint64_t master = 0, parent = 0;
    if (d->global.master_worker)
        return MASTER_YES;
    if (d->haproxy.pid <= 0 || !is_here(in->of) || !doctor_is_haproxy((uint64_t)d->haproxy.pid, &master))
        return MASTER_UNKNOWN;
    return doctor_is_haproxy(master, &parent) ? MASTER_YES : MASTER_NO;
}

void doctor_master_worker_report(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    static const char id[] = "haproxy.master-worker", label[] = "master-worker";
    enum master is = check_master(in);
    if (is == MASTER_YES) {
        doctor_ok(s, id, label, "the master reloads with a new worker; open connections finish in the old one");
        return;
    }
    if (is == MASTER_UNKNOWN && !it_runs(in->asked)) {
        doctor_skip(s, id, label, "needs HAProxy, see above");
        return;
    }
    struct doctor_check *c =
        is == MASTER_NO
            ? doctor_fail(s, id, label, "HAProxy runs without a master")
            : doctor_skip(s, id, label,
                          "not visible from here: check HAProxy's command line (-W, -Ws) or its global section");
    if (is == MASTER_UNKNOWN) {
        doctor_fix(c, "on that machine", "ps -o args= -C haproxy; grep -n master-worker /etc/haproxy/haproxy.cfg");
        return;
    }
    doctor_why(c, "without a master, a reload is a restart that cuts every open connection");
    doctor_fix(c, "in haproxy.cfg, then restart HAProxy", "global\n  master-worker");
    doctor_fix(c, "start it as its systemd unit does", "haproxy -Ws -f /etc/haproxy/haproxy.cfg -p /run/haproxy.pid");
}

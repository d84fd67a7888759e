/* The checks of one backend in one HAProxy. */
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "settings/settings.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/inherit.h"
#include "cli/doctor/doctor_haproxy.h"
#include "cli/doctor/doctor_health.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"

/* Of haproxy.cfg, the nearest first. */
static void add_backends(struct cfg_content *content, struct nearest *n)
{
    const struct cfg_file *file = cfg_content_file(content, NULL);
    for (size_t i = 0; file != NULL && i < file->section_count; i++) {
        const struct cfg_file_section *section = &file->sections[i];
        if (str_eq(section->kind, "backend") || str_eq(section->kind, "listen"))
            nearest_add(n, section->name, nearest_distance(n, section->name));
    }
}

static void fail_missing(const struct doctor_haproxy_input *in, const struct inspect_backend *b,
                         struct doctor_section *s)
{
    cleanup(nearest_fini) struct nearest n;
    nearest_init_all(&n, b->of->backend);
    if (in->target != NULL)
        add_backends(in->target->file, &n);
    cleanup(mem_free_ptr) char *names = nearest_text(&n);
    struct doctor_check *c = doctor_fail(s, "backend.exists", "backend", "haproxy.cfg has no backend of this name%s%s",
                                         names != NULL ? "; it has " : "", names != NULL ? names : "");
    doctor_why(c, "HAPROXY_BACKEND_NAME (or the name after = in INGRESS_SERVICES) must name one of its backends");
    doctor_fix(c, "add it to haproxy.cfg, then reload HAProxy", "backend %s\n  mode tcp", b->of->backend);
    doctor_fix(c, "let the daemon create it", "HAPROXY_CREATE_BACKEND=true");
}

static bool report_exists(const struct doctor_haproxy_input *in, const struct inspect_backend *b,
                          struct doctor_section *s)
{
    static const char id[] = "backend.exists", label[] = "backend";
    if (!b->seen) {
        struct doctor_check *c = doctor_fail(s, id, label, "cannot be read: %s", b->unseen.message);
        doctor_why(c, "nothing is written to a backend that is not read to its end");
    } else if (b->actual.exists) {
        size_t managed = 0;
        for (size_t i = 0; i < b->actual.server_count; i++)
            managed += !diff_server_is_foreign(&b->actual.servers[i], in->seen->rules, b->desired);
        doctor_ok(s, id, label, "server lines: %zu managed, %zu unmanaged", managed,
                  b->actual.server_count - managed + b->actual.template_count);
        return true;
    } else if (in->settings->create_backend) {
        doctor_ok(s, id, label, "missing; the daemon will create it (HAPROXY_CREATE_BACKEND=true)");
    } else {
        fail_missing(in, b, s);
    }
    return false;
}

static void report_mode(const struct inspect_backend *b, struct doctor_section *s)
{
    static const char id[] = "backend.mode", label[] = "mode";
    bool http = str_eq(b->actual.mode, "http");
    if (str_empty(b->actual.mode))
        doctor_ok(s, id, label, "set by its defaults section (tcp if that sets none)");
    else
        doctor_ok(s, id, label, "%s%s", b->actual.mode,
                  http ? ": HAProxy terminates TLS and speaks HTTP to the nodes"
                       : ": HAProxy passes TLS through to the ingress controller");
}

static void report_lines(const struct doctor_haproxy_input *in, const struct inspect_backend *b,
                         struct doctor_section *s)
{
    static const char id[] = "backend.lines", label[] = "lines";
    const struct diff *d = &b->plan.diff;
    if (in->target != NULL && in->target->file_problem != NULL) {
        doctor_skip(s, id, label, "needs a haproxy.cfg that can be written, see HAProxy");
        return;
    }
    if (inspect_verdict(b) == INSPECT_REFUSED) {
        cleanup(mem_free_ptr) char *why = inspect_why(b);
        struct doctor_check *c =
            doctor_fail(s, id, label, "%s%s",
                        b->rejected ? "" : "cannot be written safely: ", why != NULL ? why : "no reason given");
        doctor_advice(c, "remove that line%s; until then nothing is written to this backend",
                      in->of != NULL ? ", or use only keywords that this Data Plane API supports" : "");
        return;
    }
    for (size_t i = 0; i < d->skip_count; i++)
        doctor_warn(s, id, label, "no server %s: %s", d->skips[i].name, d->skips[i].reason);
    if (d->uneven != NULL)
        doctor_warn(s, id, label, "%s", d->uneven);
    if (d->skip_count == 0 && d->uneven == NULL)
        doctor_ok(s, id, label, "no unsupported lines");
}

static void report_changes(const struct inspect_backend *b, bool not_written, struct doctor_section *s)
{
    struct inspect_ways ways = inspect_count_ways(b);
    size_t all = ways.without + ways.reload;
    const char *how = ways.reload == 0    ? "without a reload"
                      : ways.without == 0 ? "with a reload"
                                          : "some of them with a reload";
    doctor_ok(s, "backend.plan", "plan", "%zu change%s to make, %s%s; haproxy-k8s-sync plan shows %s", all,
              all == 1 ? "" : "s", how, not_written ? ", not written (dry run or paused)" : "",
              all == 1 ? "it" : "them");
}

/* What `plan` would say, in short. */
static void report_plan(const struct inspect_backend *b, struct doctor_section *s)
{
    static const char id[] = "backend.plan", label[] = "plan";
    enum inspect_verdict v = inspect_verdict(b);
    cleanup(mem_free_ptr) char *why = inspect_why(b);

    switch (v) {
    case INSPECT_IN_SYNC:
        doctor_ok(s, id, label, "in sync: HAProxy has the desired servers");
        return;
    case INSPECT_CHANGES:
    case INSPECT_NOT_WRITTEN:
        report_changes(b, v == INSPECT_NOT_WRITTEN, s);
        if (b->rejected)
            doctor_warn(s, id, label, "%s", why);
        return;
    case INSPECT_RELOAD_AGAIN:
        doctor_warn(s, id, label, "running HAProxy differs from haproxy.cfg: a reload is due");
        return;
    case INSPECT_NO_ENDPOINT:
    case INSPECT_LOSS_LIMIT:
        doctor_warn(s, id, label, "%s", why != NULL ? why : "removal delayed");
        return;
    case INSPECT_WAITING:
    case INSPECT_REFUSED:
    case INSPECT_UNKNOWN:
        break;
    }
    doctor_skip(s, id, label, "needs %s",
                v == INSPECT_WAITING ? "servers, see the Service" : "lines that can be written");
}

void doctor_states_report(const struct doctor_haproxy_input *in, struct doctor_section *s)
{
    const struct cfg_file *f = in->target != NULL ? cfg_content_file(in->target->file, NULL) : NULL;
    bool whole = in->settings->config_source != SETTINGS_CONFIG_NONE;
    for (size_t i = 0; i < in->settings->mapping_count + whole; i++) {
        const char *backend = i < in->settings->mapping_count ? in->settings->mappings[i].backend : NULL;
        unsigned line = cfg_state_file_line(f, backend);
        if (line == 0)
            continue;
        struct doctor_check *c =
            doctor_warn(s, "haproxy.states", "server states",
                        "line %u, load-server-state-from-file: a reload may bring back old states", line);
        doctor_why(c,
                   "HAProxy takes addresses, ports, weights and states of servers from the file of server-state-file "
                   "then, not from haproxy.cfg");
        doctor_fix(c, "remove that line, or overrule it", "backend %s\n  load-server-state-from-file none",
                   backend != NULL ? backend : "NAME");
        return;
    }
}

void doctor_backend_report(const struct doctor_haproxy_input *in, const struct inspect_backend *b,
                           struct doctor_report *r)
{
    cleanup(mem_free_ptr) char *remark = in->settings->dataplane_count > 1 ? mem_printf("at %s", in->of->url) : NULL;
    struct doctor_section *s = doctor_section(r, "backend", b->of->backend, remark);
    if (!report_exists(in, b, s)) {
        doctor_skip(s, "backend.plan", "plan", "needs the backend");
        return;
    }
    report_mode(b, s);
    report_lines(in, b, s);
    report_plan(b, s);
    doctor_health_report(b, in->target != NULL ? in->target->served : NULL, in->settings->local.stats_socket, s);
}

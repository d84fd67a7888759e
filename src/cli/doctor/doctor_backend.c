/* The checks of one backend in one HAProxy. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/text.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/inherit.h"
#include "haproxy/served.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "daemon/inspect/inspect_print.h"
#include "daemon/inspect/inspect_report.h"

#define NAMES_SHOWN 5

/* ---- what is there ---- */

static bool report_exists(const struct doctor *d, const struct inspect_report *seen, const struct inspect_target *t,
                          const struct inspect_backend *b, struct doctor_section *s)
{
    bool exists = b->seen && b->actual.exists;
    size_t managed = 0;
    for (size_t i = 0; exists && i < b->actual.server_count; i++)
        managed += !diff_server_is_foreign(&b->actual.servers[i], &seen->rules->diff, b->desired);
    cleanup(nearest_fini) struct nearest n;
    nearest_init_all(&n, b->of->backend);
    const struct cfg_file *file = exists ? NULL : cfg_content_file(t->file, NULL);
    for (size_t i = 0; file != NULL && i < file->section_count; i++) {
        const struct cfg_file_section *section = &file->sections[i];
        if (str_eq(section->kind, "backend") || str_eq(section->kind, "listen"))
            nearest_add(&n, section->name, nearest_distance(&n, section->name));
    }
    cleanup(mem_free_ptr) char *names = nearest_text(&n);
    doctor_sets(s, {"backend", b->of->backend}, {"problem", b->unseen.message});
    doctor_set_if(s, "others", "; it has ", names, "");
    doctor_set_if(s, "meant", "did you mean ", nearest_name(&n), "? Then set (or in INGRESS_SERVICES)");
    doctor_set_if(s, "meant-line", "HAPROXY_BACKEND_NAME=", nearest_name(&n), "");
    doctor_word(s, "managed", "%zu", managed);
    doctor_word(s, "unmanaged", "%zu", exists ? b->actual.server_count - managed + b->actual.template_count : 0);
    const struct doctor_row rows[] = {
        {!b->seen, CHECK_FAIL,
         "cannot be read: {problem}\n"
         "why nothing is written to a backend that is not read to its end"},
        {exists, CHECK_OK, "server lines: {managed} managed, {unmanaged} unmanaged"},
        {d->settings->create_backend, CHECK_OK, "missing; the daemon will create it (HAPROXY_CREATE_BACKEND=true)"},
        {true, CHECK_FAIL,
         "haproxy.cfg has no backend of this name{others}\n"
         "why HAPROXY_BACKEND_NAME (or the name after = in INGRESS_SERVICES) must name one of its backends\n"
         "fix {meant}\n  {meant-line}\n"
         "or add it to haproxy.cfg, then reload HAProxy:\n  backend {backend}\n    mode tcp\n"
         "or let the daemon create it:\n  HAPROXY_CREATE_BACKEND=true"},
    };
    doctor_first(s, "backend.exists", "backend", rows);
    return exists;
}

static void report_lines(const struct inspect_target *t, const struct inspect_backend *b, bool by_api,
                         struct doctor_section *s)
{
    static const char id[] = "backend.lines", label[] = "lines";
    const struct diff *d = &b->plan.diff;
    if (t->file_problem != NULL) {
        doctor_skip(s, id, label, "needs a haproxy.cfg that can be written, see HAProxy");
        return;
    }
    if (inspect_verdict(b) == INSPECT_REFUSED) {
        cleanup(mem_free_ptr) char *why = inspect_why(b);
        doctor_fail(s, id, label, "%s%s",
                    b->rejected ? "" : "cannot be written safely: ", why != NULL ? why : "no reason given");
        doctor_set(s, "or-keywords", by_api ? ", or use only keywords that this Data Plane API supports" : "");
        doctor_help(s, "fix remove that line{or-keywords}; until then nothing is written to this backend");
        return;
    }
    for (size_t i = 0; i < d->skip_count; i++)
        doctor_warn(s, id, label, "no server %s: %s", d->skips[i].name, d->skips[i].reason);
    if (d->uneven != NULL)
        doctor_warn(s, id, label, "%s", d->uneven);
    if (d->skip_count == 0 && d->uneven == NULL)
        doctor_ok(s, id, label, "no unsupported lines");
}

/* What `plan` would say, in short. */
static void report_plan(const struct inspect_backend *b, struct doctor_section *s)
{
    static const char id[] = "backend.plan", label[] = "plan";
    enum inspect_verdict v = inspect_verdict(b);
    bool changes = v == INSPECT_CHANGES || v == INSPECT_NOT_WRITTEN;
    const struct inspect_ways ways = changes ? inspect_count_ways(b) : (struct inspect_ways){0};
    size_t all = ways.without + ways.reload;
    cleanup(mem_free_ptr) char *why = inspect_why(b);
    doctor_set(s, "why", why != NULL ? why : "removal delayed");
    doctor_word(s, "changes", "%zu change%s to make, %s%s; haproxy-k8s-sync plan shows %s", all, all == 1 ? "" : "s",
                ways.reload == 0    ? "without a reload"
                : ways.without == 0 ? "with a reload"
                                    : "some of them with a reload",
                v == INSPECT_NOT_WRITTEN ? ", not written (dry run or paused)" : "", all == 1 ? "it" : "them");
    const struct doctor_row rows[] = {
        {v == INSPECT_IN_SYNC, CHECK_OK, "in sync: HAProxy has the desired servers"},
        {changes, CHECK_OK, "{changes}"},
        {v == INSPECT_RELOAD_AGAIN, CHECK_WARN, "running HAProxy differs from haproxy.cfg: a reload is due"},
        {v == INSPECT_NO_ENDPOINT || v == INSPECT_LOSS_LIMIT, CHECK_WARN, "{why}"},
        {v == INSPECT_WAITING, CHECK_SKIP, "needs servers, see the Service"},
        {true, CHECK_SKIP, "needs lines that can be written"},
    };
    doctor_first(s, id, label, rows);
    if (changes && b->rejected)
        doctor_say(s, CHECK_WARN, id, label, "{why}");
}

/* ---- health ---- */

/* By how far a check came (HAProxy's management guide, 9.1, check_status); the first whose name the word begins with, and
 * whose text is in what the check also says. */
static const struct cause {
    const char *check, *detail, *text;
} causes[] = {
    {"L4TOUT", "",
     "the node does not answer: a firewall or security group drops the connection, or HAProxy has no route to that "
     "address"},
    {"L4CON", "oute to host",
     "there is no way to the node: a firewall rejects the connection, or the address is wrong"},
    {"L4CON", "",
     "the node answers, but nothing listens at that port: no ready endpoint is on it (externalTrafficPolicy Local), or "
     "the port is wrong (HAPROXY_BACKEND_PORT)"},
    {"L6", "", "TLS of the check fails: the port speaks no TLS, or expects the PROXY protocol before it"},
    {"L7STS", "",
     "the request of the check gets another status than it expects: its path or Host (HAPROXY_HEALTH_CHECK, option "
     "httpchk)"},
    {"L7TOUT", "",
     "the port takes the connection and does not answer the check: it may wait for the PROXY protocol "
     "(HAPROXY_SEND_PROXY_V2)"},
    {"L7", "",
     "the answer is not of the check's protocol (HAPROXY_ADV_CHECK): only one side uses the PROXY protocol "
     "(HAPROXY_SEND_PROXY_V2) or TLS"},
    {"SOCKERR", "",
     "HAProxy gets no socket for its checks: a limit (maxconn, ulimit-n), or the address to connect from"},
};

static const char usual[] =
    "the node's port does not answer HAProxy, or not this kind of check (HAPROXY_ADV_CHECK, HAPROXY_HEALTH_CHECK), or "
    "only one side uses the PROXY protocol";

void doctor_health_report(const struct inspect_backend *b, const struct served *served, const char *stats_socket,
                          struct doctor_section *s)
{
    size_t live = 0, up = 0, of_cause[array_len(causes)] = {0};
    const struct runtime_server *first = NULL; /* that is down */
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < b->desired->server_count; i++) {
        const struct desired_server *desired = &b->desired->servers[i];
        const struct runtime_server *is = runtime_find(&b->runtime, desired->name);
        if (desired->state != SERVER_LIVE)
            continue;
        live++;
        up += is != NULL && !is->down;
        if (is == NULL || !runtime_fails_check(is))
            continue;
        const struct served_failure *f =
            served != NULL ? served_failure_of(served, b->of->backend, desired->name) : NULL;
        size_t cause = 0;
        while (f != NULL && cause < array_len(causes) &&
               (!str_has_prefix(f->check, causes[cause].check) || strstr(f->detail, causes[cause].detail) == NULL))
            cause++;
        if (f != NULL && cause < array_len(causes))
            of_cause[cause]++;
        first = first != NULL ? first : is;
        if (!text_list_next(&names))
            continue;
        buf_add(&names.text, is->name);
        if (f != NULL && *f->check != '\0')
            buf_printf(&names.text, " (%s%s%s)", f->check, *f->detail != '\0' ? ": " : "", f->detail);
    }
    size_t down = names.count;
    cleanup(mem_free_ptr) char *which = text_list_take(&names);
    cleanup(buf_fini) struct buf why = {0};
    for (size_t i = 0; i < array_len(causes); i++)
        if (of_cause[i] > 0)
            buf_printf(&why, "%s%s: %s", why.len > 0 ? "; " : "", causes[i].check, causes[i].text);
    doctor_set(s, "backend", b->of->backend);
    doctor_word(s, "down", "%zu of %zu desired servers are DOWN in HAProxy: %s", down, live,
                which != NULL ? which : "");
    doctor_word(s, "up", "%zu of %zu desired servers are UP in HAProxy", up, live);
    doctor_set(s, "causes", why.len > 0 ? buf_str(&why) : usual);
    doctor_word(s, "place", "%s %u", first != NULL ? first->address : "", first != NULL ? (unsigned)first->port : 0);
    doctor_set(s, "socket", stats_socket != NULL ? stats_socket : "/run/haproxy/admin.sock");
    const struct doctor_row rows[] = {
        {down > 0, CHECK_WARN,
         "{down}\n"
         "why they get no connections. {causes}\n"
         "fix on HAProxy's machine, test the port:\n  nc -zv -w 2 {place}\n"
         "or on HAProxy's machine, see the result of its check:\n"
         "  echo 'show stat {backend} 4 -1' | socat stdio {socket} | cut -d, -f2,18,37"},
        {up > 0, CHECK_OK, "{up}"},
    };
    doctor_first(s, "backend.health", "health", rows);
}

/* ---- all of it ---- */

static void report_states(const struct doctor *d, const struct inspect_target *t, struct doctor_section *s)
{
    const struct cfg_file *f = t != NULL ? cfg_content_file(t->file, NULL) : NULL;
    bool whole = d->settings->config_source != SETTINGS_CONFIG_NONE;
    for (size_t i = 0; i < d->settings->mapping_count + whole; i++) {
        const char *backend = i < d->settings->mapping_count ? d->settings->mappings[i].backend : NULL;
        unsigned line = cfg_state_file_line(f, backend);
        if (line == 0)
            continue;
        doctor_word(s, "line", "%u", line);
        doctor_set(s, "backend", backend != NULL ? backend : "NAME");
        doctor_say(s, CHECK_WARN, "haproxy.states", "server states",
                   "line {line}, load-server-state-from-file: a reload may bring back old states\n"
                   "why HAProxy takes addresses, ports, weights and states of servers from the file of "
                   "server-state-file then, not from haproxy.cfg\n"
                   "fix remove that line, or overrule it:\n"
                   "  backend {backend}\n    load-server-state-from-file none");
        return;
    }
}

void doctor_backends_report(const struct doctor *d, const struct settings_dataplane *of,
                            const struct inspect_report *seen, const struct inspect_target *target,
                            struct doctor_section *haproxy)
{
    report_states(d, target, haproxy);
    for (size_t i = 0; target != NULL && i < seen->mapping_count; i++) {
        const struct inspect_backend *b = &target->backends[i];
        cleanup(mem_free_ptr) char *remark =
            of != NULL && d->settings->dataplane_count > 1 ? mem_printf("at %s", of->url) : NULL;
        struct doctor_section *s = doctor_section(d->report, "backend", b->of->backend, remark);
        if (!report_exists(d, seen, target, b, s)) {
            doctor_skip(s, "backend.plan", "plan", "needs the backend");
            continue;
        }
        doctor_set(s, "mode", b->actual.mode);
        const struct doctor_row rows[] = {
            {str_empty(b->actual.mode), CHECK_OK, "set by its defaults section (tcp if that sets none)"},
            {str_eq(b->actual.mode, "http"), CHECK_OK, "{mode}: HAProxy terminates TLS and speaks HTTP to the nodes"},
            {true, CHECK_OK, "{mode}: HAProxy passes TLS through to the ingress controller"},
        };
        doctor_first(s, "backend.mode", "mode", rows);
        report_lines(target, b, of != NULL, s);
        report_plan(b, s);
        doctor_health_report(b, target->served, d->settings->local.stats_socket, s);
    }
}

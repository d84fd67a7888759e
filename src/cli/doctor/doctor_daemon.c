/* The running daemon: what `doctor` asks it, and what it says of the answers. */
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/inspect.h"
#include "cli/running_daemon.h"
#include "daemon/inspect/inspect.h"
#include "json/read.h"
#include "settings/settings.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"

#define NAMES_SHOWN 5

static const char *daemon_text(yyjson_val *of, const char *key)
{
    const char *text = yyjson_get_str(yyjson_obj_get(of, key));
    return text != NULL ? text : "";
}

static void daemon_report_sync(yyjson_val *root, struct doctor_section *s)
{
    const char *state = daemon_text(root, "state");
    struct text_list late = {.between = ", ", .max = NAMES_SHOWN};
    size_t i, max, k, max_backends, all = 0;
    yyjson_val *haproxy, *backend;
    yyjson_arr_foreach (yyjson_obj_get(root, "haproxies"), i, max, haproxy) {
        yyjson_arr_foreach (yyjson_obj_get(haproxy, "backends"), k, max_backends, backend) {
            const char *is = daemon_text(backend, "state");
            all++;
            if (!str_eq(is, "in_sync") && text_list_next(&late))
                buf_printf(&late.text, "%s at %s (%s)", daemon_text(backend, "backend"), daemon_text(haproxy, "url"),
                           is);
        }
    }
    size_t behind = late.count;
    cleanup(mem_free_ptr) char *which = text_list_take(&late);
    doctor_set(s, "state", state);
    doctor_word(s, "late", "%zu of %zu backends are not: %s", behind, all, which != NULL ? which : "");
    const struct doctor_row rows[] = {
        {str_eq(state, "in_sync"), CHECK_OK, "yes, as the daemon reports"},
        {str_eq(state, "standby"), CHECK_OK, "this daemon stands by: another one leads"},
        {which != NULL, CHECK_WARN, "{late}"},
        {true, CHECK_WARN, "no: {state}"},
    };
    doctor_first(s, "daemon.sync", "in sync", rows);
}

/* "[-]watch nodes: ..." Without STATUS_PAGE there is nothing else. */
static void daemon_report_ready(const struct daemon_answer *ready, struct doctor_report *r, struct doctor_section *s)
{
    struct text_list failed = {.between = "; ", .max = 1};
    for (const char *line = buf_str(&ready->body); *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (str_has_prefix(line, "[-]") && text_list_next(&failed))
            buf_addn(&failed.text, line + strlen("[-]"), len - strlen("[-]"));
        line += len + (line[len] == '\n');
    }
    cleanup(mem_free_ptr) char *what = text_list_take(&failed);
    r->not_ready = ready->status != 200;
    if (ready->status == 200)
        doctor_ok(s, "daemon.ready", "ready", "yes, /readyz says so");
    else
        doctor_warn(s, "daemon.ready", "ready", "no: %s", what != NULL ? what : "/readyz does not say why");
}

/* True: a daemon answers. */
static bool daemon_report_running(const struct doctor *d, const struct daemon_answer *ready, struct doctor_section *s)
{
    bool answers = ready->error.kind == ERROR_NONE;
    const char *body = buf_str(&ready->body);
    bool lines = str_has_prefix(body, "[+]") || str_has_prefix(body, "[-]");
    bool is_one = answers && lines && (ready->status == 200 || ready->status == 503);
    cleanup(mem_free_ptr) char *elsewhere = answers || ready->connected ? NULL : running_daemon_process(d->settings);
    doctor_sets(s, {"elsewhere", elsewhere}, {"problem", ready->error.message});
    doctor_word(s, "status", "%d", ready->status);
    const struct doctor_row rows[] = {
        {elsewhere != NULL, CHECK_WARN,
         "nothing answers at LISTEN_ADDRESS; {elsewhere}\n"
         "why that daemon has other settings than these, and what was checked here may not be what it does\n"
         "fix run doctor with the settings of that daemon"},
        {!answers && !ready->connected, CHECK_SKIP,
         "not running: nothing answers at LISTEN_ADDRESS, which is no failure"},
        {!answers, CHECK_WARN,
         "does not answer: {problem}\n"
         "fix see its log:\n  journalctl -u haproxy-k8s-sync -n 50\n"
         "  kubectl -n haproxy-k8s-sync logs deploy/haproxy-k8s-sync"},
        {!is_one, CHECK_WARN,
         "something else answers /readyz with HTTP {status}\n"
         "fix set LISTEN_ADDRESS to the address of the daemon, or to one that is free"},
        {true, CHECK_OK, "runs"},
    };
    doctor_first(s, "daemon.running", "daemon", rows);
    return is_one;
}

/* As `plan` compares them; one that does not lead, or has not read all, does not say them. */
static void daemon_report_settings(const struct doctor *d, const char *url, struct doctor_section *s)
{
    cleanup(daemon_answer_fini) struct daemon_answer plan = {0};
    cleanup(buf_fini) struct buf ours = {0};
    cleanup(mem_free_ptr) char *path = inspect_query(&(const struct inspect_page){.json = true}, url);
    daemon_get(d->base, url, path, d->options->timeout_ms, &plan);
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        plan.status == 200 ? json_parse(buf_str(&plan.body), plan.body.len, 0, "its plan", NULL) : NULL;
    const char *theirs = daemon_text(yyjson_doc_get_root(doc), "settings");
    inspect_print_settings(d->settings, &ours);
    cleanup(mem_free_ptr) char *other = *theirs != '\0' ? inspect_other_settings(theirs, buf_str(&ours)) : NULL;
    doctor_set(s, "other", other);
    if (other != NULL)
        doctor_say(
            s, CHECK_WARN, "daemon.settings", "settings",
            "{other}\n"
            "why it manages something else than these settings name, so what was checked here is not what it does\n"
            "fix run doctor with the settings of that daemon");
}

void doctor_daemon_report(struct doctor *d)
{
    cleanup(daemon_answer_fini) struct daemon_answer ready = {0}, page = {0};
    cleanup(mem_free_ptr) char *url = running_daemon_url(d->settings);
    if (url == NULL)
        return;
    struct doctor_section *s = doctor_section(d->report, "daemon", url, NULL);
    daemon_get(d->base, url, "/readyz", d->options->timeout_ms, &ready);
    if (!daemon_report_running(d, &ready, s))
        return;
    daemon_report_ready(&ready, d->report, s);
    daemon_get(d->base, url, "/status", d->options->timeout_ms, &page);
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        page.status == 200 ? json_parse(buf_str(&page.body), page.body.len, 0, "its status", NULL) : NULL;
    if (doc == NULL) {
        doctor_skip(s, "daemon.sync", "in sync", "it has no /status (STATUS_PAGE=false?)");
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *is = daemon_text(root, "version");
    doctor_sets(s, {"is", is}, {"version", d->options->version});
    const struct doctor_row rows[] = {
        {str_eq(is, d->options->version), CHECK_OK, "{is}, as this program"},
        {true, CHECK_WARN,
         "{is}; this program is {version}\n"
         "why a plan of this program may differ from what that daemon does\n"
         "fix after an upgrade, start the daemon again:\n  systemctl restart haproxy-k8s-sync\n"
         "  kubectl -n haproxy-k8s-sync rollout restart deploy/haproxy-k8s-sync"},
    };
    doctor_first(s, "daemon.version", "version", rows);
    daemon_report_settings(d, url, s);
    daemon_report_sync(root, s);
    /* What /readyz lets pass, and a person should see: objects that are left out, removals that are delayed. */
    struct text_list seen = {.between = "; ", .max = NAMES_SHOWN};
    yyjson_val *list = yyjson_obj_get(root, "checks"), *check;
    size_t i, max;
    yyjson_arr_foreach (list, i, max, check)
        if (str_eq(daemon_text(check, "state"), "warn") && text_list_next(&seen))
            buf_printf(&seen.text, "%s: %s", daemon_text(check, "name"), daemon_text(check, "reason"));
    cleanup(mem_free_ptr) char *what = text_list_take(&seen);
    if (what != NULL)
        doctor_warn(s, "daemon.warnings", "warnings", "%s", what);
}

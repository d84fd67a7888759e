#include "cli/doctor/doctor_daemon.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/doctor/doctor_report.h"
#include "json/read.h"
#include "settings/settings.h"

#define NAMES_SHOWN 5

/* ---- asking ---- */

static void daemon_on_answer(void *arg, const struct http_response *r, const struct error *err)
{
    struct doctor_daemon_answer *a = arg;
    struct doctor_daemon *d = a->of;
    a->request.request = NULL;
    a->status = r->status;
    a->connected = http_response_connection(r).reached >= HTTP_REACHED_PEER;
    if (err != NULL)
        a->error = *err;
    else
        a->body = mem_strndup(buf_str(r->body), r->body->len);
    if (--d->asking == 0)
        d->done(d->arg);
}

size_t doctor_daemon_start(struct doctor_daemon *d, struct event_base *base, const struct settings *settings,
                           uint64_t timeout_ms, void (*done)(void *arg), void *arg)
{
    static const char *const paths[] = {[DOCTOR_DAEMON_READY] = "/readyz", [DOCTOR_DAEMON_STATUS] = "/status"};
    const struct http_callbacks callbacks = {.on_done = daemon_on_answer};
    *d = (struct doctor_daemon){.url = running_daemon_url(settings), .done = done, .arg = arg};
    for (size_t i = 0; d->url != NULL && i < DOCTOR_DAEMON_ANSWERS; i++) {
        struct doctor_daemon_answer *a = &d->answers[i];
        a->of = d;
        d->asking +=
            daemon_request_start(&a->request, base, d->url, paths[i], timeout_ms, &callbacks, a, &a->error) == 0;
    }
    return d->asking > 0;
}

void doctor_daemon_fini(struct doctor_daemon *d)
{
    for (size_t i = 0; i < DOCTOR_DAEMON_ANSWERS; i++) {
        daemon_request_fini(&d->answers[i].request);
        free(d->answers[i].body);
    }
    free(d->url);
    *d = (struct doctor_daemon){0};
}

/* ---- what it says ---- */

static const char *daemon_text(yyjson_val *of, const char *key)
{
    const char *text = yyjson_get_str(yyjson_obj_get(of, key));
    return text != NULL ? text : "";
}

static void daemon_report_version(yyjson_val *root, const char *version, struct doctor_section *s)
{
    static const char id[] = "daemon.version", label[] = "version";
    const char *is = daemon_text(root, "version");
    if (str_eq(is, version)) {
        doctor_ok(s, id, label, "%s, as this program", is);
        return;
    }
    struct doctor_check *c = doctor_warn(s, id, label, "%s; this program is %s", is, version);
    doctor_why(c, "a plan of this program may differ from what that daemon does");
    doctor_fix(
        c, "after an upgrade, start the daemon again",
        "systemctl restart haproxy-k8s-sync\nkubectl -n haproxy-k8s-sync rollout restart deploy/haproxy-k8s-sync");
}

/* "be at http://a:5555 (problem)" of those that are not in sync. */
static void daemon_add_late(yyjson_val *haproxy, struct text_list *late, size_t *all)
{
    yyjson_val *list = yyjson_obj_get(haproxy, "backends"), *backend;
    size_t i, max;
    yyjson_arr_foreach (list, i, max, backend) {
        const char *state = daemon_text(backend, "state");
        ++*all;
        if (!str_eq(state, "in_sync") && text_list_next(late))
            buf_printf(&late->text, "%s at %s (%s)", daemon_text(backend, "backend"), daemon_text(haproxy, "url"),
                       state);
    }
}

static void daemon_report_sync(yyjson_val *root, struct doctor_section *s)
{
    static const char id[] = "daemon.sync", label[] = "in sync";
    struct text_list late = {.between = ", ", .max = NAMES_SHOWN};
    const char *state = daemon_text(root, "state");
    yyjson_val *list = yyjson_obj_get(root, "haproxies"), *haproxy;
    size_t i, max, all = 0;
    yyjson_arr_foreach (list, i, max, haproxy)
        if (yyjson_is_obj(haproxy))
            daemon_add_late(haproxy, &late, &all);
    size_t behind = late.count;
    cleanup(mem_free_ptr) char *which = text_list_take(&late);
    if (str_eq(state, "in_sync"))
        doctor_ok(s, id, label, "yes, as the daemon reports");
    else if (str_eq(state, "standby"))
        doctor_ok(s, id, label, "this daemon stands by: another one leads");
    else if (which != NULL)
        doctor_warn(s, id, label, "%zu of %zu backends are not: %s", behind, all, which);
    else
        doctor_warn(s, id, label, "no: %s", state);
}

/* What /readyz lets pass, and a person should see: objects that are left out, removals that are delayed. */
static void daemon_report_warnings(yyjson_val *root, struct doctor_section *s)
{
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

/* "[-]watch nodes: ..." Without STATUS_PAGE there is nothing else. */
static void daemon_report_ready(const struct doctor_daemon_answer *a, struct doctor_section *s)
{
    static const char id[] = "daemon.ready", label[] = "ready";
    if (a->status == 200) {
        doctor_ok(s, id, label, "yes, /readyz says so");
        return;
    }
    struct text_list failed = {.between = "; ", .max = 1};
    for (const char *line = a->body; line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (str_has_prefix(line, "[-]") && text_list_next(&failed))
            buf_addn(&failed.text, line + strlen("[-]"), len - strlen("[-]"));
        line += len + (line[len] == '\n');
    }
    cleanup(mem_free_ptr) char *what = text_list_take(&failed);
    doctor_warn(s, id, label, "no: %s", what != NULL ? what : "/readyz does not say why");
}

/* ---- the section ---- */

/* None runs, or not here; or it hangs. */
static void daemon_report_none(const struct doctor_daemon_answer *a, struct doctor_section *s)
{
    static const char id[] = "daemon.running", label[] = "daemon";
    if (!a->connected) {
        doctor_skip(s, id, label, "not running: nothing answers at LISTEN_ADDRESS, which is no failure");
        return;
    }
    struct doctor_check *c = doctor_warn(s, id, label, "does not answer: %s", a->error.message);
    doctor_fix(c, "see its log",
               "journalctl -u haproxy-k8s-sync -n 50\nkubectl -n haproxy-k8s-sync logs deploy/haproxy-k8s-sync");
}

static bool daemon_is_one(const struct doctor_daemon_answer *ready)
{
    bool lines = ready->body != NULL && (str_has_prefix(ready->body, "[+]") || str_has_prefix(ready->body, "[-]"));
    return lines && (ready->status == 200 || ready->status == 503);
}

void doctor_daemon_report(const struct doctor_daemon *d, const char *version, struct doctor_report *r)
{
    static const char id[] = "daemon.running", label[] = "daemon";
    const struct doctor_daemon_answer *ready = &d->answers[DOCTOR_DAEMON_READY],
                                      *status = &d->answers[DOCTOR_DAEMON_STATUS];
    if (d->url == NULL)
        return;
    struct doctor_section *s = doctor_section(r, "daemon", d->url, NULL);
    if (ready->error.kind != ERROR_NONE) {
        daemon_report_none(ready, s);
        return;
    }
    if (!daemon_is_one(ready)) {
        struct doctor_check *c =
            doctor_warn(s, id, label, "something else answers /readyz with HTTP %d", ready->status);
        doctor_advice(c, "set LISTEN_ADDRESS to the address of the daemon, or to one that is free");
        return;
    }
    doctor_ok(s, id, label, "runs");
    daemon_report_ready(ready, s);
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        status->status == 200 && status->body != NULL
            ? json_parse(status->body, strlen(status->body), 0, "its status", NULL)
            : NULL;
    if (doc == NULL) {
        doctor_skip(s, "daemon.sync", "in sync", "it has no /status (STATUS_PAGE=false?)");
        return;
    }
    daemon_report_version(yyjson_doc_get_root(doc), version, s);
    daemon_report_sync(yyjson_doc_get_root(doc), s);
    daemon_report_warnings(yyjson_doc_get_root(doc), s);
}

#include "cli/run.h"

#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_print.h"
#include "cli/doctor/doctor_report.h"
#include "cli/flags.h"
#include "cli/inspect.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"
#include "host/timer.h"
#include "settings/table.h"

int run_fail(const struct error *err, int status)
{
    fprintf(stderr, "error: %s\n", err->message);
    return status;
}

int run_manages_servers(const struct settings *s, struct error *err)
{
    if (s->config_target == SETTINGS_TARGET_ETCD)
        return error_set(err, ERROR_INVALID,
                         "CONFIG_TARGET=etcd manages no servers, which this command is about: the running daemon shows "
                         "the state of what is published at /status");
    if (s->mapping_count == 0)
        return error_set(err, ERROR_INVALID,
                         "CONFIG_SOURCE alone manages no servers, which this command is about: set "
                         "INGRESS_SERVICES or INGRESS_SERVICE_NAME");
    return 0;
}

/* ---- the ways to Kubernetes and each HAProxy */

struct event_base *run_base(struct error *err)
{
    struct event_base *base = event_base_new();
    if (base == NULL)
        (void)error_set(err, ERROR_FATAL, "cannot create an event loop: out of file descriptors or memory");
    return base;
}

struct log run_log(const struct run *r, enum log_level least)
{
    enum log_level level = r->settings->log_level;
    bool asked = flags_word(r->flags, SETTING(log_level)) != NULL;
    return (struct log){
        .level = asked || level > least ? level : least, .format = r->settings->log_format, .fd = STDERR_FILENO};
}

int session_begin(const struct run *r, const struct kube_access *access, enum log_level least, struct session *ret,
                  struct error *err)
{
    const struct kube_access none = {0};
    const struct clients_hooks hooks = {0};
    *ret = (struct session){.base = run_base(err), .log = run_log(r, least)};
    telemetry_init(&ret->telemetry, r->version);
    mappings_init(&ret->mappings, r->settings);
    if (ret->base == NULL || clients_make(ret->base, r->settings, access != NULL ? access : &none, r->version, &hooks,
                                          &ret->log, &ret->clients, err) != 0)
        return -1;
    clients_settle(ret->base, &ret->clients);
    return 0;
}

void session_end(struct session *s)
{
    clients_free(&s->clients);
    mappings_fini(&s->mappings);
    telemetry_fini(&s->telemetry);
    if (s->base != NULL)
        event_base_free(s->base);
}

struct waiting {
    struct event_base *base;
    struct timer poll;
    uint64_t poll_ms, until_ms;
    bool (*settled)(void *arg);
    void *arg;
};

static void run_on_poll(void *arg)
{
    struct waiting *w = arg;
    uint64_t now = clock_mono_ms();
    if (w->settled(w->arg) || now >= w->until_ms)
        event_base_loopbreak(w->base);
    else
        timer_set(&w->poll, now + w->poll_ms < w->until_ms ? w->poll_ms : w->until_ms - now);
}

void run_until(struct event_base *base, uint64_t timeout_ms, uint64_t poll_ms, bool (*settled)(void *arg), void *arg)
{
    struct waiting w = {
        .base = base, .poll_ms = poll_ms, .until_ms = clock_mono_ms() + timeout_ms, .settled = settled, .arg = arg};
    timer_init(&w.poll, base, run_on_poll, &w);
    timer_set(&w.poll, poll_ms < timeout_ms ? poll_ms : timeout_ms);
    event_base_dispatch(base);
    timer_fini(&w.poll);
}

/* ---- doctor */

int run_doctor(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    cleanup(doctor_report_fini) struct doctor_report report = {0};
    cleanup(show_fini) struct show show = {0};
    struct error err = {0};
    const struct log log = run_log(r, LOG_LEVEL_ERROR);
    bool accessible = r->ok && start_access(r->settings, r->environ, &access, &err) == 0;
    const struct doctor_options options = {.findings = r->findings,
                                           .access = accessible ? &access : NULL,
                                           .no_access = &err,
                                           .version = r->version,
                                           .log = &log,
                                           .timeout_ms = r->command->timeout_ms};
    show_init(&show, r);
    struct event_base *base = run_base(&err);
    if (base == NULL)
        return run_fail(&err, EXIT_FAILURE);
    doctor_run(base, r->ok ? r->settings : NULL, &options, &report);
    event_base_free(base);
    if (r->command->json)
        doctor_print_json(&report, &show.out);
    else
        doctor_print(&report, &show.page);
    return show_end(&show, doctor_status(&report));
}

/* ---- plan, explain ---- */

struct inspection {
    const struct run *run;
    int status;
};

/* What concerns no backend goes to standard error. */
static void on_report(void *arg, const struct inspect_report *report)
{
    struct inspection *i = arg;
    const struct run *r = i->run;
    bool explains = r->command->kind == COMMAND_EXPLAIN;
    cleanup(show_fini) struct show show = {0};
    cleanup(buf_fini) struct buf problems = {0};
    struct page problem_page;
    show_init(&show, r);
    show_page_init(&problem_page, &problems, stderr, r->command, r->environ);
    if (explains)
        inspect_print_explain(report, &show.page);
    else if (r->command->json)
        inspect_print_json(report, &show.out);
    else
        inspect_print_plan(report, &show.page);
    inspect_print_problems(report, &problem_page);
    int status = show_end(&show, explains ? inspect_explain_status(report) : inspect_plan_status(report));
    i->status = show_text(&problems, stderr) == 0 ? status : EXIT_FAILURE;
}

int run_inspect(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    const struct command *command = r->command;
    struct error err = {0};
    struct session session;
    struct inspection inspection = {.run = r, .status = EXIT_FAILURE};
    const struct inspect_options options = {.daemon = command->kind == COMMAND_PLAN ? command->daemon : NULL,
                                            .node = command->operand,
                                            .timeout_ms = command->timeout_ms,
                                            .show = on_report,
                                            .arg = &inspection};
    if (run_manages_servers(r->settings, &err) != 0 || start_access(r->settings, r->environ, &access, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    if (session_begin(r, &access, LOG_LEVEL_WARN, &session, &err) == 0)
        inspect_refresh(session.base, r->settings, &session.clients, &session.log, &options);
    else
        inspection.status = run_fail(&err, start_status(&err));
    session_end(&session);
    return inspection.status;
}

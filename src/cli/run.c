#include "cli/run.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "settings/settings.h"
#include "settings/show.h"
#include "settings/table.h"
#include "configuration/store.h"
#include "daemon/tracing.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/config_history.h"
#include "cli/copy.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_report.h"
#include "cli/flags.h"
#include "cli/inspect.h"
#include "cli/release.h"
#include "cli/release_print.h"
#include "cli/services.h"
#include "cli/show.h"
#include "cli/start.h"
#include "cli/template.h"

static int run_fail(const struct error *err, int status)
{
    fprintf(stderr, "error: %s\n", err->message);
    return status;
}

static struct event_base *run_base(struct error *err)
{
    struct event_base *base = event_base_new();
    if (base == NULL)
        (void)error_set(err, ERROR_FATAL, "cannot create an event loop: out of file descriptors or memory");
    return base;
}

/* The answer is the output; what a daemon says on its way is of no interest, but to who asks for it by -v. */
static struct log run_log(const struct run *r, enum log_level least)
{
    enum log_level level = r->settings->log_level;
    bool asked = flags_word(r->flags, SETTING(log_level)) != NULL;
    return (struct log){
        .level = asked || level > least ? level : least, .format = r->settings->log_format, .fd = STDERR_FILENO};
}

/* ---- check-config ---- */

/* In a copy of this process, as there is no way back. */
static int run_check_enter(const struct start *start, const struct settings *s, const struct log *log,
                           struct error *err)
{
    int status = 0;
    if (!s->seccomp)
        return EXIT_SUCCESS;
    pid_t copy = fork();
    if (copy == 0)
        _exit(start_enter(start, s, log, err));
    if (copy > 0 && waitpid(copy, &status, 0) == copy && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        return EXIT_SUCCESS;
    (void)error_set(err, ERROR_FATAL, "SECCOMP=true: this kernel takes no filter of system calls");
    return SETTINGS_EXIT_CODE;
}

/* As the daemon starts, but beside one that runs: nothing listens, and nothing is made in STATE_DIR. */
static int run_check_start(const struct run *r, struct error *err)
{
    struct settings *s = r->settings;
    const struct log silent = {.level = LOG_LEVEL_ERROR + 1, .fd = STDERR_FILENO};
    struct start start;
    if (s->state_dir != NULL && s->config_source != SETTINGS_CONFIG_NONE && store_check(s->state_dir, err) != 0)
        return start_status(err);
    free(s->state_dir);
    s->state_dir = NULL;
    settings_listen_nowhere(s);
    int status = start_make(s, r->environ, r->version, &silent, &start, err);
    if (status == EXIT_SUCCESS)
        status = run_check_enter(&start, s, &silent, err);
    start_fini(&start);
    return status != EXIT_SUCCESS || tracing_check(s, err) == 0 ? status : SETTINGS_EXIT_CODE;
}

int run_check_config(const struct run *r)
{
    cleanup(buf_fini) struct buf out = {0};
    struct error err = {0};
    const struct settings_show how = {
        .changed = r->command->changed, .flags = r->flags->given, .flag_count = r->flags->given_count};
    if (!r->ok)
        return SETTINGS_EXIT_CODE;
    settings_print_as(r->settings, &how, &out);
    int status = run_check_start(r, &err);
    if (status != EXIT_SUCCESS)
        return run_fail(&err, status);
    return show_text(&out, stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- plan, explain ---- */

struct inspection {
    const struct command *command;
    char **environ;
    int status;
};

static void on_report(void *arg, const struct inspect_report *report)
{
    struct inspection *i = arg;
    i->status = inspect_show(report, i->command, i->environ);
}

static int run_manages_servers(const struct settings *s, struct error *err)
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

int run_inspect(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    struct error err = {0};
    const struct command *command = r->command;
    if (!r->ok)
        return SETTINGS_EXIT_CODE;
    const struct log log = run_log(r, LOG_LEVEL_WARN);
    struct inspection inspection = {.command = command, .environ = r->environ, .status = EXIT_FAILURE};
    const struct inspect_options options = {.daemon = command->kind == COMMAND_PLAN ? command->daemon : NULL,
                                            .node = command->node,
                                            .timeout_ms = command->timeout_ms,
                                            .show = on_report,
                                            .arg = &inspection};
    if (run_manages_servers(r->settings, &err) != 0 || start_access(r->settings, r->environ, &access, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    struct event_base *base = run_base(&err);
    if (base == NULL || inspect_run(base, r->settings, &access, r->version, &log, &options, &err) != 0)
        inspection.status = run_fail(&err, start_status(&err));
    if (base != NULL)
        event_base_free(base);
    return inspection.status;
}

/* ---- services ---- */

int run_services(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    struct error err = {0};
    if (!r->ok)
        return SETTINGS_EXIT_CODE;
    const struct log log = run_log(r, LOG_LEVEL_ERROR);
    if (r->settings->config_source != SETTINGS_CONFIG_SERVICES)
        (void)error_set(&err, ERROR_INVALID, "this command is about annotated Services: set CONFIG_SOURCE=services");
    if (err.kind != ERROR_NONE || start_access(r->settings, r->environ, &access, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    struct event_base *base = run_base(&err);
    if (base == NULL)
        return run_fail(&err, EXIT_FAILURE);
    int status = services_command(base, r->settings, &access, r->version, &log, r->command);
    event_base_free(base);
    return status;
}

/* ---- release ---- */

static void on_release_report(void *arg, const struct release_report *report)
{
    struct inspection *i = arg;
    cleanup(buf_fini) struct buf text = {0};
    struct page page;
    show_page_init(&page, &text, stdout, i->command, i->environ);
    if (i->command->json)
        release_print_json(report, &text);
    else
        release_print_text(report, &page);
    i->status = show_text(&text, stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run_release(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    struct error err = {0}, no_access = {0};
    if (!r->ok)
        return SETTINGS_EXIT_CODE;
    const struct log log = run_log(r, LOG_LEVEL_ERROR + 1);
    if (run_manages_servers(r->settings, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    struct event_base *base = run_base(&err);
    if (base == NULL)
        return run_fail(&err, EXIT_FAILURE);
    struct inspection inspection = {.command = r->command, .environ = r->environ};
    /* A cluster that is gone is no reason to keep its servers. */
    bool asks = r->settings->leader_elect && start_access(r->settings, r->environ, &access, &no_access) == 0;
    const struct release_command_options options = {.servers = r->command->servers,
                                                    .yes = r->command->yes,
                                                    .daemon = r->command->daemon,
                                                    .access = asks ? &access : NULL,
                                                    .timeout_ms = r->command->timeout_ms,
                                                    .version = r->version,
                                                    .show = on_release_report,
                                                    .arg = &inspection};
    int status = EXIT_FAILURE;
    if (release_command(base, r->settings, &log, &options, &status, &err) != 0)
        status = run_fail(&err, start_status(&err));
    event_base_free(base);
    return inspection.status == EXIT_SUCCESS ? status : EXIT_FAILURE;
}

/* ---- doctor ---- */

int run_doctor(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    cleanup(doctor_report_fini) struct doctor_report report = {0};
    struct error err = {0};
    const struct log log = run_log(r, LOG_LEVEL_ERROR);
    bool accessible = r->ok && start_access(r->settings, r->environ, &access, &err) == 0;
    const struct doctor_options options = {.findings = r->findings,
                                           .access = accessible ? &access : NULL,
                                           .no_access = &err,
                                           .version = r->version,
                                           .log = &log,
                                           .timeout_ms = r->command->timeout_ms};
    struct event_base *base = run_base(&err);
    if (base == NULL)
        return run_fail(&err, EXIT_FAILURE);
    doctor_run(base, r->ok ? r->settings : NULL, &options, &report);
    event_base_free(base);
    return doctor_show(&report, r->command, r->environ);
}

/* ---- config ---- */

static void on_config_report(void *arg, const struct config_report *report)
{
    struct inspection *i = arg;
    i->status = config_show_report(report, i->command, i->environ);
}

static int config_ask(const struct settings *settings, const struct command *command)
{
    struct error err = {0};
    unsigned number;
    bool paused;
    if (config_history_ask(settings, command, &number, &paused, &err) != 0)
        return run_fail(&err, EXIT_FAILURE);
    if (number != 0)
        printf("The daemon rolls back to version %u, and stays there until its source changes.\n", number);
    else
        puts("The daemon tries again what its source has.");
    if (paused)
        puts("It is paused by its source: nothing is written until that ends.");
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int config_is_elsewhere(const struct settings *settings)
{
    struct error err = {0};
    error_set(
        &err, ERROR_INVALID,
        "CONFIG_TARGET=etcd writes to no HAProxy: there is none to ask, and nothing to go back to. On a load "
        "balancer, with its settings (CONFIG_SOURCE=etcd), this command is about its HAProxy. The versions that are "
        "published: etcdctl get --prefix %s/versions/",
        settings->etcd.path);
    return run_fail(&err, EXIT_FAILURE);
}

static int config_with_file(const struct run *r)
{
    struct error err = {0};
    const struct command *command = r->command;
    const char *file = command->operand != NULL ? command->operand : r->settings->config_file;
    const struct log log = run_log(r, LOG_LEVEL_ERROR + 1);
    struct inspection inspection = {.command = command, .environ = r->environ, .status = EXIT_FAILURE};
    const struct config_options options = {.what = command->config,
                                           .file = file,
                                           .timeout_ms = command->timeout_ms,
                                           .version = r->version,
                                           .show = on_config_report,
                                           .arg = &inspection};
    if (file == NULL) {
        (void)error_set(&err, ERROR_INVALID, "which file? haproxy-k8s-sync config plan FILE, or - for standard input");
        return run_fail(&err, EXIT_FAILURE);
    }
    struct event_base *base = run_base(&err);
    if (base == NULL || config_run(base, r->settings, &log, &options, &err) != 0)
        inspection.status = run_fail(&err, EXIT_FAILURE);
    if (base != NULL)
        event_base_free(base);
    return inspection.status;
}

int run_config(const struct run *r)
{
    const struct command *command = r->command;
    bool rolls_back = command->config == COMMAND_CONFIG_ROLLBACK;
    if (!r->ok)
        return SETTINGS_EXIT_CODE;
    if (r->settings->config_target == SETTINGS_TARGET_ETCD)
        return config_is_elsewhere(r->settings);
    if (command->config == COMMAND_CONFIG_HISTORY)
        return config_show_history(r->settings, command, r->environ);
    if (rolls_back || (command->config == COMMAND_CONFIG_APPLY && command->operand == NULL))
        return config_ask(r->settings, command);
    return config_with_file(r);
}

/* ---- without settings ---- */

int run_template(const struct run *r)
{
    return template_command(r->command, r->environ);
}

int run_copy_to(const struct run *r)
{
    struct error err = {0};
    if (copy_to(r->command->operand, &err) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "haproxy-k8s-sync: %s\n", err.message);
    return EXIT_FAILURE;
}

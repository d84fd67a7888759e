/* environment -> settings -> run. No logic lives here. */
#include <event2/event.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "host/sandbox.h"
#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "net/library_memory.h"
#include "daemon/clients.h"
#include "cli/command.h"
#include "cli/copy.h"
#include "cli/flags.h"
#include "cli/older.h"
#include "daemon/controller.h"
#include "daemon/etcd/etcd_access.h"
#include "daemon/template/template_source.h"
#include "daemon/tracing.h"
#include "cli/config.h"
#include "cli/config_history.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect.h"
#include "cli/release.h"
#include "cli/show.h"
#include "cli/services.h"
#include "cli/template.h"

#ifdef WITHOUT_TEMPLATES
#define BUILT ", without templates"
#else
#define BUILT ""
#endif

#define LARGE_BYTES (128 << 10)

static int main_print(void (*fill)(struct buf *out))
{
    cleanup(buf_fini) struct buf out = {0};
    fill(&out);
    return fputs(buf_str(&out), stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Every problem at once, on standard error for check-config and the terminal. */
static void print_findings(const struct settings_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        fprintf(stderr, "%s: %s\n", findings->list[i].is_error ? "error" : "warning", findings->list[i].text);
}

static void log_findings(const struct settings_findings *findings, const struct log *log)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->list[i].is_error)
            log_error(log, "invalid settings", log_str("error", findings->list[i].text));
        else
            log_warn(log, "settings warning", log_str("warning", findings->list[i].text));
    }
}

static int find_kubernetes(const struct settings *settings, char **environ_, struct kube_access *ret, struct error *err)
{
    if (!settings_need_kubernetes(settings))
        return 0;
    if (settings->kubeconfig == NULL)
        return kube_access_in_cluster(environ_, NULL, ret, err);
    if (kube_access_from_kubeconfig(settings->kubeconfig, ret, err) != 0)
        return -1;
    if (settings->seccomp && kube_access_runs_plugin(ret))
        return error_set(
            err, ERROR_FATAL,
            "%s: the credentials come from a program (%s), which SECCOMP=true does not allow: use SECCOMP=false, or "
            "a token file or a client certificate",
            ret->source, ret->exec->command);
    return 0;
}

static int check_config(struct settings *settings, const struct settings_findings *findings, bool ok)
{
    cleanup(buf_fini) struct buf out = {0};
    print_findings(findings);
    if (!ok)
        return SETTINGS_EXIT_CODE;
    struct error err = {0};
    cleanup(kube_access_fini) struct kube_access access = {0};
    if (settings->kubeconfig != NULL && find_kubernetes(settings, NULL, &access, &err) != 0) {
        fprintf(stderr, "error: %s\n", err.message);
        return SETTINGS_EXIT_CODE;
    }
    if (template_source_check(settings, &err) != 0 || clients_check_tls(settings, &err) != 0 ||
        etcd_access_check(settings, &err) != 0 || tracing_check(settings, &err) != 0) {
        fprintf(stderr, "error: %s\n", err.message);
        return SETTINGS_EXIT_CODE;
    }
    settings_print(settings, &out);
    return fputs(buf_str(&out), stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void on_signal(evutil_socket_t signum, short what, void *arg)
{
    (void)what;
    if (signum == SIGHUP)
        controller_compare(arg);
    else
        controller_stop(arg);
}

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

/* Held back until the loop can handle them: one that comes while we start must not kill us. */
static void hold_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < array_len(signals); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(how, &set, NULL);
}

/* once_ms: it ends when all is done, within that time; 0: it goes on. */
static void loop(struct event_base *base, struct controller *controller, uint64_t once_ms)
{
    struct event *events[array_len(signals)];
    for (size_t i = 0; i < array_len(signals); i++) {
        events[i] = evsignal_new(base, signals[i], on_signal, controller);
        if (events[i] == NULL || event_add(events[i], NULL) != 0)
            abort(); /* out of memory */
    }
    hold_signals(SIG_UNBLOCK);
    controller_start(controller);
    if (once_ms > 0)
        controller_stop_when_done(controller, once_ms);
    event_base_dispatch(base);
    for (size_t i = 0; i < array_len(signals); i++)
        event_free(events[i]);
}

/* What the settings name cannot be used, such as a certificate; or the machine has not got what we need. */
static int exit_code(const struct error *err)
{
    return err->kind == ERROR_INVALID ? SETTINGS_EXIT_CODE : EXIT_FAILURE;
}

static void log_started(const struct settings *settings, const struct kube_access *access, const struct log *log)
{
    cleanup(buf_fini) struct buf services = {0}, dataplanes = {0}, template_from = {0};
    settings_print_template_from(settings, &template_from);
    settings_print_mappings(settings, &services);
    settings_print_dataplanes(settings, &dataplanes);
    log_info(
        log, "started", log_str("version", PROJECT_VERSION), log_str("kubernetes", access->server),
        log_str("access", access->source), log_str("dataplane", dataplanes.len > 0 ? buf_str(&dataplanes) : NULL),
        log_str("haproxy", settings->local.file), log_str("services", services.len > 0 ? buf_str(&services) : NULL),
        log_str("config_file", settings->config_file), log_str("config_secret", settings->config_secret_name),
        log_str("template_from", template_from.len > 0 ? buf_str(&template_from) : NULL),
        log_str("etcd", settings_use_etcd(settings) ? settings->etcd.path : NULL),
        log_if(settings->dry_run, log_bool("dry_run", true)), log_if(settings->seccomp, log_bool("seccomp", true)));
}

static int main_run(struct settings *settings, char **environ_, uint64_t once_ms, const struct log *log)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    struct error err = {0};
    if (find_kubernetes(settings, environ_, &access, &err) != 0) {
        log_error(log, "no usable access to the Kubernetes API", log_str("error", err.message));
        return SETTINGS_EXIT_CODE;
    }
    struct event_base *base = event_base_new();
    if (base == NULL) {
        log_error(log, "cannot create an event loop: out of file descriptors or memory");
        return EXIT_FAILURE;
    }
    struct controller *controller = controller_new(base, settings, &access, PROJECT_VERSION, log, &err);
    int status = controller != NULL ? EXIT_SUCCESS : exit_code(&err);
    /* The last thing before the loop: what is needed once only (sockets that listen) is there by now. */
    bool copies = settings->config_source == SETTINGS_CONFIG_TEMPLATE;
    if (controller != NULL && settings->seccomp && sandbox_enter(controller_state_fd(controller), copies, &err) != 0)
        status = SETTINGS_EXIT_CODE;
    if (status == EXIT_SUCCESS) {
        log_started(settings, &access, log);
        loop(base, controller, once_ms);
        log_info(log, "stopped");
        status = controller_failed(controller) ? EXIT_FAILURE : EXIT_SUCCESS;
    } else {
        log_error(log, "cannot start", log_str("error", err.message));
    }
    controller_free(controller);
    event_base_free(base);
    return status;
}

/* ---- plan, explain, doctor ---- */

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

/* The answer is the output; what a daemon says on its way is of no interest. */
static struct log log_of_command(const struct settings *settings, enum log_level least)
{
    return (struct log){.level = settings->log_level > least ? settings->log_level : least,
                        .format = settings->log_format,
                        .fd = STDERR_FILENO};
}

static int inspect(struct settings *settings, char **environ_, const struct command *command)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    struct error err = {0};
    const struct log log = log_of_command(settings, LOG_LEVEL_WARN);
    struct inspection inspection = {.command = command, .environ = environ_, .status = EXIT_FAILURE};
    const struct inspect_options options = {.daemon = command->kind == COMMAND_PLAN ? command->daemon : NULL,
                                            .node = command->node,
                                            .timeout_ms = command->timeout_ms,
                                            .show = on_report,
                                            .arg = &inspection};
    if (settings->config_target == SETTINGS_TARGET_ETCD)
        error_set(
            &err, ERROR_INVALID,
            "CONFIG_TARGET=etcd manages no servers, which this command is about: how what is published stands, the "
            "running daemon says at /status");
    else if (settings->mapping_count == 0)
        error_set(&err, ERROR_INVALID,
                  "CONFIG_SOURCE alone manages no servers, which this command is about: set "
                  "INGRESS_SERVICES or INGRESS_SERVICE_NAME");
    if (err.kind != ERROR_NONE || find_kubernetes(settings, environ_, &access, &err) != 0) {
        fprintf(stderr, "error: %s\n", err.message);
        return SETTINGS_EXIT_CODE;
    }
    struct event_base *base = event_base_new();
    if (base == NULL)
        error_set(&err, ERROR_FATAL, "cannot create an event loop: out of file descriptors or memory");
    if (base == NULL || inspect_run(base, settings, &access, PROJECT_VERSION, &log, &options, &err) != 0) {
        fprintf(stderr, "error: %s\n", err.message);
        inspection.status = exit_code(&err);
    }
    if (base != NULL)
        event_base_free(base);
    return inspection.status;
}

static int services(const struct settings *settings, char **environ_, const struct command *command)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    struct error err = {0};
    const struct log log = log_of_command(settings, LOG_LEVEL_ERROR);
    if (settings->config_source != SETTINGS_CONFIG_SERVICES)
        error_set(&err, ERROR_INVALID, "this command is about annotated Services: set CONFIG_SOURCE=services");
    if (err.kind != ERROR_NONE || find_kubernetes(settings, environ_, &access, &err) != 0) {
        fprintf(stderr, "error: %s\n", err.message);
        return SETTINGS_EXIT_CODE;
    }
    struct event_base *base = event_base_new();
    if (base == NULL) {
        fputs("error: cannot create an event loop: out of file descriptors or memory\n", stderr);
        return EXIT_FAILURE;
    }
    int status = services_command(base, settings, &access, PROJECT_VERSION, &log, command);
    event_base_free(base);
    return status;
}

static int release(struct settings *settings, char **environ_, const struct command *command)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    cleanup(buf_fini) struct buf text = {0};
    struct error err = {0}, no_access = {0};
    struct page page;
    const struct log log = log_of_command(settings, LOG_LEVEL_ERROR + 1);
    int status = EXIT_FAILURE;
    if (settings->config_target == SETTINGS_TARGET_ETCD || settings->mapping_count == 0) {
        fputs("error: these settings manage no servers, which this command is about: set INGRESS_SERVICES or "
              "INGRESS_SERVICE_NAME\n",
              stderr);
        return SETTINGS_EXIT_CODE;
    }
    struct event_base *base = event_base_new();
    if (base == NULL) {
        fputs("error: cannot create an event loop: out of file descriptors or memory\n", stderr);
        return EXIT_FAILURE;
    }
    show_page_init(&page, &text, stdout, command, environ_);
    /* A cluster that is gone must not keep anybody from releasing its load balancer. */
    bool asks = settings->leader_elect && find_kubernetes(settings, environ_, &access, &no_access) == 0;
    const struct release_command_options options = {.servers = command->servers,
                                                    .yes = command->yes,
                                                    .daemon = command->daemon,
                                                    .access = asks ? &access : NULL,
                                                    .timeout_ms = command->timeout_ms,
                                                    .version = PROJECT_VERSION,
                                                    .page = &page};
    if (release_command(base, settings, &log, &options, &status, &err) != 0) {
        fprintf(stderr, "error: %s\n", err.message);
        status = exit_code(&err);
    }
    event_base_free(base);
    return fputs(buf_str(&text), stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : status;
}

/* ok: the settings can be used. */
static int doctor(struct settings *settings, const struct settings_findings *findings, bool ok, char **environ_,
                  const struct command *command)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    cleanup(doctor_report_fini) struct doctor_report report = {0};
    struct error err = {0};
    const struct log log = log_of_command(settings, LOG_LEVEL_ERROR);
    bool accessible = ok && find_kubernetes(settings, environ_, &access, &err) == 0;
    const struct doctor_options options = {.findings = findings,
                                           .access = accessible ? &access : NULL,
                                           .no_access = &err,
                                           .version = PROJECT_VERSION,
                                           .log = &log,
                                           .timeout_ms = command->timeout_ms};
    struct event_base *base = event_base_new();
    if (base == NULL) {
        fprintf(stderr, "error: cannot create an event loop: out of file descriptors or memory\n");
        return EXIT_FAILURE;
    }
    doctor_run(base, ok ? settings : NULL, &options, &report);
    event_base_free(base);
    return doctor_show(&report, command, environ_);
}

/* ---- config ---- */

static void on_config_report(void *arg, const struct config_report *report)
{
    struct inspection *i = arg;
    i->status = config_show_report(report, i->command, i->environ);
}

static int config_fail(const struct error *err)
{
    fprintf(stderr, "error: %s\n", err->message);
    return EXIT_FAILURE;
}

static int config_ask(const struct settings *settings, const struct command *command)
{
    struct error err = {0};
    unsigned number;
    bool paused;
    if (config_history_ask(settings, command, &number, &paused, &err) != 0)
        return config_fail(&err);
    if (number != 0)
        printf("The daemon goes back to version %u, and stays there until its source changes.\n", number);
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
    return config_fail(&err);
}

/* ok: the settings can be used. */
static int config(struct settings *settings, bool ok, char **environ_, const struct command *command)
{
    if (!ok)
        return SETTINGS_EXIT_CODE;
    if (settings->config_target == SETTINGS_TARGET_ETCD)
        return config_is_elsewhere(settings);
    if (command->config == COMMAND_CONFIG_HISTORY)
        return config_show_history(settings, command, environ_);
    if (command->config == COMMAND_CONFIG_ROLLBACK ||
        (command->config == COMMAND_CONFIG_APPLY && command->operand == NULL))
        return config_ask(settings, command);
    struct error err = {0};
    struct event_base *base = event_base_new();
    if (base == NULL) {
        (void)error_set(&err, ERROR_FATAL, "cannot create an event loop: out of file descriptors or memory");
        return config_fail(&err);
    }
    const struct log log = log_of_command(settings, LOG_LEVEL_ERROR + 1);
    struct inspection inspection = {.command = command, .environ = environ_, .status = EXIT_FAILURE};
    const char *file = command->operand != NULL ? command->operand : settings->config_file;
    const struct config_options options = {.what = command->config,
                                           .file = file,
                                           .timeout_ms = command->timeout_ms,
                                           .version = PROJECT_VERSION,
                                           .show = on_config_report,
                                           .arg = &inspection};
    if (file == NULL)
        (void)error_set(&err, ERROR_INVALID, "which file? haproxy-k8s-sync config plan FILE, or - for standard input");
    if (file == NULL || config_run(base, settings, &log, &options, &err) != 0)
        inspection.status = config_fail(&err);
    event_base_free(base);
    return inspection.status;
}

/* By itself libevent would wait for the reader of standard error. */
static void on_libevent(int severity, const char *message)
{
    cleanup(buf_fini) struct buf line = {0};
    buf_printf(&line, "libevent: %s\n", message);
    if (severity >= EVENT_LOG_WARN)
        fd_put(STDERR_FILENO, line.data, line.len);
}

static int main_start(const struct command *command, char **environ_)
{
    cleanup(settings_fini) struct settings settings = {0};
    cleanup(settings_findings_fini) struct settings_findings findings = {0};
    struct error err = {0};
    signal(SIGPIPE, SIG_IGN);
    if (sandbox_harden(&err) != 0 || library_memory_wipe(&err) != 0) {
        fprintf(stderr, "haproxy-k8s-sync: %s\n", err.message);
        return EXIT_FAILURE;
    }
    /* What a large answer took goes back to the system at its end: glibc would raise the limit with each, and keep them. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    if (command->kind == COMMAND_RUN || command->kind == COMMAND_APPLY)
        hold_signals(SIG_BLOCK);
    event_set_log_callback(on_libevent);
    bool ok = settings_parse(environ_, &settings, &findings) == 0;
    settings_wipe_environment(environ_);
    if (command->kind == COMMAND_CHECK_CONFIG)
        return check_config(&settings, &findings, ok);
    if (command->kind == COMMAND_DOCTOR)
        return doctor(&settings, &findings, ok, environ_, command);
    if (command->kind == COMMAND_CONFIG) {
        print_findings(&findings);
        return config(&settings, ok, environ_, command);
    }
    bool once = command->kind == COMMAND_APPLY;
    if (command->kind != COMMAND_RUN && !once) {
        print_findings(&findings);
        return !ok                                 ? SETTINGS_EXIT_CODE
               : command->kind == COMMAND_SERVICES ? services(&settings, environ_, command)
               : command->kind == COMMAND_RELEASE  ? release(&settings, environ_, command)
                                                   : inspect(&settings, environ_, command);
    }
    struct log_losses losses = {0};
    const struct log log = {
        .level = settings.log_level, .format = settings.log_format, .fd = STDERR_FILENO, .losses = &losses};
    log_findings(&findings, &log);
    if (once) /* beside a daemon that has the same settings */
        settings_listen_nowhere(&settings);
    return ok ? main_run(&settings, environ_, once ? command->timeout_ms : 0, &log) : SETTINGS_EXIT_CODE;
}

int main(int argc, char **argv, char **environ_)
{
    struct command command;
    struct error err = {0};
    cleanup(flags_fini) struct flags flags = {0};
    char folder[PATH_MAX];
    int older = older_take(argc, argv, environ_, getcwd(folder, sizeof(folder)) != NULL ? folder : "/", &flags, &err);
    if (older < 0 || (older == 0 && flags_take(argc, argv, environ_, &flags, &err) != 0) ||
        command_parse(flags.argc, flags.argv, &command, &err) != 0) {
        fprintf(stderr, "haproxy-k8s-sync: %s; see haproxy-k8s-sync --help\n", err.message);
        return COMMAND_USAGE_EXIT_CODE;
    }
    if (command.kind == COMMAND_HELP)
        return main_print(settings_print_help);
    if (command.kind == COMMAND_VERSION) {
        puts("haproxy-k8s-sync " PROJECT_VERSION BUILT);
        return EXIT_SUCCESS;
    }
    if (command.kind == COMMAND_COPY_TO) {
        if (copy_to(command.operand, &err) == 0)
            return EXIT_SUCCESS;
        fprintf(stderr, "haproxy-k8s-sync: %s\n", err.message);
        return EXIT_FAILURE;
    }
    if (command.kind == COMMAND_TEMPLATE)
        return template_command(&command, flags.environment);
    return main_start(&command, flags.environment);
}

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
#include "base/mem.h"
#include "base/str.h"
#include "host/sandbox.h"
#include "settings/parse.h"
#include "settings/settings.h"
#include "net/http.h"
#include "daemon/controller.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/run.h"

#ifdef WITHOUT_TEMPLATES
#define HAS_TEMPLATES false
#else
#define HAS_TEMPLATES true
#endif
#ifndef PROJECT_COMMIT
#define PROJECT_COMMIT ""
#endif

#define LARGE_BYTES (128 << 10)

static void on_signal(evutil_socket_t signum, short what, void *arg)
{
    (void)what;
    if (signum == SIGHUP)
        controller_compare(arg);
    else
        controller_shutdown(arg);
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
        controller_shutdown_when_done(controller, once_ms);
    event_base_dispatch(base);
    for (size_t i = 0; i < array_len(signals); i++)
        event_free(events[i]);
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
    struct error err = {0};
    struct start start;
    int status = start_make(settings, environ_, PROJECT_VERSION, log, &start, &err);
    if (status == EXIT_SUCCESS)
        status = start_enter(&start, settings, log, &err);
    if (status == EXIT_SUCCESS) {
        log_started(settings, &start.access, log);
        loop(start.base, start.controller, once_ms);
        log_info(log, "stopped");
        status = controller_failed(start.controller) ? EXIT_FAILURE : EXIT_SUCCESS;
    } else {
        log_error(log, start.what, log_str("error", err.message));
    }
    start_fini(&start);
    return status;
}

/* By itself libevent would wait for the reader of standard error. */
static void on_libevent(int severity, const char *message)
{
    cleanup(buf_fini) struct buf line = {0};
    buf_printf(&line, "libevent: %s\n", message);
    if (severity >= EVENT_LOG_WARN)
        fd_put(STDERR_FILENO, line.data, line.len);
}

/* row NULL, or without a function: the daemon, which `apply` runs once. */
static int main_start(const struct command *command, const struct flags *flags)
{
    cleanup(settings_fini) struct settings settings = {0};
    cleanup(settings_findings_fini) struct settings_findings findings = {0};
    struct error err = {0};
    char **environ_ = flags->environment;
    bool runs = command->row == NULL || command->row->run == NULL, once = command->kind == COMMAND_APPLY;
    signal(SIGPIPE, SIG_IGN);
    if (sandbox_harden(&err) != 0 || library_memory_wipe(&err) != 0) {
        fprintf(stderr, "haproxy-k8s-sync: %s\n", err.message);
        return EXIT_FAILURE;
    }
    /* What a large answer took goes back to the system at its end: glibc would raise the limit with each, and keep them. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    if (runs)
        hold_signals(SIG_BLOCK);
    event_set_log_callback(on_libevent);
    bool ok = settings_parse(environ_, &settings, &findings) == 0;
    settings_wipe_environment(environ_);
    if (!runs) {
        const struct run run = {.command = command,
                                .flags = flags,
                                .environ = environ_,
                                .version = PROJECT_VERSION,
                                .settings = &settings,
                                .findings = &findings,
                                .ok = ok};
        for (size_t i = 0; command->kind != COMMAND_DOCTOR && i < findings.count; i++) /* which reports them itself */
            fprintf(stderr, "%s: %s\n", findings.list[i].is_error ? "error" : "warning", findings.list[i].text);
        return ok || command->kind == COMMAND_DOCTOR ? command->row->run(&run) : SETTINGS_EXIT_CODE;
    }
    struct log_losses losses = {0};
    const struct log log = {
        .level = settings.log_level, .format = settings.log_format, .fd = STDERR_FILENO, .losses = &losses};
    for (size_t i = 0; i < findings.count; i++) {
        if (findings.list[i].is_error)
            log_error(&log, "invalid settings", log_str("error", findings.list[i].text));
        else
            log_warn(&log, "settings warning", log_str("warning", findings.list[i].text));
    }
    if (once) /* a daemon with the same settings may run */
        settings_listen_nowhere(&settings);
    return ok ? main_run(&settings, environ_, once ? command->timeout_ms : 0, &log) : SETTINGS_EXIT_CODE;
}

static int main_misuse(const struct error *err)
{
    bool asks = str_has_suffix(err->message, "?");
    fprintf(stderr, "haproxy-k8s-sync: %s%s haproxy-k8s-sync --help\n", err->message, asks ? " See" : "; see");
    return COMMAND_USAGE_EXIT_CODE;
}

/* A link of that name is `kubectl haproxy-sync`: without a word it is help, and it finds the cluster where kubectl does. */
static bool main_is_plugin(const char *self)
{
    const char *slash = strrchr(self, '/'), *home = getenv("HOME");
    if (!str_has_prefix(slash != NULL ? slash + 1 : self, "kubectl-"))
        return false;
    cleanup(mem_free_ptr) char *usual = mem_printf("%s/.kube/config", home != NULL ? home : "");
    if (access(usual, R_OK) == 0)
        (void)setenv("KUBECONFIG", usual, 0);
    return true;
}

int main(int argc, char **argv)
{
    bool plugin = main_is_plugin(argv[0]);
    char **environ_ = environ;
    struct command command;
    struct error err = {0};
    cleanup(flags_fini) struct flags flags = {0};
    char folder[PATH_MAX];
    int older = older_take(argc, argv, environ_, getcwd(folder, sizeof(folder)) != NULL ? folder : "/", &flags, &err);
    if (older < 0 || (older == 0 && flags_take(argc, argv, environ_, &flags, &err) != 0) ||
        command_parse(flags.argc, flags.argv, &command, &err) != 0 || command_check_flags(&command, &flags, &err) != 0)
        return main_misuse(&err);
    if (plugin && command.kind == COMMAND_RUN)
        command.kind = COMMAND_HELP;
    if (command.kind == COMMAND_HELP) {
        cleanup(buf_fini) struct buf out = {0};
        if (help_print(&command, &out, &err) != 0)
            return main_misuse(&err);
        return show_text(&out, stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (command.row != NULL && command.row->has_no_settings) {
        const struct run run = {.command = &command,
                                .flags = &flags,
                                .environ = flags.environment,
                                .version = PROJECT_VERSION,
                                .commit = PROJECT_COMMIT,
                                .has_templates = HAS_TEMPLATES};
        return command.row->run(&run);
    }
    return main_start(&command, &flags);
}

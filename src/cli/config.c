#include "cli/config.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "configuration/files_folder.h"
#include "configuration/store.h"
#include "daemon/clients.h"
#include "daemon/mappings.h"
#include "daemon/targets.h"
#include "host/timer.h"
#include "report/history.h"
#include "report/telemetry.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"

#define LOOK_MS 10 /* whether all is known */

struct config_job {
    struct event_base *base;
    const struct config_options *options;
    struct document *document;
    struct clients clients;
    struct mappings mappings;
    struct telemetry telemetry;
    struct store *store;
    struct configuration *configuration;
    struct targets *targets;
    struct timer look;
    uint64_t until_ms;
};

/* ---- one HAProxy ---- */

static bool config_is_rejected(const struct configuration_view *v)
{
    return str_eq(v->state, "rejected");
}

/* There is no more to come. */
static bool config_is_settled(const struct config_job *j, size_t i)
{
    const struct configuration_view v = configuration_view(j->configuration, i);
    bool writes = j->options->what == COMMAND_CONFIG_APPLY;
    if (str_eq(v.state, "new"))
        return v.away || v.files_missing;
    return config_is_rejected(&v) || (str_eq(v.state, "applied") && (!writes || v.files_done)) ||
           (!writes && !str_eq(v.state, "new"));
}

/* What is rejected by one is written nowhere. */
static void config_look(void *arg)
{
    struct config_job *j = arg;
    bool settled = true, rejected = false, valid = true;
    for (size_t i = 0; i < targets_count(j->targets); i++) {
        const struct configuration_view v = configuration_view(j->configuration, i);
        settled = settled && config_is_settled(j, i);
        rejected = rejected || config_is_rejected(&v);
        valid = valid && (config_is_settled(j, i) || str_eq(v.state, "valid"));
    }
    if (settled || (rejected && valid) || clock_mono_ms() >= j->until_ms)
        event_base_loopbreak(j->base);
    else
        timer_set(&j->look, LOOK_MS);
}

/* ---- the run ---- */

static void config_on_stopped(void *arg)
{
    event_base_loopbreak(arg);
}

static int config_start(struct config_job *j, struct settings *settings, const struct log *log, struct error *err)
{
    const struct kube_access none = {0};
    const struct clients_hooks hooks = {0};
    if (settings_haproxies_are_pods(settings))
        return error_set(
            err, ERROR_INVALID,
            "the HAProxies are pods (`targets` of the template set), which this command does not read: set "
            "HAPROXY_DATAPLANE_URL to one of them");
    j->store = store_new(NULL, log, err);
    if (j->store == NULL ||
        clients_make(j->base, settings, &none, j->options->version, &hooks, log, &j->clients, err) != 0)
        return -1;
    clients_settle(j->base, &j->clients);
    /* Without a CONFIG_SOURCE nobody said that there is a servers engine beside it. */
    const struct keep_rules none_kept = {0};
    bool alone = settings->config_source == SETTINGS_CONFIG_NONE;
    const struct configuration_options options = {.target_count = settings_haproxy_count(settings),
                                                  .require_all = settings->config_require_all,
                                                  .dry_run = j->options->what != COMMAND_CONFIG_APPLY,
                                                  .foresees = j->options->what == COMMAND_CONFIG_PLAN,
                                                  .allow_lockout = settings->config_allow_lockout,
                                                  .keep = alone ? none_kept : j->mappings.keep,
                                                  .store = j->store,
                                                  .log = log};
    j->configuration = configuration_new(j->base, &options);
    const struct targets_options targets = {
        .instance = {.resync_period_ms = settings->resync_period_ms, .telemetry = &j->telemetry, .log = log},
        .configuration = j->configuration};
    size_t count;
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(j->base, &j->clients, settings, &count);
    j->targets = targets_new(j->base, &targets, drivers, count, err);
    return j->targets != NULL ? 0 : -1;
}

static void config_show(const struct config_job *j)
{
    size_t count = targets_count(j->targets);
    struct config_target *targets = mem_array(count, sizeof(targets[0]));
    for (size_t i = 0; i < count; i++) {
        const struct instance_view v = instance_view(targets_at(j->targets, i)->instance);
        targets[i] = (struct config_target){.url = v.url, .problem = v.problem->message};
    }
    const struct config_report report = {.what = j->options->what,
                                         .document = j->document,
                                         .configuration = j->configuration,
                                         .targets = targets,
                                         .count = count};
    j->options->show(j->options->arg, &report);
    free(targets);
}

/* With the files of a folder; NULL: none. */
static struct document *config_read(const char *file, const char *folder, enum document_use use, struct error *err)
{
    bool standard_input = str_eq(file, "-");
    const char *name = standard_input ? "standard input" : file;
    cleanup(buf_fini) struct buf text;
    buf_init_secret(&text, DOCUMENT_MAX_BYTES);
    cleanup(storage_files_fini) struct storage_files files = {0};
    if (folder != NULL && files_folder_read(folder, &files, err) != 0)
        return NULL;
    if (buf_read_file(&text, standard_input ? "/dev/stdin" : file) == 0)
        return document_new_of(use, name, buf_str(&text), text.len, NULL, folder != NULL ? &files : NULL, err);
    (void)error_set(err, ERROR_INVALID, errno == EFBIG ? "%s: it is too large" : "%s: %m", name);
    return NULL;
}

int config_run(struct event_base *base, struct settings *settings, const struct log *log,
               const struct config_options *options, struct error *err)
{
    enum document_use use = settings->local.file != NULL ? DOCUMENT_FOR_FILE : DOCUMENT_FOR_APIS;
    struct config_job j = {
        .base = base, .options = options, .document = config_read(options->file, settings->config_files_dir, use, err)};
    if (j.document == NULL)
        return -1;
    timer_init(&j.look, base, config_look, &j);
    telemetry_init(&j.telemetry, options->version);
    mappings_init(&j.mappings, settings);
    int status = config_start(&j, settings, log, err);
    if (status == 0) {
        j.until_ms = clock_mono_ms() + options->timeout_ms;
        configuration_set(j.configuration, j.document);
        targets_start(j.targets);
        timer_set(&j.look, LOOK_MS);
        event_base_dispatch(base);
        config_show(&j);
        targets_stop(j.targets, config_on_stopped, base);
        event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
    }
    targets_free(j.targets);
    configuration_free(j.configuration);
    clients_free(&j.clients);
    mappings_fini(&j.mappings);
    store_free(j.store);
    telemetry_fini(&j.telemetry);
    timer_fini(&j.look);
    document_unref(j.document);
    return status;
}

#include "cli/config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "cli/run.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "configuration/file_source.h"
#include "configuration/store.h"
#include "daemon/config/config_engine.h"
#include "daemon/targets.h"
#include "json/write.h"

#define SETTLED_MS 10 /* how often it is checked whether all is known */
#define POLL_MS 20

/* ---- config plan, validate, apply FILE */

struct config_job {
    struct session session;
    enum command_kind what;
    struct document *document;
    struct store *store;
    struct configuration *configuration;
    struct targets *targets;
};

/* What is rejected by one is written nowhere. */
static bool config_settled(void *arg)
{
    struct config_job *j = arg;
    bool all_settled = true, rejected = false, all_valid = true;
    for (size_t i = 0; i < targets_count(j->targets); i++) {
        const struct configuration_view v = configuration_view(j->configuration, i);
        /* There is no more to come. */
        bool settled = str_eq(v.state, "new") ? v.away || v.files_missing
                                              : j->what != COMMAND_CONFIG_APPLY || str_eq(v.state, "rejected") ||
                                                    (str_eq(v.state, "applied") && v.files_done);
        all_settled = all_settled && settled;
        rejected = rejected || str_eq(v.state, "rejected");
        all_valid = all_valid && (settled || str_eq(v.state, "valid"));
    }
    return all_settled || (rejected && all_valid);
}

/* With the files of a folder; NULL: none. */
static struct document *config_read(const char *file, const struct settings *settings, struct error *err)
{
    bool standard_input = str_eq(file, "-");
    const char *name = standard_input ? "standard input" : file, *folder = settings->config_files_dir;
    cleanup(buf_fini) struct buf text;
    buf_init_secret(&text, DOCUMENT_MAX_BYTES);
    cleanup(storage_files_fini) struct storage_files files = {0};
    if (folder != NULL && files_folder_read(folder, &files, err) != 0)
        return NULL;
    if (buf_read_file(&text, standard_input ? "/dev/stdin" : file) == 0)
        return document_new(settings->local.file != NULL ? DOCUMENT_FOR_FILE : DOCUMENT_FOR_APIS, name, buf_str(&text),
                            text.len, NULL, folder != NULL ? &files : NULL, err);
    (void)error_set(err, ERROR_INVALID, errno == EFBIG ? "%s: it is too large" : "%s: %m", name);
    return NULL;
}

static int config_start(struct config_job *j, const struct run *r, struct error *err)
{
    struct settings *settings = r->settings;
    struct session *s = &j->session;
    if (settings_haproxies_are_pods(settings))
        return error_set(
            err, ERROR_INVALID,
            "the HAProxies are pods (`targets` of the template set), which this command does not read: set "
            "HAPROXY_DATAPLANE_URL to one of them");
    if (session_begin(r, NULL, LOG_LEVEL_ERROR + 1, s, err) != 0)
        return -1;
    j->store = store_new(NULL, &s->log, err);
    if (j->store == NULL)
        return -1;
    /* Without a CONFIG_SOURCE nothing says that there is a servers engine, too. */
    const struct keep_rules none_kept = {0};
    bool alone = settings->config_source == SETTINGS_CONFIG_NONE;
    const struct configuration_options options = {.target_count = settings_haproxy_count(settings),
                                                  .dry_run = j->what != COMMAND_CONFIG_APPLY,
                                                  .foresees = j->what == COMMAND_CONFIG_PLAN,
                                                  .allow_lockout = settings->config_allow_lockout,
                                                  .keep = alone ? none_kept : s->mappings.keep,
                                                  .store = j->store,
                                                  .log = &s->log};
    j->configuration = configuration_new(s->base, &options);
    const struct targets_options targets = {
        .instance = {.resync_period_ms = settings->resync_period_ms, .metrics = &s->metrics, .log = &s->log},
        .configuration = j->configuration};
    size_t count;
    cleanup(mem_free_ptr) struct driver **drivers = clients_drivers(s->base, &s->clients, settings, &count);
    j->targets = targets_new(s->base, &targets, drivers, count, err);
    return j->targets != NULL ? 0 : -1;
}

static int config_show(const struct config_job *j, const struct run *r)
{
    cleanup(show_fini) struct show show = {0};
    size_t count = targets_count(j->targets);
    cleanup(mem_free_ptr) struct config_target *targets = mem_array(count, sizeof(targets[0]));
    for (size_t i = 0; i < count; i++) {
        const struct instance_view v = instance_view(targets_at(j->targets, i)->instance);
        targets[i] = (struct config_target){.url = v.url, .problem = v.problem->message};
    }
    const struct config_report report = {.what = j->what,
                                         .document = j->document,
                                         .configuration = j->configuration,
                                         .targets = targets,
                                         .count = count};
    show_init(&show, r);
    if (r->command->json)
        config_print_json(&report, &show.out);
    else
        config_print(&report, &show.page);
    return show_end(&show, config_status(&report));
}

static void config_on_stopped(void *arg)
{
    event_base_loopbreak(arg);
}

static int config_with_file(const struct run *r)
{
    const char *file = r->command->operand != NULL ? r->command->operand : r->settings->config_file;
    struct error err = {0};
    if (file == NULL) {
        (void)error_set(&err, ERROR_INVALID, "which file? haproxy-k8s-sync config plan FILE, or - for standard input");
        return run_fail(&err, EXIT_FAILURE);
    }
    struct config_job j = {.what = r->command->kind, .document = config_read(file, r->settings, &err)};
    int status = EXIT_FAILURE;
    if (j.document == NULL)
        return run_fail(&err, EXIT_FAILURE);
    if (config_start(&j, r, &err) == 0) {
        configuration_set(j.configuration, j.document);
        targets_start(j.targets);
        run_until(j.session.base, r->command->timeout_ms, SETTLED_MS, config_settled, &j);
        status = config_show(&j, r);
        targets_stop(j.targets, config_on_stopped, j.session.base);
        event_base_loop(j.session.base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
    } else {
        (void)run_fail(&err, status);
    }
    targets_free(j.targets);
    configuration_free(j.configuration);
    session_end(&j.session);
    store_free(j.store);
    document_unref(j.document);
    return status;
}

/* ---- config history: what the daemon keeps in STATE_DIR (configuration/store) */

static struct store *config_open(const struct settings *settings, struct error *err)
{
    if (settings->state_dir != NULL)
        return store_read(settings->state_dir, NULL, err);
    (void)error_set(err, ERROR_INVALID,
                    "STATE_DIR is not set: the daemon keeps its versions in memory alone, until it ends. Set STATE_DIR "
                    "to a folder of its own, for it and for this command");
    return NULL;
}

static void config_print_history(const struct store *s, struct page *p)
{
    if (store_view(s).paused)
        page_flow_line(p, INK_YELLOW, "Paused by its source: nothing is written until that ends.");
    if (store_count(s) == 0)
        page_flow_line(p, INK_PLAIN, "No configuration was applied yet.");
    for (size_t i = 0; i < store_count(s); i++) {
        const struct store_version *v = store_version(s, i);
        char applied[RFC3339_BYTES];
        rfc3339_format(v->applied_ms * 1000, 0, applied);
        page_printf(p, i == 0 ? INK_BOLD : INK_PLAIN, "%u", v->number);
        page_to(p, 6);
        page_printf(p, INK_PLAIN, "%s  %.12s  %zu bytes  %s", applied, v->hash, v->bytes, v->origin);
        page_end_line(p);
        for (size_t k = 0; k < v->target_count; k++) {
            page_to(p, 6);
            page_put(p, INK_DIM, v->targets[k]);
            page_end_line(p);
        }
    }
}

/* As JSON {"versions": [{"number", "applied", "sha256", "bytes", "source", "targets"}], "paused"}, the latest first. */
static int config_history(const struct run *r)
{
    cleanup(show_fini) struct show show = {0};
    struct error err = {0};
    struct store *s = config_open(r->settings, &err);
    if (s == NULL)
        return run_fail(&err, EXIT_FAILURE);
    show_init(&show, r);
    if (r->command->json) {
        struct yyjson_mut_val *root;
        struct yyjson_mut_doc *doc = json_new(&root);
        struct yyjson_mut_val *versions = json_put_list(doc, root, "versions");
        for (size_t i = 0; i < store_count(s); i++)
            store_put_version(s, i, doc, versions);
        json_fields(doc, root, json_bool("paused", store_view(s).paused));
        json_print(doc, &show.out);
    } else {
        config_print_history(s, &show.page);
    }
    store_free(s);
    return show_end(&show, EXIT_SUCCESS);
}

/* ---- config rollback, and apply without a file: the running daemon is asked, and answers by STATE_DIR */

/* By default the version before the one that runs. */
static int config_choose(const struct store *s, const char *operand, unsigned *ret, struct error *err)
{
    uint64_t number = 0;
    if (operand != NULL && str_parse_uint(operand, UINT32_MAX, &number) == 0) {
        for (size_t i = 0; i < store_count(s); i++)
            if (store_version(s, i)->number == number) {
                *ret = (unsigned)number;
                return 0;
            }
        return error_set(err, ERROR_INVALID, "there is no version %s; `config history` lists those that are kept",
                         operand);
    }
    if (store_count(s) < 2)
        return error_set(err, ERROR_INVALID, "there is no version before the one that runs");
    *ret = store_version(s, 1)->number;
    return 0;
}

/* Puts the request into the folder, and waits until the daemon has taken it away. */
static int config_request(const char *folder, const char *words, uint64_t timeout_ms, struct error *err)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/" CONFIG_REQUEST_FILE, folder);
    cleanup(mem_free_ptr) char *part = mem_printf("%s.new", path);
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    FILE *f = fopen(part, "we");
    bool ok = f != NULL && fprintf(f, "%s\n", words) > 0;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    if (!ok || rename(part, path) != 0) {
        (void)error_set(err, ERROR_INVALID, "%s: %m", path);
        unlink(part);
        return -1;
    }
    for (uint64_t until = clock_mono_ms() + timeout_ms; access(path, F_OK) == 0;) {
        if (clock_mono_ms() >= until) {
            unlink(path);
            return error_set(err, ERROR_INVALID, "no running daemon has processed it: is there one with STATE_DIR=%s?",
                             folder);
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int config_ask(const struct run *r)
{
    const struct command *command = r->command;
    bool rolls_back = command->kind == COMMAND_CONFIG_ROLLBACK;
    struct error err = {0};
    unsigned number = 0;
    struct store *s = config_open(r->settings, &err);
    if (s == NULL)
        return run_fail(&err, EXIT_FAILURE);
    int rc = rolls_back ? config_choose(s, command->operand, &number, &err) : 0;
    store_free(s);
    cleanup(mem_free_ptr) char *words =
        rolls_back ? mem_printf(CONFIG_REQUEST_ROLLBACK " %u", number) : mem_strdup(CONFIG_REQUEST_APPLY);
    if (rc != 0 || config_request(r->settings->state_dir, words, command->timeout_ms, &err) != 0)
        return run_fail(&err, EXIT_FAILURE);
    s = config_open(r->settings, &err);
    if (s == NULL)
        return run_fail(&err, EXIT_FAILURE);
    bool paused = store_view(s).paused, done = !rolls_back || store_view(s).held == number;
    store_free(s);
    if (!done) {
        (void)error_set(&err, ERROR_INVALID, "the daemon refused it; its log says why");
        return run_fail(&err, EXIT_FAILURE);
    }
    if (rolls_back)
        printf("The daemon rolls back to version %u, and stays there until its source changes.\n", number);
    else
        puts("The daemon tries again what its source has.");
    if (paused)
        puts("It is paused by its source: nothing is written until that ends.");
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- all of them */

int run_config(const struct run *r)
{
    const struct command *command = r->command;
    struct error err = {0};
    if (r->settings->config_target == SETTINGS_TARGET_ETCD) {
        (void)error_set(
            &err, ERROR_INVALID,
            "CONFIG_TARGET=etcd writes to no HAProxy: there is none to ask, and nothing to go back to. On a load "
            "balancer, with its settings (CONFIG_SOURCE=etcd), this command is about its HAProxy. The versions that "
            "are "
            "published: etcdctl get --prefix %s/versions/",
            r->settings->etcd.path);
        return run_fail(&err, EXIT_FAILURE);
    }
    if (command->kind == COMMAND_CONFIG_HISTORY)
        return config_history(r);
    if (command->kind == COMMAND_CONFIG_ROLLBACK || (command->kind == COMMAND_CONFIG_APPLY && command->operand == NULL))
        return config_ask(r);
    return config_with_file(r);
}

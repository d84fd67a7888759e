/* The daemon up to its event loop; and check-config and doctor, which say what it would run into. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/mem.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_report.h"
#include "cli/flags.h"
#include "cli/run.h"
#include "configuration/store.h"
#include "daemon/controller.h"
#include "daemon/tracing.h"
#include "host/sandbox.h"
#include "json/write.h"
#include "settings/show.h"

int start_make(struct settings *settings, char **environ_, const char *version, const struct log *log,
               struct start *ret, struct error *err)
{
    *ret = (struct start){.what = "no usable access to the Kubernetes API"};
    if (start_access(settings, environ_, &ret->access, err) != 0)
        return SETTINGS_EXIT_CODE;
    ret->what = "cannot start";
    ret->base = run_base(err);
    if (ret->base == NULL)
        return EXIT_FAILURE;
    ret->controller = controller_new(ret->base, settings, &ret->access, version, log, err);
    return ret->controller == NULL ? start_status(err) : EXIT_SUCCESS;
}

int start_enter(const struct start *s, const struct settings *settings, const struct log *log, struct error *err)
{
    bool copies = settings->config_source == SETTINGS_CONFIG_TEMPLATE;
    int folder = controller_state_fd(s->controller);
    struct error without = {0};
    if (!settings->seccomp)
        return EXIT_SUCCESS;
    if (sandbox_confine(folder, &without) != 0)
        log_debug(log, "no Landlock: where files are written is left to the system call filter",
                  log_str("error", without.message));
    return sandbox_enter(folder, copies, err) != 0 ? SETTINGS_EXIT_CODE : EXIT_SUCCESS;
}

void start_fini(struct start *s)
{
    controller_free(s->controller);
    if (s->base != NULL)
        event_base_free(s->base);
    kube_access_fini(&s->access);
}

/* ---- version */

/* As JSON {"version", "commit" (null: not known), "templates"}. */
int run_version(const struct run *r)
{
    cleanup(show_fini) struct show show = {0};
    bool known = *r->commit != '\0';
    cleanup(mem_free_ptr) char *text = mem_printf("haproxy-k8s-sync %s%s%s%s\n", r->version, known ? ", commit " : "",
                                                  r->commit, r->has_templates ? "" : ", without templates");
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("version", r->version), json_str("commit", known ? r->commit : NULL),
                json_bool("templates", r->has_templates));
    show_init(&show, r);
    show_either(&show, doc, text);
    return show_end(&show, EXIT_SUCCESS);
}

/* ---- check-config */

/* "NAME=value  # from where" or "# a remark" in each line; as JSON {"settings": [{"name", "value", "from"}], "remarks"}. */
static yyjson_mut_doc *start_settings_json(const char *line)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *settings = json_put_list(doc, root, "settings"), *remarks = json_put_list(doc, root, "remarks");
    for (size_t len; *line != '\0'; line += len + 1) {
        len = strcspn(line, "\n");
        cleanup(mem_free_ptr) char *copy = mem_strndup(line, len);
        char *value = strchr(copy, '='), *from = value;
        for (char *at = value; at != NULL && (at = strstr(at, "  # ")) != NULL; at++)
            from = at;
        if (value == NULL || *copy == '#') {
            json_add(remarks, json_text(doc, copy + strspn(copy, "# ")));
            continue;
        }
        *value = *from = '\0';
        json_fields(doc, json_add_object(doc, settings), json_str("name", copy), json_str("value", value + 1),
                    json_str("from", from + strlen("  # ")));
    }
    return doc;
}

/* In a copy of this process, as there is no way back. */
static int start_check_sandbox(const struct start *start, const struct settings *s, const struct log *log,
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

/* As the daemon starts, but alongside one that runs: nothing listens, and nothing is made in STATE_DIR. */
int run_check_config(const struct run *r)
{
    cleanup(buf_fini) struct buf lines = {0};
    cleanup(show_fini) struct show show = {0};
    struct settings *s = r->settings;
    const struct settings_show how = {
        .changed = r->command->changed, .flags = r->flags->given, .flag_count = r->flags->given_count};
    const struct log silent = {.level = LOG_LEVEL_ERROR + 1, .fd = STDERR_FILENO};
    struct error err = {0};
    struct start start;
    settings_print_as(s, &how, &lines);
    show_init(&show, r);
    show_either(&show, start_settings_json(buf_str(&lines)), buf_str(&lines));
    if (s->state_dir != NULL && s->config_source != SETTINGS_CONFIG_NONE && store_check(s->state_dir, &err) != 0)
        return run_fail(&err, start_status(&err));
    free(s->state_dir);
    s->state_dir = NULL;
    settings_listen_nowhere(s);
    int status = start_make(s, r->environ, r->version, &silent, &start, &err);
    if (status == EXIT_SUCCESS)
        status = start_check_sandbox(&start, s, &silent, &err);
    start_fini(&start);
    if (status == EXIT_SUCCESS && tracing_check(s, &err) != 0)
        status = SETTINGS_EXIT_CODE;
    if (status != EXIT_SUCCESS)
        return run_fail(&err, status);
    return show_end(&show, EXIT_SUCCESS);
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

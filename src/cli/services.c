#include "cli/services.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "daemon/config/config_source.h"
#include "daemon/quarantine.h"
#include "daemon/services/services_source.h"
#include "daemon/template/remarks.h"
#include "haproxy/storage_files.h"
#include "host/timer.h"
#include "kube/client.h"
#include "kube/outage.h"
#include "net/http.h"
#include "report/checks.h"
#include "settings/settings.h"

#define AWAY_MS 500

struct services_look {
    struct event_base *base;
    const char *label; /* SERVICES_LABEL */
    struct buf text;   /* the configuration, and its files as comments */
    struct error said; /* kind NONE: it was made */
    bool done;
    struct kube_client *kube;
    struct timer deadline, away;
};

/* As comments, so that what is printed is a haproxy.cfg; of a certificate no more than the name. */
static void look_add_file(struct services_look *l, const struct storage_file *f)
{
    cleanup(mem_free_ptr) char *bytes = mem_strdup(f->kind != STORAGE_CERTIFICATE ? f->bytes : "");
    buf_printf(&l->text, "# %s/%s\n", storage_folder(f->kind), f->name);
    char *rest = bytes;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0')
            buf_printf(&l->text, "#   %s\n", line);
}

static int look_on_made(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files)
{
    struct services_look *l = arg;
    (void)origin;
    buf_clear(&l->text);
    buf_addn(&l->text, bytes, len);
    for (size_t i = 0; i < files->count; i++)
        look_add_file(l, &files->list[i]);
    l->done = true;
    event_base_loopbreak(l->base);
    return 0;
}

static void look_on_failed(void *arg, const struct error *err)
{
    struct services_look *l = arg;
    l->said = *err;
    l->done = true;
    event_base_loopbreak(l->base);
}

static void look_on_deadline(void *arg)
{
    const struct services_look *l = arg;
    event_base_loopbreak(l->base);
}

/* An API server that is away is not waited for. */
static void look_on_away(void *arg)
{
    struct services_look *l = arg;
    if (kube_client_outage(l->kube)->lost_ms != 0)
        event_base_loopbreak(l->base);
    else
        timer_set(&l->away, AWAY_MS);
}

/* ---- what is said ---- */

static int look_not_read(const struct services_source *source, const struct services_look *l)
{
    cleanup(checks_fini) struct checks checks = {0};
    cleanup(buf_fini) struct buf lines = {0};
    const struct kube_outage *o = kube_client_outage(l->kube);
    if (o->lost_ms != 0) {
        fprintf(stderr, "error: Kubernetes API %s: %s\n", o->server, o->problem);
        return EXIT_FAILURE;
    }
    services_source_ops.ready(source, &checks);
    checks_print(&checks, &lines);
    fprintf(stderr, "error: Kubernetes could not be read in time (--timeout):\n%s", buf_str(&lines));
    return EXIT_FAILURE;
}

static int look_view(const struct services_source *source, const struct services_look *l)
{
    const struct remarks *remarks = services_source_view(source).remarks;
    fputs(buf_str(&l->text), stdout);
    for (size_t i = 0; i < remarks_count(remarks); i++) {
        const struct remark_view m = remarks_at(remarks, i);
        cleanup(mem_free_ptr) char *text = text_shown(m.text, TEXT_TERMINAL, TEXT_WHOLE);
        fprintf(stderr, "%s Service %s/%s: %s\n", m.left_out ? "not served:" : "no effect:", m.namespace, m.name, text);
    }
    if (l->said.kind != ERROR_NONE)
        fprintf(stderr, "error: %s\n", l->said.message);
    return fflush(stdout) == 0 && l->said.kind == ERROR_NONE ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int look_explain(const struct services_source *source, const char *name, const char *label)
{
    cleanup(buf_fini) struct buf lines = {0};
    if (!services_source_explain(source, name, &lines)) {
        fprintf(
            stderr,
            "error: there is no Service %s with the label %s (SERVICES_LABEL); kubectl get services -A -l '%s' lists "
            "those that there are\n",
            name, label, label);
        return EXIT_FAILURE;
    }
    fputs(buf_str(&lines), stdout);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the look ---- */

static int look_run(struct services_look *l, const struct services_source_options *options,
                    const struct command *command)
{
    struct error err = {0};
    struct services_source *source = services_source_new(options, &err);
    if (source == NULL) {
        fprintf(stderr, "error: %s\n", err.message);
        return EXIT_FAILURE;
    }
    timer_init(&l->deadline, l->base, look_on_deadline, l);
    timer_init(&l->away, l->base, look_on_away, l);
    timer_set(&l->deadline, command->timeout_ms);
    timer_set(&l->away, AWAY_MS);
    services_source_ops.start(source);
    event_base_dispatch(l->base);
    services_source_ops.stop(source);
    int status = !l->done                                        ? look_not_read(source, l)
                 : command->services == COMMAND_SERVICES_EXPLAIN ? look_explain(source, command->operand, l->label)
                                                                 : look_view(source, l);
    timer_fini(&l->deadline);
    timer_fini(&l->away);
    services_source_ops.free(source);
    return status;
}

int services_command(struct event_base *base, const struct settings *settings, const struct kube_access *access,
                     const char *version, const struct log *log, const struct command *command)
{
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", version);
    struct error err = {0};
    struct services_look l = {.base = base, .label = settings->services_label};
    int status = EXIT_FAILURE;
    struct http *http = http_new(base, agent, &err);
    if (http != NULL && settings->proxy_from_environment)
        http_use_proxy_variables(http);
    struct kube_client *kube = http != NULL ? kube_client_new(http, access, log, &err) : NULL;
    if (kube != NULL && settings->kube_encoding == SETTINGS_KUBE_JSON)
        kube_client_set_json(kube);
    const struct daemon in = {.base = base, .settings = settings, .kube = kube, .log = log};
    struct quarantine *quarantine = quarantine_new(&in, -1);
    const struct services_source_options options = {
        .in = &in, .quarantine = quarantine, .state_fd = -1, .made = look_on_made, .failed = look_on_failed, .arg = &l};
    l.kube = kube;
    if (kube == NULL)
        fprintf(stderr, "error: %s\n", err.message);
    else
        status = look_run(&l, &options, command);
    if (culprits_leaves_any_out(quarantine_culprits(quarantine)))
        fputs("note: what HAProxy refuses is shown as left out; /status of the daemon says what it serves as before\n",
              stderr);
    quarantine_free(quarantine);
    kube_client_free(kube);
    http_free(http);
    buf_fini(&l.text);
    return status;
}

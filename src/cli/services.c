/*
 * `services view` and `services explain`: annotated Services as they are now, read once; nothing is written anywhere. What is
 * wrong, and cannot be waited for, goes to standard error.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/run.h"
#include "daemon/config/config_source.h"
#include "daemon/host_memory.h"
#include "daemon/quarantine.h"
#include "daemon/services/services_source.h"
#include "daemon/template/remarks.h"
#include "haproxy/storage_files.h"
#include "json/write.h"
#include "kube/client.h"
#include "kube/outage.h"
#include "net/http.h"
#include "report/checks.h"

#define AWAY_MS 500

struct services_reading {
    struct event_base *base;
    const char *label; /* SERVICES_LABEL */
    struct buf text;   /* the configuration, and its files as comments */
    struct error said; /* kind NONE: it was made */
    bool done;
    struct kube_client *kube;
};

static int services_on_made(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files)
{
    struct services_reading *l = arg;
    (void)origin;
    buf_clear(&l->text);
    buf_addn(&l->text, bytes, len);
    /* As comments, so that what is printed is a haproxy.cfg; of a certificate no more than the name. */
    for (size_t i = 0; i < files->count; i++) {
        const struct storage_file *f = &files->list[i];
        cleanup(mem_free_ptr) char *copy = mem_strdup(f->kind != STORAGE_CERTIFICATE ? f->bytes : "");
        buf_printf(&l->text, "# %s/%s\n", storage_folder(f->kind), f->name);
        char *rest = copy;
        for (char *line; (line = strsep(&rest, "\n")) != NULL;)
            if (*line != '\0')
                buf_printf(&l->text, "#   %s\n", line);
    }
    l->done = true;
    event_base_loopbreak(l->base);
    return 0;
}

static void services_on_failed(void *arg, const struct error *err)
{
    struct services_reading *l = arg;
    l->said = *err;
    l->done = true;
    event_base_loopbreak(l->base);
}

/* An API server that is away is not waited for. */
static bool services_is_away(void *arg)
{
    const struct services_reading *l = arg;
    return kube_client_outage(l->kube)->lost_ms != 0;
}

/* ---- what is said ---- */

static int services_not_read(const struct services_source *source, const struct host_memory *hosts,
                             const struct services_reading *l)
{
    cleanup(checks_fini) struct checks checks = {0};
    cleanup(buf_fini) struct buf lines = {0};
    const struct kube_outage *o = kube_client_outage(l->kube);
    if (o->lost_ms != 0) {
        fprintf(stderr, "error: Kubernetes API %s: %s\n", o->server, o->problem);
        return EXIT_FAILURE;
    }
    host_memory_ready(hosts, &checks);
    services_source_ops.ready(source, &checks);
    checks_print(&checks, &lines);
    fprintf(stderr, "error: Kubernetes could not be read in time (--timeout):\n%s", buf_str(&lines));
    return EXIT_FAILURE;
}

/* As JSON {"configuration", "problem" (null: none), "remarks": [{"namespace", "service", "served", "text"}]}. */
static int services_view(const struct services_source *source, const struct services_reading *l, const struct run *r)
{
    cleanup(show_fini) struct show show = {0};
    const struct remarks *remarks = services_source_view(source).remarks;
    bool failed = l->said.kind != ERROR_NONE;
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("configuration", buf_str(&l->text)),
                json_str("problem", failed ? l->said.message : NULL));
    yyjson_mut_val *list = json_put_list(doc, root, "remarks");
    for (size_t i = 0; i < remarks_count(remarks); i++) {
        const struct remark *m = remarks_at(remarks, i);
        cleanup(mem_free_ptr) char *text = text_shown(m->text, TEXT_TERMINAL, TEXT_WHOLE);
        json_fields(doc, json_add_object(doc, list), json_str("namespace", m->namespace), json_str("service", m->name),
                    json_bool("served", !m->left_out), json_str("text", text));
        if (!r->command->json)
            fprintf(stderr, "%s Service %s/%s: %s\n", m->left_out ? "not served:" : "no effect:", m->namespace, m->name,
                    text);
    }
    if (failed)
        fprintf(stderr, "error: %s\n", l->said.message);
    show_init(&show, r);
    show_either(&show, doc, buf_str(&l->text));
    return show_end(&show, failed ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* As JSON {"service", "lines"}. */
static int services_explain(const struct services_source *source, const char *label, const struct run *r)
{
    cleanup(show_fini) struct show show = {0};
    cleanup(buf_fini) struct buf lines = {0};
    const char *name = r->command->operand;
    if (!services_source_explain(source, name, &lines)) {
        fprintf(
            stderr,
            "error: there is no Service %s with the label %s (SERVICES_LABEL); kubectl get services -A -l '%s' lists "
            "those that there are\n",
            name, label, label);
        return EXIT_FAILURE;
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("service", name));
    yyjson_mut_val *list = json_put_list(doc, root, "lines");
    for (const char *at = buf_str(&lines); *at != '\0'; at += strcspn(at, "\n") + 1) {
        cleanup(mem_free_ptr) char *line = mem_strndup(at, strcspn(at, "\n"));
        json_add(list, json_text(doc, line));
    }
    show_init(&show, r);
    show_either(&show, doc, buf_str(&lines));
    return show_end(&show, EXIT_SUCCESS);
}

/* ---- the reading ---- */

/* The exit status: 0, or 1 where Kubernetes could not be read in time, nothing is served, or there is no such Service. */
static int services_run(struct services_reading *l, const struct services_source_options *options, const struct run *r)
{
    struct error err = {0};
    struct host_memory *hosts = options->hosts;
    struct services_source *source = services_source_new(options, &err);
    if (source == NULL)
        return run_fail(&err, EXIT_FAILURE);
    host_memory_start(hosts);
    services_source_ops.start(source);
    run_until(l->base, r->command->timeout_ms, AWAY_MS, services_is_away, l);
    services_source_ops.stop(source);
    host_memory_stop(hosts);
    int status = !l->done                                       ? services_not_read(source, hosts, l)
                 : r->command->kind == COMMAND_SERVICES_EXPLAIN ? services_explain(source, l->label, r)
                                                                : services_view(source, l, r);
    services_source_ops.free(source);
    return status;
}

int run_services(const struct run *r)
{
    cleanup(kube_access_fini) struct kube_access access = {0};
    cleanup(mem_free_ptr) char *agent = mem_printf("haproxy-k8s-sync/%s", r->version);
    const struct settings *settings = r->settings;
    const struct log log = run_log(r, LOG_LEVEL_ERROR);
    struct services_reading l = {.label = settings->services_label};
    struct error err = {0};
    if (settings->config_source != SETTINGS_CONFIG_SERVICES)
        (void)error_set(&err, ERROR_INVALID, "this command is about annotated Services: set CONFIG_SOURCE=services");
    if (err.kind != ERROR_NONE || start_access(settings, r->environ, &access, &err) != 0)
        return run_fail(&err, SETTINGS_EXIT_CODE);
    l.base = run_base(&err);
    if (l.base == NULL)
        return run_fail(&err, EXIT_FAILURE);
    struct http *http = http_new(l.base, agent, &err);
    l.kube = http != NULL ? kube_client_new(http, &access, &log, &err) : NULL;
    const struct daemon in = {.base = l.base, .settings = settings, .kube = l.kube, .access = &access, .log = &log};
    struct quarantine *quarantine = quarantine_new(&in, -1);
    const struct services_source_options options = {.in = &in,
                                                    .quarantine = quarantine,
                                                    .hosts = host_memory_new(&in, -1),
                                                    .made = services_on_made,
                                                    .failed = services_on_failed,
                                                    .arg = &l};
    int status = l.kube != NULL ? services_run(&l, &options, r) : run_fail(&err, EXIT_FAILURE);
    if (culprits_leaves_any_out(quarantine_culprits(quarantine)))
        fputs("note: what HAProxy refuses is shown as left out; /status of the daemon says what it serves as before\n",
              stderr);
    quarantine_free(quarantine);
    host_memory_free(options.hosts);
    kube_client_free(l.kube);
    http_free(http);
    buf_fini(&l.text);
    event_base_free(l.base);
    return status;
}

/* The checks of CONFIG_SOURCE=template. */
#include <stddef.h>

#include "base/str.h"
#include "daemon/config/config_source.h"
#include "daemon/host_memory.h"
#include "daemon/template/remarks.h"
#include "daemon/template/template_source.h"
#include "daemon/template/watches.h"
#include "host/timer.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "cli/run.h"

#define POLL_MS 250
#define POLLS_MAX 20 /* without the set, or with nothing that could be read */
#define LEFT_OUT_MAX 10

/* ---- a render ---- */

struct doctor_render {
    struct template_source *source;
    struct timer poll, deadline;
    unsigned polls;
    bool over;
};

static int on_made(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files,
                   struct error *err)
{
    (void)arg, (void)origin, (void)bytes, (void)len, (void)files, (void)err;
    return 0;
}

static void on_end(void *arg)
{
    struct doctor_render *d = arg;
    d->over = true;
}

static void on_failed(void *arg, const struct error *err)
{
    (void)err;
    on_end(arg);
}

/* Does not wait for what will not come: for a list it does, or for the render of what was read, which does not come while
 * one is refused. */
static void on_poll(void *arg)
{
    struct doctor_render *d = arg;
    const struct template_view v = template_source_view(d->source);
    bool synced = false, refused = false, listing = false;
    for (size_t i = 0; v.watches != NULL && i < watches_count(v.watches); i++) {
        struct watch_view w;
        watches_view(v.watches, i, &w);
        listing = listing || str_eq(w.state, "waiting");
        synced = synced || w.synced;
        refused = refused || str_eq(w.state, "refused");
    }
    d->polls = listing || (synced && !refused) ? 0 : d->polls + 1;
    if (d->polls >= POLLS_MAX)
        d->over = true;
    else
        timer_set(&d->poll, POLL_MS);
}

/* ---- what is said of it ---- */

static void report_resource(const struct watch_view *v, struct doctor_section *s)
{
    bool refused = str_eq(v->state, "refused");
    doctor_word(s, "resource", "%s: %s", v->name, v->resource);
    doctor_word(s, "kept", "%zu objects, %zu bytes are kept", v->objects, v->bytes);
    doctor_set(s, "problem", v->problem[0] != '\0' ? v->problem : "no complete list in time (--timeout)");
    const struct doctor_row rows[] = {
        {v->synced, CHECK_OK, "{resource}, {kept}"},
        {str_eq(v->state, "not served"), CHECK_WARN,
         "{resource}: {problem}\n"
         "why templates see none of its objects\n"
         "fix install what serves it, such as its CustomResourceDefinition, or correct apiVersion and kind in the set"},
        {refused, CHECK_FAIL,
         "{resource}: {problem}\n"
         "why nothing is rendered while its objects are not known\n"
         "fix grant list and watch on it, in all namespaces or in those that the set lists; of the chart: "
         "templates.watch"},
        {true, CHECK_FAIL, "{resource}: {problem}\nwhy templates see none of its objects"},
    };
    doctor_first(s, "templates.resource", "resource", rows);
}

#define FIX_SET                                                           \
    "\nwhy HAProxy keeps the last configuration that could be rendered\n" \
    "fix correct it; haproxy-k8s-sync template validate tries a folder without a cluster"

static void report_view(const struct template_view *v, struct doctor_section *s)
{
    bool has_set = v->set_hash != NULL, failed = v->problem->kind != ERROR_NONE;
    bool rendered = v->renders.succeeded_wall_ms != 0;
    doctor_set(s, "problem", v->problem->message);
    doctor_word(s, "set", "%zu templates, %zu bytes, %.12s", v->templates, v->set_bytes, has_set ? v->set_hash : "");
    doctor_word(s, "render", "haproxy.cfg and %zu files in %.1f ms", v->renders.files,
                (double)v->renders.took_us / 1000);
    const struct doctor_row set[] = {
        {has_set, CHECK_OK, "{set}"},
        {failed, CHECK_FAIL, "{problem}" FIX_SET},
        {true, CHECK_SKIP, "not read in time"},
    };
    const struct doctor_row render[] = {
        {has_set && failed, CHECK_FAIL, "{problem}" FIX_SET},
        {!rendered, CHECK_SKIP, "needs the set, and a resource that can be read"},
        {true, CHECK_OK, "{render}"},
    };
    doctor_first(s, "templates.set", "set", set);
    for (size_t i = 0; v->watches != NULL && i < watches_count(v->watches); i++) {
        struct watch_view watch;
        watches_view(v->watches, i, &watch);
        report_resource(&watch, s);
    }
    doctor_set(s, "problem", v->problem->message);
    doctor_first(s, "templates.render", "render", render);
    if (rendered && !(has_set && failed)) {
        static const char id[] = "templates.left-out", label[] = "left out";
        size_t count = 0;
        for (size_t i = 0; i < remarks_count(v->remarks); i++) {
            const struct remark *m = remarks_at(v->remarks, i);
            if (m->left_out && count++ < LEFT_OUT_MAX)
                doctor_warn(s, id, label, "%s %s%s%s: %s", m->kind != NULL ? m->kind : m->resource,
                            m->namespace != NULL ? m->namespace : "", m->namespace != NULL ? "/" : "", m->name,
                            m->text);
        }
        if (count > LEFT_OUT_MAX)
            doctor_warn(s, id, label, "and %zu more", count - LEFT_OUT_MAX);
    }
}

/* ---- all of it ---- */

void doctor_templates_report(struct doctor *doctor, const struct doctor_kubernetes *k)
{
    static const struct template_source_callbacks callbacks = {
        .made = on_made, .changed = on_end, .followed = on_end, .failed = on_failed};
    struct template_source_options options = {
        .settings = doctor->settings, .kube = doctor->clients.kube, .state_fd = -1, .log = doctor->options->log};
    const struct daemon in = {.base = doctor->base,
                              .settings = doctor->settings,
                              .kube = doctor->clients.kube,
                              .access = doctor->options->access,
                              .log = doctor->options->log};
    const char *lacks = doctor->clients.kube == NULL || !doctor_kubernetes_usable(k) ? "needs Kubernetes"
                        : doctor_rights_denied(&k->rights, DOCTOR_TEMPLATES)         ? "not read, see the permissions"
                                                                                     : NULL;
    if (lacks != NULL) {
        doctor_skip(doctor_section(doctor->report, "templates", NULL, NULL), "templates.set", "set", "%s", lacks);
        return;
    }
    struct doctor_render d = {0};
    struct error err = {0};
    options.hosts = host_memory_new(&in, -1);
    d.source = template_source_new(doctor->base, &options, &callbacks, &d, &err);
    if (d.source == NULL) {
        host_memory_free(options.hosts);
        struct doctor_section *without = doctor_section(doctor->report, "templates", NULL, NULL);
        doctor_fail(without, "templates.set", "set", "%s", err.message);
        doctor_help(without, "why the daemon does not start");
        return;
    }
    timer_init(&d.poll, doctor->base, on_poll, &d);
    timer_init(&d.deadline, doctor->base, on_end, &d);
    timer_set(&d.poll, POLL_MS);
    timer_set(&d.deadline, doctor->options->timeout_ms);
    host_memory_start(options.hosts);
    template_source_ops.start(d.source);
    run_until_over(doctor->base, &d.over);
    template_source_ops.stop(d.source);
    const struct template_view v = template_source_view(d.source);
    report_view(&v, doctor_section(doctor->report, "templates", v.from, NULL));
    timer_fini(&d.poll);
    timer_fini(&d.deadline);
    template_source_ops.free(d.source);
    host_memory_free(options.hosts);
}

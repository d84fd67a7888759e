#include "cli/doctor/doctor_templates.h"

#include <event2/event.h>
#include <stddef.h>

#include "base/str.h"
#include "cli/doctor/doctor_report.h"
#include "daemon/config/config_source.h"
#include "daemon/template/remarks.h"
#include "daemon/template/template_source.h"
#include "daemon/template/watches.h"
#include "host/timer.h"

#define POLL_MS 250
#define POLLS_MAX 20 /* without the set, or with nothing that could be read */
#define LEFT_OUT_MAX 10

struct doctor_render {
    struct event_base *base;
    struct template_source *source;
    struct timer poll, deadline;
    unsigned polls;
};

static int on_made(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files,
                   struct error *err)
{
    (void)arg, (void)origin, (void)bytes, (void)len, (void)files, (void)err;
    return 0;
}

static void on_rendered(void *arg)
{
    const struct doctor_render *d = arg;
    event_base_loopbreak(d->base);
}

static void on_failed(void *arg, const struct error *err)
{
    const struct doctor_render *d = arg;
    (void)err;
    event_base_loopbreak(d->base);
}

static void on_deadline(void *arg)
{
    const struct doctor_render *d = arg;
    event_base_loopbreak(d->base);
}

/* For a list, or for the render of what was read, which does not come while one is refused. */
static bool waits(const struct watches *watches)
{
    bool synced = false, refused = false;
    for (size_t i = 0; i < watches_count(watches); i++) {
        struct watch_view v;
        watches_view(watches, i, &v);
        if (str_eq(v.state, "waiting"))
            return true;
        synced = synced || v.synced;
        refused = refused || str_eq(v.state, "refused");
    }
    return synced && !refused;
}

/* Does not wait for what will not come. */
static void on_poll(void *arg)
{
    struct doctor_render *d = arg;
    const struct template_view v = template_source_view(d->source);
    d->polls = v.watches != NULL && waits(v.watches) ? 0 : d->polls + 1;
    if (d->polls >= POLLS_MAX)
        event_base_loopbreak(d->base);
    else
        timer_set(&d->poll, POLL_MS);
}

/* ---- what is said of it ---- */

static void report_resource(const struct watch_view *v, struct doctor_section *s)
{
    static const char id[] = "templates.resource", label[] = "resource";
    if (v->synced) {
        doctor_ok(s, id, label, "%s: %s, %zu objects, %zu bytes are kept", v->name, v->resource, v->objects, v->bytes);
        return;
    }
    const char *problem = v->problem[0] != '\0' ? v->problem : "no complete list in time (--timeout)";
    struct doctor_check *c = doctor_add(s, str_eq(v->state, "not served") ? CHECK_WARN : CHECK_FAIL, id, label,
                                        "%s: %s: %s", v->name, v->resource, problem);
    doctor_why(c, str_eq(v->state, "refused") ? "nothing is rendered while its objects are not known"
                                              : "templates see none of its objects");
    if (str_eq(v->state, "not served"))
        doctor_advice(c, "install what serves it, such as its CustomResourceDefinition, or correct apiVersion and kind "
                         "in the set");
    if (str_eq(v->state, "refused"))
        doctor_advice(c, "grant list and watch on it, in all namespaces or in those that the set lists; of the chart: "
                         "templates.watch");
}

static void report_wrong(struct doctor_check *c)
{
    doctor_why(c, "HAProxy keeps the last configuration that could be rendered");
    doctor_advice(c, "correct it; haproxy-k8s-sync template validate tries a folder without a cluster");
}

static void report_set(const struct template_view *v, struct doctor_section *s)
{
    static const char id[] = "templates.set", label[] = "set";
    if (v->set_hash != NULL)
        doctor_ok(s, id, label, "%zu templates, %zu bytes, %.12s", v->templates, v->set_bytes, v->set_hash);
    else if (v->problem->kind != ERROR_NONE)
        report_wrong(doctor_fail(s, id, label, "%s", v->problem->message));
    else
        doctor_skip(s, id, label, "not read in time");
    for (size_t i = 0; v->watches != NULL && i < watches_count(v->watches); i++) {
        struct watch_view watch;
        watches_view(v->watches, i, &watch);
        report_resource(&watch, s);
    }
}

static void report_left_out(const struct remarks *remarks, struct doctor_section *s)
{
    static const char id[] = "templates.left-out", label[] = "left out";
    size_t count = 0;
    for (size_t i = 0; i < remarks_count(remarks); i++) {
        const struct remark_view m = remarks_at(remarks, i);
        if (m.left_out && count++ < LEFT_OUT_MAX)
            doctor_warn(s, id, label, "%s %s%s%s: %s", m.kind != NULL ? m.kind : m.resource,
                        m.namespace != NULL ? m.namespace : "", m.namespace != NULL ? "/" : "", m.name, m.text);
    }
    if (count > LEFT_OUT_MAX)
        doctor_warn(s, id, label, "and %zu more", count - LEFT_OUT_MAX);
}

static void report_render(const struct template_view *v, struct doctor_section *s)
{
    static const char id[] = "templates.render", label[] = "render";
    if (v->set_hash != NULL && v->problem->kind != ERROR_NONE) {
        report_wrong(doctor_fail(s, id, label, "%s", v->problem->message));
        return;
    }
    if (v->renders.succeeded_wall_ms == 0) {
        doctor_skip(s, id, label, "needs the set, and a resource that can be read");
        return;
    }
    doctor_ok(s, id, label, "haproxy.cfg and %zu files in %.1f ms", v->renders.files,
              (double)v->renders.took_us / 1000);
    report_left_out(v->remarks, s);
}

/* ---- all ---- */

void doctor_templates(struct event_base *base, const struct template_source_options *options, uint64_t timeout_ms,
                      struct doctor_report *r)
{
    static const struct template_source_callbacks callbacks = {
        .made = on_made, .changed = on_rendered, .followed = on_rendered, .failed = on_failed};
    struct doctor_render d = {.base = base};
    struct error err = {0};
    d.source = template_source_new(d.base, options, &callbacks, &d, &err);
    if (d.source == NULL) {
        struct doctor_section *without = doctor_section(r, "templates", NULL, NULL);
        doctor_why(doctor_fail(without, "templates.set", "set", "%s", err.message), "the daemon does not start");
        return;
    }
    timer_init(&d.poll, d.base, on_poll, &d);
    timer_init(&d.deadline, d.base, on_deadline, &d);
    timer_set(&d.poll, POLL_MS);
    timer_set(&d.deadline, timeout_ms);
    template_source_ops.start(d.source);
    event_base_dispatch(d.base);
    template_source_ops.stop(d.source);
    const struct template_view v = template_source_view(d.source);
    struct doctor_section *s = doctor_section(r, "templates", v.from, NULL);
    report_set(&v, s);
    report_render(&v, s);
    timer_fini(&d.poll);
    timer_fini(&d.deadline);
    template_source_ops.free(d.source);
}

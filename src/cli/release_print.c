/* What `release` says: as text, and as JSON, whose fields are documented in the header. */
#include "cli/release_print.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/page.h"
#include "cli/release.h"
#include "json/write.h"
#include "servers/release.h"

#define NAMES_SHOWN 20

/* ---- how it ended ---- */

static int release_backend_status(const struct release_report *r, const struct release_view *v)
{
    if (v->state == RELEASE_FAILED || v->state == RELEASE_UNKNOWN || (v->state == RELEASE_TO_DO && r->writes))
        return EXIT_FAILURE;
    return v->state == RELEASE_TO_DO ? RELEASE_STATUS_TO_DO : EXIT_SUCCESS;
}

static int release_worse(int a, int b)
{
    return a == EXIT_FAILURE || b == EXIT_FAILURE ? EXIT_FAILURE : a != EXIT_SUCCESS ? a : b;
}

static int release_target_status(const struct release_report *r, const struct release_report_target *t)
{
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < r->backend_count; i++)
        status = release_worse(status, release_backend_status(r, &t->backends[i]));
    return status;
}

int release_report_status(const struct release_report *r)
{
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < r->target_count; i++)
        status = release_worse(status, release_target_status(r, &r->targets[i]));
    return status;
}

/* ---- text ---- */

static void release_print_line(struct page *p, enum page_ink ink, const char *verb, const char *name, const char *why)
{
    page_put(p, INK_PLAIN, "    ");
    page_put(p, ink, verb);
    page_to(p, 14);
    page_put(p, INK_BOLD, name);
    page_put(p, INK_PLAIN, "  ");
    page_flow_line(p, INK_DIM, why);
}

static void release_print_more(struct page *p, size_t count)
{
    if (count <= NAMES_SHOWN)
        return;
    page_printf(p, INK_DIM, "    and %zu more", count - NAMES_SHOWN);
    page_end_line(p);
}

static void release_print_plan(struct page *p, const struct release_plan *plan)
{
    for (size_t i = 0; i < plan->removed_count && i < NAMES_SHOWN; i++)
        release_print_line(p, INK_RED, "remove", plan->removed[i].name,
                           plan->removed[i].maintenance ? "its line is in maintenance (parked)" : "its line is live");
    release_print_more(p, plan->removed_count);
    for (size_t i = 0; i < plan->undrained_count && i < NAMES_SHOWN; i++)
        release_print_line(p, INK_GREEN, "ready", plan->undrained[i],
                           "it drains at runtime, and its line is live: the drain ends");
    release_print_more(p, plan->undrained_count);
    for (size_t i = 0; i < plan->by_operator_count && i < NAMES_SHOWN; i++)
        release_print_line(p, INK_YELLOW, "leave", plan->by_operator[i],
                           "in maintenance at runtime alone: an operator set it, and it stays until the next reload");
    release_print_more(p, plan->by_operator_count);
}

/* "2 lines removed, 1 drain ended" */
static void release_print_counts(struct page *p, size_t lines, const char *removed, size_t drains, const char *ended)
{
    if (lines > 0)
        page_printf(p, INK_PLAIN, "%zu %s %s", lines, lines == 1 ? "line" : "lines", removed);
    if (drains > 0)
        page_printf(p, INK_PLAIN, "%s%zu %s %s", lines > 0 ? ", " : "", drains, drains == 1 ? "drain" : "drains",
                    ended);
}

static void release_print_state(struct page *p, const struct release_view *v)
{
    bool wrote = v->removed > 0 || v->undrained > 0;
    if (v->state == RELEASE_UNKNOWN || v->state == RELEASE_FAILED)
        page_put(p, INK_RED, v->state == RELEASE_FAILED ? "failed" : "could not be read");
    else if (!v->exists)
        page_put(p, INK_YELLOW, "not in haproxy.cfg");
    else if (v->state == RELEASE_TO_DO)
        release_print_counts(p, v->plan->removed_count, "to remove", v->plan->undrained_count, "to end");
    else
        page_put(p, INK_GREEN, wrote ? "released" : "nothing to release");
    if (wrote) {
        page_put(p, INK_PLAIN, ", ");
        release_print_counts(p, v->removed, "removed", v->undrained, "ended");
    }
}

/* Of one HAProxy. */
static void release_print_target(const struct release_report *r, const struct release_report_target *t, struct page *p)
{
    page_put(p, INK_BOLD, "HAProxy ");
    page_put(p, INK_BOLD, t->url);
    page_end_line(p);
    if (t->problem != NULL) {
        page_put(p, INK_PLAIN, "  ");
        page_flow_line(p, INK_RED, t->problem);
    }
    for (size_t i = 0; i < r->backend_count; i++) {
        const struct release_view *v = &t->backends[i];
        const struct release_plan *plan = v->plan;
        page_put(p, INK_PLAIN, "  backend ");
        page_put(p, INK_BOLD, v->backend);
        page_put(p, INK_PLAIN, ": ");
        release_print_state(p, v);
        if (v->exists && v->state != RELEASE_UNKNOWN && plan->refused == NULL)
            page_printf(p, INK_PLAIN, "; %zu %s", plan->kept, plan->kept == 1 ? "server stays" : "servers stay");
        if (plan->others > 0)
            page_printf(p, INK_PLAIN, ", %zu not managed", plan->others);
        page_end_line(p);
        if (v->why != NULL) {
            page_put(p, INK_PLAIN, "    ");
            page_flow_line(p, INK_RED, v->why);
        }
        release_print_plan(p, t->backends[i].plan);
    }
}

void release_print_text(const struct release_report *r, struct page *p)
{
    if (r->unknown != NULL) {
        page_flow_line(p, INK_YELLOW, r->unknown);
        page_flow_line(p, INK_YELLOW, "So a daemon may run elsewhere: make sure that none does.");
    }
    for (size_t i = 0; i < r->target_count; i++)
        release_print_target(r, &r->targets[i], p);
    if (release_report_status(r) != RELEASE_STATUS_TO_DO)
        return;
    page_end_line(p);
    if (r->yes)
        page_flow_line(p, INK_PLAIN, "Nothing was written: DRY_RUN is true.");
    else
        page_flow_line(p, INK_PLAIN,
                       r->servers ? "Nothing was written. To do it: haproxy-k8s-sync release --servers --yes"
                                  : "Nothing was written. To do it: haproxy-k8s-sync release --yes");
}

/* ---- JSON ---- */

static const char *release_verdict(const struct release_view *v)
{
    static const char *const words[] = {[RELEASE_UNKNOWN] = "unknown",
                                        [RELEASE_TO_DO] = "to_do",
                                        [RELEASE_DONE] = "released",
                                        [RELEASE_FAILED] = "failed"};
    return words[v->state];
}

static void release_put_backend(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *url,
                                const struct release_view *v)
{
    const struct release_plan *plan = v->plan;
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_put_text(doc, obj, "backend", v->backend);
    json_put_text(doc, obj, "haproxy", url);
    json_put_text(doc, obj, "verdict", release_verdict(v));
    json_put_text(doc, obj, "why", v->why);
    json_put_bool(doc, obj, "exists", v->exists);
    yyjson_mut_val *changes = json_put_list(doc, obj, "changes");
    for (size_t i = 0; i < plan->removed_count; i++) {
        yyjson_mut_val *change = json_add_object(doc, changes);
        json_put_text(doc, change, "op", "remove");
        json_put_text(doc, change, "server", plan->removed[i].name);
        json_put_bool(doc, change, "parked", plan->removed[i].maintenance);
    }
    json_put_texts(doc, obj, "drains", plan->undrained, plan->undrained_count);
    json_put_texts(doc, obj, "overridden", plan->by_operator, plan->by_operator_count);
    json_put_count(doc, obj, "removed", v->removed);
    json_put_count(doc, obj, "drains_ended", v->undrained);
    json_put_count(doc, obj, "kept", plan->kept);
    json_put_count(doc, obj, "unmanaged", plan->others);
}

void release_print_json(const struct release_report *r, struct buf *out)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_put_bool(doc, root, "released", release_report_status(r) == EXIT_SUCCESS);
    json_put_bool(doc, root, "writes", r->writes);
    yyjson_mut_val *problems = json_put_list(doc, root, "problems");
    if (r->unknown != NULL)
        json_add(problems, json_text(doc, r->unknown));
    yyjson_mut_val *haproxies = json_put_list(doc, root, "haproxies");
    yyjson_mut_val *backends = json_put_list(doc, root, "backends");
    for (size_t i = 0; i < r->target_count; i++) {
        const struct release_report_target *t = &r->targets[i];
        yyjson_mut_val *obj = json_add_object(doc, haproxies);
        json_put_text(doc, obj, "url", t->url);
        json_put_bool(doc, obj, "released", release_target_status(r, t) == EXIT_SUCCESS);
        json_put_text(doc, obj, "problem", t->problem);
        for (size_t k = 0; k < r->backend_count; k++)
            release_put_backend(doc, backends, t->url, &t->backends[k]);
    }
    json_write(doc, true, out);
    buf_add(out, "\n");
    json_free(doc);
}

/* `plan` as text: for each HAProxy and backend what would change, what stays, what was left out, and the verdict. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/daemon_memory.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"
#include "base/page.h"

#define MARGIN 2
#define ORDINARY_SHOWN 10
#define LEFT_OUT_SHOWN 100

static void print_line(enum page_ink ink, const char *mark, const char *text, struct page *p)
{
    page_to(p, MARGIN);
    page_put(p, ink, mark);
    page_flow_line(p, ink, text);
}

static void print_unmanaged(const struct diff *d, struct page *p)
{
    size_t unmanaged = d->foreign_count - d->others_count;
    if (d->others_count > 0) {
        page_to(p, MARGIN);
        page_printf(p, INK_DIM, ". %zu %s another cluster's", d->others_count,
                    d->others_count == 1 ? "server line is" : "server lines are");
        page_end_line(p);
    }
    if (d->uneven != NULL) {
        page_to(p, MARGIN);
        page_printf(p, INK_YELLOW, ". %s", d->uneven);
        page_end_line(p);
    }
    if (unmanaged == 0 && d->foreign_inherit_count == 0)
        return;
    page_to(p, MARGIN);
    page_printf(p, INK_DIM, ". %zu %s unmanaged", unmanaged, unmanaged == 1 ? "server line is" : "server lines are");
    if (d->foreign_inherit_count > 0)
        page_printf(p, INK_YELLOW, "; %zu %s would inherit send-proxy-v2", d->foreign_inherit_count,
                    d->others_count > 0 ? "that are not this cluster's" : "of them");
    page_end_line(p);
}

/* ---- parked, and set by an operator ---- */

static int name_order(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_parked(const struct inspect_report *r, const struct inspect_backend *b, struct page *p)
{
    cleanup(mem_free_ptr) const char **names = mem_array(b->actual.server_count, sizeof(names[0]));
    cleanup(buf_fini) struct buf text = {0};
    size_t count = 0;
    for (size_t i = 0; i < b->actual.server_count; i++)
        if (inspect_line(r, b, &b->actual.servers[i]) == INSPECT_LINE_PARKED)
            names[count++] = b->actual.servers[i].name;
    if (count == 0)
        return;
    qsort(names, count, sizeof(names[0]), name_order);
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "parked: ", names[i]);
    buf_printf(&text, " (maintenance, kept so that %s return needs no reload)", count == 1 ? "its" : "their");
    print_line(INK_DIM, ". ", buf_str(&text), p);
}

static void print_overridden(const struct inspect_backend *b, struct page *p)
{
    size_t count = 0;
    cleanup(mem_free_ptr) char *what = b->memory.looked ? admin_states_overrides(&b->memory, &count) : NULL;
    if (what == NULL)
        return;
    cleanup(mem_free_ptr) char *text =
        mem_printf("admin states set by an operator: %s; left alone until set to ready", what);
    print_line(INK_YELLOW, "! ", text, p);
}

/* ---- left out ---- */

static void print_left_out(const char *subject, const char *reason, bool ordinary, struct page *p)
{
    cleanup(mem_free_ptr) char *text = mem_printf("%s: %s", subject, reason);
    print_line(ordinary ? INK_DIM : INK_YELLOW, ordinary ? ". " : "! ", text, p);
}

/* The row of its server has it already, as its reason. */
static bool is_commanded(const struct inspect_report *r, const struct inspect_backend *b, const struct desired_skip *s)
{
    if (!inspect_has_lines(b) || s->server == NULL || desired_why_out(b->desired, s->server) != s)
        return false;
    const struct backend_server *line = backend_find(&b->actual, s->server);
    return line != NULL && inspect_line(r, b, line) != INSPECT_LINE_PARKED;
}

static void print_skips(const struct inspect_report *r, const struct inspect_backend *b, bool ordinary, size_t most,
                        struct page *p)
{
    const struct desired *desired = b->desired;
    size_t count = 0;
    for (size_t i = 0; i < desired->skip_count; i++) {
        const struct desired_skip *s = &desired->skips[i];
        if (s->ordinary == ordinary && !is_commanded(r, b, s) && count++ < most) {
            cleanup(mem_free_ptr) char *subject = desired_skip_subject(desired, s),
                                       *reason = desired_skip_reason(desired, s);
            print_left_out(subject, reason, s->ordinary, p);
        }
    }
    if (count > most) {
        page_to(p, MARGIN);
        page_printf(p, INK_DIM, ". and %zu more like these; -o json has them all", count - most);
        page_end_line(p);
    }
}

/* ---- verdict ---- */

static size_t count_op(const struct diff *d, enum diff_op op)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++)
        count += d->changes[i].op == op && !d->changes[i].parks;
    return count;
}

static size_t count_parks(const struct diff *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++)
        count += d->changes[i].parks;
    return count;
}

/* Runtime commands that belong to no change. */
static size_t count_commanded(const struct inspect_backend *b, enum runtime_admin state)
{
    size_t count = 0;
    for (size_t i = 0; i < b->choice.command_count; i++)
        count += b->choice.commands[i].state == state && inspect_is_only_commanded(b, b->choice.commands[i].name);
    return count;
}

static void add_count(struct buf *b, size_t count, const char *what)
{
    if (count > 0)
        buf_printf(b, "%s%zu %s", b->len > 0 ? ", " : "", count, what);
}

/* "; 2 without a reload, 1 by a transaction and a reload". The reason is shown where no change shows it. */
static void add_ways(struct buf *b, const struct inspect_backend *of)
{
    struct inspect_ways ways = inspect_count_ways(of);
    bool shown = of->choice.transaction && (of->runtime.readable || of->runtime.why == NULL || !of->actual.exists);
    cleanup(mem_free_ptr) char *why = shown ? NULL : inspect_reload_why(of);
    if (ways.without > 0 && ways.reload > 0)
        buf_printf(b, "; %zu without a reload, %zu by a transaction and a reload", ways.without, ways.reload);
    else
        buf_add(b, ways.reload > 0 ? "; by a transaction and a reload" : "; without a reload");
    if (why != NULL)
        buf_printf(b, " (%s)", why);
}

static void verdict_text(const struct inspect_target *t, const struct inspect_backend *b, struct buf *text)
{
    enum inspect_verdict v = inspect_verdict(b);
    if (v == INSPECT_IN_SYNC) {
        const struct desired *desired = b->desired;
        size_t draining = 0, count = 0;
        for (size_t i = 0; i < desired->server_count; i++)
            if (backend_find(&b->actual, desired->servers[i].name) != NULL) {
                count++;
                draining += desired->servers[i].state == SERVER_DRAINING;
            }
        buf_printf(text, "%zu server%s", count, count == 1 ? "" : "s");
        if (draining > 0)
            buf_printf(text, ", %zu draining", draining);
        if (!b->runtime.readable && b->runtime.why != NULL)
            buf_printf(text, ", by haproxy.cfg alone: cannot read the running HAProxy: %s", b->runtime.why);
    }
    if (v == INSPECT_CHANGES || v == INSPECT_NOT_WRITTEN) {
        /* "2 to add, 1 to change, settings" */
        const struct diff *d = &b->plan.diff;
        add_count(text, count_op(d, DIFF_ADD), "to add");
        add_count(text, count_op(d, DIFF_CHANGE), "to change");
        add_count(text, count_commanded(b, RUNTIME_READY), "to be ready");
        add_count(text, count_commanded(b, RUNTIME_DRAIN), "to drain");
        add_count(text, count_commanded(b, RUNTIME_MAINT), "to be in maint");
        add_count(text, count_parks(d), "to park");
        add_count(text, count_op(d, DIFF_REMOVE), "to remove");
        if (d->backend_change || d->create_backend)
            buf_printf(text, "%s%s", text->len > 0 ? ", " : "",
                       d->create_backend ? "the backend to create" : "settings");
    }
    if (text->len > 0 && v != INSPECT_IN_SYNC)
        add_ways(text, b);
    if (v == INSPECT_RELOAD_AGAIN)
        buf_add(text, t->drift != NULL || !t->dirty
                          ? "running HAProxy differs from haproxy.cfg; an empty commit would reload it"
                          : "the last reload failed; an empty commit would reload HAProxy");
    cleanup(mem_free_ptr) char *why = inspect_why(b);
    if (str_empty(why))
        return;
    buf_printf(text, "%s%s%s", text->len > 0 ? "; " : "",
               v == INSPECT_CHANGES && b->plan.held_back > 0 ? "removal delayed: " : "", why);
}

static void print_verdict(const struct inspect_target *t, const struct inspect_backend *b, struct page *p)
{
    static const struct {
        enum page_ink ink;
        const char *word;
    } shapes[] = {
        [INSPECT_IN_SYNC] = {INK_GREEN, "in sync"},
        [INSPECT_CHANGES] = {INK_YELLOW, "changes"},
        [INSPECT_RELOAD_AGAIN] = {INK_YELLOW, "reload due"},
        [INSPECT_NO_ENDPOINT] = {INK_YELLOW, "keeping servers"},
        [INSPECT_LOSS_LIMIT] = {INK_YELLOW, "removal delayed"},
        [INSPECT_NOT_WRITTEN] = {INK_YELLOW, "not written"},
        [INSPECT_REFUSED] = {INK_RED, "refused"},
        [INSPECT_WAITING] = {INK_RED, "waiting"},
        [INSPECT_UNKNOWN] = {INK_RED, "unknown"},
    };
    enum inspect_verdict v = inspect_verdict(b);
    const struct diff *d = &b->plan.diff;
    size_t changes = d->change_count + (d->backend_change || d->create_backend) + inspect_commanded_count(b);
    cleanup(buf_fini) struct buf text = {0};
    verdict_text(t, b, &text);
    page_to(p, MARGIN);
    if (v == INSPECT_CHANGES)
        page_printf(p, shapes[v].ink, "%zu change%s", changes, changes == 1 ? "" : "s");
    else
        page_put(p, shapes[v].ink, shapes[v].word);
    if (text.len > 0) {
        page_put(p, INK_PLAIN, ": ");
        page_flow(p, INK_PLAIN, buf_str(&text));
    }
    page_end_line(p);
}

/* A blank line behind a part that has any. */
static void end_part(struct page *p, size_t *before)
{
    if (p->out->len > *before)
        page_end_line(p);
    *before = p->out->len;
}

static void print_backend(const struct inspect_report *r, const struct inspect_target *t,
                          const struct inspect_backend *b, struct page *p)
{
    inspect_print_heading(b->of, p);
    size_t before = p->out->len;
    if (inspect_has_lines(b)) {
        if (b->plan.diff.create_backend)
            print_line(INK_GREEN, "+ ", "the backend itself", p);
        if (b->plan.diff.backend_detail != NULL)
            print_line(INK_YELLOW, "~ ", b->plan.diff.backend_detail, p);
        inspect_print_rows(r, b, p);
    }
    end_part(p, &before);
    if (inspect_has_lines(b)) {
        print_overridden(b, p);
        print_parked(r, b, p);
        print_unmanaged(&b->plan.diff, p);
    }
    const struct diff *d = &b->plan.diff;
    for (size_t i = 0; i < d->skip_count; i++)
        print_left_out(d->skips[i].name, d->skips[i].reason, false, p);
    print_skips(r, b, false, LEFT_OUT_SHOWN, p);
    /* Desired as draining, but there is no line to drain. */
    for (size_t i = 0; b->seen && i < b->desired->server_count; i++) {
        const struct desired_server *s = &b->desired->servers[i];
        if (s->state != SERVER_DRAINING || backend_find(&b->actual, s->name) != NULL)
            continue;
        cleanup(mem_free_ptr) char *reason = desired_server_reason(b->desired, s);
        cleanup(mem_free_ptr) char *why = mem_printf("draining, and has no line: none is added (%s)", reason);
        print_left_out(s->name, why, true, p);
    }
    print_skips(r, b, true, ORDINARY_SHOWN, p);
    if (b->desired->note != NULL)
        print_line(INK_YELLOW, "! ", b->desired->note, p);
    end_part(p, &before);
    print_verdict(t, b, p);
}

/* One failed connection is shown once. */
static bool print_unseen(const struct inspect_report *r, const struct inspect_target *t, struct page *p)
{
    const char *why = inspect_unseen(r, t);
    if (why == NULL)
        return false;
    page_to(p, MARGIN);
    page_put(p, INK_RED, "unknown");
    page_put(p, INK_PLAIN, ": ");
    page_flow_line(p, INK_PLAIN, why);
    return true;
}

static void print_daemon(const struct daemon_memory *m, struct page *p)
{
    if (m == NULL || m->url == NULL)
        return;
    cleanup(mem_free_ptr) char *text =
        daemon_memory_used(m) ? mem_printf("daemon at %s: its memory is used", m->url)
                              : mem_printf("daemon at %s: not used: %s", m->url, m->why_not != NULL ? m->why_not : "");
    page_flow_line(p, INK_DIM, text);
    page_end_line(p);
}

void inspect_print_plan(const struct inspect_report *r, struct page *p)
{
    print_daemon(r->daemon, p);
    for (size_t i = 0; i < r->target_count; i++) {
        const struct inspect_target *t = &r->targets[i];
        if (i > 0)
            page_end_line(p);
        if (r->target_count > 1 || (r->mapping_count > 1 && inspect_unseen(r, t) != NULL)) {
            inspect_print_target(t, p);
            if (print_unseen(r, t, p))
                continue;
        }
        for (size_t m = 0; m < r->mapping_count; m++) {
            if (m > 0)
                page_end_line(p);
            print_backend(r, t, &t->backends[m], p);
        }
    }
}

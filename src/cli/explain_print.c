/* `explain NODE`: for each backend the rules in their order; then, for each HAProxy, what it has of the node now, and
 * what would change. */
#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/str.h"
#include "daemon/inspect/inspect_print.h"
#include "daemon/inspect/inspect_report.h"

#define MARGIN 2
#define RULE_COLUMN 18

static printf_like(4, 5) void print_field(struct page *p, const char *name, enum page_ink ink, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, args);
    va_end(args);
    page_to(p, MARGIN);
    page_put(p, INK_DIM, name);
    page_to(p, RULE_COLUMN);
    page_flow_line(p, ink, text);
}

/* As in haproxy.cfg. */
static char *line_text(const struct backend_server *s)
{
    cleanup(mem_free_ptr) char *address = inspect_address(s);
    cleanup(buf_fini) struct buf text = {0};
    buf_printf(&text, "server %s %s", s->name, address);
    if (s->check)
        buf_add(&text, " check");
    if (s->check_port != 0)
        buf_printf(&text, " port %u", s->check_port);
    if (s->weight >= 0)
        buf_printf(&text, " weight %d", s->weight);
    if (s->send_proxy_v2)
        buf_add(&text, " send-proxy-v2");
    if (s->backup)
        buf_add(&text, " backup");
    if (s->maintenance)
        buf_add(&text, " disabled");
    return buf_take(&text);
}

/* ---- what HAProxy has of the node */

/* Of a line that is live, which HAProxy runs. */
static void print_running(const struct inspect_backend *b, const struct runtime_server *is, struct page *p)
{
    const struct admin_state *overridden = inspect_overridden(b, is->name);
    if (overridden != NULL)
        print_field(p, "", INK_YELLOW, "admin state %s, set by an operator: left alone until it is set to ready",
                    runtime_admin_name(overridden->theirs));
    else if (is->admin == RUNTIME_READY && runtime_fails_check(is))
        print_field(p, "", INK_RED,
                    "DOWN: its admin state is ready, but its health check fails, so it gets no connections");
    else if (is->admin == RUNTIME_READY)
        print_field(p, "", INK_DIM, "live: its admin state is ready");
    else if (is->admin == RUNTIME_DRAIN)
        print_field(p, "", INK_CYAN, "draining, set at runtime only: no new connections, open ones continue");
    else
        print_field(p, "", INK_YELLOW, "its admin state is %s", runtime_admin_name(is->admin));
}

/* What it is called in this HAProxy. */
static const char *server_name(const struct inspect_backend *b)
{
    const char *name = desired_name_of_node(b->desired, b->of->explanation.server);
    return name != NULL ? name : b->of->explanation.server;
}

static void print_now(const struct inspect_report *r, const struct inspect_backend *b,
                      const struct backend_server *line, struct page *p)
{
    static const char name[] = "now in HAProxy";
    cleanup(mem_free_ptr) char *text = line != NULL ? line_text(line) : NULL;
    if (!b->seen)
        print_field(p, name, INK_YELLOW, "unknown, HAProxy could not be read: %s", b->unseen.message);
    else if (!b->actual.exists)
        print_field(p, name, INK_PLAIN, "HAProxy has no such backend");
    else if (line == NULL)
        print_field(p, name, INK_PLAIN, "no server %s", server_name(b));
    else
        print_field(p, name, INK_PLAIN, "%s", text);
    if (b->seen && !str_eq(server_name(b), b->of->explanation.server))
        print_field(p, "called", INK_PLAIN, "%s here (by ADOPT_SERVERS or SERVER_NAME_FORMAT)", server_name(b));
    if (line == NULL)
        return;
    const struct runtime_server *is = b->runtime.readable ? runtime_find(&b->runtime, line->name) : NULL;
    if (line->maintenance && inspect_has_lines(b) && inspect_line(r, b, line) == INSPECT_LINE_PARKED)
        print_field(p, "", INK_DIM, "parked: in maintenance, kept so that its return needs no reload");
    else if (line->maintenance)
        print_field(p, "", INK_DIM, "in maintenance: no new connections, open ones continue");
    else if (is != NULL)
        print_running(b, is, p);
    else if (b->runtime.readable)
        print_field(p, "", INK_YELLOW, "the running HAProxy does not have it");
    else if (b->runtime.why != NULL)
        print_field(p, "", INK_YELLOW, "cannot read the running HAProxy: %s", b->runtime.why);
}

/* ---- what would change */

/* Where no change is about it. Allocates. */
static char *unchanged_text(const struct inspect_report *r, const struct inspect_backend *b,
                            const struct backend_server *line)
{
    const struct diff *d = &b->plan.diff;
    for (size_t i = 0; i < d->skip_count; i++)
        if (str_eq(d->skips[i].name, server_name(b)))
            return mem_printf("nothing: %s", d->skips[i].reason);
    if (line == NULL)
        return mem_strdup("nothing");
    switch (inspect_line(r, b, line)) {
    case INSPECT_LINE_FOREIGN:
        return mem_strdup("nothing: the line is unmanaged");
    case INSPECT_LINE_OTHERS:
        return mem_strdup("nothing: the line is another cluster's");
    case INSPECT_LINE_DELAYED:
        return mem_printf("it stays for now: %s", str_empty(b->plan.why) ? "removal delayed" : b->plan.why);
    case INSPECT_LINE_PARKED:
        return mem_strdup("nothing: it stays parked");
    case INSPECT_LINE_COMMANDED:
    case INSPECT_LINE_EQUAL:
    case INSPECT_LINE_CHANGED:
        break;
    }
    if (!line->maintenance && !b->runtime.readable && b->runtime.why != NULL)
        return mem_strdup("nothing: its line is as desired");
    const struct runtime_server *is = runtime_find(&b->runtime, line->name);
    if (is != NULL && is->admin == RUNTIME_READY && runtime_fails_check(is))
        return mem_strdup("nothing: its line is as desired; haproxy-k8s-sync doctor shows how to see why it is DOWN");
    return mem_strdup("nothing: it is as desired");
}

static void print_change(const struct inspect_backend *b, const struct diff_change *c, struct page *p)
{
    cleanup(mem_free_ptr) char *line = line_text(&c->server);
    if (c->op == DIFF_REMOVE)
        print_field(p, "next", INK_RED, "- it is removed");
    else if (c->op == DIFF_ADD)
        print_field(p, "next", INK_GREEN, "+ %s", line);
    else
        print_field(p, "next", INK_YELLOW, "~ %s", c->detail);
    print_field(p, "", INK_DIM, "%s",
                b->reloads[c - b->plan.diff.changes] ? "by a transaction and a reload" : "without a reload");
    if (b->plan.verdict == PLAN_NOT_WRITTEN)
        print_field(p, "", INK_YELLOW, "%s", b->plan.why);
    if (b->plan.verdict == PLAN_REFUSE)
        print_field(p, "", INK_RED, "nothing is written: %s", b->plan.why);
}

static void print_next(const struct inspect_report *r, const struct inspect_backend *b,
                       const struct backend_server *line, struct page *p)
{
    const struct diff_change *change = diff_find_change(&b->plan.diff, server_name(b));
    const struct runtime_command *call = inspect_call(b, server_name(b));
    cleanup(mem_free_ptr) char *text = call != NULL           ? inspect_call_reason(b, call)
                                       : inspect_has_lines(b) ? unchanged_text(r, b, line)
                                                              : NULL;
    if (!inspect_has_lines(b))
        print_field(p, "next", INK_PLAIN, "nothing is written: %s",
                    str_empty(b->plan.why) ? "the desired state is unknown" : b->plan.why);
    else if (change != NULL)
        print_change(b, change, p);
    else if (call != NULL)
        print_field(p, "next", INK_YELLOW, "~ %s, at runtime only: %s", runtime_admin_name(call->state), text);
    else
        print_field(p, "next", INK_PLAIN, "%s", text);
}

/* ---- each backend, in each HAProxy */

static void print_rules(const struct inspect_report *r, const struct inspect_mapping *m, struct page *p)
{
    static const enum page_ink inks[] = {
        [SERVER_LIVE] = INK_GREEN, [SERVER_DRAINING] = INK_YELLOW, [SERVER_OUT] = INK_RED};
    const struct explanation *e = &m->explanation;
    page_to(p, MARGIN);
    page_put(p, INK_PLAIN, m->is_node ? "node " : "endpoint ");
    page_put(p, INK_BOLD, r->node);
    page_put(p, INK_PLAIN, ": ");
    page_put(p, inks[e->state], server_state_name(e->state));
    page_end_line(p);
    page_to(p, MARGIN + 2);
    page_flow_line(p, INK_PLAIN, e->verdict);
    page_end_line(p);
    for (size_t i = 0; i < e->rule_count; i++) {
        const struct explain_rule *rule = &e->rules[i];
        page_to(p, MARGIN);
        page_printf(p, rule->passed ? INK_GREEN : INK_RED, "[%c] ", rule->passed ? 'x' : ' ');
        page_put(p, rule->passed ? INK_PLAIN : INK_RED, rule->rule);
        page_to(p, RULE_COLUMN);
        page_flow_line(p, INK_PLAIN, rule->text);
    }
}

static void print_backend(const struct inspect_report *r, size_t which, struct page *p)
{
    const struct inspect_mapping *m = &r->mappings[which];
    inspect_print_heading(m, p);
    if (!m->node_known) {
        page_to(p, MARGIN);
        page_printf(p, INK_DIM, "%s is unknown here", r->node);
        page_end_line(p);
        return;
    }
    print_rules(r, m, p);
    for (size_t t = 0; t < r->target_count; t++) {
        const struct inspect_backend *b = &r->targets[t].backends[which];
        const struct backend_server *line = b->seen ? backend_find(&b->actual, server_name(b)) : NULL;
        page_end_line(p);
        if (r->target_count > 1) {
            page_to(p, MARGIN);
            inspect_print_target(&r->targets[t], p);
        }
        print_now(r, b, line, p);
        if (b->seen)
            print_next(r, b, line, p);
    }
}

void inspect_print_explain(const struct inspect_report *r, struct page *p)
{
    if (inspect_explain_status(r) != EXIT_SUCCESS)
        return; /* this is a problem, shown on standard error */
    for (size_t i = 0; i < r->mapping_count; i++) {
        if (i > 0)
            page_end_line(p);
        print_backend(r, i, p);
    }
}

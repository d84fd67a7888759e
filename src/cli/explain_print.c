/* `explain NODE`: for each backend the rules in their order; then, for each HAProxy, what it has of the node now, and
 * what would change. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"
#include "base/page.h"

#define MARGIN 2
#define RULE_COLUMN 18

/* ---- what HAProxy has of the node ---- */

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

static void print_field(struct page *p, const char *name, enum page_ink ink, const char *text)
{
    page_to(p, MARGIN);
    page_put(p, INK_DIM, name);
    page_to(p, RULE_COLUMN);
    page_flow_line(p, ink, text);
}

/* Words, and their colour. */
struct said {
    char *text; /* NULL: nothing to say */
    enum page_ink ink;
};

static struct said state_in_maintenance(const struct inspect_report *r, const struct inspect_backend *b,
                                        const struct backend_server *line)
{
    bool parked = inspect_has_lines(b) && inspect_line(r, b, line) == INSPECT_LINE_PARKED;
    return (struct said){mem_strdup(parked ? "parked: in maintenance, kept so that its return needs no reload"
                                           : "in maintenance: no new connections, open ones continue"),
                         INK_DIM};
}

/* Of a line that is live. */
static struct said state_that_runs(const struct inspect_backend *b, const struct runtime_server *is)
{
    const struct admin_state *overridden = inspect_overridden(b, is->name);
    const char *state = runtime_admin_name(is->admin);
    if (overridden != NULL)
        return (struct said){mem_printf("admin state %s, set by an operator: left alone until it is set to ready",
                                        runtime_admin_name(overridden->theirs)),
                             INK_YELLOW};
    if (is->admin == RUNTIME_READY && runtime_fails_check(is))
        return (struct said){
            mem_strdup("DOWN: its admin state is ready, but its health check fails, so it gets no connections"),
            INK_RED};
    if (is->admin == RUNTIME_READY)
        return (struct said){mem_strdup("live: its admin state is ready"), INK_DIM};
    if (is->admin == RUNTIME_DRAIN)
        return (struct said){mem_strdup("draining, set at runtime only: no new connections, open ones continue"),
                             INK_CYAN};
    return (struct said){mem_printf("its admin state is %s", state), INK_YELLOW};
}

static struct said state_now(const struct inspect_report *r, const struct inspect_backend *b,
                             const struct backend_server *line)
{
    if (line->maintenance)
        return state_in_maintenance(r, b, line);
    if (!b->runtime.readable)
        return (struct said){b->runtime.why != NULL ? mem_printf("cannot read the running HAProxy: %s", b->runtime.why)
                                                    : NULL,
                             INK_YELLOW};
    const struct runtime_server *is = runtime_find(&b->runtime, line->name);
    return is != NULL ? state_that_runs(b, is)
                      : (struct said){mem_strdup("the running HAProxy does not have it"), INK_YELLOW};
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
    cleanup(mem_free_ptr) char *text = NULL;
    if (!b->seen)
        text = mem_printf("unknown, HAProxy could not be read: %s", b->unseen.message);
    else if (!b->actual.exists)
        text = mem_strdup("HAProxy has no such backend");
    else if (line == NULL)
        text = mem_printf("no server %s", server_name(b));
    else
        text = line_text(line);
    print_field(p, "now in HAProxy", b->seen ? INK_PLAIN : INK_YELLOW, text);
    if (b->seen && !str_eq(server_name(b), b->of->explanation.server)) {
        cleanup(mem_free_ptr) char *called =
            mem_printf("%s here (by ADOPT_SERVERS or SERVER_NAME_FORMAT)", server_name(b));
        print_field(p, "called", INK_PLAIN, called);
    }
    if (line == NULL)
        return;
    struct said state = state_now(r, b, line);
    if (state.text != NULL)
        print_field(p, "", state.ink, state.text);
    free(state.text);
}

/* ---- what would change ---- */

static char *change_text(const struct diff_change *c)
{
    if (c->op == DIFF_REMOVE)
        return mem_strdup("- it is removed");
    if (c->op == DIFF_CHANGE)
        return mem_printf("~ %s", c->detail);
    cleanup(mem_free_ptr) char *line = line_text(&c->server);
    return mem_printf("+ %s", line);
}

static const char *name_clash(const struct diff *d, const char *server)
{
    for (size_t i = 0; i < d->skip_count; i++)
        if (str_eq(d->skips[i].name, server))
            return d->skips[i].reason;
    return NULL;
}

/* Where no change is about it. Allocates. */
static char *unchanged_text(const struct inspect_report *r, const struct inspect_backend *b,
                            const struct backend_server *line)
{
    const char *clash = name_clash(&b->plan.diff, server_name(b));
    if (clash != NULL)
        return mem_printf("nothing: %s", clash);
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

static void print_change(const struct inspect_backend *b, const struct diff_change *change, struct page *p)
{
    static const enum page_ink inks[] = {[DIFF_ADD] = INK_GREEN, [DIFF_CHANGE] = INK_YELLOW, [DIFF_REMOVE] = INK_RED};
    cleanup(mem_free_ptr) char *text = change_text(change);
    print_field(p, "next", inks[change->op], text);
    print_field(p, "", INK_DIM,
                b->ways[change - b->plan.diff.changes] == INSPECT_BY_RELOAD ? "by a transaction and a reload"
                                                                            : "without a reload");
    if (b->plan.verdict == PLAN_NOT_WRITTEN)
        print_field(p, "", INK_YELLOW, b->plan.why);
    if (b->plan.verdict == PLAN_REFUSE) {
        cleanup(mem_free_ptr) char *refused = mem_printf("nothing is written: %s", b->plan.why);
        print_field(p, "", INK_RED, refused);
    }
}

static void print_next(const struct inspect_report *r, const struct inspect_backend *b,
                       const struct backend_server *line, struct page *p)
{
    const char *server = server_name(b);
    const struct diff_change *change = diff_find_change(&b->plan.diff, server);
    const struct runtime_command *call = inspect_call(b, server);
    cleanup(mem_free_ptr) char *text = NULL;
    if (inspect_has_lines(b) && change != NULL) {
        print_change(b, change, p);
        return;
    }
    if (inspect_has_lines(b) && call != NULL) {
        cleanup(mem_free_ptr) char *reason = inspect_call_reason(b, call);
        text = mem_printf("~ %s, at runtime only: %s", runtime_admin_name(call->state), reason);
        print_field(p, "next", INK_YELLOW, text);
        return;
    }
    if (!inspect_has_lines(b))
        text =
            mem_printf("nothing is written: %s", str_empty(b->plan.why) ? "the desired state is unknown" : b->plan.why);
    else
        text = unchanged_text(r, b, line);
    print_field(p, "next", INK_PLAIN, text);
}

static void print_in_target(const struct inspect_report *r, const struct inspect_target *t,
                            const struct inspect_backend *b, struct page *p)
{
    const struct backend_server *line = b->seen ? backend_find(&b->actual, server_name(b)) : NULL;
    page_end_line(p);
    if (r->target_count > 1) {
        page_to(p, MARGIN);
        inspect_print_target(t, p);
    }
    print_now(r, b, line, p);
    if (b->seen)
        print_next(r, b, line, p);
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
    const char *node = r->node;
    static const enum page_ink inks[] = {
        [SERVER_LIVE] = INK_GREEN, [SERVER_DRAINING] = INK_YELLOW, [SERVER_OUT] = INK_RED};
    const struct explanation *e = &m->explanation;
    page_to(p, MARGIN);
    page_put(p, INK_PLAIN, m->is_node ? "node " : "endpoint ");
    page_put(p, INK_BOLD, node);
    page_put(p, INK_PLAIN, ": ");
    page_put(p, inks[e->state], server_state_name(e->state));
    page_end_line(p);
    page_to(p, MARGIN + 2);
    page_flow_line(p, INK_PLAIN, e->verdict);
    page_end_line(p);
    for (size_t i = 0; i < m->explanation.rule_count; i++) {
        const struct explain_rule *rule = &m->explanation.rules[i];
        enum page_ink ink = rule->passed ? INK_GREEN : INK_RED;
        page_to(p, MARGIN);
        page_printf(p, ink, "[%c] ", rule->passed ? 'x' : ' ');
        page_put(p, rule->passed ? INK_PLAIN : INK_RED, rule->rule);
        page_to(p, RULE_COLUMN);
        page_flow_line(p, INK_PLAIN, rule->text);
    }
    for (size_t t = 0; t < r->target_count; t++)
        print_in_target(r, &r->targets[t], &r->targets[t].backends[which], p);
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

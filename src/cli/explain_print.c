/* `explain NODE`: for each backend the rules in their order; then, for each HAProxy, what it has of the node now, and
 * what would change. */
#include <stdarg.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/str.h"
#include "daemon/inspect/inspect_print.h"
#include "daemon/inspect/inspect_report.h"
#include "json/write.h"

#define MARGIN 2
#define RULE_COLUMN 18

/* Where lines of a name and a text go: to a page, or with doc to a list of its objects. */
struct explain_to {
    struct page *page;
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    const char *about; /* the last name */
};

static printf_like(4, 5) void print_field(struct explain_to *to, const char *name, enum page_ink ink, const char *fmt,
                                          ...)
{
    va_list args;
    va_start(args, fmt);
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, args);
    va_end(args);
    if (to->doc != NULL) {
        to->about = *name != '\0' ? name : to->about;
        json_fields(to->doc, json_add_object(to->doc, to->list), json_str("about", to->about), json_str("text", text));
        return;
    }
    page_to(to->page, MARGIN);
    page_put(to->page, INK_DIM, name);
    page_to(to->page, RULE_COLUMN);
    page_flow_line(to->page, ink, text);
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
static void print_running(const struct inspect_backend *b, const struct runtime_server *is, struct explain_to *to)
{
    const struct admin_state *overridden = inspect_overridden(b, is->name);
    if (overridden != NULL)
        print_field(to, "", INK_YELLOW, "admin state %s, set by an operator: left alone until it is set to ready",
                    runtime_admin_name(overridden->theirs));
    else if (is->admin == RUNTIME_READY && runtime_fails_check(is))
        print_field(to, "", INK_RED,
                    "DOWN: its admin state is ready, but its health check fails, so it gets no connections");
    else if (is->admin == RUNTIME_READY)
        print_field(to, "", INK_DIM, "live: its admin state is ready");
    else if (is->admin == RUNTIME_DRAIN)
        print_field(to, "", INK_CYAN, "draining, set at runtime only: no new connections, open ones continue");
    else
        print_field(to, "", INK_YELLOW, "its admin state is %s", runtime_admin_name(is->admin));
}

/* What it is called in this HAProxy. */
static const char *server_name(const struct inspect_backend *b)
{
    const char *name = desired_name_of_node(b->desired, b->of->explanation.server);
    return name != NULL ? name : b->of->explanation.server;
}

static void print_now(const struct inspect_report *r, const struct inspect_backend *b,
                      const struct backend_server *line, struct explain_to *to)
{
    static const char name[] = "now in HAProxy";
    cleanup(mem_free_ptr) char *text = line != NULL ? line_text(line) : NULL;
    if (!b->seen)
        print_field(to, name, INK_YELLOW, "unknown, HAProxy could not be read: %s", b->unseen.message);
    else if (!b->actual.exists)
        print_field(to, name, INK_PLAIN, "HAProxy has no such backend");
    else if (line == NULL)
        print_field(to, name, INK_PLAIN, "no server %s", server_name(b));
    else
        print_field(to, name, INK_PLAIN, "%s", text);
    if (b->seen && !str_eq(server_name(b), b->of->explanation.server))
        print_field(to, "called", INK_PLAIN, "%s here (by ADOPT_SERVERS or SERVER_NAME_FORMAT)", server_name(b));
    if (line == NULL)
        return;
    const struct runtime_server *is = b->runtime.readable ? runtime_find(&b->runtime, line->name) : NULL;
    if (line->maintenance && inspect_has_lines(b) && inspect_line(r, b, line) == INSPECT_LINE_PARKED)
        print_field(to, "", INK_DIM, "parked: in maintenance, kept so that its return needs no reload");
    else if (line->maintenance)
        print_field(to, "", INK_DIM, "in maintenance: no new connections, open ones continue");
    else if (is != NULL)
        print_running(b, is, to);
    else if (b->runtime.readable)
        print_field(to, "", INK_YELLOW, "the running HAProxy does not have it");
    else if (b->runtime.why != NULL)
        print_field(to, "", INK_YELLOW, "cannot read the running HAProxy: %s", b->runtime.why);
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

static void print_change(const struct inspect_backend *b, const struct diff_change *c, struct explain_to *to)
{
    cleanup(mem_free_ptr) char *line = line_text(&c->server);
    if (c->op == DIFF_REMOVE)
        print_field(to, "next", INK_RED, "- it is removed");
    else if (c->op == DIFF_ADD)
        print_field(to, "next", INK_GREEN, "+ %s", line);
    else
        print_field(to, "next", INK_YELLOW, "~ %s", c->detail);
    print_field(to, "", INK_DIM, "%s",
                b->reloads[c - b->plan.diff.changes] ? "by a transaction and a reload" : "without a reload");
    if (b->plan.verdict == PLAN_NOT_WRITTEN)
        print_field(to, "", INK_YELLOW, "%s", b->plan.why);
    if (b->plan.verdict == PLAN_REFUSE)
        print_field(to, "", INK_RED, "nothing is written: %s", b->plan.why);
}

static void print_next(const struct inspect_report *r, const struct inspect_backend *b,
                       const struct backend_server *line, struct explain_to *to)
{
    const struct diff_change *change = diff_find_change(&b->plan.diff, server_name(b));
    const struct runtime_command *call = inspect_call(b, server_name(b));
    cleanup(mem_free_ptr) char *text = call != NULL           ? inspect_call_reason(b, call)
                                       : inspect_has_lines(b) ? unchanged_text(r, b, line)
                                                              : NULL;
    if (!inspect_has_lines(b))
        print_field(to, "next", INK_PLAIN, "nothing is written: %s",
                    str_empty(b->plan.why) ? "the desired state is unknown" : b->plan.why);
    else if (change != NULL)
        print_change(b, change, to);
    else if (call != NULL)
        print_field(to, "next", INK_YELLOW, "~ %s, at runtime only: %s", runtime_admin_name(call->state), text);
    else
        print_field(to, "next", INK_PLAIN, "%s", text);
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
        struct explain_to to = {.page = p};
        print_now(r, b, line, &to);
        if (b->seen)
            print_next(r, b, line, &to);
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

/* ---- as JSON */

void inspect_print_explain_json(const struct inspect_report *r, struct buf *out)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("node", r->node), json_bool("known", inspect_explain_status(r) == EXIT_SUCCESS),
                json_str("did_you_mean", r->nearest));
    inspect_put_problems(doc, root, r);
    yyjson_mut_val *backends = json_put_list(doc, root, "backends");
    for (size_t i = 0; i < r->mapping_count; i++) {
        const struct inspect_mapping *m = &r->mappings[i];
        const struct explanation *e = &m->explanation;
        yyjson_mut_val *obj = json_add_object(doc, backends);
        json_fields(doc, obj, json_str("backend", m->backend));
        inspect_put_service(doc, obj, m);
        json_fields(doc, obj, json_bool("known", m->node_known), json_bool("is_node", m->is_node),
                    json_str("state", m->node_known ? server_state_name(e->state) : NULL),
                    json_str("verdict", e->verdict));
        yyjson_mut_val *rules = json_put_list(doc, obj, "rules"), *haproxies = json_put_list(doc, obj, "haproxies");
        for (size_t k = 0; k < e->rule_count; k++)
            json_fields(doc, json_add_object(doc, rules), json_str("rule", e->rules[k].rule),
                        json_bool("passed", e->rules[k].passed), json_str("text", e->rules[k].text));
        for (size_t t = 0; m->node_known && t < r->target_count; t++) {
            const struct inspect_backend *b = &r->targets[t].backends[i];
            const struct backend_server *line = b->seen ? backend_find(&b->actual, server_name(b)) : NULL;
            yyjson_mut_val *haproxy = json_add_object(doc, haproxies);
            json_fields(doc, haproxy, json_str("url", r->targets[t].url), json_str("server", server_name(b)));
            struct explain_to to = {.doc = doc, .list = json_put_list(doc, haproxy, "lines")};
            print_now(r, b, line, &to);
            if (b->seen)
                print_next(r, b, line, &to);
        }
    }
    json_print(doc, out);
}

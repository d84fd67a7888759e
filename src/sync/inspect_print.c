/* What the printers have in common. */
#include "sync/inspect_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/objects.h"
#include "model/service_port.h"
#include "sync/inspect_report.h"
#include "sync/page.h"

static void choose_port(const struct inspect_backend *b, struct port_choice *ret)
{
    cleanup(mem_free_ptr) char *where = mem_printf("%s/%s", b->rules->namespace, b->rules->service);
    service_port_choose(b->service, where, b->rules->port, b->rules->fixed_port, ret);
}

char *inspect_port_name(const struct inspect_backend *b)
{
    cleanup(port_choice_fini) struct port_choice choice;
    choose_port(b, &choice);
    if (!str_empty(choice.name))
        return mem_strdup(choice.name);
    if (b->rules->port != NULL)
        return mem_strdup(b->rules->port);
    bool only_one = b->service != NULL && b->service->port_count == 1;
    return only_one ? mem_printf("%u", b->service->ports[0].number) : NULL;
}

static void add_fact(struct buf *facts, const char *fact)
{
    buf_printf(facts, "%s%s", facts->len > 0 ? ", " : "", fact);
}

static void add_port_fact(struct buf *facts, const struct inspect_backend *b)
{
    char text[40];
    cleanup(port_choice_fini) struct port_choice choice;
    choose_port(b, &choice);
    if (choice.source == PORT_FIXED || choice.source == PORT_NODE_PORT) {
        snprintf(text, sizeof(text), choice.source == PORT_FIXED ? "HAPROXY_BACKEND_PORT %u" : "nodePort %u",
                 choice.number);
        add_fact(facts, text);
    } else if (choice.source == PORT_ENDPOINT) {
        add_fact(facts, "the endpoint's own port");
    }
}

static void add_service_facts(struct buf *facts, const struct service *s)
{
    static const char *const types[] = {[SERVICE_CLUSTER_IP] = "ClusterIP",
                                        [SERVICE_NODE_PORT] = "NodePort",
                                        [SERVICE_LOAD_BALANCER] = "LoadBalancer",
                                        [SERVICE_EXTERNAL_NAME] = "ExternalName"};
    add_fact(facts, types[s->type]);
    if (s->type == SERVICE_NODE_PORT || s->type == SERVICE_LOAD_BALANCER)
        add_fact(facts, s->local ? "policy Local" : "policy Cluster");
}

static void print_facts(const char *facts, struct page *p)
{
    cleanup(mem_free_ptr) char *text = mem_printf("(%s)", facts);
    if (p->column + 2 + page_columns(text) > p->width)
        page_end_line(p);
    page_to(p, p->column + 2);
    page_flow(p, INK_DIM, text);
}

void inspect_print_heading(const struct inspect_backend *b, struct page *p)
{
    cleanup(buf_fini) struct buf facts;
    cleanup(mem_free_ptr) char *port = inspect_port_name(b);
    buf_init(&facts, 0);
    if (b->service_state == INSPECT_SERVICE_DENIED)
        add_fact(&facts, "the Service itself may not be read");
    else if (b->service_state == INSPECT_SERVICE_ABSENT)
        add_fact(&facts, "there is no such Service");
    else if (b->service != NULL)
        add_service_facts(&facts, b->service);
    if (b->service_state != INSPECT_SERVICE_WAITING)
        add_port_fact(&facts, b);
    if (b->service != NULL && b->service->paused)
        add_fact(&facts, "paused");
    page_put(p, INK_PLAIN, "backend ");
    page_put(p, INK_BOLD, b->name);
    page_put(p, INK_PLAIN, "  <-  Service ");
    page_printf(p, INK_BOLD, "%s/%s", b->rules->namespace, b->rules->service);
    if (port != NULL) {
        page_put(p, INK_PLAIN, " port ");
        page_put(p, INK_BOLD, port);
    }
    if (facts.len > 0)
        print_facts(buf_str(&facts), p);
    page_end_line(p);
}

char *inspect_address(const struct backend_server *s)
{
    const char *address = str_empty(s->address) ? "(no address)" : s->address;
    bool v6 = strchr(address, ':') != NULL;
    if (s->port == 0)
        return mem_strdup(address);
    return mem_printf("%s%s%s:%u", v6 ? "[" : "", address, v6 ? "]" : "", s->port);
}

char *inspect_why(const struct inspect_backend *b)
{
    if (b->seen)
        return mem_strdup(b->plan.why);
    /* Two troubles at once are both worth saying. */
    bool waiting = b->wish.state == DESIRED_NOT_SYNCED || b->wish.state == DESIRED_UNDECIDED;
    return mem_printf("%s%s%s", b->unseen.message, waiting ? "; besides, " : "",
                      waiting && b->wish.problem != NULL ? b->wish.problem : "");
}

bool inspect_has_lines(const struct inspect_backend *b)
{
    return b->seen && b->plan.verdict != PLAN_WAIT && b->plan.diff.verdict != DIFF_REFUSE;
}

enum inspect_line inspect_line(const struct inspect_report *r, const struct inspect_backend *b,
                               const struct backend_server *line)
{
    const struct diff *d = &b->plan.diff;
    if (diff_server_is_foreign(line, r->rules))
        return INSPECT_LINE_FOREIGN;
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].op != DIFF_ADD && str_eq(d->changes[i].server.name, line->name))
            return INSPECT_LINE_CHANGED;
    const struct desired_server *want = desired_find(&b->wish, line->name);
    bool as_wanted = want != NULL && line->maintenance == (want->state == SERVER_DRAINING);
    return as_wanted ? INSPECT_LINE_EQUAL : INSPECT_LINE_HELD;
}

static const char *known_reason(const struct inspect_backend *b, const char *server)
{
    for (size_t i = 0; i < b->reason_count; i++)
        if (str_eq(b->reasons[i].server, server))
            return b->reasons[i].text;
    return NULL;
}

char *inspect_reason(const struct inspect_backend *b, const char *server)
{
    const struct desired_server *want = desired_find(&b->wish, server);
    const struct desired_skip *skip = want == NULL ? desired_why_out(&b->wish, server) : NULL;
    if (skip != NULL)
        return mem_printf("%s: %s", skip->subject, skip->reason);
    return mem_strdup(want != NULL ? want->reason : known_reason(b, server));
}

char *inspect_change_reason(const struct inspect_backend *b, const struct diff_change *c)
{
    const char *known = c->op == DIFF_REMOVE ? known_reason(b, c->server.name) : NULL;
    return mem_strdup(known != NULL ? known : c->reason);
}

static void print_missing(const char *missing, struct page *p)
{
    page_put(p, INK_RED, "Kubernetes did not tell all in time:");
    page_end_line(p);
    for (const char *line = missing; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        cleanup(mem_free_ptr) char *text = mem_strndup(line, len);
        size_t mark = str_has_prefix(text, "[-]") ? strlen("[-]") : 0;
        page_printf(p, INK_RED, "  %.*s", (int)mark, text);
        page_to(p, p->column + 1);
        page_flow(p, INK_PLAIN, text + mark);
        page_end_line(p);
        line += len + (line[len] == '\n');
    }
}

static void print_unknown_node(const struct inspect_report *r, struct page *p)
{
    cleanup(mem_free_ptr) char *text = mem_printf("nothing is known by the name %s: it is no Node, no node that an "
                                                  "endpoint names, and no address of an endpoint that names none",
                                                  r->node);
    page_flow(p, INK_RED, text);
    page_end_line(p);
    for (size_t i = 0; i < r->count; i++) {
        const struct inspect_backend *b = &r->backends[i];
        if (!b->seen || backend_find(&b->actual, r->node) == NULL)
            continue;
        cleanup(mem_free_ptr) char *line =
            mem_printf("HAProxy has a server of that name in backend %s: haproxy-k8s-sync "
                       "plan says what becomes of it",
                       b->name);
        page_flow(p, INK_PLAIN, line);
        page_end_line(p);
    }
    if (r->nearest != NULL) {
        cleanup(mem_free_ptr) char *hint = mem_printf("did you mean %s?", r->nearest);
        page_flow(p, INK_PLAIN, hint);
        page_end_line(p);
    }
}

void inspect_print_problems(const struct inspect_report *r, struct page *p)
{
    if (r->missing != NULL)
        print_missing(r->missing, p);
    else if (r->node != NULL && inspect_explain_status(r) != EXIT_SUCCESS)
        print_unknown_node(r, p);
    if (r->warning != NULL) {
        page_put(p, INK_YELLOW, "note: ");
        page_flow(p, INK_PLAIN, r->warning);
        page_end_line(p);
    }
}

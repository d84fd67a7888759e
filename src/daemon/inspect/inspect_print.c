/* What the printers have in common. */
#include "daemon/inspect/inspect_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "model/objects.h"
#include "model/service_port.h"
#include "servers/change/ownership.h"
#include "daemon/inspect/inspect_report.h"
#include "base/page.h"

static void choose_port(const struct inspect_mapping *m, struct port_choice *ret)
{
    cleanup(mem_free_ptr) char *where = mem_printf("%s/%s", m->rules->namespace, m->rules->service);
    service_port_choose(m->service, where, m->rules->port, m->rules->fixed_port, ret);
}

char *inspect_port_name(const struct inspect_mapping *m)
{
    cleanup(port_choice_fini) struct port_choice choice;
    choose_port(m, &choice);
    if (!str_empty(choice.name))
        return mem_strdup(choice.name);
    if (m->rules->port != NULL)
        return mem_strdup(m->rules->port);
    bool only_one = m->service != NULL && m->service->port_count == 1;
    return only_one ? mem_printf("%u", m->service->ports[0].number) : NULL;
}

/* "NodePort, policy Local, nodePort 30443". NULL: none. Allocates. */
static char *heading_facts(const struct inspect_mapping *m)
{
    const struct service *s = m->service;
    cleanup(port_choice_fini) struct port_choice choice;
    cleanup(mem_free_ptr) char *port = NULL;
    struct text_list facts = {.between = ", ", .max = SIZE_MAX};
    choose_port(m, &choice);
    if (choice.source == PORT_FIXED || choice.source == PORT_NODE_PORT)
        port = mem_printf("%s %u", choice.source == PORT_FIXED ? "HAPROXY_BACKEND_PORT" : "nodePort", choice.number);
    bool waiting = m->service_state == INSPECT_SERVICE_WAITING, denied = m->service_state == INSPECT_SERVICE_DENIED,
         absent = m->service_state == INSPECT_SERVICE_ABSENT, is = s != NULL && !denied && !absent;
    bool has_policy = is && (s->type == SERVICE_NODE_PORT || s->type == SERVICE_LOAD_BALANCER);
    const char *const list[] = {denied   ? "the Service itself may not be read"
                                : absent ? "there is no such Service"
                                : is     ? service_type_names[s->type]
                                         : NULL,
                                !has_policy ? NULL
                                : s->local  ? "policy Local"
                                            : "policy Cluster",
                                waiting                          ? NULL
                                : choice.source == PORT_ENDPOINT ? "the endpoint's own port"
                                                                 : port,
                                s != NULL && s->paused ? "paused" : NULL};
    for (size_t i = 0; i < array_len(list); i++)
        if (list[i] != NULL && text_list_next(&facts))
            buf_add(&facts.text, list[i]);
    return text_list_take(&facts);
}

void inspect_print_heading(const struct inspect_mapping *m, struct page *p)
{
    cleanup(mem_free_ptr) char *port = inspect_port_name(m), *facts = heading_facts(m);
    page_put(p, INK_PLAIN, "backend ");
    page_put(p, INK_BOLD, m->backend);
    page_put(p, INK_PLAIN, "  <-  Service ");
    page_printf(p, INK_BOLD, "%s/%s", m->rules->namespace, m->rules->service);
    if (port != NULL) {
        page_put(p, INK_PLAIN, " port ");
        page_put(p, INK_BOLD, port);
    }
    if (facts != NULL) {
        cleanup(mem_free_ptr) char *text = mem_printf("(%s)", facts);
        if (p->column + 2 + page_columns(text) > p->width)
            page_end_line(p);
        page_to(p, p->column + 2);
        page_flow(p, INK_DIM, text);
    }
    page_end_line(p);
}

void inspect_print_target(const struct inspect_target *t, struct page *p)
{
    page_put(p, INK_PLAIN, "HAProxy ");
    page_put(p, INK_BOLD, t->url);
    page_end_line(p);
}

char *inspect_drift(const struct inspect_target *t)
{
    return t->drift != NULL ? mem_printf("running HAProxy differs from haproxy.cfg: %s", t->drift) : NULL;
}

char *inspect_address(const struct backend_server *s)
{
    const char *address = str_empty(s->address) ? "(no address)" : s->address;
    return s->port == 0 ? mem_strdup(address) : str_host_port(address, s->port);
}

char *inspect_why(const struct inspect_backend *b)
{
    const struct desired *desired = b->desired;
    if (b->seen)
        return mem_strdup(b->plan.why);
    /* Both problems are shown. */
    bool waiting = desired->state == DESIRED_NOT_SYNCED || desired->state == DESIRED_UNDECIDED;
    return mem_printf("%s%s%s", b->unseen.message, waiting ? "; also, " : "",
                      waiting && desired->problem != NULL ? desired->problem : "");
}

const char *inspect_unseen(const struct inspect_report *r, const struct inspect_target *t)
{
    for (size_t i = 0; i < r->mapping_count; i++)
        if (t->backends[i].seen || !str_eq(t->backends[i].unseen.message, t->backends[0].unseen.message))
            return NULL;
    return r->mapping_count > 0 ? t->backends[0].unseen.message : NULL;
}

bool inspect_has_lines(const struct inspect_backend *b)
{
    return b->seen && b->plan.verdict != PLAN_WAIT && b->plan.diff.verdict != DIFF_REFUSE;
}

/* ---- what happens to a line ---- */

const struct runtime_command *inspect_call(const struct inspect_backend *b, const char *server)
{
    for (size_t i = 0; i < b->choice.command_count; i++)
        if (str_eq(b->choice.commands[i].name, server))
            return &b->choice.commands[i];
    return NULL;
}

bool inspect_is_only_commanded(const struct inspect_backend *b, const char *server)
{
    return diff_find_change(&b->plan.diff, server) == NULL && inspect_call(b, server) != NULL;
}

size_t inspect_commanded_count(const struct inspect_backend *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->choice.command_count; i++)
        count += inspect_is_only_commanded(b, b->choice.commands[i].name);
    return count;
}

const struct admin_state *inspect_overridden(const struct inspect_backend *b, const char *server)
{
    const struct admin_state *mark = admin_states_find(&b->memory, server);
    /* Without a desired state it is unknown who set it. */
    return mark != NULL && b->memory.known && mark->theirs != RUNTIME_READY && !mark->parked ? mark : NULL;
}

enum inspect_line inspect_line(const struct inspect_report *r, const struct inspect_backend *b,
                               const struct backend_server *line)
{
    const struct diff *d = &b->plan.diff;
    if (diff_server_is_foreign(line, &r->rules->diff, b->desired))
        return diff_server_is_others(line, &r->rules->diff) ? INSPECT_LINE_OTHERS : INSPECT_LINE_FOREIGN;
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].op != DIFF_ADD && str_eq(d->changes[i].server.name, line->name))
            return INSPECT_LINE_CHANGED;
    if (inspect_call(b, line->name) != NULL)
        return INSPECT_LINE_COMMANDED;
    const struct desired_server *want = desired_find(b->desired, line->name);
    if (want == NULL)
        return line->maintenance && b->in.parking != NULL ? INSPECT_LINE_PARKED : INSPECT_LINE_DELAYED;
    const struct runtime_server *is = runtime_find(&b->runtime, line->name);
    bool drained = line->maintenance || (is != NULL && is->admin != RUNTIME_READY); /* in the file, or at runtime */
    bool as_desired = want->state == SERVER_DRAINING ? drained : !line->maintenance;
    return as_desired ? INSPECT_LINE_EQUAL : INSPECT_LINE_DELAYED;
}

struct inspect_ways inspect_count_ways(const struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    struct inspect_ways ways = {.without = inspect_commanded_count(b),
                                .reload = d->backend_change || d->create_backend};
    for (size_t i = 0; i < d->change_count; i++)
        if (b->reloads[i])
            ways.reload++;
        else
            ways.without++;
    return ways;
}

int64_t inspect_until_ms(const struct inspect_report *r, const struct inspect_backend *b, const char *server)
{
    const struct desired_server *want = desired_find(b->desired, server);
    const struct plan_delayed *delayed = plan_find_delayed(&b->plan, server);
    uint64_t until_ms = want != NULL ? want->until_ms : delayed != NULL ? delayed->until_ms : 0;
    return r->daemon.used && until_ms != 0 ? (int64_t)until_ms + r->wall_minus_mono_ms : 0;
}

/* ---- reasons ---- */

char *inspect_reload_why(const struct inspect_backend *b)
{
    if (inspect_count_ways(b).reload == 0)
        return NULL;
    if (b->actual.exists && !b->runtime.readable && b->runtime.why != NULL)
        return mem_printf("cannot read the running HAProxy: %s", b->runtime.why);
    if (b->runtime.readable && !b->in.at.open)
        return mem_strdup("HAProxy did not apply a runtime update, so the daemon makes none for now");
    return mem_strdup(b->choice.why != NULL ? b->choice.why : "HAProxy is reloaded in any case");
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
    const struct desired *desired = b->desired;
    const struct desired_server *want = desired_find(desired, server);
    const struct desired_skip *skip = want == NULL ? desired_why_out(desired, server) : NULL;
    if (skip != NULL)
        return desired_skip_text(desired, skip);
    return want != NULL ? desired_server_reason(desired, want) : mem_strdup(known_reason(b, server));
}

char *inspect_change_reason(const struct inspect_backend *b, const struct diff_change *c)
{
    if (c->op == DIFF_ADD) {
        const struct desired_server *want = desired_find(b->desired, c->server.name);
        return desired_server_reason(b->desired, want != NULL ? want : desired_find_spare(b->desired, c->server.name));
    }
    bool leaves = c->op == DIFF_REMOVE || (c->op == DIFF_CHANGE && c->parks);
    bool was_parked = b->in.parking != NULL && !c->loss; /* why parking ends says more */
    const char *known = leaves && !was_parked ? known_reason(b, c->server.name) : NULL;
    return mem_strdup(known != NULL ? known : c->reason);
}

char *inspect_call_reason(const struct inspect_backend *b, const struct runtime_command *c)
{
    const struct desired_server *want = desired_find(b->desired, c->name);
    bool drains = want != NULL && want->state == SERVER_DRAINING && c->state == RUNTIME_DRAIN;
    return drains ? desired_server_reason(b->desired, want) : mem_strdup(c->why);
}

/* ---- standard error ---- */

static void print_namesake(const struct inspect_report *r, const struct inspect_target *t,
                           const struct inspect_backend *b, struct page *p)
{
    const struct backend_server *is = b->seen ? backend_find(&b->actual, r->node) : NULL;
    if (is == NULL)
        return;
    cleanup(mem_free_ptr) char *cluster = diff_server_is_others(is, &r->rules->diff)
                                              ? ownership_cluster(r->rules->diff.server_name_format, is->name)
                                              : NULL;
    cleanup(mem_free_ptr) char *hint =
        cluster != NULL ? mem_printf("it is another cluster's, %s, whose own haproxy-k8s-sync explains it", cluster)
                        : mem_strdup("see haproxy-k8s-sync plan");
    cleanup(mem_free_ptr) char *line =
        mem_printf("HAProxy%s%s has a server of this name in backend %s: %s", r->target_count > 1 ? " " : "",
                   r->target_count > 1 ? t->url : "", b->of->backend, hint);
    page_flow_line(p, INK_PLAIN, line);
}

void inspect_print_problems(const struct inspect_report *r, struct page *p)
{
    if (r->away) {
        /* Which of the watches was the first to notice says nothing. */
        const char *reason = r->missing.list[0].reason, *get = strstr(reason, "GET ");
        const char *why = get != NULL ? strstr(get, ": ") : NULL;
        cleanup(mem_free_ptr) char *line = mem_printf(
            "%s cannot be used: %s. Nothing is known of its Services; haproxy-k8s-sync doctor checks the way to "
            "it",
            r->missing.list[0].name, why != NULL ? why + 2 : reason);
        page_flow_line(p, INK_RED, line);
    } else if (r->incomplete) {
        page_put(p, INK_RED, "not all Kubernetes objects were received in time:");
        page_end_line(p);
        for (size_t i = 0; i < r->missing.count; i++) {
            if (r->missing.list[i].state != CHECK_FAIL)
                continue;
            cleanup(mem_free_ptr) char *line = checks_line(&r->missing.list[i]);
            page_put(p, INK_RED, "  [-]");
            page_to(p, p->column + 1);
            page_flow_line(p, INK_PLAIN, line);
        }
    } else if (r->node != NULL && inspect_explain_status(r) != EXIT_SUCCESS) {
        cleanup(mem_free_ptr) char *text = mem_printf(
            "%s is unknown: it is no Node, no node of an endpoint, and no address of an endpoint without a node",
            r->node);
        page_flow_line(p, INK_RED, text);
        for (size_t t = 0; t < r->target_count; t++)
            for (size_t m = 0; m < r->mapping_count; m++)
                print_namesake(r, &r->targets[t], &r->targets[t].backends[m], p);
        if (r->nearest != NULL) {
            cleanup(mem_free_ptr) char *hint = mem_printf("did you mean %s?", r->nearest);
            page_flow_line(p, INK_PLAIN, hint);
        }
    }
    for (size_t t = 0; t < r->target_count; t++) {
        const struct inspect_target *target = &r->targets[t];
        cleanup(mem_free_ptr) char *drift = inspect_drift(target);
        const char *const notes[] = {target->warning, target->file_warning, drift};
        for (size_t i = 0; i < array_len(notes); i++) {
            if (notes[i] == NULL)
                continue;
            cleanup(mem_free_ptr) char *text =
                r->target_count > 1 ? mem_printf("HAProxy %s: %s", target->url, notes[i]) : mem_strdup(notes[i]);
            page_put(p, INK_YELLOW, "note: ");
            page_flow_line(p, INK_PLAIN, text);
        }
    }
}

/* What is kept of a place for the sentences about it (desired_text): a run ends, and so do the objects in the caches. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "servers/desired/desired_internal.h"

/* ---- what all have in common ---- */

static struct desired_why said_of_all(const struct run *r)
{
    static const struct place anywhere = {.named = true};
    const struct tally *t = r->ready.first != NULL ? &r->ready : &r->leaving;
    if (!r->all || t->first == NULL)
        return (struct desired_why){.kind = WHY_UNSAID};
    return run_endpoints(&anywhere, t, t == &r->ready ? WHY_READY : WHY_TERMINATING);
}

void run_say(struct run *r)
{
    struct desired_words *w = text_pool_alloc(r->texts, sizeof(*w));
    cleanup(mem_free_ptr) char *addresses = node_rules_text(&r->rules->nodes, r->service, r->node_port);
    *w = (struct desired_words){.of_endpoints = r->cache != NULL && r->cache == r->in->caches->endpoints,
                                .node_port = r->node_port,
                                .fixed_port = r->port.source == PORT_FIXED,
                                .own_port = r->port.source == PORT_ENDPOINT,
                                .family = r->rules->nodes.family,
                                .drain_timeout_ms = r->rules->drain_timeout_ms,
                                .port = text_pool_add(r->texts, r->port.name),
                                .port_reason = text_pool_add(r->texts, r->port.reason),
                                .node_selector = text_pool_add(r->texts, r->rules->node_selector),
                                .addresses = text_pool_add(r->texts, addresses),
                                .every = said_of_all(r)};
    r->words = w;
}

/* ---- in ---- */

struct desired_why run_endpoints(const struct place *p, const struct tally *t, enum desired_why_kind kind)
{
    struct desired_why why = {
        .kind = (uint8_t)kind, .count = tally_count(t), .more_sets = t->more_sets, .alone = !p->named};
    for (size_t i = 0; i < DESIRED_SETS && t->sets[i] != NULL; i++)
        why.sets[i] = t->sets[i]->name;
    return why;
}

struct desired_why run_why(const struct run *r, const struct place *p)
{
    struct desired_why why = {.kind = WHY_EVERY};
    if (p->by != NULL)
        why = run_endpoints(p, p->by,
                            p->step.state == SERVER_DRAINING ? WHY_DRAINING
                            : p->sign == SIGN_ENDING         ? WHY_ENDING
                            : p->by == &p->ready             ? WHY_READY
                                                             : WHY_TERMINATING);
    if (p->server == NULL || strcmp(p->server, p->name) == 0)
        return why;
    /* The server's name does not say it all. */
    cleanup(mem_free_ptr) char *text = text_server_reason(r->words, p->name, &why);
    return (struct desired_why){.text = text_pool_add(r->texts, text), .kind = WHY_TEXT};
}

/* ---- out ---- */

/* What is said about the node itself; the rest is about an endpoint. */
static bool is_about_node(const struct place *p)
{
    switch (p->cause) {
    case CAUSE_EXCLUDED:
    case CAUSE_NO_ADDRESS:
    case CAUSE_NAME_TAKEN:
        return p->named;
    default:
        return p->best == NULL;
    }
}

static const char *said_detail(const struct place *p, struct desired *d)
{
    switch (p->cause) {
    case CAUSE_EXCLUDED:
        return p->exclusion;
    case CAUSE_UNSERVED: {
        /* The ports that its group has, as it does not serve the one that is asked for. */
        const struct endpoint_group *g = p->best->set->set->groups;
        while (p->best->endpoint < g->endpoints || p->best->endpoint >= g->endpoints + g->endpoint_count)
            g++;
        struct buf b = {0};
        for (size_t i = 0; i < g->port_count && i < PORTS_SHOWN; i++)
            buf_printf(&b, "%s%s%s%u", i > 0 ? ", " : "", g->ports[i].name, str_empty(g->ports[i].name) ? "" : " ",
                       g->ports[i].number);
        buf_add(&b, g->port_count > PORTS_SHOWN ? ", ..." : "");
        return desired_text_take(d, buf_take(&b));
    }
    case CAUSE_OTHER_FAMILY:
        return desired_text(d, p->address);
    case CAUSE_NAME_TAKEN:
        return desired_text(d, p->winner->name);
    default:
        return NULL;
    }
}

struct desired_skip run_skip(const struct place *p, struct desired *d)
{
    const struct tally *t = p->by != NULL              ? p->by
                            : p->ready.first != NULL   ? &p->ready
                            : p->leaving.first != NULL ? &p->leaving
                                                       : NULL;
    const struct placed_endpoint *speaks = is_about_node(p) ? NULL : t != NULL ? t->first : p->best;
    bool same_name = p->server != NULL && strcmp(p->server, p->name) == 0;
    struct desired_skip s = {.server = p->server,
                             .place = same_name ? p->server : desired_text(d, p->name),
                             .detail = said_detail(p, d),
                             .endpoint_count = p->endpoint_count,
                             .cause = (uint8_t)p->cause,
                             .named = p->named,
                             .announced = p->step.announced};
    if (t != NULL)
        s.here = run_endpoints(p, t, t == &p->ready ? WHY_READY : WHY_TERMINATING);
    if (speaks != NULL) {
        s.endpoint = speaks->endpoint->address == p->name ? s.place : desired_text(d, speaks->endpoint->address);
        s.set = speaks->set->name;
    }
    return s;
}

/* The sentences about one place: why it has its server, or none. What they need is kept when a run ends, as the objects in the
 * caches may go; they are made when they are read, as nearly none ever is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "servers/desired/desired_internal.h"

/* ---- what is kept ---- */

struct desired_why run_endpoints(const struct place *p, const struct tally *t, enum desired_why_kind kind)
{
    struct desired_why why = {
        .kind = (uint8_t)kind, .count = tally_count(t), .more_sets = t->more_sets, .alone = !p->named};
    for (size_t i = 0; i < DESIRED_SETS && t->sets[i] != NULL; i++)
        why.sets[i] = t->sets[i]->name;
    return why;
}

const struct desired_words *run_say(const struct run *r)
{
    static const struct place anywhere = {.named = true};
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
                                .every = {.kind = WHY_UNSAID}};
    const struct tally *t = r->ready.first != NULL ? &r->ready : &r->leaving;
    if (r->all && t->first != NULL)
        w->every = run_endpoints(&anywhere, t, t == &r->ready ? WHY_READY : WHY_TERMINATING);
    return w;
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

static const char *said_detail(const struct place *p, struct desired *d)
{
    switch (p->cause) {
    case CAUSE_EXCLUDED:
        return p->exclusion;
    case CAUSE_UNSERVED: {
        /* The ports that its group has, as it does not serve the one that is asked for. */
        const struct endpoint_group *g = p->best->set->set->groups; /* NOLINT(clang-analyzer-core.NullDereference) */
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
    /* What is said about the node itself; the rest is about an endpoint. */
    bool of_node = p->cause == CAUSE_EXCLUDED || p->cause == CAUSE_NO_ADDRESS || p->cause == CAUSE_NAME_TAKEN
                       ? p->named
                       : p->best == NULL;
    const struct placed_endpoint *speaks = of_node ? NULL : t != NULL ? t->first : p->best;
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

char *text_duration(uint64_t ms)
{
    uint64_t s = ms / 1000;
    if (ms % 1000 != 0)
        return mem_printf("%" PRIu64 "ms", ms);
    if (s >= 60 && s % 60 != 0)
        return mem_printf("%" PRIu64 "m%" PRIu64 "s", s / 60, s % 60);
    return s >= 60 ? mem_printf("%" PRIu64 "m", s / 60) : mem_printf("%" PRIu64 "s", s);
}

/* ---- where it stands ---- */

static const char *set_word(const struct desired_words *w, bool several)
{
    return w->of_endpoints ? "Endpoints" : several ? "slices" : "slice";
}

/* " (slice a)", " (slices a, b)", " (slices a, b and more)" */
static void add_sets(struct buf *b, const struct desired_words *w, const struct desired_why *why)
{
    bool several = why->sets[1] != NULL;
    buf_printf(b, " (%s %s%s%s%s)", set_word(w, several), why->sets[0], several ? ", " : "",
               several ? why->sets[1] : "", why->more_sets ? " and more" : "");
}

static const char *desired_text_kind_of(const struct desired_why *why)
{
    return why->kind == WHY_READY ? "ready" : "terminating";
}

/* "2 ready endpoints on node n1", "ready endpoint 10.9.9.9" */
static void add_endpoints(struct buf *b, const char *place, const struct desired_why *why)
{
    const char *kind = desired_text_kind_of(why);
    if (why->alone)
        buf_printf(b, "%s endpoint %s", kind, place);
    else
        buf_printf(b, "%u %s endpoint%s on node %s", why->count, kind, why->count == 1 ? "" : "s", place);
}

char *text_endpoints(const struct desired_words *w, const char *place, const struct desired_why *why)
{
    struct buf b = {0};
    if (why->count > 0) {
        add_endpoints(&b, place, why);
        add_sets(&b, w, why);
    }
    return buf_take(&b);
}

/* ---- in ---- */

static char *reason_by_endpoints(const struct desired_words *w, const char *place, const struct desired_why *why)
{
    struct buf b = {0};
    if (why->kind == WHY_DRAINING) {
        cleanup(mem_free_ptr) char *timeout = text_duration(w->drain_timeout_ms);
        buf_printf(&b, "draining until its endpoints are gone or %s are over: ", timeout);
        add_endpoints(&b, place, why);
        buf_add(&b, ", none ready");
        add_sets(&b, w, why);
        return buf_take(&b);
    }
    if (why->kind == WHY_EVERY) {
        const struct desired_why *all = &w->every;
        buf_printf(&b, "NODE_MODE=all: every eligible node reaches the Service's %u %s endpoint%s", all->count,
                   desired_text_kind_of(all), all->count == 1 ? "" : "s");
        add_sets(&b, w, all);
    } else {
        add_endpoints(&b, place, why);
        add_sets(&b, w, why);
        if (why->kind == WHY_ENDING)
            buf_add(&b, ", used because no ready one is usable");
    }
    if (why->alone && w->node_port)
        buf_add(&b, "; the endpoint's own port, as it names no node");
    else
        buf_printf(&b, "; %s%s", w->fixed_port ? "the port of " : "", w->port_reason);
    return buf_take(&b);
}

char *text_server_reason(const struct desired_words *w, const char *place, const struct desired_why *why)
{
    switch ((enum desired_why_kind)why->kind) {
    case WHY_UNSAID:
        break;
    case WHY_TEXT:
        return mem_strdup(why->text);
    case WHY_SPARE:
        return mem_printf("no usable endpoint on node %s; its line waits for one (PARK_NODES)", place);
    case WHY_READY:
    case WHY_TERMINATING:
    case WHY_ENDING:
    case WHY_DRAINING:
    case WHY_EVERY:
        return reason_by_endpoints(w, place, why);
    }
    return NULL;
}

char *desired_server_reason(const struct desired *d, const struct desired_server *s)
{
    return text_server_reason(d->words, s->node != NULL ? s->node : s->name, &s->why);
}

/* ---- out ---- */

char *desired_skip_subject(const struct desired *d, const struct desired_skip *s)
{
    if (s->cause == CAUSE_NONE)
        return mem_strdup(s->place);
    if (s->endpoint != NULL)
        return mem_printf("endpoint %s of %s %s", s->endpoint, set_word(d->words, false), s->set);
    return mem_printf("%s %s", s->cause == CAUSE_GONE_ENDPOINT ? "endpoint" : "node", s->place);
}

/* "; 2 ready endpoints are on it (slice a)": what is given away. */
static char *with_loss(const struct desired_words *w, const struct desired_skip *s, char *reason)
{
    const struct desired_why *t = &s->here;
    struct buf b = {0};
    if (t->count == 0)
        return reason;
    buf_printf(&b, "%s; on it %s %u %s endpoint%s", reason, t->count == 1 ? "is" : "are", t->count,
               desired_text_kind_of(t), t->count == 1 ? "" : "s");
    add_sets(&b, w, t);
    free(reason);
    return buf_take(&b);
}

/* Nothing here can be used: what the best of them lacks. */
static char *unusable(const struct desired_skip *s, const char *what)
{
    if (!s->named)
        return mem_strdup(what);
    if (s->endpoint_count == 1)
        return mem_printf("%s (on node %s)", what, s->place);
    return mem_printf("%s (on node %s, none of its %u is usable)", what, s->place, s->endpoint_count);
}

static char *drained(const struct desired_words *w, const struct desired_skip *s)
{
    cleanup(mem_free_ptr) char *timeout = text_duration(w->drain_timeout_ms);
    struct buf b = {0};
    if (w->drain_timeout_ms == 0)
        buf_add(&b, "it is terminating, others are ready, and there is no draining (DRAIN_TIMEOUT is 0): ");
    else
        buf_printf(&b,
                   "it is terminating, others are ready, and its draining is over (DRAIN_TIMEOUT is %s): ", timeout);
    add_endpoints(&b, s->place, &s->here);
    buf_add(&b, ", none ready");
    return buf_take(&b);
}

/* Of a server that is remembered, and of which nothing is left. */
static char *gone(const struct desired_skip *s)
{
    const char *said = s->announced ? ", as announced" : "";
    if (s->cause == CAUSE_GONE_FROM_NODE)
        return s->detail != NULL ? mem_printf("%s, and no endpoint of the Service is on it any more", s->detail)
                                 : mem_printf("no endpoint of the Service is on it any more%s", said);
    return mem_printf("it is no longer %s%s", s->cause == CAUSE_GONE_ENDPOINT ? "an endpoint of the Service" : "known",
                      said);
}

char *desired_skip_reason(const struct desired *d, const struct desired_skip *s)
{
    const struct desired_words *w = d->words;
    switch ((enum cause)s->cause) {
    case CAUSE_NONE:
        return mem_strdup(s->detail);
    case CAUSE_UNKNOWN_NODE:
        if (w->node_selector == NULL)
            return mem_printf("its node %s is not known", s->place);
        return mem_printf("its node %s is not known (NODE_SELECTOR may exclude it: %s)", s->place, w->node_selector);
    case CAUSE_EXCLUDED:
        return with_loss(w, s, mem_strdup(s->detail));
    case CAUSE_NO_ADDRESS:
        return with_loss(w, s, mem_printf("it has no address of the required kind (%s)", w->addresses));
    case CAUSE_NOT_IP:
        return mem_strdup("its address is no IP address");
    case CAUSE_FAMILY:
        return mem_printf("it names no node, and its address is not %s (IP_FAMILY)",
                          w->family == IP_FAMILY_IPV4 ? "IPv4" : "IPv6");
    case CAUSE_NOT_A_NODE:
        return mem_strdup("it names no node, and with NODE_MODE=all only nodes are servers");
    case CAUSE_NO_ENDPOINT:
        return mem_strdup("no endpoint of the Service is on it");
    case CAUSE_NONE_USABLE:
        return mem_strdup("the Service has no usable endpoint on any node");
    case CAUSE_UNSERVED: {
        cleanup(mem_free_ptr) char *what = str_empty(w->port)
                                               ? mem_printf("it has no unnamed port; it has %s", s->detail)
                                               : mem_printf("it does not serve port %s; it has %s", w->port, s->detail);
        return unusable(s, what);
    }
    case CAUSE_NOT_READY:
        return unusable(s, "it is not ready");
    case CAUSE_TERMINATING:
        return unusable(s, "it is terminating and no longer serving");
    case CAUSE_OTHERS_READY:
        return unusable(s, "it is terminating, and others are ready");
    case CAUSE_DRAINED:
        return drained(w, s);
    case CAUSE_NO_PORT:
        return w->own_port ? mem_strdup("it has no port, unlike others, and HAPROXY_BACKEND_PORT is not set")
                           : mem_strdup("it names no node, and it has no port of its own");
    case CAUSE_OTHER_FAMILY:
        return mem_printf("it is of another address family than its node %s at %s", s->place, s->detail);
    case CAUSE_NAME_TAKEN:
        return mem_printf("its server name %s is already used by %s", s->server, s->detail);
    case CAUSE_GONE_FROM_NODE:
    case CAUSE_GONE_NODE:
    case CAUSE_GONE_ENDPOINT:
        return gone(s);
    case CAUSE_NOT_AT_NODE: /* what the user has to decide is no place's (desired_problem) */
    case CAUSE_NO_PORT_AT_ALL:
    case CAUSE_SAME_SERVER:
        break;
    }
    return mem_strdup("");
}

char *desired_skip_text(const struct desired *d, const struct desired_skip *s)
{
    cleanup(mem_free_ptr) char *subject = desired_skip_subject(d, s), *reason = desired_skip_reason(d, s);
    return mem_printf("%s: %s", subject, reason);
}

/* The sentences about one place: why it has its server, or none. Made for each server, never for each endpoint. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "servers/desired/desired_internal.h"

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

static const char *set_word(const struct run *r, bool several)
{
    return r->cache != NULL && r->cache == r->in->caches->endpoints ? "Endpoints" : several ? "slices" : "slice";
}

/* " (slice a)", " (slices a, b)", " (slices a, b and more)" */
static void add_sets(struct buf *b, const struct run *r, const struct tally *t)
{
    bool several = t->sets[1] != NULL;
    buf_add(b, " (");
    buf_add(b, set_word(r, several));
    buf_add(b, " ");
    buf_add(b, t->sets[0]->name);
    if (several) {
        buf_add(b, ", ");
        buf_add(b, t->sets[1]->name);
    }
    buf_add(b, t->more_sets ? " and more)" : ")");
}

static void desired_text_add_count(struct buf *b, uint32_t n)
{
    char digits[10], *at = digits + sizeof(digits);
    do
        *--at = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    buf_addn(b, at, (size_t)(digits + sizeof(digits) - at));
}

/* "2 ready endpoints on node n1", "ready endpoint 10.9.9.9" */
static void add_endpoints(struct buf *b, const struct place *p, const struct tally *t, const char *kind)
{
    uint32_t count = tally_count(t);
    if (!p->named) {
        buf_add(b, kind);
        buf_add(b, " endpoint ");
        buf_add(b, p->name);
        return;
    }
    desired_text_add_count(b, count);
    buf_add(b, " ");
    buf_add(b, kind);
    buf_add(b, count == 1 ? " endpoint on node " : " endpoints on node ");
    buf_add(b, p->name);
}

static const char *desired_text_kind_of(const struct place *p, const struct tally *t)
{
    return t == &p->ready ? "ready" : "terminating";
}

/* The ready or leaving ones that are here; NULL: neither. */
static const struct tally *here(const struct place *p)
{
    return p->ready.first != NULL ? &p->ready : p->leaving.first != NULL ? &p->leaving : NULL;
}

char *text_endpoints(const struct run *r, const struct place *p)
{
    const struct tally *t = p->by != NULL ? p->by : here(p);
    struct buf b = {0};
    if (t != NULL) {
        add_endpoints(&b, p, t, desired_text_kind_of(p, t));
        add_sets(&b, r, t);
    }
    return buf_take(&b);
}

/* ---- in ---- */

static void add_port(struct buf *b, const struct run *r, const struct place *p)
{
    buf_add(b, "; ");
    if (!p->named && r->node_port) {
        buf_add(b, "the endpoint's own port, as it names no node");
        return;
    }
    if (r->port.source == PORT_FIXED)
        buf_add(b, "the port of ");
    buf_add(b, r->port.reason);
}

static void add_draining(struct buf *b, const struct run *r, const struct place *p)
{
    cleanup(mem_free_ptr) char *timeout = text_duration(r->rules->drain_timeout_ms);
    buf_printf(b, "draining until its endpoints are gone or %s are over: ", timeout);
    add_endpoints(b, p, p->by, "terminating");
    buf_add(b, ", none ready");
    add_sets(b, r, p->by);
}

static void add_all(struct buf *b, const struct run *r)
{
    const struct tally *t = r->ready.first != NULL ? &r->ready : &r->leaving;
    const char *kind = t == &r->ready ? "ready" : "terminating";
    buf_printf(b, "NODE_MODE=all: every eligible node reaches the Service's %u %s endpoint%s", tally_count(t), kind,
               tally_count(t) == 1 ? "" : "s");
    add_sets(b, r, t);
}

char *text_server_reason(const struct run *r, const struct place *p)
{
    struct buf b = {0};
    if (p->step.state == SERVER_DRAINING) {
        add_draining(&b, r, p);
        return buf_take(&b);
    }
    if (p->by == NULL) {
        add_all(&b, r);
    } else {
        add_endpoints(&b, p, p->by, desired_text_kind_of(p, p->by));
        add_sets(&b, r, p->by);
        if (p->sign == SIGN_ENDING)
            buf_add(&b, ", used because no ready one is usable");
    }
    add_port(&b, r, p);
    return buf_take(&b);
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

/* The endpoint that speaks for a place: of those that would be used, if there are any. */
static const struct placed_endpoint *speaking_endpoint(const struct place *p)
{
    const struct tally *t = p->by != NULL ? p->by : here(p);
    return t != NULL ? t->first : p->best;
}

char *text_skip_subject(const struct run *r, const struct place *p)
{
    if (is_about_node(p))
        return mem_printf("node %s", p->name);
    const struct placed_endpoint *s = speaking_endpoint(p);
    return mem_printf("endpoint %s of %s %s", s->endpoint->address, set_word(r, false), s->set->name);
}

/* "; 2 ready endpoints are on it (slice a)": what is given away. */
static char *with_loss(const struct run *r, const struct place *p, char *reason)
{
    const struct tally *t = here(p);
    struct buf b = {0};
    if (t == NULL)
        return reason;
    buf_printf(&b, "%s; on it %s %u %s endpoint%s", reason, tally_count(t) == 1 ? "is" : "are", tally_count(t),
               desired_text_kind_of(p, t), tally_count(t) == 1 ? "" : "s");
    add_sets(&b, r, t);
    free(reason);
    return buf_take(&b);
}

/* Nothing here can be used: what the best of them lacks. */
static char *unusable(const struct place *p, const char *what)
{
    if (!p->named)
        return mem_strdup(what);
    if (p->endpoint_count == 1)
        return mem_printf("%s (on node %s)", what, p->name);
    return mem_printf("%s (on node %s, none of its %u is usable)", what, p->name, p->endpoint_count);
}

static char *unserved(const struct run *r, const struct place *p)
{
    const struct endpoint_group *g = p->best->set->groups;
    while (p->best->endpoint < g->endpoints || p->best->endpoint >= g->endpoints + g->endpoint_count)
        g++;
    struct buf b = {0};
    if (str_empty(r->port.name))
        buf_add(&b, "it has no unnamed port; it has ");
    else
        buf_printf(&b, "it does not serve port %s; it has ", r->port.name);
    for (size_t i = 0; i < g->port_count && i < PORTS_SHOWN; i++)
        buf_printf(&b, "%s%s%s%u", i > 0 ? ", " : "", g->ports[i].name, str_empty(g->ports[i].name) ? "" : " ",
                   g->ports[i].number);
    buf_add(&b, g->port_count > PORTS_SHOWN ? ", ..." : "");
    cleanup(mem_free_ptr) char *what = buf_take(&b);
    return unusable(p, what);
}

static char *no_address(const struct run *r, const struct place *p)
{
    cleanup(mem_free_ptr) char *wanted = node_rules_text(&r->rules->nodes, r->service, r->node_port);
    return with_loss(r, p, mem_printf("it has no address of the required kind (%s)", wanted));
}

static char *unknown_node(const struct run *r, const struct place *p)
{
    if (r->rules->node_selector == NULL)
        return mem_printf("its node %s is not known", p->name);
    return mem_printf("its node %s is not known (NODE_SELECTOR may exclude it: %s)", p->name, r->rules->node_selector);
}

static char *drained(const struct run *r, const struct place *p)
{
    cleanup(mem_free_ptr) char *timeout = text_duration(r->rules->drain_timeout_ms);
    struct buf b = {0};
    if (r->rules->drain_timeout_ms == 0)
        buf_add(&b, "it is terminating, others are ready, and there is no draining (DRAIN_TIMEOUT is 0): ");
    else
        buf_printf(&b,
                   "it is terminating, others are ready, and its draining is over (DRAIN_TIMEOUT is %s): ", timeout);
    add_endpoints(&b, p, p->by, "terminating");
    buf_add(&b, ", none ready");
    return buf_take(&b);
}

char *text_skip_reason(const struct run *r, const struct place *p)
{
    switch (p->cause) {
    case CAUSE_UNKNOWN_NODE:
        return unknown_node(r, p);
    case CAUSE_EXCLUDED:
        return with_loss(r, p, mem_strdup(p->exclusion));
    case CAUSE_NO_ADDRESS:
        return no_address(r, p);
    case CAUSE_NOT_IP:
        return mem_strdup("its address is no IP address");
    case CAUSE_FAMILY:
        return mem_printf("it names no node, and its address is not %s (IP_FAMILY)",
                          r->rules->nodes.family == IP_FAMILY_IPV4 ? "IPv4" : "IPv6");
    case CAUSE_NOT_A_NODE:
        return mem_strdup("it names no node, and with NODE_MODE=all only nodes are servers");
    case CAUSE_NO_ENDPOINT:
        return mem_strdup("no endpoint of the Service is on it");
    case CAUSE_NONE_USABLE:
        return mem_strdup("the Service has no usable endpoint on any node");
    case CAUSE_UNSERVED:
        return unserved(r, p);
    case CAUSE_NOT_READY:
        return unusable(p, "it is not ready");
    case CAUSE_TERMINATING:
        return unusable(p, "it is terminating and no longer serving");
    case CAUSE_OTHERS_READY:
        return unusable(p, "it is terminating, and others are ready");
    case CAUSE_DRAINED:
        return drained(r, p);
    case CAUSE_NO_PORT:
        return r->port.source == PORT_ENDPOINT
                   ? mem_strdup("it has no port, unlike others, and HAPROXY_BACKEND_PORT is not set")
                   : mem_strdup("it names no node, and it has no port of its own");
    case CAUSE_OTHER_FAMILY:
        return mem_printf("it is of another address family than its node %s at %s", p->name, p->address);
    case CAUSE_NOT_AT_NODE:
    case CAUSE_NO_PORT_AT_ALL:
        return problem_of_place(r, p);
    case CAUSE_NAME_TAKEN:
        return mem_printf("its server name %s is already used by %s", p->server, p->winner->name);
    case CAUSE_NONE:
    case CAUSE_SAME_SERVER:
        break;
    }
    return mem_strdup("");
}

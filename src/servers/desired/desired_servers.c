/* One computation: what it needs to know first, and the result: servers with their weights, spares, and what has none. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/backend.h"
#include "model/address.h"
#include "servers/desired/desired_internal.h"

/* ---- a run ---- */

static char *not_synced(const struct desired_input *in)
{
    bool found = in->objects != NULL;
    const char *const missing[] = {cache_synced(in->caches->nodes) ? NULL : "Nodes",
                                   found || cache_synced(in->caches->slices) || cache_synced(in->caches->endpoints)
                                       ? NULL
                                       : "EndpointSlices (or Endpoints)",
                                   found || in->service_denied || cache_synced(in->caches->services) ? NULL
                                                                                                     : "the Service"};
    size_t left = 0;
    for (size_t i = 0; i < array_len(missing); i++)
        left += missing[i] != NULL;
    struct buf b = {0};
    for (size_t i = 0; i < array_len(missing); i++)
        if (missing[i] != NULL)
            buf_printf(&b, "%s%s", b.len == 0 ? "" : left-- == 2 ? " and " : ", ", missing[i]);
    if (b.len == 0)
        return NULL;
    buf_add(&b, " not read completely yet");
    return buf_take(&b);
}

int run_open(struct run *r, const struct desired_input *in, struct text_pool *texts, char **ret_problem)
{
    const struct mapping_rules *rules = in->rules;
    char *problem = not_synced(in);
    if (problem != NULL) {
        *ret_problem = problem;
        return -1;
    }
    *r = (struct run){.in = in, .rules = rules, .texts = texts != NULL ? text_pool_ref(texts) : text_pool_new(NULL)};
    if (in->objects == NULL)
        r->cache = cache_synced(in->caches->slices) ? in->caches->slices : in->caches->endpoints;
    r->service = in->objects != NULL ? in->objects->service : cache_find(in->caches->services, rules->service);
    r->where = mem_printf("%s/%s", rules->namespace, rules->service);
    service_port_choose(r->service, r->where, rules->port, rules->fixed_port, &r->port);
    for (size_t i = 0; r->service != NULL && r->port.number != 0 && i < r->service->port_count; i++)
        r->node_port = r->node_port || r->service->ports[i].node_port == r->port.number;
    r->node_port = r->node_port && r->port.source != PORT_ENDPOINT;
    r->all =
        rules->node_mode == NODE_MODE_ALL &&
        (r->service == NULL ||
         (!r->service->local && (r->service->type == SERVICE_NODE_PORT || r->service->type == SERVICE_LOAD_BALANCER)));
    return 0;
}

void run_close(struct run *r)
{
    port_choice_fini(&r->port);
    mem_free_all(r->where, r->sets, r->listed, r->places, r->placed, r->order, r->problem);
    text_pool_unref(r->texts);
}

/* ---- the result ---- */

static int weight_of(const struct run *r, const struct place *p)
{
    if (r->rules->weights == WEIGHTS_EQUAL)
        return SERVER_WEIGHT_DEFAULT;
    /* What drains gets no new connections: its weight would only be a write more each time a pod ends. */
    if (r->rules->weights == WEIGHTS_KEEP || p->step.state != SERVER_LIVE)
        return -1;
    if (!run_counts_endpoints(r))
        return SERVER_WEIGHT_DEFAULT; /* weights that were counted earlier would starve the old servers once a new one comes */
    /* Of both families that which kube-proxy serves at the address; at a name either. */
    uint32_t four = p->by->count4, six = p->by->count6;
    uint32_t count = four == 0 || six == 0             ? four + six
                     : str_ip_family(p->address) == 0  ? (four > six ? four : six)
                     : strchr(p->address, ':') != NULL ? six
                                                       : four;
    return count < 1 ? 1 : count > DESIRED_WEIGHT_MAX ? DESIRED_WEIGHT_MAX : (int)count;
}

/* buf: of ADDRESS_TEXT_BYTES, for where it is spelled otherwise. */
static const char *run_usual_address(const char *address, char *buf)
{
    /* An IPv4 address has one spelling only, and a name is no address. */
    return strchr(address, ':') != NULL && address_canonical(address, buf) == 0 ? buf : address;
}

struct desired_server run_server(const struct run *r, const struct place *p, const struct desired_server *known)
{
    char buf[ADDRESS_TEXT_BYTES];
    const char *address = p->server; /* of a place that is an address the name is its usual spelling already */
    if (p->address != p->name) {
        const char *text = run_usual_address(p->address, buf);
        address = known != NULL && str_eq(text, known->address) ? known->address : text_pool_add(r->texts, text);
    }
    return (struct desired_server){.name = p->server,
                                   .address = address,
                                   .port = p->port,
                                   .state = p->step.state,
                                   .until_ms = p->step.until_ms,
                                   .weight = weight_of(r, p),
                                   .why = run_why(r, p)};
}

/* ---- nodes without a server that get a line all the same, in maintenance: the first endpoint there needs no reload ---- */

/* The first so many, in their order: texts are made of those that are left. */
struct search {
    const struct run *r;
    struct desired *d;
    struct found {
        char *server; /* NULL: the node's name */
        const struct node *node;
    } found[DESIRED_SPARES_MAX];
    size_t count;
};

static const char *found_name(const struct found *f)
{
    return f->server != NULL ? f->server : f->node->name;
}

/* Of two with one server name the first by its own name has it. */
static void see_node(void *arg, const void *node)
{
    const struct node *n = node;
    struct search *s = arg;
    cleanup(mem_free_ptr) char *other = desired_is_server_name(n->name) ? NULL : desired_server_name(n->name);
    const char *server = other != NULL ? other : n->name;
    /* Where it belongs among them, if there is room. */
    size_t at = s->count;
    bool last = at == DESIRED_SPARES_MAX && strcmp(server, found_name(&s->found[at - 1])) > 0;
    while (!last && at > 0 && strcmp(server, found_name(&s->found[at - 1])) <= 0)
        at--;
    const struct run *r = s->r;
    if (last || node_exclusion(n, &r->rules->nodes) != NULL ||
        node_address_choose(n, &r->rules->nodes, r->service, r->node_port) == NULL ||
        desired_find(s->d, server) != NULL)
        return;
    struct found *same = at < s->count ? &s->found[at] : NULL;
    if (same == NULL || strcmp(found_name(same), server) != 0) {
        if (s->count == DESIRED_SPARES_MAX)
            free(s->found[--s->count].server);
        memmove(&s->found[at + 1], &s->found[at], (s->count - at) * sizeof(s->found[0]));
        s->found[at] = (struct found){other, n};
        s->count++;
    } else if (strcmp(n->name, same->node->name) < 0) {
        free(same->server);
        *same = (struct found){other, n};
    } else {
        return;
    }
    other = NULL;
}

/* Where each server has its own, that of the first. */
static uint16_t spare_port(const struct run *r, const struct desired *d)
{
    return r->port.source == PORT_ENDPOINT ? d->servers[0].port : r->port.number;
}

void run_spares(const struct run *r, struct desired *d)
{
    struct search s = {.r = r, .d = d};
    if (!r->rules->park_nodes || r->all)
        return;
    cache_each(r->in->caches->nodes, see_node, &s);
    d->spares = mem_array(s.count, sizeof(d->spares[0]));
    for (size_t i = 0; i < s.count; i++) {
        char usual[ADDRESS_TEXT_BYTES];
        const struct node_address *a = node_address_choose(s.found[i].node, &r->rules->nodes, r->service, r->node_port);
        struct desired_server spare = {.name = desired_text(s.d, found_name(&s.found[i])),
                                       .address = desired_text(s.d, run_usual_address(a->text, usual)),
                                       .port = spare_port(r, s.d),
                                       .state = SERVER_OUT,
                                       .weight = r->rules->weights == WEIGHTS_EQUAL ? SERVER_WEIGHT_DEFAULT : -1,
                                       .why = {.kind = WHY_SPARE}};
        if (s.found[i].server != NULL) /* its name does not say it all */
            spare.why = desired_why_take(s.d, text_server_reason(r->words, s.found[i].node->name, &spare.why));
        d->spares[d->spare_count++] = spare;
        free(s.found[i].server);
    }
}

void run_spares_again(const struct run *r, const struct desired *last, struct desired *d)
{
    d->spares = mem_array(last->spare_count, sizeof(d->spares[0]));
    for (; d->spare_count < last->spare_count; d->spare_count++) {
        struct desired_server *s = &d->spares[d->spare_count];
        *s = last->spares[d->spare_count];
        s->name = desired_text(d, s->name);
        s->address = desired_text(d, s->address);
        s->why.text = desired_text(d, s->why.text);
        s->port = spare_port(r, d);
    }
}

/* ---- what has no server ---- */

/* What the user chose (or Kubernetes does every day) is worth a warning only where it leaves no server. */
static bool place_is_ordinary(const struct run *r, const struct place *p, bool empty)
{
    if (p->cause == CAUSE_UNSERVED)
        return !empty || !p->best->endpoint->ready;
    if (p->cause == CAUSE_NO_ADDRESS && r->all)
        return false;
    if (!place_is_usable(r, p))
        return true;
    switch (p->cause) {
    case CAUSE_NO_ADDRESS:
    case CAUSE_NOT_IP:
    case CAUSE_NO_PORT:
    case CAUSE_OTHER_FAMILY:
    case CAUSE_NAME_TAKEN:
        return false;
    case CAUSE_UNKNOWN_NODE:
        return !empty && (r->all || r->rules->node_selector != NULL);
    case CAUSE_EXCLUDED:
    case CAUSE_FAMILY:
    case CAUSE_NOT_A_NODE:
        return !empty;
    default:
        return true;
    }
}

void run_add_skip(const struct run *r, const struct place *p, bool empty, struct desired *d)
{
    if (!(p->cause != CAUSE_NONE && p->cause != CAUSE_SAME_SERVER && p->cause != CAUSE_NO_ENDPOINT &&
          !cause_is_undecided(p->cause)))
        return;
    struct desired_skip *s = desired_new_skip(d);
    *s = run_skip(p, d);
    s->ordinary = place_is_ordinary(r, p, empty);
}

/* A server that the states remember and no place has any more. */
struct departed {
    const struct run *r;
    struct desired *d;
};

static void add_gone(void *arg, const char *name, bool announced)
{
    const struct departed *g = arg;
    const struct node *node = cache_find(g->r->in->caches->nodes, name);
    const char *exclusion = node != NULL ? node_exclusion(node, &g->r->rules->nodes) : NULL;
    struct desired_skip *s = desired_new_skip(g->d);
    s->place = s->server = desired_text(g->d, name);
    s->cause = node != NULL ? CAUSE_GONE_FROM_NODE : str_ip_family(name) != 0 ? CAUSE_GONE_ENDPOINT : CAUSE_GONE_NODE;
    s->detail = exclusion;
    s->ordinary = true;
    s->announced = announced || exclusion != NULL;
}

void run_end_pass(const struct run *r, struct desired *d)
{
    struct server_states *states = r->in->states;
    size_t first = d->skip_count;
    if (states == NULL)
        return;
    server_states_end(states, add_gone, &(struct departed){r, d});
    for (size_t i = first; i < d->skip_count; i++)
        if (d->skips[i].announced)
            server_states_announce(states, d->skips[i].server);
    d->due_ms = server_states_due_ms(states);
}

static void desired_set_state(struct desired *d, enum desired_state state, char *problem)
{
    d->state = state;
    d->problem = problem;
}

/* ---- all of it ---- */

int run_all(struct run *r, const struct desired_input *in, bool list, struct desired *ret)
{
    char *problem = NULL;
    desired_init(ret);
    if (run_open(r, in, NULL, &problem) != 0) {
        desired_set_state(ret, DESIRED_NOT_SYNCED, problem);
        return -1;
    }
    run_read(r, NULL, list);
    run_judge(r);
    run_settle(r);
    r->words = run_say(r);
    ret->texts = text_pool_new(r->texts);
    ret->words = r->words;
    ret->endpoint_count = r->endpoint_count;
    ret->paused = r->service != NULL && r->service->paused;
    size_t wanted = 0;
    for (size_t i = 0; i < r->place_count; i++)
        wanted += r->places[i].cause == CAUSE_NONE;
    bool decided = r->problem == NULL, empty = decided && wanted == 0;
    desired_make_room(ret, decided ? wanted : 0);
    for (size_t i = 0; i < r->place_count; i++) {
        const struct place *p = r->order[i];
        if (p->cause == CAUSE_NONE && decided)
            desired_add_server(ret, run_server(r, p, NULL));
        run_add_skip(r, p, empty, ret);
    }
    ret->note = run_notes(r, &ret->check_port);
    if (r->problem != NULL) {
        desired_set_state(ret, DESIRED_UNDECIDED, mem_strdup(r->problem));
        return 0;
    }
    run_end_pass(r, ret);
    if (ret->server_count > 0) {
        desired_set_state(ret, DESIRED_OK, NULL);
        run_spares(r, ret);
    } else {
        desired_set_state(ret, DESIRED_EMPTY, problem_empty(r, ret));
    }
    return 0;
}

void desired_compute(const struct desired_input *in, struct desired *ret)
{
    struct run r;
    if (run_all(&r, in, false, ret) == 0)
        run_close(&r);
}

#include "model/desired.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/address.h"
#include "model/cache.h"

#define PORTS_SHOWN 8

/* Where an endpoint is: a node, or an address of its own where it names no node. Gives at most one server. */
struct place {
    const char *name; /* the node's, or the endpoint's address */
    bool named;
    const struct node *node;         /* NULL: not known, or not named */
    const struct endpoint *endpoint; /* the one that messages are about: the first usable one, else the first */
    const struct endpoint_set *set;
    size_t usable;
    uint16_t own_port;       /* of its usable endpoints at the server's address: the lowest; 0: none has one */
    uint16_t elsewhere_port; /* of one at another address than the server's */
    bool same_family;        /* one at another address is of the same family as the server's */
};

struct port {
    const char *name;
    uint16_t number;
};

/* One computation. Everything in here points into the cache. */
struct run {
    const struct cache *cache;
    const struct mapping_rules *rules;
    enum cache_kind kind;
    const struct endpoint_set **sets;
    size_t set_count;
    bool any_ready;
    bool several_ports;
    bool any_port;        /* a usable endpoint has one */
    bool any_same_family; /* a usable endpoint is of its node's own address family */
    struct port ports[PORTS_SHOWN];
    size_t port_count; /* different ones, including those for which ports[] has no room */
    struct place *places;
    size_t place_count, place_room;
    uint32_t *table; /* open addressing: 1 + index into places; 0: free */
    size_t table_mask;
};

/* A server with the place it comes from, for the messages about names that clash. */
struct candidate {
    struct desired_server server;
    const struct place *place;
};

void desired_init(struct desired *d)
{
    *d = (struct desired){.state = DESIRED_NOT_SYNCED};
}

void desired_fini(struct desired *d)
{
    for (size_t i = 0; i < d->server_count; i++) {
        free(d->servers[i].name);
        free(d->servers[i].address);
    }
    for (size_t i = 0; i < d->skip_count; i++) {
        free(d->skips[i].subject);
        free(d->skips[i].reason);
    }
    free(d->servers);
    free(d->skips);
    free(d->problem);
    desired_init(d);
}

void desired_copy(struct desired *to, const struct desired *from)
{
    *to = (struct desired){.state = from->state,
                           .server_count = from->server_count,
                           .endpoint_count = from->endpoint_count,
                           .problem = mem_strdup(from->problem)};
    to->servers = mem_array(from->server_count, sizeof(to->servers[0]));
    for (size_t i = 0; i < from->server_count; i++) {
        const struct desired_server *s = &from->servers[i];
        to->servers[i] = (struct desired_server){mem_strdup(s->name), mem_strdup(s->address), s->port};
    }
}

bool desired_eq(const struct desired *a, const struct desired *b)
{
    if (a->state != b->state || a->server_count != b->server_count || !str_eq(a->problem, b->problem))
        return false;
    for (size_t i = 0; i < a->server_count; i++) {
        const struct desired_server *x = &a->servers[i], *y = &b->servers[i];
        if (x->port != y->port || strcmp(x->name, y->name) != 0 || strcmp(x->address, y->address) != 0)
            return false;
    }
    return true;
}

char *desired_server_name(const char *node_name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
    char *name = mem_strdup(node_name[0] != '\0' ? node_name : "_");
    for (char *c = name + strspn(name, allowed); *c != '\0'; c += strspn(c, allowed))
        *c = '_';
    return name;
}

static void add_skip(struct desired *d, char *subject, char *reason, bool ordinary)
{
    /* Doubles at each power of two; the count itself says when. */
    if ((d->skip_count & (d->skip_count - 1)) == 0)
        d->skips = mem_resize(d->skips, d->skip_count != 0 ? d->skip_count * 2 : 1, sizeof(d->skips[0]));
    d->skips[d->skip_count++] = (struct desired_skip){subject, reason, ordinary};
}

static const char *object_word(const struct run *r)
{
    return r->kind == CACHE_SLICES ? "slice" : "Endpoints";
}

static void skip_place(const struct run *r, struct desired *d, const struct place *p, char *reason)
{
    char *subject = mem_printf("endpoint %s of %s %s", p->endpoint->address, object_word(r), p->set->name);
    add_skip(d, subject, reason, p->usable == 0);
}

/* ---- reading the cache ---- */

static void collect_set(void *arg, const struct endpoint_set *s)
{
    struct run *r = arg;
    r->sets[r->set_count++] = s;
}

static void note_port(struct run *r, const struct endpoint_port *port)
{
    size_t shown = r->port_count < PORTS_SHOWN ? r->port_count : PORTS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        if (r->ports[i].number == port->number && str_eq(r->ports[i].name, port->name))
            return;
    if (shown < PORTS_SHOWN)
        r->ports[shown] = (struct port){port->name, port->number};
    r->port_count++;
}

static void note_group(struct run *r, const struct endpoint_group *g, struct desired *d)
{
    for (size_t i = 0; i < g->port_count; i++) {
        note_port(r, &g->ports[i]);
        if (!str_eq(g->ports[i].name, r->ports[0].name))
            r->several_ports = true;
    }
    /* One name with different numbers in different slices is one port of the Service; twice in one slice is not. */
    if (g->port_count > 1)
        r->several_ports = true;
    d->endpoint_count += g->endpoint_count;
    for (size_t i = 0; i < g->endpoint_count; i++)
        r->any_ready = r->any_ready || g->endpoints[i].ready;
}

static size_t hash_place(const char *name, bool named)
{
    uint64_t h = named ? UINT64_C(0xcbf29ce484222325) : UINT64_C(0x9e3779b97f4a7c15); /* FNV-1a */
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ (h >> 32));
}

static struct place *find_place(struct run *r, const struct endpoint *e, const struct endpoint_set *set)
{
    bool named = e->node_name != NULL;
    const char *name = named ? e->node_name : e->address;
    size_t slot = hash_place(name, named) & r->table_mask;
    for (; r->table[slot] != 0; slot = (slot + 1) & r->table_mask) {
        struct place *p = &r->places[r->table[slot] - 1];
        if (p->named == named && strcmp(p->name, name) == 0)
            return p;
    }
    if (r->place_count == r->place_room) {
        r->place_room = r->place_room != 0 ? r->place_room * 2 : 64;
        r->places = mem_resize(r->places, r->place_room, sizeof(r->places[0]));
    }
    struct place *p = &r->places[r->place_count++];
    r->table[slot] = (uint32_t)r->place_count;
    *p = (struct place){.name = name, .named = named, .endpoint = e, .set = set};
    if (named)
        p->node = cache_node(r->cache, name);
    return p;
}

static bool is_usable(const struct run *r, const struct endpoint *e)
{
    return e->ready || (!r->any_ready && e->serving && e->terminating);
}

/* What a usable endpoint says about its place's port, where none is fixed. */
static void note_own_port(struct run *r, struct place *p, const struct endpoint *e, const struct endpoint_group *g)
{
    const char *address = p->named ? (p->node != NULL ? p->node->internal_ip : NULL) : e->address;
    uint16_t port = g->port_count > 0 ? g->ports[0].number : 0;
    if (address == NULL || port == 0)
        return;
    r->any_port = true;
    if (address_eq(e->address, address)) {
        r->any_same_family = r->any_same_family || p->named;
        if (p->own_port == 0 || port < p->own_port)
            p->own_port = port;
        return;
    }
    p->elsewhere_port = port;
    if (str_ip_family(e->address) == str_ip_family(address)) {
        p->same_family = true;
        r->any_same_family = true;
    }
}

static void place_group(struct run *r, const struct endpoint_set *set, const struct endpoint_group *g)
{
    for (size_t i = 0; i < g->endpoint_count; i++) {
        const struct endpoint *e = &g->endpoints[i];
        struct place *p = find_place(r, e, set);
        if (!is_usable(r, e))
            continue;
        if (p->usable++ == 0) {
            p->endpoint = e;
            p->set = set;
        }
        if (r->rules->fixed_port == 0)
            note_own_port(r, p, e, g);
    }
}

static void run_fini(struct run *r)
{
    free(r->sets);
    free(r->places);
    free(r->table);
}

static int place_by_name(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (int)y->named - (int)x->named;
}

static void run_read(struct run *r, struct desired *d)
{
    r->sets = mem_array(cache_count(r->cache, r->kind), sizeof(r->sets[0]));
    cache_each_set(r->cache, r->kind, collect_set, r);
    for (size_t s = 0; s < r->set_count; s++)
        for (size_t g = 0; g < r->sets[s]->group_count; g++)
            note_group(r, &r->sets[s]->groups[g], d);
    size_t slots = 16;
    while (slots < d->endpoint_count * 2)
        slots *= 2;
    r->table = mem_array(slots, sizeof(r->table[0]));
    r->table_mask = slots - 1;
    for (size_t s = 0; s < r->set_count; s++)
        for (size_t g = 0; g < r->sets[s]->group_count; g++)
            place_group(r, r->sets[s], &r->sets[s]->groups[g]);
    if (r->place_count > 1)
        qsort(r->places, r->place_count, sizeof(r->places[0]), place_by_name);
}

/* ---- deciding ---- */

/* Why this place gives no server whatever its port is; NULL: it may. */
static char *place_refusal(const struct place *p, const struct run *r, char address[ADDRESS_TEXT_BYTES])
{
    const struct endpoint *e = p->endpoint;
    if (p->usable == 0 && e->serving && e->terminating)
        return mem_strdup("it is terminating, and others are ready");
    if (p->usable == 0)
        return mem_strdup(e->terminating ? "it is terminating" : "it is not ready");
    if (!p->named && address_canonical(e->address, address) != 0)
        return mem_strdup("its address is no IP address");
    if (p->named && p->node == NULL)
        return mem_printf("its node %s is not known", p->name);
    if (p->named && p->node->internal_ip == NULL)
        return mem_printf("its node %s has no InternalIP", p->name);
    if (p->named && address_canonical(p->node->internal_ip, address) != 0)
        return mem_printf("the InternalIP of its node %s is no IP address: %s", p->name, p->node->internal_ip);
    if (r->rules->fixed_port != 0 || p->own_port != 0)
        return NULL;
    if (p->elsewhere_port == 0 && r->any_port)
        return mem_strdup("it has no port, unlike others, and HAPROXY_BACKEND_PORT is not set");
    if (p->elsewhere_port != 0 && !p->same_family && r->any_same_family)
        return mem_printf("it is of another address family than its node %s at %s", p->name, address);
    return NULL;
}

/* Text for a place whose port cannot be known. */
static char *place_problem(const struct place *p, const char *address)
{
    if (p->elsewhere_port == 0)
        return mem_printf("HAPROXY_BACKEND_PORT is not set and endpoint %s has no port of its own: set "
                          "HAPROXY_BACKEND_PORT to the port that HAProxy shall connect to",
                          p->endpoint->address);
    return mem_printf("HAPROXY_BACKEND_PORT is not set and endpoint %s with port %u is not at the address of its node "
                      "%s, %s (it is not on host network, so that port is not the node's): set HAPROXY_BACKEND_PORT to "
                      "the NodePort",
                      p->endpoint->address, p->elsewhere_port, p->name, address);
}

static int port_by_number(const void *a, const void *b)
{
    const struct port *x = a, *y = b;
    return x->number != y->number ? (int)x->number - (int)y->number : strcmp(x->name, y->name);
}

static char *several_ports_problem(struct run *r)
{
    cleanup(buf_fini) struct buf b;
    size_t shown = r->port_count < PORTS_SHOWN ? r->port_count : PORTS_SHOWN;
    buf_init(&b, 0);
    qsort(r->ports, shown, sizeof(r->ports[0]), port_by_number);
    buf_add(&b, "HAPROXY_BACKEND_PORT is not set and Service has ");
    if (shown < r->port_count)
        buf_printf(&b, "more than %zu ports (", shown);
    else
        buf_printf(&b, "%zu ports (", shown);
    for (size_t i = 0; i < shown; i++)
        buf_printf(&b, "%s%s%s%u", i > 0 ? ", " : "", r->ports[i].name, str_empty(r->ports[i].name) ? "" : " ",
                   r->ports[i].number);
    buf_printf(&b, "%s): set HAPROXY_BACKEND_PORT to the NodePort", shown < r->port_count ? ", ..." : "");
    return buf_take(&b);
}

/* The server of each place that has one; skips go to d. *ret_problem: the first place whose port cannot be known. */
static size_t find_candidates(const struct run *r, struct desired *d, struct candidate *ret, char **ret_problem)
{
    size_t count = 0;
    for (size_t i = 0; i < r->place_count; i++) {
        const struct place *p = &r->places[i];
        char address[ADDRESS_TEXT_BYTES];
        char *refusal = place_refusal(p, r, address);
        if (refusal != NULL) {
            skip_place(r, d, p, refusal);
            continue;
        }
        uint16_t port = r->rules->fixed_port != 0 ? r->rules->fixed_port : p->own_port;
        if (port == 0) {
            if (*ret_problem == NULL)
                *ret_problem = place_problem(p, address);
            continue;
        }
        const char *name = p->named ? p->name : address;
        ret[count++] = (struct candidate){{desired_server_name(name), mem_strdup(address), port}, p};
    }
    return count;
}

static int candidate_by_name(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = strcmp(x->server.name, y->server.name);
    return order != 0 ? order : place_by_name(x->place, y->place);
}

static void take_candidates(const struct run *r, struct desired *d, struct candidate *list, size_t count)
{
    if (count > 1)
        qsort(list, count, sizeof(list[0]), candidate_by_name);
    d->servers = mem_array(count, sizeof(d->servers[0]));
    const struct place *last = NULL; /* that of the server taken last */
    for (size_t i = 0; i < count; i++) {
        struct desired_server *s = &list[i].server;
        if (last == NULL || strcmp(s->name, d->servers[d->server_count - 1].name) != 0) {
            d->servers[d->server_count++] = *s;
            last = list[i].place;
            continue;
        }
        /* Two spellings of one address are one server; two nodes are not. */
        if (last->named || list[i].place->named)
            skip_place(
                r, d, list[i].place,
                mem_printf("the server name %s of %s is that of %s already", s->name, list[i].place->name, last->name));
        free(s->name);
        free(s->address);
    }
}

static char *empty_problem(const struct run *r, const struct desired *d)
{
    if (r->set_count == 0)
        return mem_printf("the Service has no %s: does it exist, and are INGRESS_NAMESPACE and INGRESS_SERVICE_NAME "
                          "right?",
                          r->kind == CACHE_SLICES ? "EndpointSlice" : "Endpoints");
    if (d->endpoint_count == 0)
        return mem_strdup("the Service has no endpoints: no pod matches its selector");
    for (size_t i = 0; i < d->skip_count; i++)
        if (!d->skips[i].ordinary)
            return mem_printf("none of the Service's %zu endpoints can be used; %s: %s", d->endpoint_count,
                              d->skips[i].subject, d->skips[i].reason);
    return mem_printf("none of the Service's %zu endpoints is ready", d->endpoint_count);
}

static void set_state(struct desired *d, enum desired_state state, char *problem)
{
    d->state = state;
    d->problem = problem;
}

static void decide(struct run *r, struct desired *d)
{
    char *port_problem = NULL;
    cleanup(mem_free_ptr) struct candidate *list = mem_array(r->place_count, sizeof(list[0]));
    size_t count = find_candidates(r, d, list, &port_problem);
    if (r->rules->fixed_port == 0 && r->several_ports) {
        free(port_problem);
        port_problem = several_ports_problem(r);
    }
    if (port_problem != NULL) {
        for (size_t i = 0; i < count; i++) {
            free(list[i].server.name);
            free(list[i].server.address);
        }
        set_state(d, DESIRED_UNDECIDED, port_problem);
        return;
    }
    take_candidates(r, d, list, count);
    if (d->server_count > 0)
        set_state(d, DESIRED_OK, NULL);
    else
        set_state(d, DESIRED_EMPTY, empty_problem(r, d));
}

void desired_compute(const struct cache *c, const struct mapping_rules *rules, struct desired *ret)
{
    bool slices = cache_synced(c, CACHE_SLICES), endpoints = cache_synced(c, CACHE_ENDPOINTS);
    bool nodes = cache_synced(c, CACHE_NODES);
    desired_init(ret);
    if (!nodes || (!slices && !endpoints)) {
        const char *what = nodes ? "EndpointSlices (or Endpoints)"
                                 : (slices || endpoints ? "Nodes" : "Nodes and EndpointSlices (or Endpoints)");
        set_state(ret, DESIRED_NOT_SYNCED, mem_printf("%s not read completely yet", what));
        return;
    }
    cleanup(run_fini) struct run r = {.cache = c, .rules = rules, .kind = slices ? CACHE_SLICES : CACHE_ENDPOINTS};
    run_read(&r, ret);
    decide(&r, ret);
}

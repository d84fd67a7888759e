/* Reads the caches into places: each node, or endpoint without one, with what its endpoints are good for. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/address.h"
#include "servers/desired/desired_internal.h"

/* Two tables with open addressing: 1 + index into places and into placed; 0: free. At most half full. Not uthash: of
 * 20,000 endpoints it makes twice the time and twice the memory (tests/bench/mapping), and they live for one
 * computation. */
struct reader {
    struct run *r;
    uint32_t *place_slots, *endpoint_slots;
    size_t place_mask, endpoint_mask;
    /* The port of the last group, of which there are many endpoints. */
    const struct endpoint_group *group;
    bool served;
    uint16_t port;
};

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
    return h ^ (h >> 32);
}

static size_t hash_text(const char *s, uint64_t h)
{
    size_t len = strlen(s);
    uint64_t word;
    for (; len >= sizeof(word); len -= sizeof(word), s += sizeof(word)) {
        memcpy(&word, s, sizeof(word));
        h = mix(h, word);
    }
    word = len;
    for (; len > 0; len--)
        word = word << 8 | (unsigned char)*s++;
    return (size_t)mix(h, word);
}

size_t run_hash(const char *name, bool named)
{
    return hash_text(name, named);
}

static size_t slots_for(size_t count)
{
    size_t slots = 16;
    while (slots < count * 2)
        slots *= 2;
    return slots;
}

/* ---- places ---- */

/* Why no server can be here whatever its endpoints are. */
static enum cause find_bar(const struct run *r, struct place *p)
{
    if (p->named) {
        if (p->node == NULL)
            return CAUSE_UNKNOWN_NODE;
        p->exclusion = node_exclusion(p->node, &r->rules->nodes);
        if (p->exclusion != NULL)
            return CAUSE_EXCLUDED;
        const struct node_address *a = node_address_choose(p->node, &r->rules->nodes, r->service, r->node_port);
        if (a == NULL)
            return CAUSE_NO_ADDRESS;
        p->address = a->text;
        return CAUSE_NONE;
    }
    int family = str_ip_family(p->name);
    if (family == 0)
        return CAUSE_NOT_IP;
    if (r->all)
        return CAUSE_NOT_A_NODE;
    if ((r->rules->nodes.family == IP_FAMILY_IPV4 && family != AF_INET) ||
        (r->rules->nodes.family == IP_FAMILY_IPV6 && family != AF_INET6))
        return CAUSE_FAMILY;
    p->address = p->name;
    return CAUSE_NONE;
}

/* server: its name, where it is known already. */
static uint32_t add_place(struct run *r, const char *name, bool named, const char *server)
{
    if (r->place_count == r->place_room) {
        r->place_room = r->place_room != 0 ? r->place_room * 2 : 64;
        r->places = mem_resize(r->places, r->place_room, sizeof(r->places[0]));
    }
    struct place *p = &r->places[r->place_count];
    *p = (struct place){.name = name, .named = named};
    if (named)
        p->node = cache_find(r->in->caches->nodes, name);
    p->cause = find_bar(r, p);
    char address[ADDRESS_TEXT_BYTES];
    bool makes = server == NULL && named && !desired_is_server_name(name);
    cleanup(mem_free_ptr) char *made = makes ? desired_server_name(name) : NULL;
    if (server == NULL && named)
        server = text_pool_add(r->texts, makes ? made : name);
    else if (server == NULL && address_canonical(name, address) == 0)
        server = text_pool_add(r->texts, address);
    p->server = server;
    return (uint32_t)r->place_count++;
}

static uint32_t find_place(struct reader *in, const char *name, bool named)
{
    struct run *r = in->r;
    size_t slot = run_hash(name, named) & in->place_mask;
    for (; in->place_slots[slot] != 0; slot = (slot + 1) & in->place_mask) {
        const struct place *p = &r->places[in->place_slots[slot] - 1];
        if (p->named == named && strcmp(p->name, name) == 0)
            return in->place_slots[slot] - 1;
    }
    uint32_t added = add_place(r, name, named, NULL);
    in->place_slots[slot] = added + 1;
    return added;
}

static void desired_places_add_node(void *arg, const void *node)
{
    find_place(arg, record_name(node), true);
}

struct place *run_find_place(const struct run *r, const char *name, bool named)
{
    for (struct place *p = r->places; p < r->places + r->place_count; p++)
        if (p->named == named && (named ? strcmp(p->name, name) == 0 : address_eq(p->name, name)))
            return p;
    return NULL;
}

/* ---- endpoints ---- */

/* Whether the group's endpoints serve the chosen port, and by which number of their own (0: they say none). */
static bool group_port(const struct run *r, const struct endpoint_group *g, uint16_t *ret)
{
    const char *wanted = r->port.name;
    *ret = 0;
    /* In mode all an endpoint says only that something serves; Cilium's stands for all ports, with one that has no name. */
    if (g->port_count == 0 || (r->all && str_empty(g->ports[0].name)))
        return true;
    if (wanted == NULL) {
        *ret = g->ports[0].number;
        return true;
    }
    for (size_t i = 0; i < g->port_count; i++)
        if (str_eq(g->ports[i].name, wanted)) {
            *ret = g->ports[i].number;
            return true;
        }
    return false;
}

/* Of two numbers the lower, for one answer whatever the order is. */
static uint16_t lower_port(uint16_t a, uint16_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void run_part_endpoint(struct reader *in, const struct run_set *set, const struct endpoint_group *g,
                       const struct endpoint *e, uint32_t place)
{
    if (in->group != g)
        in->served = group_port(in->r, g, &in->port);
    in->group = g;
    const struct placed_endpoint seen = {.endpoint = e,
                                         .set = set,
                                         .place = place,
                                         .port = in->port,
                                         .rank = !in->served                    ? RANK_UNSERVED
                                                 : e->ready                     ? RANK_READY
                                                 : e->terminating && e->serving ? RANK_LEAVING
                                                 : e->terminating               ? RANK_TERMINATING
                                                                                : RANK_NOT_READY};
    struct run *r = in->r;
    const char *address = seen.endpoint->address;
    size_t slot = hash_text(address, seen.place) & in->endpoint_mask;
    for (; in->endpoint_slots[slot] != 0; slot = (slot + 1) & in->endpoint_mask) {
        struct placed_endpoint *s = &r->placed[in->endpoint_slots[slot] - 1];
        if (s->place != seen.place || strcmp(s->endpoint->address, address) != 0)
            continue;
        /* Another slice lists it, too: the better one counts, and of its port the one that says one. */
        uint16_t port = seen.rank == s->rank  ? lower_port(s->port, seen.port)
                        : seen.rank > s->rank ? (seen.port != 0 ? seen.port : s->port)
                                              : (s->port != 0 ? s->port : seen.port);
        if (seen.rank > s->rank)
            *s = seen;
        s->port = port;
        return;
    }
    r->placed[r->placed_count++] = seen;
    in->endpoint_slots[slot] = (uint32_t)r->placed_count;
}

/* ---- what they are good for ---- */

static void tally_add(struct tally *t, const struct placed_endpoint *s)
{
    if (t->first == NULL)
        t->first = s;
    if (strchr(s->endpoint->address, ':') != NULL)
        t->count6++;
    else
        t->count4++;
    const struct run_set *set = s->set;
    for (size_t i = 0; i < DESIRED_SETS; i++) {
        if (t->sets[i] == set)
            return;
        if (t->sets[i] == NULL) {
            t->sets[i] = set;
            return;
        }
    }
    t->more_sets = true;
}

static bool same_family(const char *server_address, const char *address)
{
    int family = str_ip_family(server_address); /* 0: a name, which may be of either */
    return family == 0 || family == str_ip_family(address);
}

/* What a usable endpoint says about its place's port, where that has to be its own. */
static void note_own_port(struct place *p, struct tally *t, const struct placed_endpoint *s)
{
    const char *address = s->endpoint->address;
    if (s->port == 0)
        return;
    p->says_port = true;
    /* On host network: what listens there listens at the server's address. */
    bool at_node = !p->named || address_eq(address, p->address);
    for (size_t i = 0; !at_node && i < p->node->address_count; i++)
        if (address_eq(address, p->node->addresses[i].text)) {
            at_node = same_family(p->address, address);
            break;
        }
    if (at_node) {
        p->says_family = p->says_family || p->named;
        t->own_port = lower_port(t->own_port, s->port);
        return;
    }
    bool same = same_family(p->address, address);
    if (t->elsewhere == NULL || (same && !t->same_family))
        t->elsewhere = s;
    t->same_family = t->same_family || same;
    p->says_family = p->says_family || same;
}

static void tally_up(struct run *r)
{
    for (size_t i = 0; i < r->placed_count; i++) {
        const struct placed_endpoint *s = &r->placed[i];
        struct place *p = &r->places[s->place];
        p->endpoint_count++;
        if (p->best == NULL || s->rank > p->best->rank)
            p->best = s;
        if (s->rank < RANK_LEAVING)
            continue;
        struct tally *t = s->rank == RANK_READY ? &p->ready : &p->leaving;
        tally_add(t, s);
        tally_add(s->rank == RANK_READY ? &r->ready : &r->leaving, s);
        if (p->cause == CAUSE_NONE && place_needs_own_port(r, p))
            note_own_port(p, t, s);
    }
    r->any_port = r->rest.port;
    r->any_same_family = r->rest.same_family;
    for (size_t i = 0; i < r->place_count; i++) {
        r->any_port = r->any_port || r->places[i].says_port;
        r->any_same_family = r->any_same_family || r->places[i].says_family;
    }
}

/* ---- all of it ---- */

static void collect_set(void *arg, const void *object)
{
    const struct endpoint_set *s = object;
    struct run *r = arg;
    r->sets[r->set_count++] = (struct run_set){s, text_pool_add(r->texts, s->name)};
    for (size_t g = 0; g < s->group_count; g++)
        r->endpoint_count += s->groups[g].endpoint_count;
}

void run_read(struct run *r, const char *ask, bool list)
{
    struct reader in = {.r = r};
    const struct desired_objects *found = r->in->objects;
    r->sets = mem_array(found != NULL ? found->set_count : cache_count(r->cache), sizeof(r->sets[0]));
    if (found == NULL)
        cache_each(r->cache, collect_set, r);
    for (size_t i = 0; found != NULL && i < found->set_count; i++)
        collect_set(r, found->sets[i]);
    size_t nodes = r->all ? cache_count(r->in->caches->nodes) : 0;
    size_t place_slots = slots_for(r->endpoint_count + nodes + 1), endpoint_slots = slots_for(r->endpoint_count);
    cleanup(mem_free_ptr) uint32_t *places = mem_array(place_slots, sizeof(places[0]));
    cleanup(mem_free_ptr) uint32_t *endpoints = mem_array(endpoint_slots, sizeof(endpoints[0]));
    in.place_slots = places;
    in.place_mask = place_slots - 1;
    in.endpoint_slots = endpoints;
    in.endpoint_mask = endpoint_slots - 1;
    r->placed = mem_array(r->endpoint_count, sizeof(r->placed[0]));
    r->listed = list ? mem_array(r->endpoint_count, sizeof(r->listed[0])) : NULL;
    if (r->all)
        cache_each(r->in->caches->nodes, desired_places_add_node, &in);
    bool ask_which = r->port.source == PORT_ENDPOINT && r->port.name == NULL;
    for (size_t s = 0; s < r->set_count; s++)
        for (size_t g = 0; g < r->sets[s].set->group_count; g++) {
            const struct endpoint_group *group = &r->sets[s].set->groups[g];
            /* One name with different numbers in different slices is one port of the Service; twice in one slice is not. */
            for (size_t i = 0; ask_which && i < group->port_count; i++) {
                const struct endpoint_port *port = &group->ports[i];
                size_t shown = r->port_count < PORTS_SHOWN ? r->port_count : PORTS_SHOWN, k = 0;
                while (k < shown && (r->ports[k].number != port->number || !str_eq(r->ports[k].name, port->name)))
                    k++;
                if (k == shown && shown < PORTS_SHOWN)
                    r->ports[shown] = (struct run_port){port->name, port->number};
                r->port_count += k == shown;
                if (i > 0 || !str_eq(group->ports[i].name, r->ports[0].name))
                    r->several_ports = true;
            }
            for (size_t i = 0; i < group->endpoint_count; i++) {
                const struct endpoint *e = &group->endpoints[i];
                bool named = e->node_name != NULL;
                uint32_t place = find_place(&in, named ? e->node_name : e->address, named);
                if (r->listed != NULL)
                    r->listed[r->listed_count++] = place;
                run_part_endpoint(&in, &r->sets[s], group, e, place);
            }
        }
    if (ask != NULL && cache_find(r->in->caches->nodes, ask) != NULL)
        find_place(&in, ask, true);
    tally_up(r);
}

/* ---- a part ---- */

struct reader *run_part_begin(struct run *r, struct run_rest rest, size_t room, size_t set_count)
{
    struct reader *in = mem_alloc(sizeof(*in));
    size_t slots = slots_for(room);
    *in = (struct reader){
        .r = r, .endpoint_slots = mem_array(slots, sizeof(in->endpoint_slots[0])), .endpoint_mask = slots - 1};
    r->part = true;
    r->rest = rest;
    r->placed = mem_array(room, sizeof(r->placed[0]));
    r->sets = mem_array(set_count, sizeof(r->sets[0]));
    return in;
}

const struct run_set *run_part_set(struct reader *in, const struct endpoint_set *set, const char *name)
{
    struct run_set *added = &in->r->sets[in->r->set_count++];
    *added = (struct run_set){set, name};
    return added;
}

uint32_t run_part_place(struct reader *in, const char *name, bool named, const char *server)
{
    return add_place(in->r, name, named, server);
}

void run_part_end(struct reader *in, size_t endpoint_count)
{
    struct run *r = in->r;
    tally_up(r);
    r->endpoint_count = endpoint_count;
    mem_free_all(in->endpoint_slots, in);
}

#include "servers/desired/update.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"
#include "servers/desired/desired_internal.h"

/* Texts of what is no more may take so much more than those of all. */
#define WASTE_BYTES ((size_t)64 << 10)

/* ---- what is remembered: of each place its name and what it says to the others, of each slice where its endpoints are.
 * Nothing of it points into the caches but the slices that did not change ---- */

enum known_flag {
    KNOWN_NAMED = 1u << 0,  /* it is a node */
    KNOWN_STEADY = 1u << 1, /* it has a live server, and time does not change that */
    KNOWN_EMPTY = 1u << 2,  /* it has no endpoint any more */
    /* As in struct run_rest. */
    KNOWN_READY = 1u << 3,
    KNOWN_PORT = 1u << 4,
    KNOWN_FAMILY = 1u << 5,
    KNOWN_ALONE = 1u << 6,
};

struct known_place {
    const char *name;
    const char *server; /* NULL: unknown */
    uint8_t flags;
    bool touched;
    uint32_t part; /* 1 + its index in a part of a run; 0: not in it */
};

struct known_set {
    const char *name;
    const struct endpoint_set *set;
    uint32_t *places; /* of its endpoints */
    size_t count;
};

struct whereabouts {
    struct text_pool *texts; /* of places, slices and all servers since all was computed */
    size_t texts_bytes;      /* then */
    const char *port;        /* with ask_port the name of the only one; NULL: none has one yet */
    bool ask_port;
    bool of_all; /* a change concerns all places */
    bool odd;    /* a server's name is not just that of its node */
    struct known_place *places;
    size_t place_count, place_room;
    uint32_t *slots; /* 1 + index, by name */
    size_t slot_count;
    struct known_set *sets; /* ordered by name */
    size_t set_count;
    size_t endpoint_count;
};

/* ---- places ---- */

static uint8_t whereabouts_flags_of(const struct run *r, const struct place *p)
{
    bool serves = p->cause == CAUSE_NONE;
    bool steady = serves && p->sign == SIGN_USABLE; /* so it is live */
    return (uint8_t)((p->named ? KNOWN_NAMED : 0u) | (steady ? KNOWN_STEADY : 0u) |
                     (place_stands_ready(r, p) ? KNOWN_READY : 0u) | (p->says_port ? KNOWN_PORT : 0u) |
                     (p->says_family ? KNOWN_FAMILY : 0u) | (serves && !p->named ? KNOWN_ALONE : 0u));
}

/* The slot of that name, or the one where it belongs. */
static uint32_t *known_slot(const struct whereabouts *w, const char *name, bool named)
{
    size_t mask = w->slot_count - 1, slot = run_hash(name, named) & mask;
    for (; w->slots[slot] != 0; slot = (slot + 1) & mask) {
        const struct known_place *p = &w->places[w->slots[slot] - 1];
        if (((p->flags & KNOWN_NAMED) != 0) == named && strcmp(p->name, name) == 0)
            break;
    }
    return &w->slots[slot];
}

static void known_add(struct whereabouts *w, const char *name, const char *server, uint8_t flags)
{
    if (w->place_count == w->place_room) {
        w->place_room += w->place_room / 8 + 16;
        w->places = mem_resize(w->places, w->place_room, sizeof(w->places[0]));
    }
    w->places[w->place_count++] = (struct known_place){.name = name, .server = server, .flags = flags};
    *known_slot(w, name, (flags & KNOWN_NAMED) != 0) = (uint32_t)w->place_count;
}

/* ---- slices ---- */

static size_t endpoints_of(const struct endpoint_set *set)
{
    size_t count = 0;
    for (size_t g = 0; g < set->group_count; g++)
        count += set->groups[g].endpoint_count;
    return count;
}

static int whereabouts_init(struct whereabouts *w, const struct run *r)
{
    for (size_t i = 1; i < r->place_count; i++)
        if (r->order[i]->server != NULL && str_eq(r->order[i - 1]->server, r->order[i]->server))
            return -1;
    *w = (struct whereabouts){.texts = text_pool_ref(r->texts),
                              .ask_port = r->port.source == PORT_ENDPOINT && r->port.name == NULL};
    if (w->ask_port && r->port_count > 0)
        w->port = text_pool_add(w->texts, r->ports[0].name);
    for (w->slot_count = 16; w->slot_count < r->place_count * 2 + 16;)
        w->slot_count *= 2;
    w->slots = mem_array(w->slot_count, sizeof(w->slots[0]));
    w->place_room = r->place_count;
    w->places = mem_array(w->place_room, sizeof(w->places[0]));
    for (size_t i = 0; i < r->place_count; i++) {
        const struct place *p = &r->places[i];
        bool plain = p->server != NULL && strcmp(p->server, p->name) == 0;
        known_add(w, plain ? p->server : text_pool_add(w->texts, p->name), p->server, whereabouts_flags_of(r, p));
        w->odd = w->odd || !plain || !p->named;
    }
    const uint32_t *listed = r->listed;
    w->sets = mem_array(r->set_count, sizeof(w->sets[0]));
    for (; w->set_count < r->set_count; w->set_count++) {
        struct known_set *s = &w->sets[w->set_count];
        *s = (struct known_set){.set = r->sets[w->set_count].set, .name = r->sets[w->set_count].name};
        s->count = endpoints_of(s->set);
        s->places = mem_array(s->count, sizeof(s->places[0]));
        if (s->count > 0)
            memcpy(s->places, listed, s->count * sizeof(s->places[0]));
        listed += s->count;
    }
    w->endpoint_count = r->endpoint_count;
    w->texts_bytes = text_pool_bytes(w->texts);
    return 0;
}

static void whereabouts_fini(struct whereabouts *w)
{
    for (size_t i = 0; i < w->set_count; i++)
        free(w->sets[i].places);
    mem_free_all(w->sets, w->slots, w->places);
    text_pool_unref(w->texts);
    *w = (struct whereabouts){0};
}

/* ---- a change ---- */

static int known_place_of(struct whereabouts *w, const struct endpoint *e, uint32_t *ret)
{
    bool named = e->node_name != NULL;
    uint32_t slot = *known_slot(w, named ? e->node_name : e->address, named);
    if (slot == 0) {
        if (w->odd || !named || !desired_is_server_name(e->node_name) || (w->place_count + 1) * 2 > w->slot_count)
            return -1;
        const char *name = text_pool_add(w->texts, e->node_name);
        known_add(w, name, name, KNOWN_NAMED | KNOWN_EMPTY);
        slot = (uint32_t)w->place_count;
    }
    *ret = slot - 1;
    return 0;
}

/* The slice has another object: its old and its new places are touched. */
static void take_set(void *arg, const void *object)
{
    struct whereabouts *w = arg;
    const struct endpoint_set *set = object;
    struct known_set *s =
        w->set_count > 0 ? bsearch(&set->name, w->sets, w->set_count, sizeof(w->sets[0]), str_order) : NULL;
    size_t at = 0;
    /* Whether it is clear without asking which of its ports is meant. */
    bool clear = s != NULL && !w->of_all;
    for (size_t g = 0; w->ask_port && g < set->group_count; g++)
        clear = clear && set->groups[g].port_count <= 1 &&
                (set->groups[g].port_count == 0 || str_eq(set->groups[g].ports[0].name, w->port));
    w->of_all = !clear;
    if (!clear)
        return;
    for (size_t i = 0; i < s->count; i++)
        w->places[s->places[i]].touched = true;
    w->endpoint_count -= s->count;
    s->set = set;
    s->count = endpoints_of(set);
    s->places = mem_resize(s->places, s->count, sizeof(s->places[0]));
    w->endpoint_count += s->count;
    for (size_t g = 0; g < set->group_count; g++)
        for (size_t i = 0; i < set->groups[g].endpoint_count; i++)
            if (known_place_of(w, &set->groups[g].endpoints[i], &s->places[at++]) != 0) {
                s->count = at - 1; /* the rest says nothing */
                w->of_all = true;
                return;
            }
    for (size_t i = 0; i < s->count; i++)
        w->places[s->places[i]].touched = true;
}

/* ---- the memory ---- */

struct desired_memory {
    const struct desired *last; /* NULL: nothing is kept */
    struct whereabouts where;
    /* By which it is known whether anything else changed. */
    const struct cache *cache;
    const struct server_states *states;
    uint64_t nodes_version, services_version, sets_version;
    bool service_denied;
    size_t full;
};

struct desired_memory *desired_memory_new(void)
{
    return mem_alloc(sizeof(struct desired_memory));
}

static void memory_forget(struct desired_memory *m)
{
    if (m->last == NULL)
        return;
    whereabouts_fini(&m->where);
    desired_unref(m->last);
    m->last = NULL;
}

void desired_memory_free(struct desired_memory *m)
{
    if (m == NULL)
        return;
    memory_forget(m);
    free(m);
}

size_t desired_memory_full(const struct desired_memory *m)
{
    return m->full;
}

/* ---- all ---- */

static const struct desired *update_all(struct desired_memory *m, const struct desired_input *in)
{
    struct run r;
    struct desired d;
    memory_forget(m);
    m->full++;
    if (run_all(&r, in, true, &d) != 0)
        return desired_share(&d);
    const struct desired *shared = desired_share(&d);
    if (shared->state == DESIRED_OK && !r.all && r.in->states != NULL && r.in->objects == NULL &&
        whereabouts_init(&m->where, &r) == 0) {
        m->last = desired_ref(shared);
        m->cache = r.cache;
        m->states = in->states;
        m->nodes_version = cache_version(in->caches->nodes);
        m->services_version = cache_version(in->caches->services);
        m->sets_version = cache_version(r.cache);
        m->service_denied = in->service_denied;
    }
    run_close(&r);
    return shared;
}

/* ---- a part ---- */

/* It is to be seen again; a node without a place is nothing to see. */
static void take_node(void *arg, const void *node)
{
    struct whereabouts *w = arg;
    uint32_t slot = *known_slot(w, record_name(node), true);
    if (slot != 0)
        w->places[slot - 1].touched = true;
}

/* A steady place depends on no other; all that do are seen again, and hear what the steady ones say. -1: it concerns
 * all. */
static int judge_part(struct desired_memory *m, struct run *r)
{
    const struct cache *nodes = r->in->caches->nodes;
    if (cache_version(nodes) != m->nodes_version)
        cache_each_since(nodes, m->nodes_version, take_node, &m->where);
    cache_each_since(m->cache, m->sets_version, take_set, &m->where);
    if (m->where.of_all)
        return -1;
    /* Which places are to be seen again, and what the others say. */
    unsigned says = 0;
    for (size_t i = 0; i < m->where.place_count; i++) {
        struct known_place *p = &m->where.places[i];
        p->touched = p->touched || (p->flags & (KNOWN_STEADY | KNOWN_EMPTY)) == 0;
        p->part = 0;
        if (!p->touched)
            says |= p->flags;
    }
    const struct run_rest rest = {.ready = (says & KNOWN_READY) != 0,
                                  .port = (says & KNOWN_PORT) != 0,
                                  .same_family = (says & KNOWN_FAMILY) != 0,
                                  .alone = (says & KNOWN_ALONE) != 0};
    size_t count = 0;
    for (size_t s = 0; s < m->where.set_count; s++)
        for (size_t i = 0; i < m->where.sets[s].count; i++)
            count += m->where.places[m->where.sets[s].places[i]].touched;
    struct reader *in = run_part_begin(r, rest, count, m->where.set_count);
    for (const struct known_set *s = m->where.sets; s < m->where.sets + m->where.set_count; s++) {
        const struct run_set *as = run_part_set(in, s->set, s->name);
        const uint32_t *at = s->places;
        for (size_t g = 0; g < s->set->group_count; g++)
            for (size_t i = 0; i < s->set->groups[g].endpoint_count; i++, at++) {
                struct known_place *p = &m->where.places[*at];
                if (!p->touched)
                    continue;
                if (p->part == 0)
                    p->part = 1 + run_part_place(in, p->name, (p->flags & KNOWN_NAMED) != 0, p->server);
                run_part_endpoint(in, as, &s->set->groups[g], &s->set->groups[g].endpoints[i], p->part - 1);
            }
    }
    run_part_end(in, m->where.endpoint_count);
    run_judge(r);
    return r->problem == NULL && r->any_ready ? 0 : -1;
}

/* ---- the result of a part ---- */

/* Where in the last state that server was; server_count: it was not. */
static size_t last_place(const struct desired *last, const char *server)
{
    size_t at = server != NULL
                    ? sorted_place(&server, last->servers, last->server_count, sizeof(last->servers[0]), str_order)
                    : last->server_count;
    return at < last->server_count && str_eq(last->servers[at].name, server) ? at : last->server_count;
}

struct merge {
    const struct desired *last;
    const bool *replaced;
    struct desired *d;
    size_t at;  /* in last */
    bool moved; /* a server came or went */
};

/* Up to that name. */
static void take_over(struct merge *m, const char *before)
{
    const struct desired *last = m->last;
    size_t end = before != NULL
                     ? sorted_place(&before, last->servers, last->server_count, sizeof(last->servers[0]), str_order)
                     : last->server_count;
    for (; m->at < end; m->at++)
        if (!m->replaced[m->at])
            desired_add_server(m->d, last->servers[m->at]);
}

static void merge_servers(const struct run *r, struct merge *m)
{
    struct desired *d = m->d;
    size_t again = 0, replaced = 0;
    desired_make_room(d, m->last->server_count + r->place_count);
    for (size_t i = 0; i < r->place_count; i++) {
        const struct place *p = r->order[i];
        if (p->cause == CAUSE_NONE) {
            size_t was = last_place(m->last, p->server);
            take_over(m, p->server);
            again += was < m->last->server_count;
            m->moved = m->moved || was == m->last->server_count;
            desired_add_server(d, run_server(r, p, was < m->last->server_count ? &m->last->servers[was] : NULL));
        }
        run_add_skip(r, p, false, d);
    }
    take_over(m, NULL);
    for (size_t i = 0; i < m->last->server_count; i++)
        replaced += m->replaced[i];
    m->moved = m->moved || again != replaced;
}

static const struct desired *settle_part(struct desired_memory *m, struct run *r)
{
    struct desired d;
    /* What was at a place that is seen again is not taken over. */
    cleanup(mem_free_ptr) bool *replaced = mem_array(m->last->server_count + 1, sizeof(replaced[0]));
    for (size_t i = 0; i < m->where.place_count; i++)
        if (m->where.places[i].touched)
            replaced[last_place(m->last, m->where.places[i].server)] = true;
    struct merge merge = {.last = m->last, .replaced = replaced, .d = &d};
    desired_init(&d);
    /* Nothing is at it any more. */
    struct server_states *states = r->in->states;
    for (size_t i = 0; i < m->where.place_count; i++) {
        struct known_place *p = &m->where.places[i];
        if (p->touched && p->part == 0)
            server_states_unsee(states, p->server);
    }
    run_settle(r);
    d.state = DESIRED_OK;
    d.texts = text_pool_new(r->texts);
    d.words = r->words;
    d.endpoint_count = r->endpoint_count;
    d.paused = m->last->paused;
    merge_servers(r, &merge);
    d.note = run_notes(r, &d.check_port);
    run_end_pass(r, &d);
    if (merge.moved || m->nodes_version != cache_version(r->in->caches->nodes))
        run_spares(r, &d);
    else
        run_spares_again(r, m->last, &d);
    struct whereabouts *w = &m->where;
    for (size_t i = 0; i < w->place_count; i++) {
        struct known_place *p = &w->places[i];
        if (p->touched)
            p->flags = p->part != 0 ? whereabouts_flags_of(r, &r->places[p->part - 1])
                                    : (uint8_t)((p->flags & KNOWN_NAMED) | KNOWN_EMPTY);
        p->touched = false;
    }
    m->sets_version = cache_version(m->cache);
    m->nodes_version = cache_version(r->in->caches->nodes);
    desired_unref(m->last);
    m->last = desired_share(&d);
    return desired_ref(m->last);
}

const struct desired *desired_update(struct desired_memory *m, const struct desired_input *in)
{
    struct run r;
    const struct desired *ret = NULL;
    cleanup(mem_free_ptr) char *problem = NULL;
    if (m->last != NULL && run_open(&r, in, m->where.texts, &problem) == 0) {
        r.words = m->last->words;
        if (in->objects == NULL && in->states == m->states && r.cache == m->cache &&
            cache_removed(in->caches->nodes) <= m->nodes_version &&
            m->services_version == cache_version(in->caches->services) && m->service_denied == in->service_denied &&
            m->where.set_count == cache_count(m->cache) &&
            text_pool_bytes(m->where.texts) <= m->where.texts_bytes * 2 + WASTE_BYTES && judge_part(m, &r) == 0)
            ret = settle_part(m, &r);
        run_close(&r);
    }
    return ret != NULL ? ret : update_all(m, in);
}

#include "servers/desired/whereabouts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* ---- places ---- */

uint8_t whereabouts_flags_of(const struct run *r, const struct place *p)
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

int whereabouts_init(struct whereabouts *w, const struct run *r)
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

void whereabouts_fini(struct whereabouts *w)
{
    for (size_t i = 0; i < w->set_count; i++)
        free(w->sets[i].places);
    free(w->sets);
    free(w->slots);
    free(w->places);
    text_pool_unref(w->texts);
    *w = (struct whereabouts){0};
}

/* ---- a change ---- */

/* Whether it is clear without asking which of its ports is meant. */
static bool known_port_is_clear(const struct whereabouts *w, const struct endpoint_set *set)
{
    for (size_t g = 0; w->ask_port && g < set->group_count; g++)
        if (set->groups[g].port_count > 1 ||
            (set->groups[g].port_count == 1 && !str_eq(set->groups[g].ports[0].name, w->port)))
            return false;
    return true;
}

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

static int known_compare_set(const void *name, const void *set)
{
    return strcmp(name, ((const struct known_set *)set)->name);
}

void whereabouts_touch(struct whereabouts *w, const char *node)
{
    uint32_t slot = *known_slot(w, node, true);
    if (slot != 0)
        w->places[slot - 1].touched = true;
}

static void known_touch(struct whereabouts *w, const struct known_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        w->places[s->places[i]].touched = true;
}

int whereabouts_replace(struct whereabouts *w, const struct endpoint_set *set)
{
    struct known_set *s =
        w->set_count > 0 ? bsearch(set->name, w->sets, w->set_count, sizeof(w->sets[0]), known_compare_set) : NULL;
    size_t at = 0;
    if (s == NULL || !known_port_is_clear(w, set))
        return -1;
    known_touch(w, s);
    w->endpoint_count -= s->count;
    s->set = set;
    s->count = endpoints_of(set);
    s->places = mem_resize(s->places, s->count, sizeof(s->places[0]));
    w->endpoint_count += s->count;
    for (size_t g = 0; g < set->group_count; g++)
        for (size_t i = 0; i < set->groups[g].endpoint_count; i++)
            if (known_place_of(w, &set->groups[g].endpoints[i], &s->places[at++]) != 0) {
                s->count = at - 1; /* the rest says nothing */
                return -1;
            }
    known_touch(w, s);
    return 0;
}

/* servers/desired/desired: what holds in any state, however it was reached. */

#include "desired_world.h"
#include "haproxy/backend.h"

#include "../../effort.h"

static const char *any_settings(struct dice *dice)
{
    return dice_one_in(dice, 2) ? world_plain[dice_below(dice, array_len(world_plain))]
                                : world_any[dice_below(dice, array_len(world_any))];
}

/* ---- the rules once more, as slowly and plainly as they can be said, for a fixed port ---- */

struct oracle {
    const struct mapping_text *m;
    bool ready, leaving; /* at the place */
    bool others_ready;   /* at any place that can have a server */
    const char *place;
};

static bool is_node_port(const struct mapping_text *m)
{
    const struct service *s = cache_find(m->caches.services, "web");
    return s != NULL && s->ports[0].node_port == m->rules.fixed_port;
}

static bool can_have_a_server(const struct mapping_text *m, const struct endpoint *e)
{
    const struct node *n = e->node_name != NULL ? cache_find(m->caches.nodes, e->node_name) : NULL;
    if (e->node_name == NULL)
        return true;
    return n != NULL && n->excluded_by == 0 &&
           node_address_choose(n, &m->rules.nodes, cache_find(m->caches.services, "web"), is_node_port(m)) != NULL;
}

static bool serves(const struct mapping_text *m, const struct endpoint_group *g)
{
    for (size_t i = 0; m->rules.port != NULL && i < g->port_count; i++)
        if (strcmp(g->ports[i].name, m->rules.port) == 0)
            return true;
    return m->rules.port == NULL || g->port_count == 0;
}

/* What one slice says of an endpoint, ready or a port, holds whatever another says of it. */
struct same {
    const struct mapping_text *m;
    const struct endpoint *endpoint;
    bool ready, has_port;
};

static void look_for_same(void *arg, const void *object)
{
    const struct endpoint_set *s = object;
    struct same *same = arg;
    for (size_t i = 0; i < s->groups[0].endpoint_count; i++) {
        const struct endpoint *e = &s->groups[0].endpoints[i];
        if (!str_eq(e->address, same->endpoint->address) || !serves(same->m, &s->groups[0]))
            continue;
        same->ready = same->ready || e->ready;
        same->has_port = same->has_port || s->groups[0].port_count > 0;
    }
}

static void look(void *arg, const void *object)
{
    const struct endpoint_set *s = object;
    struct oracle *o = arg;
    for (size_t i = 0; i < s->groups[0].endpoint_count; i++) {
        const struct endpoint *e = &s->groups[0].endpoints[i];
        if (!can_have_a_server(o->m, e))
            continue;
        bool here = strcmp(e->node_name != NULL ? e->node_name : e->address, o->place) == 0;
        if (!serves(o->m, &s->groups[0]))
            continue;
        struct same same = {.m = o->m, .endpoint = e};
        cache_each(o->m->caches.slices, look_for_same, &same);
        /* What is on no node is not behind a nodePort, and has to say its own. */
        if (e->node_name == NULL && is_node_port(o->m) && !same.has_port)
            continue;
        o->others_ready = o->others_ready || same.ready;
        o->ready = o->ready || (here && same.ready);
        o->leaving = o->leaving || (here && e->serving && e->terminating);
    }
}

static struct oracle ask_oracle(const struct mapping_text *m, const char *place)
{
    struct oracle o = {.m = m, .place = place};
    cache_each(m->caches.slices, look, &o);
    return o;
}

static const char *place_name(unsigned i, char *buf, size_t size)
{
    snprintf(buf, size, i < WORLD_NODES ? "n%u" : "10.9.0.%u", i);
    return buf;
}

/* Only what the settings leave to the endpoints: a port of the Service that is there. */
static bool is_asked_well(const struct mapping_text *m)
{
    const struct service *s = cache_find(m->caches.services, "web");
    for (size_t i = 0; s != NULL && m->rules.port != NULL && i < s->port_count; i++)
        if (strcmp(s->ports[i].name, m->rules.port) == 0)
            return true;
    return s == NULL || m->rules.port == NULL;
}

static void check_against_oracle(const struct mapping_text *m, const struct desired *d, unsigned round)
{
    unsigned servers = 0;
    for (unsigned i = 0; i < WORLD_PLACES; i++) {
        char name[16];
        struct oracle o = ask_oracle(m, place_name(i, name, sizeof(name)));
        const struct desired_server *s = desired_find(d, name);
        bool live = o.ready || (o.leaving && !o.others_ready);
        bool draining = !o.ready && o.leaving && o.others_ready && m->rules.drain_timeout_ms > 0;
        ck_assert_msg((s != NULL) == (live || draining), "round %u: %s", round, name);
        ck_assert_msg(s == NULL || (s->state == SERVER_LIVE) == live, "round %u: state of %s", round, name);
        servers += s != NULL;
    }
    ck_assert_uint_eq(d->server_count, servers);
}

/* Each node that can have a server and has none is spare, where that is asked for. */
static void check_every_spare(const struct mapping_text *m, const struct desired *d, unsigned round)
{
    for (unsigned i = 0; i < WORLD_NODES; i++) {
        char name[16];
        place_name(i, name, sizeof(name));
        struct endpoint on_it = {.node_name = name};
        bool spare = m->rules.park_nodes && d->state == DESIRED_OK && desired_find(d, name) == NULL &&
                     can_have_a_server(m, &on_it);
        ck_assert_msg(spare == (desired_find_spare(d, name) != NULL), "round %u: spare %s", round, name);
    }
}

TEST(a_node_serves_exactly_when_the_rules_say_so)
{
    struct dice dice = {1234567891011u};
    unsigned asked = 0, spared = 0;
    for (unsigned round = 0; round < (unsigned)effort(1500); round++) {
        char *world[WORLD_LINES];
        struct mapping_text m;
        struct desired d;
        world_make(&dice, world);
        text_mapping_open(&m, world_plain[dice_below(&dice, array_len(world_plain))], false);
        for (unsigned i = 0; i < WORLD_LINES; i++)
            world_put(&m.caches, i, world[i]);
        desired_compute(&m.in, &d);
        if (is_asked_well(&m)) {
            check_against_oracle(&m, &d, round);
            check_every_spare(&m, &d, round);
            spared += d.spare_count > 0;
            asked++;
        } else {
            ck_assert_int_eq(d.state, DESIRED_UNDECIDED);
        }
        desired_fini(&d);
        text_mapping_close(&m);
        world_free(world);
    }
    ck_assert_uint_gt(asked, (unsigned)effort(1000));
    ck_assert_uint_gt(spared, (unsigned)effort(100));
}

/* ---- whatever the settings ---- */

/* Spares: of what the desired state is there, and no server. */
static void check_spares(const struct desired *d, const char *settings)
{
    ck_assert_msg(d->spare_count == 0 || (d->state == DESIRED_OK && strstr(settings, "park") != NULL), "%s", settings);
    for (size_t i = 0; i < d->spare_count; i++) {
        const struct desired_server *s = &d->spares[i];
        ck_assert(i == 0 || strcmp(d->spares[i - 1].name, s->name) < 0);
        cleanup(mem_free_ptr) char *reason = desired_server_reason(d, s);
        ck_assert(s->port != 0 && !str_empty(s->address) && !str_empty(reason) && s->state == SERVER_OUT);
        ck_assert_int_eq(s->weight, strstr(settings, "weights=equal") != NULL ? SERVER_WEIGHT_DEFAULT : -1);
        ck_assert_ptr_null(desired_find(d, s->name));
        ck_assert_ptr_eq(desired_find_spare(d, s->name), s);
    }
}

/* What HAProxy relies on: one of each name, ordered, live ones beside every draining one, all of it complete. */
static void check_sound(const struct desired *d, const char *settings)
{
    size_t live = 0;
    check_spares(d, settings);
    for (size_t i = 0; i < d->server_count; i++) {
        const struct desired_server *s = &d->servers[i];
        ck_assert(i == 0 || strcmp(d->servers[i - 1].name, s->name) < 0);
        cleanup(mem_free_ptr) char *reason = desired_server_reason(d, s);
        ck_assert(s->port != 0 && !str_empty(s->address) && !str_empty(reason));
        ck_assert(s->state == SERVER_LIVE || s->state == SERVER_DRAINING);
        ck_assert(s->weight >= -1 && s->weight != 0 && s->weight <= DESIRED_WEIGHT_MAX);
        ck_assert_ptr_null(desired_why_out(d, s->name));
        live += s->state == SERVER_LIVE;
    }
    ck_assert_msg((d->state == DESIRED_OK) == (live > 0), "%s", settings);
    ck_assert_msg(d->state == DESIRED_OK || d->server_count == 0, "%s", settings);
    ck_assert((d->state == DESIRED_OK) == (d->problem == NULL));
    for (size_t i = 0; i < d->skip_count; i++) {
        cleanup(mem_free_ptr) char *subject = desired_skip_subject(d, &d->skips[i]);
        cleanup(mem_free_ptr) char *reason = desired_skip_reason(d, &d->skips[i]);
        ck_assert(!str_empty(subject) && !str_empty(reason));
        ck_assert_msg(d->state != DESIRED_OK || d->skips[i].server == NULL || strstr(reason, "already") != NULL ||
                          desired_find(d, d->skips[i].server) == NULL,
                      "%s is in and out", d->skips[i].server);
    }
}

TEST(no_state_and_no_setting_makes_it_unsound)
{
    struct dice dice = {424242};
    int states[4] = {0};
    for (unsigned round = 0; round < (unsigned)effort(3000); round++) {
        char *world[WORLD_LINES];
        struct mapping_text m;
        struct desired d;
        const char *settings = any_settings(&dice);
        world_make(&dice, world);
        text_mapping_open(&m, settings, dice_one_in(&dice, 4));
        for (unsigned i = 0; i < WORLD_LINES; i++)
            world_put(&m.caches, i, world[i]);
        desired_compute(&m.in, &d);
        check_sound(&d, settings);
        states[d.state]++;
        desired_fini(&d);
        text_mapping_close(&m);
        world_free(world);
    }
    ck_assert(states[DESIRED_OK] > effort(300) && states[DESIRED_EMPTY] > effort(100) &&
              states[DESIRED_UNDECIDED] > effort(100));
}

/* ---- over time ---- */

/* Whatever happens and however the clock runs: sound, due in the future, and live where anything usable can be. */
TEST(any_history_is_sound)
{
    struct dice dice = {5551212};
    for (unsigned round = 0; round < (unsigned)effort(60); round++) {
        struct mapping_text m;
        const char *settings = any_settings(&dice);
        text_mapping_open(&m, settings, false);
        m.in.states = server_states_new();
        for (unsigned k = 0; k < 100; k++) {
            struct desired d, stateless;
            struct desired_input in = m.in;
            in.states = NULL;
            m.in.now_ms = in.now_ms += dice_below(&dice, 20000);
            for (unsigned n = dice_below(&dice, 4); n > 0; n--)
                world_happens(&m.caches, &dice);
            desired_compute(&m.in, &d);
            desired_compute(&in, &stateless);
            check_sound(&d, settings);
            ck_assert(d.due_ms == 0 || d.due_ms > m.in.now_ms);
            ck_assert_int_eq(d.state, stateless.state);
            /* What is live does not depend on what was; only drains do. */
            for (size_t i = 0; i < stateless.server_count; i++) {
                const struct desired_server *want = &stateless.servers[i], *have = desired_find(&d, want->name);
                ck_assert(want->state == SERVER_DRAINING || (have != NULL && have->state == SERVER_LIVE));
                ck_assert(have == NULL || have->state == want->state);
            }
            desired_fini(&d);
            desired_fini(&stateless);
        }
        text_mapping_close(&m);
    }
}

/* servers/desired/update: after each event it says what servers/desired/desired computes from nothing, word by word. */

#include "desired_world.h"
#include "servers/desired/update.h"

#include "../../effort.h"

/* ---- one stream, played twice ---- */

struct stream {
    struct mapping_text m;
    struct desired_memory *memory;
    struct server_states *states[2]; /* of the update, and of what is computed */
    struct dice dice;
    const char *settings;
    unsigned steps;
    char happened[256];
};

static void stream_open(struct stream *s, uint64_t seed, const char *settings)
{
    *s = (struct stream){.dice = {seed}, .settings = settings};
    text_mapping_open(&s->m, settings, false);
    s->memory = desired_memory_new();
    for (unsigned i = 0; i < array_len(s->states); i++)
        s->states[i] = server_states_new();
}

static void stream_close(struct stream *s)
{
    desired_memory_free(s->memory);
    for (unsigned i = 0; i < array_len(s->states); i++)
        server_states_free(s->states[i]);
    s->m.in.states = NULL;
    text_mapping_close(&s->m);
}

static void add_server(struct buf *b, const struct desired *d, const struct desired_server *s)
{
    cleanup(mem_free_ptr) char *reason = desired_server_reason(d, s);
    buf_printf(b, "%s/%s %s %u %s %llu w%d: %s\n", s->name, s->node != NULL ? s->node : "", s->address, s->port,
               server_state_name(s->state), (unsigned long long)s->until_ms, s->weight, reason);
}

static int memory_order(const void *a, const void *b)
{
    return strcmp(((const struct server_memory *)a)->name, ((const struct server_memory *)b)->name);
}

static void add_memory(struct buf *b, const struct server_states *states)
{
    struct server_memory *list;
    size_t count = server_states_memory(states, &list);
    if (count > 1)
        qsort(list, count, sizeof(list[0]), memory_order);
    for (size_t i = 0; i < count; i++)
        buf_printf(b, "remembered %s %d %d %llu\n", list[i].name, list[i].state, list[i].announced,
                   (unsigned long long)list[i].until_ms);
    free(list);
}

/* All that there is to know. */
static char *told(const struct desired *d, const struct server_states *states)
{
    struct buf b = {0};
    buf_printf(&b, "state %d, %zu endpoints, check %u, paused %d, due %llu, problem %s, note %s\n", d->state,
               d->endpoint_count, d->check_port, d->paused, (unsigned long long)d->due_ms,
               d->problem != NULL ? d->problem : "-", d->note != NULL ? d->note : "-");
    for (size_t i = 0; i < d->server_count; i++)
        add_server(&b, d, &d->servers[i]);
    for (size_t i = 0; i < d->spare_count; i++)
        add_server(&b, d, &d->spares[i]);
    for (size_t i = 0; i < d->skip_count; i++) {
        const struct desired_skip *s = &d->skips[i];
        cleanup(mem_free_ptr) char *text = desired_skip_text(d, s);
        buf_printf(&b, "out %s %s%s%s\n", s->server != NULL ? s->server : "-", s->ordinary ? "~" : "",
                   s->announced ? "!" : "", text);
    }
    if (states != NULL)
        add_memory(&b, states);
    return buf_take(&b);
}

/* A desired state and what it says, which it does for as long as it is held. */
struct held {
    const struct desired *is;
    char *said;
};

static void held_fini(struct held *h)
{
    desired_unref(h->is);
    free(h->said);
}

static void step(struct stream *s, struct held *last)
{
    struct desired_input in = s->m.in;
    struct desired computed;
    in.states = s->states[0];
    const struct desired *updated = desired_update(s->memory, &in);
    cleanup(mem_free_ptr) char *still = last->is != NULL ? told(last->is, NULL) : NULL;
    in.states = s->states[1];
    desired_compute(&in, &computed);
    cleanup(mem_free_ptr) char *is = told(updated, s->states[0]), *should = told(&computed, s->states[1]);
    ck_assert_msg(strcmp(is, should) == 0, "%s, step %u, %s:\n%s--- computed\n%s", s->settings, s->steps, s->happened,
                  is, should);
    ck_assert(str_eq(still, last->said) && desired_eq(updated, &computed));
    desired_fini(&computed);
    held_fini(last);
    *last = (struct held){updated, told(updated, NULL)};
    s->steps++;
}

/* ---- what happens ---- */

#define SLICES 6
#define PLACES 24

/* Few things change at once, as in a cluster. odd: places whose servers' names are not those of their nodes. */
static void any_endpoint(struct stream *s, struct buf *b, bool odd)
{
    static const char *const states[] = {"yes", "yes", "yes", "yes", "no", "leaving", "leaving", "gone"};
    static const char *const odd_places[] = {"10.1.0.1@a/1", "10.1.0.2@a#1", "10.1.0.3@a_1", "fd00:0::7",
                                             "fd00::7",      "fd00::0:7@n1", "nowhere",      "10.9.0.10",
                                             "10.0.0.2@n3",  "10.0.0.3@n3",  "10.9.0.11",    "10.1.0.4@10.9.0.10",
                                             "fd00::3@n3"};
    struct dice *dice = &s->dice;
    unsigned place = dice_below(dice, PLACES);
    const char *state = states[dice_below(dice, array_len(states))];
    if (odd && dice_one_in(dice, 2))
        buf_printf(b, " %s=%s", odd_places[dice_below(dice, array_len(odd_places))], state);
    else
        buf_printf(b, " 10.%u.0.%u@n%u=%s", dice_one_in(dice, 4) ? 244 : 0, place, place, state);
}

static void slice_happens(struct stream *s, bool odd)
{
    static const char *const ports[] = {"http/80", "http/80", "http/80",           "http/80",   "http/80",
                                        "http/80", "http/81", "http/80 https/443", "https/443", ""};
    struct dice *dice = &s->dice;
    unsigned slice = dice_below(dice, SLICES), port = dice_below(dice, odd ? array_len(ports) : 7);
    cleanup(buf_fini) struct buf b = {0};
    cleanup(mem_free_ptr) char *name = mem_printf("s%u", slice);
    if (dice_one_in(dice, 25)) {
        cache_delete(s->m.caches.slices, name);
        snprintf(s->happened, sizeof(s->happened), "%s goes", name);
        return;
    }
    buf_printf(&b, "slice %s %s :", name, ports[port]);
    for (unsigned n = dice_below(dice, 8); n > 0; n--)
        any_endpoint(s, &b, odd);
    text_put(&s->m.caches, buf_str(&b));
    snprintf(s->happened, sizeof(s->happened), "%s", buf_str(&b));
}

static void node_happens(struct stream *s)
{
    static const char *const others[] = {"node a/1 10.1.0.1", "node a#1 10.1.0.2", "node a_1 10.1.0.3"};
    struct dice *dice = &s->dice;
    unsigned node = dice_below(dice, PLACES);
    cleanup(mem_free_ptr) char *name = mem_printf("n%u", node);
    cleanup(mem_free_ptr) char *line =
        dice_one_in(dice, 5) ? mem_strdup(others[dice_below(dice, array_len(others))]) : world_node(dice, node);
    if (dice_one_in(dice, 6))
        cache_delete(s->m.caches.nodes, name);
    else
        text_put(&s->m.caches, line);
    snprintf(s->happened, sizeof(s->happened), "%s", line);
}

/* A new list, of what there is; some of it is gone. */
static void relist_happens(struct stream *s)
{
    struct cache *c = dice_one_in(&s->dice, 2) ? s->m.caches.slices : s->m.caches.nodes;
    cache_replace_begin(c);
    for (unsigned i = 0; i < PLACES; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf(c == s->m.caches.nodes ? "n%u" : "s%u", i);
        if (!dice_one_in(&s->dice, 8))
            cache_keep(c, name);
    }
    if (dice_one_in(&s->dice, 2)) /* it is listed otherwise */
        slice_happens(s, false);
    if (dice_one_in(&s->dice, 3)) { /* it is read meanwhile */
        cleanup(held_fini) struct held last = {0};
        step(s, &last);
    }
    if (dice_one_in(&s->dice, 6))
        cache_replace_abort(c);
    else
        cache_replace_end(c);
    snprintf(s->happened, sizeof(s->happened), "a list of %s", c == s->m.caches.nodes ? "nodes" : "slices");
}

static void service_happens(struct stream *s)
{
    cleanup(mem_free_ptr) char *line = world_line(&s->dice, WORLD_SERVICE);
    world_put(&s->m.caches, WORLD_SERVICE, line);
    snprintf(s->happened, sizeof(s->happened), "%s", line != NULL ? line : "no service");
}

static void any_event(struct stream *s, bool odd)
{
    unsigned what = dice_below(&s->dice, 100);
    s->m.in.now_ms += dice_below(&s->dice, dice_one_in(&s->dice, 60) ? 700000 : 9000);
    if (what < 78)
        slice_happens(s, odd);
    else if (what < 90)
        snprintf(s->happened, sizeof(s->happened), "time");
    else if (what < 94)
        node_happens(s);
    else if (what < 96)
        relist_happens(s);
    else if (what < 98)
        service_happens(s);
    else if (what < 99)
        s->m.in.service_denied = !s->m.in.service_denied;
}

static void begin_with(struct stream *s, const char *service)
{
    for (unsigned i = 0; i < PLACES; i++) {
        cleanup(mem_free_ptr) char *line = mem_printf("node n%u 10.0.0.%u%s", i, i, i % 5 == 0 ? " fd00::5" : "");
        text_put(&s->m.caches, line);
    }
    if (service != NULL)
        text_put_all(&s->m.caches, service);
}

/* ---- the tests ---- */

static const char *const all_settings[] = {
    "port=30080",
    "port=30080 want=http",
    "port=30080 weights=endpoints drain=4000",
    "port=30080 want=http drain=0",
    "want=http",
    "want=http weights=endpoints check",
    "",
    "drain=4000",
    "mode=all want=http",
    "port=30080 park weights=equal",
    "want=http park family=IPv6-first",
    "want=http family=IPv6",
    "family=IPv4 selector=a drain=20000",
    "types=ExternalIP,InternalIP park",
    "want=http park check drain=4000",
};

#define ROUNDS 3
#define STEPS (unsigned)effort(200)

static void play(struct stream *s, const char *service, bool odd, unsigned *parts)
{
    cleanup(held_fini) struct held last = {0};
    begin_with(s, service);
    for (unsigned k = 0; k < STEPS; k++) {
        any_event(s, odd);
        step(s, &last);
    }
    *parts += s->steps - (unsigned)desired_memory_full(s->memory);
}

static unsigned play_all(const char *settings, bool odd)
{
    static const char *const services[] = {"service web NodePort Local http/80/30080",
                                           "service web LoadBalancer Local http/80/30080 check=32000 v6 v4",
                                           "service web ClusterIP http/80"};
    unsigned parts = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct stream s;
        stream_open(&s, 0x2545f4914f6cdd1du + round * 977u + odd, settings);
        play(&s, services[round % array_len(services)], odd, &parts);
        stream_close(&s);
    }
    return parts;
}

TEST_EACH(each_event_as_if_all_were_computed, array_len(all_settings))
{
    unsigned parts = play_all(all_settings[_i], false);
    bool all = strstr(all_settings[_i], "mode=all") != NULL; /* where it applies: not with Local */
    ck_assert_msg(all || parts > ROUNDS * STEPS / 8, "%s: %u", all_settings[_i], parts);
}

TEST_EACH(whatever_the_places_are_called, array_len(all_settings))
{
    play_all(all_settings[_i], true);
}

/* Slices alone, with all that makes other places differ: what is ready, ports, families. */
TEST_EACH(what_concerns_all_is_noticed, array_len(all_settings))
{
    unsigned parts = 0;
    for (unsigned round = 0; round < (unsigned)effort(30); round++) {
        struct stream s;
        cleanup(held_fini) struct held last = {0};
        stream_open(&s, 99 + round, all_settings[_i]);
        begin_with(&s, round % 2 == 0 ? "service web ClusterIP http/80" : NULL); /* without: the ports are asked for */
        for (unsigned k = 0; k < 60; k++) {
            cleanup(buf_fini) struct buf b = {0};
            static const char *const endpoints[] = {"10.0.0.1@n1=leaving", "10.0.0.2@n2",   "10.0.0.3@n3=no",
                                                    "fd00::5@n5",          "10.244.0.5@n5", "10.9.0.10",
                                                    "10.0.0.4@n4=leaving"};
            static const char *const ports[] = {"http/80",   "http/80",           "http/80", "",
                                                "https/443", "http/80 https/443", "http/80", "http/80"};
            buf_printf(&b, "slice s%u %s :", dice_below(&s.dice, 3), ports[dice_below(&s.dice, array_len(ports))]);
            for (unsigned n = dice_below(&s.dice, 3); n > 0; n--)
                buf_printf(&b, " %s", endpoints[dice_below(&s.dice, array_len(endpoints))]);
            text_put(&s.m.caches, buf_str(&b));
            snprintf(s.happened, sizeof(s.happened), "%s", buf_str(&b));
            s.m.in.now_ms += 1000;
            step(&s, &last);
        }
        parts += s.steps - (unsigned)desired_memory_full(s.memory);
        stream_close(&s);
    }
    ck_assert(parts > 0 || strstr(all_settings[_i], "mode=all") != NULL);
}

/* ---- how much is computed ---- */

static size_t full_after(struct stream *s, const char *lines)
{
    cleanup(held_fini) struct held last = {0};
    text_put_all(&s->m.caches, lines);
    step(s, &last);
    return desired_memory_full(s->memory);
}

TEST(a_slice_concerns_its_places_only)
{
    struct stream s;
    stream_open(&s, 1, "");
    begin_with(&s, "service web NodePort Local http/80/30080");
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.1.0.1@n1 10.1.0.2@n2\nslice b http/80 : 10.1.0.3@n3"), 1);
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.1.0.1@n1=no 10.1.0.2@n2"), 1);
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.1.0.1@n1 10.1.0.2@n4"), 1); /* a place goes, one comes */
    ck_assert_uint_eq(full_after(&s, ""), 1);
    ck_assert_uint_eq(full_after(&s, "node n9 10.0.0.9 !excluded"), 1);
    ck_assert_uint_eq(full_after(&s, "node n2 10.0.0.2 !excluded"), 1);
    cache_delete(s.m.caches.nodes, "n9");
    ck_assert_uint_eq(full_after(&s, ""), 2);
    ck_assert_uint_eq(full_after(&s, "slice c http/80 : 10.1.0.5@n5"), 3);
    ck_assert_uint_eq(full_after(&s, "service web NodePort Local http/80/30081"), 4);
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.1.0.7"), 5); /* a place of another kind */
    ck_assert_uint_eq(full_after(&s, "node a/1 10.1.0.9\nslice a http/80 : 10.1.0.1@n1"), 6);
    ck_assert_uint_eq(full_after(&s, "service web NodePort Local http/80/30080"), 7);
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.1.0.1@a/1"), 8); /* its server's name is another */
    stream_close(&s);
}

TEST(places_that_were_left_do_not_pile_up)
{
    struct stream s;
    stream_open(&s, 1, "");
    begin_with(&s, "service web NodePort Local http/80/30080\nslice b http/80 : 10.0.0.1@n1");
    size_t full = 0;
    for (unsigned k = 0; k < 200; k++) {
        cleanup(mem_free_ptr) char *line = mem_printf("slice a http/80 : 10.1.0.1@x%u", k);
        full = full_after(&s, line);
    }
    ck_assert_uint_gt(full, 2);
    ck_assert_uint_lt(full, 40);
    stream_close(&s);
}

TEST(what_others_say_is_known)
{
    struct stream s;
    stream_open(&s, 1, "want=http");
    begin_with(&s, "service web ClusterIP http/80");
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.0.0.1@n1\nslice b http/80 : 10.0.0.2@n2"), 1);
    ck_assert_uint_eq(full_after(&s, "slice b : 10.0.0.2@n2"), 1);        /* others have a port */
    ck_assert_uint_eq(full_after(&s, "slice b http/80 : fd00::2@n2"), 1); /* others are of their nodes' family */
    ck_assert_uint_eq(full_after(&s, "slice b http/80 : 10.0.0.2@n2=leaving"), 1); /* others are ready */
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.0.0.1@n1=leaving"), 2);
    stream_close(&s);
    stream_open(&s, 1, "");
    begin_with(&s, "slice a http/80 : 10.0.0.1@n1\nslice b http/80 : 10.0.0.2@n2");
    ck_assert_uint_eq(full_after(&s, ""), 1);
    ck_assert_uint_eq(full_after(&s, "slice b https/443 : 10.0.0.2@n2"), 2); /* which port is to be asked for */
    stream_close(&s);
    stream_open(&s, 1, "check");
    begin_with(&s, "service web LoadBalancer Local http/80/30080 check=32000\n"
                   "slice a http/80 : 10.1.0.1@n1\nslice b http/80 : 10.9.9.9");
    ck_assert_uint_eq(full_after(&s, ""), 1);
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.1.0.1@n1 10.1.0.2@n1"), 1); /* one is on no node */
    stream_close(&s);
    stream_open(&s, 1, "");
    begin_with(&s, "service web NodePort Local http/80/30080 paused\nslice a http/80 : 10.1.0.1@n1");
    ck_assert_uint_eq(full_after(&s, ""), 1);
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.1.0.1@n1 10.1.0.2@n2"), 1); /* and paused still */
    stream_close(&s);
}

TEST(spares_follow_the_first_port)
{
    struct stream s;
    stream_open(&s, 1, "want=http park");
    begin_with(&s, "service web ClusterIP http/80");
    ck_assert_uint_eq(full_after(&s, "slice a http/80 : 10.0.0.1@n1"), 1);
    ck_assert_uint_eq(full_after(&s, "slice a http/81 : 10.0.0.1@n1"), 1);
    stream_close(&s);
}

/* A text is kept for each state of a server whose name does not say all: in the end all is made anew. */
TEST(texts_of_what_is_no_more_do_not_pile_up)
{
    struct stream s;
    cleanup(held_fini) struct held last = {0};
    stream_open(&s, 1, "want=http");
    begin_with(&s, "service web ClusterIP http/80");
    text_put(&s.m.caches, "slice b http/80 : 10.0.0.1@n1");
    for (unsigned k = 0; k < 1600; k++) {
        text_put(&s.m.caches, k % 2 == 0 ? "slice a http/80 : fd00:0::7" : "slice a http/81 : fd00:0::7");
        step(&s, &last);
    }
    ck_assert_uint_gt(desired_memory_full(s.memory), 1);
    ck_assert_uint_lt(desired_memory_full(s.memory), 10);
    stream_close(&s);
}

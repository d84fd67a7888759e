/*
 * Several leaders (kube/lease/lease_machine) around one simulated API server, in simulated time. Requests and answers are delayed and lost,
 * also after they were applied; processes are stopped, killed, started again and given clocks of their own; an operator deletes and
 * edits the Lease by hand. Everything comes from one seed.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"
#include "../../dice.h"
#include "kube/lease/lease_machine.h"

#define WORLD_CLIENTS 4
#define WORLD_MESSAGES 256
#define WORLD_NEVER UINT64_MAX
#define WORLD_CALM_MS 120000u

enum world_method { WORLD_GET, WORLD_POST, WORLD_PUT };

/* On its way to the server (a request), or back (an answer). */
struct world_message {
    bool used, is_answer;
    uint64_t at_ms;
    unsigned client, request;
    enum world_method method;
    struct lease lease;
    enum lease_machine_event_type result;
    int64_t retry_after_ms;
};

struct world_client {
    struct lease_machine machine;
    bool alive, leaving;
    bool elected; /* as it was called back */
    uint64_t clock_offset_ms;
    uint64_t stopped_until_ms, starts_ms, hint_ms;
    unsigned life;        /* incarnations so far */
    unsigned request;     /* under way; 0: none */
    uint64_t gives_up_ms; /* on it */
};

/* How bad a round is: one in so many. 0: never. */
struct world_weather {
    unsigned lose, slow, refuse, stop, kill, leave, delete, edit, foreign;
    bool wall_stands, wall_jumps, same_name;
};

struct world {
    struct dice dice;
    uint64_t now_ms, calm_from_ms;
    struct world_weather weather;
    struct world_client clients[WORLD_CLIENTS];
    unsigned count, requests;
    unsigned messages_end; /* none is used from there on */
    struct world_message messages[WORLD_MESSAGES];
    /* the server */
    bool exists;
    struct lease lease;
    unsigned version;
    uint64_t deleted_ms;       /* nobody new is started for a while: it could not know */
    uint64_t foreign_until_ms; /* a program of others acts until then */
    /* seen */
    unsigned elections, depositions, conflicts, late_answers, deletions;
    bool trace; /* print each step on stderr */
    char wrong[256];
};

#define world_say(w, ...)                                                                                          \
    ((w)->trace ? (void)(fprintf(stderr, "%9llu ", (unsigned long long)(w)->now_ms), fprintf(stderr, __VA_ARGS__)) \
                : (void)0)

#define world_wrong(w, ...) \
    ((w)->wrong[0] == '\0' ? (void)snprintf((w)->wrong, sizeof((w)->wrong), __VA_ARGS__) : (void)0)

static inline bool world_calm(const struct world *w)
{
    return w->now_ms >= w->calm_from_ms;
}

static inline bool world_happens(struct world *w, unsigned one_in)
{
    return one_in != 0 && !world_calm(w) && dice_one_in(&w->dice, one_in);
}

static inline uint64_t world_local(const struct world *w, const struct world_client *c)
{
    return w->now_ms + c->clock_offset_ms;
}

/* ---- what must always hold ---- */

static inline void world_check(struct world *w)
{
    int acts = w->now_ms < w->foreign_until_ms ? WORLD_CLIENTS : -1;
    for (unsigned i = 0; i < w->count; i++) {
        const struct world_client *c = &w->clients[i];
        if (!c->alive || !lease_machine_may_act(&c->machine, world_local(w, c)))
            continue;
        if (acts >= 0)
            world_wrong(w, "at %llu ms both %d and %u may act", (unsigned long long)w->now_ms, acts, i);
        if (!c->elected)
            world_wrong(w, "at %llu ms %u may act without having been elected", (unsigned long long)w->now_ms, i);
        if (!lease_machine_may_clean_up(&c->machine, world_local(w, c)))
            world_wrong(w, "at %llu ms %u may act but not clean up", (unsigned long long)w->now_ms, i);
        acts = (int)i;
    }
    for (unsigned i = 0; acts >= 0 && i < w->count; i++) {
        const struct world_client *c = &w->clients[i];
        if ((int)i != acts && c->alive && lease_machine_may_clean_up(&c->machine, world_local(w, c)))
            world_wrong(w, "at %llu ms %u may clean up while %d may act", (unsigned long long)w->now_ms, i, acts);
    }
}

/* ---- the network ---- */

static inline uint64_t world_delay(struct world *w)
{
    if (!world_happens(w, w->weather.slow))
        return 1 + dice_below(&w->dice, 20);
    static const unsigned most[] = {500, 5000, 12000, 40000};
    return 1 + dice_below(&w->dice, most[dice_below(&w->dice, array_len(most))]);
}

static inline struct world_message *world_post(struct world *w, const struct world_message *m)
{
    for (size_t i = 0; i < WORLD_MESSAGES; i++) {
        if (w->messages[i].used)
            continue;
        w->messages[i] = *m;
        w->messages[i].used = true;
        w->messages[i].at_ms = w->now_ms + world_delay(w);
        if (i >= w->messages_end)
            w->messages_end = (unsigned)i + 1;
        return &w->messages[i];
    }
    world_wrong(w, "too many messages");
    return NULL;
}

static inline void world_send(struct world *w, unsigned i, enum world_method method)
{
    struct world_client *c = &w->clients[i];
    struct world_message m = {.client = i, .request = ++w->requests, .method = method};
    uint64_t wall_us = 1700000000000000u + (w->weather.wall_stands ? 0 : world_local(w, c) * 1000u);
    if (w->weather.wall_jumps)
        wall_us += (uint64_t)dice_below(&w->dice, 7200) * 1000000u;
    if (method != WORLD_GET)
        lease_machine_next(&c->machine, wall_us, &m.lease);
    c->request = m.request;
    c->gives_up_ms = w->now_ms + (dice_one_in(&w->dice, 8) ? 30000 : 4000);
    if (!world_happens(w, w->weather.lose))
        world_post(w, &m);
}

/* ---- the server ---- */

static inline void world_check_write(struct world *w, const struct lease *old, const struct lease *new)
{
    bool same = str_eq(old->holder, new->holder), released = new->holder[0] == '\0';
    if (new->transitions != old->transitions + (same || released ? 0 : 1))
        world_wrong(w, "%.60s -> %.60s: transitions %d -> %d", old->holder, new->holder, old->transitions,
                    new->transitions);
    if ((same || released) && old->acquire_time[0] != '\0' && !str_eq(old->acquire_time, new->acquire_time))
        world_wrong(w, "acquireTime of %.60s changed without an acquisition", new->holder);
    if (new->duration_s != (released ? 1 : LEASE_DURATION_S))
        world_wrong(w, "a duration of %d s was written", new->duration_s);
}

static inline void world_stamp(struct world *w)
{
    snprintf(w->lease.version, sizeof(w->lease.version), "%u", ++w->version);
}

static inline enum lease_machine_event_type world_apply(struct world *w, const struct world_message *m)
{
    if (m->method == WORLD_GET)
        return w->exists ? LEASE_EVENT_RECORD : LEASE_EVENT_MISSING;
    if (m->method == WORLD_POST && w->exists)
        return LEASE_EVENT_CONFLICT;
    if (m->method == WORLD_PUT && !w->exists)
        return LEASE_EVENT_MISSING;
    if (m->method == WORLD_PUT && !str_eq(m->lease.version, w->lease.version))
        return LEASE_EVENT_CONFLICT;
    if (m->method == WORLD_PUT)
        world_check_write(w, &w->lease, &m->lease);
    if (m->method == WORLD_PUT && lease_same_record(&m->lease, &w->lease))
        return LEASE_EVENT_RECORD; /* nothing changes, so nobody will see anything */
    w->exists = true;
    w->lease = m->lease;
    world_stamp(w);
    return LEASE_EVENT_RECORD;
}

/* The others see a release at once, by their watches, if those work. */
static inline void world_hint(struct world *w)
{
    for (unsigned i = 0; i < w->count; i++)
        if (!world_happens(w, 2))
            w->clients[i].hint_ms = w->now_ms + 1 + dice_below(&w->dice, 30);
}

static inline void world_serve(struct world *w, struct world_message *m)
{
    struct world_message answer = {.is_answer = true, .client = m->client, .request = m->request, .retry_after_ms = -1};
    bool refused = world_happens(w, w->weather.refuse);
    if (refused && dice_one_in(&w->dice, 2)) {
        answer.result = LEASE_EVENT_FAILED; /* and not applied */
        answer.retry_after_ms = dice_one_in(&w->dice, 3) ? (int64_t)dice_below(&w->dice, 60000) : -1;
    } else {
        answer.result = world_apply(w, m);
        if (answer.result == LEASE_EVENT_RECORD && m->method == WORLD_PUT && m->lease.holder[0] == '\0')
            world_hint(w);
        if (refused)
            answer.result = LEASE_EVENT_FAILED; /* but applied */
    }
    world_say(w, "server: %d of %u: %d%s, \"%s\" version %s\n", m->method, m->client, answer.result,
              refused ? " (refused)" : "", w->exists ? w->lease.holder : "(none)", w->lease.version);
    w->conflicts += answer.result == LEASE_EVENT_CONFLICT;
    answer.lease = w->lease;
    if (!world_happens(w, w->weather.lose))
        world_post(w, &answer);
}

/* ---- processes ---- */

static inline void world_step(struct world *w, unsigned i, const struct lease_machine_event *e)
{
    struct world_client *c = &w->clients[i];
    unsigned actions = lease_machine_step(&c->machine, e, world_local(w, c));
    static const char *const names[] = {"start", "timer", "hint", "release", "record", "missing", "conflict", "failed"};
    world_say(w, "%u: %s -> actions 0x%x, state %d, \"%s\" taken until %lld\n", i, names[e->type], actions,
              c->machine.state, c->machine.lease.holder, (long long)(c->machine.taken_until_ms - c->clock_offset_ms));
    if (actions & LEASE_DEPOSED) {
        if (!c->elected)
            world_wrong(w, "%u was deposed without having been elected", i);
        c->elected = false;
        w->depositions++;
    }
    if (actions & LEASE_ELECTED) {
        if (c->elected)
            world_wrong(w, "%u was elected twice", i);
        c->elected = true;
        w->elections++;
    }
    if (actions & LEASE_CANCEL)
        c->request = 0;
    if ((actions & (LEASE_GET | LEASE_POST | LEASE_PUT)) && c->request != 0)
        world_wrong(w, "%u sends a second request", i);
    if (actions & LEASE_GET)
        world_send(w, i, WORLD_GET);
    if (actions & LEASE_POST)
        world_send(w, i, WORLD_POST);
    if (actions & LEASE_PUT)
        world_send(w, i, WORLD_PUT);
    if (actions & LEASE_DONE)
        c->alive = false;
}

static inline void world_start(struct world *w, unsigned i)
{
    struct world_client *c = &w->clients[i];
    char name[32];
    if (!w->weather.same_name)
        c->life++;
    snprintf(name, sizeof(name), "client-%u-%u", i, c->life);
    lease_machine_init(&c->machine, name, dice_below(&w->dice, 1u << 30));
    c->alive = true;
    c->leaving = c->elected = false;
    c->request = 0;
    c->hint_ms = WORLD_NEVER;
    c->stopped_until_ms = 0;
    c->clock_offset_ms = 1 + dice_below(&w->dice, 1000000);
    world_step(w, i, &(struct lease_machine_event){.type = LEASE_EVENT_START});
}

static inline void world_end(struct world *w, unsigned i)
{
    world_say(w, "%u: is killed\n", i);
    w->clients[i].alive = false;
    w->clients[i].starts_ms = w->now_ms + dice_below(&w->dice, 20000);
}

static inline void world_leave(struct world *w, unsigned i)
{
    struct world_client *c = &w->clients[i];
    c->leaving = true;
    c->elected = false;
    c->starts_ms = w->now_ms + 1000 + dice_below(&w->dice, 20000);
    world_step(w, i, &(struct lease_machine_event){.type = LEASE_EVENT_RELEASE});
    if (lease_machine_may_act(&c->machine, world_local(w, c)) ||
        lease_machine_may_clean_up(&c->machine, world_local(w, c)))
        world_wrong(w, "%u may act or clean up after its release", i);
}

static inline void world_answer(struct world *w, const struct world_message *m)
{
    struct world_client *c = &w->clients[m->client];
    if (!c->alive || c->request != m->request) {
        w->late_answers++;
        return;
    }
    c->request = 0;
    world_step(
        w, m->client,
        &(struct lease_machine_event){.type = m->result, .lease = &m->lease, .retry_after_ms = m->retry_after_ms});
}

static inline void world_give_up(struct world *w, unsigned i)
{
    w->clients[i].request = 0;
    world_step(w, i, &(struct lease_machine_event){.type = LEASE_EVENT_FAILED, .retry_after_ms = -1});
}

static inline void world_send_hint(struct world *w, unsigned i)
{
    w->clients[i].hint_ms = WORLD_NEVER;
    world_step(w, i, &(struct lease_machine_event){.type = LEASE_EVENT_HINT});
}

/* ---- what an operator does by hand ---- */

static inline bool world_all_saw_it(const struct world *w)
{
    for (unsigned i = 0; i < w->count; i++)
        if (w->clients[i].alive && (!w->clients[i].machine.known || w->clients[i].machine.missing))
            return false;
    return w->exists;
}

static inline void world_delete(struct world *w)
{
    if (!world_all_saw_it(w) || w->now_ms < w->foreign_until_ms)
        return;
    w->exists = false;
    w->deleted_ms = w->now_ms;
    w->deletions++;
    world_say(w, "the Lease is deleted\n");
    world_hint(w);
}

static inline void world_edit(struct world *w)
{
    if (!w->exists)
        return;
    switch (dice_below(&w->dice, 4)) {
    case 0: /* a label */
        break;
    case 1:
        snprintf(w->lease.renew_time, sizeof(w->lease.renew_time), "2099-01-01T00:00:%02u.000000Z",
                 dice_below(&w->dice, 60));
        break;
    case 2:
        if (w->lease.holder[0] == '\0' || !world_all_saw_it(w))
            return;
        w->lease.holder[0] = '\0'; /* but with its duration: that is not how it is given up */
        w->deleted_ms = w->now_ms;
        world_hint(w);
        break;
    default:
        if (w->lease.holder[0] == '\0') /* a Lease that says it was given up is believed, whichever process wrote it */
            return;
        w->lease.duration_s += (int)dice_below(&w->dice, 20);
        break;
    }
    world_stamp(w);
    world_say(w, "edited: \"%s\" %d s %s\n", w->lease.holder, w->lease.duration_s, w->lease.renew_time);
}

/* A program of others, with another duration, takes the Lease while it is free, and is never seen again. */
static inline void world_foreign(struct world *w)
{
    for (unsigned i = 0; i < w->count; i++)
        if (w->clients[i].alive && lease_machine_may_clean_up(&w->clients[i].machine, world_local(w, &w->clients[i])))
            return;
    if (!w->exists || w->lease.holder[0] != '\0' || w->lease.duration_s != 1)
        return;
    static const int durations[] = {3, 9, 30};
    w->lease.duration_s = durations[dice_below(&w->dice, array_len(durations))];
    w->lease.transitions++;
    snprintf(w->lease.holder, sizeof(w->lease.holder), "foreign");
    world_stamp(w);
    world_say(w, "somebody else takes it for %d s\n", w->lease.duration_s);
    w->foreign_until_ms = w->now_ms + (uint64_t)w->lease.duration_s * 1000u;
}

static inline void world_trouble(struct world *w)
{
    unsigned i = dice_below(&w->dice, w->count);
    struct world_client *c = &w->clients[i];
    if (c->alive && world_happens(w, w->weather.stop))
        c->stopped_until_ms = w->now_ms + dice_below(&w->dice, 30000);
    if (c->alive && world_happens(w, w->weather.kill))
        world_end(w, i);
    if (c->alive && !c->leaving && w->now_ms >= c->stopped_until_ms && world_happens(w, w->weather.leave))
        world_leave(w, i);
    if (world_happens(w, w->weather.delete))
        world_delete(w);
    if (world_happens(w, w->weather.edit))
        world_edit(w);
    if (world_happens(w, w->weather.foreign))
        world_foreign(w);
}

/* ---- time ---- */

/* One thing that happens, and when; the earliest is done, of several at once any. */
struct world_next {
    uint64_t at_ms;
    unsigned same; /* so many were found for this moment */
    enum { NEXT_NOTHING, NEXT_MESSAGE, NEXT_START, NEXT_TIMER, NEXT_HINT, NEXT_GIVE_UP } what;
    unsigned which;
};

static inline void world_offer(struct world *w, struct world_next *n, uint64_t at_ms, int what, unsigned which)
{
    if (at_ms < w->now_ms)
        at_ms = w->now_ms;
    if (at_ms > n->at_ms)
        return;
    n->same = at_ms == n->at_ms ? n->same + 1 : 1;
    n->at_ms = at_ms;
    if (n->same > 1 && !dice_one_in(&w->dice, n->same))
        return;
    n->what = what;
    n->which = which;
}

static inline uint64_t world_awake(const struct world_client *c, uint64_t at_ms)
{
    return at_ms < c->stopped_until_ms ? c->stopped_until_ms : at_ms;
}

static inline void world_offer_client(struct world *w, struct world_next *n, unsigned i)
{
    const struct world_client *c = &w->clients[i];
    uint64_t quiet = w->deleted_ms != 0 ? w->deleted_ms + 31000 : 0;
    if (!c->alive) {
        world_offer(w, n, c->starts_ms < quiet ? quiet : c->starts_ms, NEXT_START, i);
        return;
    }
    uint64_t due = lease_machine_due_ms(&c->machine);
    if (due != 0)
        world_offer(w, n, world_awake(c, due - c->clock_offset_ms), NEXT_TIMER, i);
    if (c->request != 0)
        world_offer(w, n, world_awake(c, c->gives_up_ms), NEXT_GIVE_UP, i);
    if (c->hint_ms != WORLD_NEVER)
        world_offer(w, n, world_awake(c, c->hint_ms), NEXT_HINT, i);
}

static inline struct world_next world_read_ahead(struct world *w)
{
    struct world_next n = {.at_ms = WORLD_NEVER};
    for (unsigned i = 0; i < w->count; i++)
        world_offer_client(w, &n, i);
    while (w->messages_end > 0 && !w->messages[w->messages_end - 1].used)
        w->messages_end--;
    for (unsigned i = 0; i < w->messages_end; i++) {
        const struct world_message *m = &w->messages[i];
        const struct world_client *c = &w->clients[m->client];
        if (m->used)
            world_offer(w, &n, m->is_answer && c->alive ? world_awake(c, m->at_ms) : m->at_ms, NEXT_MESSAGE, i);
    }
    return n;
}

static inline void world_happen(struct world *w, const struct world_next *n)
{
    struct world_message *m = &w->messages[n->which];
    switch (n->what) {
    case NEXT_MESSAGE:
        m->used = false;
        struct world_message copy = *m;
        if (copy.is_answer)
            world_answer(w, &copy);
        else
            world_serve(w, &copy);
        break;
    case NEXT_START:
        world_start(w, n->which);
        break;
    case NEXT_TIMER:
        world_step(w, n->which, &(struct lease_machine_event){.type = LEASE_EVENT_TIMER});
        break;
    case NEXT_HINT:
        world_send_hint(w, n->which);
        break;
    case NEXT_GIVE_UP:
        world_give_up(w, n->which);
        break;
    case NEXT_NOTHING:
        break;
    }
}

static inline void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){.dice = {seed * 2654435761u + 88172645463325252u}, .calm_from_ms = 1};
    struct dice *d = &w->dice;
    static const unsigned often[] = {0, 0, 3, 10, 50};
    static const unsigned seldom[] = {0, 20, 60, 300};
#define OFTEN often[dice_below(d, array_len(often))]
#define SELDOM seldom[dice_below(d, array_len(seldom))]
    w->weather = (struct world_weather){.lose = OFTEN,
                                        .slow = OFTEN,
                                        .refuse = OFTEN,
                                        .stop = SELDOM,
                                        .kill = SELDOM,
                                        .leave = SELDOM,
                                        .delete = SELDOM * 3,
                                        .edit = SELDOM,
                                        .foreign = SELDOM,
                                        .wall_stands = dice_one_in(d, 3),
                                        .wall_jumps = dice_one_in(d, 4),
                                        .same_name = dice_one_in(d, 3)};
    w->count = 2 + dice_below(d, WORLD_CLIENTS - 1);
    for (unsigned i = 0; i < w->count; i++)
        w->clients[i].starts_ms = 1 + dice_below(d, 5000);
    w->now_ms = 1;
    w->calm_from_ms = 60000 + dice_below(d, 240000);
}

/* Until the calm has lasted long enough, or something is wrong. */
static inline void world_run(struct world *w)
{
    while (w->wrong[0] == '\0') {
        struct world_next n = world_read_ahead(w);
        if (n.at_ms > w->calm_from_ms + WORLD_CALM_MS)
            break;
        w->now_ms = n.at_ms;
        world_check(w); /* before anything is reported of it: some may just have lost the right */
        world_happen(w, &n);
        world_check(w);
        world_trouble(w);
        world_check(w);
    }
}

static inline unsigned world_acting(const struct world *w)
{
    unsigned n = 0;
    for (unsigned i = 0; i < w->count; i++)
        n += w->clients[i].alive && lease_machine_may_act(&w->clients[i].machine, world_local(w, &w->clients[i]));
    return n;
}

/* src/kube/watch: what every event does in every state, and a random walk that holds the promises no event may break. */
#include "watch_world.h"

/* What the outside may believe, kept from the actions alone. */
struct model {
    bool in_flight, replacing, synced;
    unsigned starts_at_same_ms;
    uint64_t last_start_ms;
};

static unsigned pick(unsigned *seed, unsigned n)
{
    return (unsigned)rand_r(seed) % n;
}

/* What ends most of what is under way would let the walk get nowhere. */
static bool is_rare(enum watch_event_type type)
{
    bool of_list = type == WATCH_EVENT_ITEM || type == WATCH_EVENT_PAGE;
    bool of_stream = type == WATCH_EVENT_OBJECT || type == WATCH_EVENT_BOOKMARK || type == WATCH_EVENT_ERROR;
    bool list = w.state == WATCH_LISTING;
    return type == WATCH_EVENT_STOP || type == WATCH_EVENT_FORGET || (of_list && !list) || (of_stream && list);
}

static struct watch_event random_event(unsigned *seed)
{
    static const int codes[] = {200, 200, 204, 301, 400, 401, 403, 404, 410, 422, 429, 500, 502, 503, 504, 0};
    static const char *const versions[] = {"1", "2", "3", "4000000000000000000000", "x y", "", NULL};
    static const char *const reasons[] = {"Expired", "Gone", "InternalError", "", NULL};
    return (struct watch_event){
        .type = pick(seed, WATCH_EVENTS),
        .status = codes[pick(seed, array_len(codes))],
        .readable = pick(seed, 4) != 0,
        .deleted = pick(seed, 4) == 0,
        .initial_end = pick(seed, 2) == 0,
        .too_large = pick(seed, 4) == 0,
        .retry_after_ms = (int64_t)pick(seed, 20000) - 10000,
        .version = versions[pick(seed, array_len(versions))],
        .continue_token = pick(seed, 2) ? "more" : "",
        .reason = reasons[pick(seed, array_len(reasons))],
        .detail = pick(seed, 2) ? "some detail" : NULL,
    };
}

static void check_replace(struct model *m, const struct watch_event *e)
{
    bool was_replacing = m->replacing;
    if (e->type == WATCH_EVENT_FORGET) /* as the cache has it: what was put aside is gone, too */
        m->synced = m->replacing = false;
    if (actions & (WATCH_PUT | WATCH_DELETE))
        ck_assert(m->replacing || m->synced); /* never published before the first list is complete */
    ck_assert((actions & (WATCH_PUT | WATCH_DELETE)) != (WATCH_PUT | WATCH_DELETE));
    if (actions & WATCH_REPLACE_ABORT) {
        ck_assert(was_replacing);
        m->replacing = false;
    }
    if (actions & WATCH_REPLACE_END) {
        ck_assert(m->replacing);
        m->replacing = false;
        m->synced = true;
    }
    if (actions & WATCH_REPLACE_BEGIN) {
        ck_assert(!m->replacing);
        m->replacing = true;
    }
    ck_assert_int_eq(m->replacing, w.state == WATCH_STREAMING || w.state == WATCH_LISTING);
}

static void check_request(struct model *m, const struct watch_event *e)
{
    if (e->type >= WATCH_EVENT_PAGE && e->type <= WATCH_EVENT_LOST)
        m->in_flight = false; /* whatever the machine makes of it */
    if (actions & WATCH_CANCEL) {
        ck_assert(m->in_flight);
        m->in_flight = false;
    }
    if (actions & WATCH_REQUEST) {
        ck_assert(!m->in_flight);
        m->in_flight = true;
        m->starts_at_same_ms = m->last_start_ms == now ? m->starts_at_same_ms + 1 : 0;
        m->last_start_ms = now;
        cleanup(mem_free_ptr) char *path = watch_request_path(&w);
        ck_assert(w.state != WATCH_WATCHING || strstr(path, "resourceVersion=&") == NULL);
        ck_assert_ptr_null(strstr(path, "resourceVersion=0"));
    }
    ck_assert_int_eq(m->in_flight, w.state != WATCH_IDLE && w.state != WATCH_WAITING);
}

/* What the table in kube/watch.h says of a pair. */
enum cell {
    NONE,   /* means nothing here: no action, the state stays */
    NOTED,  /* no action, the state stays, but it is remembered */
    STORED, /* to the cache */
    SYNC,   /* the list is complete: changes follow */
    STOPS,  /* nothing is under way any more */
    LISTS,  /* a list begins at once; what was under way is cancelled */
    GOES,   /* the wait is over */
    ENDS,   /* the request is over: a pause, or the next one */
    KILLS,  /* the same, and it has to be cancelled */
};

/* A pair is checked from each of these. */
static const struct place {
    enum watch_state state;
    enum from from;
    bool then_fails; /* and then no connection: WAITING */
    bool then_stops;
} pair_places[] = {
    {WATCH_IDLE, AT_STABLE_WATCH, false, true},       {WATCH_IDLE, AT_STREAMING, false, true},
    {WATCH_STREAMING, AT_UNANSWERED, false, false},   {WATCH_STREAMING, AT_STREAMING, false, false},
    {WATCH_LISTING, AT_PAGE1, false, false},          {WATCH_LISTING, AT_PAGE2, false, false},
    {WATCH_WATCHING, AT_OPENING_WATCH, false, false}, {WATCH_WATCHING, AT_FRESH_WATCH, false, false},
    {WATCH_WATCHING, AT_STABLE_WATCH, false, false},  {WATCH_WATCHING, AT_STREAMED_WATCH, false, false},
    {WATCH_WAITING, AT_OPENING_WATCH, true, false},   {WATCH_WAITING, AT_STREAMING, true, false},
    {WATCH_WAITING, AT_PAGE2, true, false},
};

/* clang-format off */
static const struct pair {
    struct watch_event event;
    enum cell cells[WATCH_STATES];
} pairs[] = {
    /*                                                           IDLE   STREAMING LISTING WATCHING WAITING */
    {{.type = WATCH_EVENT_START},                               {LISTS, NONE,    NONE,   NONE,    NONE}},
    {{.type = WATCH_EVENT_STOP},                                {NONE,  STOPS,   STOPS,  STOPS,   STOPS}},
    {{.type = WATCH_EVENT_POKE},                                {NONE,  NONE,    NONE,   NONE,    GOES}},
    {{.type = WATCH_EVENT_FORGET},                              {NOTED, LISTS,   LISTS,  LISTS,   NOTED}},
    {{.type = WATCH_EVENT_TIMER},                               {NONE,  NONE,    NONE,   NONE,    NONE}},
    {{.type = WATCH_EVENT_HEAD, .status = 200, .readable = true},   {NONE,  NOTED,   NOTED,  NOTED,   NONE}},
    {{.type = WATCH_EVENT_HEAD, .status = 503},                 {NONE,  NONE,    NONE,   NONE,    NONE}},
    {{.type = WATCH_EVENT_HEAD, .status = 200},                 {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_BYTES},                               {NONE,  NOTED,   NOTED,  NOTED,   NONE}},
    {{.type = WATCH_EVENT_ITEM},                                {NONE,  KILLS,   STORED, KILLS,   NONE}},
    {{.type = WATCH_EVENT_OBJECT, .version = "30"},             {NONE,  STORED,  KILLS,  STORED,  NONE}},
    {{.type = WATCH_EVENT_OBJECT, .version = "30", .deleted = true}, {NONE, STORED, KILLS, STORED, NONE}},
    {{.type = WATCH_EVENT_BOOKMARK, .version = "30"},           {NONE,  NOTED,   KILLS,  NOTED,   NONE}},
    {{.type = WATCH_EVENT_BOOKMARK, .version = "30", .initial_end = true}, {NONE, SYNC, KILLS, NOTED, NONE}},
    {{.type = WATCH_EVENT_ERROR, .status = 410},                {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_ERROR, .status = 500},                {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_GARBLED},                             {NONE,  KILLS,   KILLS,  KILLS,   NONE}},
    {{.type = WATCH_EVENT_PAGE, .version = "30"},               {NONE,  ENDS,    SYNC,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_PAGE, .version = "30", .continue_token = "c2"}, {NONE, ENDS, NOTED, ENDS, NONE}},
    {{.type = WATCH_EVENT_ANSWER, .status = 403},               {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_ANSWER, .status = 410},               {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_CLOSED},                              {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
    {{.type = WATCH_EVENT_LOST},                                {NONE,  ENDS,    ENDS,   ENDS,    NONE}},
};
/* clang-format on */

static void go_to_place(const struct place *p)
{
    go_to(p->from);
    if (p->then_fails)
        feed(refused);
    if (p->then_stops)
        feed_type(WATCH_EVENT_STOP);
    ck_assert_int_eq(w.state, p->state);
}

static bool under_way(void)
{
    return w.state != WATCH_IDLE && w.state != WATCH_WAITING;
}

static struct model model_of_now(void)
{
    return (struct model){.in_flight = under_way(),
                          .replacing = w.state == WATCH_STREAMING || w.state == WATCH_LISTING,
                          .synced = w.synced};
}

static void assert_cell(enum cell cell, enum watch_state was, const struct watch_event *e)
{
    unsigned put = e->deleted ? WATCH_DELETE : WATCH_PUT;
    bool was_under_way = was != WATCH_IDLE && was != WATCH_WAITING,
         was_list = was == WATCH_STREAMING || was == WATCH_LISTING;
    unsigned over = (was_under_way ? WATCH_CANCEL : 0) | (was_list ? WATCH_REPLACE_ABORT : 0);
    switch (cell) {
    case NONE:
        ck_assert_uint_eq(actions, 0);
        ck_assert_int_eq(w.state, was);
        return;
    case NOTED:
        ck_assert_uint_eq(actions & ~(unsigned)(WATCH_CONTACT_BACK | (e->type == WATCH_EVENT_PAGE ? WATCH_REQUEST : 0)),
                          0);
        ck_assert_int_eq(w.state, was);
        return;
    case STORED:
        ck_assert_uint_eq(actions & ~(unsigned)WATCH_CONTACT_BACK, put);
        ck_assert_int_eq(w.state, was);
        return;
    case SYNC:
        ck_assert(actions & WATCH_REPLACE_END);
        ck_assert(w.synced);
        ck_assert_int_eq(w.state, WATCH_WATCHING);
        return;
    case STOPS:
        ck_assert_uint_eq(actions, over);
        ck_assert_int_eq(w.state, WATCH_IDLE);
        return;
    case LISTS:
        ck_assert_uint_eq(actions, over | LIST_BEGINS);
        return;
    case GOES:
        ck_assert(actions & WATCH_REQUEST);
        ck_assert(under_way());
        return;
    case ENDS:
    case KILLS:
        ck_assert_int_eq(!(actions & WATCH_CANCEL), cell == ENDS);
        ck_assert_int_eq(!(actions & WATCH_REPLACE_ABORT), !was_list);
        ck_assert(!(actions & (WATCH_PUT | WATCH_DELETE | WATCH_REPLACE_END)));
        ck_assert_int_eq(!(actions & WATCH_REQUEST), w.state == WATCH_WAITING);
        return;
    }
}

static void feed_checked(struct model *m, struct watch_event e)
{
    feed(e);
    check_replace(m, &e);
    check_request(m, &e);
    ck_assert_int_eq(w.synced, m->synced);
}

/* A server that is well: whatever was before, the cache holds all of it in the end, and changes follow. */
static void go_on_until_synced(struct model *m)
{
    const struct watch_event head = {.type = WATCH_EVENT_HEAD, .status = 200, .readable = true};
    for (int request = 0; request < 6; request++) {
        if (w.state == WATCH_IDLE)
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_START});
        if (w.state == WATCH_WAITING) {
            now = watch_due_ms(&w) > now ? watch_due_ms(&w) : now;
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_TIMER});
        }
        ck_assert(under_way());
        feed_checked(m, head);
        if (w.state == WATCH_STREAMING)
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_BOOKMARK, .version = "40", .initial_end = true});
        else if (w.state == WATCH_LISTING)
            feed_checked(m, (struct watch_event){.type = WATCH_EVENT_PAGE, .version = "40"});
        if (w.state != WATCH_WATCHING || !m->synced)
            continue;
        feed_checked(m, (struct watch_event){.type = WATCH_EVENT_OBJECT, .version = "41"});
        ck_assert(actions & WATCH_PUT);
        ck_assert(w.contact);
        return;
    }
    ck_abort_msg("never synced: state %d", (int)w.state);
}

FIXTURE(NULL, tear_down)

TEST_EACH(each_pair_of_state_and_event_has_an_answer_and_leads_to_sync, array_len(pair_places))
{
    const struct place *place = &pair_places[_i];
    bool seen[WATCH_EVENTS] = {false};
    for (size_t i = 0; i < array_len(pairs); i++) {
        const struct pair *p = &pairs[i];
        go_to_place(place);
        struct model m = model_of_now();
        feed_checked(&m, p->event);
        assert_cell(p->cells[place->state], place->state, &p->event);
        ck_assert(w.state == WATCH_IDLE || watch_due_ms(&w) > 0);
        if (p->event.type == WATCH_EVENT_FORGET)
            ck_assert(!w.synced);
        go_on_until_synced(&m);
        seen[p->event.type] = true;
    }
    for (size_t i = 0; i < array_len(seen); i++)
        ck_assert_msg(seen[i], "event %zu is in no row", i);
}

/* The time of each state. */
TEST_EACH(each_state_ends_by_its_clock, array_len(pair_places))
{
    const struct place *place = &pair_places[_i];
    go_to_place(place);
    struct model m = model_of_now();
    for (int i = 0; i < 3 && w.state == place->state && w.state != WATCH_IDLE; i++) {
        now = watch_due_ms(&w) > now ? watch_due_ms(&w) : now;
        feed_checked(&m, (struct watch_event){.type = WATCH_EVENT_TIMER});
        if (actions & WATCH_REQUEST)
            break;
    }
    ck_assert(w.state == WATCH_IDLE || w.state != place->state || (actions & WATCH_REQUEST));
    go_on_until_synced(&m);
}

TEST_EACH(a_random_walk_breaks_no_promise, 8)
{
    unsigned seed = (unsigned)_i + 1, steps_synced = 0;
    struct model m = {0};
    start_anew();
    for (int step = 0; step < 20000; step++) {
        struct watch_event e = random_event(&seed);
        if (is_rare(e.type) && pick(&seed, 50) != 0)
            continue;
        now += pick(&seed, 3) == 0 ? pick(&seed, 1500) : 0;
        if (pick(&seed, 200) == 0)
            now += 200000;
        bool had_version = w.version[0] != '\0', counts = !(e.type == WATCH_EVENT_STOP || e.type == WATCH_EVENT_START);
        feed_checked(&m, e);
        ck_assert(!had_version || w.version[0] != '\0');
        ck_assert(w.state == WATCH_IDLE || watch_due_ms(&w) != 0);
        ck_assert(!counts || m.starts_at_same_ms < 12);
        ck_assert(!w.contact || w.state != WATCH_WAITING);
        steps_synced += w.state == WATCH_WATCHING;
    }
    ck_assert_uint_gt(steps_synced, 100); /* the walk reaches the interesting places */
}

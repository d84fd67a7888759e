/* The rules of kube/lease/lease_machine, one story for each: what happens, when, and what follows. */
#include "kube/lease/lease_machine.h"

#include "../../test.h"

#define ME "me"
#define WALL_US 1700000000000000u
#define ACQUIRED "2020-01-01T00:00:00.000000Z"

enum what {
    END,
    START,
    TIMER,
    HINT,
    RELEASE,
    TAKEN, /* the server takes what was sent */
    SEEN, /* it answers with the lease of `holder`, `number` seconds, renewed at `mark`, of which the version is another */
    MISSING,  /* 404 */
    CONFLICT, /* 409 */
    FAILED,   /* number: Retry-After in ms; 0: none */
};

enum { NO, ACT, CLEAN }; /* may act (and clean up); may clean up only */

struct row {
    uint64_t at_ms;
    enum what what;
    const char *actions; /* what follows */
    int may;             /* right after */
    const char *holder;
    int number;
    const char *mark;
};

struct history_text {
    const char *name;
    struct row rows[24];
};

#define THEIRS(s, renewed) .holder = "other", .number = (s), .mark = (renewed)
#define MINE .holder = ME, .number = 15, .mark = "r0"

#define LEADS_FROM_0                                           \
    {.at_ms = 0, START, "get"}, {.at_ms = 0, MISSING, "post"}, \
    {                                                          \
        .at_ms = 1, TAKEN, "elected", ACT                      \
    }
#define RENEWS_AT_2300                   \
    LEADS_FROM_0,                        \
    {                                    \
        .at_ms = 2300, TIMER, "put", ACT \
    }

static const struct history_text stories[] = {
    {"no lease yet: made, then renewed every two seconds",
     {{.at_ms = 5, START, "get"},
      {.at_ms = 9, MISSING, "post"},
      {.at_ms = 12, TAKEN, "elected", ACT},
      {.at_ms = 2011, TIMER, "", ACT},
      {.at_ms = 2212, TIMER, "put", ACT},
      {.at_ms = 2300, TAKEN, "", ACT},
      {.at_ms = 4600, TIMER, "put", ACT},
      {.at_ms = 4601, TAKEN, "", ACT}}},
    {"another process's: watched, and taken when it was not renewed for as long as it says",
     {{.at_ms = 5, START, "get"},
      {.at_ms = 10, SEEN, "", NO, THEIRS(15, "r1")},
      {.at_ms = 2300, TIMER, "get"},
      {.at_ms = 2310, SEEN, "", NO, THEIRS(15, "r2")},
      {.at_ms = 4600, TIMER, "get"},
      {.at_ms = 4610, SEEN, "", NO, THEIRS(15, "r2")},
      {.at_ms = 17309, TIMER, "get"},
      {.at_ms = 17309, SEEN, "", NO, THEIRS(15, "r2")},
      {.at_ms = 17309, TIMER, ""},
      {.at_ms = 17310, TIMER, "get"}, /* not a whole pause later */
      {.at_ms = 17311, SEEN, "put", NO, THEIRS(15, "r2")},
      {.at_ms = 17320, TAKEN, "elected", ACT}}},
    {"its own duration counts, shorter or longer than ours",
     {{.at_ms = 1000, START, "get"},
      {.at_ms = 1000, SEEN, "", NO, THEIRS(40, "r1")},
      {.at_ms = 40999, TIMER, "get"},
      {.at_ms = 40999, SEEN, "", NO, THEIRS(40, "r1")},
      {.at_ms = 41000, TIMER, "get"},
      {.at_ms = 41000, SEEN, "", NO, THEIRS(3, "r2")},
      {.at_ms = 43999, TIMER, "get"},
      {.at_ms = 43999, SEEN, "", NO, THEIRS(3, "r2")},
      {.at_ms = 44000, TIMER, "get"},
      {.at_ms = 44000, SEEN, "put", NO, THEIRS(3, "r2")}}},
    {"a duration that shrinks frees nothing sooner than what was seen before",
     {{.at_ms = 1000, START, "get"},
      {.at_ms = 1000, SEEN, "", NO, THEIRS(40, "r1")},
      {.at_ms = 4000, TIMER, "get"},
      {.at_ms = 4000, SEEN, "", NO, THEIRS(3, "r1")},
      {.at_ms = 40999, TIMER, "get"},
      {.at_ms = 40999, SEEN, "", NO, THEIRS(3, "r1")},
      {.at_ms = 41000, TIMER, "get"},
      {.at_ms = 41000, SEEN, "put", NO, THEIRS(3, "r1")}}},
    {"a holder without a duration has ours",
     {{.at_ms = 1000, START, "get"},
      {.at_ms = 1000, SEEN, "", NO, THEIRS(0, "r1")},
      {.at_ms = 15999, TIMER, "get"},
      {.at_ms = 15999, SEEN, "", NO, THEIRS(0, "r1")},
      {.at_ms = 16000, TIMER, "get"},
      {.at_ms = 16000, SEEN, "put", NO, THEIRS(0, "r1")}}},
    {"a slip of the hand does not lock everybody out",
     {{.at_ms = 1000, START, "get"},
      {.at_ms = 1000, SEEN, "", NO, THEIRS(INT32_MAX, "r1")},
      {.at_ms = 600999, TIMER, "get"},
      {.at_ms = 600999, SEEN, "", NO, THEIRS(INT32_MAX, "r1")},
      {.at_ms = 601000, TIMER, "get"},
      {.at_ms = 601000, SEEN, "put", NO, THEIRS(INT32_MAX, "r1")}}},
    {"given up: taken at once, also on a hint",
     {{.at_ms = 5, START, "get"},
      {.at_ms = 10, SEEN, "", NO, THEIRS(15, "r1")},
      {.at_ms = 700, HINT, "get"},
      {.at_ms = 701, SEEN, "put", NO, .holder = "", .number = 1, .mark = "r2"},
      {.at_ms = 702, TAKEN, "elected", ACT}}},
    {"a hint while a request is under way is not lost; many hints are no storm",
     {{.at_ms = 5, START, "get"},
      {.at_ms = 6, HINT, ""},
      {.at_ms = 10, SEEN, "", NO, THEIRS(15, "r1")},
      {.at_ms = 259, TIMER, ""},
      {.at_ms = 260, TIMER, "get"},
      {.at_ms = 261, SEEN, "", NO, THEIRS(15, "r1")},
      {.at_ms = 262, HINT, ""},
      {.at_ms = 509, HINT, ""},
      {.at_ms = 510, TIMER, "get"},
      {.at_ms = 511, SEEN, "put", NO, .holder = "", .number = 1, .mark = "r2"}}},
    {"a holder that was emptied by hand may not know it",
     {{.at_ms = 1000, START, "get"},
      {.at_ms = 1000, SEEN, "", NO, THEIRS(15, "r1")},
      {.at_ms = 2000, HINT, "get"},
      {.at_ms = 2000, SEEN, "", NO, .holder = "", .number = 15, .mark = "r1"},
      {.at_ms = 16999, TIMER, "get"},
      {.at_ms = 16999, SEEN, "", NO, .holder = "", .number = 15, .mark = "r1"},
      {.at_ms = 17000, TIMER, "get"},
      {.at_ms = 17000, SEEN, "put", NO, .holder = "", .number = 15, .mark = "r1"}}},
    {"a Lease that never had a holder is free",
     {{.at_ms = 5, START, "get"}, {.at_ms = 6, SEEN, "put", NO, .holder = "", .mark = ""}}},
    {"deleted: its holder may not know it",
     {{.at_ms = 1000, START, "get"},
      {.at_ms = 1000, SEEN, "", NO, THEIRS(15, "r1")},
      {.at_ms = 3300, TIMER, "get"},
      {.at_ms = 3300, MISSING, ""},
      {.at_ms = 18299, TIMER, "get"},
      {.at_ms = 18299, MISSING, ""},
      {.at_ms = 18300, TIMER, "get"},
      {.at_ms = 18300, MISSING, "post"},
      {.at_ms = 18310, CONFLICT, "get"}, /* another one was faster */
      {.at_ms = 18320, SEEN, "", NO, THEIRS(15, "r9")}}},
    {"deleted while it is ours: made again at once",
     {{.at_ms = 5, START, "get"},
      {.at_ms = 9, MISSING, "post"},
      {.at_ms = 12, TAKEN, "elected", ACT},
      {.at_ms = 2300, TIMER, "put", ACT},
      {.at_ms = 2301, MISSING, "get", ACT},
      {.at_ms = 2302, MISSING, "post", ACT},
      {.at_ms = 2303, TAKEN, "", ACT},
      {.at_ms = 12301, TIMER, "put", ACT},
      {.at_ms = 12302, TIMER, "deposed", CLEAN}}},
    {"ours again after a restart: renewed",
     {{.at_ms = 5, START, "get"}, {.at_ms = 6, SEEN, "put", NO, MINE}, {.at_ms = 7, TAKEN, "elected", ACT}}},
    {"not renewed for ten seconds since it was sent: deposed, and elected again when it is",
     {{.at_ms = 0, START, "get"},
      {.at_ms = 100, MISSING, "post"},
      {.at_ms = 900, TAKEN, "elected", ACT},
      {.at_ms = 3200, TIMER, "put", ACT},
      {.at_ms = 7000, FAILED, "get", ACT},
      {.at_ms = 9000, FAILED, "", ACT},
      {.at_ms = 10099, TIMER, "", ACT},
      {.at_ms = 10100, TIMER, "deposed", CLEAN},
      {.at_ms = 11300, TIMER, "get", CLEAN},
      {.at_ms = 11301, SEEN, "put", CLEAN, MINE},
      {.at_ms = 14099, TIMER, "", CLEAN},
      {.at_ms = 14100, TIMER, "", NO},
      {.at_ms = 14200, TAKEN, "elected", ACT}}},
    {"a renewal that is answered late counts from when it was sent",
     {RENEWS_AT_2300,
      {.at_ms = 12299, TAKEN, "", ACT}, /* for one more millisecond */
      {.at_ms = 12300, TIMER, "deposed", CLEAN}}},
    {"an answer that comes after the deadline elects nobody, but is not forgotten",
     {RENEWS_AT_2300,
      {.at_ms = 10000, TIMER, "deposed", CLEAN},
      {.at_ms = 12300, TAKEN, "", CLEAN},
      {.at_ms = 12550, TIMER, "get", CLEAN},
      {.at_ms = 12551, SEEN, "put", CLEAN, MINE},
      {.at_ms = 12560, TAKEN, "elected", ACT}}},
    {"the process was stopped in the middle: nothing is done on what it believed",
     {LEADS_FROM_0,
      {.at_ms = 30000, TIMER, "deposed put"},
      {.at_ms = 30010, CONFLICT, "get"},
      {.at_ms = 30020, SEEN, "", NO, THEIRS(15, "r1")}}},
    {"and the same with the answer to its first write",
     {{.at_ms = 0, START, "get"},
      {.at_ms = 0, MISSING, "post"},
      {.at_ms = 30000, TAKEN, ""},
      {.at_ms = 30250, TIMER, "get"}}},
    {"another process was seen to have it: deposed at once, nothing to clean up",
     {RENEWS_AT_2300, {.at_ms = 2301, CONFLICT, "get", ACT}, {.at_ms = 2302, SEEN, "deposed", NO, THEIRS(15, "r1")}}},
    {"a conflict because an operator edited a label",
     {RENEWS_AT_2300,
      {.at_ms = 2301, CONFLICT, "get", ACT},
      {.at_ms = 2302, SEEN, "put", ACT, MINE},
      {.at_ms = 2303, TAKEN, "", ACT},
      {.at_ms = 4600, TIMER, "put", ACT}}},
    {"an answer to our write that names another holder is no success",
     {{.at_ms = 0, START, "get"}, {.at_ms = 0, MISSING, "post"}, {.at_ms = 1, SEEN, "", NO, THEIRS(15, "r1")}}},
    {"emptied by hand while it is ours: taken back at once, for nobody else may have it yet",
     {RENEWS_AT_2300,
      {.at_ms = 2301, CONFLICT, "get", ACT},
      {.at_ms = 2302, SEEN, "put", ACT, .holder = "", .number = 15, .mark = "r1"},
      {.at_ms = 2303, TAKEN, "", ACT}}},
    {"much at once: four requests in a try",
     {RENEWS_AT_2300,
      {.at_ms = 2301, MISSING, "get", ACT},
      {.at_ms = 2302, MISSING, "post", ACT},
      {.at_ms = 2303, CONFLICT, "get", ACT},
      {.at_ms = 2304, SEEN, "", ACT, MINE},
      {.at_ms = 4600, TIMER, "put", ACT}}},
    {"nothing to give up: deleted while we could not renew",
     {RENEWS_AT_2300,
      {.at_ms = 9000, FAILED, "get", ACT},
      {.at_ms = 13000, MISSING, "deposed", CLEAN},
      {.at_ms = 13001, RELEASE, "done"}}},
    {"refused for good: one try in two seconds",
     {{.at_ms = 0, START, "get"},
      {.at_ms = 1, FAILED, ""},
      {.at_ms = 1999, TIMER, ""},
      {.at_ms = 2300, TIMER, "get"},
      {.at_ms = 2301, MISSING, "post"},
      {.at_ms = 2302, FAILED, ""},
      {.at_ms = 4302, TIMER, ""},
      {.at_ms = 4600, TIMER, "get"},
      {.at_ms = 4601, MISSING, "post"},
      {.at_ms = 4602, MISSING, ""}}}, /* the namespace is not there */
    {"conflicts without end: four requests in a try",
     {{.at_ms = 0, START, "get"},
      {.at_ms = 1, SEEN, "put", NO, MINE},
      {.at_ms = 2, CONFLICT, "get"},
      {.at_ms = 3, SEEN, "put", NO, MINE},
      {.at_ms = 4, CONFLICT, ""},
      {.at_ms = 5, TIMER, ""},
      {.at_ms = 2300, TIMER, "get"}}},
    {"come back later: done, within reason, and without another request before",
     {RENEWS_AT_2300,
      {.at_ms = 2400, FAILED, "", ACT, .number = 4000},
      {.at_ms = 6399, TIMER, "", ACT},
      {.at_ms = 6400, TIMER, "get", ACT},
      {.at_ms = 6401, FAILED, "", ACT, .number = 3600000},
      {.at_ms = 10000, TIMER, "deposed", CLEAN},
      {.at_ms = 11401, TIMER, "get", CLEAN}}},
    {"given up while nothing is under way",
     {LEADS_FROM_0,
      {.at_ms = 900, RELEASE, "put"},
      {.at_ms = 901, TAKEN, "done"},
      {.at_ms = 950, HINT, ""},
      {.at_ms = 999, RELEASE, ""},
      {.at_ms = 3000, TIMER, ""}}},
    {"given up while a renewal is under way",
     {RENEWS_AT_2300, {.at_ms = 2301, RELEASE, ""}, {.at_ms = 2302, TAKEN, "put"}, {.at_ms = 2303, TAKEN, "done"}}},
    {"given up after a renewal of which nobody knows whether it was taken",
     {RENEWS_AT_2300,
      {.at_ms = 2301, FAILED, "get", ACT},
      {.at_ms = 2302, RELEASE, ""},
      {.at_ms = 2303, SEEN, "put", NO, MINE},
      {.at_ms = 2304, CONFLICT, "get"},
      {.at_ms = 2305, SEEN, "put", NO, MINE},
      {.at_ms = 2306, TAKEN, "done"}}},
    {"given up while it is being taken",
     {{.at_ms = 0, START, "get"},
      {.at_ms = 0, MISSING, "post"},
      {.at_ms = 1, RELEASE, ""},
      {.at_ms = 2, TAKEN, "put"},
      {.at_ms = 3, TAKEN, "done"}}},
    {"nothing to give up: never had it",
     {{.at_ms = 0, START, "get"}, {.at_ms = 1, RELEASE, "cancel done"}, {.at_ms = 2, TIMER, ""}}},
    {"nothing to give up: another process has it",
     {{.at_ms = 0, START, "get"}, {.at_ms = 1, SEEN, "", NO, THEIRS(15, "r1")}, {.at_ms = 2, RELEASE, "done"}}},
    {"nothing to give up: another process has it by now",
     {LEADS_FROM_0,
      {.at_ms = 900, RELEASE, "put"},
      {.at_ms = 901, CONFLICT, "get"},
      {.at_ms = 902, SEEN, "done", NO, THEIRS(15, "r1")}}},
    {"nothing to give up: deleted", {LEADS_FROM_0, {.at_ms = 900, RELEASE, "put"}, {.at_ms = 901, MISSING, "done"}}},
    {"the server does not take it back: gone all the same",
     {LEADS_FROM_0, {.at_ms = 900, RELEASE, "put"}, {.at_ms = 901, FAILED, "done"}}},
    {"not started",
     {{.at_ms = 5, HINT, ""},
      {.at_ms = 6, TIMER, ""},
      {.at_ms = 7, TAKEN, ""},
      {.at_ms = 8, RELEASE, "done"},
      {.at_ms = 9, START, ""}}},
};

/* ---- telling a story ---- */

struct teller {
    struct lease_machine machine;
    struct lease server;
    unsigned version;
    bool leading;
};

static const char *names_of(unsigned actions)
{
    static const char *const names[] = {"deposed", "elected", "cancel", "get", "post", "put", "done"};
    static char text[64];
    text[0] = '\0';
    for (size_t i = 0; i < array_len(names); i++)
        if (actions & 1u << i)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] != '\0' ? " " : "", names[i]);
    return text;
}

static void serve(struct teller *t, const struct row *r)
{
    if (r->what == TAKEN)
        lease_machine_next(&t->machine, WALL_US, &t->server);
    if (r->what == SEEN) {
        t->server = (struct lease){.duration_s = r->number, .transitions = 7, .acquire_time = ACQUIRED};
        snprintf(t->server.holder, sizeof(t->server.holder), "%s", r->holder);
        snprintf(t->server.renew_time, sizeof(t->server.renew_time), "%s", r->mark);
    }
    snprintf(t->server.version, sizeof(t->server.version), "%u", ++t->version);
}

static unsigned tell_row(struct teller *t, const struct row *r)
{
    static const enum lease_machine_event_type types[] = {
        [START] = LEASE_EVENT_START,     [TIMER] = LEASE_EVENT_TIMER,       [HINT] = LEASE_EVENT_HINT,
        [RELEASE] = LEASE_EVENT_RELEASE, [TAKEN] = LEASE_EVENT_RECORD,      [SEEN] = LEASE_EVENT_RECORD,
        [MISSING] = LEASE_EVENT_MISSING, [CONFLICT] = LEASE_EVENT_CONFLICT, [FAILED] = LEASE_EVENT_FAILED};
    struct lease_machine_event e = {.type = types[r->what], .lease = &t->server, .retry_after_ms = -1};
    if (r->what == FAILED && r->number > 0)
        e.retry_after_ms = r->number;
    serve(t, r);
    return lease_machine_step(&t->machine, &e, r->at_ms + 50);
}

static void check_timer(const struct teller *t, const struct row *r, const char *name)
{
    uint64_t due = lease_machine_due_ms(&t->machine), deadline = t->machine.renewed_ms + LEASE_RENEW_DEADLINE_MS;
    ck_assert_msg(due != 0 || t->machine.state != LEASE_WAITING, "%s, %llu: no timer", name,
                  (unsigned long long)r->at_ms);
    ck_assert_msg(!t->machine.leading || (due != 0 && due <= deadline), "%s, %llu: no timer for the deadline", name,
                  (unsigned long long)r->at_ms);
}

TEST_EACH(actions_step_by_step, array_len(stories))
{
    const struct history_text *s = &stories[_i];
    struct teller t = {.leading = false};
    lease_machine_init(&t.machine, ME, 1);
    for (const struct row *r = s->rows; r->what != END; r++) {
        unsigned actions = tell_row(&t, r);
        unsigned long long at = r->at_ms;
        ck_assert_msg(str_eq(names_of(actions), r->actions), "%s, %llu: %s, not %s", s->name, at, names_of(actions),
                      r->actions);
        uint64_t now = r->at_ms + 50; /* 0 would be a time like no other */
        ck_assert_msg(lease_machine_may_act(&t.machine, now) == (r->may == ACT), "%s, %llu: may act", s->name, at);
        ck_assert_msg(lease_machine_may_clean_up(&t.machine, now) == (r->may != NO), "%s, %llu: may clean up", s->name,
                      at);
        check_timer(&t, r, s->name);
    }
}

/* ---- what is written ---- */

static struct lease next_of(struct lease_machine *l, uint64_t wall_us)
{
    struct lease next;
    lease_machine_next(l, wall_us, &next);
    return next;
}

static unsigned see(struct lease_machine *l, const struct lease *r, uint64_t now_ms)
{
    return lease_machine_step(l, &(struct lease_machine_event){.type = LEASE_EVENT_RECORD, .lease = r}, now_ms);
}

static struct lease_machine at_first_write(const struct lease *seen)
{
    struct lease_machine l;
    lease_machine_init(&l, ME, 1);
    ck_assert_uint_eq(lease_machine_step(&l, &(struct lease_machine_event){.type = LEASE_EVENT_START}, 1), LEASE_GET);
    if (seen != NULL)
        ck_assert_uint_eq(see(&l, seen, 2), LEASE_PUT);
    else
        ck_assert_uint_eq(lease_machine_step(&l, &(struct lease_machine_event){.type = LEASE_EVENT_MISSING}, 2),
                          LEASE_POST);
    return l;
}

#define NOW "2023-11-14T22:13:20.000000Z"

static void assert_writes(struct lease_machine *l, const char *holder, const char *acquired, const char *version,
                          int duration_s, int transitions)
{
    struct lease next = next_of(l, WALL_US);
    ck_assert_str_eq(next.holder, holder);
    ck_assert_str_eq(next.acquire_time, acquired);
    ck_assert_str_eq(next.renew_time, NOW);
    ck_assert_str_eq(next.version, version);
    ck_assert_int_eq(next.duration_s, duration_s);
    ck_assert_int_eq(next.transitions, transitions);
}

TEST(a_new_lease_and_a_take_over)
{
    struct lease_machine l = at_first_write(NULL);
    assert_writes(&l, ME, NOW, "", 15, 0);
    struct lease seen = {
        .version = "9", .duration_s = 1, .transitions = 4, .acquire_time = ACQUIRED, .renew_time = "x"};
    l = at_first_write(&seen);
    assert_writes(&l, ME, NOW, "9", 15, 5);
    seen.transitions = INT32_MAX; /* which is as far as the API goes */
    l = at_first_write(&seen);
    assert_writes(&l, ME, NOW, "9", 15, INT32_MAX);
}

TEST(a_renewal_and_a_release_are_no_transitions)
{
    struct lease seen = {.version = "9", .duration_s = 15, .transitions = 4, .acquire_time = ACQUIRED, .holder = ME};
    struct lease_machine l = at_first_write(&seen);
    assert_writes(&l, ME, ACQUIRED, "9", 15, 4);
    l = at_first_write(&seen);
    ck_assert_uint_eq(see(&l, &seen, 3), LEASE_ELECTED);
    ck_assert_uint_eq(lease_machine_step(&l, &(struct lease_machine_event){.type = LEASE_EVENT_RELEASE}, 4), LEASE_PUT);
    assert_writes(&l, "", ACQUIRED, "9", 1, 4);
    seen.acquire_time[0] = '\0'; /* an operator's edit */
    l = at_first_write(&seen);
    assert_writes(&l, ME, NOW, "9", 15, 4);
}

/* The others have to see something new each time, whatever the wall clock does; and it decides nothing. */
TEST(each_renewal_is_another_record)
{
    struct lease seen = {.version = "9", .duration_s = 15, .holder = ME, .renew_time = "2023-11-14T22:13:20.000007Z"};
    struct lease_machine l = at_first_write(&seen);
    ck_assert_str_eq(next_of(&l, WALL_US).renew_time, "2023-11-14T22:13:20.000008Z");
    ck_assert_str_eq(next_of(&l, WALL_US).renew_time, "2023-11-14T22:13:20.000009Z");
    ck_assert_str_eq(next_of(&l, WALL_US - 500000).renew_time, "2023-11-14T22:13:20.000010Z");
    ck_assert_str_eq(next_of(&l, WALL_US - 3600000000u).renew_time, "2023-11-14T21:13:20.000000Z");
    ck_assert_str_eq(next_of(&l, WALL_US + 1).renew_time, "2023-11-14T22:13:20.000008Z");
    ck_assert_str_eq(next_of(&l, 0).renew_time, "1970-01-01T00:00:00.000000Z");
}

TEST(the_pause_has_a_little_jitter)
{
    unsigned different = 0;
    for (unsigned seed = 1; seed <= 50; seed++) {
        struct lease_machine l;
        lease_machine_init(&l, ME, seed);
        ck_assert_uint_eq(lease_machine_step(&l, &(struct lease_machine_event){.type = LEASE_EVENT_START}, 1000),
                          LEASE_GET);
        ck_assert_uint_eq(
            lease_machine_step(&l, &(struct lease_machine_event){.type = LEASE_EVENT_FAILED, .retry_after_ms = -1},
                               1000),
            0);
        ck_assert(lease_machine_due_ms(&l) >= 3000 && lease_machine_due_ms(&l) <= 3200);
        different += lease_machine_due_ms(&l) != 3000 && lease_machine_due_ms(&l) != 3200;
    }
    ck_assert_uint_gt(different, 25);
}

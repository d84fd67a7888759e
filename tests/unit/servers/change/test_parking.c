/* src/servers/change/parking: who is parked, since when, and who goes. */
#include "servers/change/diff.h"
#include "../../backend_text.h"
#include "servers/change/parking.h"

/* Those that are no spares. */
static size_t parking_count(const struct parking *p)
{
    struct parking_memory m;
    size_t count = 0;
    for (size_t i = 0; parking_memory(p, i, &m); i++)
        count += !m.spare;
    return count;
}

/* How many more there may be. */
static size_t parking_room(const struct parking *p)
{
    struct parking_memory m;
    size_t count = 0;
    while (parking_memory(p, count, &m))
        count++;
    return count < PARKING_MAX ? PARKING_MAX - count : 0;
}

#define TTL 1000

static char keep[] = "k*";
static char *const globs[] = {keep};

struct lot {
    struct parking *parking;
    struct diff_rules rules;
    const char *gone; /* " n1 n2 ": of these there is no node */
};

static struct lot lot_new(void)
{
    return (struct lot){parking_new(TTL), {.keep_servers = globs, .keep_count = 1}, ""};
}

static void lot_fini(struct lot *l)
{
    parking_free(l->parking);
}

static bool node_exists(const void *arg, const char *server)
{
    cleanup(mem_free_ptr) char *word = mem_printf(" %s ", server);
    return strstr(((const struct lot *)arg)->gone, word) == NULL;
}

static void look_as(struct lot *l, const char *backend, const char *desired, enum desired_state state, uint64_t now_ms)
{
    struct backend b;
    struct desired d;
    text_backend(&b, "web", backend);
    text_desired(&d, desired);
    if (d.state == DESIRED_OK)
        d.state = state;
    parking_refresh(l->parking, &b, &d, &l->rules, l->gone[0] != '\0' ? node_exists : NULL, l, now_ms);
    desired_fini(&d);
    backend_fini(&b);
}

static void look(struct lot *l, const char *backend, const char *desired, uint64_t now_ms)
{
    look_as(l, backend, desired, DESIRED_OK, now_ms);
}

static void expect(const struct lot *l, const char *server, enum parking_verdict verdict, int line)
{
    const char *reason = parking_reason(l->parking, server);
    ck_assert_msg(parking_verdict(l->parking, server) == verdict, "line %d: %s is %d", line, server,
                  parking_verdict(l->parking, server));
    ck_assert_msg((reason == NULL) == (verdict == PARKING_STAY), "line %d: %s: %s", line, server, reason);
}
#define EXPECT(server, verdict) expect(&l, (server), (verdict), __LINE__)

TEST(a_line_by_another_name_is_its_nodes)
{
    struct lot l = lot_new();
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired d;
    l.gone = " n2 b n3-80 ";
    text_backend(&b, "web",
                 "server a 10.0.0.2:80 disabled\nserver b 10.0.0.3:80 disabled\nserver n3-80 10.0.0.3:80 disabled");
    text_desired(&d, "n1 10.0.0.1:80");
    d.alias_count = 2;
    d.aliases = mem_array(2, sizeof(d.aliases[0]));
    d.aliases[0] = (struct desired_alias){"a", "n2"};
    d.aliases[1] = (struct desired_alias){"n3-80", "n3"};
    parking_refresh(l.parking, &b, &d, &l.rules, node_exists, &l, 5);
    EXPECT("a", PARKING_LAZY);
    EXPECT("b", PARKING_LAZY);
    EXPECT("n3-80", PARKING_STAY);
    lot_fini(&l);
}

/* ---- which lines ---- */

#define N(n) "server n" #n " 10.0.0." #n ":80 check weight 100"

static const struct {
    const char *what, *backend, *desired;
    size_t count, room;
} rows[] = {
    {"an empty backend", "", "n1 10.0.0.1:80", 0, 64},
    {"in maintenance and not wished for", N(1) "\n" N(2) " disabled", "n1 10.0.0.1:80", 1, 63},
    {"live ones are not parked", N(1) "\n" N(2), "n1 10.0.0.1:80", 0, 64},
    {"nor what is wished for, draining or live", N(1) " disabled\n" N(2) " disabled",
     "n1 10.0.0.1:80; n2 10.0.0.2:80 draining", 0, 64},
    {"nor what is not ours", N(1) "\nserver k1 10.0.0.9:80 disabled\n" N(3) " backup disabled", "n1 10.0.0.1:80", 0,
     64},
    {"a spare takes room", N(1) "\n" N(2) " disabled\n" N(3) " disabled", "n1 10.0.0.1:80; spare n2 10.0.0.2:80", 1,
     62},
    {"without a line it takes none", N(1), "n1 10.0.0.1:80; spare n2 10.0.0.2:80", 0, 64},
    {"nor while its line is live", N(1) "\n" N(2), "n1 10.0.0.1:80; spare n2 10.0.0.2:80", 0, 64},
    {"a name on several lines counts once", N(1) "\n" N(2) " disabled\n" N(3) " disabled\n" N(2) " disabled",
     "n1 10.0.0.1:80", 2, 62},
    {"all, where nothing is wished for", N(1) " disabled\n" N(2) " disabled", "", 2, 62},
};

TEST_EACH(every_line, array_len(rows))
{
    cleanup(lot_fini) struct lot l = lot_new();
    look(&l, rows[_i].backend, rows[_i].desired, 5);
    ck_assert_msg(parking_count(l.parking) == rows[_i].count, "%s: %zu", rows[_i].what, parking_count(l.parking));
    ck_assert_msg(parking_room(l.parking) == rows[_i].room, "%s: %zu", rows[_i].what, parking_room(l.parking));
}

/* ---- for how long ---- */

#define PARKED_2 N(1) "\n" N(2) " disabled"
#define DESIRED "n1 10.0.0.1:80"

TEST(a_new_one_knows_nobody)
{
    cleanup(lot_fini) struct lot l = lot_new();
    EXPECT("n1", PARKING_STAY);
    ck_assert_uint_eq(parking_count(l.parking), 0);
    ck_assert_uint_eq(parking_room(l.parking), PARKING_MAX);
    parking_free(NULL);
}

TEST(its_time)
{
    cleanup(lot_fini) struct lot l = lot_new();
    look(&l, PARKED_2, DESIRED, 7);
    EXPECT("n2", PARKING_STAY);
    EXPECT("n1", PARKING_STAY);
    look(&l, PARKED_2, DESIRED, 7 + TTL - 1);
    EXPECT("n2", PARKING_STAY);
    look(&l, PARKED_2 "\n" N(3) " disabled", DESIRED, 7 + TTL);
    EXPECT("n2", PARKING_LAZY);
    EXPECT("n3", PARKING_STAY);
    ck_assert_str_eq(parking_reason(l.parking, "n2"), "it was parked for PARK_TTL");
    look(&l, N(1) "\n" N(3) " disabled", DESIRED, 7 + TTL); /* removed */
    EXPECT("n2", PARKING_STAY);
    ck_assert_uint_eq(parking_count(l.parking), 1);
}

TEST(what_says_the_same_has_not_changed)
{
    cleanup(lot_fini) struct lot l = lot_new();
    static const struct {
        const char *backend, *desired, *gone;
        uint64_t now_ms;
        bool changes;
    } steps[] = {
        {PARKED_2, DESIRED, "", 7, true},
        {PARKED_2, DESIRED, "", 8, false},
        {PARKED_2, DESIRED "; spare n2 10.0.0.2:80", "", 9, true},
        {PARKED_2, DESIRED, "", 10, true},
        {PARKED_2, DESIRED, " n2 ", 11, true},
        {PARKED_2, DESIRED, " n2 ", 12, false},
        {PARKED_2, DESIRED, " n2 ", 10 + TTL, false}, /* no node of its name: that is said first */
        {PARKED_2, DESIRED, "", 11 + TTL, true},
        {PARKED_2, DESIRED, "", 12 + TTL, false},
        {N(1) "\n" N(3) " disabled", DESIRED, "", 13 + TTL, true},
        {N(1) "\n" N(4) " disabled", DESIRED, "", 13 + TTL, true}, /* as many, as long, and another */
        {N(1), DESIRED, "", 14 + TTL, true},
        {N(1), DESIRED, "", 15 + TTL, false},
    };
    for (size_t i = 0; i < array_len(steps); i++) {
        uint64_t before = parking_changes(l.parking);
        l.gone = steps[i].gone;
        look(&l, steps[i].backend, steps[i].desired, steps[i].now_ms);
        ck_assert_msg((parking_changes(l.parking) != before) == steps[i].changes, "step %zu", i);
    }
}

TEST(its_time_begins_anew_when_it_was_back)
{
    static const struct {
        const char *backend, *desired;
    } back[] = {
        {N(1) "\n" N(2), DESIRED "; n2 10.0.0.2:80"},
        {PARKED_2, DESIRED "; n2 10.0.0.2:80"}, /* it is to be taken out of maintenance */
        {PARKED_2, DESIRED "; n2 10.0.0.2:80 draining"},
        {N(1) "\n" N(2), DESIRED}, /* another writer took it out */
        {N(1), DESIRED},
        {PARKED_2, DESIRED "; spare n2 10.0.0.2:80"},
    };
    for (size_t i = 0; i < array_len(back); i++) {
        cleanup(lot_fini) struct lot l = lot_new();
        look(&l, PARKED_2, DESIRED, 0);
        look(&l, back[i].backend, back[i].desired, TTL + 5);
        EXPECT("n2", PARKING_STAY);
        look(&l, PARKED_2, DESIRED, TTL + 6);
        EXPECT("n2", PARKING_STAY);
        look(&l, PARKED_2, DESIRED, TTL + 6 + TTL);
        EXPECT("n2", PARKING_LAZY);
    }
}

TEST(without_a_node)
{
    cleanup(lot_fini) struct lot l = lot_new();
    l.gone = " n3 n4 ";
    look(&l, N(2) " disabled\n" N(3) " disabled\n" N(4) " disabled", DESIRED "; spare n4 10.0.0.4:80", 1);
    EXPECT("n2", PARKING_STAY);
    EXPECT("n3", PARKING_LAZY);
    ck_assert_str_eq(parking_reason(l.parking, "n3"), "it was parked, and Kubernetes has no node of that name");
    ck_assert_msg(parking_verdict(l.parking, "n4") == PARKING_STAY, "a spare never goes");
    l.gone = " n2 ";
    look(&l, N(2) " disabled\n" N(3) " disabled", DESIRED, 2);
    EXPECT("n2", PARKING_LAZY);
    EXPECT("n3", PARKING_STAY); /* it is there again */
}

TEST(a_spare_grows_no_older)
{
    cleanup(lot_fini) struct lot l = lot_new();
    look(&l, PARKED_2, DESIRED "; spare n2 10.0.0.2:80", 0);
    look(&l, PARKED_2, DESIRED "; spare n2 10.0.0.2:80", 9 * TTL);
    EXPECT("n2", PARKING_STAY);
    look(&l, PARKED_2, DESIRED, 9 * TTL + 1);
    EXPECT("n2", PARKING_STAY);
    look(&l, PARKED_2, DESIRED, 10 * TTL + 1);
    EXPECT("n2", PARKING_LAZY);
}

TEST(what_is_not_known_changes_nothing)
{
    cleanup(lot_fini) struct lot l = lot_new();
    look(&l, PARKED_2, DESIRED, 0);
    look_as(&l, "", DESIRED, DESIRED_NOT_SYNCED, 1);
    ck_assert_uint_eq(parking_count(l.parking), 1);
    look_as(&l, N(1) " disabled\n" N(2) " disabled", DESIRED, DESIRED_UNDECIDED, 5 * TTL);
    ck_assert_uint_eq(parking_count(l.parking), 1);
    EXPECT("n2", PARKING_STAY);
    look(&l, PARKED_2, DESIRED, TTL);
    EXPECT("n2", PARKING_LAZY);
}

/* ---- too many ---- */

/* Lines p000, p001 ... in maintenance from `first` on. */
static void add_lines(struct buf *b, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        buf_printf(b, "server p%03u 10.1.0.%u:80 check weight 100 disabled\n", i, i);
}

static void look_at_many(struct lot *l, unsigned first, unsigned count, const char *desired, uint64_t now_ms)
{
    cleanup(buf_fini) struct buf b = {0};
    add_lines(&b, first, count);
    look(l, buf_str(&b), desired, now_ms);
}

static size_t count_of(const struct lot *l, enum parking_verdict verdict)
{
    size_t count = 0;
    for (unsigned i = 0; i < 200; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("p%03u", i);
        count += parking_verdict(l->parking, name) == verdict;
    }
    return count;
}

TEST(the_longest_parked_make_room)
{
    cleanup(lot_fini) struct lot l = lot_new();
    look_at_many(&l, 10, 20, DESIRED, 1);
    look_at_many(&l, 5, 59, DESIRED, 2); /* p005..p009 and p030..p063 are newer */
    look_at_many(&l, 0, 64, DESIRED, 3);
    ck_assert_uint_eq(count_of(&l, PARKING_NOW), 0);
    ck_assert_uint_eq(parking_room(l.parking), 0);
    look_at_many(&l, 0, 66, DESIRED, 4);
    ck_assert_uint_eq(parking_count(l.parking), 66);
    ck_assert_uint_eq(parking_room(l.parking), 0);
    ck_assert_uint_eq(count_of(&l, PARKING_NOW), 2);
    EXPECT("p010", PARKING_NOW);
    EXPECT("p011", PARKING_NOW);
    ck_assert_str_eq(parking_reason(l.parking, "p010"),
                     "more than 64 servers are parked, and it is among the longest parked");
}

TEST(of_these_first_what_may_go_anyway)
{
    cleanup(lot_fini) struct lot l = lot_new();
    l.gone = " p065 p064 p063 ";
    look_at_many(&l, 0, 60, DESIRED, 1);
    look_at_many(&l, 0, 66, DESIRED, 2);
    EXPECT("p063", PARKING_NOW);
    EXPECT("p064", PARKING_NOW);
    EXPECT("p065", PARKING_LAZY);
    EXPECT("p000", PARKING_STAY);
    look_at_many(&l, 0, 66, DESIRED, 1 + TTL);
    ck_assert_uint_eq(count_of(&l, PARKING_NOW), 2);
    EXPECT("p000", PARKING_NOW);
    EXPECT("p001", PARKING_NOW);
    EXPECT("p002", PARKING_LAZY);
}

/* PARKING_MAX spares and as many others; then nothing is wished for at all. */
TEST(spares_do_not_push_others_out)
{
    cleanup(lot_fini) struct lot l = lot_new();
    cleanup(buf_fini) struct buf desired = {0};
    buf_add(&desired, DESIRED);
    for (unsigned i = 0; i < 64; i++)
        buf_printf(&desired, "; spare p%03u 10.1.0.%u:80", i, i);
    look_at_many(&l, 0, 128, buf_str(&desired), 1);
    ck_assert_uint_eq(parking_count(l.parking), 64);
    ck_assert_uint_eq(parking_room(l.parking), 0);
    ck_assert_uint_eq(count_of(&l, PARKING_STAY), 200);
    look_at_many(&l, 0, 128, "", 2 * TTL);
    ck_assert_msg(count_of(&l, PARKING_NOW) == 0, "an empty wish has no spares, but those there were");
    ck_assert_uint_eq(count_of(&l, PARKING_LAZY), 64);
    EXPECT("p000", PARKING_STAY);
    look_at_many(&l, 0, 128, DESIRED, 2 * TTL);
    ck_assert_uint_eq(count_of(&l, PARKING_NOW), 64);
}

/* src/configuration/culprits: the search against a model of HAProxy, which refuses what it is to refuse. */

#include "../dice.h"
#include "../effort.h"
#include "../test.h"
#include "base/hash.h"
#include "configuration/culprits.h"

#define OBJECTS_MAX 1200
#define KEY_BYTES 24
#define STEPS_MAX 400

/* What HAProxy makes of a document. */
struct model {
    size_t count; /* of the objects "o0", "o1", ... */
    uint64_t hashes[OBJECTS_MAX];
    bool gone[OBJECTS_MAX];
    bool bad[OBJECTS_MAX];        /* refused whatever else there is */
    bool pair[OBJECTS_MAX];       /* refused with another one of these */
    bool unloadable[OBJECTS_MAX]; /* refused by the load alone */
    bool broken;                  /* what is no object is refused */
    bool loads;                   /* all that is refused is so by the load */
    size_t checks, written;       /* documents; those that HAProxy got */
    size_t fewest;                /* of which this many objects are in the smallest */
    uint64_t last;                /* the same again is no check */
};

static struct culprits c;
static struct model m;

static void setup(void)
{
    c = (struct culprits){0};
    m = (struct model){.fewest = OBJECTS_MAX};
}

static void teardown(void)
{
    culprits_fini(&c);
}

static const char *key_of(size_t i)
{
    static char key[KEY_BYTES];
    snprintf(key, sizeof(key), "o%zu", i);
    return key;
}

static void see_all(void)
{
    culprits_begin(&c);
    for (size_t i = 0; i < m.count; i++)
        if (!m.gone[i])
            culprits_see(&c, key_of(i), m.hashes[i]);
    culprits_end(&c);
}

static bool is_in(size_t i)
{
    return !m.gone[i] && !culprits_leaves_out(&c, key_of(i));
}

/* One document of those that are not left out, and what HAProxy says to it. */
static bool check(void)
{
    size_t pairs = 0, in = 0;
    bool written = !culprits_trial(&c), loads = true;
    uint64_t document = hash_bytes(HASH_START, culprits_trial(&c) ? "t" : "", 1);
    struct culprits_verdict v = {.accepted = !m.broken, .load = m.loads, .why = "line 7: no"};
    for (size_t i = 0; i < m.count; i++) {
        if (!is_in(i))
            continue;
        in++;
        document = hash_bytes(document, (const char *)&i, sizeof(i));
        document = hash_bytes(document, (const char *)&m.hashes[i], sizeof(m.hashes[i]));
        pairs += m.pair[i];
        v.accepted = v.accepted && !m.bad[i] && pairs < 2;
        loads = loads && !m.unloadable[i];
    }
    if (m.loads) /* which a check does not see */
        v.accepted = v.accepted || !written;
    else if (v.accepted && written && !loads)
        v = (struct culprits_verdict){.load = true, .why = "cannot bind"};
    m.checks += document != m.last;
    m.last = document;
    if (v.accepted && written) {
        m.written++;
        m.fewest = in < m.fewest ? in : m.fewest;
    }
    return culprits_judge(&c, &v);
}

static void settle(void)
{
    size_t steps = 0;
    see_all();
    while (check()) {
        ck_assert_uint_lt(++steps, STEPS_MAX);
        see_all();
    }
}

static void change(size_t i, bool bad)
{
    m.hashes[i]++;
    m.bad[i] = bad;
}

static size_t log2_of(size_t n)
{
    size_t bits = 0;
    while (((size_t)1 << bits) < n)
        bits++;
    return bits;
}

static void assert_out(size_t i, bool out)
{
    ck_assert_msg(culprits_leaves_out(&c, key_of(i)) == out, "object %zu", i);
    ck_assert_msg((culprits_why(&c, key_of(i)) != NULL) == out, "object %zu", i);
}

/* That no more is left out than HAProxy refuses. */
static void assert_right(void)
{
    size_t bad = 0;
    for (size_t i = 0; i < m.count; i++) {
        if (m.gone[i])
            continue;
        bad += m.bad[i] || m.unloadable[i];
        assert_out(i, m.bad[i] || m.unloadable[i]);
    }
    ck_assert_uint_eq(culprits_count(&c), bad);
    ck_assert(!culprits_trial(&c));
}

FIXTURE(setup, teardown)

TEST(what_is_accepted_needs_one_check)
{
    m.count = 10;
    settle();
    ck_assert_uint_eq(m.checks, 1);
    ck_assert_uint_eq(culprits_count(&c), 0);
}

/* All others have it after the second check. */
TEST(the_only_one_that_changed_is_the_culprit)
{
    m.count = 10;
    settle();
    change(3, true);
    m.checks = 0;
    settle();
    assert_right();
    ck_assert_uint_eq(m.checks, 2);
    ck_assert_str_eq(culprits_why(&c, "o3"), "line 7: no");
}

TEST(a_culprit_stays_out_until_it_changes)
{
    m.count = 4;
    settle();
    change(3, true);
    settle();
    m.bad[3] = false; /* nobody knows */
    m.checks = 0;
    settle();
    ck_assert_uint_eq(m.checks, 0);
    assert_out(3, true);
    change(3, false);
    settle();
    assert_out(3, false);
}

TEST(an_operator_has_a_culprit_tried_again)
{
    m.count = 4;
    settle();
    change(3, true);
    settle();
    m.bad[3] = false; /* its port is free now */
    culprits_try_again(&c);
    m.checks = 0;
    settle();
    ck_assert_uint_eq(m.checks, 1);
    assert_out(3, false);
}

/* It holds up nobody a second time: the others are accepted first. */
TEST(a_culprit_that_changes_is_tried_after_all_others)
{
    m.count = 4;
    settle();
    change(3, true);
    settle();
    change(3, true);
    m.count = 5;
    see_all();
    ck_assert(culprits_leaves_out(&c, "o3"));
    ck_assert(!culprits_leaves_out(&c, "o4"));
    settle();
    assert_right();
}

static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 100, 1000};

TEST_EACH(one_culprit_of_n_takes_log2_n_and_3_checks, array_len(sizes))
{
    size_t n = sizes[_i], step = n > 100 ? 37 : 1;
    for (size_t culprit = 0; culprit < n; culprit += step) {
        teardown();
        setup();
        m.count = n + 5;
        for (size_t i = 0; i < n; i++)
            m.gone[i] = true;
        settle();
        for (size_t i = 0; i < n; i++)
            m.gone[i] = false;
        m.bad[culprit] = true;
        m.checks = 0;
        settle();
        assert_right();
        ck_assert_uint_le(m.checks, log2_of(n) + 3);
        ck_assert_uint_ge(m.fewest, 5);
    }
}

/* Nothing is known of what was accepted before: nobody's service ends while that is found out. */
TEST_EACH(a_first_document_with_a_culprit_is_only_checked, array_len(sizes))
{
    m.count = sizes[_i];
    m.bad[m.count / 2] = true;
    settle();
    assert_right();
    ck_assert_uint_le(m.checks, log2_of(m.count) + 4); /* and the one that is written */
    ck_assert_uint_eq(m.fewest, m.count - 1);
    ck_assert_uint_eq(m.written, 1);
}

TEST(three_culprits_of_1000)
{
    m.count = 1000;
    m.bad[17] = m.bad[500] = m.bad[999] = true;
    settle();
    assert_right();
    ck_assert_uint_le(m.checks, 2 + 3 * (10 + 1) + 1);
}

TEST(of_two_that_exclude_each_other_one_is_left_out)
{
    m.count = 20;
    settle();
    m.count = 22;
    m.pair[20] = m.pair[21] = true;
    settle();
    ck_assert_uint_eq(culprits_count(&c), 1);
    ck_assert(culprits_leaves_out(&c, "o20") != culprits_leaves_out(&c, "o21"));
}

/* HAProxy, or what is beside the objects, is another one: it is asked again. */
TEST(one_that_was_accepted_before_is_found_without_a_write)
{
    m.count = 64;
    settle();
    m.bad[5] = true;
    m.checks = m.written = m.last = 0;
    m.fewest = OBJECTS_MAX;
    settle();
    assert_right();
    ck_assert_uint_le(m.checks, 6 + 4);
    ck_assert_uint_eq(m.fewest, 63);
}

TEST(nothing_is_left_out_where_no_object_is_to_blame)
{
    m.count = 10;
    settle();
    m.broken = true;
    change(1, false);
    m.checks = 0;
    settle();
    ck_assert_uint_eq(m.checks, 4);
    for (size_t i = 0; i < m.count; i++)
        assert_out(i, false);
    settle(); /* and does not begin again */
    ck_assert_uint_eq(m.checks, 4);
    m.broken = false;
    settle();
    change(2, true);
    settle();
    assert_right();
}

/* A load that fails for another reason costs nobody his service. */
TEST(what_runs_is_not_taken_apart_for_a_load)
{
    m.count = 10;
    settle();
    m.loads = m.broken = true;
    m.written = 0;
    settle();
    ck_assert_uint_eq(m.written, 0);
    ck_assert_uint_eq(culprits_count(&c), 0);
    m.broken = false;
    settle();
    change(4, true);
    settle();
    assert_right();
}

/* What a check finds is found first, without a load. */
TEST(a_first_document_with_one_that_cannot_be_loaded)
{
    m.count = 30;
    m.bad[3] = m.unloadable[7] = true;
    settle();
    assert_right();
}

static void restart(void)
{
    cleanup(buf_fini) struct buf text = {0};
    culprits_print(&c, &text);
    culprits_fini(&c);
    culprits_read(&c, buf_str(&text));
}

TEST(a_search_begins_anew_with_what_was_good)
{
    m.count = 40;
    settle();
    change(2, true);
    see_all();
    ck_assert(check());
    restart();
    m.checks = m.last = 0;
    m.fewest = OBJECTS_MAX;
    settle();
    assert_right();
    ck_assert_uint_eq(m.checks, 2);
    ck_assert_uint_eq(m.fewest, 39);
}

TEST(the_search_is_remembered)
{
    m.count = 5;
    settle();
    change(2, true);
    settle();
    restart();
    culprits_read(&c, "nonsense\nout\tx\nin\t1\t\t\n");
    m.checks = 0;
    settle();
    assert_right();
    ck_assert_uint_eq(m.checks, 0);
    ck_assert_str_eq(culprits_why(&c, "o2"), "line 7: no");
    change(1, true);
    settle();
    assert_right();
    ck_assert_uint_eq(m.checks, 2);
}

/* Objects come, go, change and are repaired, also while they are searched. At rest nothing good is out, and nothing bad is in. */
TEST_EACH(random_objects, effort(300))
{
    struct dice d = {.state = (uint64_t)_i * 7919 + 1};
    m.loads = dice_one_in(&d, 3);
    m.count = 1 + dice_below(&d, 60);
    size_t steps = 0;
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned n = dice_below(&d, 4); n > 0; n--) {
            size_t i = dice_below(&d, (unsigned)m.count);
            m.gone[i] = dice_one_in(&d, 5);
            change(i, dice_one_in(&d, 6));
        }
        see_all();
        for (unsigned n = dice_below(&d, 6); n > 0 && check(); n--)
            see_all();
    }
    do {
        see_all();
        ck_assert_uint_lt(++steps, STEPS_MAX);
    } while (check());
    assert_right();
}

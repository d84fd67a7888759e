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
    uint64_t seen[OBJECTS_MAX], kept[OBJECTS_MAX]; /* by the source: as it was seen last; its last good form */
    uint64_t runs[OBJECTS_MAX];                    /* as HAProxy has it; 0: not */
    bool good[OBJECTS_MAX];                        /* it has a last good form */
    bool gone[OBJECTS_MAX];
    const char *owner[OBJECTS_MAX]; /* NULL: each one is its own */
    bool bad[OBJECTS_MAX];          /* refused whatever else there is */
    bool was_bad[OBJECTS_MAX];      /* so is its last good form, by now, */
    bool seen_bad[OBJECTS_MAX];     /* and what was seen last */
    bool pair[OBJECTS_MAX];         /* refused with another one of these */
    bool unloadable[OBJECTS_MAX];   /* refused by the load alone */
    bool broken;                    /* what is no object is refused */
    bool loads;                     /* all that is refused is so by the load */
    size_t changes;
    size_t checks, written; /* documents; those that HAProxy got */
    size_t fewest;          /* of which this many objects are in the smallest */
    uint64_t last;          /* the same again is no check */
    uint64_t now_ms, step_ms;
};

static struct culprits c;
static struct model m;

static void setup(void)
{
    c = (struct culprits){0};
    m = (struct model){.fewest = OBJECTS_MAX, .step_ms = 600000}; /* what was refused before is forgotten */
    for (size_t i = 0; i < OBJECTS_MAX; i++)
        m.hashes[i] = 1;
}

static void teardown(void)
{
    culprits_fini(&c);
}

static const char *key_of(size_t i)
{
    static char key[KEY_BYTES];
    snprintf(key, sizeof(key), "%s%so%zu", m.owner[i] != NULL ? m.owner[i] : "", m.owner[i] != NULL ? "/" : "", i);
    return key;
}

static void see_all(void)
{
    m.now_ms += m.step_ms;
    culprits_begin(&c, m.now_ms);
    for (size_t i = 0; i < m.count; i++) {
        m.good[i] = m.good[i] && !m.gone[i];
        if (m.gone[i])
            continue;
        if (culprits_see(&c, key_of(i), m.hashes[i])) {
            m.kept[i] = m.seen[i];
            m.was_bad[i] = m.seen_bad[i];
        }
        m.seen[i] = m.hashes[i];
        m.seen_bad[i] = m.bad[i];
    }
    culprits_end(&c);
}

/* What the document has of it; 0: nothing. */
static uint64_t shown(size_t i)
{
    enum culprits_form form = m.gone[i] ? CULPRITS_LEFT_OUT : culprits_form(&c, key_of(i));
    return form == CULPRITS_AS_IT_IS ? m.hashes[i] : form == CULPRITS_AS_BEFORE ? m.kept[i] : 0;
}

/* One document of those that are not left out, and what HAProxy says to it. */
static bool check(void)
{
    size_t pairs = 0, in = 0;
    bool written = !culprits_trial(&c), loads = true;
    uint64_t document = hash_bytes(HASH_START, culprits_trial(&c) ? "t" : "", 1);
    struct culprits_verdict v = {.accepted = !m.broken, .load = m.loads, .why = "line 7: no"};
    for (size_t i = 0; i < m.count; i++) {
        uint64_t form = shown(i);
        if (form == 0)
            continue;
        in++;
        document = hash_bytes(document, (const char *)&i, sizeof(i));
        document = hash_bytes(document, (const char *)&form, sizeof(form));
        pairs += m.pair[i];
        v.accepted = v.accepted && !(form == m.hashes[i] ? m.bad[i] : m.was_bad[i]) && pairs < 2;
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
        for (size_t i = 0; i < m.count; i++) {
            m.runs[i] = shown(i);
            m.good[i] = m.good[i] || m.runs[i] == m.hashes[i];
        }
    }
    return culprits_judge(&c, &v, m.now_ms);
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
    m.hashes[i] = 1 + ++m.changes;
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
    ck_assert_msg((culprits_form(&c, key_of(i)) != CULPRITS_AS_IT_IS) == out, "object %zu", i);
    ck_assert_msg((culprits_why(&c, key_of(i)) != NULL) == out, "object %zu", i);
}

/* That no more is left out than HAProxy refuses, and that what was served is, as it was. */
static void assert_right(void)
{
    size_t bad = 0;
    for (size_t i = 0; i < m.count; i++) {
        if (m.gone[i])
            continue;
        bad += m.bad[i] || m.unloadable[i];
        assert_out(i, m.bad[i] || m.unloadable[i]);
        ck_assert_msg(shown(i) == m.runs[i] && (m.runs[i] != 0) == m.good[i], "object %zu", i);
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

/* Of ten objects o3 is refused three times at once: it waits. */
static void refuse_three_times(void)
{
    m.count = 10;
    settle();
    m.step_ms = 1;
    for (size_t i = 0; i < 3; i++) {
        change(3, true);
        settle();
    }
}

/* Nobody is to blame for what is no object; one that waits goes on to wait, and is among those that are refused. */
TEST(one_that_waits_is_not_tried_before_its_time)
{
    refuse_three_times();
    change(3, true);
    settle();
    assert_out(3, true);
    ck_assert_uint_eq(culprits_count(&c), 1);
    m.broken = true;
    change(5, false);
    settle();
    assert_out(3, true);
    ck_assert_uint_ne(culprits_due_ms(&c), 0);
    m.broken = false;
    change(5, false);
    settle();
    assert_out(3, true);
    ck_assert_uint_eq(shown(5), m.hashes[5]);
}

/* Refused twice it is tried at once, then after 10 s, 20 s, ... 5 min, unless it was quiet for ten minutes; nobody waits for it. */
TEST(one_that_changes_again_and_again_waits)
{
    static const unsigned pauses_s[] = {0, 0, 10, 20, 40, 80, 160, 300, 300};
    m.count = 10;
    settle();
    m.step_ms = 1;
    for (size_t i = 0; i < array_len(pauses_s); i++) {
        change(3, true);
        settle();
        assert_right();
        uint64_t refused_ms = m.now_ms;
        ck_assert(pauses_s[i] == 0 ||
                  strstr(culprits_why(&c, key_of(3)), "a change is tried after a pause of") != NULL);
        change(3, false);
        change(5, false);
        m.now_ms = refused_ms + 1000 * (uint64_t)pauses_s[i] - (pauses_s[i] != 0 ? 100 : 0);
        settle();
        ck_assert_uint_eq(shown(5), m.hashes[5]);
        assert_out(3, pauses_s[i] != 0);
        ck_assert_uint_eq(m.runs[3] != m.hashes[3], pauses_s[i] != 0);
        uint64_t due_ms = culprits_due_ms(&c);
        ck_assert(pauses_s[i] == 0 ? due_ms == 0 : due_ms > m.now_ms && due_ms <= m.now_ms + 100);
        m.now_ms = due_ms != 0 ? due_ms : m.now_ms;
        settle();
        ck_assert_uint_eq(culprits_due_ms(&c), 0);
        assert_right();
    }
    m.now_ms += 600000;
    change(3, true);
    settle();
    change(3, false);
    settle();
    assert_right();
}

/* Another one that was refused once, and is good now, is tried without it. */
TEST(who_waits_waits_alone)
{
    refuse_three_times();
    change(4, true);
    settle();
    change(3, false);
    change(4, false);
    settle();
    assert_out(3, true);
    assert_out(4, false);
}

static void new_one(const char *owner, bool bad)
{
    m.owner[m.count] = owner;
    m.bad[m.count] = bad;
    m.count++;
}

static void check_until_it_runs(size_t i, size_t max)
{
    m.checks = 0;
    do {
        see_all();
        (void)check();
    } while (m.runs[i] == 0 && m.checks <= max);
    ck_assert_uint_ne(m.runs[i], 0);
    ck_assert_uint_le(m.checks, max);
}

static const size_t places[] = {0, 1, 150, 299, 300};

/* At any time: before the search of them, with them, or amid it. */
TEST_EACH(many_culprits_of_one_owner_hold_up_no_other, array_len(places))
{
    m.step_ms = 1;
    new_one("bank", false);
    settle();
    for (size_t i = 0; i < 300; i++) {
        if (i == places[_i])
            new_one("bank", false);
        new_one("evil", i % 3 != 0);
    }
    if (places[_i] == 300)
        new_one("bank", false);
    check_until_it_runs(1 + places[_i], 3);
    for (size_t i = 0; i < 20; i++) {
        new_one("bank", false);
        check_until_it_runs(m.count - 1, 3);
        change(0, false);
        check_until_it_runs(0, 1);
        see_all();
        (void)check();
    }
}

/* As the key of a template's object is, with its kind. Of five owners of which two have many culprits the others are not among theirs. */
TEST(owners_without_culprits_are_found_first)
{
    static const char *const owners[] = {"ingresses a", "ingresses evil", "ingresses b", "ingresses bad",
                                         "ingresses c"};
    m.step_ms = 1;
    new_one("x", false);
    settle();
    for (size_t i = 0; i < 100; i++)
        for (size_t n = 0; n < array_len(owners); n++)
            new_one(owners[n], n % 2 != 0);
    check_until_it_runs(1, 8);
    ck_assert_uint_ne(m.runs[5], 0);
    ck_assert_uint_ne(m.runs[3], 0);
    ck_assert_uint_eq(culprits_count(&c), 0);
}

/* Made anew under another name before each document is composed, so that no pause of an object counts. */
TEST(culprits_under_new_names_hold_up_no_other)
{
    m.step_ms = 1;
    new_one("bank", false);
    settle();
    for (size_t i = 0; i < 100; i++) {
        new_one("evil", true);
        if (i > 0)
            m.gone[m.count - 3] = true;
        new_one("bank", false);
        size_t bank = m.count - 1;
        for (size_t n = 0; m.runs[bank] == 0; n++) {
            ck_assert_uint_lt(n, 4);
            new_one("evil", true);
            see_all();
            (void)check();
        }
    }
}

/* Where nothing was accepted yet, so that documents are only checked until the search is over; and amid the culprits of one owner. */
TEST_EACH(who_changes_before_each_document_keeps_nobody_from_being_served, 2)
{
    m.step_ms = 1;
    new_one("busy", false);
    if (_i == 1)
        settle();
    for (size_t i = 1; i < 5; i++)
        new_one("bank", i == 1);
    for (size_t n = 0; m.runs[4] == 0; n++) {
        ck_assert_uint_lt(n, 12);
        change(0, false);
        see_all();
        (void)check();
    }
    settle();
    assert_right();
}

TEST(who_has_had_culprits_is_tried_after_who_has_not)
{
    m.step_ms = 1;
    new_one("bank", false);
    new_one("evil", true);
    settle();
    new_one("bank", false);
    new_one("evil", true);
    check_until_it_runs(2, 3);
    settle();
    assert_right();
}

TEST(one_culprit_of_one_owner_takes_as_many_checks_as_of_many)
{
    m.step_ms = 1;
    new_one("bank", false);
    settle();
    for (size_t i = 0; i < 256; i++)
        new_one("evil", i == 100);
    m.checks = 0;
    settle();
    assert_right();
    ck_assert_uint_le(m.checks, 8 + 3);
}

static size_t refused_at_once(size_t count)
{
    size_t before = culprits_count(&c);
    for (size_t i = 0; i < count; i++)
        new_one(i % 2 == 0 ? "evil" : "ingresses evil", true); /* one owner */
    settle();
    return culprits_count(&c) - before;
}

/* After each ten the others wait, with a reason: 10 s, 20 s, ... 5 min. Others do not, nor an operator. */
TEST(who_has_many_culprits_waits)
{
    static const unsigned pauses_s[] = {10, 20, 40, 80, 160, 300, 300};
    m.step_ms = 1;
    new_one("bank", false);
    settle();
    ck_assert_uint_eq(refused_at_once(9), 9);
    ck_assert_uint_eq(culprits_due_ms(&c), 0);
    ck_assert_uint_eq(refused_at_once(100), 1);
    for (size_t i = 0; i < array_len(pauses_s); i++) {
        size_t before = culprits_count(&c);
        uint64_t pause_ms = culprits_due_ms(&c) - m.now_ms;
        ck_assert_uint_le(pause_ms, pauses_s[i] * 1000);
        ck_assert_uint_gt(pause_ms, pauses_s[i] * 1000 - 500);
        m.now_ms += pause_ms - 100;
        new_one("evil", false);
        new_one("bank", false);
        settle();
        ck_assert_uint_ne(m.runs[m.count - 1], 0);
        assert_out(m.count - 2, true);
        ck_assert(strstr(culprits_why(&c, key_of(m.count - 2)), "objects of evil were refused") != NULL);
        ck_assert_uint_eq(culprits_count(&c), before);
        m.now_ms = culprits_due_ms(&c);
        settle();
        ck_assert_uint_eq(culprits_count(&c), before + 10);
    }
    culprits_try_again(&c);
    ck_assert_uint_eq(culprits_due_ms(&c), 0);
}

/* HAProxy is another one, which refuses a dozen: of the same owner all others go on. */
TEST(who_has_many_culprits_loses_nothing_that_is_served)
{
    m.step_ms = 1;
    for (size_t i = 0; i < 60; i++)
        new_one("evil", false);
    settle();
    m.fewest = OBJECTS_MAX;
    for (size_t i = 0; i < 60; i += 5) {
        m.bad[i] = true;
        m.good[i] = false;
    }
    settle();
    assert_right();
    ck_assert_uint_eq(m.fewest, 48);
}

TEST(many_culprits_are_forgotten_after_ten_minutes)
{
    m.step_ms = 1;
    new_one("bank", false);
    settle();
    ck_assert_uint_eq(refused_at_once(9), 9);
    m.now_ms += 600000;
    ck_assert_uint_eq(refused_at_once(9), 9);
    for (size_t i = 1; i < m.count; i++)
        m.gone[i] = true;
    settle();
    ck_assert_uint_eq(refused_at_once(9), 1); /* it is remembered without any object of his */
}

/* An operator asks: at once. */
TEST(one_that_waits_is_tried_when_an_operator_asks)
{
    refuse_three_times();
    change(3, false);
    settle();
    assert_out(3, true);
    culprits_try_again(&c);
    settle();
    assert_right();
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
    ck_assert_uint_eq(m.fewest, 10);
    ck_assert_int_eq(culprits_form(&c, "o3"), CULPRITS_AS_BEFORE);
    ck_assert(!culprits_may_go_back(&c));
}

/* It needs no other check, and is no culprit any more. */
TEST(a_change_that_is_taken_back_is_known)
{
    m.count = 10;
    settle();
    change(3, true);
    see_all();
    ck_assert(culprits_may_go_back(&c));
    settle();
    m.checks = 0;
    m.hashes[3] = m.kept[3];
    m.bad[3] = false;
    settle();
    assert_right();
    ck_assert_uint_eq(m.checks, 0);
    ck_assert(!culprits_has_former(&c, "o3"));
}

/* Its author tries again, and again: it is as it was meanwhile, until one is good. */
TEST(a_last_good_form_stays_until_there_is_another_one)
{
    m.count = 10;
    settle();
    for (unsigned i = 0; i < 3; i++) {
        change(3, true);
        settle();
        assert_right();
    }
    ck_assert_uint_eq(m.kept[3], 1);
    change(3, false);
    settle();
    assert_right();
    uint64_t good = m.hashes[3];
    change(3, true);
    settle();
    ck_assert_uint_eq(m.kept[3], good);
    ck_assert_uint_eq(m.fewest, 10);
    m.gone[3] = true;
    settle();
    m.gone[3] = false;
    settle();
    ck_assert_int_eq(culprits_form(&c, "o3"), CULPRITS_LEFT_OUT);
}

/* HAProxy is another one: of those that it refuses now the last good form goes, and of no other. */
TEST(a_last_good_form_that_is_refused_is_left_out_too)
{
    m.count = 20;
    settle();
    change(3, true);
    change(4, true);
    change(5, true);
    settle();
    m.was_bad[3] = m.bad[9] = true;
    m.good[3] = m.good[9] = false;
    change(7, true);
    m.written = 0;
    m.fewest = OBJECTS_MAX;
    settle();
    assert_right();
    ck_assert_int_eq(culprits_form(&c, "o3"), CULPRITS_LEFT_OUT);
    ck_assert_int_eq(culprits_form(&c, "o9"), CULPRITS_LEFT_OUT);
    ck_assert_int_eq(culprits_form(&c, "o4"), CULPRITS_AS_BEFORE);
    ck_assert_int_eq(culprits_form(&c, "o7"), CULPRITS_AS_BEFORE);
    ck_assert_uint_eq(m.fewest, 18);
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
    ck_assert(culprits_form(&c, "o3") != CULPRITS_AS_IT_IS);
    ck_assert(!culprits_form(&c, "o4") != CULPRITS_AS_IT_IS);
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
    ck_assert((shown(20) == 0) != (shown(21) == 0));
}

/* HAProxy, or what is beside the objects, is another one: it is asked again. */
TEST(one_that_was_accepted_before_is_found_without_a_write)
{
    m.count = 64;
    settle();
    m.bad[5] = true;
    m.good[5] = false;
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
    for (size_t i = 0; i < m.count; i++)
        m.good[i] = m.good[i] && m.runs[i] == m.hashes[i];
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

/* It changed while nobody read it: what it was is not known. */
TEST(a_last_good_form_is_of_this_run)
{
    m.count = 4;
    settle();
    restart();
    change(2, true);
    m.good[2] = false;
    settle();
    assert_right();
    ck_assert_int_eq(culprits_form(&c, "o2"), CULPRITS_LEFT_OUT);
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
    ck_assert_uint_eq(m.checks, 1); /* it was served as it was before, which nobody knows any more */
    ck_assert_str_eq(culprits_why(&c, "o2"), "line 7: no");
    change(1, true);
    settle();
    assert_right();
    ck_assert_uint_eq(m.checks, 3);
}

/* Where what was good is refused by now, a last good form may be gone for nothing, but nothing that is good now. */
static void assert_nothing_bad(void)
{
    for (size_t i = 0; i < m.count; i++) {
        if (m.gone[i])
            continue;
        assert_out(i, m.bad[i]);
        ck_assert_msg(!m.bad[i] || shown(i) == 0 || !m.was_bad[i], "object %zu", i);
    }
    ck_assert(!culprits_trial(&c));
}

/* HAProxy is another one, which refuses what o0 was; it is repaired amid the search, and refused by its next change. */
TEST(what_was_refused_and_is_repaired_is_no_last_good_form)
{
    m.count = 4;
    m.step_ms = 1;
    m.bad[2] = true; /* it is tried last of all from now on */
    settle();
    change(2, false);
    settle();
    m.bad[0] = m.was_bad[0] = m.seen_bad[0] = true;
    for (unsigned n = 0; n < 3; n++) {
        if (n == 1)
            change(0, false);
        see_all();
        ck_assert(check());
    }
    ck_assert(culprits_trial(&c));
    change(0, true);
    change(1, false);
    settle();
    assert_nothing_bad();
}

/* Objects come, go, change, are repaired and taken back, also while they are searched, and HAProxy is exchanged. At rest nothing good is
 * out, and nothing bad is in. */
TEST_EACH(random_objects, effort(300))
{
    struct dice d = {.state = (uint64_t)_i * 7919 + 1};
    m.loads = dice_one_in(&d, 3);
    bool exchanged = !m.loads && dice_one_in(&d, 2);
    m.count = 1 + dice_below(&d, 60);
    for (size_t i = 0; i < m.count && _i % 2 != 0; i++)
        m.owner[i] = dice_one_in(&d, 2) ? "evil" : dice_one_in(&d, 2) ? "bank" : NULL;
    size_t steps = 0;
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned n = dice_below(&d, 4); n > 0; n--) {
            size_t i = dice_below(&d, (unsigned)m.count);
            m.gone[i] = dice_one_in(&d, 5);
            if (dice_one_in(&d, 4) && culprits_has_former(&c, key_of(i)) && !m.was_bad[i]) {
                m.hashes[i] = m.kept[i];
                m.bad[i] = false;
            } else {
                change(i, dice_one_in(&d, 6));
            }
        }
        if (exchanged && dice_one_in(&d, 5)) {
            settle();
            size_t i = dice_below(&d, (unsigned)m.count);
            m.bad[i] = m.was_bad[i] = m.seen_bad[i] = true;
        }
        see_all();
        for (unsigned n = dice_below(&d, 6); n > 0 && check(); n--)
            see_all();
    }
    do {
        see_all();
        ck_assert_uint_lt(++steps, STEPS_MAX);
    } while (check());
    if (exchanged)
        assert_nothing_bad();
    else
        assert_right();
}

/* src/daemon/quarantine: the search in time, with a source of one object and what HAProxy makes of it. */
#include "base/hash.h"
#include "daemon/quarantine.h"
#include "settings/settings.h"

#include "../test.h"

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct quarantine *q;
    uint64_t object, given; /* as the source has it; in the document that was given last, 0: left out */
    bool bad, given_any;
    unsigned served, settled; /* documents */
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

static void give(void *arg)
{
    quarantine_begin(w.q);
    (void)quarantine_see(w.q, "evil/web", w.object);
    quarantine_end(w.q);
    uint64_t shown = culprits_form(quarantine_culprits(w.q), "evil/web") == CULPRITS_AS_IT_IS ? w.object : 0;
    bool same = w.given_any && shown == w.given;
    w.given = shown;
    w.given_any = true;
    quarantine_gives(w.q, same);
    if (same)
        return;
    const struct culprits_verdict v = {.accepted = shown == 0 || !w.bad, .why = "line 7: no"};
    w.served += v.accepted;
    quarantine_judge(w.q, &v);
}

static void change(bool bad)
{
    w.object++;
    w.bad = bad;
    give(NULL);
    virtual_pass(10);
}

static void settled(void *arg)
{
    ck_assert(quarantine_settled(w.q));
    w.settled++;
}

static void nothing(void *arg)
{
}

static void setup(void)
{
    static const struct settings settings;
    static const struct daemon in = {.settings = &settings};
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000;
    w.q = quarantine_new(&in, -1);
    quarantine_listen(w.q, give, settled, NULL);
}

static void teardown(void)
{
    quarantine_free(w.q);
}

FIXTURE(setup, teardown)

TEST(what_was_accepted_is_settled_at_once)
{
    change(false);
    ck_assert_uint_eq(w.settled, 1);
    change(true);
    ck_assert_uint_eq(w.given, 0);
    unsigned before = w.settled;
    change(false);
    ck_assert_uint_gt(w.settled, before);
}

/* Nobody asks for it: its owner has corrected it, and all else is as it was. */
TEST(one_that_waited_is_tried_when_its_time_has_come)
{
    for (int i = 0; i < 3; i++)
        change(true);
    ck_assert_uint_eq(w.given, 0);
    change(false);
    cleanup(mem_free_ptr) char *why = quarantine_why(w.q, "evil/web", false);
    ck_assert_msg(why != NULL && strstr(why, "after a pause of 10 s") != NULL, "%s", why);
    virtual_pass(9900);
    ck_assert_uint_eq(w.given, 0);
    virtual_pass(200);
    ck_assert_uint_eq(w.given, w.object);
    ck_assert_ptr_null(quarantine_why(w.q, "evil/web", false));
}

/* What goes while it waits wakes nobody. */
TEST(one_that_is_corrected_at_once_waits_for_nothing)
{
    change(true);
    ck_assert_uint_eq(w.given, 0);
    change(false);
    ck_assert_uint_eq(w.given, w.object);
    unsigned served = w.served;
    virtual_pass(600000);
    ck_assert_uint_eq(w.served, served);
}

/* Who makes a new document each tenth of a second has each one out of date before it is judged. */
TEST(the_next_document_waits_for_the_verdict_where_one_was_missed)
{
    const struct culprits_verdict no = {.why = "line 7: no"}, yes = {.accepted = true};
    quarantine_begin(w.q);
    quarantine_gives(w.q, false);
    ck_assert_uint_eq(quarantine_hold_ms(w.q), 0);
    quarantine_miss(w.q);
    ck_assert_uint_gt(quarantine_hold_ms(w.q), 0);
    virtual_pass(2900);
    ck_assert_uint_gt(quarantine_hold_ms(w.q), 0);
    virtual_pass(200);
    ck_assert_uint_eq(quarantine_hold_ms(w.q), 0);
    quarantine_begin(w.q);
    ck_assert_uint_eq(quarantine_hold_ms(w.q), 0);
    quarantine_gives(w.q, false);
    quarantine_judge(w.q, &yes);
    ck_assert_uint_eq(quarantine_hold_ms(w.q), 0);
    quarantine_begin(w.q);
    (void)quarantine_see(w.q, "evil/web", 1);
    quarantine_end(w.q);
    quarantine_gives(w.q, false);
    quarantine_miss(w.q);
    quarantine_judge(w.q, &no);
    ck_assert_uint_eq(quarantine_hold_ms(w.q), 0);
    ck_assert_ptr_null(quarantine_why(NULL, "evil/web", false));
    ck_assert_uint_eq(quarantine_hold_ms(NULL), 0);
}

/* A search, too: what comes meanwhile does not put it off. */
TEST(the_next_document_waits_for_the_verdict_of_a_search)
{
    const struct culprits_verdict no = {.why = "line 7: no"};
    quarantine_listen(w.q, nothing, nothing, NULL);
    quarantine_begin(w.q);
    (void)quarantine_see(w.q, "evil/web", 1);
    quarantine_end(w.q);
    quarantine_gives(w.q, false);
    quarantine_judge(w.q, &no);
    virtual_pass(10);
    ck_assert_uint_eq(quarantine_hold_ms(w.q), 0); /* the search's own */
    quarantine_begin(w.q);
    (void)quarantine_see(w.q, "evil/web", 1);
    quarantine_end(w.q);
    quarantine_gives(w.q, false);
    ck_assert_uint_gt(quarantine_hold_ms(w.q), 0);
}

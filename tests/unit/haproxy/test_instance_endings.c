/* src/haproxy/instance: what every ending of a transaction and of a reading leads to, and other credentials; in the
 * world of engine_world.h. */
#include "../engine_world.h"

enum how { PLAIN, DEAD, APPLIED, NOT_SENT };

struct ending {
    const char *name;
    char step;
    int status;
    enum how how;
    unsigned after_ms;
    const char *trace;       /* at once; what comes after waits */
    const char *problem;     /* in /readyz; NULL: none */
    unsigned not_before_ms;  /* the next request is no sooner ... */
    unsigned begun_after_ms; /* ... and the next transaction no later */
    const char *later;       /* the whole trace until it is in sync */
    const char *result;      /* the label of transactions_total */
};

static const struct ending endings[] = {
    {"conflict at begin", 'B', 409, PLAIN, 0, "BRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"dead at a change", '+', 400, DEAD, 0, "B+DRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"conflict at a change", '+', 409, PLAIN, 0, "B+DRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"gone at a change", '-', 404, PLAIN, 0, "B+-DRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"outdated at commit", 'C', 406, PLAIN, 0, "B+-CDRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"gone at commit", 'C', 404, PLAIN, 0, "B+-CRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"gone at commit, since it was committed", 'C', 404, APPLIED, 0, "B+-CRBCR", NULL, 0, 0, "PR", "conflict"},
    {"limit", 'B', 429, PLAIN, 0, "BLR", "too many open transactions", 100, 500, "B+-CRPR", "limit"},
    {"limit with Retry-After", 'B', 429, PLAIN, 7000, "BLR", "too many open transactions", 7000, 7000, "B+-CRPR",
     "limit"},
    {"rejected at a change", '+', 422, PLAIN, 0, "B+DRB+CR", NULL, 0, 7000, "PRB-CRPR", "rejected"},
    {"rejected at commit", 'C', 400, PLAIN, 0, "B+-CDRB+CR", NULL, 0, 7000, "PRB-CRPR", "rejected"},
    {"unauthorized at begin", 'B', 401, PLAIN, 0, "BR", "refused the credentials", 100, 500, "RB+-CRPR",
     "unauthorized"},
    {"forbidden at a change", '+', 403, PLAIN, 0, "B+DR", "refused the credentials", 100, 500, "RB+-CRPR",
     "unauthorized"},
    {"unavailable at begin", 'B', 503, PLAIN, 0, "BR", "the Data Plane API answered with an error", 100, 500,
     "RB+-CRPR", "unavailable"},
    {"unavailable at a change", '-', 500, PLAIN, 0, "B+-DR", "the Data Plane API answered with an error", 100, 500,
     "RB+-CRPR", "unavailable"},
    {"never connected at commit", 'C', 0, NOT_SENT, 0, "B+-CDR", "not available", 100, 500, "RB+-CRPR", "unavailable"},
    {"lost at begin", 'B', 0, APPLIED, 0, "BR", "not available", 100, 500, "RB+-CRPR", "unavailable"},
    {"lost at commit, not committed", 'C', 0, PLAIN, 0, "B+-CDR", "lost", 100, 500, "RB+-CRPR", "unknown"},
    {"lost at commit, committed", 'C', 0, APPLIED, 0, "B+-CDR", "lost", 100, 500, "RBCRPR", "unknown"},
};

/* Reading is held up by the same wait as writing, so that R comes after it; a
 * rejection holds up the writing alone. */
static void strip(char *trace)
{
    size_t n = strlen(trace);
    if (n > 0 && trace[n - 1] == 'R')
        trace[n - 1] = '\0';
}

FIXTURE(world_make_watched, world_end)

TEST_EACH(each_ending, array_len(endings))
{
    const struct ending *e = &endings[_i];
    world_in_sync();
    fault((struct fault){.step = e->step,
                         .status = e->status,
                         .after_ms = e->after_ms,
                         .dead = e->how == DEAD,
                         .applied = e->how == APPLIED,
                         .not_sent = e->how == NOT_SENT,
                         .times = 1});
    desired("n2", "event");
    settle();
    cleanup(mem_free_ptr) char *expected = mem_strdup(e->trace);
    if (e->problem != NULL && e->later[0] == 'R')
        strip(expected);
    ck_assert_msg(strcmp(buf_str(&w.trace), expected) == 0, "%s: %s, expected %s", e->name, buf_str(&w.trace),
                  expected);
    ck_assert(!in_sync());
    if (e->problem != NULL)
        assert_ready(false, e->problem);
    buf_clear(&w.trace);
    if (e->not_before_ms > 0)
        pass(e->not_before_ms - 3);
    ck_assert_msg(w.trace.len == 0, "%s: too soon: %s", e->name, buf_str(&w.trace));
    pass(e->begun_after_ms - (e->not_before_ms > 0 ? e->not_before_ms - 3 : 0) + 2);
    ck_assert_msg(e->problem == NULL || count('B') == 1, "%s: too late: %s", e->name, buf_str(&w.trace));
    pass(RELOAD_DELAY_MS + 1000);
    ck_assert_msg(strcmp(buf_str(&w.trace), e->later) == 0, "%s: later %s, expected %s", e->name, buf_str(&w.trace),
                  e->later);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.metrics.transactions, e->result, API_URL, NULL), 1);
    ck_assert_uint_eq(metric_value(w.metrics.watch_event_to_commit, NULL), 1);
}

TEST(reading_that_fails_backs_off)
{
    static const char steps[] = "Rstw";
    static const int statuses[] = {0, 500, 401, 404, 302};
    for (size_t i = 0; i < strlen(steps) * array_len(statuses); i++) {
        world_end();
        world_make_watched();
        world_in_sync();
        fault((struct fault){.step = steps[i % 4], .status = statuses[i / 4], .no_version = true});
        instance_refresh(w.target.instance);
        settle();
        ck_assert(!in_sync());
        assert_ready(false, statuses[i / 4] == 401 ? "refused the credentials" : "cannot read HAProxy's configuration");
        w.looks = 0;
        pass(10 * MINUTES_MS);
        ck_assert_uint_le(w.looks, 220); /* up to 8 s apart */
        ck_assert_uint_ge(w.looks, 75);
        mend();
        pass(8000);
        assert_settled("n1");
        ck_assert(logged("problem resolved"));
    }
}

TEST(an_answer_without_a_version_is_none_of_a_data_plane_api)
{
    instance_start(w.target.instance);
    desired("n2", "list");
    fault((struct fault){.step = 'R', .status = 200, .applied = true, .no_version = true});
    fault((struct fault){.step = 's', .status = 200, .applied = true, .no_version = true});
    fault((struct fault){.step = 't', .status = 200, .applied = true, .no_version = true});
    fault((struct fault){.step = 'w', .status = 200, .applied = true, .no_version = true});
    pass(MINUTES_MS);
    assert_ready(false, "without a configuration version");
    ck_assert_uint_eq(w.transactions, 0);
}

TEST_EACH(other_credentials_are_tried_at_once_but_once, 3)
{
    static const char steps[] = "RB+";
    world_in_sync();
    w.renewed = 1;
    fault((struct fault){.step = steps[_i], .status = 401, .times = 1});
    desired("n2", "event");
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 1);
    pass(MINUTES_MS);
    assert_settled("n2");
    /* And again, for the next time that they are changed. */
    w.renewed = 1;
    fault((struct fault){.step = steps[_i], .status = 401, .times = 1});
    desired("n3", "event");
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 2);
}

TEST_EACH(credentials_that_change_all_the_time_are_no_loop, 3)
{
    static const char steps[] = "RBH";
    w.renewed = 1000000;
    instance_start(w.target.instance);
    fault((struct fault){.step = steps[_i], .status = 401});
    desired("n2", "event");
    pass(MINUTES_MS);
    ck_assert_uint_le(count(steps[_i]), 40);
    mend();
    pass(MINUTES_MS);
    assert_settled("n2");
}

TEST(conflicts_are_tried_at_once_but_not_for_ever)
{
    world_in_sync();
    fault((struct fault){.step = 'B', .status = 409});
    desired("n2", "event");
    settle();
    assert_trace("BRBRBRB");
    assert_ready(false, "another writer keeps changing");
}

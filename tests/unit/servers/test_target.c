/* src/servers/target and target_write: what every ending, wish and signal leads
 * to, in the world of target_world.h. */
#include "../target_world.h"

#define MINUTES_MS 60000ull

/* ---- the property that holds at every moment ---- */

static void in_sync_is_true(void)
{
    if (in_sync())
        ck_assert_msg(set_eq(w.running.of[0], w.have.of[0]),
                      "in sync, but HAProxy runs \"%s\" and the file says \"%s\": %s", w.running.of[0], w.have.of[0],
                      buf_str(&w.trace));
}

static void setup(void)
{
    world_make();
    w.look = in_sync_is_true;
}

static void teardown(void)
{
    world_end();
}

/* ---- all is well ---- */

START_TEST(nothing_is_written_before_the_first_wish)
{
    instance_start(w.target.instance);
    pass(0);
    assert_trace("RH");
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert(!in_sync());
    assert_ready(false, "waiting for Kubernetes");
}
END_TEST

START_TEST(in_step_from_the_start)
{
    world_in_step();
    ck_assert_uint_eq(w.commits, 0);
    pass(RESYNC_MS);
    assert_trace("R");
    ck_assert_uint_eq(metric_value(w.telemetry.reconciles, "in_step", API_URL, NULL), 2);
}
END_TEST

START_TEST(a_change_is_one_transaction_and_its_reload_is_followed)
{
    world_in_step();
    wish("n2", "MODIFIED slice");
    ck_assert(!in_sync());
    settle();
    assert_trace("B+-CR");
    assert_ready(true, "committed, waiting for reload r-1");
    ck_assert(!in_sync());
    pass(RELOAD_DELAY_MS + 1000);
    assert_trace("PR");
    assert_settled("n2");
    ck_assert(logged("cause=\"MODIFIED slice\""));
    ck_assert(!logged("taking the backend over"));
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, "succeeded", API_URL, NULL), 1);
}
END_TEST

/* What falls due while a step is at work is neither lost nor left to the next comparison. */
START_TEST(a_slow_machine_misses_nothing)
{
    static const unsigned slow_us[] = {100, 1000, 10000, 60000, 130000};
    instance_start(w.target.instance);
    w.slow_us = slow_us[_i];
    w.fail_reloads = 1;
    wish("n2", "event");
    pass(RESYNC_MS - 10000);
    w.slow_us = 0;
    settle();
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

START_TEST(a_takeover_names_what_it_removes)
{
    instance_start(w.target.instance);
    wish("n2", "list");
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert(logged("taking the backend over"));
}
END_TEST

/* ---- endings ---- */

struct ending {
    const char *name;
    struct fault fault;
    const char *trace;       /* at once; what comes after waits */
    const char *problem;     /* in /readyz; NULL: none */
    unsigned not_before_ms;  /* the next request is no sooner ... */
    unsigned begun_after_ms; /* ... and the next transaction no later */
    const char *later;       /* the whole trace until it is in step */
    const char *result;      /* the label of transactions_total */
};

static const struct ending endings[] = {
    {"conflict at begin", {.step = 'B', .status = 409}, "BRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"dead at a change", {.step = '+', .status = 400, .dead = true}, "B+DRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"conflict at a change", {.step = '+', .status = 409}, "B+DRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"gone at a change", {.step = '-', .status = 404}, "B+-DRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"outdated at commit", {.step = 'C', .status = 406}, "B+-CDRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"gone at commit", {.step = 'C', .status = 404}, "B+-CRB+-CR", NULL, 0, 0, "PR", "conflict"},
    {"gone at commit, since it was committed",
     {.step = 'C', .status = 404, .applied = true},
     "B+-CRBCR",
     NULL,
     0,
     0,
     "PR",
     "conflict"},
    {"limit", {.step = 'B', .status = 429}, "BLR", "too many open transactions", 100, 500, "B+-CRPR", "limit"},
    {"limit with Retry-After",
     {.step = 'B', .status = 429, .after_ms = 7000},
     "BLR",
     "too many open transactions",
     7000,
     7000,
     "B+-CRPR",
     "limit"},
    {"rejected at a change",
     {.step = '+', .status = 422},
     "B+DR",
     "refuses the change",
     5000,
     10000,
     "B+-CRPR",
     "rejected"},
    {"rejected at commit",
     {.step = 'C', .status = 400},
     "B+-CDR",
     "refuses the change",
     5000,
     10000,
     "B+-CRPR",
     "rejected"},
    {"unauthorized at begin",
     {.step = 'B', .status = 401},
     "BR",
     "refused the credentials",
     100,
     500,
     "RB+-CRPR",
     "unauthorized"},
    {"forbidden at a change",
     {.step = '+', .status = 403},
     "B+DR",
     "refused the credentials",
     100,
     500,
     "RB+-CRPR",
     "unauthorized"},
    {"unavailable at begin",
     {.step = 'B', .status = 503},
     "BR",
     "the Data Plane API fails",
     100,
     500,
     "RB+-CRPR",
     "unavailable"},
    {"unavailable at a change",
     {.step = '-', .status = 500},
     "B+-DR",
     "the Data Plane API fails",
     100,
     500,
     "RB+-CRPR",
     "unavailable"},
    {"never connected at commit",
     {.step = 'C', .not_sent = true},
     "B+-CDR",
     "not available",
     100,
     500,
     "RB+-CRPR",
     "unavailable"},
    {"lost at begin", {.step = 'B', .applied = true}, "BR", "not available", 100, 500, "RB+-CRPR", "unavailable"},
    {"lost at commit, not committed", {.step = 'C'}, "B+-CDR", "lost", 100, 500, "RB+-CRPR", "unknown"},
    {"lost at commit, committed", {.step = 'C', .applied = true}, "B+-CDR", "lost", 100, 500, "RBCRPR", "unknown"},
};

/* Reading is held up by the same wait as writing, so that R comes after it; a
 * rejection holds up the writing alone. */
static void strip(char *trace)
{
    size_t n = strlen(trace);
    if (n > 0 && trace[n - 1] == 'R')
        trace[n - 1] = '\0';
}

START_TEST(each_ending)
{
    const struct ending *e = &endings[_i];
    world_in_step();
    struct fault once = e->fault;
    once.times = 1;
    fault(once);
    wish("n2", "event");
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
    ck_assert_uint_eq(metric_value(w.telemetry.transactions, e->result, API_URL, NULL), 1);
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_commit, NULL), 1);
}
END_TEST

/* The same ending for ten minutes: attempts become rare, and when it is over,
 * it is over. */
START_TEST(each_ending_again_and_again)
{
    struct fault always = endings[_i].fault;
    always.times = 0;
    world_in_step();
    fault(always);
    wish("n2", "event");
    pass(10 * MINUTES_MS);
    /* What was certainly not committed costs HAProxy nothing, so it is tried more often. */
    bool harmless = str_eq(endings[_i].result, "unavailable") || str_eq(endings[_i].result, "unauthorized") ||
                    str_eq(endings[_i].result, "limit");
    unsigned most = harmless ? 220 : 110;
    ck_assert_msg(count('B') <= most, "%s: %u transactions in ten minutes", endings[_i].name, count('B'));
    ck_assert_msg(count('B') >= 3, "%s: given up", endings[_i].name);
    ck_assert_msg(!in_sync(), "%s: in sync", endings[_i].name);
    mend();
    pass(6 * MINUTES_MS);
    assert_settled("n2");
}
END_TEST

/* ---- reading ---- */

START_TEST(reading_that_fails_backs_off)
{
    static const char steps[] = "Rstw";
    static const int statuses[] = {0, 500, 401, 404, 302};
    for (size_t i = 0; i < strlen(steps) * array_len(statuses); i++) {
        world_end();
        setup();
        world_in_step();
        fault((struct fault){.step = steps[i % 4], .status = statuses[i / 4], .no_version = true});
        instance_refresh(w.target.instance);
        settle();
        ck_assert(!in_sync());
        assert_ready(false, statuses[i / 4] == 401 ? "refused the credentials" : "cannot read HAProxy's configuration");
        buf_clear(&w.trace);
        pass(10 * MINUTES_MS);
        ck_assert_uint_le(count('R'), 220); /* up to 8 s apart */
        ck_assert_uint_ge(count('R'), 75);
        mend();
        pass(8000);
        assert_settled("n1");
        ck_assert(logged("trouble is over"));
    }
}
END_TEST

START_TEST(an_answer_without_a_version_is_none_of_a_data_plane_api)
{
    instance_start(w.target.instance);
    wish("n2", "list");
    fault((struct fault){.step = 'R', .status = 200, .applied = true, .no_version = true});
    fault((struct fault){.step = 's', .status = 200, .applied = true, .no_version = true});
    fault((struct fault){.step = 't', .status = 200, .applied = true, .no_version = true});
    fault((struct fault){.step = 'w', .status = 200, .applied = true, .no_version = true});
    pass(MINUTES_MS);
    assert_ready(false, "without a configuration version");
    ck_assert_uint_eq(w.transactions, 0);
}
END_TEST

/* ---- credentials ---- */

START_TEST(other_credentials_are_tried_at_once_but_once)
{
    static const char steps[] = "RB+";
    world_in_step();
    w.renewed = 1;
    fault((struct fault){.step = steps[_i], .status = 401, .times = 1});
    wish("n2", "event");
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 1);
    pass(MINUTES_MS);
    assert_settled("n2");
    /* And again, for the next time that they are changed. */
    w.renewed = 1;
    fault((struct fault){.step = steps[_i], .status = 401, .times = 1});
    wish("n3", "event");
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

START_TEST(other_credentials_are_tried_at_once_each_time_that_they_are_changed)
{
    world_in_step();
    for (int i = 0; i < 3; i++) {
        w.renewed = 1;
        fault((struct fault){.step = 'R', .status = 401, .times = 1});
        instance_refresh(w.target.instance);
        settle();
        assert_settled("n1");
        assert_trace("RR");
    }
}
END_TEST

START_TEST(credentials_that_change_all_the_time_are_no_loop)
{
    static const char steps[] = "RBH";
    w.renewed = 1000000;
    instance_start(w.target.instance);
    fault((struct fault){.step = steps[_i], .status = 401});
    wish("n2", "event");
    pass(MINUTES_MS);
    ck_assert_uint_le(count(steps[_i]), 40);
    mend();
    pass(MINUTES_MS);
    assert_settled("n2");
}
END_TEST

/* ---- reloads ---- */

static void a_reload_is_repeated(const char *result, const char *problem)
{
    settle();
    until('P');
    for (int i = 0; i < 400 && !logged("HAProxy was not reloaded"); i++)
        pass(500);
    assert_ready(false, problem);
    ck_assert(!in_sync());
    mend();
    w.held = false;
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert(logged("empty commit"));
    ck_assert_uint_eq(w.commits, 2);
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, result, API_URL, NULL), 1);
}

START_TEST(a_failed_reload_is_repeated)
{
    world_in_step();
    w.fail_reloads = 1;
    wish("n2", "event");
    a_reload_is_repeated("failed", "words of HAProxy");
}
END_TEST

START_TEST(a_forgotten_reload_is_repeated)
{
    world_in_step();
    wish("n2", "event");
    settle();
    restart_api();
    a_reload_is_repeated("unknown", "not known any more");
}
END_TEST

START_TEST(a_reload_that_never_ends_is_repeated)
{
    world_in_step();
    w.held = true;
    wish("n2", "event");
    a_reload_is_repeated("unknown", "did not end in time");
}
END_TEST

START_TEST(polls_without_an_answer_are_asked_again)
{
    static const int statuses[] = {0, 401, 500, 503, 429};
    world_in_step();
    fault((struct fault){.step = 'P', .status = statuses[_i], .times = 8});
    wish("n2", "event");
    pass(5000);
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(reloads_that_always_fail_become_rare)
{
    world_in_step();
    w.fail_reloads = 1000000;
    wish("n2", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_le(w.commits, 60);
    ck_assert_uint_ge(w.commits, 8);
    ck_assert(!in_sync());
    w.fail_reloads = 0;
    pass(2 * MINUTES_MS);
    assert_settled("n2");
}
END_TEST

/* The answer to the second commit is lost while the reload of the first is
 * still to come: that one's success says nothing about the second. */
/* A refusal before does not make the pauses between failing reloads short. */
START_TEST(reloads_that_fail_after_a_refusal_become_rare_too)
{
    world_in_step();
    w.fail_reloads = 1000000;
    fault((struct fault){.step = '+', .status = 422, .times = 1});
    wish("n2", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_ge(w.commits, 8);
    ck_assert_uint_le(w.commits, 60);
}
END_TEST

/* Once in step again, the pauses are short again. */
START_TEST(pauses_begin_anew_after_success)
{
    static const struct fault refusal = {.step = '+', .status = 422};
    world_in_step();
    w.fail_reloads = 8;
    fault(refusal);
    wish("n2", "event");
    pass(20 * MINUTES_MS);
    mend();
    pass(20 * MINUTES_MS);
    assert_settled("n2");
    w.fail_reloads = 1;
    wish("n3", "event");
    pass(2 * RELOAD_DELAY_MS + 2000 + 2000);
    assert_settled("n3");
    fault(refusal);
    wish("n4", "event");
    settle();
    mend();
    pass(10000 + RELOAD_DELAY_MS + 1000);
    assert_settled("n4");
}
END_TEST

START_TEST(an_older_reload_does_not_vouch_for_a_lost_commit)
{
    world_in_step();
    wish("n2", "one");
    settle();
    tick_reload();
    w.now_us += RELOAD_DELAY_MS * 1000;
    tick_reload(); /* the first is over, and nobody has asked yet */
    fault((struct fault){.step = 'C', .applied = true, .times = 1});
    w.fail_reloads = 1;
    wish("n3", "two");
    settle();
    pass(5 * MINUTES_MS);
    assert_settled("n3");
}
END_TEST

START_TEST(a_wish_does_not_wait_for_a_reload)
{
    world_in_step();
    w.held = true;
    wish("n2", "one");
    settle();
    wish("n3", "two");
    pass(2500); /* it gathers for as long */
    ck_assert_uint_eq(w.commits, 2);
    w.held = false;
    pass(5000);
    assert_settled("n3");
}
END_TEST

START_TEST(a_wish_that_reverts_during_a_reload)
{
    world_in_step();
    wish("n2", "one");
    settle();
    wish("n1", "two");
    pass(5000);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

/* ---- a file that lags behind the API ---- */

START_TEST(a_strangers_failed_reload_is_repeated)
{
    world_in_step();
    w.version++;
    w.file_version--;
    set_copy(w.running.of[0], "n4");
    w.look = NULL; /* nobody can know before the next look */
    pass(RESYNC_MS + 10000);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(a_file_that_always_lags_is_not_reloaded_all_the_time)
{
    world_in_step();
    w.stale_file = true;
    w.version++;
    pass(20 * MINUTES_MS);
    ck_assert_uint_le(w.commits, 80);
    w.stale_file = false;
    pass(2 * MINUTES_MS);
    assert_settled("n1");
}
END_TEST

/* ---- what was before the start ---- */

#define HISTORY(status) "[{\"id\":\"x-1\",\"status\":\"" status "\",\"reload_timestamp\":1,\"response\":\"old words\"}]"

START_TEST(history_failed_is_repeated)
{
    w.reload_list = HISTORY("failed");
    instance_start(w.target.instance);
    wish("n1", "list");
    settle();
    assert_trace("RHLBCR");
    pass(5000);
    assert_settled("n1");
    ck_assert(logged("old words"));
}
END_TEST

START_TEST(history_pending_is_awaited_but_keeps_nothing_up)
{
    w.reload_list = HISTORY("in_progress");
    instance_start(w.target.instance);
    wish("n1", "list");
    pass(10000);
    ck_assert(!in_sync());
    assert_ready(false, "reload from before the start");
    wish("n2", "event");
    settle();
    ck_assert_uint_eq(w.commits, 1);
    pass(5000);
    assert_settled("n2");
    buf_clear(&w.trace);
    pass(RESYNC_MS);
    ck_assert_uint_eq(count('H'), 0);
}
END_TEST

START_TEST(history_pending_ends)
{
    static const char *const ends[] = {HISTORY("succeeded"), HISTORY("failed"), "[]"};
    w.reload_list = HISTORY("in_progress");
    instance_start(w.target.instance);
    wish("n1", "list");
    pass(10000);
    w.reload_list = ends[_i];
    pass(10000);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, _i == 1 ? 1 : 0);
}
END_TEST

START_TEST(history_pending_for_ever_is_given_up)
{
    w.reload_list = HISTORY("in_progress");
    instance_start(w.target.instance);
    wish("n1", "list");
    pass(3 * MINUTES_MS);
    assert_settled("n1");
}
END_TEST

START_TEST(history_that_cannot_be_read_now_is_asked_again)
{
    static const int statuses[] = {0, 401, 403, 429, 500, 503};
    w.reload_list = HISTORY("failed");
    fault((struct fault){.step = 'H', .status = statuses[_i], .times = 3});
    instance_start(w.target.instance);
    wish("n1", "list");
    settle();
    ck_assert(!in_sync());
    assert_ready(false, "list of reloads");
    pass(MINUTES_MS);
    assert_settled("n1");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(history_that_this_api_does_not_have_keeps_nothing_up)
{
    static const int statuses[] = {404, 405, 500, 200};
    fault((struct fault){.step = 'H', .status = statuses[_i]});
    instance_start(w.target.instance);
    wish("n2", "list");
    pass(4 * MINUTES_MS);
    assert_settled("n2");
}
END_TEST

START_TEST(dead_transactions_are_looked_for_but_need_not_be_found)
{
    static const int statuses[] = {0, 401, 404, 429, 500, 200};
    fault((struct fault){.step = 'L', .status = statuses[_i]});
    instance_start(w.target.instance);
    wish("n2", "list");
    settle();
    bool away = statuses[_i] != 404 && statuses[_i] != 429; /* 200: but no list */
    ck_assert_uint_eq(count('B'), away ? 0 : 1);
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert_uint_eq(count('L'), 1);
}
END_TEST

/* A begin that is refused with 500 may have left a transaction that no commit ends. The first look for it may fail (times 1), and
 * the one after the next commit (times 2), too. */
START_TEST(what_a_refused_begin_left_is_looked_for_until_it_was)
{
    world_in_step();
    fault((struct fault){.step = 'B', .status = 500, .times = 1});
    fault((struct fault){.step = 'L', .status = 500, .times = _i});
    unsigned before = count('L');
    wish("n2", "event");
    settle();
    ck_assert_uint_eq(count('L') - before, 1);
    pass(20000 + RESYNC_MS);
    ck_assert_uint_eq(w.commits, 1);
    assert_settled("n2");
    ck_assert_uint_eq(count('L') - before, (unsigned)_i + 1);
    pass(3 * RESYNC_MS);
    ck_assert_uint_eq(count('L') - before, (unsigned)_i + 1);
}
END_TEST

/* ---- what does not stick, and strangers ---- */

START_TEST(a_change_that_does_not_stick_is_not_hammered)
{
    world_in_step();
    w.stubborn = true;
    wish("n2", "event");
    pass(RELOAD_DELAY_MS + 1000); /* a reload that fails would explain it */
    ck_assert_uint_eq(w.commits, 1);
    assert_ready(false, "does not stick");
    pass(30 * MINUTES_MS);
    ck_assert_uint_ge(w.commits, 3);
    ck_assert_uint_le(w.commits, 30);
    ck_assert(!in_sync());
    w.stubborn = false;
    pass(6 * MINUTES_MS);
    assert_settled("n2");
}
END_TEST

START_TEST(a_wish_while_our_commit_is_read_back_is_no_sign_that_it_did_not_stick)
{
    world_in_step();
    wish("n2", "one");
    until('R');
    wish("n3", "two");
    settle();
    assert_trace("B+-CR");
    pass(5000);
    assert_settled("n3");
    ck_assert_uint_eq(w.commits, 2);
    ck_assert(!logged("does not stick"));
}
END_TEST

/* An edit by hand that leaves the version as it is: what stuck once is not said
 * not to stick. */
START_TEST(drift_at_the_version_of_our_own_commit_is_repaired_at_once)
{
    world_in_step();
    wish("n2", "event");
    pass(5000);
    assert_settled("n2");
    set_copy(w.have.of[0], "n2 n9");
    set_copy(w.file.of[0], "n2 n9");
    set_copy(w.running.of[0], "n2 n9");
    buf_clear(&w.trace);
    instance_refresh(w.target.instance);
    settle();
    assert_trace("RB-CR");
    pass(5000);
    assert_settled("n2");
    ck_assert(!logged("does not stick"));
}
END_TEST

START_TEST(drift_is_repaired_and_not_put_down_to_an_old_event)
{
    world_in_step();
    wish("n2", "old event");
    pass(5000);
    forget_log();
    stranger("n7");
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
    ck_assert(logged("backend changed"));
    ck_assert(!logged("old event"));
}
END_TEST

START_TEST(a_stranger_in_each_step)
{
    static const char steps[] = "RstwB+-C";
    world_in_step();
    wish("n2", "event");
    instance_refresh(w.target.instance);
    until(steps[_i]);
    stranger("n7 n8");
    pass(MINUTES_MS);
    assert_settled("n2");
}
END_TEST

/* ---- hold, refuse, wait ---- */

START_TEST(hold_keeps_the_last_good_servers)
{
    world_in_step();
    wish("", "event");
    settle();
    assert_trace("");
    assert_ready(true, "holding the last good servers");
    ck_assert(!in_sync());
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert_uint_eq(metric_value(w.telemetry.reconciles, "hold", API_URL, NULL), 1);
    wish("n2", "event");
    pass(5000);
    assert_settled("n2");
}
END_TEST

START_TEST(hold_repeats_a_failed_reload)
{
    world_in_step();
    w.fail_reloads = 1;
    wish("n2", "event");
    settle();
    wish("", "event");
    assert_ready(true, "holding");
    pass(1500);
    assert_ready(false, "not reloaded");
    pass(10000);
    assert_ready(true, "holding");
    ck_assert_str_eq(w.running.of[0], "n2");
    ck_assert(!in_sync());
}
END_TEST

START_TEST(hold_is_not_ready_while_the_api_is_away)
{
    world_in_step();
    wish("", "event");
    fault((struct fault){.step = 'R'});
    pass(RESYNC_MS);
    assert_ready(false, "cannot read");
    mend();
    pass(15000);
    assert_ready(true, "holding");
}
END_TEST

static double sum_of_latencies(void)
{
    cleanup(buf_fini) struct buf page;
    buf_init(&page, 0);
    metrics_print(w.telemetry.registry, &page);
    const char *at = strstr(buf_str(&page), "event_to_commit_seconds_sum ");
    ck_assert_ptr_nonnull(at);
    return strtod(strchr(at, ' '), NULL);
}

START_TEST(latency_is_that_of_what_was_written)
{
    static const char *const without_a_write[] = {"", "?", "n1"};
    world_in_step();
    wish(without_a_write[_i], "event");
    pass(10 * MINUTES_MS);
    wish("n2", "event");
    pass(5000);
    assert_settled("n2");
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_commit, NULL), 1);
    ck_assert_double_lt(sum_of_latencies(), 1);
}
END_TEST

START_TEST(latency_is_that_of_the_oldest_event_that_waits)
{
    world_in_step();
    fault((struct fault){.step = 'C', .status = 400, .times = 1});
    wish("n2", "one");
    until('+');
    w.now_us += 20000000;
    wish("n3", "two");
    pass(MINUTES_MS);
    assert_settled("n3");
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_commit, NULL), 1);
    ck_assert_double_gt(sum_of_latencies(), 20);
}
END_TEST

START_TEST(latency_is_that_of_the_oldest_event_that_a_pause_held_up)
{
    world_in_step();
    fault((struct fault){.step = 'B', .status = 503, .after_ms = 20000, .times = 1});
    wish("n2", "one");
    pass(15000);
    wish("n3", "two");
    pass(15000);
    assert_settled("n3");
    ck_assert_double_ge(sum_of_latencies(), 20);
}
END_TEST

START_TEST(latency_of_an_event_during_a_write_is_its_own)
{
    world_in_step();
    wish("n2", "one");
    until('+');
    w.now_us += 20000000;
    wish("n3", "two");
    pass(5000);
    assert_settled("n3");
    ck_assert_uint_eq(metric_value(w.telemetry.event_to_commit, NULL), 2);
    ck_assert_double_lt(sum_of_latencies(), 23); /* two seconds of it gathering */
}
END_TEST

START_TEST(refuse_writes_nothing_until_it_is_mended)
{
    world_in_step();
    w.unsupported = true;
    instance_refresh(w.target.instance);
    wish("n2", "event");
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert(!in_sync());
    assert_ready(false, "not writing to HAProxy");
    ck_assert_uint_le(metric_value(w.telemetry.reconciles, "refuse", API_URL, NULL), 23);
    w.unsupported = false;
    pass(RESYNC_MS + 5000);
    assert_settled("n2");
}
END_TEST

START_TEST(refuse_follows_the_reload_that_is_pending)
{
    world_in_step();
    wish("n2", "event");
    until('R');
    w.unsupported = true;
    pass(5000);
    ck_assert_uint_eq(metric_value(w.telemetry.reloads, "succeeded", API_URL, NULL), 1);
    ck_assert_uint_le(metric_value(w.telemetry.reconciles, "refuse", API_URL, NULL), 2);
    assert_ready(false, "not writing to HAProxy");
    ck_assert(!in_sync());
    w.unsupported = false;
    pass(RESYNC_MS);
    assert_settled("n2");
}
END_TEST

START_TEST(undecided_writes_nothing)
{
    world_in_step();
    wish("?", "event");
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert(!in_sync());
    wish("n1", "event");
    assert_settled("n1");
}
END_TEST

/* ---- wishes and signals at any time ---- */

START_TEST(a_wish_in_each_step)
{
    static const char steps[] = "RstwHLB+-CP";
    instance_start(w.target.instance);
    wish("n2", "one");
    until(steps[_i]);
    wish("n3", "two");
    pass(MINUTES_MS);
    assert_settled("n3");
    ck_assert_uint_le(w.commits, 2);
}
END_TEST

START_TEST(the_first_wish_in_each_step)
{
    static const char steps[] = "RstwH";
    instance_start(w.target.instance);
    until(steps[_i]);
    wish("n3", "list");
    pass(5000);
    assert_settled("n3");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(a_comparison_in_each_step)
{
    static const char steps[] = "RstwHLB+-CP";
    instance_start(w.target.instance);
    wish("n2", "one");
    until(steps[_i]);
    instance_refresh(w.target.instance);
    w.now_us += RESYNC_MS * 1000;
    fire(next_timer(clock_mono_ms()));
    pass(MINUTES_MS);
    assert_settled("n2");
    ck_assert_uint_eq(w.commits, 1);
}
END_TEST

START_TEST(a_comparison_ends_every_wait)
{
    world_in_step();
    fault((struct fault){.step = 'B', .status = 503, .after_ms = 3600000, .times = 1});
    wish("n2", "event");
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.commits, 0);
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 1);
    fault((struct fault){.step = '+', .status = 422, .times = 1});
    wish("n3", "event");
    pass(2500);
    ck_assert_uint_eq(w.commits, 1);
    instance_refresh(w.target.instance);
    settle();
    ck_assert_uint_eq(w.commits, 2);
}
END_TEST

START_TEST(what_was_refused_is_tried_again_when_something_changed)
{
    world_in_step();
    fault((struct fault){.step = '+', .status = 422});
    wish("n2", "one");
    settle();
    assert_trace("B+DR");
    wish("n3", "two");
    settle();
    assert_trace("");
    pass(1000);
    assert_trace("B+DR"); /* another wish: soon */
    stranger("n1 n4");
    instance_refresh(w.target.instance);
    settle();
    assert_trace("RB+DR"); /* another version: now */
    for (int i = 0; i < 100; i++) {
        wish(i % 2 ? "n5" : "n6", "stream");
        pass(100);
    }
    ck_assert_uint_le(count('B'), 10); /* a stream of wishes: one a second */
}
END_TEST

START_TEST(what_was_refused_is_tried_again_when_the_file_changed)
{
    world_in_step();
    pass(RESYNC_MS - 1000);
    fault((struct fault){.step = '+', .status = 422});
    wish("n2", "one");
    settle();
    stranger("n1 n4");
    assert_trace("B+DR");
    pass(1500); /* the resync; the wait is longer */
    assert_trace("RB+DR");
}
END_TEST

START_TEST(conflicts_are_tried_at_once_but_not_for_ever)
{
    world_in_step();
    fault((struct fault){.step = 'B', .status = 409});
    wish("n2", "event");
    settle();
    assert_trace("BRBRBRB");
    assert_ready(false, "somebody else keeps changing");
}
END_TEST

/* ---- the end ---- */

START_TEST(stop_while_nothing_is_written)
{
    static const char steps[] = "RstwHP";
    instance_start(w.target.instance);
    wish("n2", "event");
    until(steps[_i]);
    stop();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert(!w.busy);
    ck_assert_ptr_null(next_timer(UINT64_MAX));
}
END_TEST

START_TEST(stop_in_each_step_of_a_transaction)
{
    static const char *const rest[] = {"LLRB+-C", "LLB", "BBD", "++D", "--D", "CC"};
    static const char steps[] = "-LB+-C";
    char step = steps[_i];
    if (_i == 0)
        return;
    instance_start(w.target.instance);
    wish("n2", "event");
    until(step);
    buf_clear(&w.trace);
    stop();
    ck_assert_uint_eq(w.stopped, 0);
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(w.transaction, 0);
    ck_assert_uint_eq(w.commits, step == 'C' ? 1 : 0);
    if (step != 'L')
        assert_trace(rest[_i] + 1);
    ck_assert_ptr_null(next_timer(UINT64_MAX));
}
END_TEST

START_TEST(stop_while_the_api_fails)
{
    static const char steps[] = "B+-CD";
    static const int statuses[] = {0, 401, 409, 500};
    char step = steps[_i % 5];
    instance_start(w.target.instance);
    wish("n2", "event");
    fault((struct fault){.step = step, .status = statuses[_i / 5]});
    if (step == 'D')
        fault((struct fault){.step = '+', .status = 500});
    until(step);
    stop();
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.stopped, 1);
}
END_TEST

START_TEST(stop_while_waiting)
{
    world_in_step();
    fault((struct fault){.step = 'B', .status = 503, .after_ms = 60000});
    wish("n2", "event");
    settle();
    stop();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_ptr_null(next_timer(UINT64_MAX));
    instance_refresh(w.target.instance);
    ck_assert(!w.busy);
    ck_assert_uint_eq(w.stopped, 1);
}
END_TEST

/* ---- anything at any time ---- */

static unsigned dice(uint64_t *state, unsigned n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)((*state >> 11) % n);
}

/* By hand, which the API notices. */
static void edit_alien(bool is_there)
{
    if (w.unsupported == is_there)
        return;
    w.unsupported = is_there;
    w.file_version += w.file_version == w.version;
    w.version++;
    w.transaction = 0;
}

static void something_happens(uint64_t *d)
{
    static const char steps[] = "RstwHLB+-CDP";
    static const int statuses[] = {0, 0, 400, 401, 404, 406, 409, 422, 429, 500, 502, 503};
    static const char *const wishes[] = {"n1", "n2", "n1 n2", "n2 n3", "", "n1 n2 n3 n4", "?"};
    struct fault f;
    switch (dice(d, 12)) {
    case 0:
    case 1:
        mend();
        f = (struct fault){.step = steps[dice(d, 12)],
                           .status = statuses[dice(d, 12)],
                           .applied = dice(d, 2) == 0,
                           .dead = dice(d, 4) == 0,
                           .times = (int)dice(d, 4)};
        /* What was carried out is never answered by another refusal than the one of
     * libcurl's second try. */
        f.applied = f.applied && (f.status < 400 || f.status == 404 || f.status >= 500);
        fault(f);
        break;
    case 2:
        mend();
        break;
    case 3:
        w.fail_reloads = dice(d, 3);
        break;
    case 4:
        restart_api();
        break;
    case 5:
        instance_refresh(w.target.instance);
        break;
    case 6:
        w.renewed = dice(d, 3);
        break;
    case 7:
        edit_alien(dice(d, 2) == 0);
        break;
    default:
        wish(wishes[dice(d, 7)], "dice");
    }
}

START_TEST(whatever_happens_it_ends_in_step)
{
    uint64_t d = 88172645463325252ull + (uint64_t)_i * 7919;
    instance_start(w.target.instance);
    for (int i = 0; i < 300; i++) {
        something_happens(&d);
        if (dice(&d, 3) > 0) {
            for (unsigned n = dice(&d, 12); n > 0 && w.busy; n--)
                answer();
        } else {
            pass(dice(&d, 5000));
        }
        if (w.reloads > RELOADS_MAX - 100)
            break;
    }
    mend();
    w.fail_reloads = 0;
    edit_alien(false);
    wish("n1 n5", "the last");
    pass(12 * MINUTES_MS);
    assert_settled("n1 n5");
    buf_clear(&w.trace);
    unsigned commits = w.commits;
    pass(10 * MINUTES_MS);
    ck_assert_uint_eq(w.commits, commits);
    ck_assert_uint_eq(count('R'), 20);
    ck_assert_uint_eq(w.trace.len, 20);
}
END_TEST

static TCase *tests(const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    return tc;
}

int main(void)
{
    Suite *s = suite_create("target");
    TCase *tc = tests("target");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, nothing_is_written_before_the_first_wish);
    tcase_add_test(tc, in_step_from_the_start);
    tcase_add_test(tc, a_change_is_one_transaction_and_its_reload_is_followed);
    tcase_add_loop_test(tc, a_slow_machine_misses_nothing, 0, 5);
    tcase_add_test(tc, a_takeover_names_what_it_removes);
    tcase_add_loop_test(tc, each_ending, 0, array_len(endings));
    tcase_add_loop_test(tc, each_ending_again_and_again, 0, array_len(endings));
    tcase_add_test(tc, reading_that_fails_backs_off);
    tcase_add_test(tc, an_answer_without_a_version_is_none_of_a_data_plane_api);
    tcase_add_loop_test(tc, other_credentials_are_tried_at_once_but_once, 0, 3);
    tcase_add_test(tc, other_credentials_are_tried_at_once_each_time_that_they_are_changed);
    tcase_add_loop_test(tc, credentials_that_change_all_the_time_are_no_loop, 0, 3);
    tcase_add_test(tc, a_failed_reload_is_repeated);
    tcase_add_test(tc, a_forgotten_reload_is_repeated);
    tcase_add_test(tc, a_reload_that_never_ends_is_repeated);
    tcase_add_loop_test(tc, polls_without_an_answer_are_asked_again, 0, 5);
    tcase_add_test(tc, reloads_that_always_fail_become_rare);
    tcase_add_test(tc, reloads_that_fail_after_a_refusal_become_rare_too);
    tcase_add_test(tc, pauses_begin_anew_after_success);
    tcase_add_test(tc, an_older_reload_does_not_vouch_for_a_lost_commit);
    tcase_add_test(tc, a_wish_does_not_wait_for_a_reload);
    tcase_add_test(tc, a_wish_that_reverts_during_a_reload);
    tcase_add_test(tc, a_strangers_failed_reload_is_repeated);
    tcase_add_test(tc, a_file_that_always_lags_is_not_reloaded_all_the_time);
    tcase_add_test(tc, history_failed_is_repeated);
    tcase_add_test(tc, history_pending_is_awaited_but_keeps_nothing_up);
    tcase_add_loop_test(tc, history_pending_ends, 0, 3);
    tcase_add_test(tc, history_pending_for_ever_is_given_up);
    tcase_add_loop_test(tc, history_that_cannot_be_read_now_is_asked_again, 0, 6);
    tcase_add_loop_test(tc, history_that_this_api_does_not_have_keeps_nothing_up, 0, 4);
    tcase_add_loop_test(tc, what_a_refused_begin_left_is_looked_for_until_it_was, 1, 3);
    tcase_add_loop_test(tc, dead_transactions_are_looked_for_but_need_not_be_found, 0, 6);
    tcase_add_test(tc, a_change_that_does_not_stick_is_not_hammered);
    tcase_add_test(tc, a_wish_while_our_commit_is_read_back_is_no_sign_that_it_did_not_stick);
    tcase_add_test(tc, drift_at_the_version_of_our_own_commit_is_repaired_at_once);
    tcase_add_test(tc, drift_is_repaired_and_not_put_down_to_an_old_event);
    tcase_add_loop_test(tc, a_stranger_in_each_step, 0, 8);
    tcase_add_test(tc, hold_keeps_the_last_good_servers);
    tcase_add_test(tc, hold_repeats_a_failed_reload);
    tcase_add_test(tc, hold_is_not_ready_while_the_api_is_away);
    tcase_add_loop_test(tc, latency_is_that_of_what_was_written, 0, 3);
    tcase_add_test(tc, latency_is_that_of_the_oldest_event_that_waits);
    tcase_add_test(tc, latency_is_that_of_the_oldest_event_that_a_pause_held_up);
    tcase_add_test(tc, latency_of_an_event_during_a_write_is_its_own);
    tcase_add_test(tc, refuse_writes_nothing_until_it_is_mended);
    tcase_add_test(tc, refuse_follows_the_reload_that_is_pending);
    tcase_add_test(tc, undecided_writes_nothing);
    tcase_add_loop_test(tc, a_wish_in_each_step, 0, 11);
    tcase_add_loop_test(tc, the_first_wish_in_each_step, 0, 5);
    tcase_add_loop_test(tc, a_comparison_in_each_step, 0, 11);
    tcase_add_test(tc, a_comparison_ends_every_wait);
    tcase_add_test(tc, what_was_refused_is_tried_again_when_something_changed);
    tcase_add_test(tc, what_was_refused_is_tried_again_when_the_file_changed);
    tcase_add_test(tc, conflicts_are_tried_at_once_but_not_for_ever);
    tcase_add_loop_test(tc, stop_while_nothing_is_written, 0, 6);
    tcase_add_loop_test(tc, stop_in_each_step_of_a_transaction, 0, 6);
    tcase_add_loop_test(tc, stop_while_the_api_fails, 0, 20);
    tcase_add_test(tc, stop_while_waiting);
    tcase_add_loop_test(tc, whatever_happens_it_ends_in_step, 0, 40);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* src/haproxy/instance, guard: a file whose meaning a write would change is not written to, and a harmless one is
 * looked at once. The world is engine_world.h's. */
#include "../engine_world.h"
#include "../test.h"

#define CONDITIONAL "\nfrontend f\n.if defined(X)\n  bind :1\n.endif\n"
#define TWO_RULES "\nfrontend f\n  http-request allow if A\n  http-request deny\n"
#define TURNED "\nfrontend f\n  http-request deny\n  http-request allow if A\n"
#define NEITHER "a write would change the meaning of haproxy.cfg"

static void setup(void)
{
    world_make_updates();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    w.shows_looks = true;
}

static void teardown(void)
{
    world_end();
}

/* Of a file that counts as large, which is not kept; _i of the loop tests. */
static void start_with_large(bool large)
{
    if (large)
        w.target.instance->large_file_bytes = 1;
    instance_start(w.target.instance);
    desired("n1 n2 n3", "the first list");
    pass(0);
    ck_assert((w.target.instance->readout.file == NULL) == large);
}

static void start(void)
{
    instance_start(w.target.instance);
    desired("n1 n2 n3", "the first list");
    pass(0);
}

/* By hand, which moves the version. */
static void edit(const char *more, const char *rewritten)
{
    w.file_more = more;
    w.rewritten = rewritten;
    w.file_version = w.running_version = ++w.version;
}

FIXTURE(setup, teardown)

TEST(a_harmless_file_is_looked_at_once)
{
    w.file_more = TWO_RULES;
    start();
    assert_settled("n1 n2 n3");
    assert_trace("RHL(|)");
    desired("n1 n2 n3 n4", "MODIFIED slice");
    pass(60000);
    assert_settled("n1 n2 n3 n4");
    ck_assert_uint_eq(count('('), 0);
    ck_assert_uint_eq(w.commits, 1);
    desired("n1 n2 n4", "MODIFIED slice"); /* without a reload, nor is that anybody else's */
    pass(60000);
    ck_assert_uint_eq(count('('), 0);
    ck_assert_uint_ge(count('F'), 1);
    buf_clear(&w.trace);
    edit(TWO_RULES, NULL);
    pass(60000);
    ck_assert_uint_eq(count('('), 1);
    ck_assert_uint_eq(w.transaction, 0);
}

TEST(a_file_with_a_conditional_is_not_written_to)
{
    w.file_more = CONDITIONAL;
    start();
    assert_trace("RHL");
    assert_ready(false, NEITHER);
    assert_ready(false, "lines 11, 13: a conditional, whose branches would all become active: replace it");
    ck_assert(!in_sync());
    desired("n1 n2 n3 n4", "MODIFIED slice");
    pass(600000);
    assert_configured("n1 n2 n3");
    ck_assert_uint_eq(w.transactions, 0);
    ck_assert_uint_eq(w.fast, 0);
    ck_assert_uint_eq(count('('), 0);
    ck_assert_uint_le(log_count(w.log_fd, NEITHER), 11);
    ck_assert_uint_eq(history_count(w.history), 1);
    ck_assert_str_eq(history_kind_name(history_at(w.history, 0)->kind), "apply_failed");
    ck_assert_ptr_nonnull(strstr(history_at(w.history, 0)->why, "lines 11, 13"));
    edit(NULL, NULL);
    pass(60000);
    assert_settled("n1 n2 n3 n4");
    ck_assert(logged("problem resolved"));
}

TEST(what_a_write_would_change_is_said_and_not_tried_again)
{
    w.file_more = TWO_RULES;
    w.rewritten = TURNED;
    start();
    assert_trace("RHL(|)");
    assert_ready(false, NEITHER);
    assert_ready(false, "line 11 (\"http-request allow\" of frontend f) would move behind what follows it now");
    desired("n1 n2", "MODIFIED slice");
    pass(600000);
    ck_assert_uint_eq(count('('), 0);
    ck_assert_uint_eq(w.transactions + w.fast, 0);
    assert_configured("n1 n2 n3");
    ck_assert_uint_eq(w.transaction, 0); /* deleted */
    buf_clear(&w.trace);
    edit(TURNED, NULL);
    pass(60000);
    ck_assert_uint_eq(count('('), 1);
    assert_ready(true, "in sync");
}

/* While the API is down, which begins again with the version that it finds. */
TEST(an_edit_that_moves_no_version_is_seen)
{
    w.file_more = TWO_RULES;
    w.rewritten = TURNED;
    start();
    assert_ready(false, "line 11");
    w.rewritten = NULL;
    w.file_more = TURNED;
    pass(60000);
    assert_settled("n1 n2 n3");
    ck_assert_uint_eq(count('('), 2);
    w.file_more = TWO_RULES;
    w.rewritten = TURNED;
    pass(60000);
    assert_ready(false, "line 11");
    ck_assert_uint_eq(count('('), 3);
    pass(60000);
    ck_assert_uint_eq(count('('), 3);
}

TEST_EACH(what_our_own_change_would_damage_is_not_committed, 2)
{
    w.file_more = TWO_RULES;
    w.damaged = TURNED;
    start_with_large(_i);
    assert_settled("n1 n2 n3");
    desired("n1 n2 n3 n4", "MODIFIED slice");
    pass(120000);
    ck_assert_uint_eq(w.commits, 0);
    ck_assert_uint_eq(w.transaction, 0);
    ck_assert_uint_eq(count('B'), 1);
    assert_ready(false, "\"http-request allow\" of frontend f");
    assert_configured("n1 n2 n3");
    w.damaged = NULL;
    edit(TWO_RULES, NULL);
    pass(60000);
    assert_settled("n1 n2 n3 n4");
}

TEST_EACH(the_first_commit_after_another_writers_is_looked_at, 2)
{
    w.file_more = TWO_RULES;
    start_with_large(_i);
    desired("n1 n2 n3 n4", "MODIFIED slice");
    pass(60000);
    ck_assert_uint_eq(count('|'), 2);
    desired("n1 n2 n3 n4 n5", "MODIFIED slice");
    pass(60000);
    ck_assert_uint_eq(count('|'), 2);
    ck_assert_uint_eq(w.commits, 2);
    edit(TWO_RULES, NULL);
    desired("n1 n2 n3 n4 n5 n6", "MODIFIED slice");
    pass(60000);
    ck_assert_uint_eq(count('|'), 4);
    assert_settled("n1 n2 n3 n4 n5 n6");
}

TEST(asked_to_compare_it_looks_again)
{
    w.file_more = TWO_RULES;
    w.rewritten = TURNED;
    start();
    buf_clear(&w.trace);
    instance_refresh(w.target.instance);
    pass(0);
    assert_trace("R(|)");
    assert_ready(false, "line 11");
    w.rewritten = NULL; /* another release of the API */
    instance_refresh(w.target.instance);
    pass(0);
    assert_trace("R(|)");
    assert_settled("n1 n2 n3");
}

TEST(who_drains_is_told_all_the_same)
{
    w.file_more = CONDITIONAL;
    start();
    desired("n1* n2 n3", "MODIFIED slice");
    pass(0);
    assert_running("n1! n2 n3");
    assert_configured("n1 n2 n3");
    stop();
    settle();
    ck_assert_uint_eq(w.stopped, 1);
    ck_assert_uint_eq(w.fast, 0); /* nothing is left in the file either */
    assert_configured("n1 n2 n3");
}

TEST(an_empty_commit_is_a_write)
{
    w.file_more = TWO_RULES;
    w.rewritten = TURNED;
    w.reload_list = "[{\"id\":\"r-0\",\"status\":\"failed\",\"response\":\"no\",\"reload_timestamp\":1}]";
    start();
    pass(600000);
    ck_assert_uint_eq(w.commits, 0);
    assert_ready(false, "line 11");
}

TEST_EACH(an_api_that_shows_nothing_is_believed, 2)
{
    fault((struct fault){.step = '|', .status = _i == 0 ? 404 : 400});
    w.file_more = TWO_RULES;
    start();
    assert_settled("n1 n2 n3");
    desired("n1 n2", "MODIFIED slice");
    pass(60000);
    ck_assert_uint_eq(log_count(w.log_fd, "cannot preview a write"), 1);
    ck_assert_uint_eq(count('('), 1);
    ck_assert_uint_ge(w.fast, 1);
    edit("\ndefaults\n  mode http\nbackend x\ndefaults\n  mode tcp\n", NULL);
    pass(60000);
    ck_assert_uint_eq(count('('), 1);
    assert_ready(false, "a proxy without `from` before the last of several defaults");
}

TEST(who_showed_nothing_is_asked_again_when_told_to_compare)
{
    fault((struct fault){.step = '|', .status = 404});
    w.file_more = TWO_RULES;
    start();
    assert_settled("n1 n2 n3");
    mend();
    w.rewritten = TURNED; /* another release of the API shows it */
    instance_refresh(w.target.instance);
    pass(0);
    assert_ready(false, "line 11");
}

TEST_EACH(several_defaults_are_judged_by_what_would_be_written, 2)
{
    w.file_more = "\ndefaults\n  mode http\nbackend x\n  timeout server 1s\ndefaults\n  mode tcp\nbackend y\n";
    w.rewritten =
        _i == 0 ? "\ndefaults unnamed_defaults_1\n  mode http\ndefaults unnamed_defaults_2\n  mode tcp\n"
                  "backend x from unnamed_defaults_1\n  timeout server 1s\nbackend y from unnamed_defaults_2\n"
                : "\ndefaults unnamed_defaults_1\n  mode http\ndefaults unnamed_defaults_2\n  mode tcp\nbackend x\n"
                  "  timeout server 1s\nbackend y\n";
    start();
    if (_i == 0)
        assert_settled("n1 n2 n3");
    else
        assert_ready(false, "(backend x) would inherit from defaults unnamed_defaults_2 instead of");
}

TEST(where_none_can_be_begun_nothing_is_written_but_told)
{
    fault((struct fault){.step = '(', .status = 429});
    start();
    desired("n1* n2 n3 n4", "MODIFIED slice");
    pass(60000);
    assert_running("n1! n2 n3");
    ck_assert_uint_eq(w.transactions + w.fast, 0);
    mend();
    pass(60000);
    assert_configured("n1* n2 n3 n4");
}

/* 0: applied; 1: a stranger's write came instead; 2: applied, and others have all transactions of the API. */
TEST_EACH(after_a_lost_answer_the_file_is_looked_at_where_there_is_room, 3)
{
    start();
    fault((struct fault){.step = 'F', .status = 0, .times = 1, .applied = _i != 1});
    if (_i == 2)
        fault((struct fault){.step = '(', .status = 429});
    desired("n2 n3", "DELETED slice");
    settle();
    ck_assert_uint_eq(count('('), 1);
    if (_i == 1)
        edit(TWO_RULES, TURNED);
    pass(60000);
    ck_assert_uint_ge(count('('), 2);
    assert_configured(_i == 1 ? "n1 n2 n3" : "n1* n2 n3");
    desired("n1 n2 n3", "MODIFIED slice");
    pass(60000);
    assert_configured("n1 n2 n3");
    if (_i == 1)
        assert_ready(false, NEITHER);
}

TEST(what_was_written_after_a_failed_reload_is_looked_at)
{
    w.file_version = w.running_version = w.version - 1; /* somebody's, before we came */
    start();
    pass(600000);
    assert_settled("n1 n2 n3");
    ck_assert_uint_eq(w.commits, 1);
    ck_assert_uint_eq(count('('), 1);
    ck_assert_ptr_nonnull(strstr(buf_str(&w.trace), "C"));
    ck_assert(strchr(buf_str(&w.trace), 'C') < strchr(buf_str(&w.trace), '('));
}

/* Another writer edits the file between our commit and its reload, which fails: the API puts the old file back, and has the edit. */
TEST_EACH(what_was_refused_stays_so_behind_a_failed_reload, 2)
{
    start();
    edit(_i == 0 ? CONDITIONAL : TWO_RULES, _i == 0 ? NULL : TURNED);
    pass(60000);
    assert_ready(false, NEITHER);
    w.file_version = w.running_version = w.version - 1;
    w.file_more = NULL;
    pass(60000);
    instance_refresh(w.target.instance);
    pass(600000);
    ck_assert_uint_eq(w.commits, 0);
    assert_ready(false, NEITHER);
    edit(NULL, NULL);
    pass(60000);
    assert_settled("n1 n2 n3");
}

TEST(what_passed_is_applied_again_whatever_was_put_back)
{
    start();
    w.file_version = w.running_version = w.version - 1;
    w.file_more = CONDITIONAL;
    pass(600000);
    ck_assert_uint_eq(w.commits, 1);
}

static void setup_dry_run(void)
{
    world_make_as(1, (struct plan_rules){.max_loss_percent = 100, .dry_run = true}, 0, true);
    w.shows_looks = true;
}

FIXTURE(setup_dry_run, teardown)

TEST(a_dry_run_begins_nothing)
{
    instance_start(w.target.instance);
    desired("n1 n2", "the first list");
    pass(60000);
    ck_assert_uint_eq(count('('), 0);
    edit(CONDITIONAL, NULL);
    pass(60000);
    assert_ready(false, "a conditional");
}

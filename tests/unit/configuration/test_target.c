/*
 * src/configuration/target: one HAProxy whose Data Plane API fails in some way: when it is asked again, what is said of
 * it meanwhile, and what is logged of drift.
 */
#include "target_world.h"

FIXTURE(world_begin, world_end)

TEST(what_the_api_answers_is_asked_again_with_growing_pauses)
{
    uint64_t last = 0;
    for (int i = 0; i < 4; i++) {
        ask(TRANSACTION_UNAVAILABLE, 503, -1);
        ck_assert_str_eq(failure(), "DataplaneServerError");
        ck_assert_uint_gt(configuration_view(w.c, 0).next_try_ms, clock_mono_ms());
        read_it();
        ck_assert(configuration_view(w.c, 0).away); /* the others do not wait for it */
        ck_assert(decided(w.in.engine).failed);
        uint64_t pause = asked_after();
        ck_assert_msg(pause >= 30000 && pause <= 301000 && pause > last, "pause %d is %llu", i,
                      (unsigned long long)pause);
        last = pause;
    }
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ck_assert_ptr_null(failure());
    ck_assert(would_ask() && !decided(w.in.engine).failed); /* to write it */
    ask(TRANSACTION_UNAVAILABLE, 500, -1);
    ck_assert_uint_le(asked_after(), 31000);
    ask(TRANSACTION_COMMITTED, 201, -1);
    ck_assert_ptr_null(failure());
    ck_assert_uint_eq(w.told[CONFIGURATION_VALIDATING], 5);
    ck_assert_uint_eq(w.told[CONFIGURATION_WRITING], 2);
}

/* HAProxy is asked and gets nothing; the same that it is to get is another document. */
TEST(a_trial_is_only_checked)
{
    set_trial_of(DOCUMENT "defaults d\n", NULL, true);
    ck_assert(!configuration_accepted(w.c));
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ck_assert(configuration_accepted(w.c));
    read_it();
    ck_assert(!decided(w.in.engine).replacement);
    set_document(DOCUMENT "defaults d\n");
    ck_assert(!configuration_accepted(w.c));
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ck_assert(!configuration_accepted(w.c));
    ask(TRANSACTION_COMMITTED, 201, -1);
    ck_assert(!configuration_accepted(w.c)); /* it is not known to run */
    file_is(DOCUMENT "defaults d\n");
    ck_assert_str_eq(state(), "applied");
    ck_assert(configuration_accepted(w.c));
}

/* Nor is the running HAProxy sent anything. */
TEST(a_trial_is_checked_where_no_reload_were_needed)
{
    static const char of[] = DOCUMENT "backend b\n  balance roundrobin\n  server s 127.0.0.1:80 weight %d\n";
    cleanup(mem_free_ptr) char *one = mem_printf(of, 1), *two = mem_printf(of, 2);
    set_document(one);
    is_written();
    w.in.loaded = true;
    file_is(one);
    ck_assert_str_eq(state(), "applied");
    set_trial_of(two, NULL, true);
    ask(TRANSACTION_PREVIEWED, 202, -1);
    ck_assert_str_eq(state(), "valid");
    ck_assert(!decided(w.in.engine).replacement);
}

TEST(new_bytes_and_an_operator_end_a_pause)
{
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            ask(TRANSACTION_UNAVAILABLE, 503, -1);
            if (k < 2)
                (void)asked_after();
        }
        ck_assert(!would_ask());
        if (i == 0)
            set_document(DOCUMENT "defaults d\n");
        else
            w.in.engine->ops->refresh(w.in.engine->self);
        ck_assert(would_ask());
        ck_assert_ptr_null(failure());
    }
    ask(TRANSACTION_UNAVAILABLE, 503, -1);
    ck_assert_uint_le(asked_after(), 31000);
}

TEST(an_api_that_is_back_is_asked_at_once)
{
    ask(TRANSACTION_UNAVAILABLE, 0, -1);
    ck_assert_str_eq(failure(), "ConnectionError");
    ck_assert(!would_ask());
    read_it(); /* one lost answer */
    ask(TRANSACTION_UNAVAILABLE, 0, -1);
    read_it();
    ck_assert(!would_ask());
    w.in.engine->ops->read_failed(w.in.engine->self);
    ck_assert(!would_ask());
    ck_assert(configuration_view(w.c, 0).away);
    read_it();
    ck_assert(would_ask());
    ck_assert(!configuration_view(w.c, 0).away);
}

TEST(what_cannot_be_read_has_a_class)
{
    (void)error_set_http(&w.in.problem, 401, "no");
    w.in.engine->ops->read_failed(w.in.engine->self);
    ck_assert_str_eq(failure(), "AuthError");
    ck_assert_str_eq(configuration_view(w.c, 0).reason, "no");
}

TEST(drift_is_not_repaired_while_paused)
{
    world_anew(CONFIGURATION_DRIFT_REPAIR, false);
    is_written();
    file_is(DOCUMENT);
    configuration_pause(w.c, true);
    ck_assert(configuration_view(w.c, 0).paused && store_view(w.store).paused);
    file_is("global\n");
    ck_assert_str_eq(state(), "drifted");
    ck_assert_uint_eq(times_logged("it is left so while paused"), 1);
    configuration_pause(w.c, false);
    ck_assert(!configuration_view(w.c, 0).paused && !store_view(w.store).paused);
    is_written();
    ck_assert_str_eq(state(), "written");
    /* what an earlier run said of a pause is over with the first word of the source */
    store_pause(w.store, true);
    configuration_pause(w.c, false);
    ck_assert(!store_view(w.store).paused);
}

/* Who keeps changing it does not set the pace, which is none of a new document's. */
TEST(repairs_have_growing_pauses)
{
    uint64_t pause = 0;
    world_anew(CONFIGURATION_DRIFT_REPAIR, false);
    for (int i = 0; i < 4; i++) {
        is_written();
        int64_t since = configuration_view(w.c, 0).runs_since_ms;
        file_is(DOCUMENT);
        ck_assert_str_eq(state(), "applied");
        ck_assert(i == 0 || configuration_view(w.c, 0).runs_since_ms == since);
        w.now_us += 1000000;
        file_is("global\n");
        uint64_t after = asked_after();
        ck_assert_msg(i == 0 ? after == 0 : after > pause, "repair %d after %u ms", i + 1, (unsigned)after);
        pause = after;
    }
    is_written();
    file_is(DOCUMENT);
    file_is("global\n");
    ck_assert(!would_ask());
    set_document("global\n  description two\n");
    ck_assert(would_ask());
    is_written();
    file_is("global\n  description two\n");
    file_is("global\n");
    ck_assert(would_ask());
}

TEST(drift_is_logged_by_lines_without_secrets)
{
    static const char *const lines[] = {"section=global line=\"- description other\"",
                                        "section=global line=\"+ description one\"",
                                        "section=\"userlist u\" line=\"- user a insecure-password ***\"",
                                        "section=\"userlist u\" line=\"+ user a insecure-password ***\""};
    is_written();
    file_is(DOCUMENT);
    ck_assert_str_eq(state(), "applied");
    file_is("global\n  description other # hunter3\nuserlist u\n  user a insecure-password hunter4\n");
    ck_assert_str_eq(state(), "drifted");
    for (size_t i = 0; i < array_len(lines); i++)
        ck_assert_msg(times_logged(lines[i]) == 1, "%s", lines[i]);
    ck_assert_uint_eq(times_logged("hunter"), 0);
    ck_assert_uint_eq(times_logged("haproxy.cfg differs"), 4);
    read_it(); /* the same is no news */
    ck_assert_uint_eq(times_logged("haproxy.cfg differs"), 4);
    /* of many lines some */
    struct buf many = {0};
    buf_add(&many, DOCUMENT "frontend f\n");
    for (int i = 0; i < 30; i++)
        buf_printf(&many, "  bind :%d\n", 1000 + i);
    free(w.in.file);
    w.in.file = buf_take(&many);
    log_forget(log_to_file.fd);
    read_it();
    ck_assert_uint_eq(times_logged("haproxy.cfg differs"), 20);
    ck_assert_uint_eq(times_logged("more_lines=11"), 1);
}

/* What is in the file after the failed load, and whether it is left there. */
static const struct {
    const char *file;
    enum configuration_drift drift;
    bool stays, behind;
} repaired[] = {
    {"global\n  description by-hand\n", CONFIGURATION_DRIFT_REPORT, true, false},
    {"global\n  description by-hand\n", CONFIGURATION_DRIFT_IGNORE, true, false},
    {"global\n  description by-hand\n", CONFIGURATION_DRIFT_REPAIR, false, false},
    {"# version\n" DOCUMENT, CONFIGURATION_DRIFT_REPORT, false, false},
    {"# put back by the API\nglobal\n", CONFIGURATION_DRIFT_REPORT, false, false},
    {"", CONFIGURATION_DRIFT_REPORT, false, false},
    {"global\n  description older\n", CONFIGURATION_DRIFT_REPORT, false, true}, /* which the API loaded last */
};

TEST_EACH(what_was_repaired_by_hand_is_not_replaced, array_len(repaired))
{
    world_anew(repaired[_i].drift, false);
    is_written_and_not_loaded();
    ck_assert_str_eq(state(), "restoring");
    ask(TRANSACTION_CONFLICT, 409, -1);
    put_into_file(repaired[_i].file);
    w.in.behind = repaired[_i].behind;
    w.in.engine->ops->read(w.in.engine->self);
    ck_assert_int_eq(decided(w.in.engine).replacement, !repaired[_i].stays);
    ck_assert_str_eq(state(), repaired[_i].stays ? "rejected" : "restoring");
    ck_assert_uint_eq(times_logged("the previous one is not restored"), repaired[_i].stays);
}

/* Its load failed, which nobody has said yet, and the Data Plane API has put another one back. */
TEST_EACH(what_an_api_puts_back_is_no_other_writers, 2)
{
    bool behind = _i == 0;
    is_written();
    w.in.behind = behind;
    w.in.reload = RELOAD_PENDING;
    file_is("global\n  description older\n");
    ck_assert_str_eq(state(), behind ? "written" : "drifted");
    ck_assert_uint_eq(w.told[CONFIGURATION_DRIFTED], !behind);
}

TEST_EACH(what_cannot_go_back_is_said, 2)
{
    is_written_and_not_loaded();
    ask(_i == 0 ? TRANSACTION_REJECTED : TRANSACTION_HARMFUL, 400, -1);
    ck_assert_uint_eq(times_logged("the previous configuration cannot be restored"), 1);
    ck_assert_str_eq(state(), "rejected");
    ck_assert(!decided(w.in.engine).replacement);
    w.in.engine->ops->reload_failed(w.in.engine->self, false); /* what is there cannot be loaded still */
    ask(TRANSACTION_COMMITTED, 201, -1);
    w.in.engine->ops->reload_failed(w.in.engine->self, false);
    ck_assert(!decided(w.in.engine).replacement);
}

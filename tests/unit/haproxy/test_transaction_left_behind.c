/* src/haproxy/dataplane/transaction: what a begin that was refused, a lost answer, another writer or an earlier run
 * left behind: what is deleted and when, what is left alone, and its bounds. In the words of txn_play.h. */
#include "txn_play.h"

static const char with_it[] =
    "[{\"id\":\"aaaa-bbbb\",\"status\":\"in_progress\"},{\"id\":\"cfg\",\"status\":\"in_progress\"},"
    "{\"id\":\"cccc-dddd\",\"status\":\"in_progress\"},{\"id\":\"eeee-ffff\",\"status\":\"failed\"}]";

/* Script, list, what is sent. The result is that of the begin in any case. */
static const struct {
    const char *script, *list, *trace;
    size_t held;
    bool left; /* for the next clean-up */
} refusals[] = {
    {"full 200 204", with_it, "BLX", 0, false},
    {"full 200 404", with_it, "BLX", 0, false},
    {"full 200 500", with_it, "BLX", 1, true},
    {"full 200 lost", with_it, "BLX", 1, true},
    {"full 200", "[]", "BL", 0, false},
    {"full 200", "[{\"id\":\"cccc-dddd\",\"status\":\"in_progress\"}]", "BL", 0, false},
    {"full 200", "[{\"id\":\"aaaa-bbbb\",\"status\":\"failed\"}]", "BL", 0, false},
    {"full 500", with_it, "BL", 0, true},
    {"full html", with_it, "BL", 0, true},
    {"full lost", with_it, "BL", 0, true},
};

FIXTURE(begin_machine, end_machine)

TEST_EACH(what_a_refused_begin_leaves_is_deleted, array_len(refusals))
{
    play(transaction_start(&t, 7, make_steps(1), 1), refusals[_i].script, refusals[_i].list);
    ck_assert_str_eq(trace, refusals[_i].trace);
    ck_assert_int_eq(t.result, TRANSACTION_UNAVAILABLE);
    ck_assert_uint_eq(t.held_count, refusals[_i].held);
    ck_assert_msg(strstr(t.error.message, "no space left") != NULL, "%s", t.error.message);
    ck_assert_int_eq(t.failed_in, TRANSACTION_BEGIN);
    play(transaction_start(&t, 7, make_steps(1), 1), "201 202 202", with_it);
    ck_assert_str_eq(trace, "BCK");
    ck_assert_int_eq(t.result, TRANSACTION_COMMITTED);
    ck_assert_int_eq(t.noted != NULL, refusals[_i].left); /* a commit does not clear it */
    play(transaction_start_cleanup(&t), refusals[_i].left ? "200 204 204" : "200 204", with_it);
    ck_assert_str_eq(trace, refusals[_i].left ? "LXX" : "LX"); /* the failed one, too */
    ck_assert_ptr_null(t.noted);
}

/* What the message of a refusal says of transaction aaaa-bbbb: only its file was not written. */
static const struct {
    const char *message;
    bool names_it;
} messages[] = {
    {"open /tmp/haproxy/haproxy.cfg.aaaa-bbbb: no space left on device", true},
    {"write /a place/haproxy.cfg.aaaa-bbbb3141: no space left on device", true},
    {"aaaa-bbbb: write /tmp/haproxy/haproxy.cfg.aaaa-bbbb3141: no space left on device", true},
    {"cannot write haproxy.cfg.aaaa-bbbb", true},
    {"transaction aaaa-bbbb of another writer is in the way", false},
    {"aaaa-bbbb: no space left on device", false},
    {"open /tmp/haproxy/haproxy.cfg.aaaa-bbbbcc: no space left on device", false},
    {"open /tmp/haproxy.aaaa-bbbb/haproxy.cfg: no space left on device", false},
    {"open /tmp/haproxy/haproxy.cfg-aaaa-bbbb: no space left on device", false},
    {"", false},
};

TEST_EACH(a_transaction_is_named_by_its_file, array_len(messages))
{
    transaction_note_refusal(&t, messages[_i].message);
    play(transaction_start_cleanup(&t), messages[_i].names_it ? "200 204 204" : "200 204", with_it);
    ck_assert_str_eq(trace, messages[_i].names_it ? "LXX" : "LX"); /* the failed one, too */
}

TEST(what_a_proxy_says_of_a_begin_names_nothing)
{
    struct transaction_action x = transaction_start(&t, 7, make_steps(1), 1);
    ck_assert_int_eq(x.type, TRANSACTION_SEND);
    struct dataplane_answer a = {.status = 500, .version = -1, .progress = HTTP_ANSWERED, .retry_after_ms = -1};
    a.body = "<html>write /tmp/haproxy/haproxy.cfg.aaaa-bbbb: no space left on device</html>";
    a.body_len = strlen(a.body);
    ck_assert_int_eq(transaction_answer(&t, &a).type, TRANSACTION_FINISHED);
    ck_assert_ptr_null(t.refusal);
}

TEST(what_a_refused_write_leaves_is_deleted_by_the_next_clean_up)
{
    transaction_note_refusal(&t, "HTTP 500: write /x/haproxy.cfg.aaaa-bbbb99: no space left on device");
    transaction_note_refusal(&t, "HTTP 500: write /x/haproxy.cfg.cccc-dddd7: no space left on device");
    play(transaction_start(&t, 7, make_steps(1), 1), "201 202 202", with_it); /* outlives what comes between */
    play(transaction_start_cleanup(&t), "200 204 500 204", with_it);
    ck_assert_str_eq(trace, "LXXX"); /* the two, and the failed one */
    ck_assert_uint_eq(t.held_count, 1);
    play(transaction_start(&t, 7, make_steps(1), 1), "201 202 202", with_it); /* not cleared by it */
    static const char second[] = "[{\"id\":\"cccc-dddd\",\"status\":\"in_progress\"}]";
    play(transaction_start_cleanup(&t), "200 204", second);
    ck_assert_str_eq(trace, "LX");
    ck_assert_uint_eq(t.held_count, 0);
    ck_assert_ptr_null(t.noted);
}

TEST_EACH(a_stop_while_that_is_searched_for, 3)
{
    static const struct {
        const char *script, *trace;
    } stops[] = {{"!full", "B"}, {"full !200", "BL"}, {"full 200 !204", "BLX"}};
    play(transaction_start(&t, 7, make_steps(1), 1), stops[_i].script, with_it);
    ck_assert_str_eq(trace, stops[_i].trace);
    ck_assert_int_eq(t.result, TRANSACTION_ABORTED);
}

/* The answer to the list says that the file is at version 7. */
static const struct {
    const char *list, *script, *trace, *gone;
} outlived[] = {
    {"[{\"_version\":7,\"id\":\"a\",\"status\":\"in_progress\"},{\"_version\":6,\"id\":\"b\",\"status\":\"in_"
     "progress\"},"
     "{\"_version\":1,\"id\":\"c\",\"status\":\"in_progress\"},{\"id\":\"d\",\"status\":\"in_progress\"},"
     "{\"_version\":8,\"id\":\"e\",\"status\":\"in_progress\"},{\"_version\":1,\"id\":\"g\",\"status\":\"success\"}]",
     "429 200 204 204 201 202", "BLXXBK", "b c"},
    {"[{\"_version\":6,\"id\":\"b\",\"status\":\"in_progress\"},{\"_version\":5,\"id\":\"c\",\"status\":\"in_"
     "progress\"}]",
     "429 200 404 204 429", "BLXXB", "c"},
    {"[{\"_version\":6,\"id\":\"b\",\"status\":\"in_progress\"},{\"_version\":5,\"id\":\"c\",\"status\":\"in_"
     "progress\"}]",
     "429 200 500 500", "BLXX", ""},
    /* what our own next begin leaves behind is no stranger's */
    {"[{\"_version\":6,\"id\":\"b\",\"status\":\"in_progress\"},{\"_version\":7,\"id\":\"aaaa-bbbb\",\"status\":\"in_"
     "progress\"}]",
     "429 200 204 full 200 204", "BLXBLX", "b"},
    /* what is dead anyway makes room first */
    {"[{\"_version\":6,\"id\":\"b\",\"status\":\"in_progress\"},{\"id\":\"f\",\"status\":\"failed\"}]",
     "429 200 204 201 202", "BLXBK", ""},
    /* no version, nothing is older */
    {"[{\"_version\":6,\"id\":\"b\",\"status\":\"in_progress\"}]", "429 200v-1", "BL", ""},
    {"[{\"_version\":6,\"id\":\"b\",\"status\":\"in_progress\"}]", "429 200v6", "BL", ""},
};

TEST_EACH(other_writers_that_no_commit_can_end_make_room, array_len(outlived))
{
    cleanup(buf_fini) struct buf gone = {0};
    play(transaction_start(&t, 7, NULL, 0), outlived[_i].script, outlived[_i].list);
    for (size_t i = 0; i < t.foreign_count; i++)
        buf_printf(&gone, "%s%s", i > 0 ? " " : "", t.foreign[i]);
    ck_assert_str_eq(trace, outlived[_i].trace);
    ck_assert_str_eq(buf_str(&gone), outlived[_i].gone);
    play(transaction_start_cleanup(&t), "200", "[{\"_version\":6,\"id\":\"b\",\"status\":\"in_progress\"}]");
    ck_assert_str_eq(trace, "L"); /* with room they are left alone */
    ck_assert_uint_eq(t.foreign_count, 0);
}

TEST(other_writers_are_named_and_left_alone)
{
    static const char list[] = "[{\"id\":\"a\",\"status\":\"in_progress\"},{\"id\":\"b\",\"status\":\"in_progress\"},"
                               "{\"id\":\"c\",\"status\":\"in_progress\"},{\"id\":\"d\",\"status\":\"in_progress\"},"
                               "{\"id\":\"e\",\"status\":\"success\"},{\"id\":\"g\",\"status\":\"something new\"}]";
    play(transaction_start(&t, 7, NULL, 0), "429r3 200", list);
    ck_assert_str_eq(trace, "BL");
    ck_assert_int_eq(t.result, TRANSACTION_LIMIT);
    ck_assert_int_eq(t.retry_after_ms, 3000);
    ck_assert_msg(strstr(t.error.message, "4 are in progress by other clients (a, b, c, ...)") != NULL, "%s",
                  t.error.message);
}

TEST(ours_that_stayed_behind_are_deleted_at_the_next_429)
{
    static const char list[] = "[{\"id\":\"T1\",\"status\":\"in_progress\"}]";
    play(transaction_start(&t, 7, make_steps(1), 1), "201 500 lost", list);
    ck_assert_uint_eq(t.held_count, 1);
    play(transaction_start(&t, 7, make_steps(1), 1), "429 200 204 201 202 202", list);
    ck_assert_str_eq(trace, "BLXBCK");
    ck_assert_int_eq(t.result, TRANSACTION_COMMITTED);
    ck_assert_uint_eq(t.begin_us, 20);
    ck_assert_uint_eq(t.held_count, 0);
}

/* The same one is both: left behind by us, and outdated by another writer's commit since. */
TEST(what_is_dead_twice_is_deleted_once)
{
    static const char list[] = "[{\"id\":\"T1\",\"status\":\"outdated\"}]";
    play(transaction_start(&t, 7, make_steps(1), 1), "201 500 lost", list);
    play(transaction_start_cleanup(&t), "200 204", list);
    ck_assert_str_eq(trace, "LX");
}

TEST(what_was_deleted_later_is_forgotten)
{
    static const char none[] = "[]";
    play(transaction_start(&t, 7, make_steps(1), 1), "201 500 lost", none);
    play(transaction_start(&t, 7, make_steps(1), 1), "429 200 500", none);
    ck_assert_uint_eq(t.held_count, 1);
    play(transaction_start(&t, 7, make_steps(1), 1), "429 200 204 429", none);
    ck_assert_str_eq(trace, "BLXB");
    ck_assert_uint_eq(t.held_count, 0);
    play(transaction_start(&t, 7, make_steps(1), 1), "201 500 lost", none);
    play(transaction_start_cleanup(&t), "200 404", none);
    ck_assert_str_eq(trace, "LX");
    ck_assert_uint_eq(t.held_count, 0);
}

TEST(a_commit_outdates_what_stayed_behind)
{
    play(transaction_start(&t, 7, make_steps(1), 1), "201 500 lost", "[]");
    play(transaction_start(&t, 7, NULL, 0), "201 202", "[]");
    ck_assert_uint_eq(t.held_count, 0);
}

TEST(what_stays_behind_is_bounded)
{
    for (int i = 0; i < 100; i++) {
        struct transaction_action x = transaction_start(&t, 7, make_steps(1), 1);
        struct reply r;
        make_reply(&r, "201", 'B', "[]");
        char *body = mem_printf("{\"id\":\"id%d\"}", i);
        r.a.body = body;
        r.a.body_len = strlen(body);
        (void)transaction_answer(&t, &r.a);
        make_reply(&r, "lost", 'C', "[]");
        (void)transaction_answer(&t, &r.a);
        x = transaction_answer(&t, &r.a);
        ck_assert_int_eq(x.type, TRANSACTION_FINISHED);
        free(body);
    }
    ck_assert_uint_eq(t.held_count, 32);
    play(transaction_start(&t, 7, NULL, 0), "201 202", "[]");
}

TEST(a_flood_of_dead_ones_is_bounded)
{
    cleanup(buf_fini) struct buf list = {0};
    struct reply r;
    size_t sent = 0;
    for (int i = 0; i < 5000; i++)
        buf_printf(&list, "%s{\"id\":\"%d\",\"status\":\"failed\"}", i == 0 ? "[" : ",", i);
    buf_add(&list, "]");
    struct transaction_action x = transaction_start_cleanup(&t);
    make_reply(&r, "200", 'L', list.data);
    for (; x.type == TRANSACTION_SEND; sent++) {
        x = transaction_answer(&t, &r.a);
        make_reply(&r, "204", 'X', "");
    }
    ck_assert_uint_eq(sent, 257);
    ck_assert_int_eq(t.result, TRANSACTION_CLEANED);
}

static const struct {
    const char *script, *trace;
    enum transaction_result result;
    const char *text;
} cleanups[] = {
    {"200 204 204", "LXX", TRANSACTION_CLEANED, ""},
    {"200 404 204", "LXX", TRANSACTION_CLEANED, ""},
    {"200 500 204", "LXX", TRANSACTION_CLEANED, ""},
    {"200 204 500", "LXX", TRANSACTION_CLEANED, ""},
    {"200 500 500", "LXX", TRANSACTION_UNAVAILABLE, "delete transaction o/2: HTTP 500"},
    {"200 lost", "LX", TRANSACTION_UNAVAILABLE, "delete transaction f1: lost"},
    {"200 204 lost", "LXX", TRANSACTION_UNAVAILABLE, "delete transaction o/2: lost"},
    {"200 401", "LX", TRANSACTION_UNAUTHORIZED, "HTTP 401"},
    {"401", "L", TRANSACTION_UNAUTHORIZED, "list transactions: HTTP 401"},
    {"404", "L", TRANSACTION_REJECTED, "HTTP 404"},
    {"500", "L", TRANSACTION_UNAVAILABLE, "HTTP 500"},
    {"lost", "L", TRANSACTION_UNAVAILABLE, "list transactions: lost"},
    {"html", "L", TRANSACTION_UNAVAILABLE, "HTTP 200, but the list of transactions is not JSON"},
    {"!200", "L", TRANSACTION_ABORTED, "aborted before its commit"},
    {"200 !204", "LX", TRANSACTION_ABORTED, "aborted before its commit"},
};

TEST_EACH(the_cleanup_at_start, array_len(cleanups))
{
    play(transaction_start_cleanup(&t), cleanups[_i].script, default_list);
    ck_assert_str_eq(trace, cleanups[_i].trace);
    ck_assert_msg(t.result == cleanups[_i].result, "%s: %s", cleanups[_i].script, transaction_result_name(t.result));
    ck_assert_msg(strstr(t.error.message, cleanups[_i].text) != NULL, "%s", t.error.message);
    ck_assert_int_eq(t.error.kind == ERROR_NONE, t.result == TRANSACTION_CLEANED);
}

/* The servers engine where several clusters share a backend; in the world of engine_world.h. */
#include "rules_world.h"

static const struct plan_rules of_a = {.max_loss_percent = 100,
                                       .diff = {.cluster = "a", .server_name_format = "{cluster}_{node}"}};

/* The file and the running HAProxy have these; one of a's nodes is desired. */
static void begin_shared(const char *set)
{
    world_make_as(1, of_a, 3600000, true);
    set_copy(w.have.of[0], set);
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired("n1", "the first list");
    pass(RELOAD_DELAY_MS + 1000);
    assert_settled(set);
    ck_assert_uint_eq(w.commits + w.fast, 0);
}

FIXTURE(NULL, world_end)

TEST(another_clusters_write_is_nobodys_matter)
{
    begin_shared("a_n1 b_n1");
    desired("n1 n2", "event");
    pass(RESYNC_MS);
    assert_settled("a_n1 a_n2 b_n1");
    static const char *const sets[] = {"a_n1 a_n2 b_n1 b_n2", "a_n1 a_n2 b_n2 c_n1*", "a_n1 a_n2"};
    for (size_t i = 0; i < array_len(sets); i++) {
        unsigned written = w.commits + w.fast;
        stranger(sets[i]);
        pass(RESYNC_MS + 5000);
        assert_settled(sets[i]);
        ck_assert_uint_eq(w.commits + w.fast, written);
    }
    ck_assert_uint_eq(metric_value(w.telemetry.changes_reverted, "be", API_URL, NULL), 0);
    ck_assert(!logged("drift"));
}

TEST(it_goes_by_a_reading_of_that_moment)
{
    begin_shared("a_n1 b_n1");
    w.failing = "b_n1,"; /* nobody has read that yet */
    buf_clear(&w.trace);
    desired("", "no endpoint");
    pass(1000);
    ck_assert_msg(count('R') > 0 || count('F') == 0, "%s", buf_str(&w.trace));
    ck_assert_str_eq(w.have.of[0], "a_n1 b_n1");
    assert_ready(true,
                 "no other cluster has a server in this backend that is UP, so the last servers of cluster a stay (1)");
    w.failing = NULL;
    pass(RESYNC_MS + 1000);
    ck_assert_str_eq(w.have.of[0], "a_n1* b_n1");
    ck_assert(in_sync());
}

/* The other one's last server leaves between the reading and the write. */
TEST(it_stays_where_the_others_last_one_went_first)
{
    begin_shared("a_n1 b_n1");
    desired("", "no endpoint");
    until('F');
    set_copy(w.have.of[0], "a_n1 b_n1*");
    w.file = w.running = w.have;
    w.file_version = w.running_version = ++w.version;
    pass(5000);
    ck_assert_str_eq(w.have.of[0], "a_n1 b_n1*");
    ck_assert_str_eq(w.running.of[0], "a_n1 b_n1*");
    assert_ready(true, "so the last servers of cluster a stay (1)");
}

/* src/daemon/etcd/load_balancers: the list of those that say how they stand, against a model of etcd. */
#include "etcd_model.h"

#include "base/log.h"
#include "configuration/culprits.h"
#include "daemon/etcd/load_balancers.h"
#include "report/metric_table.h"
#include "settings/settings.h"

#include "../../log_file.h"

#define STATUS "/lb/x/status/"

static struct {
    struct daemon in;
    struct metric_table metrics;
    unsigned heard; /* changes */
    struct etcd_client client;
    struct settings settings;
    struct log log;
    struct load_balancers *list;
} l;

static void on_changed(void *arg)
{
    ++*(unsigned *)arg;
}

static void begin(unsigned seed)
{
    static char path[] = "/lb/x";
    memset(&l, 0, sizeof(l));
    model_begin(seed);
    l.settings.etcd.path = path;
    l.log.fd = -1;
    l.in = (struct daemon){.settings = &l.settings, .metrics = &l.metrics, .log = &l.log};
    l.list = load_balancers_new(&l.in, &l.client, on_changed, &l.heard);
}

static void end(void)
{
    load_balancers_free(l.list);
    model_end();
}

/* Its own name in there is another one. */
static void say(const char *name, unsigned long long version, const char *state)
{
    cleanup(mem_free_ptr) char *key = mem_printf(STATUS "%s", name);
    cleanup(mem_free_ptr) char *value =
        mem_printf("{\"name\":\"liar\",\"version\":%llu,\"state\":\"%s\"}", version, state);
    model_put(1, key, value);
}

static void go(const char *name)
{
    cleanup(mem_free_ptr) char *key = mem_printf(STATUS "%s", name);
    model_delete(1, key, false);
}

/* "a=1,b=7": names with their versions. */
static void check_list(const char *expected)
{
    cleanup(buf_fini) struct buf is = {0};
    size_t count;
    const struct load_balancer *list = load_balancers_list(l.list, &count);
    for (size_t i = 0; i < count; i++) {
        const struct load_balancer *one = &list[i];
        buf_printf(&is, "%s%s=%llu", i > 0 ? "," : "", one->name, (unsigned long long)one->version);
    }
    ck_assert_str_eq(buf_str(&is), expected);
}

static const struct {
    enum load_balancer_state state, stands;
    uint64_t version, published;
} stands[] = {
    {LOAD_BALANCER_IN_SYNC, LOAD_BALANCER_IN_SYNC, 3, 3}, {LOAD_BALANCER_IN_SYNC, LOAD_BALANCER_BEHIND, 2, 3},
    {LOAD_BALANCER_IN_SYNC, LOAD_BALANCER_IN_SYNC, 2, 0}, {LOAD_BALANCER_BEHIND, LOAD_BALANCER_BEHIND, 3, 3},
    {LOAD_BALANCER_FAILED, LOAD_BALANCER_FAILED, 2, 3},
};

TEST_EACH(of_an_older_version_it_is_behind, array_len(stands))
{
    const struct load_balancer one = {.state = stands[_i].state, .version = stands[_i].version};
    ck_assert_int_eq((int)load_balancer_stands(&one, stands[_i].published), (int)stands[_i].stands);
}

/* Each is a version that it has read, with what it says of it: a in sync, v accepted, o in sync with another one (its operator's), w behind,
 * r refused, f failed otherwise. Version 7 is judged. */
static const struct {
    const char *said, *waiting, *at_last; /* "yes", "no", "": not decided */
} verdicts[] = {
    {"", "", ""},
    {"7a", "yes", "yes"},
    {"7r", "no", "no"},
    {"7r 7r", "no", "no"},
    {"7a 7r", "yes", "yes"}, /* one has a wrong HAProxy */
    {"7a 7r 7r", "no", "no"},
    {"7a 7a 7r", "yes", "yes"},
    {"7r 6a", "", "no"}, /* the other one is asked, too */
    {"7r 7w", "", "no"},
    {"7r 6w", "", "no"},
    {"7r 6r", "", "no"}, /* this one does not know the new one yet */
    {"7r 8a", "", "no"},
    {"7r 7r 6a", "no", "no"},
    {"7a 6a", "yes", "yes"},
    {"7a 6a 6a", "", "yes"},
    {"7r 7f", "no", "no"}, /* that cannot say */
    {"7r 6f", "no", "no"},
    {"7r 7o", "no", "no"},
    {"7a 7f 7f 7o", "yes", "yes"},
    {"6a 6v 7w 7f 7o 5r", "", ""},
    {"7v 7r", "yes", "yes"}, /* it was only to be checked */
    {"7v 7r 7r", "no", "no"},
};

static void check_verdict(const char *expected, bool waits)
{
    struct culprits_verdict v = {0};
    bool decided = load_balancers_judge(l.list, 7, "ab", waits, &v);
    ck_assert_str_eq(!decided ? "" : v.accepted ? "yes" : "no", expected);
    ck_assert(!decided || v.accepted ? v.why == NULL : str_has_prefix(v.why, "no, says lb"));
}

FIXTURE(NULL, end)

TEST_EACH(half_of_them_accept_and_more_refuse, array_len(verdicts))
{
    begin(6);
    const char *at = verdicts[_i].said;
    for (unsigned n = 0; *at != '\0'; n++, at += at[2] == ' ' ? 3 : 2) {
        cleanup(mem_free_ptr) char *key = mem_printf(STATUS "lb%u", n);
        cleanup(mem_free_ptr) char *refused = at[1] == 'r' ? mem_printf("no, says lb%u", n) : mem_strdup("");
        cleanup(mem_free_ptr) char *value =
            mem_printf("{\"version\":%c,\"state\":\"%s\",\"sha256\":\"%s\",\"accepted\":%s,\"refused\":\"%s\"}", at[0],
                       strchr("ao", at[1])   ? "in_sync"
                       : strchr("vw", at[1]) ? "behind"
                                             : "failed",
                       at[1] == 'a' ? "ab" : "cd", at[1] == 'v' ? "true" : "false", refused);
        model_put(1, key, value);
    }
    load_balancers_start(l.list);
    model_pass(1000);
    check_verdict(verdicts[_i].waiting, true);
    check_verdict(verdicts[_i].at_last, false);
}

TEST(who_listens_hears_of_each_change)
{
    begin(7);
    load_balancers_start(l.list);
    model_pass(1000);
    ck_assert_uint_eq(l.heard, 1);
    say("a", 1, "in_sync");
    model_pass(1000);
    go("a");
    model_pass(1000);
    ck_assert_uint_eq(l.heard, 3);
}

TEST(they_are_read_and_then_followed)
{
    begin(1);
    say("b", 2, "in_sync");
    say("a", 1, "in_sync");
    model_put(1, "/lb/x/statusless", "{\"state\":\"failed\"}");
    check_list("");
    load_balancers_start(l.list);
    model_pass(1000);
    check_list("a=1,b=2");
    say("c", 3, "failed");
    say("a", 4, "behind");
    model_pass(1000);
    check_list("a=4,b=2,c=3");
    go("b");
    model_pass(1000);
    check_list("a=4,c=3");
    log_begin();
    l.log.fd = log_to_file.fd;
    for (int times = 0; times < 3; times++) { /* which nobody is to fill the log with */
        model_put(1, STATUS "a", "nonsense");
        model_pass(1000);
        check_list("c=3");
    }
    ck_assert_uint_eq(times_logged("cannot read the state of a load balancer"), 1);
    l.log.fd = -1;
    log_end();
    load_balancers_stop(l.list);
    go("c");
    say("d", 1, "in_sync");
    model_pass(1000);
    check_list("c=3");
    load_balancers_start(l.list);
    model_pass(1000);
    check_list("d=1");
}

TEST(one_whose_lease_ends_is_gone)
{
    begin(2);
    load_balancers_start(l.list);
    w.leases[0] = (struct lease){.id = 7, .ttl_ms = 60000, .ends_ms = now_ms() + 60000};
    w.revision++;
    model_cell(1, STATUS "a", "{\"state\":\"in_sync\",\"version\":1}", 31, 7);
    model_pass(50000);
    check_list("a=1");
    model_pass(20000);
    check_list("");
}

TEST(a_failure_and_a_compaction_are_no_end)
{
    begin(5);
    w.away = true;
    load_balancers_start(l.list);
    model_pass(1000);
    w.away = false;
    say("a", 1, "in_sync");
    model_pass(20000);
    check_list("a=1");
    watch_break(w.watches[0]);
    say("b", 2, "in_sync"), say("a", 3, "in_sync");
    model_compact(w.revision);
    model_pass(20000);
    check_list("a=3,b=2");
}

TEST(they_are_counted)
{
    struct metric_table *t = &l.metrics;
    begin(3);
    metric_table_init(t, "test");
    say("a", 3, "in_sync"), say("b", 2, "in_sync"), say("c", 3, "failed"), say("d", 3, "in_sync");
    load_balancers_start(l.list);
    model_pass(1000);
    load_balancers_measure(l.list, 3);
    ck_assert_double_eq(metric_value(t->load_balancers, "in_sync", NULL), 2);
    ck_assert_double_eq(metric_value(t->load_balancers, "behind", NULL), 1);
    ck_assert_double_eq(metric_value(t->load_balancers, "failed", NULL), 1);
    go("c");
    model_pass(1000);
    load_balancers_measure(l.list, 3);
    ck_assert_double_eq(metric_value(t->load_balancers, "failed", NULL), 0);
    metric_table_fini(t);
}

TEST(there_is_an_end_to_what_is_shown)
{
    begin(4);
    for (int i = 0; i < LOAD_BALANCERS_MAX + 2; i++) {
        w.rows = mem_resize(w.rows, w.row_count + 1, sizeof(w.rows[0]));
        struct row *r = &w.rows[w.row_count++];
        *r = (struct row){.key = mem_printf(STATUS "%05d", i), .cells = mem_array(1, sizeof(*r->cells)), .count = 1};
        r->cells[0] =
            (struct cell){.revision = 1, .create = 1, .value = mem_strdup("{\"state\":\"failed\"}"), .len = 18};
    }
    load_balancers_start(l.list);
    model_pass(1000);
    size_t count;
    (void)load_balancers_list(l.list, &count);
    ck_assert_uint_eq(count, LOAD_BALANCERS_MAX);
    say("00005", 7, "failed"); /* one that is there is followed */
    model_pass(1000);
    ck_assert_uint_eq(load_balancers_list(l.list, &count)[5].version, 7);
}

/* src/daemon/etcd/etcd_report: what a load balancer says of itself, at an etcd in memory. */
#include "etcd_model.h"

#include "base/log.h"
#include "configuration/configuration.h"
#include "configuration/culprits.h"
#include "configuration/load_balancer.h"
#include "daemon/etcd/etcd_report.h"
#include "daemon/etcd/etcd_source.h"
#include "settings/settings.h"

#define KEY "/lb/x/status/lb-1"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define MINUTE_MS 60000

static struct {
    struct daemon in;
    struct etcd_client client;
    struct settings settings;
    struct settings_dataplane dataplanes[3];
    struct configuration_view views[3];
    uint64_t version;
    const char *problem;
    const struct culprits_verdict *verdict;
    struct log log;
    struct etcd_report *report;
    unsigned puts;
} r;

struct configuration_view configuration_view(const struct configuration *c, size_t target)
{
    return r.views[target];
}

uint64_t etcd_source_version(const struct etcd_source *s)
{
    return r.version;
}

const char *etcd_source_problem(const struct etcd_source *s)
{
    return r.problem;
}

static const struct configuration *const leading = (const struct configuration *)&r;

static void on_written(int who, int64_t revision)
{
    r.puts += model_at(KEY) != NULL && model_at(KEY)->revision == revision;
}

static void begin(unsigned seed, size_t haproxies)
{
    static char path[] = "/lb/x", name[] = "lb-1", urls[3][9] = {"http://a", "http://b", "http://c"};
    memset(&r, 0, sizeof(r));
    model_begin(seed);
    w.written = on_written;
    r.settings.etcd.path = path;
    r.settings.etcd.name = name;
    r.settings.dataplanes = r.dataplanes;
    r.settings.dataplane_count = haproxies;
    r.log.fd = -1;
    r.version = 1;
    for (size_t i = 0; i < array_len(r.dataplanes); i++) {
        r.dataplanes[i].url = urls[i];
        r.views[i] = (struct configuration_view){.state = "applied", .runs = HASH};
    }
    r.in = (struct daemon){.settings = &r.settings, .log = &r.log};
    r.report = etcd_report_new(&r.in, &r.client, NULL);
    etcd_report_lead(r.report, leading);
}

static void end(void)
{
    etcd_report_free(r.report);
    model_end();
}

static void poke(void)
{
    etcd_report_poke(r.report, r.verdict);
}

static void is_now(const char *state)
{
    r.views[0].state = state;
    poke();
}

/* As it lies there. */
static struct load_balancer said(void)
{
    struct load_balancer l = {0};
    const struct cell *c = model_at(KEY);
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_nonnull(lease_find(c->lease));
    ck_assert_msg(load_balancer_parse(c->value, c->len, &l, &flaw) == 0, "%s", flaw.message);
    return l;
}

static void check_said(enum load_balancer_state state, const char *reason)
{
    cleanup(load_balancer_fini) struct load_balancer l = said();
    ck_assert_str_eq(load_balancer_state_name(l.state), load_balancer_state_name(state));
    ck_assert_str_eq(l.reason, reason);
    ck_assert_uint_eq(l.version, r.version);
    ck_assert_str_eq(l.name, "lb-1");
}

FIXTURE(NULL, end)

TEST(it_is_said_once_and_kept_alive)
{
    begin(1, 1);
    model_pass(10 * MINUTE_MS);
    check_said(LOAD_BALANCER_IN_SYNC, "");
    ck_assert_uint_eq(r.puts, 1);
    ck_assert_uint_eq(w.asked[ASK_GRANT], 1);
    ck_assert_uint_ge(w.asked[ASK_KEEP_ALIVE], 25);
    ck_assert_uint_le(w.asked[ASK_KEEP_ALIVE], 31);
    poke();
    model_pass(MINUTE_MS);
    ck_assert_uint_eq(r.puts, 1);
    etcd_report_free(r.report); /* and is gone with its lease */
    r.report = NULL;
    model_pass(2 * MINUTE_MS);
    ck_assert_ptr_null(model_at(KEY));
}

TEST(less_than_three_seconds_behind_is_not_said)
{
    begin(2, 1);
    model_pass(MINUTE_MS);
    is_now("written");
    model_pass(2000);
    r.version = 2;
    is_now("applied");
    model_pass(2000);
    check_said(LOAD_BALANCER_IN_SYNC, "");
    ck_assert_uint_eq(r.puts, 2);
    is_now("written");
    model_pass(2800);
    ck_assert_uint_eq(r.puts, 2);
    model_pass(1000);
    ck_assert_uint_eq(r.puts, 3);
    check_said(LOAD_BALANCER_BEHIND, "");
}

/* Since when is that of the state, not of what is said of it. */
TEST(since_is_when_the_state_began)
{
    begin(3, 1);
    r.views[0] = (struct configuration_view){.state = "rejected", .reason = "one", .runs = HASH};
    model_pass(1000);
    struct load_balancer first = said();
    r.views[0].reason = "two";
    model_pass(MINUTE_MS);
    struct load_balancer second = said();
    ck_assert_str_eq(second.reason, "two");
    ck_assert_int_eq(second.since_ms, first.since_ms);
    is_now("applied");
    model_pass(1000);
    struct load_balancer third = said();
    ck_assert_int_gt(third.since_ms, first.since_ms);
    load_balancer_fini(&first);
    load_balancer_fini(&second);
    load_balancer_fini(&third);
}

static const struct {
    struct culprits_verdict v;
    bool known;
    const char *problem;
    bool accepted;
    const char *refused;
} verdicts[] = {
    {{.why = NULL}, false, NULL, false, ""},
    {{.accepted = true}, true, NULL, true, ""},
    {{.why = "line 7: no"}, true, NULL, false, "line 7: no"},
    {{.accepted = true}, true, "a part is missing", false, ""},
    {{.why = "line 7: no"}, true, "a part is missing", false, ""},
};

/* Of what can be read; and at once, also of what is never loaded, as it is only to be checked. */
TEST_EACH(what_became_of_it_is_said, array_len(verdicts))
{
    begin(9, 1);
    r.views[0].state = "valid";
    model_pass(MINUTE_MS);
    r.problem = verdicts[_i].problem;
    r.verdict = verdicts[_i].known ? &verdicts[_i].v : NULL;
    r.version = 2;
    is_now(verdicts[_i].refused[0] != '\0' ? "rejected" : "valid");
    model_pass(1000);
    struct load_balancer l = said();
    ck_assert_int_eq(l.accepted, verdicts[_i].accepted);
    ck_assert_str_eq(l.refused, verdicts[_i].refused);
    ck_assert_uint_eq(l.version, 2);
    load_balancer_fini(&l);
}

TEST(a_check_that_took_a_moment_is_said_at_once)
{
    static const struct culprits_verdict accepted = {.accepted = true};
    begin(10, 1);
    model_pass(MINUTE_MS);
    is_now("valid");
    r.verdict = &accepted;
    poke();
    model_pass(1000);
    check_said(LOAD_BALANCER_BEHIND, "");
}

static const struct {
    const char *states, *runs[3],
        *problem; /* a applied, w written, r rejected, f failed and tried again, d withdrawn, x away, o overtaken */
    enum load_balancer_state state;
    const char *reason, *sha256;
} worst[] = {
    {"a", {HASH}, NULL, LOAD_BALANCER_IN_SYNC, "", HASH},
    {"aaa", {HASH, HASH, HASH}, NULL, LOAD_BALANCER_IN_SYNC, "", HASH},
    {"aaw", {HASH, HASH, HASH}, NULL, LOAD_BALANCER_BEHIND, "w2", HASH},
    {"wwa", {HASH, OTHER, OTHER}, NULL, LOAD_BALANCER_BEHIND, "w0", ""},
    {"awr", {HASH, HASH, OTHER}, NULL, LOAD_BALANCER_FAILED, "r2", ""},
    {"rra", {HASH, NULL, HASH}, NULL, LOAD_BALANCER_FAILED, "r0", ""},
    {"af", {HASH, HASH}, NULL, LOAD_BALANCER_FAILED, "f1", HASH},
    {"ad", {HASH, HASH}, NULL, LOAD_BALANCER_FAILED, "the evidence", HASH},
    {"o", {HASH}, NULL, LOAD_BALANCER_BEHIND, "o0", HASH},
    {"xa", {HASH, HASH}, NULL, LOAD_BALANCER_FAILED, "HAProxy does not answer", HASH},
    {"a", {NULL}, NULL, LOAD_BALANCER_IN_SYNC, "", ""},
    {"ar", {HASH, HASH}, "a part is missing", LOAD_BALANCER_FAILED, "a part is missing", HASH},
};

TEST_EACH(the_worst_of_several_counts, array_len(worst))
{
    static const char *const texts[3] = {"0", "1", "2"};
    size_t count = strlen(worst[_i].states);
    char *reasons[3] = {NULL, NULL, NULL};
    begin(4, count);
    r.problem = worst[_i].problem;
    for (size_t i = 0; i < count; i++) {
        char what = worst[_i].states[i];
        reasons[i] = mem_printf("%c%s", what, texts[i]);
        r.views[i] = (struct configuration_view){.state = what == 'w'   ? "written"
                                                          : what == 'r' ? "rejected"
                                                                        : "applied",
                                                 .runs = worst[_i].runs[i],
                                                 .reason = what == 'd' || what == 'x' ? NULL : reasons[i],
                                                 .evidence = what == 'd' ? "the evidence" : NULL,
                                                 .withdrawn = what == 'd' ? OTHER : NULL,
                                                 .overtaken = what == 'o',
                                                 .failure = what == 'f' ? "network" : NULL,
                                                 .away = what == 'x'};
    }
    model_pass(10000);
    check_said(worst[_i].state, worst[_i].reason);
    struct load_balancer l = said();
    ck_assert_str_eq(l.sha256, worst[_i].sha256);
    ck_assert_uint_eq(l.haproxy_count, count);
    ck_assert_str_eq(l.haproxies[count - 1], r.dataplanes[count - 1].url);
    load_balancer_fini(&l);
    for (size_t i = 0; i < count; i++)
        free(reasons[i]);
}

TEST(what_was_lost_with_its_lease_is_said_again)
{
    begin(5, 1);
    model_pass(MINUTE_MS);
    w.away = true;
    model_pass(3 * MINUTE_MS);
    ck_assert_ptr_null(model_at(KEY));
    w.away = false;
    model_pass(20000);
    check_said(LOAD_BALANCER_IN_SYNC, "");
}

/* An operator revoked it: a put that names it fails. */
TEST(a_lease_that_is_gone_is_asked_for_anew)
{
    begin(6, 1);
    model_pass(1000);
    lease_end(lease_find(w.last_lease));
    is_now("rejected");
    model_pass(10000);
    check_said(LOAD_BALANCER_FAILED, "");
    ck_assert_uint_eq(w.asked[ASK_GRANT], 2);
}

/* It was carried out, and that was not answered: what lies there is not what was said before. */
TEST(a_lost_answer_leaves_nothing_old)
{
    begin(7, 1);
    model_pass(1000);
    for (unsigned i = 0; i < 20; i++) {
        r.views[0].reason = "one";
        is_now("rejected");
        model_pass(MINUTE_MS);
        w.lost_one_in = 1;
        r.views[0].reason = "two";
        is_now("rejected");
        model_pass(1000);
        w.lost_one_in = 0;
        r.views[0].reason = "one";
        is_now("rejected");
        model_pass(MINUTE_MS);
        check_said(LOAD_BALANCER_FAILED, "one");
    }
}

/* Another one, which led meanwhile, has said something else there. */
TEST(who_leads_again_says_it_again)
{
    begin(8, 1);
    model_pass(1000);
    etcd_report_lead(r.report, NULL);
    poke();
    model_put(1, KEY, "another one's");
    model_pass(1000);
    ck_assert_str_eq(model_at(KEY)->value, "another one's");
    etcd_report_lead(r.report, leading);
    model_pass(1000);
    check_said(LOAD_BALANCER_IN_SYNC, "");
}

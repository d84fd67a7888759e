/* src/servers/change/plan: verdicts, the loss limit, and what keeps us from writing; what the differences are is servers/change/diff's test. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "diff_text.h"
#include "servers/change/plan.h"

#include "../../test.h"

#define N1 "server n1 " GOOD
#define PERIOD_MS 60000
#define W(n) "n" #n " 10.0.0." #n ":80" /* a wished server */

static struct plan_rules make_rules(void)
{
    return (struct plan_rules){.diff = {DEFAULTS}, .max_loss_percent = 50, .loss_window_ms = PERIOD_MS};
}

static void make_backend(struct backend *b, const char *lines)
{
    cleanup(mem_free_ptr) char *text = mem_printf(SETTINGS "%s", lines);
    text_backend(b, "be", text);
}

/* "?": not synced, "!": undecided; otherwise as text_desired. */
static void make_desired(struct desired *d, const char *text)
{
    bool unknown = strcmp(text, "?") == 0, undecided = strcmp(text, "!") == 0;
    text_desired(d, unknown || undecided ? "" : text);
    if (unknown || undecided)
        d->state = unknown ? DESIRED_NOT_SYNCED : DESIRED_UNDECIDED;
}

static const struct {
    const char *what, *backend, *desired;
    bool dirty;
    enum plan_verdict verdict;
} rows[] = {
    {"not synced", N1, "?", false, PLAN_WAIT},
    {"not synced, dirty", N1, "?", true, PLAN_WAIT},
    {"undecided", N1, "!", true, PLAN_WAIT},
    {"same", N1, "n1 10.0.0.1:80", false, PLAN_IN_SYNC},
    {"same, dirty", N1, "n1 10.0.0.1:80", true, PLAN_RELOAD_AGAIN},
    {"other address", N1, "n1 10.0.0.2:80", false, PLAN_WRITE},
    {"other address, dirty", N1, "n1 10.0.0.2:80", true, PLAN_WRITE},
    {"first server", "", "n1 10.0.0.1:80", false, PLAN_WRITE},
    {"empty", N1, "", false, PLAN_NO_ENDPOINT},
    {"empty, dirty", N1, "", true, PLAN_RELOAD_AGAIN},
    {"no backend", "missing", "n1 10.0.0.1:80", false, PLAN_REFUSE},
    {"no backend, dirty", "missing", "n1 10.0.0.1:80", true, PLAN_REFUSE},
};

TEST_EACH(verdicts, array_len(rows))
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend actual;
    struct desired desired;
    struct plan plan;
    make_backend(&actual, rows[_i].backend);
    make_desired(&desired, rows[_i].desired);
    plan_make(&actual, &desired, &rules, rows[_i].dirty, &loss_limit, 1000, &plan);
    ck_assert_msg(plan.verdict == rows[_i].verdict, "%s: %d", rows[_i].what, plan.verdict);
    if (plan.verdict == PLAN_WAIT || plan.verdict == PLAN_NO_ENDPOINT || plan.verdict == PLAN_REFUSE)
        ck_assert_msg(!str_empty(plan.why), "%s: no reason", rows[_i].what);
    if (plan.verdict == PLAN_WAIT)
        ck_assert_uint_eq(plan.diff.change_count, 0);
    ck_assert_uint_eq(plan.held_back, 0);
    ck_assert_ptr_null(plan.delayed_names);
    ck_assert_uint_eq(plan.delayed_until_ms, 0);
    plan_fini(&plan);
    plan_fini(&plan);
    backend_fini(&actual);
    desired_fini(&desired);
}

/* Whatever there is to be written, paused or not, dirty or not; what is waited for is waited for. */
TEST_EACH(a_file_that_a_write_would_damage, array_len(rows))
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend actual;
    struct desired desired;
    struct plan plan;
    rules.file_problem = "line 3";
    rules.dry_run = _i % 2 == 1;
    make_backend(&actual, rows[_i].backend);
    make_desired(&desired, rows[_i].desired);
    plan_make(&actual, &desired, &rules, rows[_i].dirty, &loss_limit, 1000, &plan);
    bool waits = rows[_i].verdict == PLAN_WAIT;
    ck_assert_msg(plan.verdict == (waits ? PLAN_WAIT : PLAN_REFUSE), "%s: %d", rows[_i].what, plan.verdict);
    if (!waits && plan.diff.verdict != DIFF_REFUSE)
        ck_assert_str_eq(plan.why, "a write would change the meaning of haproxy.cfg: line 3");
    plan_fini(&plan);
    backend_fini(&actual);
    desired_fini(&desired);
}

/* What the file lacks, or has more than the API shows, and what that means for a write. */
static const struct {
    const char *text;
    bool only_shown, dirty;
    enum plan_verdict verdict;
} strange[] = {
    {"backend be", true, false, PLAN_REFUSE},
    {"backend be", true, true, PLAN_RELOAD_AGAIN},
    {"server x 10.0.0.9:1 check odd", false, false, PLAN_REFUSE},
    {"server x 10.0.0.9:1 check odd", false, true, PLAN_REFUSE},
    {"server n2 10.0.0.2:80 check weight 100", false, false, PLAN_WRITE},
    {"server n2 10.0.0.2:80 check weight 100 send-proxy-v2", false, false, PLAN_WRITE},
    {"server n2 10.0.0.2:80", false, false, PLAN_WRITE},
    {"server n2 10.0.0.2:800 check", false, false, PLAN_REFUSE},
    {"server n2 10.0.0.2:80 check inter 5s", false, false, PLAN_REFUSE},
    {"server n2 10.0.0.2:80 checks", false, false, PLAN_REFUSE},
    {"server n2 10.0.0.3:80 check", false, false, PLAN_REFUSE},
    {"server n1 10.0.0.1:80 check", false, false, PLAN_REFUSE}, /* shown: then it is here for another reason */
};

TEST_EACH(strange_lines, array_len(strange))
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    cleanup(mem_free_ptr) char *lines = mem_printf(N1 "\nalien 9 %s|because", strange[_i].text);
    struct backend actual;
    struct desired desired;
    struct plan plan;
    make_backend(&actual, lines);
    make_desired(&desired, "n1 10.0.0.1:80; n2 10.0.0.2:80");
    actual.unsupported[0].only_shown = strange[_i].only_shown;
    plan_make(&actual, &desired, &rules, strange[_i].dirty, &loss_limit, 1000, &plan);
    ck_assert_msg(plan.verdict == strange[_i].verdict, "%s: %d", strange[_i].text, plan.verdict);
    plan_fini(&plan);
    backend_fini(&actual);
    desired_fini(&desired);
}

TEST(lines_of_a_backend_that_is_not_there)
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend actual;
    struct desired desired;
    struct plan plan;
    make_backend(&actual, "missing\nalien 9 backend be|because");
    make_desired(&desired, W(1));
    actual.unsupported[0].only_shown = true;
    plan_make(&actual, &desired, &rules, true, &loss_limit, 1000, &plan);
    ck_assert_int_eq(plan.verdict, PLAN_REFUSE);
    plan_fini(&plan);
    backend_fini(&actual);
    desired_fini(&desired);
}

/* ---- the loss limit, a pause, a dry run ---- */

#define SERVER(n) "server n" #n " 10.0.0." #n ":80 check weight 100\n"
#define FOUR SERVER(1) SERVER(2) SERVER(3) SERVER(4)
#define TEN FOUR SERVER(5) SERVER(6) SERVER(7) SERVER(8) SERVER(9) "server n10 10.0.0.10:80 check weight 100\n"
#define DESIRED_FOUR W(1) "; " W(2) "; " W(3) "; " W(4)
#define LOSES_THREE                                                                                                  \
    "3 of 4 live servers lost unannounced within one RESYNC_PERIOD exceed MAX_LOSS_PERCENT=50; the removal of each " \
    "beyond "                                                                                                        \
    "that is delayed"
#define PAUSED "the Service has the annotation haproxy-k8s-sync/paused"
#define DRY "DRY_RUN=true: nothing is written"

/* With what besides make_rules(). */
enum with {
    PLAIN = 0,
    DIRTY = 1,
    PAUSE = 2,
    DRY_RUN = 4,
    ALLOW_EMPTY = 8,
    NO_LOSS_LIMIT = 16,
    STRICT = 32,
    LEASTCONN = 64
};

static const struct {
    const char *what, *backend, *desired;
    unsigned with;
    enum plan_verdict verdict;
    const char *updates; /* names, "+n5 -n1", "=" for settings */
    const char *held;    /* names; NULL: none */
    const char *why;     /* parts between '|'; NULL: none; "!PART": not in it */
} brakes[] = {
    {"few go", FOUR, W(1) "; " W(2), PLAIN, PLAN_WRITE, "-n3 -n4", NULL, NULL},
    {"too many go", FOUR, W(1), PLAIN, PLAN_LOSS_LIMIT, "", "n2, n3, n4", LOSES_THREE "|RESYNC_PERIOD"},
    {"any is too many", FOUR, W(1) "; " W(2) "; " W(3), STRICT, PLAN_LOSS_LIMIT, "", "n4",
     "1 of 4|MAX_LOSS_PERCENT=0;"},
    {"five names are all of them", TEN, DESIRED_FOUR "; " W(5), STRICT, PLAN_LOSS_LIMIT, "", "n10, n6, n7, n8, n9",
     "5 of 10"},
    {"no brake", FOUR, W(1), NO_LOSS_LIMIT, PLAN_WRITE, "-n2 -n3 -n4", NULL, NULL},
    {"others come at once", FOUR, W(1) "; " W(5), PLAIN, PLAN_WRITE, "+n5", "n2, n3, n4", LOSES_THREE},
    {"all are others", FOUR, W(5) "; " W(6), PLAIN, PLAN_WRITE, "+n5 +n6", "n1, n2, n3, n4", "4 of 4 live servers"},
    {"others change at once", FOUR, "n1 10.0.0.9:80", PLAIN, PLAN_WRITE, "~n1", "n2, n3, n4", LOSES_THREE},
    {"settings, too", FOUR, W(1), LEASTCONN, PLAN_WRITE, "=", "n2, n3, n4", LOSES_THREE},
    {"a new address is no loss", FOUR, "n1 10.1.0.1:80; n2 10.1.0.2:80; n3 10.1.0.3:80; n4 10.1.0.4:80", PLAIN,
     PLAN_WRITE, "~n1 ~n2 ~n3 ~n4", NULL, NULL},
    {"announced ones do not count", FOUR,
     W(1) "; out n2 announced its pod ended; out n3 announced its node goes; out n4 its node is not known", PLAIN,
     PLAN_WRITE, "-n2 -n3 -n4", NULL, NULL},
    {"but go, where others are held", TEN, W(1) "; out n2 announced its node goes", PLAIN, PLAN_WRITE, "-n2",
     "n10, n3, n4, n5, n6 and 3 more", "8 of 10 live servers"},
    {"draining ones are live no more", FOUR,
     W(1) "; n2 10.0.0.2:80 draining; n3 10.0.0.3:80 draining; out n4 it is gone", PLAIN, PLAN_WRITE, "~n2 ~n3 -n4",
     NULL, NULL},
    {"those in maintenance were not live", SERVER(1) "server n2 " GOOD " disabled\nserver n3 " GOOD " disabled", W(1),
     PLAIN, PLAN_WRITE, "-n2 -n3", NULL, NULL},
    {"nor do they make a share smaller",
     SERVER(1) SERVER(2) "server n3 " GOOD " disabled\nserver n4 " GOOD " disabled\nserver n5 " GOOD " disabled", W(6),
     PLAIN, PLAN_WRITE, "+n6 -n3 -n4 -n5", "n1, n2", "2 of 2 live servers"},
    {"a name that cannot be ours", FOUR "server n9 10.0.0.9:80 backup", W(9), PLAIN, PLAN_NO_ENDPOINT, "", NULL,
     "clashes"},
    {"an empty wish is not the brake's", FOUR, "", PLAIN, PLAN_NO_ENDPOINT, "", NULL, "ALLOW_EMPTY"},
    {"nor is one that may be", FOUR, "", ALLOW_EMPTY, PLAN_WRITE, "-n1 -n2 -n3 -n4", NULL, NULL},
    {"many go, dirty", FOUR, W(1), DIRTY, PLAN_RELOAD_AGAIN, "", "n2, n3, n4", LOSES_THREE},
    {"many go, others come, dirty", FOUR, W(1) "; " W(5), DIRTY, PLAN_WRITE, "+n5", "n2, n3, n4", LOSES_THREE},
    /* a pause */
    {"paused", FOUR, DESIRED_FOUR "; " W(5), PAUSE, PLAN_NOT_WRITTEN, "+n5", NULL,
     PAUSED "|!DRY_RUN|!; the Service|!at once"},
    {"paused, nothing to do", FOUR, DESIRED_FOUR, PAUSE, PLAN_IN_SYNC, "", NULL, NULL},
    {"paused, dirty", FOUR, DESIRED_FOUR, PAUSE | DIRTY, PLAN_NOT_WRITTEN, "", NULL, PAUSED},
    {"paused, many go", FOUR, W(1), PAUSE, PLAN_LOSS_LIMIT, "", "n2, n3, n4", LOSES_THREE},
    {"paused, many go, dirty", FOUR, W(1), PAUSE | DIRTY, PLAN_NOT_WRITTEN, "", "n2, n3, n4", PAUSED "|" LOSES_THREE},
    {"paused, many go, others come", FOUR, W(1) "; " W(5), PAUSE, PLAN_NOT_WRITTEN, "+n5", "n2, n3, n4",
     PAUSED "|also, " LOSES_THREE},
    {"paused, empty", FOUR, "", PAUSE, PLAN_NO_ENDPOINT, "", NULL, "ALLOW_EMPTY|!paused"},
    {"paused, empty, dirty", FOUR, "", PAUSE | DIRTY, PLAN_NOT_WRITTEN, "", NULL, PAUSED},
    {"paused, no backend", "missing", W(1), PAUSE, PLAN_REFUSE, "", NULL, "no backend be|!paused"},
    {"paused, not known", FOUR, "?", PAUSE | DIRTY, PLAN_WAIT, "", NULL, "endpoints|!paused"},
    /* a dry run */
    {"dry run", FOUR, DESIRED_FOUR "; " W(5), DRY_RUN, PLAN_NOT_WRITTEN, "+n5", NULL, DRY "|!paused|!at once"},
    {"dry run, nothing to do", FOUR, DESIRED_FOUR, DRY_RUN, PLAN_IN_SYNC, "", NULL, NULL},
    {"dry run, dirty", FOUR, DESIRED_FOUR, DRY_RUN | DIRTY, PLAN_NOT_WRITTEN, "", NULL, DRY},
    {"dry run, many go", FOUR, W(1), DRY_RUN, PLAN_LOSS_LIMIT, "", "n2, n3, n4", LOSES_THREE},
    {"dry run, empty allowed", FOUR, "", DRY_RUN | ALLOW_EMPTY, PLAN_NOT_WRITTEN, "-n1 -n2 -n3 -n4", NULL, DRY},
    {"dry run, paused", FOUR, W(1) "; " W(5), DRY_RUN | PAUSE, PLAN_NOT_WRITTEN, "+n5", "n2, n3, n4",
     DRY "; " PAUSED "|also, " LOSES_THREE},
};

static char *names_written(const struct diff *d)
{
    struct buf b;
    buf_init(&b, 0);
    if (d->backend_change)
        buf_add(&b, "=");
    for (size_t i = 0; i < d->change_count; i++)
        buf_printf(&b, "%s%c%s", b.len > 0 ? " " : "", "+~-"[d->changes[i].op], d -> changes[i].server.name);
    return buf_take(&b);
}

static void assert_why(const char *what, const char *why, const char *parts)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(parts);
    char *rest = copy;
    ck_assert_msg((why == NULL) == (parts == NULL), "%s: %s", what, why);
    for (char *part; (part = strsep(&rest, "|")) != NULL;) {
        bool wanted = part[0] != '!';
        ck_assert_msg(why != NULL && (strstr(why, part + !wanted) != NULL) == wanted, "%s: \"%s\" in: %s", what, part,
                      why);
    }
}

TEST_EACH(brakes_and_pauses, array_len(brakes))
{
    unsigned with = brakes[_i].with;
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend actual;
    struct desired desired;
    struct plan plan;
    rules.dry_run = with & DRY_RUN;
    rules.diff.allow_empty = with & ALLOW_EMPTY;
    rules.diff.balance = with & LEASTCONN ? "leastconn" : rules.diff.balance;
    rules.max_loss_percent = with & NO_LOSS_LIMIT ? 100 : with & STRICT ? 0 : 50;
    make_backend(&actual, brakes[_i].backend);
    make_desired(&desired, brakes[_i].desired);
    desired.paused = with & PAUSE;
    plan_make(&actual, &desired, &rules, with & DIRTY, &loss_limit, 1000, &plan);
    cleanup(mem_free_ptr) char *updates = names_written(&plan.diff);
    ck_assert_msg(plan.verdict == brakes[_i].verdict, "%s: verdict %d", brakes[_i].what, (int)plan.verdict);
    ck_assert_msg(str_eq(updates, brakes[_i].updates), "%s: writes %s", brakes[_i].what, updates);
    ck_assert_msg(str_eq(plan.delayed_names, brakes[_i].held), "%s: holds %s", brakes[_i].what, plan.delayed_names);
    ck_assert((plan.held_back > 0) == (plan.delayed_names != NULL));
    ck_assert_uint_eq(plan.delayed_until_ms, plan.held_back > 0 ? 1000 + PERIOD_MS : 0);
    assert_why(brakes[_i].what, plan.why, brakes[_i].why);
    plan_fini(&plan);
    backend_fini(&actual);
    desired_fini(&desired);
}

/* One backend of four servers over time: what is wished, and what comes of it. */
static const struct {
    const char *what;
    struct {
        uint64_t at_ms;
        const char *desired;
        enum plan_verdict verdict;
    } steps[5];
} courses[] = {
    {"held for the period", {{1000, W(1), PLAN_LOSS_LIMIT}, {60999, W(1), PLAN_LOSS_LIMIT}, {61000, W(1), PLAN_WRITE}}},
    {"back in time",
     {{1000, W(1), PLAN_LOSS_LIMIT},
      {2000, DESIRED_FOUR, PLAN_IN_SYNC},
      {61000, W(1), PLAN_LOSS_LIMIT},
      {121000, W(1), PLAN_WRITE}}},
    {"announced meanwhile",
     {{1000, W(1), PLAN_LOSS_LIMIT},
      {2000, W(1) "; out n2 announced x; out n3 announced x; out n4 announced x", PLAN_WRITE},
      {61000, W(1), PLAN_LOSS_LIMIT}}},
    /* a control plane that recovers fills up step by step */
    {"empty in between begins anew",
     {{1000, W(1), PLAN_LOSS_LIMIT},
      {2000, "", PLAN_NO_ENDPOINT},
      {99000, W(1), PLAN_LOSS_LIMIT},
      {159000, W(1), PLAN_WRITE}}},
    {"not known in between begins anew",
     {{1000, W(1), PLAN_LOSS_LIMIT},
      {2000, "!", PLAN_WAIT},
      {99000, W(1), PLAN_LOSS_LIMIT},
      {159000, W(1), PLAN_WRITE}}},
};

TEST_EACH(in_time, array_len(courses))
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend actual;
    make_backend(&actual, FOUR);
    for (size_t i = 0; i < array_len(courses[_i].steps) && courses[_i].steps[i].desired != NULL; i++) {
        struct desired desired;
        struct plan plan;
        make_desired(&desired, courses[_i].steps[i].desired);
        plan_make(&actual, &desired, &rules, false, &loss_limit, courses[_i].steps[i].at_ms, &plan);
        ck_assert_msg(plan.verdict == courses[_i].steps[i].verdict, "%s, step %zu: verdict %d", courses[_i].what, i,
                      (int)plan.verdict);
        plan_fini(&plan);
        desired_fini(&desired);
    }
    backend_fini(&actual);
}

/* Servers that come while others are held neither let those go nor stand in what is said about them. */
TEST(others_came_meanwhile)
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend four, ten;
    struct desired less, more;
    struct plan plan;
    make_backend(&four, FOUR);
    make_backend(&ten, TEN);
    make_desired(&less, W(1));
    make_desired(&more, W(1) "; " W(10) "; " W(5) "; " W(6) "; " W(7) "; " W(8) "; " W(9));
    plan_make(&four, &less, &rules, false, &loss_limit, 1000, &plan);
    plan_fini(&plan);
    plan_make(&ten, &more, &rules, false, &loss_limit, 2000, &plan);
    ck_assert_int_eq(plan.verdict, PLAN_LOSS_LIMIT);
    ck_assert_uint_eq(plan.delayed_until_ms, 1000 + PERIOD_MS);
    assert_why("others came", plan.why, LOSES_THREE);
    plan_fini(&plan);
    backend_fini(&four);
    backend_fini(&ten);
    desired_fini(&less);
    desired_fini(&more);
}

/* Two of four left. Whether they count when a third is lost is what the desired state says of them then. */
static const struct {
    const char *desired;
    bool holds;
} notices[] = {
    {W(4), true},
    {W(4) "; out n1 its pod is not ready", true},
    {W(4) "; out n9 announced its node goes", true},
    {W(4) "; out n1 announced its node goes", false},
    {W(1) "; " W(4), false},
};

TEST_EACH(those_that_left, array_len(notices))
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend four, two;
    struct desired first, next;
    struct plan plan;
    make_backend(&four, FOUR);
    make_backend(&two, SERVER(3) SERVER(4));
    make_desired(&first, W(3) "; " W(4));
    make_desired(&next, notices[_i].desired);
    plan_make(&four, &first, &rules, false, &loss_limit, 1000, &plan);
    ck_assert_uint_eq(plan.held_back, 0);
    plan_fini(&plan);
    plan_make(&two, &next, &rules, false, &loss_limit, 2000, &plan);
    ck_assert_msg((plan_find_delayed(&plan, "n3") != NULL) == notices[_i].holds, "%s", notices[_i].desired);
    plan_fini(&plan);
    backend_fini(&four);
    backend_fini(&two);
    desired_fini(&first);
    desired_fini(&next);
}

TEST(each_has_its_own_time)
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    static const char *const desired_states[] = {W(1) "; " W(2) "; " W(3), W(1) "; " W(3), W(1) "; " W(3)};
    struct backend actual;
    struct plan plan;
    rules.max_loss_percent = 0;
    make_backend(&actual, FOUR);
    for (size_t i = 0; i < array_len(desired_states); i++) {
        struct desired desired;
        make_desired(&desired, desired_states[i]);
        plan_make(&actual, &desired, &rules, false, &loss_limit, i == 2 ? 1000 + PERIOD_MS : 1000 + i * 500, &plan);
        cleanup(mem_free_ptr) char *text = plan_delayed_text(&plan, 1000000000000), *names = names_written(&plan.diff);
        ck_assert_str_eq(text, i == 0   ? "n4 until 2001-09-09T01:47:41.000Z"
                               : i == 1 ? "n2 until 2001-09-09T01:47:41.500Z, n4 until 2001-09-09T01:47:41.000Z"
                                        : "n2 until 2001-09-09T01:47:41.500Z");
        ck_assert_str_eq(names, i == 2 ? "-n4" : "");
        ck_assert_uint_eq(plan.delayed_until_ms, PERIOD_MS + (i == 2 ? 1500 : 1000));
        ck_assert_ptr_null(plan_find_delayed(&plan, "n1"));
        plan_fini(&plan);
        desired_fini(&desired);
    }
    backend_fini(&actual);
}

/* A file that must not be written to for a moment does not make the wait longer. */
TEST(refused_in_between)
{
    struct plan_rules rules = make_rules();
    cleanup(loss_limit_fini) struct loss_limit loss_limit = {0};
    struct backend actual, odd;
    struct desired desired;
    struct plan plan;
    make_backend(&actual, FOUR);
    make_backend(&odd, FOUR "alien 9 server odd|because");
    make_desired(&desired, W(1));
    static const enum plan_verdict verdicts_in_turn[] = {PLAN_LOSS_LIMIT, PLAN_REFUSE, PLAN_LOSS_LIMIT, PLAN_WRITE};
    for (size_t i = 0; i < array_len(verdicts_in_turn); i++) {
        plan_make(i == 1 ? &odd : &actual, &desired, &rules, false, &loss_limit, 1000 + i * PERIOD_MS / 3, &plan);
        ck_assert_int_eq(plan.verdict, verdicts_in_turn[i]);
        ck_assert(plan.delayed_until_ms == (plan.held_back > 0 ? 1000 + PERIOD_MS : 0));
        plan_fini(&plan);
    }
    backend_fini(&actual);
    backend_fini(&odd);
    desired_fini(&desired);
}

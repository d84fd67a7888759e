/* src/servers/change/plan: verdicts, the loss limit, and what keeps us from writing; what the differences are is servers/change/diff's test. */

#include "diff_text.h"
#include "servers/change/plan.h"

#define N1 "server n1 " GOOD
#define PERIOD_MS 60000
#define W(n) "n" #n " 10.0.0." #n ":80" /* a wished server */

/* A plan with all that it is made of. */
struct planned {
    struct plan_rules rules;
    struct loss_limit limit;
    struct backend b;
    struct desired desired;
    struct plan p;
};

static const struct planned usual = {
    .rules = {.diff = {DEFAULTS}, .max_loss_percent = 50, .loss_window_ms = PERIOD_MS}};

static void planned_clear(struct planned *m)
{
    plan_fini(&m->p);
    backend_fini(&m->b);
    desired_fini(&m->desired);
}

static void planned_fini(struct planned *m)
{
    planned_clear(m);
    loss_limit_fini(&m->limit);
}

/* desired "?": not synced, "!": undecided; otherwise as text_desired. */
static void planned_make(struct planned *m, const char *lines, const char *desired)
{
    bool unknown = strcmp(desired, "?") == 0, undecided = strcmp(desired, "!") == 0;
    cleanup(mem_free_ptr) char *text = mem_printf(SETTINGS "%s", lines);
    planned_clear(m);
    text_backend(&m->b, "be", text);
    text_desired(&m->desired, unknown || undecided ? "" : desired);
    if (unknown || undecided)
        m->desired.state = unknown ? DESIRED_NOT_SYNCED : DESIRED_UNDECIDED;
}

static void planned_plan(struct planned *m, bool dirty, uint64_t now_ms)
{
    plan_make(&m->b, &m->desired, &m->rules, dirty, &m->limit, now_ms, &m->p);
}

/* Both. */
static const struct plan *plan_of(struct planned *m, const char *lines, const char *desired, bool dirty,
                                  uint64_t now_ms)
{
    planned_make(m, lines, desired);
    planned_plan(m, dirty, now_ms);
    return &m->p;
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
    cleanup(planned_fini) struct planned m = usual;
    const struct plan *p = plan_of(&m, rows[_i].backend, rows[_i].desired, rows[_i].dirty, 1000);
    ck_assert_msg(p->verdict == rows[_i].verdict, "%s: %d", rows[_i].what, p->verdict);
    if (p->verdict == PLAN_WAIT || p->verdict == PLAN_NO_ENDPOINT || p->verdict == PLAN_REFUSE)
        ck_assert_msg(!str_empty(p->why), "%s: no reason", rows[_i].what);
    if (p->verdict == PLAN_WAIT)
        ck_assert_uint_eq(p->diff.change_count, 0);
    ck_assert_uint_eq(p->held_back, 0);
    ck_assert_ptr_null(p->delayed_names);
    ck_assert_uint_eq(p->delayed_until_ms, 0);
    plan_fini(&m.p); /* and once more */
}

/* Whatever there is to be written, paused or not, dirty or not; what is waited for is waited for. */
TEST_EACH(a_file_that_a_write_would_damage, array_len(rows))
{
    cleanup(planned_fini) struct planned m = usual;
    m.rules.file_problem = "line 3";
    m.rules.dry_run = _i % 2 == 1;
    const struct plan *p = plan_of(&m, rows[_i].backend, rows[_i].desired, rows[_i].dirty, 1000);
    bool waits = rows[_i].verdict == PLAN_WAIT;
    ck_assert_msg(p->verdict == (waits ? PLAN_WAIT : PLAN_REFUSE), "%s: %d", rows[_i].what, p->verdict);
    if (!waits && p->diff.verdict != DIFF_REFUSE)
        ck_assert_str_eq(p->why, "a write would change the meaning of haproxy.cfg: line 3");
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
    cleanup(planned_fini) struct planned m = usual;
    cleanup(mem_free_ptr) char *lines = mem_printf(N1 "\nalien 9 %s|because", strange[_i].text);
    planned_make(&m, lines, "n1 10.0.0.1:80; n2 10.0.0.2:80");
    m.b.unsupported[0].only_shown = strange[_i].only_shown;
    planned_plan(&m, strange[_i].dirty, 1000);
    ck_assert_msg(m.p.verdict == strange[_i].verdict, "%s: %d", strange[_i].text, m.p.verdict);
}

TEST(lines_of_a_backend_that_is_not_there)
{
    cleanup(planned_fini) struct planned m = usual;
    planned_make(&m, "missing\nalien 9 backend be|because", W(1));
    m.b.unsupported[0].only_shown = true;
    planned_plan(&m, true, 1000);
    ck_assert_int_eq(m.p.verdict, PLAN_REFUSE);
}

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

/* With what besides the usual rules. */
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
    struct buf b = {0};
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
    cleanup(planned_fini) struct planned m = usual;
    m.rules.dry_run = with & DRY_RUN;
    m.rules.diff.allow_empty = with & ALLOW_EMPTY;
    m.rules.diff.balance = with & LEASTCONN ? "leastconn" : m.rules.diff.balance;
    m.rules.max_loss_percent = with & NO_LOSS_LIMIT ? 100 : with & STRICT ? 0 : 50;
    planned_make(&m, brakes[_i].backend, brakes[_i].desired);
    m.desired.paused = with & PAUSE;
    planned_plan(&m, with & DIRTY, 1000);
    cleanup(mem_free_ptr) char *updates = names_written(&m.p.diff);
    ck_assert_msg(m.p.verdict == brakes[_i].verdict, "%s: verdict %d", brakes[_i].what, (int)m.p.verdict);
    ck_assert_msg(str_eq(updates, brakes[_i].updates), "%s: writes %s", brakes[_i].what, updates);
    ck_assert_msg(str_eq(m.p.delayed_names, brakes[_i].held), "%s: holds %s", brakes[_i].what, m.p.delayed_names);
    ck_assert((m.p.held_back > 0) == (m.p.delayed_names != NULL));
    ck_assert_uint_eq(m.p.delayed_until_ms, m.p.held_back > 0 ? 1000 + PERIOD_MS : 0);
    assert_why(brakes[_i].what, m.p.why, brakes[_i].why);
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
    cleanup(planned_fini) struct planned m = usual;
    for (size_t i = 0; i < array_len(courses[_i].steps) && courses[_i].steps[i].desired != NULL; i++) {
        const struct plan *p = plan_of(&m, FOUR, courses[_i].steps[i].desired, false, courses[_i].steps[i].at_ms);
        ck_assert_msg(p->verdict == courses[_i].steps[i].verdict, "%s, step %zu: verdict %d", courses[_i].what, i,
                      (int)p->verdict);
    }
}

/* Servers that come while others are held neither let those go nor stand in what is said about them. */
TEST(others_came_meanwhile)
{
    cleanup(planned_fini) struct planned m = usual;
    plan_of(&m, FOUR, W(1), false, 1000);
    plan_of(&m, TEN, W(1) "; " W(10) "; " W(5) "; " W(6) "; " W(7) "; " W(8) "; " W(9), false, 2000);
    ck_assert_int_eq(m.p.verdict, PLAN_LOSS_LIMIT);
    ck_assert_uint_eq(m.p.delayed_until_ms, 1000 + PERIOD_MS);
    assert_why("others came", m.p.why, LOSES_THREE);
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
    cleanup(planned_fini) struct planned m = usual;
    ck_assert_uint_eq(plan_of(&m, FOUR, W(3) "; " W(4), false, 1000)->held_back, 0);
    plan_of(&m, SERVER(3) SERVER(4), notices[_i].desired, false, 2000);
    ck_assert_msg((plan_find_delayed(&m.p, "n3") != NULL) == notices[_i].holds, "%s", notices[_i].desired);
}

TEST(each_has_its_own_time)
{
    static const char *const desired_states[] = {W(1) "; " W(2) "; " W(3), W(1) "; " W(3), W(1) "; " W(3)};
    cleanup(planned_fini) struct planned m = usual;
    m.rules.max_loss_percent = 0;
    for (size_t i = 0; i < array_len(desired_states); i++) {
        plan_of(&m, FOUR, desired_states[i], false, i == 2 ? 1000 + PERIOD_MS : 1000 + i * 500);
        cleanup(mem_free_ptr) char *text = plan_delayed_text(&m.p, 1000000000000), *names = names_written(&m.p.diff);
        ck_assert_str_eq(text, i == 0   ? "n4 until 2001-09-09T01:47:41.000Z"
                               : i == 1 ? "n2 until 2001-09-09T01:47:41.500Z, n4 until 2001-09-09T01:47:41.000Z"
                                        : "n2 until 2001-09-09T01:47:41.500Z");
        ck_assert_str_eq(names, i == 2 ? "-n4" : "");
        ck_assert_uint_eq(m.p.delayed_until_ms, PERIOD_MS + (i == 2 ? 1500 : 1000));
        ck_assert_ptr_null(plan_find_delayed(&m.p, "n1"));
    }
}

/* A file that must not be written to for a moment does not make the wait longer. */
TEST(refused_in_between)
{
    static const enum plan_verdict verdicts_in_turn[] = {PLAN_LOSS_LIMIT, PLAN_REFUSE, PLAN_LOSS_LIMIT, PLAN_WRITE};
    cleanup(planned_fini) struct planned m = usual;
    for (size_t i = 0; i < array_len(verdicts_in_turn); i++) {
        plan_of(&m, i == 1 ? FOUR "alien 9 server odd|because" : FOUR, W(1), false, 1000 + i * PERIOD_MS / 3);
        ck_assert_int_eq(m.p.verdict, verdicts_in_turn[i]);
        ck_assert(m.p.delayed_until_ms == (m.p.held_back > 0 ? 1000 + PERIOD_MS : 0));
    }
}

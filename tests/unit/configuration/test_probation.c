/* src/configuration/probation: what comes of a configuration, by readings of what HAProxy serves; a letter for each. */
#include "configuration/probation.h"

#include "../test.h"
#include "haproxy/cfg/file.h"

#define FILE_TEXT                                                                                              \
    "frontend fe\n  bind :80\nfrontend new\n  bind :81\nfrontend stopped\n  bind :82\nbackend be\n  server s " \
    "1.1.1.1:1\n"                                                                                              \
    "backend never\n  server s 1.1.1.1:1\n"
#define TIME_MS 10000u

static struct {
    struct probation p;
    struct cfg_file file;
    uint64_t now_ms;
    int64_t pid, uptime_s, version;
    unsigned reloads;
} w;

static void begin(bool baseline)
{
    struct served s = {.answers = true, .pid = 100, .uptime_s = 50, .version = 5, .lists = true};
    memset(&w, 0, sizeof(w));
    w.now_ms = 1000000;
    w.pid = 100;
    w.uptime_s = 50;
    w.version = 5;
    cfg_file_parse(&w.file, FILE_TEXT, strlen(FILE_TEXT));
    served_add_frontend(&s, "fe", true);
    served_add_frontend(&s, "stopped", false);
    served_add_frontend(&s, "gone", true);
    served_add_backend(&s, "be", 2);
    served_add_backend(&s, "never", 0);
    served_add_backend(&s, "gone", 1);
    served_sort(&s);
    probation_baseline(&w.p, baseline ? &s : NULL, w.reloads);
    served_fini(&s);
    w.version++;
    probation_begin(&w.p, &w.file, w.now_ms, TIME_MS);
}

static void end(void)
{
    probation_fini(&w.p);
    cfg_file_fini(&w.file);
}

/* . all is well          - no answer                                  p the proxies are not known
 * l fe does not listen   n new does not listen   m fe is not there    b be has no server up    c be is not there
 * o another process      f the one before it     u the same process, started anew
 * r a reload of ours, and another process        v another writer's version, and another process */
static void reading(char what)
{
    struct served s = {.answers = what != '-', .lists = what != 'p'};
    static int64_t before;
    w.now_ms += PROBATION_READ_MS;
    w.reloads += what == 'r';
    w.version += what == 'v';
    if (what == 'o' || what == 'r' || what == 'v') {
        before = w.pid;
        w.pid++;
    }
    w.uptime_s = what == 'u' ? 0 : w.uptime_s + 1;
    s.pid = what == 'f' ? before : w.pid;
    s.uptime_s = w.uptime_s;
    s.version = w.version;
    if (s.answers && s.lists) {
        if (what != 'm')
            served_add_frontend(&s, "fe", what != 'l');
        served_add_frontend(&s, "new", what != 'n');
        served_add_frontend(&s, "stopped", false);
        if (what != 'c')
            served_add_backend(&s, "be", what == 'b' ? 0 : 2);
        served_add_backend(&s, "never", 0);
        served_sort(&s);
    }
    probation_read(&w.p, &s, w.reloads, w.now_ms);
    served_fini(&s);
}

static bool never_elsewhere(const void *arg, const char *backend)
{
    ck_assert_str_eq(backend, "be");
    return false;
}

static bool elsewhere(const void *arg, const char *backend)
{
    return !never_elsewhere(arg, backend);
}

#define WELL "...................." /* 20 readings: the whole time */

static const struct {
    const char *readings; /* the last one decides; without one that does, all is well at their end */
    enum probation_state state;
    enum probation_reason reason;
    const char *evidence;
} rows[] = {
    {WELL, PROBATION_GOOD, 0, NULL},
    {"...", PROBATION_GOES_ON, 0, NULL},
    /* the worker */
    {"---", PROBATION_BAD, PROBATION_WORKER, "HAProxy does not answer any more"},
    {"--.--.---", PROBATION_BAD, PROBATION_WORKER, "HAProxy does not answer any more"},
    {"--.--...............", PROBATION_GOOD, 0, NULL},
    {"-.o.................", PROBATION_GOOD, 0, NULL}, /* the gap was over */
    {"oo", PROBATION_BAD, PROBATION_WORKER, "HAProxy's process 101 is gone, and 102 answers"},
    {"o....o", PROBATION_BAD, PROBATION_WORKER, "HAProxy's process 101 is gone, and 102 answers"},
    {".-o", PROBATION_BAD, PROBATION_WORKER, "HAProxy's process 100 is gone, and 101 answers"},
    {"-u", PROBATION_BAD, PROBATION_WORKER, "HAProxy's process 100 is gone, and 100 answers"},
    {"u.u", PROBATION_BAD, PROBATION_WORKER, "HAProxy's process 100 is gone, and 100 answers"},
    {"o...................", PROBATION_GOOD, 0, NULL},   /* another writer's reload */
    {"o.f.f...............", PROBATION_GOOD, 0, NULL},   /* whose old worker answers for a moment */
    {"r....r....r.........", PROBATION_GOOD, 0, NULL},   /* ours */
    {"ro.................", PROBATION_GOES_ON, 0, NULL}, /* the reload's, a moment later */
    {"r...oo", PROBATION_BAD, PROBATION_WORKER, "HAProxy's process 102 is gone, and 103 answers"},
    {".v..oo.......o......", PROBATION_GOOD, 0, NULL}, /* another writer's, which comes later */
    /* a listener */
    {"ll", PROBATION_BAD, PROBATION_LISTENER, "HAProxy takes no connections for: fe"},
    {"mm", PROBATION_BAD, PROBATION_LISTENER, "HAProxy takes no connections for: fe"},
    {"nn", PROBATION_BAD, PROBATION_LISTENER, "HAProxy takes no connections for: new"},
    {"l-l", PROBATION_BAD, PROBATION_LISTENER, "HAProxy takes no connections for: fe"},
    {"l.l.l.l.l.l.l.l.l.l.", PROBATION_GOOD, 0, NULL},
    {"lnl.................", PROBATION_GOOD, 0, NULL},
    {"...................ll", PROBATION_BAD, PROBATION_LISTENER,
     "HAProxy takes no connections for: fe"}, /* was on its way */
    {"...................l.", PROBATION_GOOD, 0, NULL},
    {"pppppppppppppppppppp", PROBATION_GOOD, 0, NULL},
    /* a backend */
    {".bbbb", PROBATION_BAD, PROBATION_BACKEND, "backends have no server that is up any more: be (2 before)"},
    {".cccc", PROBATION_BAD, PROBATION_BACKEND, "backends have no server that is up any more: be (2 before)"},
    {".bbb.bbb.bbb........", PROBATION_GOOD, 0, NULL},
    {"bbbbbbbbbbbbbbbbbbbb", PROBATION_BAD, PROBATION_BACKEND,
     "backends have no server that is up any more: be (2 before)"}, /* in all the time: checks may begin with down */
    {"bbbbbbbbbbbbbbbbbbb.", PROBATION_GOOD, 0, NULL},
    {".................bbbb", PROBATION_BAD, PROBATION_BACKEND,
     "backends have no server that is up any more: be (2 before)"},
};

FIXTURE(NULL, end)

TEST_EACH(it_is, array_len(rows))
{
    size_t n = strlen(rows[_i].readings);
    struct error said;
    begin(true);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(w.p.state == PROBATION_GOES_ON, "%s: decided after %zu: %s", rows[_i].readings, i,
                      w.p.evidence.message);
        reading(rows[_i].readings[i]);
        if (probation_is_to_judge(&w.p))
            probation_judge(&w.p, never_elsewhere, NULL, &said);
    }
    ck_assert_msg(w.p.state == rows[_i].state, "%s: %d: %s", rows[_i].readings, (int)w.p.state, w.p.evidence.message);
    if (rows[_i].evidence != NULL) {
        ck_assert_int_eq(w.p.reason, rows[_i].reason);
        ck_assert_str_eq(w.p.evidence.message, rows[_i].evidence);
    }
    ck_assert_uint_eq(probation_due(&w.p), w.p.state == PROBATION_GOES_ON ? w.now_ms + PROBATION_READ_MS : 0);
}

TEST(what_is_lost_elsewhere_too_is_said_once)
{
    struct error said;
    begin(true);
    for (const char *r = ".bbbb"; *r != '\0'; r++)
        reading(*r);
    ck_assert(probation_is_to_judge(&w.p));
    ck_assert(probation_has_none(&w.p, "be") && !probation_has_none(&w.p, "never"));
    probation_judge(&w.p, elsewhere, NULL, &said);
    ck_assert_int_eq(w.p.state, PROBATION_GOES_ON);
    ck_assert_ptr_nonnull(strstr(said.message, "be (2 before)"));
    for (unsigned i = 0; i < 20; i++) {
        ck_assert(!probation_is_to_judge(&w.p));
        reading('b');
    }
    ck_assert_int_eq(w.p.state, PROBATION_GOOD);
}

/* After a restart nothing is known from before the write: all that it promises is to be there, whichever answers first is
 * expected, and of backends nothing can be said. */
TEST(without_a_baseline)
{
    begin(false);
    reading('o');
    ck_assert_int_eq(w.p.state, PROBATION_GOES_ON);
    reading('.');
    ck_assert_int_eq(w.p.state, PROBATION_BAD);
    ck_assert_str_eq(w.p.evidence.message, "HAProxy takes no connections for: stopped");
}

/* Perhaps it cannot be asked at all; it is neither good nor bad. */
TEST(who_never_answered_is_no_evidence)
{
    begin(false);
    for (unsigned i = 0; i < 50; i++)
        reading('-');
    ck_assert_int_eq(w.p.state, PROBATION_GOES_ON);
}

TEST_EACH(what_cannot_be_asked_is_good_in_time_or_never, 2)
{
    begin(true);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_int_eq(w.p.state, PROBATION_GOES_ON);
        probation_unread(&w.p, _i == 1, w.now_ms += PROBATION_READ_MS);
    }
    ck_assert_int_eq(w.p.state, _i == 1 ? PROBATION_GOOD : PROBATION_GOES_ON);
}

/* The next document is compared with what was there before the first one. */
TEST(the_baseline_stays_until_all_is_well)
{
    begin(true);
    reading('l');
    probation_end(&w.p);
    ck_assert_int_eq(w.p.state, PROBATION_NONE);
    reading('b');
    ck_assert(probation_has_none(&w.p, "be"));
    probation_begin(&w.p, &w.file, w.now_ms, TIME_MS);
    reading('l');
    ck_assert_int_eq(w.p.state, PROBATION_GOES_ON); /* the one before counts no more */
    reading('l');
    ck_assert_int_eq(w.p.state, PROBATION_BAD);
    probation_end(&w.p);
    probation_forget(&w.p);
    ck_assert(!w.p.asked && !probation_has_none(&w.p, "be"));
}

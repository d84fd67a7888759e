/* src/sync/decision: the words of a difference in the log. */
#include <check.h>
#include <unistd.h>

#include "dataplane/txn.h"
#include "diff_text.h"
#include "model/parking.h"
#include "sync/decision.h"

#define N1 "server n1 10.0.0.1:80 check weight 100"

static char lines[16384];

/* Everything that is written meanwhile stands in `lines`. */
struct capture {
    int fds[2];
    struct log log;
};

static void capture_begin(struct capture *c)
{
    ck_assert_int_eq(pipe(c->fds), 0);
    c->log = (struct log){.level = LOG_LEVEL_DEBUG, .format = LOG_FORMAT_LOGFMT, .fd = c->fds[1]};
}

static void capture_end(struct capture *c)
{
    close(c->fds[1]);
    ssize_t n = read(c->fds[0], lines, sizeof(lines) - 1);
    ck_assert_int_ge(n, 0);
    lines[n] = '\0';
    close(c->fds[0]);
}

static void log_all(const char *backend, const char *wish, void (*log_it)(const struct log *log, const struct plan *p))
{
    struct parking *parking = parking_new(0);
    const struct diff_rules rules = {.parking = parking, .runtime = true};
    struct capture c;
    struct backend b;
    struct desired d;
    struct plan plan = {.verdict = PLAN_WRITE, .why = "so"};
    text_backend(&b, "web", backend);
    text_wish(&d, wish);
    parking_look(parking, &b, &d, &rules, NULL, NULL, 1);
    diff_compute(&b, &d, &rules, &plan.diff);
    capture_begin(&c);
    log_it(&c.log, &plan);
    capture_end(&c);
    plan_fini(&plan);
    desired_fini(&d);
    backend_fini(&b);
    parking_free(parking);
}

static void commit(const struct log *log, const struct plan *p)
{
    const struct txn t = {.version = 8};
    decision_log_commit(log, NULL, "web", p, "MODIFIED slice", &t, 0);
}

static void withheld(const struct log *log, const struct plan *p)
{
    struct log_limit limit = {.period_ms = 1000};
    decision_log_withheld(log, &limit, 1, NULL, "web", p, "MODIFIED slice");
}

static void takeover(const struct log *log, const struct plan *p)
{
    cleanup(buf_fini) struct buf told;
    buf_init(&told, 0);
    decision_log_takeover(log, NULL, "web", &p->diff, &told);
    decision_log_takeover(log, NULL, "web", &p->diff, &told);
}

static void expect(const char *part)
{
    ck_assert_msg(strstr(lines, part) != NULL, "no %s in\n%s", part, lines);
}

#define ALL                                                                                         \
    N1 "\nserver n2 10.0.0.2:80\nserver n3 10.0.0.3:80\nserver n4 10.0.0.4:80 disabled\nserver n7 " \
       "10.0.0.7:80 check weight 100 disabled"
#define ALL_WISH                                                                                                 \
    "n1 10.0.0.9:80; n5 10.0.0.5:80; n7 10.0.0.7:80; out n2 announced its node is going; spare n6 10.0.0.6:80; " \
    "spare n8 10.0.0.8:80"
#define WORDS                                                                                             \
    "added=n5(10.0.0.5:80) removed=n4 parked=n6(10.0.0.6:80),n8(10.0.0.8:80),n2,n3 changed=\"n1(address " \
    "10.0.0.1 -> 10.0.0.9),n7(maintenance off)\" "

START_TEST(each_by_its_own_word)
{
    log_all(ALL, ALL_WISH, commit);
    expect("msg=\"backend changed\" backend=web cause=\"MODIFIED slice\" " WORDS
           "why=\"n2: node n2: its node is going; n3: no endpoint of the Service is on a node of that name; n7: n7 is "
           "wanted; n4: it was parked for PARK_TTL\" version=8");
    log_all(ALL, ALL_WISH, withheld);
    expect("because=so cause=\"MODIFIED slice\" " WORDS);
}
END_TEST

START_TEST(no_word_for_nothing)
{
    log_all(N1, "n1 10.0.0.9:80", commit);
    expect("cause=\"MODIFIED slice\" changed=\"n1(address 10.0.0.1 -> 10.0.0.9)\" version=8");
    log_all(N1 "\nserver n2 10.0.0.2:80", "n1 10.0.0.1:80", commit);
    expect("cause=\"MODIFIED slice\" parked=n2 why=");
}
END_TEST

START_TEST(many)
{
    cleanup(buf_fini) struct buf b;
    buf_init(&b, 0);
    buf_add(&b, N1);
    for (unsigned i = 10; i < 33; i++)
        buf_printf(&b, "\nserver p%u 10.0.0.2:80", i);
    log_all(buf_str(&b), "n1 10.0.0.1:80", commit);
    expect("parked=\"p10,p11,p12,p13,p14,p15,p16,p17,p18,p19,p20,p21,p22,p23,p24,p25,p26,p27,p28,p29 and 3 more\" ");
    expect("p14: no endpoint of the Service is on a node of that name; and 18 more\"");
}
END_TEST

/* What is withheld is told again where only who is parked differs. */
START_TEST(another_parked_one_is_another_message)
{
    struct log_limit limit = {.period_ms = 1000};
    static const char *const backends[] = {N1 "\nserver n2 10.0.0.2:80", N1 "\nserver n3 10.0.0.2:80",
                                           N1 "\nserver n3 10.0.0.2:80"};
    for (size_t i = 0; i < array_len(backends); i++) {
        struct parking *parking = parking_new(1);
        const struct diff_rules rules = {.parking = parking, .runtime = true};
        struct capture c;
        struct backend b;
        struct desired d;
        struct plan plan = {.why = "so"};
        text_backend(&b, "web", backends[i]);
        text_wish(&d, "n1 10.0.0.1:80");
        diff_compute(&b, &d, &rules, &plan.diff);
        capture_begin(&c);
        decision_log_withheld(&c.log, &limit, 1 + i, NULL, "web", &plan, NULL);
        capture_end(&c);
        ck_assert_msg((lines[0] != '\0') == (i < 2), "%zu: %s", i, lines);
        plan_fini(&plan);
        desired_fini(&d);
        backend_fini(&b);
        parking_free(parking);
    }
}
END_TEST

START_TEST(a_takeover_names_who_goes_and_how)
{
    log_all(ALL "\nserver-template n 3-3", ALL_WISH, takeover);
    expect("msg=\"taking the backend over: parking a server that was there before (in maintenance from now on, removed "
           "after PARK_TTL); HAPROXY_KEEP_SERVERS would keep it\" backend=web server=n2 address=10.0.0.2 port=80 "
           "was=\"{\\\"was\\\":\\\"n2\\\"}\"");
    expect(
        "msg=\"taking the backend over: removing a server that was there before; HAPROXY_KEEP_SERVERS would keep it\" "
        "backend=web server=n3 address=10.0.0.3 port=80");
    ck_assert_msg(strstr(strstr(lines, "server=n2") + 1, "server=n2") == NULL, "once for each is enough: %s", lines);
    ck_assert_msg(strstr(lines, "server=n6") == NULL, "a spare was not there before");
    ck_assert_msg(strstr(lines, "server=n7") == NULL, "it is wanted");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("decision");
    TCase *t = tcase_create("decision");
    tcase_add_test(t, each_by_its_own_word);
    tcase_add_test(t, no_word_for_nothing);
    tcase_add_test(t, many);
    tcase_add_test(t, another_parked_one_is_another_message);
    tcase_add_test(t, a_takeover_names_who_goes_and_how);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}

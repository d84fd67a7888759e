/* src/servers/change_log: the words of a difference in the log. */
#include "haproxy/driver.h"
#include "../log_file.h"
#include "change/diff_text.h"
#include "servers/change/parking.h"
#include "servers/change_log.h"
#include "report/history.h"

#define N1 "server n1 10.0.0.1:80 check weight 100"

static char lines[16384];       /* all that was logged */
static struct history *history; /* NULL: nobody reads it */

static void read_log(void)
{
    ssize_t n = pread(log_to_file.fd, lines, sizeof(lines) - 1, 0);
    ck_assert_int_ge(n, 0);
    lines[n] = '\0';
    log_end();
}

static void log_all(const char *backend, const char *desired,
                    void (*log_it)(const struct change_log_place *at, const struct plan *p))
{
    struct parking *parking = parking_new(0);
    const struct diff_rules rules = {.parking = parking, .runtime = true};
    struct backend b;
    struct desired d;
    struct plan plan = {.verdict = PLAN_WRITE, .why = "so"};
    text_backend(&b, "web", backend);
    text_desired(&d, desired);
    parking_refresh(parking, &b, &d, &rules, NULL, NULL, 1);
    diff_compute(&b, &d, &rules, &plan.diff);
    log_begin();
    const struct change_log_place at = {.log = &log_to_file, .history = history, .url = "http://api", .backend = "web"};
    log_it(&at, &plan);
    read_log();
    plan_fini(&plan);
    desired_fini(&d);
    backend_fini(&b);
    parking_free(parking);
}

static void commit(const struct change_log_place *at, const struct plan *p)
{
    const struct written t = {.version = 8, .begin_us = 1, .change_us = 20, .commit_us = 300};
    change_log_commit(at, p, "MODIFIED slice", &t, 4000);
}

static void withheld(const struct change_log_place *at, const struct plan *p)
{
    struct log_limit limit = {.period_ms = 1000};
    change_log_not_written(at, &limit, 1, p, "MODIFIED slice");
}

static void takeover(const struct change_log_place *at, const struct plan *p)
{
    cleanup(buf_fini) struct buf told = {0};
    change_log_takeover(at, &p->diff, &told);
    change_log_takeover(at, &p->diff, &told);
}

static void expect(const char *part)
{
    ck_assert_msg(strstr(lines, part) != NULL, "no %s in\n%s", part, lines);
}

#define ALL                                                                                         \
    N1 "\nserver n2 10.0.0.2:80\nserver n3 10.0.0.3:80\nserver n4 10.0.0.4:80 disabled\nserver n7 " \
       "10.0.0.7:80 check weight 100 disabled"
#define ALL_DESIRED                                                                                              \
    "n1 10.0.0.9:80; n5 10.0.0.5:80; n7 10.0.0.7:80; out n2 announced its node is going; spare n6 10.0.0.6:80; " \
    "spare n8 10.0.0.8:80"
#define WORDS                                                                                             \
    "added=n5(10.0.0.5:80) removed=n4 parked=n6(10.0.0.6:80),n8(10.0.0.8:80),n2,n3 changed=\"n1(address " \
    "10.0.0.1 -> 10.0.0.9),n7(maintenance off)\" "

TEST(each_by_its_own_word)
{
    log_all(ALL, ALL_DESIRED, commit);
    expect("msg=\"backend changed\" backend=web cause=\"MODIFIED slice\" " WORDS
           "why=\"n2: node n2: its node is going; n3: no endpoint of the Service is on a node of that name; n7: n7 is "
           "wanted; n4: it was parked for PARK_TTL\" version=8");
    log_all(ALL, ALL_DESIRED, withheld);
    expect("reason=so cause=\"MODIFIED slice\" " WORDS);
}

TEST(no_word_for_nothing)
{
    log_all(N1, "n1 10.0.0.9:80", commit);
    expect("cause=\"MODIFIED slice\" changed=\"n1(address 10.0.0.1 -> 10.0.0.9)\" version=8");
    log_all(N1 "\nserver n2 10.0.0.2:80", "n1 10.0.0.1:80", commit);
    expect("cause=\"MODIFIED slice\" parked=n2 why=");
}

/* What is withheld is logged again where only who is parked differs. */
TEST(another_parked_one_is_another_message)
{
    struct log_limit limit = {.period_ms = 1000};
    static const char *const backends[] = {N1 "\nserver n2 10.0.0.2:80", N1 "\nserver n3 10.0.0.2:80",
                                           N1 "\nserver n3 10.0.0.2:80"};
    for (size_t i = 0; i < array_len(backends); i++) {
        struct parking *parking = parking_new(1);
        const struct diff_rules rules = {.parking = parking, .runtime = true};
        struct backend b;
        struct desired d;
        struct plan plan = {.why = "so"};
        text_backend(&b, "web", backends[i]);
        text_desired(&d, "n1 10.0.0.1:80");
        diff_compute(&b, &d, &rules, &plan.diff);
        log_begin();
        const struct change_log_place at = {.log = &log_to_file, .url = "http://api", .backend = "web"};
        change_log_not_written(&at, &limit, 1 + i, &plan, NULL);
        read_log();
        ck_assert_msg((lines[0] != '\0') == (i < 2), "%zu: %s", i, lines);
        plan_fini(&plan);
        desired_fini(&d);
        backend_fini(&b);
        parking_free(parking);
    }
}

TEST(a_takeover_names_who_goes_and_how)
{
    log_all(ALL "\nserver-template n 3-3", ALL_DESIRED, takeover);
    expect("msg=\"taking over the backend: parking an existing server (in maintenance until removed after PARK_TTL); "
           "HAPROXY_KEEP_SERVERS would keep it\" backend=web server=n2 address=10.0.0.2 port=80 "
           "was=\"{\\\"was\\\":\\\"n2\\\"}\"");
    expect("msg=\"taking over the backend: removing an existing server; HAPROXY_KEEP_SERVERS would keep it\" "
           "backend=web server=n3 address=10.0.0.3 port=80");
    ck_assert_msg(strstr(strstr(lines, "server=n2") + 1, "server=n2") == NULL, "once for each is enough: %s", lines);
    ck_assert_msg(strstr(lines, "server=n6") == NULL, "a spare was not there before");
    ck_assert_msg(strstr(lines, "server=n7") == NULL, "it is desired");
}

static const struct history_entry *newest(void)
{
    ck_assert_uint_gt(history_count(history), 0);
    return history_at(history, 0);
}

static void history_begin(void)
{
    history = history_new();
}

static void history_end(void)
{
    history_free(history);
    history = NULL;
}

FIXTURE(history_begin, history_end)

TEST(a_commit_is_an_entry)
{
    log_all(ALL, ALL_DESIRED, commit);
    const struct history_entry *e = newest();
    ck_assert_uint_eq(history_count(history), 1);
    ck_assert_int_eq(e->kind, HISTORY_COMMITTED);
    ck_assert_str_eq(e->target, "http://api");
    ck_assert_str_eq(e->backend, "web");
    ck_assert_str_eq(e->text, "added n5 (10.0.0.5:80); removed n4; parked n6 (10.0.0.6:80), n8 (10.0.0.8:80), n2, n3; "
                              "changed n1 (address 10.0.0.1 "
                              "-> 10.0.0.9), n7 (maintenance off)");
    ck_assert_ptr_nonnull(strstr(e->why, "n2: node n2: its node is going; n3: no endpoint"));
    ck_assert_str_eq(e->cause, "MODIFIED slice");
    ck_assert_uint_eq(e->took_us, 321);
    ck_assert_uint_eq(e->latency_us, 4000);
    ck_assert_ptr_null(e->server);
    ck_assert_ptr_null(e->state);
}

TEST(what_is_withheld_is_an_entry)
{
    log_all(ALL, ALL_DESIRED, withheld);
    ck_assert_int_eq(newest()->kind, HISTORY_NOT_WRITTEN);
    ck_assert_ptr_nonnull(strstr(newest()->text, "not written: added n5 (10.0.0.5:80); removed n4;"));
    ck_assert_str_eq(newest()->why, "so");
    log_all(N1, "n1 10.0.0.1:80", withheld);
    ck_assert_str_eq(newest()->text, "not written: reload without a change");
}

TEST(many)
{
    cleanup(buf_fini) struct buf b = {0};
    buf_add(&b, N1);
    for (unsigned i = 10; i < 33; i++)
        buf_printf(&b, "\nserver p%u 10.0.0.2:80", i);
    log_all(buf_str(&b), "n1 10.0.0.1:80", commit);
    expect("parked=\"p10,p11,p12,p13,p14,p15,p16,p17,p18,p19,p20,p21,p22,p23,p24,p25,p26,p27,p28,p29 and 3 more\" ");
    expect("p14: no endpoint of the Service is on a node of that name; and 18 more\"");
    ck_assert_str_eq(newest()->text, "parked p10, p11, p12, p13, p14, p15, p16, p17, p18, p19 and 13 more");
}

static void fast(const struct change_log_place *at, const struct plan *p)
{
    const struct updated l = {.version = 9, .write_us = 77, .read_us = 5};
    change_log_update(at, &p->diff.changes[0], "MODIFIED slice", &l, 88);
}

TEST(a_write_without_a_reload_is_an_entry)
{
    log_all(N1, "n1 10.0.0.9:80", fast);
    const struct history_entry *e = newest();
    ck_assert_int_eq(e->kind, HISTORY_RUNTIME_UPDATE);
    ck_assert_str_eq(e->text, "changed n1 (address 10.0.0.1 -> 10.0.0.9)");
    ck_assert_str_eq(e->server, "n1");
    ck_assert_str_eq(e->cause, "MODIFIED slice");
    ck_assert_uint_eq(e->took_us, 77);
    ck_assert_uint_eq(e->latency_us, 88);
    ck_assert_ptr_null(e->state);
}

/* Who drains is said once: by the write only where the running HAProxy was not sent it before. */
TEST(a_drain_is_logged_by_the_write_that_begins_it)
{
    struct diff_change changes[] = {
        {.op = DIFF_CHANGE, .fields = SERVER_MAINTENANCE, .parks = true, .detail = (char *)"maintenance on (parked)"},
        {.op = DIFF_CHANGE, .fields = SERVER_MAINTENANCE, .detail = (char *)"maintenance on (draining)"},
    };
    const struct updated l = {.version = 9};
    const struct written t = {.version = 8};
    struct change_log_place at = {.history = history, .url = "http://api", .backend = "web"};
    struct plan plan = {.diff = {.changes = changes, .change_count = array_len(changes)}};
    changes[0].server.name = (char *)"n1";
    changes[1].server.name = (char *)"n2";
    changes[0].server.maintenance = changes[1].server.maintenance = true;
    change_log_commit(&at, &plan, NULL, &t, 0);
    ck_assert_str_eq(newest()->state, "drain");
    ck_assert_str_eq(newest()->server, "n2");
    change_log_update(&at, &changes[1], NULL, &l, 0);
    ck_assert_str_eq(newest()->state, "drain");
    change_log_update(&at, &changes[0], NULL, &l, 0);
    ck_assert_ptr_null(newest()->state);
    changes[0].parks = false;
    change_log_commit(&at, &plan, NULL, &t, 0);
    ck_assert_str_eq(newest()->state, "drain");
    ck_assert_ptr_null(newest()->server);
    at.logs_drains = true;
    change_log_commit(&at, &plan, NULL, &t, 0);
    ck_assert_ptr_null(newest()->state);
    change_log_update(&at, &changes[1], NULL, &l, 0);
    ck_assert_ptr_null(newest()->state);
}

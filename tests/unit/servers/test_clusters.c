/* src/servers/names, change/diff, change/plan: several clusters in one backend, each with its own servers. */

#include "../route_text.h"
#include "diff_apply.h"
#include "servers/change/plan.h"
#include "servers/change/ownership.h"
#include "servers/change/parking.h"
#include "servers/names.h"

#include "change/diff_text.h"

#define FORMAT "{cluster}_{node}"
#define OF_A .cluster = "a", .server_name_format = FORMAT
#define IN_A "cluster=a format={cluster}_{node}"
#define W ":80 check weight 100"
#define A1 "server a_n1 10.0.0.1" W "\n"
#define A2 "server a_n2 10.0.0.2" W "\n"
#define B1 "server b_n1 10.1.0.1" W "\n"
#define B2 "server b_n2 10.1.0.2:81 weight 7 disabled\n"
#define OLD1 "server n1 10.0.0.1" W "\n"
#define OLD2 "server n2 10.0.0.2" W "\n"
#define PARKED " disabled\n"

struct row {
    const char *rule, *with, *file, *desired; /* by node */
    enum diff_verdict verdict;
    const char *writes, *why;
};

static const struct row rows[] = {
    {"names have the cluster's", IN_A, B1, "n1 10.0.0.1:80", DIFF_WRITE, "+ a_n1 10.0.0.1" W, NULL},
    {"the same node's name in another cluster does not clash", IN_A, A1 B1 B2, "n1 10.0.0.1:80", DIFF_NOTHING, "",
     NULL},
    {"what is not desired goes, of the own ones", IN_A, A1 A2 B1 B2, "n1 10.0.0.1:80", DIFF_WRITE, "- a_n2 10.0.0.2" W,
     NULL},
    {"another cluster's server at the same address is not adopted", IN_A " adopt=keep", "server b_n1 10.0.0.1" W "\n",
     "n1 10.0.0.1:80", DIFF_WRITE, "+ a_n1 10.0.0.1" W, NULL},
    {"nor renamed", IN_A " adopt=rename", A1 "server b_n1 10.0.0.1" W "\n", "n1 10.0.0.1:80", DIFF_NOTHING, "", NULL},
    {"a line of no cluster's name is left alone", IN_A " adopt=keep", A1 OLD1, "n1 10.0.0.1:80", DIFF_NOTHING, "",
     NULL},
    {"also where its node goes", IN_A " adopt=no", A1 OLD1 A2, "n2 10.0.0.2:80; out n1 announced its node is going",
     DIFF_WRITE, "- a_n1 10.0.0.1" W, NULL},
    {"and where there is none of its own yet", IN_A " adopt=keep", OLD1 A2,
     "n2 10.0.0.2:80; out n1 announced its node is going", DIFF_NOTHING, "", NULL},
    {"but for one at an own server's place, to be renamed: the new one comes first", IN_A " adopt=rename", OLD1,
     "n1 10.0.0.1:80", DIFF_WRITE, "+ a_n1 10.0.0.1" W, NULL},
    {"then the old one goes", IN_A " adopt=rename", A1 OLD1 OLD2, "n1 10.0.0.1:80", DIFF_WRITE, "- n1 10.0.0.1" W,
     NULL},
    {"also when its node goes meanwhile", IN_A " adopt=rename", A1 OLD1 A2,
     "n2 10.0.0.2:80; out n1 announced its node is going", DIFF_WRITE, "- a_n1 10.0.0.1" W "\n- n1 10.0.0.1" W, NULL},
    {"one that is kept is not renamed", IN_A " adopt=rename kept=k*", A1 "server k1 10.0.0.1" W "\n", "n1 10.0.0.1:80",
     DIFF_NOTHING, "", NULL},
    {"a new one gets the weight of the own ones", IN_A, "server a_n1 10.0.0.1:80 check weight 5\n" B1,
     "n1 10.0.0.1:80; n2 10.0.0.2:80", DIFF_WRITE, "+ a_n2 10.0.0.2:80 check weight 5", NULL},
    {"of two nodes at one address each keeps the cluster's part", "cluster=a format={address}_{cluster}", "",
     "n1 10.0.0.1:80; n2 10.0.0.1:80", DIFF_WRITE, "+ 10.0.0.1-n2_a 10.0.0.1" W "\n+ 10.0.0.1_a 10.0.0.1" W, NULL},
    {"a '_' of a node's name is none", IN_A, "", "n_1 10.0.0.1:80", DIFF_WRITE, "+ a_n-1 10.0.0.1" W, NULL},
    {"the last own one stays while no other is up", IN_A, A1 B1, "", DIFF_NO_ENDPOINT, "",
     "none of the Service's 2 endpoints is ready; no other cluster has a server in this backend that is UP, so the "
     "last servers of cluster a stay (1)"},
    {"and goes where one is", IN_A " others-up", A1 B1, "", DIFF_WRITE, "- a_n1 10.0.0.1" W, NULL},
    {"an empty backend of one's own is in sync where others serve", IN_A " others-up", B1, "", DIFF_NOTHING, "", NULL},
};

TEST_EACH(each_row, sizeof(rows) / sizeof(rows[0]))
{
    const struct row *row = &rows[_i];
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired desired;
    struct desired named;
    struct diff d;
    cleanup(rules_text_fini) struct rules_text with;
    text_rules(&with, row->with);
    text_backend(&b, "web", row->file);
    text_desired(&desired, row->desired);
    const struct names_input in = {.desired = &desired, .actual = &b, .rules = &with.rules};
    if (!names_apply(&in, &named))
        desired_copy(&named, &desired);
    diff_compute(&b, &named, &with.rules, &d);
    cleanup(mem_free_ptr) char *writes = text_of_writes(&d);
    ck_assert_msg(str_eq(writes, row->writes), "%s:\n  have %s\n  want %s", row->rule, writes, row->writes);
    ck_assert_msg(d.verdict == row->verdict, "%s: verdict %d", row->rule, d.verdict);
    ck_assert_pstr_eq(d.why, row->why);
    diff_fini(&d);
    desired_fini(&named);
}

TEST(counts_are_of_the_own_part)
{
    const struct diff_rules rules = {OF_A};
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired desired;
    struct diff d;
    text_backend(&b, "web", A1 "server a_n2 10.0.0.2" W PARKED B1 B2 OLD1);
    text_desired(&desired, "a_n1 10.0.0.1:80");
    diff_compute(&b, &desired, &rules, &d);
    ck_assert_uint_eq(d.managed_count, 2);
    ck_assert_uint_eq(d.live_count, 1);
    ck_assert_uint_eq(d.parked_count, 1);
    ck_assert_uint_eq(d.others_count, 2);
    ck_assert_uint_eq(d.foreign_count, 3);
    diff_fini(&d);
}

/* Three of the four own ones are more than half, however many others there are. */
TEST(the_loss_limit_is_of_the_own_part)
{
    struct plan_rules rules = {.diff = {OF_A}, .max_loss_percent = 50, .loss_window_ms = 1000};
    cleanup(loss_limit_fini) struct loss_limit limit = {0};
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired desired;
    struct plan p;
    text_backend(&b, "web",
                 A1 A2 "server a_n3 10.0.0.3" W "\nserver a_n4 10.0.0.4" W "\n" B1 "server b_n2 10.1.0.2" W
                       "\nserver b_n3 10.1.0.3" W "\nserver b_n4 10.1.0.4" W "\n");
    text_desired(&desired, "a_n1 10.0.0.1:80");
    plan_make(&b, &desired, &rules, false, &limit, 1, &p);
    ck_assert_uint_eq(p.held_back, 3);
    plan_fini(&p);
}

static const struct {
    const char *file, *running;
    const char *down; /* of b_n1's check, if set */
    bool goes;
} last[] = {
    {A1 B1, "", NULL, true},
    {A1 B1, "", "b_n1", false},
    {A1 B1, "b_n1 drain", NULL, false},
    {A1 B1, "b_n1 maint", NULL, false},
    {A1 B1, "b_n1 gone", NULL, false},
    {A1 B1, "b_n1 weight 0", NULL, false},
    {A1 B1, "unreadable", NULL, false},
    {A1 "server b_n1 10.1.0.1" W PARKED, "b_n1 ready", NULL, false},
    {A1 "server b_n1 10.1.0.1" W " backup\n", "", NULL, false},
    {A1 OLD2, "", NULL, false}, /* no cluster's: nobody answers for it */
    {A1 A2, "", NULL, false},
};

/* What cluster a plans and does, with one of b's servers down. */
static void judge(const char *file, const char *loaded, const char *running, const char *down, const char *wanted,
                  struct plan *p, struct route *route)
{
    struct plan_rules rules = {.diff = {OF_A}, .max_loss_percent = 100};
    const struct admin_states memory = {.known = true};
    cleanup(backend_fini) struct backend b, in_haproxy;
    cleanup(desired_fini) struct desired desired;
    cleanup(runtime_fini) struct runtime r;
    text_backend(&b, "web", file);
    text_backend(&in_haproxy, "web", loaded);
    text_runtime(&r, &in_haproxy, running);
    for (size_t i = 0; i < r.count; i++)
        r.servers[i].down = str_eq(r.servers[i].name, down);
    text_desired(&desired, wanted);
    struct parking *parking = parking_new(3600000);
    const struct backend_decision_input in = {
        .at = {.actual = &b, .runtime = &r, .desired = &desired, .memory = &memory, .open = true},
        .rules = &rules,
        .parking = parking};
    backend_decision_plan(&in, p);
    backend_decision_route(&in, p, route);
    parking_free(parking);
}

TEST_EACH(it_goes_while_another_clusters_is_up, array_len(last))
{
    cleanup(plan_fini) struct plan p = {0};
    cleanup(route_fini) struct route route = {0};
    judge(last[_i].file, last[_i].file, last[_i].running, last[_i].down, "", &p, &route);
    ck_assert_msg((p.verdict == PLAN_WRITE) == last[_i].goes, "%d: %s %s: %d", _i, last[_i].file, last[_i].running,
                  p.verdict);
    if (last[_i].goes) { /* by a write with a version, which fails where the others' last one went first */
        ck_assert_uint_eq(route.command_count, 0);
        ck_assert_uint_eq(route.update_count, 1);
    }
}

/* It is loaded still, as its line is gone by hand or by another cluster's write, and ends with the next reload. */
TEST(who_has_no_line_is_not_relied_on)
{
    cleanup(plan_fini) struct plan p = {0};
    cleanup(route_fini) struct route route = {0};
    judge(A1 B1, A1 A2 B1, "", NULL, "", &p, &route);
    ck_assert_int_eq(p.verdict, PLAN_WRITE);
    ck_assert_uint_eq(route.command_count, 0); /* the write alone, which carries a version */
    ck_assert_uint_eq(route.update_count, 1);
}

/* While an own server is to come, one of another cluster that is there replaces none. */
TEST(another_clusters_server_does_not_stand_in)
{
    cleanup(plan_fini) struct plan p = {0};
    cleanup(route_fini) struct route route = {0};
    judge(A1 B1, A1 B1, "", NULL, "a_n2 10.0.0.2:80; out a_n1 announced its pod ends", &p, &route);
    ck_assert_uint_eq(route.command_count, 0);
    ck_assert_uint_eq(route.update_count, 0);
    ck_assert(route.transaction);
}

/* src/daemon/inspect/inspect_report, inspect_decide: which way each change goes, runtime commands, and what a reload takes along. */

#include "inspect_world.h"

/* "add n3 reload; park n2; command n2 maint": changes as they go, with "reload" where they need one, then commands. */
static char *decided(const struct inspect_backend *b)
{
    static const char *const ops[] = {[DIFF_ADD] = "add", [DIFF_CHANGE] = "change", [DIFF_REMOVE] = "remove"};
    struct buf text = {0};
    for (size_t i = 0; i < b->plan.diff.change_count; i++) {
        const struct diff_change *c = &b->plan.diff.changes[i];
        buf_printf(&text, "%s%s %s%s", text.len > 0 ? "; " : "", c->parks ? "park" : ops[c->op], c->server.name,
                   b->reloads[i] ? " reload" : "");
    }
    for (size_t i = 0; i < b->plan.held_back; i++)
        buf_printf(&text, "%skept %s", text.len > 0 ? "; " : "", b->plan.held[i].server);
    for (size_t i = 0; i < b->choice.command_count; i++)
        buf_printf(&text, "%scommand %s %s", text.len > 0 ? "; " : "", b->choice.commands[i].name,
                   runtime_admin_name(b->choice.commands[i].state));
    return buf_take(&text);
}

static void expect(const struct inspect_backend *b, const char *wanted)
{
    cleanup(mem_free_ptr) char *is = decided(b);
    ck_assert_str_eq(is, wanted);
}

#define N1 "server n1 10.0.0.1:80 check weight 100\n"
#define N2 "server n2 10.0.0.2:80 check weight 100\n"
#define N2_OFF "server n2 10.0.0.2:80 check weight 100 disabled\n"
#define WANT1 "n1 10.0.0.1:80"
#define WANT2 WANT1 "; n2 10.0.0.2:80"

static const struct {
    const char *desired, *actual, *running, *wanted;
    enum inspect_verdict verdict;
    uint64_t park_ttl_ms;
    const char *gone, *file_problem;
    bool dirty, dry_run, adds;
} cases[] = {
    {WANT2, N1 N2, "n1 ready; n2 ready", "", .verdict = INSPECT_IN_SYNC, .park_ttl_ms = 1000},
    {WANT2, N1 "server n2 10.0.0.9:80 check weight 100", "n1 ready; n2 ready", "change n2", .verdict = INSPECT_CHANGES},
    /* It cannot be read what runs, or HAProxy has to be reloaded anyway. */
    {WANT2, N1 "server n2 10.0.0.9:80 check weight 100", "!HTTP 500", "change n2 reload", .verdict = INSPECT_CHANGES},
    {WANT2, N1 "server n2 10.0.0.9:80 check weight 100", "n1 ready; n2 ready", "change n2 reload",
     .verdict = INSPECT_CHANGES, .dirty = true},
    {"n1 10.0.0.9:80; n2 10.0.0.2:80 draining", N1 N2, "n1 ready; n2 ready",
     "change n1 reload; change n2 reload; command n2 drain", .verdict = INSPECT_CHANGES, .dirty = true},
    /* Some of them need a reload, others not. */
    {WANT2 "; n3 10.0.0.3:80", N1 "server n2 10.0.0.9:80 check weight 100", "n1 ready; n2 ready",
     "add n3 reload; change n2", .verdict = INSPECT_CHANGES},
    /* A HAProxy that takes servers without a reload. */
    {WANT2 "; n3 10.0.0.3:80", N1 "server n2 10.0.0.9:80 check weight 100", "n1 ready; n2 ready", "add n3; change n2",
     .verdict = INSPECT_CHANGES, .adds = true},
    {WANT1, N1 N2, "n1 ready; n2 ready", "remove n2; command n2 maint", .verdict = INSPECT_CHANGES, .adds = true},
    {WANT2, N1, "n1 ready", "add n2 reload", .verdict = INSPECT_CHANGES, .adds = true, .dirty = true},
    {WANT2, N1, "!HTTP 500", "add n2 reload", .verdict = INSPECT_CHANGES, .adds = true},
    {WANT2, "balance static-rr\n" N1, "n1 ready", "add n2 reload", .verdict = INSPECT_CHANGES, .adds = true},
    /* What is out. */
    {WANT1, N1 N2, "n1 ready; n2 ready", "park n2; command n2 maint", .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000},
    {WANT1, N1 N2, "n1 ready; n2 ready", "remove n2 reload; command n2 maint", .verdict = INSPECT_CHANGES},
    {WANT1, N1 N2, "!HTTP 500", "park n2 reload", .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000},
    {WANT1, N1 N2_OFF, "n1 ready; n2 maint", "", .verdict = INSPECT_IN_SYNC, .park_ttl_ms = 1000},
    {WANT1, N1 N2_OFF, "n1 ready; n2 maint", "remove n2 reload", .verdict = INSPECT_CHANGES},
    {WANT2, N1 N2_OFF, "n1 ready; n2 maint", "change n2", .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000},
    /* Its node is gone: it waits for another reload. */
    {WANT1, N1 N2_OFF, "n1 ready; n2 maint", "", .verdict = INSPECT_IN_SYNC, .park_ttl_ms = 1000, .gone = "n2"},
    {WANT1 "; n3 10.0.0.3:80", N1 N2_OFF, "n1 ready; n2 maint", "add n3 reload; remove n2 reload",
     .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000, .gone = "n2"},
    {WANT1 "; spare n5 10.0.0.5:80", N1, "n1 ready", "park n5 reload", .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000},
    /* It is parked first, and goes with the transaction that follows. */
    {WANT1 "; n3 10.0.0.3:80", N1 N2, "n1 ready; n2 ready", "add n3 reload; remove n2 reload; command n2 maint",
     .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000, .gone = "n2"},
    {WANT1, N1 N2, "n1 ready; n2 ready", "park n2; command n2 maint", .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000,
     .gone = "n2"},
    {WANT1 "; n3 10.0.0.3:80", N1 N2, "!HTTP 500", "add n3 reload; park n2 reload", .verdict = INSPECT_CHANGES,
     .park_ttl_ms = 1000, .gone = "n2"},
    /* Draining: a runtime command alone; with a reload, in the file, too. */
    {WANT2 " draining", N1 N2, "n1 ready; n2 ready", "command n2 drain", .verdict = INSPECT_CHANGES},
    {WANT2 " draining", N1 N2, "n1 ready; n2 drain", "", .verdict = INSPECT_IN_SYNC},
    {WANT2 " draining", N1 N2_OFF, "n1 ready; n2 maint", "", .verdict = INSPECT_IN_SYNC},
    {WANT2 " draining", N1 N2, "!HTTP 500", "change n2 reload", .verdict = INSPECT_CHANGES},
    {WANT2 " draining; n3 10.0.0.3:80", N1 N2, "n1 ready; n2 ready",
     "add n3 reload; change n2 reload; command n2 drain", .verdict = INSPECT_CHANGES},
    {WANT2 " draining", N1 N2, "n1 ready; n2 drain", "change n2 reload", .verdict = INSPECT_CHANGES, .dirty = true},
    /* Sent once another one is ready, which a write brings; or left to the transaction. */
    {WANT1 " draining; n2 10.0.0.2:80", N1 N2_OFF, "n1 ready; n2 maint", "change n2; command n1 drain",
     .verdict = INSPECT_CHANGES},
    {WANT1 " draining; n3 10.0.0.3:80", N1, "n1 ready", "add n3 reload; change n1 reload", .verdict = INSPECT_CHANGES},
    /* By hand. */
    {WANT2, N1 N2, "n1 ready; n2 drain", "", .verdict = INSPECT_IN_SYNC},
    {WANT2, N1 N2, "n1 ready; n2 maint", "", .verdict = INSPECT_IN_SYNC},
    /* The file says maintenance, and it runs. */
    {WANT1, N1 N2_OFF, "n1 ready; n2 ready", "command n2 maint", .verdict = INSPECT_CHANGES, .park_ttl_ms = 1000},
    /* No runtime command, and a drain is shown as it would be in the file. */
    {WANT2 " draining", N1 N2, "n1 ready; n2 ready", "change n2", .verdict = INSPECT_NOT_WRITTEN, .dry_run = true},
    {WANT2 " draining; n3 10.0.0.3:80", N1 N2, "n1 ready; n2 ready", "add n3 reload; change n2 reload",
     .verdict = INSPECT_NOT_WRITTEN, .dry_run = true},
    {WANT1, N1 N2, "n1 ready; n2 ready", "park n2", .verdict = INSPECT_NOT_WRITTEN, .park_ttl_ms = 1000,
     .dry_run = true},
    {WANT1, N1 N2, "n1 ready; n2 ready", "park n2 reload", .verdict = INSPECT_NOT_WRITTEN, .park_ttl_ms = 1000,
     .dirty = true, .dry_run = true},
    {WANT2, N1 N2, "n1 ready; n2 ready", "", .verdict = INSPECT_IN_SYNC, .dry_run = true},
    /* Nothing may be written to the file: a runtime command is in no file. */
    {WANT2 " draining", N1 N2, "n1 ready; n2 ready", "command n2 drain", .verdict = INSPECT_REFUSED,
     .file_problem = "x"},
    {WANT1 " draining; n2 10.0.0.2:80", N1 N2_OFF, "n1 ready; n2 maint", "change n2", .verdict = INSPECT_REFUSED,
     .file_problem = "x"},
    /* Held: the last one stays. */
    {"out n1 gone", N1, "n1 ready", "", .verdict = INSPECT_NO_ENDPOINT, .park_ttl_ms = 1000},
};

FIXTURE(world_set_up, world_tear_down)

TEST_EACH(one_backend, array_len(cases))
{
    w.park_ttl_ms = cases[_i].park_ttl_ms;
    w.gone = cases[_i].gone;
    w.rules.dry_run = cases[_i].dry_run;
    world_target(&w)->dirty = cases[_i].dirty;
    world_target(&w)->adds = cases[_i].adds;
    world_target(&w)->file_problem = cases[_i].file_problem;
    struct inspect_backend *b = world_add(&w, "be", cases[_i].desired);
    world_see_running(&w, b, cases[_i].actual, cases[_i].running);
    expect(b, cases[_i].wanted);
    ck_assert_str_eq(inspect_verdict_word(inspect_verdict(b)), inspect_verdict_word(cases[_i].verdict));
    world_decide(&w); /* begins anew */
    expect(b, cases[_i].wanted);
}

TEST(a_reload_for_one_backend_takes_the_drains_of_the_other_along)
{
    struct inspect_backend *be = world_add(&w, "be", WANT2), *two = world_add(&w, "two", WANT2 " draining");
    struct inspect_backend *three = world_add(&w, "three", WANT2);
    world_see_running(&w, two, N1 N2, "n1 ready; n2 drain");
    world_see_running(&w, three, N1 "server n2 10.0.0.9:80 check weight 100", "n1 ready; n2 ready");
    expect(two, "");
    world_see_running(&w, be, N1, "n1 ready");
    expect(be, "add n2 reload");
    expect(two, "change n2 reload");
    expect(three, "change n2"); /* before the reload, and without it */
    ck_assert(inspect_verdict(two) == INSPECT_CHANGES);
}

/* What has no node goes with a reload of its own backend, or where a drain has to be written. */
TEST(a_reload_for_one_backend_takes_nothing_else_along)
{
    w.park_ttl_ms = 1000;
    w.gone = "n2";
    struct inspect_backend *be = world_add(&w, "be", WANT1), *two = world_add(&w, "two", WANT1);
    world_see_running(&w, be, "", "n7 maint");
    world_see_running(&w, two, N1 N2, "n1 ready; n2 ready");
    expect(be, "add n1 reload");
    expect(two, "park n2; command n2 maint");
    world_see_running(&w, two, N1 N2_OFF, "n1 ready; n2 maint");
    expect(two, "");
}

TEST(another_haproxy_reloads_by_itself)
{
    w.report.target_count = 2;
    struct inspect_backend *two = world_add(&w, "be", WANT2 " draining");
    world_see_running(&w, two, N1 N2, "n1 ready; n2 drain");
    world_see_running(&w, world_in(&w, 1, two), N2, "n2 ready");
    expect(two, "");
    expect(world_in(&w, 1, two), "add n1 reload; change n2 reload");
}

TEST(too_many_to_be_written_one_by_one)
{
    cleanup(buf_fini) struct buf desired = {0}, actual = {0}, running = {0};
    for (int i = 10; i < 10 + ROUTE_UPDATES_MAX + 1; i++) {
        buf_printf(&desired, "%sn%d 10.0.0.%d:80", i > 10 ? "; " : "", i, i);
        buf_printf(&actual, "server n%d 10.0.1.%d:80 check weight 100\n", i, i);
        buf_printf(&running, "%sn%d ready", i > 10 ? "; " : "", i);
    }
    struct inspect_backend *b = world_add(&w, "be", buf_str(&desired));
    world_see_running(&w, b, buf_str(&actual), buf_str(&running));
    ck_assert_uint_eq(b->plan.diff.change_count, ROUTE_UPDATES_MAX + 1);
    for (size_t i = 0; i < b->plan.diff.change_count; i++)
        ck_assert(b->reloads[i]);
}

TEST(a_pause_is_a_dry_run_of_one_service)
{
    struct inspect_backend *b = world_add(&w, "be", WANT2 " draining");
    world_desired(b)->paused = true;
    world_see_running(&w, b, N1 N2, "n1 ready; n2 ready");
    expect(b, "change n2");
    ck_assert(inspect_verdict(b) == INSPECT_NOT_WRITTEN);
}

/* ---- what a daemon that runs knows besides */

static char n2[] = "n2", n3[] = "n3", n8[] = "n8", n9[] = "n9";

#define SEEN "n1 ready; n2 ready"
#define BOTH N1 N2
#define PARKS "park n2; command n2 maint"

static const struct remembered {
    const char *desired, *actual, *running, *wanted;
    enum inspect_verdict verdict;
    unsigned max_loss_percent;
    struct loss_limit_loss losses[2];
    size_t loss_count;
    bool no_updates, reload_due;
    const char *file_problem;
    uint64_t paused_until_ms;
    enum runtime_admin theirs, ours; /* of n2 */
    bool lost;
} remembered[] = {
    {WANT1, BOTH, SEEN, PARKS, .verdict = INSPECT_CHANGES, .max_loss_percent = 100},
    /* Lost before: n2 is held still, or its time is over; what is lost now counts with it. */
    {WANT1, BOTH, SEEN, "kept n2", .verdict = INSPECT_LOSS_LIMIT, .max_loss_percent = 50, .loss_count = 1,
     .losses = {{n2, 60000, 4, true}}},
    {WANT1, BOTH, SEEN, PARKS, .verdict = INSPECT_CHANGES, .max_loss_percent = 10, .loss_count = 1,
     .losses = {{n2, 900, 4, true}}},
    {WANT1, BOTH, SEEN, PARKS, .verdict = INSPECT_CHANGES, .max_loss_percent = 10, .loss_count = 1,
     .losses = {{n2, 60000, 4, false}}},
    {WANT1, BOTH, SEEN, "kept n2", .verdict = INSPECT_LOSS_LIMIT, .max_loss_percent = 50, .loss_count = 2,
     .losses = {{n8, 60000, 4, false}, {n9, 60000, 4, false}}},
    /* The one that is written is no return of the other. */
    {WANT1, BOTH "server n3 10.0.0.3:80 check weight 100\n", SEEN "; n3 ready", "park n2; kept n3; command n2 maint",
     .verdict = INSPECT_CHANGES, .max_loss_percent = 50, .loss_count = 2,
     .losses = {{n2, 60000, 4, false}, {n3, 60000, 4, true}}},
    /* Whose state it is. */
    {WANT2, BOTH, "n1 ready; n2 drain", "command n2 ready", .verdict = INSPECT_CHANGES, .max_loss_percent = 100,
     .ours = RUNTIME_DRAIN},
    {WANT2, BOTH, "n1 ready; n2 drain", "", .verdict = INSPECT_IN_SYNC, .max_loss_percent = 100,
     .theirs = RUNTIME_DRAIN},
    {WANT2, BOTH, SEEN, "command n2 maint", .verdict = INSPECT_CHANGES, .max_loss_percent = 100,
     .theirs = RUNTIME_MAINT, .lost = true},
    /* Runtime updates failed; a reload is due; the file is not to be written. */
    {WANT1, BOTH, SEEN, "park n2 reload", .verdict = INSPECT_CHANGES, .max_loss_percent = 100, .no_updates = true},
    {WANT2, N1, "n1 ready", "add n2 reload", .verdict = INSPECT_CHANGES, .max_loss_percent = 100, .no_updates = true},
    {WANT1, N1, "n1 ready", "", .verdict = INSPECT_RELOAD_AGAIN, .max_loss_percent = 100, .reload_due = true},
    {WANT1, BOTH, SEEN, "park n2 reload; command n2 maint", .verdict = INSPECT_CHANGES, .max_loss_percent = 100,
     .reload_due = true},
    {WANT1, BOTH, SEEN, PARKS, .verdict = INSPECT_REFUSED, .max_loss_percent = 100, .file_problem = "x"},
    /* Another writer. */
    {WANT1, BOTH, SEEN, "park n2", .verdict = INSPECT_NOT_WRITTEN, .max_loss_percent = 100, .paused_until_ms = 60000},
    {WANT1, N1, "n1 ready", "", .verdict = INSPECT_IN_SYNC, .max_loss_percent = 100, .paused_until_ms = 60000},
    {WANT2 " draining", BOTH, SEEN, "command n2 drain", .verdict = INSPECT_CHANGES, .max_loss_percent = 100,
     .paused_until_ms = 60000},
};

static const struct remembered *now_remembered;
static struct admin_state marks[1];

static void remember(struct inspect_backend *b)
{
    const struct remembered *r = now_remembered;
    const struct loss_limit losses = {.losses = (struct loss_limit_loss *)r->losses, .count = r->loss_count};
    static struct admin_states states = {.marks = marks, .known = true};
    loss_limit_copy(&b->losses, &losses);
    b->paused_until_ms = r->paused_until_ms;
    b->reverted = "version 7 differs";
    b->in.at.open = b->in.at.open && !r->no_updates;
    b->in.dirty = r->reload_due;
    b->in.file_problem = r->file_problem;
    marks[0] = (struct admin_state){.name = n2, .theirs = r->theirs, .ours = r->ours, .lost = r->lost};
    states.count = r->theirs != RUNTIME_READY || r->ours != RUNTIME_READY;
    b->in.at.memory = &states;
}

TEST_EACH(what_is_remembered, array_len(remembered))
{
    const struct remembered *r = now_remembered = &remembered[_i];
    w.park_ttl_ms = 10000;
    w.rules.max_loss_percent = r->max_loss_percent;
    w.remember = remember;
    world_target(&w)->adds = r->no_updates;
    struct inspect_backend *b = world_add(&w, "be", r->desired);
    world_see_running(&w, b, r->actual, r->running);
    expect(b, r->wanted);
    ck_assert_str_eq(inspect_verdict_word(inspect_verdict(b)), inspect_verdict_word(r->verdict));
    if (r->verdict == INSPECT_NOT_WRITTEN)
        ck_assert_str_eq(b->plan.why,
                         "another writer keeps reverting the daemon's changes, so the daemon pauses writes until "
                         "1970-01-01T00:01:00Z: version 7 differs");
}

TEST(deadlines_are_shown_where_they_are_known)
{
    static const struct remembered held = {.loss_count = 1, .losses = {{n2, 60000, 4, true}}};
    w.rules.max_loss_percent = 10;
    w.report.wall_minus_mono_ms = 7951881845678; /* 2221-12-26 */
    now_remembered = &held;
    w.remember = remember;
    w.report.daemon = (struct inspect_daemon){.url = "http://d:1", .used = true};
    struct inspect_backend *b = world_add(&w, "be", WANT1 "; n3 10.0.0.3:80 draining");
    world_desired(b)->servers[1].until_ms = 90000;
    world_see_running(&w, b, BOTH "server n3 10.0.0.3:80 check weight 100\n", SEEN "; n3 drain");
    ck_assert_int_eq(inspect_until_ms(&w.report, b, "n3"), 7951881845678 + 90000);
    ck_assert_int_eq(inspect_until_ms(&w.report, b, "n1"), 0);
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, false);
    ck_assert_msg(str_has_prefix(text, "daemon at http://d:1: its memory is used\n\nbackend be") &&
                      strstr(text, "kept until 2221-12-26T") != NULL,
                  "%s", text);
    cleanup(buf_fini) struct buf json = {0};
    inspect_print_json(&w.report, &json);
    ck_assert_msg(strstr(buf_str(&json), "\"until\": \"2221-12-26T") != NULL, "%s", buf_str(&json));
    ck_assert(strstr(buf_str(&json), "\"used\": true,\n    \"why\": null") != NULL);
    w.report.daemon = (struct inspect_daemon){.url = "http://d:1", .why_not = "it is not the leader"};
    ck_assert_int_eq(inspect_until_ms(&w.report, b, "n3"), 0);
    cleanup(mem_free_ptr) char *unused = world_print(&w, inspect_print_plan, false);
    ck_assert(str_has_prefix(unused, "daemon at http://d:1: not used: it is not the leader\n\nbackend be"));
}

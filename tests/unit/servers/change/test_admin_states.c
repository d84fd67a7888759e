/* src/servers/change/admin_states: who set which state in the running HAProxy, as sequences of readings, calls and writes. */
#include "servers/change/admin_states.h"

#include "../../route_text.h"
#include "servers/change/diff.h"

#define N1 "server n1 10.0.0.1:80\n"
#define P1 "server n1 10.0.0.1:80 disabled\n"
#define N2 "server n2 10.0.0.2:80\n"
#define LIVE "n1 10.0.0.1:80"
#define LIVE2 LIVE "; n2 10.0.0.2:80"
#define DRAINS "n1 10.0.0.1:80 draining; n2 10.0.0.2:80"
#define OUT "n2 10.0.0.2:80"

/* What happens: "read", "read other" (another process than before), "read ours" (by a reload of ours), "calls STATE" (the
 * answer is not there yet), "called STATE", "unanswered STATE", "written", "parks" (written into maintenance), "reloads", all of n1. */
struct step {
    const char *story;  /* with its first step */
    const char *before; /* the memory; FIRST: there was no reading */
    const char *what;
    const char *file, *running, *desired; /* of a reading */
    const char *memory;                   /* after it */
};

#define FIRST "?"

static const struct step steps[] = {
    {"nobody does anything", FIRST, "read", N1, "", LIVE, ""},
    {NULL, NULL, "read other", N1, "", LIVE, ""},

    /* ---- the first reading ---- */
    {"at first, what is set on a live one is an operator's", FIRST, "read", N1 N2, "n1 drain", LIVE2,
     "n1 theirs drain"},
    {NULL, NULL, "read", N1 N2, "n1 drain", DRAINS, "n1 theirs drain"},
    {"unless nothing that is desired is ready", FIRST, "read", N1 N2, "n1 drain", LIVE, "n1 ours drain"},
    {"of all of them", FIRST, "read", N1 N2, "n1 drain; n2 drain", LIVE2, "n1 ours drain; n2 ours drain"},
    {"maint is not so easily taken for ours", FIRST, "read", N1, "n1 maint", LIVE, "n1 theirs maint"},
    {"nor is what comes later", FIRST, "read", N1 N2, "", LIVE2, ""},
    {NULL, NULL, "read", N1 N2, "n1 drain; n2 drain", LIVE2, "n1 theirs drain; n2 theirs drain"},
    {"at first, a drain that fits is ours", FIRST, "read", N1, "n1 drain", DRAINS, "n1 ours drain"},
    {"so is maint", FIRST, "read", N1, "n1 maint", DRAINS, "n1 ours maint"},
    {"so is that of one that is out", FIRST, "read", N1, "n1 drain", OUT, "n1 ours drain"},
    {"while nothing is wished for, nothing is known of it", FIRST, "read", N1, "n1 drain", "", "n1 theirs drain"},
    {NULL, NULL, "read", N1, "n1 drain", "", "n1 theirs drain"},
    {NULL, NULL, "read", N1, "n1 drain", DRAINS, "n1 ours drain"},
    {"and then it may be an operator's after all", FIRST, "read", N1 N2, "n1 drain", "", "n1 theirs drain"},
    {NULL, NULL, "read", N1 N2, "n1 drain", LIVE2, "n1 theirs drain"},
    {"what is not readable is no reading", FIRST, "read", N1, "unreadable", DRAINS, ""},
    {NULL, NULL, "read", N1, "n1 drain", DRAINS, "n1 ours drain"},
    {"later it is an operator's in any case", "", "read", N1, "n1 drain", DRAINS, "n1 theirs drain"},

    /* ---- an operator's ---- */
    {"taken back", "n1 theirs drain", "read", N1, "", LIVE, ""},
    {"where HAProxy has no address the state is its own", "n1 theirs drain", "read", N1, "n1 unresolved", LIVE,
     "n1 theirs drain"},
    {"another state", "n1 theirs drain", "read", N1, "n1 maint", LIVE, "n1 theirs maint"},
    {"forgotten by a reload, until it was set again", "n1 theirs drain", "read other", N1, "", LIVE,
     "n1 theirs drain lost"},
    {NULL, NULL, "read", N1, "", LIVE, "n1 theirs drain lost"},
    {NULL, NULL, "called drain", NULL, NULL, NULL, "n1 theirs drain sent drain"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 theirs drain"},
    {NULL, NULL, "read", N1, "", LIVE, ""},
    {"it outlived the reload", "n1 theirs drain", "read other", N1, "n1 drain", LIVE, "n1 theirs drain"},
    {"set again by the operator", "n1 theirs drain lost", "read", N1, "n1 maint", LIVE, "n1 theirs maint"},
    {"a reload right after it was set again", "n1 theirs drain sent drain", "read other", N1, "", LIVE,
     "n1 theirs drain lost"},
    {"a reload that could not be read counts at the next reading", "n1 theirs drain", "read other", N1, "unreadable",
     LIVE, "n1 theirs drain"},
    {NULL, NULL, "read", N1, "", LIVE, "n1 theirs drain lost"},
    {"once only", "n1 theirs drain", "read other", N1, "n1 drain", LIVE, "n1 theirs drain"},
    {NULL, NULL, "read", N1, "", LIVE, ""},
    {"set again, and the reading is older than that", "n1 theirs drain sent drain", "read", N1, "", LIVE,
     "n1 theirs drain"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 theirs drain"},
    {"set again, and taken back", "n1 theirs drain sent drain", "read", N1, "", LIVE, "n1 theirs drain"},
    {NULL, NULL, "read", N1, "", LIVE, ""},

    /* ---- an operator's, through parking ---- */
    {"it is parked and comes back", "n1 theirs drain", "called maint", NULL, NULL, NULL,
     "n1 theirs drain ours maint sent maint"},
    {NULL, NULL, "written", NULL, NULL, NULL, "n1 theirs drain ours maint lost"},
    {NULL, NULL, "read", P1, "", OUT, "n1 theirs drain parked"},
    {NULL, NULL, "read other", P1, "", OUT, "n1 theirs drain parked"},
    {NULL, NULL, "read", N1, "", LIVE, "n1 theirs drain lost"},
    {"parked and back between two readings", "n1 theirs drain", "written", NULL, NULL, NULL, "n1 theirs drain lost"},
    {NULL, NULL, "written", NULL, NULL, NULL, "n1 theirs drain lost"},
    {NULL, NULL, "read", N1, "", LIVE, "n1 theirs drain lost"},
    {"ready by hand while it is parked is not taking it back", "n1 theirs drain parked", "read", P1, "n1 ready", OUT,
     "n1 theirs drain parked"},
    {"another writer puts maintenance into the file, and it is taken out again", "n1 theirs maint", "read", P1, "",
     LIVE, "n1 theirs maint parked"},
    {NULL, NULL, "read", N1, "", LIVE, "n1 theirs maint lost"},
    {"what is set on a parked one is not remembered", "", "read", P1, "n1 drain", OUT, ""},
    {"it was to leave, and is desired after all", "n1 theirs drain", "called maint", NULL, NULL, NULL,
     "n1 theirs drain ours maint sent maint"},
    {NULL, NULL, "read", N1, "n1 maint", LIVE, "n1 theirs drain ours maint"},
    {NULL, NULL, "called drain", NULL, NULL, NULL, "n1 theirs drain sent drain"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 theirs drain"},
    {"a write that left it as it is", "n1 theirs drain", "written", NULL, NULL, NULL, "n1 theirs drain lost"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 theirs drain"},

    /* ---- ours ---- */
    {"another writer brings a parked line back before it is read", "", "parks", NULL, NULL, NULL, ""},
    {NULL, NULL, "read", N1, "n1 maint", OUT, "n1 ours maint"},
    {"a drain of ours and its end", "", "called drain", NULL, NULL, NULL, "n1 ours drain sent drain"},
    {NULL, NULL, "read", N1, "n1 drain", DRAINS, "n1 ours drain"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 ours drain"},
    {NULL, NULL, "called ready", NULL, NULL, NULL, "n1 sent ready"},
    {NULL, NULL, "read", N1, "", LIVE, ""},
    {"forgotten by a reload", "n1 ours drain", "read other", N1, "", DRAINS, "n1 ours drain"},
    {NULL, NULL, "read", N1, "", LIVE, ""},
    {"sent, and a reload forgot it", "n1 ours drain sent drain", "read other", N1, "", DRAINS, "n1 ours drain"},
    {"another writer takes it back", "n1 ours drain", "read", N1, "", DRAINS, "n1 ours drain"},
    {"the API may take our drain for maint", "n1 ours drain", "read", N1, "n1 maint", DRAINS, "n1 ours drain"},
    {NULL, NULL, "read", N1, "n1 maint", LIVE, "n1 ours drain"},
    {"and our maint for a drain", "n1 ours maint", "read", N1, "n1 drain", LIVE, "n1 ours maint"},
    {"it drained, and is written into the file", "n1 ours drain", "called maint", NULL, NULL, NULL,
     "n1 ours maint sent maint"},
    {NULL, NULL, "written", NULL, NULL, NULL, "n1 ours maint"},
    {NULL, NULL, "read", P1, "", OUT, ""},
    {"it drains, and its line is written for another reason", "n1 ours drain", "written", NULL, NULL, NULL,
     "n1 ours drain"},
    {NULL, NULL, "read", N1, "n1 drain", DRAINS, "n1 ours drain"},
    {"it drains, and a transaction puts that into the file", "n1 ours drain", "read", P1, "", DRAINS, ""},
    {"set to ready, an operator's state is gone as well", "n1 theirs drain", "called ready", NULL, NULL, NULL,
     "n1 sent ready"},
    {NULL, NULL, "read other", N1, "", LIVE, ""},

    /* ---- around a reload of ours, and a call whose answer is lost ---- */
    {"what a live one is in right after our own reload stood in the file", "", "read ours", N1, "n1 maint", LIVE,
     "n1 ours maint"},
    {NULL, NULL, "read", N1, "n1 maint", LIVE, "n1 ours maint"},
    {"after another one it is an operator's", "", "read other", N1, "n1 maint", LIVE, "n1 theirs maint"},
    {"and what an operator had set stays theirs", "n1 theirs drain", "read ours", N1, "n1 drain", LIVE,
     "n1 theirs drain"},
    {"our reload is to forget ours", "n1 ours drain sent drain", "reloads", NULL, NULL, NULL, ""},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 theirs drain"},
    {"but no operator's", "n1 theirs drain", "reloads", NULL, NULL, NULL, "n1 theirs drain"},
    {"a call whose answer is lost", "", "calls drain", NULL, NULL, NULL, "n1 ours drain"},
    {NULL, NULL, "read", N1, "n1 drain", DRAINS, "n1 ours drain"},
    {"of what an operator had set already", "n1 theirs drain", "calls drain", NULL, NULL, NULL, "n1 theirs drain"},
    {"and the next reading says what came of it", "", "unanswered drain", NULL, NULL, NULL, "n1 unanswered"},
    {NULL, NULL, "read", N1, "", DRAINS, ""},
    {"to be ready: only its answer ends ours", "n1 ours drain", "calls ready", NULL, NULL, NULL, "n1 ours drain"},

    /* ---- readings that are older than a call ---- */
    {"set to drain while it was read", "", "called drain", NULL, NULL, NULL, "n1 ours drain sent drain"},
    {NULL, NULL, "read", N1, "", LIVE, "n1 ours drain"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 ours drain"},
    {"set to ready while it was read: that is no operator's drain", "n1 ours drain", "called ready", NULL, NULL, NULL,
     "n1 sent ready"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, ""},
    {NULL, NULL, "read", N1, "", LIVE, ""},
    {"where it stays HAProxy is sent it once more, and then it is one", "n1 sent ready", "read", N1, "n1 drain", LIVE,
     ""},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 ours drain"},
    {NULL, NULL, "called ready", NULL, NULL, NULL, "n1 sent ready"},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, ""},
    {NULL, NULL, "read", N1, "n1 drain", LIVE, "n1 theirs drain"},
    {"set to maint while it was read in drain: ours still", "n1 ours drain", "called maint", NULL, NULL, NULL,
     "n1 ours maint sent maint"},
    {NULL, NULL, "read", N1, "n1 drain", OUT, "n1 ours maint"},
    {NULL, NULL, "read", N1, "n1 maint", OUT, "n1 ours maint"},

    /* ---- lines ---- */
    {"its line is gone", "n1 theirs drain; n2 theirs drain", "read", "", "n1 drain", LIVE, ""},
    {"HAProxy does not run it for now", "n1 theirs drain sent drain", "read", N1, "n1 gone", LIVE,
     "n1 theirs drain sent drain"},
    {"not ours", "k1 theirs drain; s1 theirs drain", "read", "server k1 10.0.0.1:80\nserver s1 10.0.0.2:80 backup\n",
     "k1 drain; s1 drain", LIVE, ""},
    {"a name on two lines", "n1 theirs drain", "read", N1 N1, "n1 drain", LIVE, ""},
};

static char kept[] = "k*";
static char *const globs[] = {kept};

static enum worker_change worker_of(const char *what)
{
    if (strcmp(what, "read ours") == 0)
        return WORKER_BY_OUR_RELOAD;
    return strcmp(what, "read other") == 0 ? WORKER_OTHER : WORKER_SAME;
}

static void refresh(struct admin_states *m, const struct step *s)
{
    const struct diff_rules rules = {.keep_servers = globs, .keep_count = 1};
    struct backend b;
    struct runtime r;
    struct desired desired;
    text_backend(&b, "web", s->file);
    text_runtime(&r, &b, s->running);
    text_desired(&desired, s->desired);
    admin_states_refresh(m, &b, &r, &desired, &rules, worker_of(s->what));
    desired_fini(&desired);
    runtime_fini(&r);
    backend_fini(&b);
}

static void take_step(struct admin_states *m, const struct step *s)
{
    if (str_has_prefix(s->what, "read"))
        refresh(m, s);
    else if (str_has_prefix(s->what, "called "))
        admin_states_called(m, "n1", text_admin(s->what + strlen("called ")));
    else if (str_has_prefix(s->what, "calls "))
        admin_states_calls(m, "n1", text_admin(s->what + strlen("calls ")));
    else if (str_has_prefix(s->what, "unanswered "))
        admin_states_unanswered(m, "n1", text_admin(s->what + strlen("unanswered ")));
    else if (strcmp(s->what, "reloads") == 0)
        admin_states_reloads(m);
    else
        admin_states_written(m, "n1", str_eq(s->what, "parks"));
}

TEST(every_story)
{
    struct admin_states m = {.count = 0};
    const char *story = NULL;
    for (size_t i = 0; i < array_len(steps); i++) {
        const struct step *s = &steps[i];
        if (s->story != NULL) {
            story = s->story;
            admin_states_fini(&m);
            text_memory(&m, str_eq(s->before, FIRST) ? "" : s->before);
            m.known = !str_eq(s->before, FIRST);
        }
        take_step(&m, s);
        /* One that says nothing is as good as none. */
        bool empty =
            m.count == 1 && admin_states_find(&m, "n1") == NULL && !m.marks[0].unseen && !m.marks[0].unanswered;
        cleanup(mem_free_ptr) char *have = empty ? mem_strdup("") : text_of_memory(&m);
        ck_assert_msg(strcmp(have, s->memory) == 0, "%s, %s:\n  have %s\n  want %s", story, s->what, have, s->memory);
    }
    admin_states_fini(&m);
}

TEST(marks_are_found_by_name)
{
    struct admin_states m = {.count = 0};
    static const char *const names[] = {"n3", "n1", "n2", "n0", "n4"};
    ck_assert_ptr_null(admin_states_find(&m, "n1"));
    for (size_t i = 0; i < array_len(names); i++)
        admin_states_called(&m, names[i], RUNTIME_DRAIN);
    admin_states_called(&m, "n2", RUNTIME_MAINT);
    ck_assert_uint_eq(m.count, array_len(names));
    for (size_t i = 0; i < array_len(names); i++)
        ck_assert_str_eq(admin_states_find(&m, names[i])->name, names[i]);
    ck_assert_int_eq(admin_states_find(&m, "n2")->ours, RUNTIME_MAINT);
    admin_states_called(&m, "n3", RUNTIME_READY);
    ck_assert_ptr_null(admin_states_find(&m, "n3"));
    admin_states_fini(&m);
    admin_states_fini(&m); /* once more is no harm */
}

static bool corrected(enum runtime_admin told, bool crossed, bool other_worker, enum runtime_admin *ret)
{
    struct runtime_server rows[] = {{.name = (char[]){"n0"}, .admin = RUNTIME_READY},
                                    {.name = (char[]){"n1"}, .admin = RUNTIME_READY}};
    struct runtime r = {.readable = true, .servers = rows, .count = array_len(rows)};
    struct admin_states m = {.count = 0};
    admin_states_called(&m, "n1", told);
    if (crossed)
        admin_states_crossed(&m, "n1");
    admin_states_crossed(&m, "n2"); /* no command of it was sent */
    bool differs = admin_states_correct(&m, &r, other_worker);
    *ret = rows[1].admin;
    rows[1].admin = RUNTIME_READY;
    ck_assert(!admin_states_correct(&m, &r, false)); /* the next reading counts */
    ck_assert_int_eq(rows[1].admin, RUNTIME_READY);
    ck_assert_int_eq(rows[0].admin, RUNTIME_READY);
    admin_states_fini(&m);
    return differs;
}

TEST(what_a_call_crossed_is_what_it_was_sent)
{
    enum runtime_admin now;
    ck_assert(corrected(RUNTIME_DRAIN, true, false, &now));
    ck_assert_int_eq(now, RUNTIME_DRAIN);
    ck_assert(!corrected(RUNTIME_READY, true, false, &now));
    ck_assert(!corrected(RUNTIME_DRAIN, false, false, &now));
    ck_assert_int_eq(now, RUNTIME_READY);
    ck_assert(!corrected(RUNTIME_DRAIN, true, true, &now)); /* another process was never sent it */
    ck_assert_int_eq(now, RUNTIME_READY);
}

/* Who was read in maint is down because of that, and not by a check, once it is set to ready. */
TEST(who_is_back_amid_a_reading_is_up)
{
    struct runtime_server row = {.name = (char[]){"n1"}, .admin = RUNTIME_MAINT, .down = true};
    struct runtime r = {.readable = true, .servers = &row, .count = 1};
    struct admin_states m = {.count = 0};
    admin_states_called(&m, "n1", RUNTIME_READY);
    admin_states_crossed(&m, "n1");
    ck_assert(admin_states_correct(&m, &r, false));
    ck_assert_int_eq(row.admin, RUNTIME_READY);
    ck_assert(!runtime_fails_check(&row));
    admin_states_fini(&m);
}

static void expect_overrides(const char *memory, const char *text, size_t count)
{
    struct admin_states m;
    size_t have = 99;
    text_memory(&m, memory);
    cleanup(mem_free_ptr) char *said = admin_states_overrides(&m, &have);
    ck_assert_pstr_eq(said, text);
    ck_assert_uint_eq(have, count);
    admin_states_fini(&m);
}

TEST(overrides_in_words)
{
    expect_overrides("", NULL, 0);
    expect_overrides("n1 ours drain; n2 sent ready", NULL, 0);
    expect_overrides("n1 theirs drain", "n1 is in drain", 1);
    expect_overrides("n0 ours drain; n1 theirs drain lost; n2 theirs maint", "n1 is in drain, n2 in maint", 2);
    expect_overrides("n1 theirs drain parked", NULL, 0);
    expect_overrides("n1 theirs drain parked; n2 theirs maint", "n2 is in maint", 1);
    expect_overrides(
        "a theirs drain; b theirs drain; c theirs drain; d theirs drain; e theirs drain; f theirs drain; "
        "g theirs drain; h theirs drain; i theirs drain; j theirs drain; k theirs drain; l theirs drain",
        "a is in drain, b in drain, c in drain, d in drain, e in drain, f in drain, g in drain, h in drain, "
        "i in drain, j in drain and 2 more",
        12);
}

/* The servers engine: what the history says of each situation, and that it says it once; in the world of
 * engine_world.h. */
#include "scenes.h"

#define MINUTE_MS 60000ull

static uint64_t heard; /* entries that a test has read */

/* The kinds since the last call, oldest first: "committed in_step". */
static void assert_journal(const char *expected)
{
    cleanup(buf_fini) struct buf kinds = {0};
    for (size_t i = history_count(w.history); i-- > 0;) {
        const struct history_entry *e = history_at(w.history, i);
        if (e->number <= heard)
            continue;
        buf_printf(&kinds, "%s%s", kinds.len > 0 ? " " : "", history_kind_name(e->kind));
        heard = e->number;
    }
    ck_assert_str_eq(buf_str(&kinds), expected);
}

/* The newest entry of that kind. */
static const struct history_entry *entry(enum history_kind kind)
{
    for (size_t i = 0; i < history_count(w.history); i++)
        if (history_at(w.history, i)->kind == kind)
            return history_at(w.history, i);
    ck_abort_msg("no entry of the kind %s", history_kind_name(kind));
    return NULL;
}

static void assert_says(const char *text, const char *part)
{
    ck_assert_msg(text != NULL && strstr(text, part) != NULL, "no \"%s\" in \"%s\"", part, text != NULL ? text : "");
}

static void history_begin(void)
{
    heard = 0;
}

static void edit(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.running = w.have;
    w.version++;
    w.file_version = w.version;
}

static void assert_no_drift(void)
{
    for (size_t i = 0; i < history_count(w.history); i++)
        ck_assert_msg(history_at(w.history, i)->kind != HISTORY_DRIFT_REPAIRED, "%s", history_at(w.history, i)->text);
}

/* "entry committed text=...": of the newest of that kind; "why~...": it is part of it; "state=": there is none. */
static void play_entry(char *rest)
{
    const struct history_entry *e = NULL;
    const char *kind = strsep(&rest, " "), *field = rest;
    rest += strcspn(rest, "=~");
    bool part = rest[0] == '~';
    *rest++ = '\0';
    for (size_t i = 0; i < history_count(w.history) && e == NULL; i++)
        if (str_eq(history_kind_name(history_at(w.history, i)->kind), kind))
            e = history_at(w.history, i);
    expect(e != NULL, "no such entry");
    const struct {
        const char *field, *have;
    } fields[] = {{"text", e->text},     {"why", e->why},         {"cause", e->cause}, {"target", e->target},
                  {"server", e->server}, {"backend", e->backend}, {"state", e->state}};
    size_t i = 0;
    while (i + 1 < array_len(fields) && !str_eq(field, fields[i].field))
        i++;
    const char *have = fields[i].have != NULL ? fields[i].have : "";
    expect(str_eq(field, fields[i].field) && (part ? strstr(have, rest) != NULL : str_eq(have, rest)), have);
}

/* "journal committed in_sync"; "took committed": some time; "latency in_sync reload": at least so much; "edit n1 n7": by hand. */
static bool history_word(const char *word, char *rest)
{
    if (str_eq(word, "journal")) {
        assert_journal(rest);
    } else if (str_eq(word, "entry")) {
        play_entry(rest);
    } else if (str_eq(word, "edit")) {
        edit(rest);
    } else if (str_eq(word, "no-drift")) {
        assert_no_drift();
    } else if (str_eq(word, "took") || str_eq(word, "latency")) {
        const char *kind = strsep(&rest, " ");
        const struct history_entry *e = entry(str_eq(kind, "committed") ? HISTORY_COMMITTED
                                              : str_eq(kind, "in_sync") ? HISTORY_IN_SYNC
                                                                        : HISTORY_RUNTIME_COMMAND);
        uint64_t us = word[0] == 't' ? e->took_us : e->latency_us;
        expect(us > 0 && us >= (rest != NULL ? ms_of(rest) * 1000 : 0), "it is less");
    } else {
        return false;
    }
    return true;
}

FIXTURE(history_begin, world_end)

TEST(nobody_reads_it)
{
    world_make();
    w.options.instance.history = NULL;
    start_again();
    desired("n2", "event");
    pass(MINUTE_MS);
    assert_settled("n2");
    assert_journal("");
}

#define ONE "world 1 | "
#define THREE "world 1 routes | have n1 n2 n3 | start | desired n1 n2 n3 | pass 0 | in-sync | clear | "
#define BRAKED "world 1 braked | have n1 n2 n3 n4 | start | desired n1 n2 n3 n4 | pass 0 | in-sync | clear | "
#define TWO "world 2 | start | both n1 / n1 | pass 0 | in-sync | "

static const struct scene scenes[] = {
    /* ---- what is written ---- */
    {"a change is recorded and its end", ONE
     "synced | desired n2 because MODIFIED slice | settle | journal committed | entry committed target=http://api | "
     "entry committed backend=be | entry committed text=added n2 (10.0.0.2:80); removed n1 | "
     "entry committed cause=MODIFIED slice | took committed | latency committed | pass reload+1000 | settled n2 | "
     "journal in_sync | entry in_sync text=in sync with 1 server: added n2 (10.0.0.2:80); removed n1 | "
     "entry in_sync cause=MODIFIED slice | latency in_sync reload | pass hour | journal"},
    {"each end counts its own writes",
     ONE "synced | desired n1 n2 because ADDED slice | pass min | desired n1 because DELETED slice | pass min | "
         "journal committed in_sync committed in_sync | entry in_sync text=in sync with 1 server: removed n2 | "
         "entry in_sync cause=DELETED slice"},
    {"a drain that is sent", THREE
     "desired n1* n2 n3 because MODIFIED slice | settle | journal runtime_command | entry runtime_command server=n1 | "
     "entry runtime_command state=drain | entry runtime_command text=n1 drains: it gets no new connections | "
     "entry runtime_command why=a reason | entry runtime_command cause=MODIFIED slice | latency runtime_command | "
     "desired n1 n2 n3 because MODIFIED slice | settle | journal runtime_command | "
     "entry runtime_command state=ready | desired n1* n2 n3 because MODIFIED slice | settle | "
     "desired n2 n3 because DELETED slice | settle | journal runtime_command runtime_command runtime_update in_sync | "
     "entry runtime_command state=maint | entry runtime_update text=parked n1 | entry runtime_update state= | "
     "entry in_sync text=in sync with 2 servers: parked n1"},
    /* It was sent already; the write is no second drain. */
    {"a drain that goes into the file",
     THREE "desired n1* n2 n3 | settle | desired n1* n2 n3 n4 | pass min | settled n1* n2 n3 n4 | "
           "journal runtime_command committed in_sync | entry committed state="},
    {"a drain by a transaction", ONE
     "synced | desired n1 n2 | pass min | desired n1* n2 | pass min | journal committed in_sync committed in_sync | "
     "entry committed state=drain | entry committed server=n1"},

    /* ---- what goes wrong ---- */
    {"a trouble that goes on is one entry",
     ONE "synced | fault R | pass 29min | journal apply_failed | "
         "entry apply_failed text=cannot read HAProxy's configuration | entry apply_failed why~no answer | "
         "entry apply_failed backend=be | pass 2hour | journal apply_failed apply_failed apply_failed apply_failed | "
         "mend | pass min | settled n1 | journal in_sync | entry in_sync text=in sync with 1 server | fault R | "
         "pass min | journal apply_failed"},
    {"a refusal",
     ONE "synced | forbidden n2 | desired n1 n2 because ADDED slice | pass 20min | journal apply_failed | "
         "entry apply_failed text~rejected the change | entry apply_failed backend=be | "
         "entry apply_failed cause=ADDED slice | desired n1 because DELETED slice | pass min | journal in_sync"},
    {"a reload that fails",
     ONE "synced | fail-reloads 1 | desired n2 | pass min | settled n2 | "
         "journal committed reload_failed reload_again in_sync | entry reload_failed text~reload failed | "
         "entry reload_failed why~words of HAProxy"},

    /* ---- held back ---- */
    {"the loss limit is recorded when it begins", BRAKED
     "desired n1 because DELETED slice | pass resync/2 | desired n1 because DELETED another slice | pass resync/4 | "
     "journal removal_delayed | entry removal_delayed text=removal of 3 of 4 servers delayed: n2, n3, n4 | "
     "entry removal_delayed why~MAX_LOSS_PERCENT=50 | entry removal_delayed cause=DELETED slice | pass resync | "
     "settled n1 | journal committed in_sync"},
    {"a loss limit beside a write",
     BRAKED "desired n1 n5 | pass resync/2 | journal removal_delayed committed | desired n1 n2 n3 n4 n5 | pass min | "
            "journal in_sync | desired n1 | pass 0 | journal removal_delayed"},
    /* Nothing is written: that is said, and why; the loss limit is part of it. */
    {"a pause is no loss limit", BRAKED "set paused | desired n1 n5 | pass resync/2 | journal paused not_written"},
    {"no server yet", ONE "have | start | desired | pass 0 | journal kept | entry kept text=no server in rotation"},

    /* ---- two backends ---- */
    {"what is written to one is said of that one", TWO
     "both n1 / n2 | pass min | journal committed in_sync | entry committed backend=two | entry in_sync backend=two | "
     "both n1 n2 / n2 | pass min | journal committed in_sync | entry in_sync backend=be"},
    {"what is wrong with all is said once",
     TWO "fault w | pass resync+1000 | journal apply_failed | entry apply_failed backend= | mend | pass min | "
         "journal in_sync in_sync"},

    {"nothing is said of what stays", ONE "synced | times 20 desired n1 | journal"},
    {"no endpoint is recorded once",
     ONE "synced | times 5 desired; pass resync | journal kept | "
         "entry kept text=keeping the last 1 server | entry kept why~no usable endpoint | "
         "desired n1 | pass 0 | journal in_sync | desired | pass 0 | journal kept"},
    {"a pause is recorded when what it withholds changes",
     ONE "synced | set paused | desired n1 n2 | times 10 pass resync | journal paused not_written | "
         "entry not_written text=not written: added n2 (10.0.0.2:80) | entry not_written why~haproxy-k8s-sync/paused | "
         "entry paused text=paused by the Service's annotation | desired n1 n2 n3 | pass 0 | journal not_written | "
         "unset paused | desired n1 n2 n3 | pass min | journal paused committed in_sync | "
         "entry paused text=no longer paused"},
    {"a reload that failed before our start",
     ONE "reload-list failed | start | desired n1 | pass min | journal reload_failed reload_again in_sync | "
         "entry reload_failed why=bad"},
    {"a hand edit is repaired",
     ONE "synced | edit n1 n7 | pass 2resync | settled n1 | journal committed drift_repaired in_sync | "
         "entry drift_repaired text=repaired a change of another writer in version 6: removed n7 | edit n1 | "
         "pass 2resync | journal"},
    /* Between the two nobody can know whose doing it is. */
    {"another desired state is no drift",
     ONE "synced | edit n1 | desired n1 n2 | pass min | journal committed in_sync"},
    /* A drain that was only sent has to be written, since what runs cannot be read any more; and our own commit does not stick. */
    {"our own version is no drift",
     THREE "desired n1* n2 n3 | settle | set unreadable | set stubborn | pass 3resync | commits >=1 | unset stubborn | "
           "pass 60min | in-sync | configured n2 n3 n1* | no-drift"},
    {"haproxy that runs something else is repaired",
     THREE "run n1 n2 | pass 3resync | in-sync | journal reload_again drift_repaired in_sync | "
           "entry drift_repaired text~n3 | entry drift_repaired target=http://api | pass hour | journal"},

    /* The same, and the version is that of another backend, whose write made the API reload. */
    {"the version of another backend is no drift",
     "world 2 routes | have n1 n2 | start | both n1 n2 / n1 n2 | pass 0 | in-sync | both n1* n2 / n1 n2 | "
     "pass resync | journal runtime_command | set reloads-fast | both n1* n2 / n1 | pass 60min | in-sync | "
     "configured-two n1 n2* | no-drift"},
    /* Another desired state, a change of ours, a reload that failed: none of them is what a stranger did. */
    {"our own doing is no drift",
     ONE "synced | fail-reloads 2 | times 3 desired n1 n2; pass min; desired n1; pass min | fault C x1 applied | "
         "desired n1 n3 | pass 5min | settled n1 n3 | no-drift"},
    /* Who mends it himself has repaired it himself: we may not write, and see it mended. */
    {"what another writer repairs is not our repair", THREE
     "set paused | desired n1 n2 n3 | run n1 n2 | pass 2resync | logged running HAProxy differs from haproxy.cfg | "
     "run n1 n2 n3 | reload-list succeeded | pass 3resync | in-sync | journal paused not_written | "
     "entry not_written text=not written: reload without a change | unset paused | reload-list | desired n1 n2 n3 | "
     "pass 2resync | journal paused"},
};

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, history_word);
}

TEST(many_writes_are_one_sentence_with_an_end)
{
    three_in_sync();
    for (int i = 0; i < 40; i++) {
        desired(i % 2 == 0 ? "n2 n3" : "n1 n3", "MODIFIED slice");
        pass(1);
    }
    const struct history_entry *e = entry(HISTORY_IN_SYNC);
    ck_assert_uint_le(strlen(e->text), 900);
    w.held = true;
    for (int i = 0; i < 60; i++) {
        desired(i % 2 == 0 ? "n1 n2 n4" : "n1 n2 n5", "MODIFIED slice");
        pass(2500);
    }
    w.held = false;
    pass(HOUR_MS);
    e = entry(HISTORY_IN_SYNC);
    ck_assert_uint_le(strlen(e->text), 900);
    assert_says(e->text, " more writes");
}

TEST(a_write_that_does_not_reach_it)
{
    three_in_sync();
    w.deaf = true;
    desired("n2 n3", "DELETED slice");
    settle();
    w.deaf = false;
    pass(MINUTE_MS);
    ck_assert(in_sync());
    assert_says(entry(HISTORY_APPLY_FAILED)->why, "n1");
    ck_assert_int_eq(history_at(w.history, 0)->kind, HISTORY_IN_SYNC);
    assert_says(entry(HISTORY_IN_SYNC)->text, "n1");
}

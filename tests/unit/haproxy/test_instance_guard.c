/* src/haproxy/instance, guard: a file whose meaning a write would change is not written to, and a harmless one is
 * read at once. The world is engine_world.h's. */
#include "../servers/scenes.h"

#define NEITHER "a write would change the meaning of haproxy.cfg"
#define MANY "\ndefaults unnamed_defaults_1\n  mode http\ndefaults unnamed_defaults_2\n  mode tcp\n"

static void setup(void)
{
    world_make_updates();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    w.shows_looks = true;
}

static const char *more_named(const char *name)
{
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"conditional", "\nfrontend f\n.if defined(X)\n  bind :1\n.endif\n"},
        {"rules", "\nfrontend f\n  http-request allow if A\n  http-request deny\n"},
        {"turned", "\nfrontend f\n  http-request deny\n  http-request allow if A\n"},
        {"two-defaults", "\ndefaults\n  mode http\nbackend x\ndefaults\n  mode tcp\n"},
        {"defaults", "\ndefaults\n  mode http\nbackend x\n  timeout server 1s\ndefaults\n  mode tcp\nbackend y\n"},
        {"named", MANY "backend x from unnamed_defaults_1\n  timeout server 1s\nbackend y from unnamed_defaults_2\n"},
        {"unnamed", MANY "backend x\n  timeout server 1s\nbackend y\n"},
    };
    for (size_t i = 0; i < array_len(texts); i++)
        if (str_eq(name, texts[i].name))
            return texts[i].text;
    ck_assert_str_eq(name, "none");
    return NULL;
}

/* Of a file that counts as large, which is not kept, or of one that is. */
static void go(bool large)
{
    if (large)
        w.target.instance->large_file_bytes = 1;
    instance_start(w.target.instance);
    desired("n1 n2 n3", "the first list");
    pass(0);
    ck_assert((w.target.instance->readout.file == NULL) == large);
}

/* "more rules", "rewritten turned" (as the API would write it), "damaged turned" (with our change), "edit rules turned" (by
 * hand, which moves the version), "put-back" (the file from before, by the API), "blind 404" (it shows no preview),
 * "begun 1" and "previews 2" of transactions that only read, "order C(" in the trace, "once TEXT" in the log. */
static bool guard_word(const char *word, char *rest)
{
    if (str_eq(word, "go") || str_eq(word, "go-large"))
        go(word[2] != '\0');
    else if (str_eq(word, "more"))
        w.file_more = more_named(rest);
    else if (str_eq(word, "rewritten"))
        w.rewritten = more_named(rest);
    else if (str_eq(word, "damaged"))
        w.damaged = more_named(rest);
    else if (str_eq(word, "edit")) {
        w.file_more = more_named(strsep(&rest, " "));
        w.rewritten = rest != NULL ? more_named(rest) : NULL;
        w.file_version = w.running_version = ++w.version;
    } else if (str_eq(word, "put-back"))
        w.file_version = w.running_version = w.version - 1;
    else if (str_eq(word, "blind"))
        fault((struct fault){.step = '|', .status = (int)ms_of(rest)});
    else if (str_eq(word, "begun"))
        expect_number(count('('), rest);
    else if (str_eq(word, "previews"))
        expect_number(count('|'), rest);
    else if (str_eq(word, "order"))
        expect(strchr(buf_str(&w.trace), rest[0]) < strchr(buf_str(&w.trace), rest[1]), "another order");
    else if (str_eq(word, "once"))
        expect_number(log_count(w.log_fd, rest), "1");
    else if (str_eq(word, "looks"))
        w.shows_looks = true;
    else
        return false;
    return true;
}

#define DAMAGED(go)                                                                                             \
    "more rules | damaged turned | " go " | settled n1 n2 n3 | desired n1 n2 n3 n4 | pass 2min | commits 0 | "  \
    "open 0 | count B 1 | unready \"http-request allow\" of frontend f | configured n1 n2 n3 | damaged none | " \
    "edit rules | pass min | settled n1 n2 n3 n4"
#define FIRST(go)                                                                                                    \
    "more rules | " go " | desired n1 n2 n3 n4 | pass min | previews 2 | desired n1 n2 n3 n4 n5 | pass min | "       \
    "previews 2 | commits 2 | edit rules | desired n1 n2 n3 n4 n5 n6 | pass min | previews 4 | settled n1 n2 n3 n4 " \
    "n5 n6"
#define BLIND(status)                                                                                              \
    "blind " status " | more rules | go | settled n1 n2 n3 | desired n1 n2 | pass min | once cannot preview a "    \
    "write | begun 1 | fast >=1 | edit two-defaults | pass min | begun 1 | unready a proxy without `from` before " \
    "the last of several defaults"
#define LOST "desired n2 n3 | settle | begun 1 | "
#define LOOKED_AT(set) "pass min | begun >=2 | configured " set " | desired n1 n2 n3 | pass min | configured n1 n2 n3"
#define REFUSED_STILL                                                                                        \
    "pass min | unready " NEITHER " | put-back | more none | pass min | refresh | pass 10min | commits 0 | " \
    "unready " NEITHER " | edit none | pass min | settled n1 n2 n3"

static const struct scene scenes[] = {
    /* A write without a reload is nobody else's, either. */
    {"a harmless file is read once",
     "more rules | go | settled n1 n2 n3 | trace RHL(|) | desired n1 n2 n3 n4 | pass min | settled n1 n2 n3 n4 | "
     "begun 0 | commits 1 | desired n1 n2 n4 | pass min | begun 0 | count F >=1 | clear | edit rules | pass min | "
     "begun 1 | open 0"},
    {"what a write would change is said and not tried again",
     "more rules | rewritten turned | go | trace RHL(|) | unready " NEITHER " | "
     "unready line 11 (\"http-request allow\" of frontend f) would move behind what follows it now | desired n1 n2 | "
     "pass 10min | begun 0 | transactions 0 | fast 0 | configured n1 n2 n3 | open 0 | clear | edit turned | "
     "pass min | begun 1 | ready in sync"},
    /* While the API is down, which begins again with the version that it finds. */
    {"an edit that moves no version is seen",
     "more rules | rewritten turned | go | unready line 11 | rewritten none | more turned | pass min | "
     "settled n1 n2 n3 | begun 2 | more rules | rewritten turned | pass min | unready line 11 | begun 3 | pass min | "
     "begun 3"},
    {"what our own change would damage is not committed", DAMAGED("go")},
    {"nor where the file is large", DAMAGED("go-large")},
    {"the first commit after another writer's is read", FIRST("go")},
    {"also where the file is large", FIRST("go-large")},
    {"asked to compare it reads again",
     "more rules | rewritten turned | go | clear | refresh | pass 0 | trace R(|) | unready line 11 | "
     "rewritten none | refresh | pass 0 | trace R(|) | settled n1 n2 n3"},
    {"who drains is sent all the same, and nothing is left in the file",
     "more conditional | go | desired n1* n2 n3 | pass 0 | running n1! n2 n3 | configured n1 n2 n3 | stop | settle | "
     "stopped 1 | fast 0 | configured n1 n2 n3"},
    {"an empty commit is a write",
     "more rules | rewritten turned | reload-list failed | go | pass 10min | commits 0 | unready line 11"},
    {"an API that shows nothing is believed", BLIND("404")},
    {"an API that cannot show it is believed", BLIND("400")},
    {"who showed nothing is asked again for a comparison",
     "blind 404 | more rules | go | settled n1 n2 n3 | mend | rewritten turned | refresh | pass 0 | unready line 11"},
    {"several defaults are judged by what would be written", "more defaults | rewritten named | go | settled n1 n2 n3"},
    {"and where proxies would inherit otherwise",
     "more defaults | rewritten unnamed | go | "
     "unready (backend x) would inherit from defaults unnamed_defaults_2 instead of"},
    {"where none can be begun nothing is written but sent",
     "fault ( 429 | go | desired n1* n2 n3 n4 | pass min | running n1! n2 n3 | transactions 0 | fast 0 | mend | "
     "pass min | configured n1* n2 n3 n4"},
    {"after a lost answer the file is read", "go | fault F x1 applied | " LOST LOOKED_AT("n1* n2 n3")},
    {"a stranger's write came instead",
     "go | fault F x1 | " LOST "edit rules turned | " LOOKED_AT("n1 n2 n3") " | unready " NEITHER},
    {"others have all transactions of the API", "go | fault F x1 applied | fault ( 429 | " LOST LOOKED_AT("n1* n2 n3")},
    {"what was written after a failed reload is read",
     "put-back | go | pass 10min | settled n1 n2 n3 | commits 1 | begun 1 | order C("},
    /* Another writer edits the file between our commit and its reload, which fails: the API puts the old file back. */
    {"a conditional stays refused behind a failed reload", "go | edit conditional | " REFUSED_STILL},
    {"what would change stays refused behind a failed reload", "go | edit rules turned | " REFUSED_STILL},
    {"what passed is applied again whatever was put back", "go | put-back | more conditional | pass 10min | commits 1"},
    {"a dry run begins nothing",
     "world routes no-parking dry | looks | start | desired n1 n2 | pass min | begun 0 | edit conditional | "
     "pass min | unready a conditional"},
};

FIXTURE(setup, world_end)

TEST_EACH(each_scene, array_len(scenes))
{
    play_steps(scenes[_i].title, scenes[_i].steps, guard_word);
}

TEST(a_file_with_a_conditional_is_not_written_to)
{
    play_steps("a conditional",
               "more conditional | go | trace RHL | unready " NEITHER " | "
               "unready lines 11, 13: a conditional, whose branches would all become active: replace it | "
               "out-of-sync | desired n1 n2 n3 n4 | pass 10min | configured n1 n2 n3 | transactions 0 | fast 0 | "
               "begun 0",
               guard_word);
    ck_assert_uint_le(log_count(w.log_fd, NEITHER), 11);
    ck_assert_uint_eq(history_count(w.history), 1);
    ck_assert_str_eq(history_kind_name(history_at(w.history, 0)->kind), "apply_failed");
    ck_assert_ptr_nonnull(strstr(history_at(w.history, 0)->why, "lines 11, 13"));
    play_steps("it is taken out", "edit none | pass min | settled n1 n2 n3 n4 | logged problem resolved", guard_word);
}

/* src/servers/names: under which name each desired server stands in one HAProxy. */

#include "servers/names.h"
#include "haproxy/runtime.h"

#include "change/diff_text.h"

struct row {
    const char *rule, *with, *backend, *desired;
    const char *names;  /* "NAME=NODE", "+" behind one that drains, "spare" before a spare; "": as the desired state */
    const char *others; /* "LINE=NODE" of aliases, "LINE: reason" of what is out, with "!" where it was announced */
};

static const struct row rows[] = {
    /* keep */
    {"nothing there", "adopt=keep", "", "n1 10.0.0.1:80", "", ""},
    {"its own line is there", "adopt=keep", "server n1 10.0.0.9:80", "n1 10.0.0.1:80", "", ""},
    {"another's line at its place", "adopt=keep", "server a 10.0.0.1:80\nserver b 10.0.0.2:80",
     "n1 10.0.0.1:80; n2 10.0.0.2:80", "a=n1 b=n2", ""},
    {"at its address, but not its port", "adopt=keep", "server a 10.0.0.1:81", "n1 10.0.0.1:80", "", ""},
    {"its own name wins", "adopt=keep", "server a 10.0.0.1:80\nserver n1 10.0.0.1:80", "n1 10.0.0.1:80", "", ""},
    {"its own name wins elsewhere, too", "adopt=keep", "server a 10.0.0.1:80\nserver n1 10.0.0.7:80", "n1 10.0.0.1:80",
     "", ""},
    {"of two the live one", "adopt=keep", "server a 10.0.0.1:80 disabled\nserver b 10.0.0.1:80", "n1 10.0.0.1:80",
     "b=n1", ""},
    {"of two live ones the first by name", "adopt=keep", "server b 10.0.0.1:80\nserver a 10.0.0.1:80", "n1 10.0.0.1:80",
     "a=n1", ""},
    {"one in maintenance, where there is no other", "adopt=keep", "server a 10.0.0.1:80 disabled", "n1 10.0.0.1:80",
     "a=n1", ""},
    {"two at one place, a line for each", "adopt=keep", "server a 10.0.0.1:80\nserver b 10.0.0.1:80",
     "n1 10.0.0.1:80; n2 10.0.0.1:80", "a=n1 b=n2", ""},
    {"two at one place, and one line", "adopt=keep", "server a 10.0.0.1:80", "n1 10.0.0.1:80; n2 10.0.0.1:80",
     "a=n1 n2", ""},
    {"a desired name is nobody else's", "adopt=keep", "server n2 10.0.0.1:80", "n1 10.0.0.1:80; n2 10.0.0.2:80", "",
     ""},
    {"nor is a spare's", "adopt=keep", "server n2 10.0.0.1:80", "n1 10.0.0.1:80; spare n2 10.0.0.2:80", "", ""},
    {"nor that of a node that is out", "adopt=keep", "server n2 10.0.0.1:80", "n1 10.0.0.1:80; out n2 it is not ready",
     "", ""},
    {"backup servers are not adopted", "adopt=keep", "server a 10.0.0.1:80 backup", "n1 10.0.0.1:80", "", ""},
    {"nor those that a default-server makes such", "adopt=keep", "default-server backup\nserver a 10.0.0.1:80",
     "n1 10.0.0.1:80", "", ""},
    {"nor what is kept", "adopt=keep kept=a*", "server a 10.0.0.1:80", "n1 10.0.0.1:80", "", ""},
    {"nor what several lines are called", "adopt=keep", "server a 10.0.0.1:80\nserver a 10.0.0.2:80", "n1 10.0.0.1:80",
     "", ""},
    {"nor what a server-template makes", "adopt=keep", "server a1 10.0.0.1:80\nserver-template a 1-3", "n1 10.0.0.1:80",
     "", ""},
    {"one that drains", "adopt=keep", "server a 10.0.0.1:80", "n1 10.0.0.1:80 draining; n2 10.0.0.2:80", "a=n1+ n2",
     ""},
    {"a spare", "adopt=keep", "server a 10.0.0.2:80 disabled", "n1 10.0.0.1:80; spare n2 10.0.0.2:80", "n1 spare a=n2",
     ""},
    {"IPv6 in another spelling", "adopt=keep", "server a [fd00:0::1]:80", "n1 [fd00::1]:80", "a=n1", ""},
    {"in the order of the new names", "adopt=keep", "server z 10.0.0.1:80", "n1 10.0.0.1:80; n2 10.0.0.2:80", "n2 z=n1",
     ""},
    {"the backend is missing", "adopt=keep", "missing", "n1 10.0.0.1:80", "", ""},

    /* a line whose server is out, by the name that other controllers give */
    {"its node is out", "adopt=keep", "server n2-80 10.0.0.2:80 disabled",
     "n1 10.0.0.1:80; out n2 announced its pod ends", "n1", "n2-80=n2 n2-80: its pod ends!"},
    {"its node is out, unannounced", "adopt=keep", "server n2-80 10.0.0.2:80", "n1 10.0.0.1:80; out n2 it is gone",
     "n1", "n2-80=n2 n2-80: it is gone"},
    {"another port is no such name", "adopt=keep", "server n2-81 10.0.0.2:80", "n1 10.0.0.1:80; out n2 it is gone", "",
     ""},
    {"nothing is desired", "adopt=keep", "server n2-80 10.0.0.2:80", "out n2 it is gone", "",
     "n2-80=n2 n2-80: it is gone"},
    {"several who are out, in the order of their names", "adopt=keep",
     "server b-80 10.0.0.1:80\nserver a-80 10.0.0.2:80", "out a it is gone; out b it left", "",
     "a-80=a b-80=b b-80: it left a-80: it is gone"},
    {"who is out by the line's own name, and not another whose it might be", "adopt=keep", "server n2-80 10.0.0.2:80",
     "out n2-80 it is gone; out n2 announced", "", ""},

    /* no */
    {"strangers stay strangers", "adopt=no", "server a 10.0.0.1:80", "n1 10.0.0.1:80", "", ""},

    /* rename */
    {"the old one serves until its own line is there", "adopt=rename", "server a 10.0.0.1:80", "n1 10.0.0.1:80",
     "a=n1 n1", ""},
    {"and until that is live", "adopt=rename", "server a 10.0.0.1:80\nserver n1 10.0.0.1:80 disabled", "n1 10.0.0.1:80",
     "a=n1 n1", ""},
    {"then it goes, as was said", "adopt=rename", "server a 10.0.0.1:80\nserver n1 10.0.0.1:80", "n1 10.0.0.1:80", "n1",
     "a: server n1 has replaced it (ADOPT_SERVERS=rename)!"},
    {"one in maintenance does not serve", "adopt=rename", "server a 10.0.0.1:80 disabled", "n1 10.0.0.1:80", "n1", ""},
    {"it drains with its server", "adopt=rename", "server a 10.0.0.1:80", "n1 10.0.0.1:80 draining; n2 10.0.0.2:80",
     "a=n1+ n1+ n2", ""},

    /* the format */
    {"another format", "adopt=keep format={node}-{port}", "", "n1 10.0.0.1:80", "n1-80=n1", ""},
    {"of the address", "adopt=keep format=s_{address}:{port}", "", "n1 [fd00::1]:80", "s_fd00::1:80=n1", ""},
    {"two at one address", "adopt=keep format={address}", "", "n1 10.0.0.1:80; n2 10.0.0.1:80; spare n3 10.0.0.1:80",
     "10.0.0.1=n1 10.0.0.1-n2=n2 spare 10.0.0.1-n3=n3", ""},
    {"a line by the node's name is adopted then", "adopt=keep format={node}-{port}", "server n1 10.0.0.1:80",
     "n1 10.0.0.1:80", "n1=n1", ""},
    {"no longer by the node's name", "adopt=no format={node}-{port}", "server n1 10.0.0.1:80", "n1 10.0.0.1:80",
     "n1-80=n1", ""},
    {"who is out is known by the format", "adopt=keep format=k_{node}_x", "server k_n2_x 10.0.0.2:80",
     "n1 10.0.0.1:80; out n2 it is gone", "k_n1_x=n1", "k_n2_x=n2 k_n2_x: it is gone"},
    {"the plain format says nothing new", "adopt=keep format={node}", "", "n1 10.0.0.1:80", "", ""},
};

static void print_list(struct buf *b, const struct desired_server *list, size_t count, const char *before)
{
    for (size_t i = 0; i < count; i++)
        buf_printf(b, "%s%s%s%s%s%s", b->len > 0 ? " " : "", before, list[i].name, list[i].node != NULL ? "=" : "",
                   list[i].node != NULL ? list[i].node : "", list[i].state == SERVER_DRAINING ? "+" : "");
}

static char *others_of(const struct desired *d, size_t skips_before)
{
    struct buf b = {0};
    for (size_t i = 0; i < d->alias_count; i++)
        buf_printf(&b, "%s%s=%s", b.len > 0 ? " " : "", d->aliases[i].name, d->aliases[i].node);
    for (size_t i = skips_before; i < d->skip_count; i++) {
        cleanup(mem_free_ptr) char *reason = desired_skip_reason(d, &d->skips[i]);
        buf_printf(&b, "%s%s: %s%s", b.len > 0 ? " " : "", d->skips[i].server, reason,
                   d->skips[i].announced ? "!" : "");
    }
    return buf_take(&b);
}

TEST_EACH(each_row, array_len(rows))
{
    const struct row *row = &rows[_i];
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired desired;
    cleanup(desired_fini) struct desired named;
    cleanup(rules_text_fini) struct rules_text with;
    text_rules(&with, row->with);
    text_backend(&b, "web", row->backend);
    text_desired(&desired, row->desired);
    desired_init(&named);
    const struct names_input in = {.desired = &desired, .actual = &b, .rules = &with.rules};
    bool differs = names_apply(&in, &named);
    ck_assert_msg(differs == (row->names[0] != '\0' || row->others[0] != '\0'), "%s: differs %d", row->rule, differs);
    cleanup(buf_fini) struct buf text = {0};
    print_list(&text, named.servers, named.server_count, "");
    print_list(&text, named.spares, named.spare_count, "spare ");
    cleanup(mem_free_ptr) char *others = others_of(&named, desired.skip_count);
    ck_assert_msg(strcmp(buf_str(&text), row->names) == 0, "%s:\n  have %s\n  want %s", row->rule, buf_str(&text),
                  row->names);
    ck_assert_msg(strcmp(others, row->others) == 0, "%s:\n  have %s\n  want %s", row->rule, others, row->others);
}

/* n1 was adopted as `a`; what is said of n1 then holds for that line. */
TEST(a_line_keeps_its_node)
{
    const struct diff_rules rules = {.adopt = ADOPT_KEEP};
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired here, gone, one, two, three;
    text_backend(&b, "web", "server a 10.0.0.1:80");
    text_desired(&here, "n1 10.0.0.1:80");
    text_desired(&gone, "n2 10.0.0.2:80; out n1 announced its pod ends");
    struct names_input in = {.desired = &here, .actual = &b, .rules = &rules};
    ck_assert(names_apply(&in, &one));
    in.desired = &gone;
    in.before = &one;
    ck_assert(names_apply(&in, &two));
    ck_assert_str_eq(desired_node(&two, "a"), "n1");
    ck_assert_str_eq(desired_name_of_node(&two, "n1"), "a");
    ck_assert_ptr_null(desired_name_of_node(&two, "n2"));
    ck_assert(desired_why_out(&two, "a") != NULL && desired_why_out(&two, "a")->announced);
    in.before = &two; /* and so on, for as long as the line is there */
    ck_assert(names_apply(&in, &three));
    ck_assert_str_eq(desired_node(&three, "a"), "n1");
    desired_fini(&three);
    in.desired = &here;
    in.before = &two;
    ck_assert(names_apply(&in, &three)); /* back: adopted again */
    ck_assert_str_eq(three.servers[0].name, "a");
    ck_assert_uint_eq(three.alias_count, 0);
    cleanup(mem_free_ptr) char *adopted = names_adopted(&three, &rules);
    ck_assert_str_eq(adopted, "a (node n1)");
    ck_assert_ptr_null(names_adopted(&here, &rules));
}

/* `b` serves for n1, and another writer puts `a` beside it. */
TEST(a_server_stays_adopted)
{
    const struct diff_rules rules = {.adopt = ADOPT_KEEP};
    cleanup(backend_fini) struct backend b, both;
    cleanup(desired_fini) struct desired desired, one, two;
    struct runtime_server running[] = {{.name = (char *)(uintptr_t) "a"}, {.name = (char *)(uintptr_t) "b"}};
    struct runtime r = {.readable = true, .servers = &running[1], .count = 1};
    text_backend(&b, "web", "server b 10.0.0.1:80");
    text_backend(&both, "web", "server b 10.0.0.1:80\nserver a 10.0.0.1:80");
    text_desired(&desired, "n1 10.0.0.1:80");
    struct names_input in = {.desired = &desired, .actual = &both, .rules = &rules, .runtime = &r};
    ck_assert(names_apply(&in, &one));
    ck_assert_str_eq(one.servers[0].name, "b"); /* HAProxy does not run the other yet */
    desired_fini(&one);
    r.servers = running;
    r.count = 2;
    in.actual = &b;
    ck_assert(names_apply(&in, &one));
    in.actual = &both;
    in.before = &one;
    ck_assert(names_apply(&in, &two));
    ck_assert_str_eq(two.servers[0].name, "b");
}

/* The old one stays until the running HAProxy has the new one. */
TEST(renaming_waits_for_what_runs)
{
    const struct diff_rules rules = {.adopt = ADOPT_RENAME};
    cleanup(backend_fini) struct backend b;
    cleanup(desired_fini) struct desired desired;
    struct runtime_server running[] = {{.name = (char *)(uintptr_t) "a"}, {.name = (char *)(uintptr_t) "n1"}};
    struct runtime r = {.readable = true, .servers = running, .count = 1};
    text_backend(&b, "web", "server a 10.0.0.1:80\nserver n1 10.0.0.1:80");
    text_desired(&desired, "n1 10.0.0.1:80");
    const struct names_input in = {.desired = &desired, .actual = &b, .runtime = &r, .rules = &rules};
    for (int step = 0; step < 4; step++) {
        static const bool gone[] = {false, false, true, true};
        struct desired named;
        r.count = step == 0 ? 1 : 2;
        running[1].admin = step == 1 ? RUNTIME_MAINT : RUNTIME_READY;
        r.readable = step < 3; /* nobody knows: the file counts */
        ck_assert(names_apply(&in, &named));
        ck_assert_msg((desired_find(&named, "a") == NULL) == gone[step], "step %d", step);
        ck_assert_ptr_nonnull(desired_find(&named, "n1"));
        desired_fini(&named);
    }
}

/* src/haproxy/drift and src/haproxy/runtime: how what runs differs from what the file says. */
#include "haproxy/drift.h"

#include "../route_text.h"
#include "haproxy/change.h"
#include "servers/change/diff.h"

struct server_row {
    const char *line, *running;
    const char *problem; /* NULL: none */
};

static const struct server_row server_rows[] = {
    {"n1 10.0.0.1:80", "n1 ready", NULL},
    {"n1 10.0.0.1:80", "n1 at 10.0.0.2:80", "HAProxy runs it at 10.0.0.2:80, not at 10.0.0.1:80"},
    {"n1 10.0.0.1:80", "n1 at 10.0.0.1:81", "HAProxy runs it at 10.0.0.1:81, not at 10.0.0.1:80"},

    /* two spellings of one address; another family */
    {"n1 [fd00::1]:80", "n1 at [fd00:0:0::0001]:80", NULL},
    {"n1 [fd00::1]:80", "n1 at [fd00::2]:80", "HAProxy runs it at [fd00::2]:80, not at [fd00::1]:80"},
    {"n1 10.0.0.1:80", "n1 at [fd00::2]:80", "HAProxy runs it at [fd00::2]:80, not at 10.0.0.1:80"},

    /* a name is whatever it resolves to, with the port that a resolver may give; a line without a port says nothing of it */
    {"n1 web.example:80", "n1 at 10.0.0.2:81", NULL},
    {"n1 10.0.0.1", "n1 at 10.0.0.1:81", NULL},
    {"n1 10.0.0.1", "n1 at 10.0.0.2:81", "HAProxy runs it at 10.0.0.2:81, not at 10.0.0.1:0"},
    {"n1 10.0.0.1:80", "n1 at -:80", NULL}, /* nothing that can be compared */
    {"n1 10.0.0.1:80", "n1 unresolved", "HAProxy has no address for it"},
    {"n1 web.example:80", "n1 unresolved", NULL},
    {"n1 web.example:80 disabled", "n1 ready unresolved", NULL},

    /* a line that was put into maintenance is in maint, one that was brought back is not; it may drain by an operator */
    {"n1 10.0.0.1:80 disabled", "n1 maint", NULL},
    {"n1 10.0.0.1:80 disabled", "n1 ready", "HAProxy has it in ready, not in maint"},
    {"n1 10.0.0.1:80 disabled", "n1 drain", "HAProxy has it in drain, not in maint"},
    {"n1 web.example:80 disabled", "n1 ready", "HAProxy has it in ready, not in maint"},
    {"n1 10.0.0.1:80", "n1 maint", "HAProxy still has it in maint"},
    {"n1 10.0.0.1:80", "n1 drain", NULL},

    /* so may another weight */
    {"n1 10.0.0.1:80 weight 100", "n1 weight 7", NULL},
};

TEST_EACH(a_server_against_its_line, array_len(server_rows))
{
    const struct server_row *row = &server_rows[_i];
    cleanup(backend_fini) struct backend b;
    cleanup(runtime_fini) struct runtime r;
    cleanup(mem_free_ptr) char *lines = mem_printf("server %s", row->line);
    text_backend(&b, "web", lines);
    text_runtime(&r, &b, row->running);
    cleanup(mem_free_ptr) char *problem = drift_of_server(&b.servers[0], SERVER_MAINTENANCE, &r.servers[0]);
    ck_assert_msg(str_eq(problem, row->problem), "%s, %s:\n  have %s", row->line, row->running, problem);
}

TEST(an_address_that_is_not_known_is_not_compared)
{
    cleanup(backend_fini) struct backend b;
    text_backend(&b, "web", "server n1 10.0.0.1:80");
    struct runtime_server is = {.name = b.servers[0].name, .weight = -1};
    ck_assert_ptr_null(drift_of_server(&b.servers[0], SERVER_MAINTENANCE, &is));
}

/* Whose maintenance was not set, it may be anyone's. */
TEST(maintenance_that_was_not_set_is_not_compared)
{
    cleanup(backend_fini) struct backend b;
    text_backend(&b, "web", "server n1 10.0.0.1:80 disabled\nserver n2 10.0.0.2:80");
    const struct runtime_server ready = {.name = b.servers[0].name, .weight = -1},
                                out = {.name = b.servers[1].name, .weight = -1, .admin = RUNTIME_MAINT};
    ck_assert_ptr_null(drift_of_server(&b.servers[0], SERVER_ADDRESS, &ready));
    ck_assert_ptr_null(drift_of_server(&b.servers[1], SERVER_ADDRESS, &out));
}

struct problem_row {
    const char *rule;
    const char *file, *running;
    const char *problem; /* NULL: none */
};

#define N1 "server n1 10.0.0.1:80\n"
#define N2 "server n2 10.0.0.2:80\n"

static const struct problem_row problem_rows[] = {
    {"all is as the file says", N1 N2, "", NULL},
    {"a line that does not run", N1 N2, "n1 gone", "server n1: HAProxy does not run it"},
    {"in maintenance or not", N1 "server n2 10.0.0.2:80 disabled\n", "n2 gone", "server n2: HAProxy does not run it"},
    {"something runs without a line", N1, "x9 ready", "server x9: HAProxy runs it, haproxy.cfg has no such line"},
    {"nothing is in the file, something runs", "", "x9 ready",
     "server x9: HAProxy runs it, haproxy.cfg has no such line"},
    {"nothing is in the file, nothing runs", "", "", NULL},
    {"it runs elsewhere", N1 N2, "n2 at 10.0.0.9:81", "server n2: HAProxy runs it at 10.0.0.9:81, not at 10.0.0.2:80"},
    {"a call sets states, no reload is needed", N1 "server n2 10.0.0.2:80 disabled\n", "n1 maint; n2 ready", NULL},
    {"nor for weights", "server n1 10.0.0.1:80 weight 100\n", "n1 weight 7", NULL},
    {"an operator may move what is not ours", "server k1 10.0.0.1:80\nserver s1 10.0.0.2:80 backup\n",
     "k1 at 10.9.9.9:80; s1 at 10.9.9.9:80", NULL},
    {"but it has to run", "server k1 10.0.0.1:80\nserver s1 10.0.0.2:80 backup\n", "k1 gone; s1 gone",
     "server k1: HAProxy does not run it; server s1: HAProxy does not run it"},

    {"a template makes its names", N1 "server-template web 1-3\n", "web1 ready; web3 maint", NULL},
    {"not with a zero in front", N1 "server-template web 1-3\n", "web01 ready",
     "server web01: HAProxy runs it, haproxy.cfg has no such line"},
    {"and no others", N1 "server-template web 1-3\n", "web0 ready; web4 ready; webx ready",
     "server web0: HAProxy runs it, haproxy.cfg has no such line; server web4: HAProxy runs it, haproxy.cfg has no "
     "such line; "
     "server webx: HAProxy runs it, haproxy.cfg has no such line"},
    {"a template beginning at another number", "server-template web 2-3\n", "web1 ready; web2 ready",
     "server web1: HAProxy runs it, haproxy.cfg has no such line"},
    {"lines that the API does not show may make anything", N1 "alien 12 server x9 10.0.0.9:80 | it is in .if\n",
     "x9 ready; n1 at 10.0.0.9:80", "server n1: HAProxy runs it at 10.0.0.9:80, not at 10.0.0.1:80"},

    {"three are named", N1 N2 "server n3 10.0.0.3:80\nserver n4 10.0.0.4:80\n",
     "n1 gone; n2 gone; n3 gone; n4 gone; x9 ready",
     "server n1: HAProxy does not run it; server n2: HAProxy does not run it; server n3: HAProxy does not run it; "
     "and 2 more"},

    {"nothing is known", N1, "unreadable", NULL},
    {"there is no backend", "missing\n", "x9 ready", NULL},
};

TEST_EACH(a_backend_against_its_file, array_len(problem_rows))
{
    static char kept[] = "k*";
    static char *const globs[] = {kept};
    const struct problem_row *row = &problem_rows[_i];
    const struct diff_rules rules = {.keep_servers = globs, .keep_count = 1};
    const struct diff_owner owner = {.rules = &rules};
    cleanup(backend_fini) struct backend b;
    cleanup(runtime_fini) struct runtime r;
    text_backend(&b, "web", row->file);
    text_runtime(&r, &b, row->running);
    cleanup(mem_free_ptr) char *problem = drift_of_backend(&b, &r, diff_manages, &owner);
    cleanup(mem_free_ptr) char *expected = row->problem != NULL ? mem_printf("backend web: %s", row->problem) : NULL;
    ck_assert_msg(str_eq(problem, expected), "%s:\n  have %s\n  want %s", row->rule, problem, expected);
}

TEST(lines_that_the_file_lacks_hide_nothing)
{
    const struct diff_rules rules = {.keep_count = 0};
    const struct diff_owner owner = {.rules = &rules};
    cleanup(backend_fini) struct backend b;
    cleanup(runtime_fini) struct runtime r;
    text_backend(&b, "web", "server n1 10.0.0.1:80\nalien 1 backend web | the API shows server n1, no line makes it\n");
    b.unsupported[0].only_shown = true;
    text_runtime(&r, &b, "x9 ready");
    cleanup(mem_free_ptr) char *problem = drift_of_backend(&b, &r, diff_manages, &owner);
    ck_assert_pstr_eq(problem, "backend web: server x9: HAProxy runs it, haproxy.cfg has no such line");
}

TEST_EACH(ours_that_run_elsewhere_go_back, 2)
{
    static char kept[] = "k*";
    static char *const globs[] = {kept};
    const struct diff_rules rules = {.keep_servers = globs, .keep_count = 1};
    const struct diff_owner owner = {.rules = &rules};
    cleanup(backend_fini) struct backend b;
    cleanup(runtime_fini) struct runtime r;
    cleanup(changes_fini) struct changes all = {0};
    text_backend(&b, "web",
                 N1 N2 "server n3 10.0.0.3\nserver k1 10.0.0.4:80\nserver n5 web.example:80\nserver n6 10.0.0.6:80");
    text_runtime(&r, &b, "n1 at 10.0.0.9:80; n3 at 10.0.0.9:80; k1 at 10.0.0.9:80; n6 gone");
    r.readable = _i == 0;
    drift_places(&b, &r, diff_manages, &owner, &all);
    ck_assert_uint_eq(all.count, _i == 0);
    for (size_t i = 0; i < all.count; i++)
        ck_assert(all.list[i]->kind == CHANGE_SET_SERVER && all.list[i]->fields == (SERVER_ADDRESS | SERVER_PORT) &&
                  str_eq(all.list[i]->server->name, "n1") && str_eq(all.list[i]->server->address, "10.0.0.1"));
}

TEST(servers_are_found_by_name)
{
    static const char *const names[] = {"n9", "n10", "a", "n1", "N1"};
    struct runtime r;
    runtime_init(&r);
    ck_assert_ptr_null(runtime_find(&r, "n1"));
    for (size_t i = 0; i < array_len(names); i++)
        text_row(&r, names[i])->port = (uint16_t)(i + 1);
    runtime_sort(&r);
    for (size_t i = 0; i < array_len(names); i++)
        ck_assert_uint_eq(runtime_find(&r, names[i])->port, i + 1);
    ck_assert_ptr_null(runtime_find(&r, "n"));
    ck_assert_ptr_null(runtime_find(&r, "zz"));
    r.why = mem_strdup("why");
    runtime_fini(&r);
    runtime_fini(&r); /* once more is no harm */
}

/* HAProxy's own rules: management guide 9.3, `set server state`. */
TEST(who_leaves_maintenance_is_up_until_a_check_says_otherwise)
{
    struct runtime_server s = {.admin = RUNTIME_READY};
    runtime_set_admin(&s, RUNTIME_MAINT);
    ck_assert(s.down && s.admin == RUNTIME_MAINT && !runtime_fails_check(&s));
    runtime_set_admin(&s, RUNTIME_READY);
    ck_assert(!s.down && s.admin == RUNTIME_READY);
    s.down = true;
    ck_assert(runtime_fails_check(&s));
    runtime_set_admin(&s, RUNTIME_DRAIN);
    ck_assert_msg(s.down && runtime_fails_check(&s), "a drain changes nothing about it");
    runtime_set_admin(&s, RUNTIME_READY);
    ck_assert(s.down);
}

TEST(states_in_the_words_of_the_api)
{
    ck_assert_str_eq(runtime_admin_name(RUNTIME_READY), "ready");
    ck_assert_str_eq(runtime_admin_name(RUNTIME_DRAIN), "drain");
    ck_assert_str_eq(runtime_admin_name(RUNTIME_MAINT), "maint");
    ck_assert_str_eq(runtime_admin_name((enum runtime_admin)7), "invalid");
}

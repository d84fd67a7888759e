/* src/haproxy/dataplane/server_actions: changes as a Data Plane API sends them to HAProxy, and back. */
#include "haproxy/dataplane/server_actions.h"

#include "base/shared_text.h"
#include "../test.h"

static struct changes changes;

static void teardown(void)
{
    changes_fini(&changes);
}

static void add(enum change_kind kind, const char *backend_name, const char *name, unsigned fields)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(backend_name), *server = mem_strdup(name);
    char address[] = "10.0.0.1";
    const struct backend backend = {.name = copy};
    const struct backend_server is = {.name = server, .address = address, .port = 80, .weight = 7, .maintenance = true};
    const struct change c = {.kind = kind, .backend = &backend, .server = &is, .fields = fields};
    changes_add(&changes, &c);
}

static const char *printed(struct buf *out, struct error *err)
{
    buf_clear(out);
    return server_actions_print(&changes, out, err) == 0 ? buf_str(out) : NULL;
}

static const char *const texts[] = {
    "SetServerAddr be n1 10.0.0.1 80",
    "SetServerAddr be n1 fd00::1 443",
    "SetServerWeight be n1 0",
    "SetServerState be n2 ready;SetServerState be n1 maint",
    "SetServerAddr b.e:_-1 n.1 10.0.0.1 80;SetServerWeight b.e:_-1 n.1 256;SetServerState two n2 maint",
};

FIXTURE(NULL, teardown)

TEST_EACH(there_and_back, array_len(texts))
{
    cleanup(buf_fini) struct buf out = {0};
    ck_assert_int_eq(server_actions_read(texts[_i], strlen(texts[_i]), &changes), 0);
    ck_assert_str_eq(printed(&out, &flaw), texts[_i]);
}

/* There is no moment in which nobody takes connections. */
TEST(who_takes_connections_comes_first)
{
    static const char given[] = "SetServerWeight be n1 0;SetServerState be n3 maint;SetServerWeight be n2 100;"
                                "SetServerState be n4 ready";
    cleanup(buf_fini) struct buf out = {0};
    ck_assert_int_eq(server_actions_read(given, strlen(given), &changes), 0);
    ck_assert_str_eq(printed(&out, &flaw), "SetServerWeight be n2 100;SetServerState be n4 ready;"
                                           "SetServerWeight be n1 0;SetServerState be n3 maint");
}

TEST(all_of_one_server)
{
    cleanup(buf_fini) struct buf out = {0};
    add(CHANGE_SET_SERVER, "be", "n1", SERVER_ADDRESS | SERVER_WEIGHT | SERVER_MAINTENANCE);
    ck_assert_str_eq(printed(&out, &flaw),
                     "SetServerAddr be n1 10.0.0.1 80;SetServerWeight be n1 7;SetServerState be n1 maint");
}

/* One that is new was added in maintenance before, where one of the file's own maintenance stays. */
TEST(who_comes_and_goes)
{
    cleanup(buf_fini) struct buf out = {0};
    add(CHANGE_REMOVE_SERVER, "be", "n1", 0);
    add(CHANGE_ADD_SERVER, "be", "n2", 0);
    add(CHANGE_ADD_SERVER, "be", "n3", 0);
    ((struct backend_server *)(void *)changes.list[1]->server)->maintenance = false;
    ck_assert_str_eq(printed(&out, &flaw), "SetServerState be n2 ready;SetServerState be n1 maint");
}

struct refused {
    enum change_kind kind;
    const char *backend, *server;
    unsigned fields;
    const char *why;
};

static const struct refused refused[] = {
    {CHANGE_SET_BACKEND, "be", "", 0, "has a name that fits into no action"},
    {CHANGE_ADD_SERVER, "be", "n;1", 0, "server be/n;1 has a name that fits into no action"},
    {CHANGE_SET_SERVER, "be", "n1", SERVER_WEIGHT | SERVER_CHECK,
     "server be/n1: its check or its PROXY protocol changes"},
    {CHANGE_SET_SERVER, "b;e", "n1", SERVER_WEIGHT, "server b;e/n1 has a name that fits into no action"},
    {CHANGE_SET_SERVER, "be", "n 1", SERVER_WEIGHT, "server be/n 1 has a name that fits into no action"},
    {CHANGE_SET_SERVER, "be", "", SERVER_WEIGHT, "has a name that fits into no action"},
};

TEST_EACH(what_takes_a_reload, array_len(refused))
{
    cleanup(buf_fini) struct buf out = {0};
    add(CHANGE_SET_SERVER, "be", "n0", SERVER_WEIGHT);
    add(refused[_i].kind, refused[_i].backend, refused[_i].server, refused[_i].fields);
    ck_assert_ptr_null(printed(&out, &flaw));
    ck_assert_msg(strstr(flaw.message, refused[_i].why) != NULL, "%s", flaw.message);
    ck_assert_uint_eq(out.len, 0); /* all, or none */
}

TEST(an_address_that_cannot_be_read_back)
{
    cleanup(buf_fini) struct buf out = {0};
    add(CHANGE_SET_SERVER, "be", "n1", SERVER_ADDRESS);
    struct backend_server *s = (struct backend_server *)(void *)changes.list[0]->server;
    s->port = 0;
    ck_assert_ptr_null(printed(&out, &flaw));
    s->port = 80;
    ck_assert_ptr_nonnull(printed(&out, &flaw));
    shared_text_set(&s->address, "web");
    ck_assert_ptr_null(printed(&out, &flaw));
    ck_assert_str_eq(flaw.message, "server be/n1: its address is a name, or without a port");
}

/* 16 headers of 4 KB. */
TEST(too_many)
{
    cleanup(buf_fini) struct buf out = {0};
    size_t each = strlen("SetServerWeight be n1 7;");
    for (size_t i = 0; i < (16 * 4096 + 1) / each; i++)
        add(CHANGE_SET_SERVER, "be", "n1", SERVER_WEIGHT);
    ck_assert_ptr_nonnull(printed(&out, &flaw));
    add(CHANGE_SET_SERVER, "be", "n1", SERVER_WEIGHT);
    ck_assert_ptr_null(printed(&out, &flaw));
    ck_assert_ptr_nonnull(strstr(flaw.message, "2731 changes are too many for runtime commands"));
}

TEST(what_fits_into_one_header)
{
    char text[4200];
    memset(text, 'x', sizeof(text));
    text[4096] = '\0';
    ck_assert_uint_eq(server_actions_fit(text), 4096);
    text[4096] = ';';
    text[4097] = '\0';
    ck_assert_uint_eq(server_actions_fit(text), 4096);
    text[4096] = 'x';
    text[4000] = text[7] = ';';
    ck_assert_uint_eq(server_actions_fit(text), 4000);
    ck_assert_uint_eq(server_actions_fit(""), 0);
}

TEST(a_name_that_no_header_holds)
{
    cleanup(buf_fini) struct buf out = {0};
    char name[1026];
    memset(name, 'n', sizeof(name));
    name[1024] = '\0';
    add(CHANGE_REMOVE_SERVER, "be", name, 0);
    ck_assert_ptr_nonnull(printed(&out, &flaw));
    name[1024] = 'n';
    name[1025] = '\0';
    add(CHANGE_REMOVE_SERVER, "be", name, 0);
    ck_assert_ptr_null(printed(&out, &flaw));
}

static const char *const none[] = {
    "",
    "x",
    "SetServerAddr be n1 10.0.0.1",
    "SetServerAddr be n1 web 80",
    "SetServerAddr be n1 10.0.0.1 65536",
    "SetServerAddr be n1 10.0.0.1 80 more",
    "SetServerWeight be n1",
    "SetServerWeight be n1 10%",
    "SetServerWeight be n1 1 2",
    "SetServerState be n1 drain",
    "SetServerState be n1 maint more",
    "SetServerCheckPort be n1 80",
    "SetServerWeight be n1 1;",
    "SetServerWeight be n1 1; SetServerWeight be n1 2",
};

TEST_EACH(what_is_none, array_len(none))
{
    add(CHANGE_SET_SERVER, "be", "n1", SERVER_WEIGHT);
    ck_assert_int_eq(server_actions_read(none[_i], strlen(none[_i]), &changes), -1);
    ck_assert_uint_eq(changes.count, 1);
}

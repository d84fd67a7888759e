/* src/haproxy/dataplane/server_adds: servers as a Data Plane API adds them to a HAProxy that runs. */
#include "haproxy/dataplane/server_adds.h"

#include "haproxy/cfg/file.h"
#include "haproxy/change.h"
#include "../test.h"

static struct changes changes;
static struct cfg_file file;

static void teardown(void)
{
    changes_fini(&changes);
    cfg_file_fini(&file);
}

FIXTURE(NULL, teardown)

/* The backend "be" with those lines, of which the server n4 is new. */
static int adds(const char *lines, const char *haproxy, struct server_adds *ret)
{
    static char text[1024];
    char name[] = "be";
    const struct backend backend = {.name = name};
    const struct backend_server is = {.name = "n4", .address = "10.0.0.4", .port = 80, .weight = -1};
    const struct change c = {.kind = CHANGE_ADD_SERVER, .backend = &backend, .server = &is};
    snprintf(text, sizeof(text), "defaults\n  default-server inter 2s\nbackend be\n%s", lines);
    cfg_file_parse(&file, text, strlen(text));
    changes_add(&changes, &c);
    cleanup(buf_fini) struct buf actions = {0};
    return server_adds_of(&changes, &file, haproxy, ret, &actions, &flaw);
}

static const struct {
    const char *lines, *body;
    bool unchecked;
} rows[] = {
    {"server n4 10.0.0.4:80", "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"inter\":2000}", false},
    {"server n4 10.0.0.4:80 weight 7 send-proxy-v2 inter 500 disabled",
     "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"weight\":7,\"send-proxy-v2\":\"enabled\",\"inter\":500}",
     false},
    {"default-server send-proxy-v2\nserver n4 10.0.0.4:80 no-send-proxy-v2",
     "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"inter\":2000}", false},
    {"server n4 10.0.0.4:80\ndefault-server maxconn 5",
     "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"inter\":2000}", false},
    {"server n4 10.0.0.4:80 proxy-v2-options ssl,crc32c",
     "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"inter\":2000,\"proxy-v2-options\":[\"ssl\",\"crc32c\"]}",
     false},
    {"server n4 10.0.0.4:80 check send-proxy-v2",
     "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"inter\":2000,\"check\":\"enabled\",\"send-proxy-v2\":"
     "\"enabled\","
     "\"check-send-proxy\":\"enabled\"}",
     true},
};

TEST_EACH(all_words_are_said, array_len(rows))
{
    cleanup(server_adds_fini) struct server_adds a = {0};
    ck_assert_int_eq(adds(rows[_i].lines, "3.4.0", &a), 0);
    ck_assert_uint_eq(a.count, 1);
    ck_assert_str_eq(a.list[0].body, rows[_i].body);
    ck_assert_str_eq(a.list[0].list, "/runtime/backends/be/servers");
    ck_assert_str_eq(a.list[0].path, "/runtime/backends/be/servers/n4");
    ck_assert_int_eq(a.unchecked != NULL, rows[_i].unchecked);
}

static const struct {
    const char *lines, *haproxy, *why;
} refused[] = {
    {"server n4 10.0.0.4:80 cookie a", "3.4.0", "server be/n4: the Data Plane API cannot add a server with \"cookie\""},
    {"server n4 10.0.0.4:80 agent-check", "3.4.0", "with \"agent-check\""},
    {"server n4 10.0.0.4:80 inter soon", "3.4.0", "with \"inter soon\""},
    {"server n4 10.0.0.4:80 what ever", "3.4.0", "what \"what\" takes is not known"},
    {"server n5 10.0.0.4:80", "3.4.0", "haproxy.cfg has no such server"},
    {"balance random\nserver n4 10.0.0.4:80", "2.8.1", "no share of a consistent hash"},
};

TEST_EACH(what_takes_a_reload, array_len(refused))
{
    cleanup(server_adds_fini) struct server_adds a = {0};
    ck_assert_int_eq(adds(refused[_i].lines, refused[_i].haproxy, &a), -1);
    ck_assert_msg(strstr(flaw.message, refused[_i].why) != NULL, "%s", flaw.message);
}

static const struct {
    const char *api, *haproxy;
    bool known;
} versions[] = {{"3.4.0", "3.4.0", true},   {"v3.2.0", "2.6.12", true}, {"3.10.0", "3.0.1", true},
                {"3.1.14", "3.4.0", false}, {"3.0.16", "3.4.0", false}, {"3.4.0", "2.5.9", false},
                {"dev", "3.4.0", false},    {"3.4.0", "", false}};

TEST_EACH(an_api_that_passes_on_one_word_adds_nothing, array_len(versions))
{
    ck_assert_int_eq(server_adds_known(versions[_i].api, versions[_i].haproxy), versions[_i].known);
}

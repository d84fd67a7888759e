/* `plan -o json` (src/daemon/inspect/plan_json): the documented fields, and that anything a peer wrote is JSON in the end. */
#include <yyjson.h>

#include "inspect_world.h"

/* The document without its layout. */
static char *json(void)
{
    struct buf out = {0};
    inspect_print_json(&w.report, &out);
    ck_assert(str_has_suffix(buf_str(&out), "}\n"));
    yyjson_doc *doc = yyjson_read(buf_str(&out), out.len, 0);
    ck_assert_msg(doc != NULL, "no JSON: %s", buf_str(&out));
    char *text = yyjson_write(doc, 0, NULL);
    yyjson_doc_free(doc);
    buf_fini(&out);
    return text;
}

static void expect(const char *wanted)
{
    cleanup(mem_free_ptr) char *is = json();
    ck_assert_str_eq(is, wanted);
}

static void expect_part(const char *part)
{
    cleanup(mem_free_ptr) char *is = json();
    ck_assert_msg(strstr(is, part) != NULL, "%s is not in %s", part, is);
}

#define HAPROXIES \
    "\"haproxies\":[{\"url\":\"http://lb1:5555\",\"in_sync\":true,\"problem\":null,\"note\":null,\"drift\":null}],"
#define HEAD                                    \
    "{\"backend\":\"be\",\"haproxy\":\"http://" \
    "lb1:5555\",\"service\":{\"namespace\":\"ingress\",\"name\":\"web\",\"port\":\"https\"},"

FIXTURE(world_set_up, world_tear_down)

TEST(nothing_at_all)
{
    expect("{\"in_sync\":true,\"daemon\":null,\"problems\":[]," HAPROXIES "\"backends\":[]}");
}

TEST(in_step)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    world_see(&w, b, "server n1 10.0.0.1:30443 check weight 100\nserver sorry 10.0.0.2:80 backup");
    expect(
        "{\"in_sync\":true,\"daemon\":null,\"problems\":[]," HAPROXIES "\"backends\":[" HEAD
        "\"verdict\":\"in_sync\",\"why\":null,\"note\":null,"
        "\"settings\":null,\"create\":false,\"reload\":false,\"reload_why\":null,\"changes\":[],\"removals_delayed\":0,"
        "\"kept\":[],\"delayed\":[],\"runtime_commands\":[],\"overridden\":[],\"parked\":[],\"runtime\":null,"
        "\"servers\":[{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":30443,\"weight\":null,\"state\":\"live\","
        "\"reason\":\"n1 is wanted\",\"until\":null}],\"left_out\":[],\"unmanaged\":1}]}");
}

TEST(each_change_with_all_it_has)
{
    w.rules.diff.balance = "roundrobin";
    struct inspect_backend *b =
        world_add(&w, "be",
                  "n1 10.0.0.9:30443; n3 [fd00::3]:30443; n5 10.0.0.5:30443 draining; out n2 announced it "
                  "is tainted");
    world_see(&w, b,
              "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 100\n"
              "server n5 10.0.0.5:30443 check weight 9\nserver n7 10.0.0.7:30443 check disabled");
    expect_part(
        "\"verdict\":\"changes\",\"why\":null,\"note\":null,\"settings\":\"balance (none) -> roundrobin\",\"create\":"
        "false,");
    expect_part(
        "{\"op\":\"add\",\"server\":\"n3\",\"address\":\"fd00::3\",\"port\":30443,\"weight\":9,\"state\":\"live\","
        "\"detail\":\"\",\"reason\":\"n3 is "
        "wanted\",\"loss\":false,\"announced\":false,\"parks\":false,\"reload\":true}");
    expect_part("{\"op\":\"change\",\"server\":\"n1\",\"address\":\"10.0.0.9\",\"port\":30443,\"weight\":100,\"state\":"
                "\"live\","
                "\"detail\":\"address 10.0.0.1 -> 10.0.0.9\",\"reason\":\"n1 is "
                "wanted\",\"loss\":false,\"announced\":false,\"parks\":false,\"reload\":true}");
    expect_part("\"server\":\"n5\",\"address\":\"10.0.0.5\",\"port\":30443,\"weight\":9,\"state\":\"draining\",");
    expect_part(
        "{\"op\":\"remove\",\"server\":\"n2\",\"address\":\"10.0.0.2\",\"port\":30443,\"weight\":100,\"state\":\"out\","
        "\"detail\":\"\",\"reason\":\"node n2: it is "
        "tainted\",\"loss\":true,\"announced\":true,\"parks\":false,\"reload\":true}");
    expect_part(
        "\"server\":\"n7\",\"address\":\"10.0.0.7\",\"port\":30443,\"weight\":null,\"state\":\"out\",\"detail\":\"\","
        "\"reason\":\"no endpoint of the Service is on a node of that "
        "name\",\"loss\":false,\"announced\":false,\"parks\":false,\"reload\":true}");
    expect_part("{\"in_sync\":false,");
}

TEST(what_the_loss_limit_holds)
{
    w.rules.max_loss_percent = 20;
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; out n2 gone; out n3 gone");
    world_see(
        &w, b,
        "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check\nserver n3 10.0.0.3:30443 check\n"
        "server n4 10.0.0.4:30443 check disabled");
    expect_part("\"verdict\":\"changes\",\"why\":\"2 of 3 live servers lost unannounced within one RESYNC_PERIOD "
                "exceed MAX_LOSS_PERCENT=20;");
    expect_part("\"removals_delayed\":2,\"kept\":[\"n2\",\"n3\"],");
    expect_part("\"changes\":[{\"op\":\"remove\",\"server\":\"n4\",");
}

TEST(what_needs_a_reload_and_runtime_commands)
{
    w.park_ttl_ms = 1000;
    struct inspect_backend *b = world_add(
        &w, "be",
        "n1 10.0.0.9:30443; n3 10.0.0.3:30443; n4 10.0.0.4:30443 draining; n6 10.0.0.6:30443; out n2 it is tainted");
    world_see_running(
        &w, b,
        "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check\nserver n4 10.0.0.4:30443 "
        "check weight 100\nserver n5 10.0.0.5:30443 check disabled\nserver n6 10.0.0.6:30443 check weight 100",
        "n1 drain; n2 ready; n4 ready; n5 maint; n6 ready");
    expect_part("\"verdict\":\"changes\",\"why\":null,\"note\":null,\"settings\":null,\"create\":false,\"reload\":true,"
                "\"reload_why\":\"server n3 is new\",");
    expect_part(
        "\"detail\":\"address 10.0.0.1 -> 10.0.0.9\",\"reason\":\"n1 is wanted\",\"loss\":false,\"announced\":false,"
        "\"parks\":false,\"reload\":false}");
    expect_part(
        "\"server\":\"n2\",\"address\":\"10.0.0.2\",\"port\":30443,\"weight\":null,\"state\":\"out\",\"detail\":"
        "\"maintenance on (parked)\",\"reason\":\"node n2: it is tainted\",\"loss\":true,\"announced\":false,"
        "\"parks\":true,\"reload\":false}");
    expect_part(
        "\"state\":\"draining\",\"detail\":\"maintenance on (draining)\",\"reason\":\"n4 is wanted\",\"loss\":true,"
        "\"announced\":true,\"parks\":false,\"reload\":true}");
    expect_part("\"kept\":[],\"delayed\":[],\"runtime_commands\":[{\"server\":\"n2\",\"state\":\"maint\",\"reason\":"
                "\"it is no longer desired\"},"
                "{\"server\":\"n4\",\"state\":\"drain\",\"reason\":\"n4 is wanted\"}],"
                "\"overridden\":[{\"server\":\"n1\",\"state\":\"drain\"}],\"parked\":[\"n5\"],\"runtime\":null,");
}

/* The address of a draining server is written, and it goes on draining. */
TEST(a_change_of_what_drains)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; n2 10.0.0.2:30443 draining");
    world_see_running(&w, b, "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.9:30443 check weight 100",
                      "n1 ready; n2 drain");
    expect_part("\"weight\":100,\"state\":\"draining\",\"detail\":\"address 10.0.0.9 -> 10.0.0.2\",");
    expect_part("\"runtime_commands\":[],");
}

/* A template makes that name, so that HAProxy would not start with the line. */
TEST(desired_and_removed)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; web1 10.0.0.2:30443");
    world_see(&w, b,
              "server n1 10.0.0.1:30443 check weight 100\nserver web1 10.0.0.2:30443 check\nserver-template web 1-3");
    expect_part("{\"op\":\"remove\",\"server\":\"web1\",\"address\":\"10.0.0.2\",\"port\":30443,\"weight\":null,"
                "\"state\":\"out\",");
}

TEST(only_commanded)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; n2 10.0.0.2:30443 draining");
    world_see_running(&w, b, "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 100",
                      "n1 ready; n2 ready");
    expect_part("\"in_sync\":false,");
    expect_part(
        "\"verdict\":\"changes\",\"why\":null,\"note\":null,\"settings\":null,\"create\":false,\"reload\":false,"
        "\"reload_why\":null,\"changes\":[],");
}

TEST(several_haproxies)
{
    w.report.target_count = 3;
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    world_see(&w, b, "server n1 10.0.0.1:30443 check weight 100");
    world_unseen(world_in(&w, 1, b), "connection refused");
    world_see_running(&w, world_in(&w, 2, b), "server n1 10.0.0.9:30443 check weight 100", "!HTTP 500");
    w.report.targets[2].warning = "a reload is to come";
    w.report.targets[2].drift = "backend be: server n7: x";
    expect_part(
        "{\"in_sync\":false,\"daemon\":null,\"problems\":[\"HAProxy http://lb2:5555: connection refused\","
        "\"HAProxy unix:/run/lb3.sock: a reload is to come\","
        "\"HAProxy unix:/run/lb3.sock: running HAProxy differs from haproxy.cfg: backend be: server n7: x\"],"
        "\"haproxies\":[{\"url\":\"http://lb1:5555\",\"in_sync\":true,\"problem\":null,\"note\":null,\"drift\":null},"
        "{\"url\":\"http://lb2:5555\",\"in_sync\":false,\"problem\":\"connection "
        "refused\",\"note\":null,\"drift\":null},"
        "{\"url\":\"unix:/run/lb3.sock\",\"in_sync\":false,\"problem\":null,\"note\":\"a reload is to come\","
        "\"drift\":\"backend be: server n7: x\"}],\"backends\":[{\"backend\":\"be\",\"haproxy\":\"http://lb1:5555\",");
    expect_part("{\"backend\":\"be\",\"haproxy\":\"http://lb2:5555\",");
    expect_part("{\"backend\":\"be\",\"haproxy\":\"unix:/run/lb3.sock\",");
    expect_part("\"reload\":true,\"reload_why\":\"cannot read the running HAProxy: HTTP 500\",");
    expect_part("\"runtime\":\"HTTP 500\",");
}

TEST(problems)
{
    world_unseen(world_add(&w, "be", "n1 10.0.0.1:30443"), "connection refused");
    world_unseen(world_add(&w, "be2", "n1 10.0.0.1:30443"), "connection refused");
    world_unseen(world_add(&w, "be3", "n1 10.0.0.1:30443"), "riddles");
    w.report.incomplete = true;
    checks_add(&w.report.missing, CHECK_FAIL, mem_strdup("watch nodes"), mem_strdup("x"), NULL);
    checks_add(&w.report.missing, CHECK_OK, mem_strdup("watch endpointslices"), NULL, NULL);
    checks_add(&w.report.missing, CHECK_FAIL, mem_strdup("watch services"), mem_strdup("y"), NULL);
    world_target(&w)->warning = "reloads";
    expect_part("{\"in_sync\":false,\"daemon\":null,\"problems\":[\"[-]watch nodes: x\",\"[-]watch services: "
                "y\",\"connection refused\","
                "\"riddles\",\"reloads\"],");
    expect_part("\"verdict\":\"unknown\",\"why\":\"riddles\",");
    expect_part("\"unmanaged\":null}");
}

/* Raw bytes of the output: no control character, no byte beyond ASCII, whatever came in; text comes back. */
TEST_EACH(nothing_that_a_peer_wrote_gets_through, 4)
{
    static const char *const texts[] = {"\x1b[2J\n\t\x7f\x01", "\xc2\x9b[2J \xe2\x80\xae", "\xff\xfe cut \xe2\x82",
                                        "\" \\ </script> \xf0\x9f\x98\x80"};
    static const char *const back[] = {"\x1b[2J\n\t\x7f\x01", "\xc2\x9b[2J \xe2\x80\xae", "\\xff\\xfe cut \\xe2\\x82",
                                       "\" \\ </script> \xf0\x9f\x98\x80"};
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    world_desired(b)->note = mem_strdup(texts[_i]);
    text_why(world_desired(b), &world_desired(b)->servers[0], texts[_i]);
    world_see(&w, b, "server n1 10.0.0.9:30443 check weight 100");
    cleanup(buf_fini) struct buf out = {0};
    inspect_print_json(&w.report, &out);
    for (size_t i = 0; i < out.len; i++)
        ck_assert_msg(out.data[i] == '\n' || (out.data[i] >= 0x20 && out.data[i] < 0x7f), "%s", out.data);
    yyjson_doc *doc = yyjson_read(out.data, out.len, 0);
    yyjson_val *note = yyjson_ptr_get(yyjson_doc_get_root(doc), "/backends/0/note");
    ck_assert_str_eq(yyjson_get_str(note), back[_i]);
    yyjson_doc_free(doc);
}

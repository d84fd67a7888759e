/* src/cli/daemon_memory: what is taken of a daemon's /status, from any program that answers, and what is decided by it. */

#include "base/clock.h"
#include "base/rfc3339.h"
#include "cli/daemon_memory.h"
#include "servers/desired/server_state.h"
#include "settings/settings.h"

#include "inspect_world.h"

static struct daemon_memory m;
static char ns[] = "ingress", web[] = "web", https[] = "https", be[] = "be", url[] = "http://lb1:5555", any[] = "";
static struct settings_mapping mapping = {.namespace = ns, .service = web, .port = https, .backend = be};
static struct settings_dataplane dataplane = {.url = url};
static struct settings settings = {.mappings = &mapping,
                                   .mapping_count = 1,
                                   .dataplanes = &dataplane,
                                   .dataplane_count = 1,
                                   .listen.host = any,
                                   .listen.port = 8080,
                                   .status_page = true};

/* Of what is there once each, so that a row can say what is another. Times are those of this machine's clock, see at(). */
#define NODES "{\"server\":\"n9\",\"state\":\"draining\",\"until\":\"T+60\",\"announced\":false}"
#define LOSSES "\"losses\":[]"
#define PARKED "\"parked\":[]"
#define STATES "\"admin_states\":[]"
#define ALIASES "\"nodes\":[{\"server\":\"old\",\"node\":\"n7\"}]"
#define FACTS \
    "\"runtime_updates\":true,\"reload_due\":false,\"file_problem\":null,\"paused_until\":null,\"reverted\":null"
#define SERVICE "{\"namespace\":\"ingress\",\"name\":\"web\",\"port\":\"https\"}"
#define GOOD                                                                                                     \
    "{\"schema_version\":1,\"stopping\":false,\"leader\":{\"leading\":true},\"backends\":[{\"backend\":\"be\","  \
    "\"service\":" SERVICE ",\"memory\":{\"nodes\":[" NODES "],\"complete\":true}}],\"haproxies\":[{"            \
    "\"url\":\"http://lb1:5555\",\"backends\":[{\"backend\":\"be\",\"memory\":{" FACTS "," LOSSES ",\"lost\":3," \
    "\"lost_of\":4," PARKED "," STATES ",\"admin_states_known\":true," ALIASES ",\"complete\" :true}}]}]}"

/* The first `old` as new; and "T+60" as the moment in so many seconds. */
static char *changed(const char *old, const char *new)
{
    const char *at = strstr(GOOD, old), *time;
    ck_assert_msg(at != NULL, "%s is not there", old);
    char *text = mem_printf("%.*s%s%s", (int)(at - GOOD), GOOD, new, at + strlen(old));
    while ((time = strstr(text, "\"T")) != NULL) {
        char moment[RFC3339_BYTES], *end;
        long seconds = strtol(time + 2, &end, 10);
        rfc3339_format(((int64_t)clock_wall_ms() + seconds * 1000) * 1000, 3, moment);
        char *next = mem_printf("%.*s\"%s%s", (int)(time - text), text, moment, end);
        free(text);
        text = next;
    }
    return text;
}

static void take(const char *old, const char *new)
{
    cleanup(mem_free_ptr) char *text = changed(old, new);
    daemon_memory_init(&m, &settings, "http://d:1");
    daemon_memory_take(&m, text, strlen(text));
}

FIXTURE(world_set_up, world_tear_down)

/* ---- whose it is, and whether it can be used ---- */

static const struct {
    const char *old, *new, *why; /* why: NULL: it is used */
} answers[] = {
    {"", "", NULL},
    {"{\"schema", "[{\"schema", "its status is not JSON: "},
    {GOOD, "", "its status is not JSON: "},
    {GOOD, "{}", "its status is that of another version of haproxy-k8s-sync"},
    {"\"schema_version\":1", "\"schema_version\":2", "its status is that of another version of haproxy-k8s-sync"},
    {"\"schema_version\":1", "\"schema_version\":\"1\"", "schema_version is a string"},
    {"\"stopping\":false", "\"stopping\":true", "it is stopping"},
    {"\"stopping\":false,", "", "it is stopping"},
    {"\"leading\":true", "\"leading\":false", "it is not the leader"},
    {"\"leading\":true", "\"leading\":1", "leading is a number"},
    {"{\"leading\":true}", "null", "it is not the leader"},
    /* The same backends and HAProxies. */
    {"\"backend\":\"be\"", "\"backend\":\"be2\"", "it has other backends"},
    {"\"name\":\"web\"", "\"name\":\"web2\"", "it has other backends"},
    {"\"namespace\":\"ingress\"", "\"namespace\":\"default\"", "it has other backends"},
    {"\"port\":\"https\"", "\"port\":\"http\"", "it has other backends"},
    {"\"backends\":[{", "\"backends\":[{},{", "it has other backends"},
    {"http://lb1:5555", "http://lb2:5555", "it has other HAProxies"},
    {"\"haproxies\":[{", "\"haproxies\":[{},{", "it has other HAProxies"},
    /* All of the memory, or none. */
    {"\"complete\":true", "\"complete\":false", "it remembers more than its /status lists"},
    {"\"complete\" :true", "\"complete\":false", "it remembers more than its /status lists"},
    {"\"memory\":{\"nodes\"", "\"memory\":{\"x\"", "nodes is absent"},
    {"\"memory\":{\"nodes\"", "\"x\":{\"nodes\"", "memory is absent"},
    {"\"memory\":{\"runtime", "\"x\":{\"runtime", "memory is absent"},
    {NODES, "7", "nodes is a number"},
    {NODES, "{}", "a row of nodes has no server"},
    {"\"server\":\"n9\"", "\"server\":\"n\\u001b[31m\"", "server (\"n\\x1b[31m\") has a control character"},
    {"\"state\":\"draining\"", "\"state\":\"live\"", "state is \"live\""},
    {"\"T+60\"", "\"soon\"", "until is \"soon\", no time"},
    {"\"T+60\"", "3", "until is a number"},
    {LOSSES, "\"losses\":null", "losses is absent"},
    {LOSSES, "\"losses\":[{\"server\":\"n1\",\"until\":\"T+9\",\"of\":-1}]", "of is -1, not in 0..1000000"},
    {PARKED, "\"parked\":[{\"server\":\"n1\",\"since\":\"x\"}]", "since is \"x\", no time"},
    {STATES, "\"admin_states\":[{\"server\":\"n1\",\"operator\":\"gone\"}]", "operator is \"gone\""},
    {STATES, "\"admin_states\":[{\"server\":\"n1\",\"operator\":\"ready\"}]", "commanded is \"\""},
    {"\"node\":\"n7\"", "\"node\":7", "node is a number"},
    {"\"runtime_updates\":true", "\"runtime_updates\":\"yes\"", "runtime_updates is a string"},
    {"\"lost\":3", "\"lost\":3000000000", "lost is 3000000000, not in 0..1000000"},
};

TEST_EACH(answers_of_any_program, array_len(answers))
{
    take(answers[_i].old, answers[_i].new);
    const char *why = answers[_i].why;
    ck_assert_msg(daemon_memory_used(&m) == (why == NULL), "%s", m.why_not);
    ck_assert_msg(why == NULL || str_has_prefix(m.why_not, why), "it says: %s", m.why_not);
    daemon_memory_fini(&m);
}

TEST(a_list_without_end_is_not_taken)
{
    for (size_t count = 500; count <= 501; count++) {
        cleanup(buf_fini) struct buf rows = {0};
        for (size_t i = 0; i < count; i++)
            buf_printf(&rows, "%s{\"server\":\"n%zu\",\"state\":\"out\"}", i > 0 ? "," : "", i);
        take(NODES, buf_str(&rows));
        ck_assert(daemon_memory_used(&m) == (count == 500));
        ck_assert(count == 500 || str_eq(m.why_not, "nodes is too long"));
        daemon_memory_fini(&m);
    }
}

TEST(where_it_is)
{
    static const struct {
        const char *host, *url;
    } rows[] = {{"", "http://127.0.0.1:8080"},
                {"0.0.0.0", "http://127.0.0.1:8080"},
                {"::", "http://[::1]:8080"},
                {"10.0.0.9", "http://10.0.0.9:8080"},
                {"fd00::9", "http://[fd00::9]:8080"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        struct settings of = settings;
        cleanup(mem_free_ptr) char *host = of.listen.host = mem_strdup(rows[i].host);
        daemon_memory_init(&m, &of, "");
        ck_assert_str_eq(m.url, rows[i].url);
        ck_assert_ptr_null(m.why_not);
        daemon_memory_fini(&m);
        of.status_page = false;
        daemon_memory_init(&m, &of, "");
        ck_assert_str_eq(m.why_not, "STATUS_PAGE=false");
        daemon_memory_fini(&m);
    }
    daemon_memory_init(&m, &settings, NULL);
    daemon_memory_ask(&m, NULL, 1); /* there is none to ask */
    ck_assert(m.url == NULL && !daemon_memory_used(&m) && m.why_not == NULL);
    daemon_memory_fini(&m);
}

/* ---- what is recalled ---- */

TEST(drains_go_on)
{
    struct server_states *states = server_states_new();
    uint64_t now = clock_mono_ms();
    take(NODES, NODES ",{\"server\":\"n8\",\"state\":\"out\",\"announced\":true},"
                      "{\"server\":\"n7\",\"state\":\"draining\",\"until\":\"T-1\"}");
    daemon_memory_recall_states(&m, 0, states);
    server_states_begin(states, now, 3600000);
    struct server_step drains = server_states_see(states, "n9", SIGN_LEAVING), out, over;
    ck_assert(drains.state == SERVER_DRAINING && drains.until_ms > now + 58000 && drains.until_ms < now + 62000);
    out = server_states_see(states, "n8", SIGN_LEAVING);
    ck_assert(out.state == SERVER_OUT && out.announced);
    over = server_states_see(states, "n7", SIGN_LEAVING);
    ck_assert(over.state == SERVER_OUT && over.announced);
    server_states_free(states);
    daemon_memory_fini(&m);
}

TEST(what_has_left_is_remembered_for_a_while)
{
    struct server_states *states = server_states_new();
    struct server_memory *list = NULL;
    take(NODES, "{\"server\":\"n8\",\"state\":\"out\",\"announced\":true}");
    daemon_memory_recall_states(&m, 0, states);
    server_states_begin(states, clock_mono_ms(), 0);
    server_states_end(states, NULL, NULL);
    ck_assert_uint_eq(server_states_memory(states, &list), 1);
    ck_assert(str_eq(list[0].name, "n8") && list[0].state == SERVER_OUT && list[0].announced);
    free(list);
    server_states_free(states);
    daemon_memory_fini(&m);
}

TEST(nodes_of_lines)
{
    struct desired d;
    desired_init(&d);
    take("", "");
    daemon_memory_recall_names(&m, url, be, &d);
    ck_assert_str_eq(desired_node(&d, "old"), "n7");
    desired_fini(&d);
    daemon_memory_fini(&m);
}

#define L(n) "server n" n " 10.0.0." n ":80 check weight 100\n"
#define OFF(n) "server n" n " 10.0.0." n ":80 check weight 100 disabled\n"
#define S(n) "n" n " 10.0.0." n ":80"
#define LOSS(n, until, delayed) "{\"server\":\"n" n "\",\"until\":\"" until "\",\"of\":4,\"delayed\":" delayed "}"
#define STATE(n, operator, commanded, lost)                                                                  \
    "\"admin_states\":[{\"server\":\"n" n "\",\"operator\":\"" operator"\",\"commanded\":\"" commanded "\"," \
                                                                       "\"lost\":" lost "}]"

static const struct {
    const char *old, *new; /* of the memory; "" and "": nothing of note */
    const char *desired, *actual, *running, *wanted;
    enum inspect_verdict verdict;
    unsigned limit;
} decisions[] = {
    {"", "", S("1"), L("1") L("2"), "n1 ready; n2 ready", "park n2; maint n2", INSPECT_CHANGES, 100},
    /* Lost before: n2 is held still, or its time is over; what is lost now counts with it. */
    {LOSSES, "\"losses\":[" LOSS("2", "T+60", "true") "]", S("1"), L("1") L("2"), "n1 ready; n2 ready", "kept n2",
     INSPECT_LOSS_LIMIT, 50},
    {LOSSES, "\"losses\":[" LOSS("2", "T-1", "true") "]", S("1"), L("1") L("2"), "n1 ready; n2 ready",
     "park n2; maint n2", INSPECT_CHANGES, 10},
    {LOSSES, "\"losses\":[" LOSS("2", "T+60", "false") "]", S("1"), L("1") L("2"), "n1 ready; n2 ready",
     "park n2; maint n2", INSPECT_CHANGES, 10},
    {LOSSES, "\"losses\":[" LOSS("8", "T+60", "false") "," LOSS("9", "T+60", "false") "]", S("1"), L("1") L("2"),
     "n1 ready; n2 ready", "kept n2", INSPECT_LOSS_LIMIT, 50},
    /* Of two, which come in another order, the one that is written is no return of the other. */
    {LOSSES, "\"losses\":[" LOSS("3", "T+60", "true") "," LOSS("2", "T+60", "false") "]", S("1"), L("1") L("2") L("3"),
     "n1 ready; n2 ready; n3 ready", "park n2; kept n3; maint n2", INSPECT_CHANGES, 50},
    /* Parked for long enough: it goes with the next transaction. */
    {"", "", S("1") "; " S("3"), L("1") OFF("2"), "n1 ready; n2 maint", "add n3 reload", INSPECT_CHANGES, 100},
    {PARKED, "\"parked\":[{\"server\":\"n2\",\"since\":\"T-20\"}]", S("1") "; " S("3"), L("1") OFF("2"),
     "n1 ready; n2 maint", "add n3 reload; remove n2 reload", INSPECT_CHANGES, 100},
    {PARKED, "\"parked\":[{\"server\":\"n2\",\"since\":\"T-20\",\"spare\":true}]", S("1") "; " S("3"), L("1") OFF("2"),
     "n1 ready; n2 maint", "add n3 reload", INSPECT_CHANGES, 100},
    /* Whose state it is. */
    {STATES, STATE("2", "ready", "drain", "false"), S("1") "; " S("2"), L("1") L("2"), "n1 ready; n2 drain", "ready n2",
     INSPECT_CHANGES, 100},
    {STATES, STATE("2", "drain", "ready", "false"), S("1") "; " S("2"), L("1") L("2"), "n1 ready; n2 drain", "",
     INSPECT_IN_SYNC, 100},
    {STATES, STATE("2", "maint", "ready", "true"), S("1") "; " S("2"), L("1") L("2"), "n1 ready; n2 ready", "maint n2",
     INSPECT_CHANGES, 100},
    {STATES, STATE("2", "maint", "ready", "false"), S("1") "; " S("2"), L("1") L("2"), "n1 ready; n2 ready", "",
     INSPECT_IN_SYNC, 100},
    {"", "", S("1"), L("1"), "n1 drain", "", INSPECT_IN_SYNC, 100},
    {"\"admin_states_known\":true", "\"admin_states_known\":false", S("1"), L("1"), "n1 drain", "ready n1",
     INSPECT_CHANGES, 100},
    /* Runtime updates failed; a reload is due; the file is not to be written. */
    {"\"runtime_updates\":true", "\"runtime_updates\":false", S("1"), L("1") L("2"), "n1 ready; n2 ready",
     "park n2 reload", INSPECT_CHANGES, 100},
    {"\"reload_due\":false", "\"reload_due\":true", S("1"), L("1"), "n1 ready", "", INSPECT_RELOAD_AGAIN, 100},
    {"\"reload_due\":false", "\"reload_due\":true", S("1"), L("1") L("2"), "n1 ready; n2 ready",
     "park n2 reload; maint n2", INSPECT_CHANGES, 100},
    {"\"file_problem\":null", "\"file_problem\":\"x\"", S("1"), L("1") L("2"), "n1 ready; n2 ready",
     "park n2; maint n2", INSPECT_REFUSED, 100},
    /* Another writer. */
    {"\"paused_until\":null", "\"paused_until\":\"1999-01-01T00:00:00Z\"", S("1"), L("1") L("2"), "n1 ready; n2 ready",
     "park n2; maint n2", INSPECT_CHANGES, 100},
    {"\"paused_until\":null", "\"paused_until\":\"T+60\"", S("1"), L("1") L("2"), "n1 ready; n2 ready", "park n2",
     INSPECT_NOT_WRITTEN, 100},
    {"\"paused_until\":null", "\"paused_until\":\"T+60\"", S("1"), L("1"), "n1 ready", "", INSPECT_IN_SYNC, 100},
    {"\"paused_until\":null", "\"paused_until\":\"T+60\"", S("1") "; " S("2") " draining", L("1") L("2"),
     "n1 ready; n2 ready", "drain n2", INSPECT_CHANGES, 100},
};

static void decided(const struct inspect_backend *b, struct buf *is)
{
    static const char *const ops[] = {[DIFF_ADD] = "add", [DIFF_CHANGE] = "change", [DIFF_REMOVE] = "remove"};
    for (size_t i = 0; i < b->plan.diff.change_count; i++) {
        const struct diff_change *c = &b->plan.diff.changes[i];
        buf_printf(is, "; %s %s%s", c->parks ? "park" : ops[c->op], c->server.name, b->reloads[i] ? " reload" : "");
    }
    for (size_t i = 0; i < b->plan.held_back; i++)
        buf_printf(is, "; kept %s", b->plan.held[i].server);
    for (size_t i = 0; i < b->choice.command_count; i++)
        buf_printf(is, "; %s %s", runtime_admin_name(b->choice.commands[i].state), b->choice.commands[i].name);
}

TEST_EACH(decisions_by_it, array_len(decisions))
{
    cleanup(buf_fini) struct buf is = {0};
    take(decisions[_i].old, decisions[_i].new);
    w.daemon = &m;
    w.now_ms = clock_mono_ms();
    w.park_ttl_ms = 10000;
    w.rules.max_loss_percent = decisions[_i].limit;
    struct inspect_backend *b = world_add(&w, "be", decisions[_i].desired);
    world_see_running(&w, b, decisions[_i].actual, decisions[_i].running);
    decided(b, &is);
    ck_assert_str_eq(is.len > 2 ? buf_str(&is) + 2 : "", decisions[_i].wanted);
    ck_assert_int_eq(inspect_verdict(b), decisions[_i].verdict);
    daemon_memory_fini(&m);
}

/* ---- what is said of it ---- */

TEST(said)
{
    static const char reverted[] = "\"paused_until\":\"2222-01-02T03:04:05.678Z\",\"reverted\":\"version 7 differs\"";
    take("\"paused_until\":null,\"reverted\":null", reverted);
    w.daemon = w.report.daemon = &m;
    struct inspect_backend *b = world_add(&w, "be", S("1"));
    world_see_running(&w, b, L("1") L("2"), "n1 ready; n2 ready");
    ck_assert_str_eq(b->plan.why,
                     "another writer keeps reverting the daemon's changes, so the daemon pauses writes until "
                     "2222-01-02T03:04:05Z: version 7 differs");
    cleanup(mem_free_ptr) char *used = world_print(&w, inspect_print_plan, false);
    ck_assert(str_has_prefix(used, "daemon at http://d:1: its memory is used\n\nbackend be"));
    daemon_memory_fini(&m);
    take("\"leading\":true", "\"leading\":false");
    cleanup(mem_free_ptr) char *unused = world_print(&w, inspect_print_plan, false);
    ck_assert(str_has_prefix(unused, "daemon at http://d:1: not used: it is not the leader\n\nbackend be"));
    daemon_memory_fini(&m);
}

TEST(deadlines_are_the_daemon_s)
{
    take(LOSSES, "\"losses\":[{\"server\":\"n2\",\"until\":\"2222-01-02T03:04:05.678Z\",\"of\":4,\"delayed\":true}]");
    w.daemon = w.report.daemon = &m;
    w.rules.max_loss_percent = 10;
    struct inspect_backend *b = world_add(&w, "be", S("1") "; " S("3") " draining");
    world_mapping(b)->desired.servers[1].until_ms = clock_mono_ms() + 60000;
    world_see_running(&w, b, L("1") L("2") L("3"), "n1 ready; n2 ready; n3 drain");
    int64_t until = inspect_until_ms(&w.report, b, "n3") - (int64_t)clock_wall_ms();
    ck_assert(until > 58000 && until < 62000);
    ck_assert_int_eq(inspect_until_ms(&w.report, b, "n1"), 0);
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, false);
    ck_assert_msg(strstr(text, "! n2  10.0.0.2:80  weight 100  kept until 2222-01-02T03:04:05Z") != NULL, "%s", text);
    cleanup(buf_fini) struct buf json = {0};
    inspect_print_json(&w.report, &json);
    ck_assert(strstr(buf_str(&json), "\"until\": \"2222-01-02T03:04:05.678Z\"") != NULL);
    ck_assert(strstr(buf_str(&json), "\"used\": true,\n    \"why\": null") != NULL);
    daemon_memory_fini(&m);
    daemon_memory_init(&m, &settings, NULL);
    ck_assert_int_eq(inspect_until_ms(&w.report, b, "n3"), 0);
    daemon_memory_fini(&m);
}

/* src/daemon/status/status_haproxy: what is shown of a HAProxy, as it goes through its states. The world is engine_world.h's. */
#include "../engine_world.h"

#include <yyjson.h>

#include "base/rfc3339.h"
#include "json/write.h"
#include "daemon/status/status.h"
#include "daemon/status/status_parts.h"

#define WALL_MINUS_MONO_MS 1000000

static size_t left;
static enum status_state worst;
static int64_t in_sync_since_ms;

/* The document of the target, with what /readyz says. */
static yyjson_doc *shown(void)
{
    cleanup(buf_fini) struct buf json = {0};
    cleanup(checks_fini) struct checks checks = {0};
    servers_ready(w.target.servers, &checks);
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    struct status_haproxies h = {.checks = &checks, .wall_minus_mono_ms = WALL_MINUS_MONO_MS, .left = left};
    worst = STATUS_IN_SYNC;
    status_haproxy_add(&w.target, &h, doc, json_put_list(doc, root, "list"), &worst);
    in_sync_since_ms = h.in_sync_since_ms;
    json_write(doc, false, &json);
    json_free(doc);
    yyjson_doc *read = yyjson_read(json.data, json.len, 0);
    ck_assert_ptr_nonnull(read);
    return read;
}

static void expect(const char *path, const char *text)
{
    yyjson_doc *doc = shown();
    cleanup(mem_free_ptr) char *whole = mem_printf("/list/0%s", path);
    yyjson_val *v = yyjson_ptr_get(yyjson_doc_get_root(doc), whole);
    ck_assert_msg(v != NULL, "%s is not there", whole);
    cleanup(mem_free_ptr) char *is = yyjson_val_write(v, 0, NULL);
    ck_assert_msg(str_eq(is, text), "%s is %s, not %s", whole, is, text);
    yyjson_doc_free(doc);
}

/* A moment of the world, as the document has it. */
static char *moment(uint64_t mono_ms)
{
    char text[RFC3339_BYTES];
    rfc3339_format(((int64_t)mono_ms + WALL_MINUS_MONO_MS) * 1000, 3, text);
    return mem_printf("\"%s\"", text);
}

static void expect_moment(const char *path, uint64_t mono_ms)
{
    cleanup(mem_free_ptr) char *text = moment(mono_ms);
    expect(path, text);
}

/* "n1 live, n2 parked": the servers of a backend. */
static void expect_servers(size_t backend, const char *wanted)
{
    yyjson_doc *doc = shown();
    cleanup(mem_free_ptr) char *path = mem_printf("/list/0/backends/%zu/servers/list", backend);
    cleanup(buf_fini) struct buf is = {0};
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach (yyjson_ptr_get(yyjson_doc_get_root(doc), path), i, max, item) {
        const char *hand = yyjson_get_str(yyjson_obj_get(item, "overridden"));
        buf_printf(&is, "%s%s %s%s%s", i > 0 ? ", " : "", yyjson_get_str(yyjson_obj_get(item, "name")),
                   yyjson_get_str(yyjson_obj_get(item, "state")), hand != NULL ? " overridden " : "",
                   hand != NULL ? hand : "");
    }
    ck_assert_str_eq(buf_str(&is), wanted);
    yyjson_doc_free(doc);
}

static void setup(void)
{
    left = STATUS_LISTS_MAX;
    world_make_updates();
}

static void teardown(void)
{
    world_end();
}

static void in_sync_with_three(void)
{
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired("n1 n2 n3", "the first list");
    pass(0);
    ck_assert(in_sync());
}

FIXTURE(setup, teardown)

TEST(before_the_first_answer)
{
    expect("/state", "\"waiting\"");
    expect("/text", "\"waiting for Kubernetes\"");
    expect("/url", "\"" API_URL "\"");
    expect("/version", "null");
    expect("/worker_pid", "null");
    expect("/backends/0/servers/up", "null");
    expect("/runtime_verification", "\"untested\"");
    expect("/reload", "{\"state\":\"none\",\"id\":null,\"problem\":null}");
    expect_servers(0, "");
    ck_assert_int_eq(worst, STATUS_WAITING);
}

TEST(in_step)
{
    in_sync_with_three();
    expect("/state", "\"in_sync\"");
    expect("/backends/0/text", "\"in sync\"");
    expect("/backends/0/readable", "true");
    expect_servers(0, "n1 live, n2 live, n3 live");
    expect("/backends/0/servers/list/0",
           "{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":80,\"weight\":100,\"state\":\"live\","
           "\"line\":\"live\",\"running\":\"ready\",\"health\":\"up\",\"down_since\":null,\"overridden\":null,"
           "\"removal_delayed_until\":null}");
    ck_assert_int_eq(worst, STATUS_IN_SYNC);
}

TEST(draining_parked_and_back)
{
    in_sync_with_three();
    desired("n1* n2 n3", "MODIFIED slice");
    settle();
    pass(RESYNC_MS);
    expect_servers(0, "n1 draining, n2 live, n3 live");
    desired("n2 n3", "MODIFIED slice");
    settle();
    expect_servers(0, "n1 parked, n2 live, n3 live");
    expect("/backends/0/servers/live", "2");
    expect("/backends/0/servers/parked", "1");
    expect("/runtime_verification", "\"verified\"");
    desired("n1 n2 n3", "MODIFIED slice");
    settle();
    expect_servers(0, "n1 live, n2 live, n3 live");
}

TEST(down_by_its_health_check)
{
    in_sync_with_three();
    w.failing = "n2,";
    pass(RESYNC_MS);
    expect_servers(0, "n2 live, n1 live, n3 live");
    expect("/backends/0/servers/list/0/health", "\"down\"");
    expect("/backends/0/servers/list/1/health", "\"up\"");
    uint64_t since_ms = clock_mono_ms() / 1000 * 1000;
    pass(RESYNC_MS);
    ck_assert(clock_mono_ms() - since_ms >= RESYNC_MS);
    expect_moment("/backends/0/servers/list/0/down_since", since_ms);
    expect("/backends/0/servers/list/1/down_since", "null");
    expect("/backends/0/servers/live", "3");
    expect("/backends/0/servers/up", "2");
    expect("/backends/0/servers/down", "1");
    expect("/backends/0/state", "\"in_sync\"");
    desired("n1 n3", "MODIFIED slice");
    settle();
    expect("/backends/0/servers/down", "0");
    expect("/backends/0/servers/list/1/health", "null");
}

TEST(overridden)
{
    in_sync_with_three();
    set_copy(w.running.of[0], "n1 n2! n3");
    pass(RESYNC_MS);
    expect_servers(0, "n2 live overridden drain, n1 live, n3 live");
    expect("/backends/0/overridden", "\"n2 is in drain\"");
    expect("/backends/0/servers/overridden", "1");
    expect("/backends/0/servers/live", "3");
    expect("/state", "\"in_sync\"");
}

TEST(a_reload_is_under_way)
{
    in_sync_with_three();
    w.held = true;
    desired("n1 n2 n3 n4", "MODIFIED slice");
    pass(0);
    expect("/state", "\"changing\"");
    expect("/reload/state", "\"pending\"");
    ck_assert_int_eq(worst, STATUS_CHANGING);
    w.held = false;
    pass(2 * RELOAD_DELAY_MS);
    expect("/state", "\"in_sync\"");
    expect("/reload/state", "\"none\"");
}

TEST(trouble)
{
    in_sync_with_three();
    w.faults[0] = (struct fault){.step = 'R', .status = 0};
    pass(RESYNC_MS);
    expect("/state", "\"problem\"");
    ck_assert_int_eq(worst, STATUS_PROBLEM);
    expect_servers(0, "n1 live, n2 live, n3 live"); /* as known last */
}

TEST(one_that_does_not_answer)
{
    uint64_t answered_ms = clock_mono_ms();
    expect("/answers", "true"); /* it was not asked yet */
    in_sync_with_three();
    expect("/answers", "true");
    expect("/as_of", "null");
    w.faults[0] = (struct fault){.step = 'R', .status = 0};
    pass(RESYNC_MS);
    expect("/answers", "false");
    expect_moment("/as_of", answered_ms);
    w.faults[0] = (struct fault){0};
    pass(RESYNC_MS);
    expect("/answers", "true");
    expect("/as_of", "null");
}

TEST(since_when_it_is_in_sync)
{
    in_sync_with_three();
    uint64_t since_ms = clock_mono_ms();
    expect_moment("/backends/0/since", since_ms);
    pass(3 * RESYNC_MS);
    expect_moment("/backends/0/since", since_ms); /* readings that find the same change nothing */
    ck_assert_int_eq(in_sync_since_ms, (int64_t)since_ms + WALL_MINUS_MONO_MS);
    desired("", "DELETED slice");
    since_ms = clock_mono_ms();
    settle();
    pass(3 * RESYNC_MS);
    expect("/state", "\"removal_delayed\"");
    expect_moment("/backends/0/since", since_ms);
    ck_assert_int_eq(in_sync_since_ms, 0);
}

TEST(holding_the_last_good_servers)
{
    in_sync_with_three();
    desired("", "DELETED slice");
    settle();
    expect("/state", "\"removal_delayed\"");
    expect("/backends/0/text",
           "\"keeping the last servers: no usable endpoint; ALLOW_EMPTY is false, so the last servers stay (3)\"");
    ck_assert_int_eq(worst, STATUS_REMOVAL_DELAYED);
    expect_servers(0, "n1 live, n2 live, n3 live");
}

TEST(lists_are_bounded_together)
{
    in_sync_with_three();
    set_copy(w.running.of[0], "n1 n2 n3!");
    pass(RESYNC_MS);
    left = 2;
    expect_servers(0, "n3 live overridden drain, n1 live"); /* what is to be looked at first */
    expect("/backends/0/servers/live", "3");
    expect("/backends/0/servers/listed", "2");
    left = 0;
    expect_servers(0, "");
}

TEST(of_a_standby)
{
    cleanup(buf_fini) struct buf json = {0};
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    status_haproxy_add_standby("http://lb2", doc, json_put_list(doc, root, "list"));
    json_write(doc, false, &json);
    json_free(doc);
    ck_assert_str_eq(buf_str(&json), "{\"list\":[{\"url\":\"http://lb2\",\"state\":\"standby\","
                                     "\"text\":\"managed by the leading replica\",\"backends\":[]}]}");
}

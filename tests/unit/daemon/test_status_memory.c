/* src/daemon/status/status_haproxy: what is shown for `plan` to decide by. The world is engine_world.h's. */
#include "../engine_world.h"

#include <yyjson.h>

#include "daemon/status/status_parts.h"
#include "json/write.h"
#include "servers/servers_internal.h"

#define WALL_MINUS_MONO_MS 1000000000000 /* 2001-09-09T01:46:40Z */

static size_t left;
static struct servers_backend *s;
static struct server_states *states;

static void setup(void)
{
    left = STATUS_LISTS_MAX;
    world_make_updates();
    set_copy(w.have.of[0], "n1 n2 n3");
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired("n1 n2 n3", "the first list");
    pass(0);
    s = &w.target.servers->backends[0];
    states = server_states_new();
}

static void teardown(void)
{
    server_states_free(states);
    world_end();
}

static void expect(bool of_service, const char *part)
{
    cleanup(buf_fini) struct buf json = {0};
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    if (of_service)
        status_memory_put_nodes(states, WALL_MINUS_MONO_MS, &left, doc, root);
    else
        status_memory_put_servers(s, WALL_MINUS_MONO_MS, &left, doc, root);
    json_write(doc, false, &json);
    json_free(doc);
    ck_assert_msg(strstr(buf_str(&json), part) != NULL, "%s is not in %s", part, buf_str(&json));
}

FIXTURE(setup, teardown)

TEST(nothing)
{
    expect(true, "{\"memory\":{\"nodes\":[],\"complete\":true}}");
    expect(false, "{\"memory\":{\"runtime_updates\":true,\"reload_due\":false,\"file_problem\":null,"
                  "\"paused_until\":null,\"reverted\":null,\"losses\":[],\"lost\":0,\"lost_of\":0,\"parked\":[],"
                  "\"admin_states\":[],\"admin_states_known\":true,\"nodes\":[],\"complete\":true}}");
}

TEST(drains_and_what_is_out)
{
    server_states_begin(states, 1000, 5000);
    (void)server_states_see(states, "n1", SIGN_LEAVING);
    (void)server_states_see(states, "n2", SIGN_EXCLUDED);
    (void)server_states_see(states, "n3", SIGN_USABLE);
    expect(true,
           "[{\"server\":\"n1\",\"state\":\"draining\",\"until\":\"2001-09-09T01:46:46.000Z\",\"announced\":false},"
           "{\"server\":\"n2\",\"state\":\"out\",\"until\":null,\"announced\":true}],\"complete\":true");
    ck_assert_uint_eq(left, STATUS_LISTS_MAX - 2);
}

TEST(losses)
{
    const struct loss_limit_loss held = {.until_ms = 6000, .live = 4, .held = true},
                                 left_it = {.until_ms = 7000, .live = 5};
    loss_limit_recall(&s->loss_limit, "n2", &held);
    loss_limit_recall(&s->loss_limit, "n1", &left_it);
    s->loss_limit.over = 2;
    s->loss_limit.of = 5;
    expect(false, "\"losses\":[{\"server\":\"n1\",\"until\":\"2001-09-09T01:46:47.000Z\",\"of\":5,\"delayed\":false},"
                  "{\"server\":\"n2\",\"until\":\"2001-09-09T01:46:46.000Z\",\"of\":4,\"delayed\":true}],"
                  "\"lost\":2,\"lost_of\":5");
}

TEST(parked)
{
    const struct parking_memory since = {.server = "n4", .since_ms = 6000},
                                spare = {.server = "n5", .since_ms = 6000, .spare = true};
    parking_free(s->parking);
    s->parking = parking_new(1000);
    parking_recall(s->parking, &spare);
    parking_recall(s->parking, &since);
    expect(false, "\"parked\":[{\"server\":\"n4\",\"since\":\"2001-09-09T01:46:46.000Z\",\"spare\":false},"
                  "{\"server\":\"n5\",\"since\":\"2001-09-09T01:46:46.000Z\",\"spare\":true}]");
}

TEST(who_set_which_state)
{
    admin_states_recall(&s->states, "n1", RUNTIME_DRAIN, RUNTIME_READY, false);
    admin_states_recall(&s->states, "n2", RUNTIME_READY, RUNTIME_MAINT, true);
    expect(false, "[{\"server\":\"n1\",\"operator\":\"drain\",\"commanded\":\"ready\",\"lost\":false},"
                  "{\"server\":\"n2\",\"operator\":\"ready\",\"commanded\":\"maint\",\"lost\":true}],"
                  "\"admin_states_known\":true");
    s->states.known = false;
    expect(false, "\"admin_states_known\":false");
    /* Nobody can take it back while what runs cannot be read. */
    s->at->runtime_lost = true;
    expect(false, "\"runtime_updates\":true,\"reload_due\":true");
    s->at->runtime.readable = false;
    expect(false, "\"runtime_updates\":false");
}

TEST(another_writer)
{
    s->last.reverted_how = mem_strdup("so");
    expect(false, "\"paused_until\":null,\"reverted\":null");
    s->pause.until_ms = clock_mono_ms() + 60000;
    expect(false, "\"paused_until\":\"2001-09-");
    expect(false, "\"reverted\":\"so\"");
}

TEST(all_of_a_list_or_none)
{
    char name[20];
    for (size_t i = 0; i < STATUS_LIST_MAX; i++) {
        snprintf(name, sizeof(name), "m%zu", i);
        admin_states_recall(&s->states, name, RUNTIME_DRAIN, RUNTIME_READY, false);
    }
    expect(false, "\"complete\":true");
    ck_assert_uint_eq(left, STATUS_LISTS_MAX - STATUS_LIST_MAX);
    left = STATUS_LIST_MAX - 1;
    expect(false, "\"admin_states\":[],\"admin_states_known\":true,\"nodes\":[],\"complete\":false");
    ck_assert_uint_eq(left, STATUS_LIST_MAX - 1);
    left = STATUS_LISTS_MAX;
    admin_states_recall(&s->states, "one more", RUNTIME_DRAIN, RUNTIME_READY, false);
    expect(false, "\"admin_states\":[],\"admin_states_known\":true,\"nodes\":[],\"complete\":false");
}

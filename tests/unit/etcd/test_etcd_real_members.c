/* Three real members, and what may happen to one of them. */
#include "etcd_real.h"

#include "../test.h"

static void three_setup(void)
{
    client = NULL;
    if (!world_setup("http", 3))
        return;
    world_launch(NULL);
    client = world_client(NULL, NULL, NULL);
    world_await(client);
}

FIXTURE(three_setup, teardown)

TEST(a_member_that_goes)
{
    NEEDS_ETCD;
    struct outcome o = do_put(client, "/a/1", "one");
    GOOD(o);
    start_watch(o.revision);
    UNTIL(was_told("/a/1=one"));
    size_t used = 0;
    while (strcmp(world.members[used].url, etcd_client_endpoint(client)) != 0)
        used++;
    world_kill(used);
    UNTIL(was_told("lost"));
    put_in_the_end("/a/1", "two");
    UNTIL(was_told("/a/1=two"));
    end_watch();
}

/* It hangs, and keeps its connections. */
TEST(a_member_that_says_nothing)
{
    NEEDS_ETCD;
    GOOD(do_put(client, "/a/1", "one"));
    size_t used = 0;
    while (strcmp(world.members[used].url, etcd_client_endpoint(client)) != 0)
        used++;
    world_stop(used);
    struct outcome o = do_get(client, &(struct etcd_get){.key = "/a/1"});
    GOOD(o);
    outcome_fini(&o);
    ck_assert_str_ne(etcd_client_endpoint(client), world.members[used].url);
}

TEST(a_member_that_is_cut_off)
{
    NEEDS_ETCD;
    char *endpoints[] = {world.members[0].url};
    const struct etcd_client_options options = {
        .endpoints = endpoints, .endpoint_count = 1, .timeout_ms = 2000, .log = &world.log};
    struct error err = {0};
    etcd_client_free(client);
    client = etcd_client_new(world.http, &options, &err);
    struct outcome o = do_put(client, "/a/1", "one");
    GOOD(o);
    start_watch(o.revision);
    UNTIL(was_told("/a/1=one"));
    world_stop(1);
    world_stop(2);
    UNTIL(was_told("lost"));
    ck_assert_msg(strstr(told_why.message, "no leader") != NULL, "%s", told_why.message);
    o = do_get(client, &(struct etcd_get){.key = "/a/1"});
    ck_assert_int_eq(o.err.kind, ERROR_RETRY);
    ck_assert_msg(strstr(o.err.message, "no leader") != NULL, "%s", o.err.message);
    kill(world.members[1].pid, SIGCONT);
    kill(world.members[2].pid, SIGCONT);
    put_in_the_end("/a/1", "two");
    UNTIL(was_told("/a/1=two"));
    end_watch();
}

/* The client and its watches against a real etcd: what it is asked does what etcd/client.h and etcd/watch.h say.
 * All tests share a cluster of one member, and then one of three. */
#include "etcd_reported.h"
#include "etcd_world.h"

static struct etcd_client *client;
static struct etcd_watch *watch;

static void setup_of(size_t count)
{
    const struct etcd_delete all = {.key = "", .prefix = true};
    if (!world_setup(count))
        return;
    client = world_client(count, 0);
    world_await(client);
    GOOD(do_txn(client, &(struct etcd_txn){.deletes = &all, .delete_count = 1}));
    buf_init(&told, 0);
}

static void setup(void)
{
    setup_of(1);
}

static void three(void)
{
    setup_of(3);
}

static void teardown(void)
{
    etcd_watch_free(watch);
    etcd_client_free(client);
    watch = NULL;
    client = NULL;
    buf_fini(&told);
}

/* Where there is no etcd, nothing is tried. */
#define TEST_REAL(name)            \
    static void name##_real(void); \
    TEST(name)                     \
    {                              \
        if (client != NULL)        \
            name##_real();         \
    }                              \
    static void name##_real(void)

static void start_watch(int64_t revision)
{
    watch = etcd_watch_new(world.base, client, "/a/", true, &callbacks, NULL);
    etcd_watch_start(watch, revision);
}

FIXTURE(setup, teardown)

TEST_REAL(what_was_put_is_read)
{
    struct outcome put = do_put(client, "/a/1", "one");
    GOOD(put);
    ck_assert(put.succeeded);
    GOOD(do_put(client, "/a/2", ""));
    GOOD(do_put(client, "/b", "no"));
    struct outcome o = do_get(client, &(struct etcd_get){.key = "/a/", .prefix = true});
    GOOD(o);
    ck_assert_uint_eq(o.got.count, 2);
    ck_assert_int_eq(o.got.revision, put.revision + 2);
    ck_assert_str_eq(o.got.list[0].key, "/a/1");
    ck_assert_str_eq(o.got.list[0].value, "one");
    ck_assert_int_eq(o.got.list[0].mod_revision, put.revision);
    ck_assert_str_eq(o.got.list[1].key, "/a/2");
    ck_assert_uint_eq(o.got.list[1].value_len, 0);
    ck_assert(!o.got.more);
    outcome_fini(&o);
}

TEST_REAL(a_limit_keys_alone_and_an_older_revision)
{
    struct outcome put = do_put(client, "/a/1", "old");
    GOOD(put);
    GOOD(do_put(client, "/a/1", "new"));
    GOOD(do_put(client, "/a/2", "two"));
    struct outcome o = do_get(client, &(struct etcd_get){.key = "/a/", .prefix = true, .limit = 1, .keys_only = true});
    GOOD(o);
    ck_assert_uint_eq(o.got.count, 1);
    ck_assert(o.got.more);
    ck_assert_uint_eq(o.got.list[0].value_len, 0);
    outcome_fini(&o);
    o = do_get(client, &(struct etcd_get){.key = "/a/1", .revision = put.revision});
    GOOD(o);
    ck_assert_str_eq(o.got.list[0].value, "old");
    outcome_fini(&o);
    o = do_get(client, &(struct etcd_get){.key = "", .prefix = true});
    GOOD(o);
    ck_assert_uint_eq(o.got.count, 2);
    outcome_fini(&o);
    o = do_get(client, &(struct etcd_get){.key = "/a/1", .revision = 1000});
    ck_assert_int_eq(o.err.kind, ERROR_INVALID);
    ck_assert_ptr_nonnull(strstr(o.err.message, "future revision"));
}

TEST_REAL(all_of_a_transaction_or_nothing)
{
    struct outcome first = do_put(client, "/a", "1");
    const struct etcd_compare same[] = {{.key = "/a", .mod_revision = first.revision}, {.key = "/new"}};
    const struct etcd_put puts[] = {{.key = "/a", .value = "2", .value_len = 1},
                                    {.key = "/new", .value = "a\0b", .value_len = 3}};
    const struct etcd_txn txn = {.compares = same, .compare_count = 2, .puts = puts, .put_count = 2};
    struct outcome o = do_txn(client, &txn);
    GOOD(o);
    ck_assert(o.succeeded);
    ck_assert_int_eq(o.revision, first.revision + 1);
    o = do_txn(client, &txn);
    GOOD(o);
    ck_assert(!o.succeeded);
    struct outcome read = do_get(client, &(struct etcd_get){.key = "/new"});
    GOOD(read);
    ck_assert_uint_eq(read.got.list[0].value_len, 3);
    ck_assert_mem_eq(read.got.list[0].value, "a\0b", 3);
    outcome_fini(&read);
    const struct etcd_delete deletes[] = {{.key = "/", .prefix = true}};
    GOOD(do_txn(client, &(struct etcd_txn){.deletes = deletes, .delete_count = 1}));
    read = do_get(client, &(struct etcd_get){.key = "/a"});
    GOOD(read);
    ck_assert_uint_eq(read.got.count, 0);
    outcome_fini(&read);
}

TEST_REAL(a_lease_takes_its_keys_along)
{
    struct outcome lease = do_lease(client, 60, etcd_lease_grant);
    GOOD(lease);
    ck_assert_int_ne(lease.id, 0);
    ck_assert_int_eq(lease.ttl_s, 60);
    struct etcd_put put = {.key = "/l", .value = "v", .value_len = 1, .lease = lease.id};
    GOOD(do_txn(client, &(struct etcd_txn){.puts = &put, .put_count = 1}));
    struct outcome o = do_lease(client, lease.id, etcd_lease_keep_alive);
    GOOD(o);
    ck_assert_int_eq(o.id, lease.id);
    ck_assert_int_eq(o.ttl_s, 60);
    o = do_get(client, &(struct etcd_get){.key = "/l"});
    GOOD(o);
    ck_assert_int_eq(o.got.list[0].lease, lease.id);
    outcome_fini(&o);
    /* One that is not kept alive ends; etcd grants a little more than was asked for. */
    lease = do_lease(client, 1, etcd_lease_grant);
    GOOD(lease);
    put.lease = lease.id;
    GOOD(do_txn(client, &(struct etcd_txn){.puts = &put, .put_count = 1}));
    for (size_t count = 1; count > 0; world_pause()) {
        o = do_get(client, &(struct etcd_get){.key = "/l"});
        GOOD(o);
        count = o.got.count;
        outcome_fini(&o);
    }
    o = do_lease(client, lease.id, etcd_lease_keep_alive);
    GOOD(o);
    ck_assert_int_eq(o.ttl_s, 0);
    o = do_txn(client, &(struct etcd_txn){.puts = &put, .put_count = 1});
    ck_assert_int_eq(o.err.kind, ERROR_GONE);
}

TEST_REAL(what_changes_below_a_prefix)
{
    struct outcome first = do_put(client, "/a/1", "one");
    GOOD(do_put(client, "/b", "not this"));
    GOOD(do_put(client, "/a/1", "two"));
    start_watch(first.revision);
    UNTIL(was_told("/a/1=two"));
    const struct etcd_delete gone = {.key = "/a/1"};
    GOOD(do_txn(client, &(struct etcd_txn){.deletes = &gone, .delete_count = 1}));
    UNTIL(was_told("-/a/1"));
    ck_assert_str_eq(buf_str(&told), "connected /a/1=one /a/1=two -/a/1 ");
    etcd_watch_stop(watch);
    GOOD(do_put(client, "/a/1", "unseen"));
    etcd_watch_start(watch, first.revision + 4);
    UNTIL(was_told("/a/1=unseen"));
}

static void compact(int64_t revision)
{
    cleanup(mem_free_ptr) char *body = mem_printf("{\"revision\":\"%lld\"}", (long long)revision);
    ck_assert_int_eq(world_post("/v3/kv/compaction", body), 200);
}

TEST_REAL(a_revision_that_is_gone)
{
    struct outcome first = do_put(client, "/a/1", "one");
    GOOD(do_put(client, "/a/1", "two"));
    GOOD(do_put(client, "/a/1", "three"));
    compact(first.revision + 2);
    start_watch(first.revision);
    UNTIL(was_told("compacted:"));
    cleanup(mem_free_ptr) char *expected = mem_printf("connected compacted:%lld ", (long long)first.revision + 2);
    ck_assert_str_eq(buf_str(&told), expected);
    struct outcome o = do_get(client, &(struct etcd_get){.key = "/a/1", .revision = first.revision});
    ck_assert_int_eq(o.err.kind, ERROR_GONE);
    etcd_watch_start(watch, first.revision + 2);
    UNTIL(was_told("/a/1=three"));
}

/* More than one message of gRPC may have, which is 4 MiB unless a setting says otherwise; the watch gets it in
 * pieces. */
TEST_REAL(much_at_once)
{
    cleanup(mem_free_ptr) char *value = mem_alloc((1u << 20) + 1);
    memset(value, 'v', 1u << 20);
    int64_t first = 0;
    for (int i = 0; i < 8; i++) {
        cleanup(mem_free_ptr) char *key = mem_printf("/a/%d", i);
        struct outcome o = do_put(client, key, value);
        GOOD(o);
        first = i == 0 ? o.revision : first;
    }
    struct outcome o = do_get(client, &(struct etcd_get){.key = "/a/", .prefix = true});
    GOOD(o);
    ck_assert_uint_eq(o.got.count, 8);
    ck_assert_uint_eq(o.got.list[7].value_len, 1u << 20);
    outcome_fini(&o);
    start_watch(first);
    UNTIL(was_told("/a/7="));
    ck_assert_uint_eq(told.len, strlen("connected ") + 8 * (strlen("/a/0= ") + (1u << 20)));
}

TEST_REAL(too_much_at_once)
{
    static const size_t sizes[] = {1792u << 10, 2048u << 10}; /* etcd says so, and gRPC does */
    for (size_t i = 0; i < array_len(sizes); i++) {
        cleanup(mem_free_ptr) char *value = mem_alloc(sizes[i] + 1);
        memset(value, 'v', sizes[i]);
        struct outcome o = do_put(client, "/a/1", value);
        ck_assert_msg(o.err.kind == ERROR_INVALID && strstr(o.err.message, "--max-request-bytes") != NULL, "%s",
                      o.err.message);
    }
}

/* As from a backup. */
TEST_REAL(a_cluster_that_was_set_back)
{
    for (int i = 0; i < 5; i++)
        GOOD(do_put(client, "/a/1", "one"));
    struct outcome last = do_put(client, "/a/1", "two");
    start_watch(last.revision + 1);
    UNTIL(was_told("connected"));
    world_kill(0);
    UNTIL(was_told("lost"));
    cleanup(mem_free_ptr) char *data = world_path("data0"), *command = mem_printf("rm -r %s", data);
    ck_assert_int_eq(system(command), 0);
    world_launch();
    UNTIL(was_told("compacted"));
    ck_assert_str_eq(buf_str(&told), "connected lost:retry connected compacted:1 ");
}

FIXTURE(three, teardown)

/* Etcd may elect a leader. */
static void put_in_the_end(const char *key, const char *value)
{
    struct outcome o = do_put(client, key, value);
    for (uint64_t end = clock_mono_ms() + WAIT_MS; o.err.kind == ERROR_RETRY && clock_mono_ms() < end;) {
        world_pause();
        o = do_put(client, key, value);
    }
    GOOD(o);
}

TEST_REAL(a_member_that_is_cut_off)
{
    etcd_client_free(client);
    client = world_client(1, 2000);
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
}

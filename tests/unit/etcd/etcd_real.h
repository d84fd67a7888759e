/* What the tests of a real etcd begin with: its members run and answer, and there is a client and a watch. */
#ifndef TESTS_ETCD_REAL_H
#define TESTS_ETCD_REAL_H

#include "etcd_told.h"
#include "etcd_world.h"

static struct etcd_client *client;

static inline void setup(void)
{
    client = NULL;
    if (!world_setup("http", 1))
        return;
    world_launch(NULL);
    client = world_client(NULL, NULL, NULL);
    world_await(client);
}

static inline void teardown(void)
{
    etcd_client_free(client);
    world_teardown();
}

#define NEEDS_ETCD          \
    do {                    \
        if (client == NULL) \
            return;         \
    } while (0)

#define NEEDS_PROGRAM              \
    do {                           \
        if (world.program == NULL) \
            return;                \
    } while (0)

/* Etcd may still start, or elect a leader. */
static inline struct outcome put_in_the_end(const char *key, const char *value)
{
    struct outcome o = do_put(client, key, value);
    for (uint64_t end = clock_mono_ms() + WAIT_MS; o.err.kind == ERROR_RETRY && clock_mono_ms() < end;) {
        world_pause();
        o = do_put(client, key, value);
    }
    GOOD(o);
    return o;
}

static struct etcd_watch *watch;

static inline void start_watch(int64_t revision)
{
    watch = etcd_watch_new(world.base, client, "/a/", true, &callbacks, NULL);
    etcd_watch_start(watch, revision);
}

static inline void end_watch(void)
{
    etcd_watch_free(watch);
    buf_fini(&told);
}

#endif

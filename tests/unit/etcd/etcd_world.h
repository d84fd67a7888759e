/* A real etcd of one member or three below a folder of its own: $ETCD, or the one on PATH. Where there is none, what
 * needs it is said to be skipped. And calls that wait for their end, turning the loop. */
#pragma once

#include <arpa/inet.h>
#include "../test.h"
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "etcd/client.h"
#include "net/http.h"

#define WAIT_MS 30000
#define START_MS 60000 /* of a real etcd, beside whatever else runs */

static struct {
    struct event_base *base;
    struct http *http;
    char *program; /* NULL: there is none */
    char folder[64];
    struct {
        pid_t pid; /* 0: it does not run */
        unsigned port, peer_port;
        char url[64];
    } members[3];
    size_t count;
    struct log log;
} world;

/* ---- the program ---- */

static inline char *world_look(const char *folder)
{
    char *path = mem_printf("%s/etcd", folder);
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static inline char *world_program(void)
{
    const char *given = getenv("ETCD"), *path = getenv("PATH");
    if (given != NULL)
        return mem_strdup(given);
    char *list = mem_printf("%s:/usr/sbin", path != NULL ? path : "/usr/bin"), *rest = list, *folder, *found = NULL;
    while (found == NULL && (folder = strsep(&rest, ":")) != NULL)
        found = world_look(folder);
    free(list);
    if (found == NULL)
        printf("SKIPPED: tests of a real etcd: there is none on PATH (Debian's package etcd-server), and $ETCD names "
               "none\n");
    return found;
}

static inline unsigned world_free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static inline char *world_path(const char *name)
{
    return mem_printf("%s/%s", world.folder, name);
}

static inline char *world_peer(size_t i)
{
    return mem_printf("http://127.0.0.1:%u", world.members[i].peer_port);
}

static inline char *world_cluster(void)
{
    struct buf out = {0};
    for (size_t i = 0; i < world.count; i++) {
        cleanup(mem_free_ptr) char *peer = world_peer(i);
        buf_printf(&out, "%sm%zu=%s", i > 0 ? "," : "", i, peer);
    }
    return buf_take(&out);
}

static inline void world_exec(size_t i)
{
    char *data = mem_printf("%s/data%zu", world.folder, i), *log = mem_printf("%s/log%zu", world.folder, i);
    char *name = mem_printf("m%zu", i), *peer = world_peer(i), *cluster = world_cluster(), *url = world.members[i].url;
    const char *args[] = {world.program, "--name",
                          name,          "--data-dir",
                          data,          "--listen-client-urls",
                          url,           "--advertise-client-urls",
                          url,           "--initial-cluster",
                          cluster,       "--listen-peer-urls",
                          peer,          "--initial-advertise-peer-urls",
                          peer,          "--log-level",
                          "warn",        NULL};
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(out, 1);
    dup2(out, 2);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
    execv(world.program, (char *const *)(uintptr_t)args);
    _exit(127);
}

static inline void world_launch(void)
{
    for (size_t i = 0; i < world.count; i++) {
        fflush(NULL);
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0)
            world_exec(i);
        world.members[i].pid = pid;
    }
}

static inline void world_kill(size_t i)
{
    if (world.members[i].pid == 0)
        return;
    kill(world.members[i].pid, SIGKILL);
    waitpid(world.members[i].pid, NULL, 0);
    world.members[i].pid = 0;
}

/* Returns when it has stopped: kill() comes back before that, and a member may answer meanwhile. */
static inline void world_stop(size_t i)
{
    int status = 0;
    ck_assert_int_eq(kill(world.members[i].pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(world.members[i].pid, &status, WUNTRACED), world.members[i].pid);
    ck_assert(WIFSTOPPED(status));
}

/* ---- life ---- */

static inline void world_teardown(void)
{
    for (size_t i = 0; i < world.count; i++)
        world_kill(i);
    if (world.http != NULL)
        http_free(world.http);
    if (world.base != NULL)
        event_base_free(world.base);
    cleanup(mem_free_ptr) char *command = mem_printf("rm -rf %s", world.folder);
    if (world.program != NULL && system(command) != 0)
        perror(command);
    free(world.program);
    memset(&world, 0, sizeof(world));
}

/* So many members that run; as it was where it has so many. false: there is no etcd. */
static inline bool world_setup(size_t count)
{
    if (world.count == count)
        return world.program != NULL;
    if (world.count == 0)
        ck_assert_int_eq(atexit(world_teardown), 0);
    world_teardown();
    world.count = count;
    world.program = world_program();
    if (world.program == NULL)
        return false;
    snprintf(world.folder, sizeof(world.folder), "/tmp/test_etcd.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(world.folder));
    for (size_t i = 0; i < count; i++) {
        world.members[i].port = world_free_port();
        world.members[i].peer_port = world_free_port();
        snprintf(world.members[i].url, sizeof(world.members[i].url), "http://127.0.0.1:%u", world.members[i].port);
    }
    world.base = event_base_new();
    world.http = http_new(world.base, "test/1", &flaw);
    world.log = (struct log){.level = getenv("VERBOSE") != NULL ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, .fd = 2};
    world_launch();
    return true;
}

/* Turns the loop until the condition holds. */
#define UNTIL(condition)                                                            \
    do {                                                                            \
        uint64_t deadline = clock_mono_ms() + START_MS;                             \
        while (!(condition)) {                                                      \
            struct timeval tick = {.tv_usec = 20000};                               \
            event_base_loopexit(world.base, &tick);                                 \
            event_base_loop(world.base, EVLOOP_ONCE);                               \
            ck_assert_msg(clock_mono_ms() < deadline, "waited for %s", #condition); \
        }                                                                           \
    } while (0)

/* Of the first so many members. */
static inline struct etcd_client *world_client(size_t count, uint64_t timeout_ms)
{
    char *endpoints[] = {world.members[0].url, world.members[1].url, world.members[2].url};
    const struct etcd_client_options o = {
        .endpoints = endpoints, .endpoint_count = count, .timeout_ms = timeout_ms, .log = &world.log};
    struct etcd_client *c = etcd_client_new(world.http, &o, &flaw);
    ck_assert_msg(c != NULL, "%s", flaw.message);
    return c;
}

/* What the client has no call for: its answer's status. */
static inline void world_on_posted(void *arg, const struct http_response *r, const struct error *err)
{
    ck_assert_msg(err == NULL, "%s", err != NULL ? err->message : "");
    *(int *)arg = r->status;
}

static inline int world_post(const char *path, const char *body)
{
    static const struct http_callbacks posted = {.on_done = world_on_posted};
    struct http_endpoint e = {.base_url = world.members[0].url};
    int status = 0;
    const struct http_request_options o = {
        .method = "POST", .path = path, .content_type = "application/json", .body = body, .body_len = strlen(body)};
    ck_assert_msg(http_start(world.http, &e, &o, &posted, &status, &flaw) != NULL, "%s", flaw.message);
    UNTIL(status != 0);
    return status;
}

/* ---- calls, to their end ---- */

struct outcome {
    bool done;
    struct error err; /* kind ERROR_NONE: it is good */
    struct etcd_got got;
    bool succeeded;
    int64_t revision, id, ttl_s;
};

static inline void outcome_end(struct outcome *o, const struct error *err)
{
    ck_assert(!o->done);
    o->done = true;
    if (err != NULL)
        o->err = *err;
}

static inline void on_got(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct outcome *o = arg;
    outcome_end(o, err);
    ck_assert((got == NULL) == (err != NULL));
    if (got == NULL)
        return;
    o->got = *got;
    o->got.list = mem_array(got->count + 1, sizeof(got->list[0]));
    for (size_t i = 0; i < got->count; i++) {
        o->got.list[i] = got->list[i];
        o->got.list[i].key = mem_strndup(got->list[i].key, got->list[i].key_len);
        o->got.list[i].value = mem_strndup(got->list[i].value, got->list[i].value_len);
    }
}

static inline void outcome_fini(struct outcome *o)
{
    for (size_t i = 0; i < o->got.count; i++)
        etcd_kv_fini(&o->got.list[i]);
    free(o->got.list);
    o->got = (struct etcd_got){0};
}

static inline void on_txn(void *arg, bool succeeded, int64_t revision, const struct error *err)
{
    struct outcome *o = arg;
    outcome_end(o, err);
    o->succeeded = succeeded;
    o->revision = revision;
}

static inline void on_lease(void *arg, int64_t id, int64_t ttl_s, const struct error *err)
{
    struct outcome *o = arg;
    outcome_end(o, err);
    o->id = id;
    o->ttl_s = ttl_s;
}

static inline struct outcome do_get(struct etcd_client *c, const struct etcd_get *get)
{
    struct outcome o = {0};
    ck_assert_ptr_nonnull(etcd_get(c, get, on_got, &o));
    ck_assert(!o.done);
    UNTIL(o.done);
    return o;
}

static inline struct outcome do_txn(struct etcd_client *c, const struct etcd_txn *txn)
{
    struct outcome o = {0};
    ck_assert_ptr_nonnull(etcd_txn(c, txn, on_txn, &o));
    ck_assert(!o.done);
    UNTIL(o.done);
    return o;
}

static inline struct outcome do_put(struct etcd_client *c, const char *key, const char *value)
{
    const struct etcd_put put = {.key = key, .value = value, .value_len = strlen(value)};
    return do_txn(c, &(struct etcd_txn){.puts = &put, .put_count = 1});
}

static inline struct outcome do_lease(struct etcd_client *c, int64_t id,
                                      struct etcd_call *(*start)(struct etcd_client *c, int64_t id, etcd_lease_fn *done,
                                                                 void *arg))
{
    struct outcome o = {0};
    ck_assert_ptr_nonnull(start(c, id, on_lease, &o));
    UNTIL(o.done);
    return o;
}

#define GOOD(o) ck_assert_msg((o).err.kind == ERROR_NONE, "%s", (o).err.message)

/* Between two tries. */
static inline void world_pause(void)
{
    struct timeval tick = {.tv_usec = 50000};
    event_base_loopexit(world.base, &tick);
    event_base_loop(world.base, EVLOOP_NO_EXIT_ON_EMPTY);
}

/* Until it answers. */
static inline void world_await(struct etcd_client *c)
{
    uint64_t deadline = clock_mono_ms() + START_MS;
    for (enum error_kind kind = ERROR_RETRY; kind == ERROR_RETRY;) {
        struct outcome o = do_get(c, &(struct etcd_get){.key = "is it there"});
        kind = o.err.kind;
        outcome_fini(&o);
        if (kind == ERROR_RETRY)
            world_pause();
        ck_assert_msg(kind == ERROR_NONE || clock_mono_ms() < deadline, "etcd does not start: %s", o.err.message);
    }
}

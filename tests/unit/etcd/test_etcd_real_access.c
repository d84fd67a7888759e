/* Users and TLS of a real etcd. */
#include "etcd_real.h"

#include "../test.h"

/* ---- users ---- */

/* root, and "reader" who has the keys that begin with /a/; with authentication on. */
static void enable_users(void)
{
    static const char *const posts[][2] = {
        {"/v3/auth/user/add", "{\"name\":\"root\",\"password\":\"r\"}"},
        {"/v3/auth/role/add", "{\"name\":\"root\"}"},
        {"/v3/auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}"},
        {"/v3/auth/user/add", "{\"name\":\"reader\",\"password\":\"pass\\\"word\"}"},
        {"/v3/auth/role/add", "{\"name\":\"a\"}"},
        {"/v3/auth/role/grant",
         "{\"name\":\"a\",\"perm\":{\"permType\":\"READWRITE\",\"key\":\"L2Ev\",\"range_end\":\"L2Ew\"}}"},
        {"/v3/auth/user/grant", "{\"user\":\"reader\",\"role\":\"a\"}"},
        {"/v3/auth/enable", "{}"},
    };
    for (size_t i = 0; i < array_len(posts); i++)
        ck_assert_msg(world_post(posts[i][0], posts[i][1]) == 200, "%s", posts[i][0]);
}

static void be(const char *user, const char *password)
{
    etcd_client_free(client);
    client = world_client(user, password, NULL);
}

static void assert_refused(const struct outcome *o, const char *says)
{
    ck_assert_msg(o->err.kind == ERROR_AUTH, "%s: %s", error_kind_name(o->err.kind), o->err.message);
    ck_assert_msg(strstr(o->err.message, says) != NULL, "%s", o->err.message);
}

FIXTURE(setup, teardown)

TEST(a_user_with_a_password)
{
    NEEDS_ETCD;
    be("reader", "pass\"word");
    GOOD(do_put(client, "/a/1", "before there are users"));
    enable_users(); /* comes on under the client */
    struct outcome o = do_put(client, "/a/1", "one");
    GOOD(o);
    o = do_put(client, "/b", "no");
    assert_refused(&o, "user \"reader\" may not do this to one of the keys \"/b\"");
    o = do_get(client, &(struct etcd_get){.key = "/", .prefix = true});
    assert_refused(&o, "the keys that begin with \"/\"");
    be("reader", "wrong");
    o = do_put(client, "/a/1", "one");
    assert_refused(&o, "ETCD_PASSWORD");
    be(NULL, NULL);
    o = do_put(client, "/a/1", "one");
    assert_refused(&o, "set ETCD_USER and ETCD_PASSWORD");
}

TEST(a_token_that_etcd_forgot)
{
    NEEDS_ETCD;
    enable_users();
    be("reader", "pass\"word");
    struct outcome o = do_put(client, "/a/1", "one");
    GOOD(o);
    start_watch(o.revision);
    UNTIL(was_told("/a/1=one"));
    world_kill(0); /* simple tokens are in memory */
    world_launch(NULL);
    put_in_the_end("/a/1", "two");
    UNTIL(was_told("/a/1=two"));
    end_watch();
    buf_init(&told, 0);
    watch = etcd_watch_new(world.base, client, "/b/", true, &callbacks, NULL);
    etcd_watch_start(watch, 1);
    UNTIL(was_told("lost:auth"));
    ck_assert_ptr_nonnull(strstr(told_why.message, "permission denied"));
    end_watch();
}

/* ---- TLS ---- */

static char *read_file(const char *name)
{
    struct buf text = {0};
    cleanup(mem_free_ptr) char *path = world_path(name);
    ck_assert_int_eq(buf_read_file(&text, path), 0);
    return buf_take(&text);
}

static void make_certificate(const char *name, const char *usage)
{
    cleanup(mem_free_ptr) char *command =
        mem_printf("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout %s.key -out "
                   "%s.crt -days 2 "
                   "-subj /CN=%s -addext subjectAltName=IP:127.0.0.1 -addext extendedKeyUsage=%s 2>openssl.log",
                   world.folder, name, name, name, usage);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void tls_start(const char *server_usage, bool clients)
{
    make_certificate("server", server_usage);
    make_certificate("client", "clientAuth");
    cleanup(mem_free_ptr) char *command = mem_printf("cd %s && cat server.crt client.crt >both.crt", world.folder);
    ck_assert_int_eq(system(command), 0);
    cleanup(mem_free_ptr) char *cert = world_path("server.crt"), *key = world_path("server.key");
    cleanup(mem_free_ptr) char *both = world_path("both.crt");
    char cert_flag[] = "--cert-file", key_flag[] = "--key-file", ca_flag[] = "--trusted-ca-file",
         auth[] = "--client-cert-auth";
    char *more[] = {cert_flag, cert, key_flag, key, clients ? ca_flag : NULL, both, auth, NULL};
    world_launch(more);
}

static void tls_setup(void)
{
    client = NULL;
    (void)world_setup("https", 1);
}

FIXTURE(tls_setup, teardown)

TEST(over_tls)
{
    NEEDS_PROGRAM;
    tls_start("serverAuth", false);
    cleanup(mem_free_ptr) char *ca = read_file("server.crt");
    const struct http_tls good = {.ca_pem = ca};
    client = world_client(NULL, NULL, &good);
    world_await(client);
    GOOD(do_put(client, "/a/1", "one"));
    start_watch(1);
    UNTIL(was_told("/a/1=one"));
    end_watch();
    etcd_client_free(client);
    client = world_client(NULL, NULL, NULL);
    struct outcome o = do_get(client, &(struct etcd_get){.key = "/a/1"});
    ck_assert_int_eq(o.err.kind, ERROR_INVALID);
    ck_assert_msg(strstr(o.err.message, "ETCD_CA_FILE") != NULL, "%s", o.err.message);
}

TEST(with_a_client_certificate)
{
    NEEDS_PROGRAM;
    tls_start("serverAuth,clientAuth", true);
    cleanup(mem_free_ptr) char *ca = read_file("server.crt"), *cert = read_file("client.crt"),
                               *key = read_file("client.key");
    const struct http_tls good = {.ca_pem = ca, .cert_pem = cert, .key_pem = key}, none = {.ca_pem = ca};
    client = world_client(NULL, NULL, &good);
    world_await(client);
    GOOD(do_put(client, "/a/1", "one"));
    etcd_client_free(client);
    client = world_client(NULL, NULL, &none);
    struct outcome o = do_get(client, &(struct etcd_get){.key = "/a/1"});
    ck_assert_int_eq(o.err.kind, ERROR_RETRY);
    ck_assert_msg(strstr(o.err.message, "ETCD_CERT_FILE") != NULL, "%s", o.err.message);
}

/* The gateway shows etcd's own certificate to the server beside it. */
TEST(a_gateway_that_etcd_does_not_let_in)
{
    NEEDS_PROGRAM;
    tls_start("serverAuth", true);
    cleanup(mem_free_ptr) char *ca = read_file("server.crt"), *cert = read_file("client.crt"),
                               *key = read_file("client.key");
    const struct http_tls good = {.ca_pem = ca, .cert_pem = cert, .key_pem = key};
    client = world_client(NULL, NULL, &good);
    struct outcome o = {0};
    for (uint64_t end = clock_mono_ms() + WAIT_MS;
         clock_mono_ms() < end && strstr(o.err.message, "clientAuth") == NULL;) {
        o = do_get(client, &(struct etcd_get){.key = "/a/1"});
        world_pause();
    }
    ck_assert_msg(strstr(o.err.message, "clientAuth") != NULL, "%s", o.err.message);
}

/* Credentials and TLS material of kube/client, seen by a server in this process and in the log. */
#include "kube/client.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/http.h>

#include "base/clock.h"
#include "../certs.h"
#include "../folder.h"
#include "../log_file.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "kube/watch.h"
#include "net/tls_files.h"

static struct event_base *base;
static struct http *http;
static struct evhttp *server;
static struct kube_access access_to;
static char authorization[256], agent[64], seen_path[64];
static unsigned done;
static EVP_PKEY *key;
static char *cert, *key_pem;

static void on_request(struct evhttp_request *q, void *arg)
{
    const char *auth = evhttp_find_header(evhttp_request_get_input_headers(q), "Authorization");
    snprintf(authorization, sizeof(authorization), "%s", auth != NULL ? auth : "(none)");
    snprintf(agent, sizeof(agent), "%s", evhttp_find_header(evhttp_request_get_input_headers(q), "User-Agent"));
    snprintf(seen_path, sizeof(seen_path), "%s", evhttp_request_get_uri(q));
    evhttp_send_reply(q, 200, "OK", NULL);
}

/* Another file by that name, whole at once; its path. */
static char *replace_file(const char *name, const char *text)
{
    cleanup(mem_free_ptr) char *fresh = in_folder("fresh");
    char *path = in_folder(name);
    write_file(fresh, text);
    ck_assert_int_eq(rename(fresh, path), 0);
    return path;
}

static void setup(void)
{
    folder_make();
    log_begin();
    base = event_base_new();
    http = http_new(base, "haproxy-k8s-sync/test", &flaw);
    server = evhttp_new(base);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(server, "127.0.0.1", 0);
    ck_assert_ptr_nonnull(bound);
    evhttp_set_gencb(server, on_request, NULL);
    struct sockaddr_in a;
    socklen_t len = sizeof(a);
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&a, &len);
    access_to = (struct kube_access){.server = mem_printf("http://127.0.0.1:%u", ntohs(a.sin_port)),
                                     .source = mem_strdup("kubeconfig x, context y")};
    key = EVP_EC_gen("P-256");
    cert = certs_cert_pem(key);
    key_pem = certs_key_pem(key, NULL);
}

static void teardown(void)
{
    kube_access_fini(&access_to);
    http_free(http);
    evhttp_free(server);
    event_base_free(base);
    log_end();
    folder_remove();
    EVP_PKEY_free(key);
    free(cert);
    free(key_pem);
}

static struct kube_client *new_client(void)
{
    struct kube_client *c = kube_client_new(http, &access_to, &log_to_file, &flaw);
    ck_assert_msg(c != NULL, "%s", flaw.message);
    return c;
}

static void on_done(void *arg, const struct http_response *r, const struct error *err)
{
    ck_assert_msg(err == NULL, "%s", err != NULL ? err->message : "");
    ck_assert_int_eq(r->status, 200);
    done++;
    event_base_loopbreak(base);
}

/* One request; the server's view of it is in authorization, agent, seen_path. */
static void ask(struct kube_client *c)
{
    static const struct http_callbacks callbacks = {.on_done = on_done};
    struct http_request_options options = {.method = "GET", .path = "/version", .total_timeout_ms = 20000};
    unsigned before = done;
    ck_assert_msg(kube_client_start(c, &options, &callbacks, NULL, &flaw) != NULL, "%s", flaw.message);
    event_base_dispatch(base);
    ck_assert_uint_eq(done, before + 1);
}

FORKED

FIXTURE(setup, teardown)

TEST(a_token_given_as_a_value)
{
    access_to.token = mem_strdup("s3cret");
    access_to.username = mem_strdup("u"); /* a token wins, as with kubectl */
    access_to.password = mem_strdup("p");
    struct kube_client *c = new_client();
    ask(c);
    ck_assert_str_eq(authorization, "Bearer s3cret");
    ck_assert_str_eq(agent, "haproxy-k8s-sync/test");
    ck_assert_str_eq(seen_path, "/version");
    ck_assert_str_eq(kube_client_server(c), access_to.server);
    kube_client_credentials_refused(c); /* nothing to read again */
    ask(c);
    ck_assert_str_eq(authorization, "Bearer s3cret");
    kube_client_free(c);
}

TEST(basic_auth_and_nothing_at_all)
{
    struct kube_client *c = new_client();
    ask(c);
    ck_assert_str_eq(authorization, "(none)");
    kube_client_free(c);
    access_to.username = mem_strdup("u");
    access_to.password = mem_strdup("p");
    c = new_client();
    ask(c);
    ck_assert_str_eq(authorization, "Basic dTpw");
    kube_client_free(c);
}

TEST(without_a_plugin_there_is_nothing_to_wait_for)
{
    access_to.unused_exec = mem_strdup("aws");
    struct kube_client *c = new_client();
    struct buf body = {0};
    const char *plugin;
    ck_assert(kube_client_ready(c, &plugin, &body));
    ck_assert_ptr_null(plugin);
    ck_assert_str_eq(buf_str(&body), "");
    ck_assert(!kube_client_lacks_credentials(c));
    ck_assert_uint_eq(
        times_logged("credential plugin of the kubeconfig not used; the credentials beside it take precedence"), 1);
    kube_client_free(c);
}

TEST(a_proxy_is_used_where_one_is_given)
{
    access_to.proxy_url = access_to.server;
    access_to.server = mem_strdup("http://kubernetes.invalid:6443");
    struct kube_client *c = new_client();
    ask(c);
    ck_assert_str_eq(seen_path, "http://kubernetes.invalid:6443/version");
    kube_client_free(c);
}

/* The same size and time, written in place: only a 401 shows it. */
TEST(a_refused_token_is_read_again_whatever_its_file_looks_like)
{
    access_to.token_path = replace_file("token", "first");
    set_mtime(access_to.token_path, 1000000);
    struct kube_client *c = new_client();
    write_file(access_to.token_path, "other");
    set_mtime(access_to.token_path, 1000000);
    ask(c);
    ck_assert_str_eq(authorization, "Bearer first");
    kube_client_credentials_refused(c);
    ask(c);
    ck_assert_str_eq(authorization, "Bearer other");
    kube_client_free(c);
}

TEST(an_unreadable_token_keeps_the_old_one)
{
    access_to.token_path = replace_file("token", "s3cret");
    struct kube_client *c = new_client();
    unlink(access_to.token_path);
    for (int i = 0; i < 3; i++) {
        ask(c);
        ck_assert_str_eq(authorization, "Bearer s3cret");
    }
    ck_assert_uint_eq(times_logged("cannot read the Kubernetes token; keeping the last one"), 1);
    ck_assert_uint_eq(times_logged(access_to.token_path), 1);
    free(replace_file("token", "n3w\n"));
    ask(c);
    ck_assert_str_eq(authorization, "Bearer n3w");
    ck_assert_uint_eq(times_logged("s3cret"), 0);
    ck_assert_uint_eq(times_logged("n3w"), 0);
    unlink(access_to.token_path); /* trouble that comes back is logged at once */
    ask(c);
    ck_assert_uint_eq(times_logged("cannot read the Kubernetes token; keeping the last one"), 2);
    kube_client_free(c);
}

static void assert_refused(const char *first, const char *second)
{
    ck_assert_ptr_null(kube_client_new(http, &access_to, &log_to_file, &flaw));
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, first) != NULL, "%s has no %s", flaw.message, first);
    ck_assert_msg(strstr(flaw.message, second) != NULL, "%s has no %s", flaw.message, second);
    ck_assert_ptr_nonnull(strstr(flaw.message, access_to.source));
}

TEST(a_token_file_must_be_there_at_start)
{
    access_to.token_path = in_folder("token");
    assert_refused("token", access_to.token_path);
    free(replace_file("token", ""));
    assert_refused("token", "empty");
}

TEST(a_bad_ca_is_an_error)
{
    access_to.ca.path = in_folder("ca.crt");
    assert_refused("CA", access_to.ca.path);
    free(replace_file("ca.crt", "<html>not a certificate</html>"));
    assert_refused(access_to.ca.path, "no PEM certificate");
    free(replace_file("ca.crt", ""));
    assert_refused(access_to.ca.path, "no PEM certificate");
    cert[strlen(cert) / 2] = '!';
    free(replace_file("ca.crt", cert));
    assert_refused(access_to.ca.path, "certificate 1 cannot be read");
    access_to.ca.text = mem_strdup("nonsense"); /* inline beats a file */
    assert_refused("given inline", "no PEM certificate");
}

TEST(tls_files_are_followed)
{
    access_to.ca.path = replace_file("ca.crt", cert);
    access_to.cert.path = replace_file("tls.crt", cert);
    access_to.key.path = replace_file("tls.key", key_pem);
    struct kube_client *c = new_client();
    ck_assert(tls_files_client_not_after_s(kube_client_tls(c)) < INT64_MAX);
    ck_assert(kube_client_server_not_after_s(c) == INT64_MAX); /* no TLS server was seen */
    free(replace_file("tls.key", "nonsense"));
    ask(c);
    ask(c);
    ck_assert_uint_eq(times_logged("keeping the last ones"), 1);
    ck_assert_str_eq(tls_files_current(kube_client_tls(c))->key_pem, key_pem);
    cleanup(mem_free_ptr) char *again = mem_printf("# renewed\n%s", key_pem);
    free(replace_file("tls.key", again));
    ask(c);
    ck_assert_uint_eq(times_logged("TLS files renewed"), 1);
    ck_assert_str_eq(tls_files_current(kube_client_tls(c))->key_pem, again);
    kube_client_free(c);
}

TEST(a_client_certificate_and_its_key_belong_together)
{
    EVP_PKEY *other = EVP_EC_gen("P-256");
    access_to.cert.text = mem_strdup(cert);
    assert_refused("client certificate", "need each other");
    access_to.key.text = certs_key_pem(other, NULL);
    assert_refused("client key", "does not belong");
    ck_assert_uint_eq(times_logged("PRIVATE KEY"), 0);
    free(access_to.key.text);
    access_to.key.text = certs_key_pem(key, "secret");
    assert_refused("client key", "passphrase");
    free(access_to.cert.text);
    access_to.cert.text = NULL;
    assert_refused("client certificate", "need each other");
    EVP_PKEY_free(other);
}

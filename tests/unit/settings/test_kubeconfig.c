#include "settings/kubeconfig/kubeconfig.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define V1 "client.authentication.k8s.io/v1"
#define EXEC(more) "exec: {apiVersion: " V1 ", command: aws, interactiveMode: Never, " more "}"

#define CERT_TEXT "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n"
#define CERT_DATA "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmJtOTBJRzl1WlE9PQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
#define KEY_TEXT "-----BEGIN PRIVATE KEY-----\nbm90IG9uZQ==\n-----END PRIVATE KEY-----\n"
#define KEY_DATA "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmJtOTBJRzl1WlE9PQotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg=="

/* Check's fork mode gives each test its own process, so these are fresh for each. */
static char dir[] = "/tmp/test_kubeconfig.XXXXXX";
static char first[64], second[64];

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(first, sizeof(first), "%s/first", dir);
    snprintf(second, sizeof(second), "%s/second", dir);
}

static void tear_down(void)
{
    static const char *const names[] = {"first", "second", "ca.crt", "token", "namespace"};
    for (size_t i = 0; i < array_len(names); i++) {
        char name[128];
        snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
        unlink(name);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    ck_assert_msg(f != NULL, "%s: %m", name);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

static struct kube_access load(const char *list)
{
    struct kube_access a;
    struct error err;
    int rc = kube_access_from_kubeconfig(list, &a, &err);
    ck_assert_msg(rc == 0, "%s", rc == 0 ? "" : err.message);
    return a;
}

static struct error load_fails(const char *list)
{
    struct kube_access a = {.server = (char *)"untouched"};
    struct error err;
    ck_assert_msg(kube_access_from_kubeconfig(list, &a, &err) == -1, "taken");
    ck_assert_int_eq(err.kind, ERROR_FATAL);
    ck_assert_str_eq(a.server, "untouched");
    ck_assert_msg(strstr(err.message, "hunter2") == NULL, "a secret is shown: %s", err.message);
    return err;
}

static void assert_message(const struct error *err, const char *what)
{
    ck_assert_msg(strstr(err->message, what) != NULL, "expected \"%s\" in: %s", what, err->message);
}

/* A kubeconfig with one context, whose cluster and user have these fields (one line each, in flow style). */
static char *one(const char *cluster, const char *user)
{
    return mem_printf("apiVersion: v1\n"
                      "kind: Config\n"
                      "current-context: c\n"
                      "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                      "clusters: [{name: k, cluster: {%s}}]\n" /* line 5 */
                      "users: [{name: u, user: {%s}}]\n",      /* line 6 */
                      cluster, user);
}

static struct kube_access load_one(const char *cluster, const char *user)
{
    cleanup(mem_free_ptr) char *text = one(cluster, user);
    write_file(first, text);
    return load(first);
}

START_TEST(a_usual_file)
{
    write_file(first, "apiVersion: v1\n"
                      "clusters:\n"
                      "- cluster:\n"
                      "    certificate-authority-data: " CERT_DATA "\n"
                      "    server: https://10.0.0.1:6443/\n"
                      "  name: kubernetes\n"
                      "- cluster: {server: https://other}\n"
                      "  name: other\n"
                      "contexts:\n"
                      "- context:\n"
                      "    cluster: kubernetes\n"
                      "    namespace: x\n"
                      "    user: kubernetes-admin\n"
                      "  name: kubernetes-admin@kubernetes\n"
                      "current-context: kubernetes-admin@kubernetes\n"
                      "kind: Config\n"
                      "preferences: {}\n"
                      "users:\n"
                      "- name: kubernetes-admin\n"
                      "  user:\n"
                      "    client-certificate-data: " CERT_DATA "\n"
                      "    client-key-data: " KEY_DATA "\n");
    cleanup(kube_access_fini) struct kube_access a = load(first);
    ck_assert_str_eq(a.server, "https://10.0.0.1:6443");
    ck_assert_str_eq(a.ca.text, CERT_TEXT);
    ck_assert_str_eq(a.cert.text, CERT_TEXT);
    ck_assert_str_eq(a.key.text, KEY_TEXT);
    ck_assert(!a.insecure);
    const char *const unset[] = {a.ca.path, a.cert.path,  a.key.path, a.proxy_url, a.server_name,
                                 a.token,   a.token_path, a.username, a.password};
    for (size_t i = 0; i < array_len(unset); i++)
        ck_assert_ptr_null(unset[i]);
    char source[128];
    snprintf(source, sizeof(source), "kubeconfig %s, context kubernetes-admin@kubernetes", first);
    ck_assert_str_eq(a.source, source);
}
END_TEST

START_TEST(json_is_yaml)
{
    write_file(first, "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\","
                      "\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"u\"}}],"
                      "\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"https:\\/\\/h:1\",\n"
                      "\"insecure-skip-tls-verify\":true}}],"
                      "\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"hunter2\"}}]}");
    cleanup(kube_access_fini) struct kube_access a = load(first);
    ck_assert_str_eq(a.server, "https://h:1");
    ck_assert_str_eq(a.token, "hunter2");
    ck_assert(a.insecure);
}
END_TEST

START_TEST(every_field_of_a_cluster)
{
    cleanup(kube_access_fini) struct kube_access a =
        load_one("server: 'https://h:1/prefix/', certificate-authority: sub/ca.crt, tls-server-name: api.example, "
                 "proxy-url: 'http://me:hunter2@proxy:3128', insecure-skip-tls-verify: false",
                 "");
    char path[128];
    snprintf(path, sizeof(path), "%s/sub/ca.crt", dir);
    ck_assert_str_eq(a.server, "https://h:1/prefix");
    ck_assert_str_eq(a.ca.path, path);
    ck_assert_ptr_null(a.ca.text);
    ck_assert_str_eq(a.server_name, "api.example");
    ck_assert_str_eq(a.proxy_url, "http://me:hunter2@proxy:3128");
    ck_assert(!a.insecure);
}
END_TEST

START_TEST(data_beats_files_and_token_file_beats_token)
{
    cleanup(kube_access_fini) struct kube_access a =
        load_one("server: 'https://h', certificate-authority: /ca, certificate-authority-data: " CERT_DATA,
                 "client-certificate: /cert, client-key: /key, client-certificate-data: " CERT_DATA
                 ", client-key-data: " KEY_DATA ", token: hunter2, tokenFile: token");
    char path[128];
    snprintf(path, sizeof(path), "%s/token", dir);
    ck_assert_str_eq(a.ca.text, CERT_TEXT);
    ck_assert_ptr_null(a.ca.path);
    ck_assert_str_eq(a.cert.text, CERT_TEXT);
    ck_assert_str_eq(a.key.text, KEY_TEXT);
    ck_assert_ptr_null(a.token);
    ck_assert_str_eq(a.token_path, path);
}
END_TEST

START_TEST(files_and_basic_authentication)
{
    cleanup(kube_access_fini) struct kube_access a =
        load_one("server: 'http://127.0.0.1:8001'", "client-certificate: cert, client-key: /abs/key, username: me, "
                                                    "password: 12345, tokenFile: '', token: null");
    char path[128];
    snprintf(path, sizeof(path), "%s/cert", dir);
    ck_assert_str_eq(a.cert.path, path);
    ck_assert_str_eq(a.key.path, "/abs/key");
    ck_assert_str_eq(a.username, "me");
    ck_assert_str_eq(a.password, "12345");
    ck_assert_ptr_null(a.token_path);
    ck_assert_ptr_null(a.token);
}
END_TEST

START_TEST(a_user_name_may_have_no_password)
{
    cleanup(kube_access_fini) struct kube_access a = load_one("server: 'http://h'", "username: me");
    ck_assert_str_eq(a.password, "");
}
END_TEST

START_TEST(a_context_may_have_no_user)
{
    write_file(first, "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
                      "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:8001'}}]\n");
    cleanup(kube_access_fini) struct kube_access a = load(first);
    ck_assert_ptr_null(a.token);
}
END_TEST

START_TEST(a_relative_kubeconfig_has_relative_paths)
{
    cleanup(mem_free_ptr) char *text = one("server: 'https://h', certificate-authority: ca.crt", "");
    write_file(first, text);
    ck_assert_int_eq(chdir(dir), 0);
    cleanup(kube_access_fini) struct kube_access a = load("first");
    ck_assert_str_eq(a.ca.path, "ca.crt");
    cleanup(kube_access_fini) struct kube_access b = load("./first");
    ck_assert_str_eq(b.ca.path, "./ca.crt");
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(the_first_file_wins)
{
    write_file(first, "current-context: ''\n"
                      "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                      "clusters: [{name: k, cluster: {server: 'https://first', certificate-authority: ca}}]\n");
    write_file(second, "current-context: c\n"
                       "contexts: [{name: c, context: {cluster: other, user: u}}]\n"
                       "clusters: [{name: k, cluster: {server: 'https://second', tls-server-name: second}}]\n"
                       "users: [{name: u, user: {token: hunter2}}]\n");
    char list[256], source[256];
    snprintf(list, sizeof(list), ":/nowhere/at/all:%s:%s/nothing:%s::", first, dir, second);
    cleanup(kube_access_fini) struct kube_access a = load(list);
    ck_assert_str_eq(a.server, "https://first");
    ck_assert_ptr_null(a.server_name); /* an element is taken whole, not field by field */
    ck_assert_str_eq(a.token, "hunter2");
    snprintf(source, sizeof(source), "kubeconfig %s, context c", first);
    ck_assert_str_eq(a.source, source);
    snprintf(list, sizeof(list), "%s:%s", second, first);
    struct error err = load_fails(list);
    assert_message(&err, "there is no cluster \"other\" in any of the files");
    assert_message(&err, second);
}
END_TEST

START_TEST(an_exec_plugin)
{
    write_file(first, "current-context: c\n"
                      "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                      "clusters:\n"
                      "- name: k\n"
                      "  cluster:\n"
                      "    server: https://h\n"
                      "    extensions:\n"
                      "    - {name: other, extension: {a: b}}\n"
                      "    - name: client.authentication.k8s.io/exec\n"
                      "      extension: {audience: 06e3fbd18de8, n: [1, -2.5e3, 010, '1', .5], on: true, no: null, "
                      "t: \"a\\\"\\\\\\n\xc3\xa4\"}\n"
                      "users:\n"
                      "- name: u\n"
                      "  user:\n"
                      "    exec:\n"
                      "      apiVersion: " V1 "\n"
                      "      command: aws\n"
                      "      args: [eks, get-token, --cluster-name, 7, '']\n"
                      "      env:\n"
                      "      - {name: AWS_PROFILE, value: hunter2}\n"
                      "      - {name: EMPTY, value: ''}\n"
                      "      installHint: |\n"
                      "        Get it\n"
                      "        from there.\n"
                      "      provideClusterInfo: true\n"
                      "      interactiveMode: IfAvailable\n");
    cleanup(kube_access_fini) struct kube_access a = load(first);
    ck_assert(kube_access_runs_plugin(&a));
    ck_assert_str_eq(a.exec->api_version, V1);
    ck_assert_str_eq(a.exec->command, "aws");
    ck_assert_str_eq(a.exec->args[0], "eks");
    ck_assert_str_eq(a.exec->args[3], "7");
    ck_assert_str_eq(a.exec->args[4], "");
    ck_assert_ptr_null(a.exec->args[5]);
    ck_assert_str_eq(a.exec->env[0], "AWS_PROFILE=hunter2");
    ck_assert_str_eq(a.exec->env[1], "EMPTY=");
    ck_assert_ptr_null(a.exec->env[2]);
    ck_assert_str_eq(a.exec->install_hint, "Get it\nfrom there.\n");
    ck_assert(a.exec->provide_cluster_info);
    ck_assert_str_eq(a.exec->cluster_config, "{\"audience\":\"06e3fbd18de8\",\"n\":[1,-2.5e3,\"010\",\"1\",\".5\"],"
                                             "\"on\":true,\"no\":null,\"t\":\"a\\\"\\\\\\n\xc3\xa4\"}");
    ck_assert_ptr_nonnull(strstr(a.source, ", context c, credentials by aws"));
    struct kube_exec *copy = kube_exec_copy(a.exec);
    ck_assert_str_eq(copy->env[1], "EMPTY=");
    ck_assert_str_eq(copy->args[4], "");
    ck_assert_str_eq(copy->cluster_config, a.exec->cluster_config);
    kube_exec_free(copy);
}
END_TEST

/* With a slash relative to the kubeconfig, without one to be looked for in PATH. */
START_TEST(where_the_plugin_is)
{
    static const char *const commands[][2] = {
        {"bin/aws", "/bin/aws"}, {"./aws", "/./aws"}, {"/opt/aws", NULL}, {"aws", NULL}};
    for (size_t i = 0; i < array_len(commands); i++) {
        cleanup(mem_free_ptr) char *user = mem_printf("exec: {apiVersion: " V1 "beta1, command: %s}", commands[i][0]);
        cleanup(mem_free_ptr) char *path = mem_printf("%s%s", dir, commands[i][1] != NULL ? commands[i][1] : "");
        cleanup(kube_access_fini) struct kube_access a = load_one("server: 'https://h'", user);
        ck_assert_str_eq(a.exec->command, commands[i][1] != NULL ? path : commands[i][0]);
        ck_assert_str_eq(a.exec->api_version, V1 "beta1"); /* which need not say anything of a terminal */
        ck_assert_ptr_null(a.exec->args[0]);
        ck_assert_ptr_null(a.exec->env[0]);
        ck_assert_ptr_null(a.exec->cluster_config);
        ck_assert(!a.exec->provide_cluster_info);
    }
}
END_TEST

START_TEST(credentials_beside_a_plugin_come_first)
{
    static const char *const beside[] = {"token: t", "tokenFile: t", "username: me",
                                         "client-certificate: c, client-key: k"};
    for (size_t i = 0; i < array_len(beside); i++) {
        cleanup(mem_free_ptr) char *user = mem_printf(EXEC("") ", %s", beside[i]);
        cleanup(kube_access_fini) struct kube_access a = load_one("server: 'https://h'", user);
        ck_assert(!kube_access_runs_plugin(&a));
        ck_assert_str_eq(a.unused_exec, "aws");
        ck_assert_ptr_null(strstr(a.source, "aws"));
    }
}
END_TEST

START_TEST(no_file_at_all)
{
    struct error err = load_fails("/nowhere/a:/nowhere/b");
    assert_message(&err, "no such file: /nowhere/a:/nowhere/b");
    err = load_fails("");
    err = load_fails(dir);
    assert_message(&err, "Is a directory");
    assert_message(&err, dir);
}
END_TEST

/* The fields of cluster and user, and what is said; the line is the one of the field. */
static const struct {
    const char *cluster, *user, *says;
} refused[] = {
    {"", "", ":5: clusters[\"k\"].cluster: has no server"},
    {"server: ''", "", "has no server"},
    {"server: [a]", "", ":5: clusters[\"k\"].cluster.server: expected a text"},
    {"server: 'h:6443'", "", "\"h:6443\": expected a URL"},
    {"server: 'https://me:hunter2@h'", "", "\"https://***@h\": expected a URL"},
    {"server: 'https://h:70000'", "", "its port is not a number"},
    {"server: \"https://h\\nx\"", "", "\\n"},
    {"server: 'https://h', server: 'https://i'", "", "cluster.server: is there twice, again in line 5"},
    {"server: 'https://h', proxy-url: 'ftp://me:hunter2@h'", "", "clusters[\"k\"].cluster.proxy-url: \"ftp://***@h\""},
    {"server: 'https://h', tls-server-name: a/b", "", "tls-server-name: expected a host name"},
    {"server: 'https://h', insecure-skip-tls-verify: maybe", "", "insecure-skip-tls-verify: expected true or false"},
    {"server: 'https://h', insecure-skip-tls-verify: [true]", "", "insecure-skip-tls-verify: expected a text"},
    {"server: 'https://h', insecure-skip-tls-verify: true, certificate-authority: ca", "", "contradicts"},
    {"server: 'https://h', certificate-authority-data: '%%'", "", "certificate-authority-data: is no base64"},
    {"server: 'https://h', certificate-authority-data: aHVudGVyMg==", "", "expected PEM"},
    {"server: 'https://h', certificate-authority-data: " KEY_DATA, "", "without \"CERTIFICATE-----\""},
    {"server: 'https://h', certificate-authority: \"a\\tb\"", "", "control character"},
    {"server: 'https://h'", "exec: {}", ":6: users[\"u\"].user.exec: has no apiVersion: expected " V1},
    {"server: 'https://h'", "exec: [a]", ":6: users[\"u\"].user.exec: expected an object"},
    {"server: 'https://h'", "exec: aws", "users[\"u\"].user.exec: expected an object"},
    {"server: 'https://h'", "exec: {apiVersion: a}, exec: {apiVersion: a}", "user.exec: is there twice"},
    {"server: 'https://h'", "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: aws}",
     "exec.apiVersion: \"client.authentication.k8s.io/v1alpha1\" is not spoken any more: expected " V1},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", interactiveMode: Never}", "user.exec: has no command"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: '', interactiveMode: Never}", "has no command"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: \"a\\nb\", interactiveMode: Never}",
     "exec.command: holds a line break"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: aws, args: [hunter2]}",
     "has no interactiveMode, which " V1},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: aws, interactiveMode: Always}",
     "exec.interactiveMode: Always: the plugin wants to ask somebody at a terminal"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: aws, interactiveMode: never}",
     "interactiveMode: \"never\": expected Never or IfAvailable"},
    {"server: 'https://h'", EXEC("args: hunter2"), "exec.args: expected a list"},
    {"server: 'https://h'", EXEC("args: [a, {b: hunter2}]"), "exec.args: element 2 (line 6): expected a text"},
    {"server: 'https://h'", EXEC("args: [a], args: [b]"), "exec.args: is there twice"},
    {"server: 'https://h'", EXEC("env: {A: hunter2}"), "exec.env: expected a list"},
    {"server: 'https://h'", EXEC("env: [hunter2]"), "exec.env: the variable in line 6: expected a name and a value"},
    {"server: 'https://h'", EXEC("env: [{value: hunter2}]"), "expected a name and a value"},
    {"server: 'https://h'", EXEC("env: [{name: A, value: [hunter2]}]"), "expected a name and a value"},
    {"server: 'https://h'", EXEC("env: [{name: A, name: B, value: hunter2}]"), "expected a name and a value"},
    {"server: 'https://h'", EXEC("env: [{name: '', value: hunter2}]"), "its name is empty or holds a '='"},
    {"server: 'https://h'", EXEC("env: [{name: A=B, value: hunter2}]"), "its name is empty or holds a '='"},
    {"server: 'https://h'", EXEC("provideClusterInfo: maybe"), "exec.provideClusterInfo: expected true or false"},
    {"server: 'https://h'", EXEC("installHint: [a]"), "exec.installHint: expected a text"},
    {"server: 'https://h', extensions: {}", EXEC(""), "clusters[\"k\"].cluster.extensions: expected a list"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: aws}, token: hunter2", "has no interactiveMode"},
    {"server: 'https://h'", EXEC("") ", auth-provider: {name: oidc}", "user.auth-provider: the plugin \"oidc\""},
    {"server: 'https://h'", "auth-provider: {name: oidc}, token: hunter2", "user.auth-provider: the plugin \"oidc\""},
    {"server: 'https://h'", "as: root, token: hunter2", "user.as: impersonation is not supported"},
    {"server: 'https://h'", "as-groups: [a]", "user.as-groups: impersonation"},
    {"server: 'https://h'", "client-certificate: a", "has a client certificate without its key (client-key)"},
    {"server: 'https://h'", "client-key-data: " KEY_DATA, "has a client key without its certificate"},
    {"server: 'https://h'", "client-certificate: a, client-key-data: " CERT_DATA, "without \"PRIVATE KEY-----\""},
    {"server: 'https://h'", "client-certificate: a, client-key-data: aHVudGVyMg=", "client-key-data: is no base64"},
    {"server: 'https://h'", "token: hunter2, username: me", "one way to log in"},
    {"server: 'https://h'", "tokenFile: t, username: me", "one way to log in"},
    {"server: 'https://h'", "username: 'me:hunter2'", "a ':'"},
    {"server: 'https://h'", "password: hunter2", "without a username"},
    {"server: 'https://h'", "token: \"hunter2\\n\"", "user.token: holds a line break"},
    {"server: 'https://h'", "token: {a: hunter2}", "user.token: expected a text"},
};

START_TEST(what_cannot_be_used_is_named)
{
    cleanup(mem_free_ptr) char *text = one(refused[_i].cluster, refused[_i].user);
    write_file(first, text);
    struct error err = load_fails(first);
    assert_message(&err, refused[_i].says);
    assert_message(&err, first);
}
END_TEST

/* Whole files, and what is said. */
static const struct {
    const char *text, *says;
} broken[] = {
    {"", "current-context is not set"},
    {"{}", "current-context is not set: choose one by kubectl config use-context; contexts: none"},
    {"contexts: [{name: a}, {name: 'b\"c'}]", "contexts: \"a\", \"b\\\"c\""},
    {"contexts: [{name: a},{name: b},{name: c},{name: d},{name: e},{name: f},{name: g},{name: h},{name: i},{name: j}]",
     "\"g\", \"h\" and 2 more"},
    {"current-context: x\ncontexts: [{name: a}]", ":1: current-context: there is no context \"x\"; contexts: \"a\""},
    {"current-context: [x]", ":1: current-context: expected the name"},
    {"current-context: a\ncurrent-context: b", ":2: current-context: is there twice"},
    {"current-context: a\ncontexts: {a: {cluster: k}}", ":2: contexts: expected a list"},
    {"current-context: a\ncontexts: [x]", ":2: contexts: an element without a name"},
    {"current-context: a\ncontexts: [{context: {}}]", "an element without a name"},
    {"current-context: a\ncontexts:\n- name: a\n- name: a",
     ":3: contexts[\"a\"].context: is there twice (lines 3 and 4)"},
    {"current-context: a\ncontexts: [{name: a}]", "contexts[\"a\"].context: has no cluster"},
    {"current-context: a\ncontexts: [{name: a, context: null, cluster: k}]", "has no cluster"},
    {"current-context: a\ncontexts: [{name: a, context: x}]", "expected one object"},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k}}]", "context.cluster: there is no cluster \"k\""},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k, user: u}}]\nclusters: [{name: k}]",
     "context.user: there is no user \"u\""},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k}}]\nclusters: [{name: k, server: 'https://h'}]",
     ":3: clusters[\"k\"].cluster: has no server"},
    {"apiVersion: v2", ":1: apiVersion: expected v1; is this a kubeconfig?"},
    {"apiVersion: v1\nkind: Secret", ":2: kind: expected Config"},
    {"apiVersion: v1\nkind: Config\napiVersion: v1", ":3: apiVersion: is there twice"},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: [k]}}]", "context.cluster: expected a text"},
    {"current-context: a\ncontexts: []\ncontexts: [{name: a}]", ":3: contexts: is there twice"},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k}}]\nclusters: {k: 1}",
     ":3: clusters: expected a list"},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k, user: u}}]\n"
     "clusters: [{name: k, cluster: {server: 'https://h'}}]\nusers: {u: 1}",
     ":4: users: expected a list"},
    {"just text", ":1: is no kubeconfig"},
    {"- a", ":1: is no kubeconfig"},
    {"a: [", "no YAML"},
    {"a: &a [*a]", "line 1: an alias"},
    {"<html><body>502 Bad Gateway: nginx</body></html>", "kubeconfig"},
};

START_TEST(broken_files_are_named_with_their_line)
{
    write_file(first, broken[_i].text);
    struct error err = load_fails(first);
    assert_message(&err, broken[_i].says);
    assert_message(&err, first);
}
END_TEST

START_TEST(a_broken_second_file_is_not_ignored)
{
    cleanup(mem_free_ptr) char *text = one("server: 'https://h'", "");
    write_file(first, text);
    write_file(second, "a: [");
    char list[256];
    snprintf(list, sizeof(list), "%s:%s", first, second);
    struct error err = load_fails(list);
    assert_message(&err, second);
}
END_TEST

START_TEST(a_huge_file_is_refused)
{
    char *text = mem_alloc((1 << 20) + 2);
    memset(text, '#', 1 << 20);
    write_file(first, text);
    struct error err = load_fails(first);
    assert_message(&err, "current-context is not set");
    text[1 << 20] = '#';
    write_file(first, text);
    err = load_fails(first);
    assert_message(&err, "is larger than 1 MiB");
    free(text);
}
END_TEST

START_TEST(too_many_files)
{
    struct buf list;
    buf_init(&list, 0);
    write_file(first, "{}");
    for (int i = 0; i < 33; i++)
        buf_printf(&list, "%s:", first);
    struct error err = load_fails(buf_str(&list));
    assert_message(&err, "more than 32 files");
    buf_fini(&list);
}
END_TEST

static int in_cluster(const char *host, const char *port, struct kube_access *ret, struct error *err)
{
    cleanup(mem_free_ptr) char *host_entry = mem_printf("KUBERNETES_SERVICE_HOST=%s", host);
    cleanup(mem_free_ptr) char *port_entry = mem_printf("KUBERNETES_SERVICE_PORT=%s", port);
    const char *const env[] = {"KUBERNETES_PORT=tcp://x:1", host_entry, port_entry, NULL};
    return kube_access_in_cluster((char *const *)env, dir, ret, err);
}

START_TEST(from_inside_a_pod)
{
    static const char *const hosts[][2] = {
        {"10.96.0.1", "https://10.96.0.1:443"},
        {"fd00::1", "https://[fd00::1]:443"},
        {"kubernetes.default.svc", "https://kubernetes.default.svc:443"},
    };
    char ca[128], token[128];
    snprintf(ca, sizeof(ca), "%s/ca.crt", dir);
    snprintf(token, sizeof(token), "%s/token", dir);
    write_file(ca, "x");
    write_file(token, "x");
    for (size_t i = 0; i < array_len(hosts); i++) {
        cleanup(kube_access_fini) struct kube_access a;
        ck_assert_int_eq(in_cluster(hosts[i][0], "443", &a, NULL), 0);
        ck_assert_str_eq(a.server, hosts[i][1]);
        ck_assert_str_eq(a.ca.path, ca);
        ck_assert_str_eq(a.token_path, token);
        ck_assert_ptr_null(a.token);
        ck_assert(!a.insecure);
        ck_assert_str_eq(a.source, "in-cluster");
    }
}
END_TEST

/* Nothing but a default comes of it, so that no namespace is no error. */
START_TEST(the_namespace_of_a_pod)
{
    static const struct {
        const char *text, *namespace; /* NULL: no such file; none */
    } rows[] = {
        {NULL, NULL},  {"ingress", "ingress"}, {"ingress\n", "ingress"}, {"ingress\r\n", "ingress"},
        {"", NULL},    {"\n", NULL},           {"In/gress", NULL},       {"two\nlines", "two"},
        {"-no", NULL},
    };
    static const char *const files[] = {"ca.crt", "token"};
    cleanup(mem_free_ptr) char *path = mem_printf("%s/namespace", dir);
    for (size_t i = 0; i < array_len(files); i++) {
        cleanup(mem_free_ptr) char *file = mem_printf("%s/%s", dir, files[i]);
        write_file(file, "x");
    }
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(kube_access_fini) struct kube_access a;
        if (rows[i].text != NULL)
            write_file(path, rows[i].text);
        ck_assert_int_eq(in_cluster("10.96.0.1", "443", &a, NULL), 0);
        ck_assert_pstr_eq(a.namespace, rows[i].namespace);
    }
}
END_TEST

START_TEST(not_inside_a_pod)
{
    static const struct {
        const char *host, *port, *says;
    } rows[] = {
        {"", "443", "KUBECONFIG is not set, and KUBERNETES_SERVICE_HOST"},
        {"10.0.0.1", "", "KUBERNETES_SERVICE_PORT, which every pod has"},
        {"10.0.0.1", "0", "KUBERNETES_SERVICE_PORT: \"0\" is no port number"},
        {"10.0.0.1", "tcp://10.0.0.1:443", "is no port number"},
        {"[fd00::1]", "443", "KUBERNETES_SERVICE_HOST: \"[fd00::1]\" is no IP address"},
        {"h/x@y", "443", "no IP address and no host name"},
        {"10.0.0.1", "443", "/ca.crt: No such file or directory; does the pod have a service account"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct kube_access a;
        struct error err;
        ck_assert_int_eq(in_cluster(rows[i].host, rows[i].port, &a, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_FATAL);
        assert_message(&err, rows[i].says);
    }
    char ca[128];
    snprintf(ca, sizeof(ca), "%s/ca.crt", dir);
    write_file(ca, "x");
    struct kube_access a;
    struct error err;
    ck_assert_int_eq(in_cluster("10.0.0.1", "443", &a, &err), -1);
    assert_message(&err, "/token: No such file");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("kubeconfig");
    TCase *t = tcase_create("kubeconfig");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_usual_file);
    tcase_add_test(t, json_is_yaml);
    tcase_add_test(t, every_field_of_a_cluster);
    tcase_add_test(t, data_beats_files_and_token_file_beats_token);
    tcase_add_test(t, files_and_basic_authentication);
    tcase_add_test(t, a_user_name_may_have_no_password);
    tcase_add_test(t, a_context_may_have_no_user);
    tcase_add_test(t, a_relative_kubeconfig_has_relative_paths);
    tcase_add_test(t, the_first_file_wins);
    tcase_add_test(t, an_exec_plugin);
    tcase_add_test(t, where_the_plugin_is);
    tcase_add_test(t, credentials_beside_a_plugin_come_first);
    tcase_add_test(t, no_file_at_all);
    tcase_add_loop_test(t, what_cannot_be_used_is_named, 0, array_len(refused));
    tcase_add_loop_test(t, broken_files_are_named_with_their_line, 0, array_len(broken));
    tcase_add_test(t, a_broken_second_file_is_not_ignored);
    tcase_add_test(t, a_huge_file_is_refused);
    tcase_add_test(t, too_many_files);
    tcase_add_test(t, from_inside_a_pod);
    tcase_add_test(t, the_namespace_of_a_pod);
    tcase_add_test(t, not_inside_a_pod);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *sr = srunner_create(suite());
    srunner_set_fork_status(sr, CK_FORK); /* each test has a directory of its own, or ends its process */
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}

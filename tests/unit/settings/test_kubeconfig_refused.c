/* src/settings/kubeconfig: files that cannot be read or used, and what is said of them. */
#include "kubeconfig_files.h"

/* The fields of cluster and user, and what is said; the line is the one of the field. */
static const struct {
    const char *cluster, *user, *says;
} refused[] = {
    {"", "", ":5: clusters[\"k\"].cluster: has no server"},
    {"server: [a]", "", ":5: clusters[\"k\"].cluster.server: expected a text"},
    {"server: 'h:6443'", "", "\"h:6443\": expected a URL"},
    {"server: 'https://me:hunter2@h'", "", "\"https://***@h\": expected a URL"},
    {"server: \"https://h\\nx\"", "", "\\n"},
    {"server: 'https://h', server: 'https://i'", "", "cluster.server: appears twice, again in line 5"},
    {"server: 'https://h', proxy-url: 'ftp://me:hunter2@h'", "", "clusters[\"k\"].cluster.proxy-url: \"ftp://***@h\""},
    {"server: 'https://h', tls-server-name: a/b", "", "tls-server-name: expected a host name"},
    {"server: 'https://h', insecure-skip-tls-verify: maybe", "", "insecure-skip-tls-verify: expected true or false"},
    {"server: 'https://h', insecure-skip-tls-verify: true, certificate-authority: ca", "", "contradicts"},
    {"server: 'https://h', certificate-authority-data: '%%'", "", "certificate-authority-data: is not base64"},
    {"server: 'https://h', certificate-authority-data: aHVudGVyMg==", "", "expected PEM"},
    {"server: 'https://h', certificate-authority-data: " KEY_DATA, "", "without \"CERTIFICATE-----\""},
    {"server: 'https://h', certificate-authority: \"a\\tb\"", "", "control character"},
    {"server: 'https://h'", "exec: {}", ":6: users[\"u\"].user.exec: has no apiVersion: expected " V1},
    {"server: 'https://h'", "exec: [a]", ":6: users[\"u\"].user.exec: expected an object"},
    {"server: 'https://h'", "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: aws}",
     "exec.apiVersion: \"client.authentication.k8s.io/v1alpha1\" is no longer supported: expected " V1},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", interactiveMode: Never}", "user.exec: has no command"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: \"a\\nb\", interactiveMode: Never}",
     "exec.command: holds a line break"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: aws, args: [hunter2]}",
     "has no interactiveMode, which " V1},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: aws, interactiveMode: Always}",
     "exec.interactiveMode: Always: the plugin needs a terminal"},
    {"server: 'https://h'", "exec: {apiVersion: " V1 ", command: aws, interactiveMode: never}",
     "interactiveMode: \"never\": expected Never or IfAvailable"},
    {"server: 'https://h'", EXEC("args: hunter2"), "exec.args: expected a list"},
    {"server: 'https://h'", EXEC("args: [a, {b: hunter2}]"), "exec.args: element 2 (line 6): expected a text"},
    {"server: 'https://h'", EXEC("args: [a], args: [b]"), "exec.args: appears twice"},
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
    {"server: 'https://h'", EXEC("") ", auth-provider: {name: oidc}", "user.auth-provider: the auth provider \"oidc\""},
    {"server: 'https://h'", "auth-provider: {name: oidc}, token: hunter2",
     "user.auth-provider: the auth provider \"oidc\""},
    {"server: 'https://h'", "as: root, token: hunter2", "user.as: impersonation is not supported"},
    {"server: 'https://h'", "as-groups: [a]", "user.as-groups: impersonation"},
    {"server: 'https://h'", "client-certificate: a", "has a client certificate without its key (client-key)"},
    {"server: 'https://h'", "client-key-data: " KEY_DATA, "has a client key without its certificate"},
    {"server: 'https://h'", "client-certificate: a, client-key-data: " CERT_DATA, "without \"PRIVATE KEY-----\""},
    {"server: 'https://h'", "client-certificate: a, client-key-data: aHVudGVyMg=", "client-key-data: is not base64"},
    {"server: 'https://h'", "token: hunter2, username: me", "is set beside a token"},
    {"server: 'https://h'", "tokenFile: t, username: me", "is set beside a token"},
    {"server: 'https://h'", "username: 'me:hunter2'", "a ':'"},
    {"server: 'https://h'", "password: hunter2", "without a username"},
    {"server: 'https://h'", "token: \"hunter2\\n\"", "user.token: holds a line break"},
    {"server: 'https://h'", "token: {a: hunter2}", "user.token: expected a text"},
};

FIXTURE(set_up, folder_remove)

TEST_EACH(what_cannot_be_used_is_named, array_len(refused))
{
    cleanup(mem_free_ptr) char *text = one(refused[_i].cluster, refused[_i].user);
    write_file(first, text);
    struct error err = load_fails(first);
    assert_message(&err, refused[_i].says);
    assert_message(&err, first);
}

/* Whole files, and what is said. */
static const struct {
    const char *text, *says;
} broken[] = {
    {"{}", "current-context is not set: choose one by kubectl config use-context; contexts: none"},
    {"contexts: [{name: a}, {name: 'b\"c'}]", "contexts: \"a\", \"b\\\"c\""},
    {"contexts: [{name: a},{name: b},{name: c},{name: d},{name: e},{name: f},{name: g},{name: h},{name: i},{name: j}]",
     "\"g\", \"h\" and 2 more"},
    {"current-context: x\ncontexts: [{name: a}]", ":1: current-context: there is no context \"x\"; contexts: \"a\""},
    {"current-context: [x]", ":1: current-context: expected the name"},
    {"current-context: a\ncurrent-context: b", ":2: current-context: appears twice"},
    {"current-context: a\ncontexts: {a: {cluster: k}}", ":2: contexts: expected a list"},
    {"current-context: a\ncontexts: [x]", ":2: contexts: an element without a name"},
    {"current-context: a\ncontexts:\n- name: a\n- name: a",
     ":3: contexts[\"a\"].context: appears twice (lines 3 and 4)"},
    {"current-context: a\ncontexts: [{name: a}]", "contexts[\"a\"].context: has no cluster"},
    {"current-context: a\ncontexts: [{name: a, context: x}]", "expected one object"},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k}}]", "context.cluster: there is no cluster \"k\""},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k, user: u}}]\nclusters: [{name: k}]",
     "context.user: there is no user \"u\""},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k}}]\nclusters: [{name: k, server: 'https://h'}]",
     ":3: clusters[\"k\"].cluster: has no server"},
    {"apiVersion: v2", ":1: apiVersion: expected v1; is this a kubeconfig?"},
    {"apiVersion: v1\nkind: Secret", ":2: kind: expected Config"},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: [k]}}]", "context.cluster: expected a text"},
    {"current-context: a\ncontexts: [{name: a, context: {cluster: k, user: u}}]\n"
     "clusters: [{name: k, cluster: {server: 'https://h'}}]\nusers: {u: 1}",
     ":4: users: expected a list"},
    {"just text", ":1: is not a kubeconfig"},
    {"a: [", "invalid YAML"},
    {"a: &a [*a]", "line 1: an alias"},
    {"<html><body>502 Bad Gateway: nginx</body></html>", "kubeconfig"},
};

TEST_EACH(broken_files_are_named_with_their_line, array_len(broken))
{
    write_file(first, broken[_i].text);
    struct error err = load_fails(first);
    assert_message(&err, broken[_i].says);
    assert_message(&err, first);
}

TEST(a_broken_second_file_is_not_ignored)
{
    cleanup(mem_free_ptr) char *text = one("server: 'https://h'", "");
    write_file(first, text);
    write_file(second, "a: [");
    char list[256];
    snprintf(list, sizeof(list), "%s:%s", first, second);
    struct error err = load_fails(list);
    assert_message(&err, second);
}

TEST(a_huge_file_is_refused)
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

TEST(too_many_files)
{
    struct buf list = {0};
    write_file(first, "{}");
    for (int i = 0; i < 33; i++)
        buf_printf(&list, "%s:", first);
    struct error err = load_fails(buf_str(&list));
    assert_message(&err, "more than 32 files");
    buf_fini(&list);
}

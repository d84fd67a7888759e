/* src/settings/kubeconfig: one file or several become the access to one API server. */
#include "kubeconfig_files.h"

#define CERT_TEXT "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n"
#define KEY_TEXT "-----BEGIN PRIVATE KEY-----\nbm90IG9uZQ==\n-----END PRIVATE KEY-----\n"

static struct kube_access load(const char *list)
{
    struct kube_access a;
    int rc = kube_access_from_kubeconfig(list, &a, &flaw);
    ck_assert_msg(rc == 0, "%s", rc == 0 ? "" : flaw.message);
    return a;
}

static struct kube_access load_one(const char *cluster, const char *user)
{
    cleanup(mem_free_ptr) char *text = one(cluster, user);
    write_file(first, text);
    return load(first);
}

FIXTURE(set_up, folder_remove)

TEST(a_usual_file)
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

TEST(every_field_of_a_cluster)
{
    cleanup(kube_access_fini) struct kube_access a =
        load_one("server: 'https://h:1/prefix/', certificate-authority: sub/ca.crt, tls-server-name: api.example, "
                 "proxy-url: 'http://me:hunter2@proxy:3128', insecure-skip-tls-verify: false",
                 "");
    char path[128];
    snprintf(path, sizeof(path), "%s/sub/ca.crt", folder);
    ck_assert_str_eq(a.server, "https://h:1/prefix");
    ck_assert_str_eq(a.ca.path, path);
    ck_assert_ptr_null(a.ca.text);
    ck_assert_str_eq(a.server_name, "api.example");
    ck_assert_str_eq(a.proxy_url, "http://me:hunter2@proxy:3128");
    ck_assert(!a.insecure);
}

TEST(data_beats_files_and_token_file_beats_token)
{
    cleanup(kube_access_fini) struct kube_access a =
        load_one("server: 'https://h', certificate-authority: /ca, certificate-authority-data: " CERT_DATA,
                 "client-certificate: /cert, client-key: /key, client-certificate-data: " CERT_DATA
                 ", client-key-data: " KEY_DATA ", token: hunter2, tokenFile: token");
    char path[128];
    snprintf(path, sizeof(path), "%s/token", folder);
    ck_assert_str_eq(a.ca.text, CERT_TEXT);
    ck_assert_ptr_null(a.ca.path);
    ck_assert_str_eq(a.cert.text, CERT_TEXT);
    ck_assert_str_eq(a.key.text, KEY_TEXT);
    ck_assert_ptr_null(a.token);
    ck_assert_str_eq(a.token_path, path);
}

TEST(files_and_basic_authentication)
{
    cleanup(kube_access_fini) struct kube_access a =
        load_one("server: 'http://127.0.0.1:8001'", "client-certificate: cert, client-key: /abs/key, username: me, "
                                                    "password: 12345, tokenFile: '', token: null");
    char path[128];
    snprintf(path, sizeof(path), "%s/cert", folder);
    ck_assert_str_eq(a.cert.path, path);
    ck_assert_str_eq(a.key.path, "/abs/key");
    ck_assert_str_eq(a.username, "me");
    ck_assert_str_eq(a.password, "12345");
    ck_assert_ptr_null(a.token_path);
    ck_assert_ptr_null(a.token);
}

TEST(a_context_may_have_no_user)
{
    write_file(first, "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
                      "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:8001'}}]\n");
    cleanup(kube_access_fini) struct kube_access a = load(first);
    ck_assert_ptr_null(a.token);
}

TEST(a_relative_kubeconfig_has_relative_paths)
{
    cleanup(mem_free_ptr) char *text = one("server: 'https://h', certificate-authority: ca.crt", "");
    write_file(first, text);
    ck_assert_int_eq(chdir(folder), 0);
    cleanup(kube_access_fini) struct kube_access a = load("first");
    ck_assert_str_eq(a.ca.path, "ca.crt");
    cleanup(kube_access_fini) struct kube_access b = load("./first");
    ck_assert_str_eq(b.ca.path, "./ca.crt");
    ck_assert_int_eq(chdir("/"), 0);
}

TEST(the_first_file_wins)
{
    write_file(first, "current-context: ''\n"
                      "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                      "clusters: [{name: k, cluster: {server: 'https://first', certificate-authority: ca}}]\n");
    write_file(second, "current-context: c\n"
                       "contexts: [{name: c, context: {cluster: other, user: u}}]\n"
                       "clusters: [{name: k, cluster: {server: 'https://second', tls-server-name: second}}]\n"
                       "users: [{name: u, user: {token: hunter2}}]\n");
    char list[256], source[256];
    snprintf(list, sizeof(list), ":/nowhere/at/all:%s:%s/nothing:%s::", first, folder, second);
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

TEST(an_exec_plugin)
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

/* With a slash relative to the kubeconfig, without one to be searched for in PATH. */
TEST(where_the_plugin_is)
{
    static const char *const commands[][2] = {
        {"bin/aws", "/bin/aws"}, {"./aws", "/./aws"}, {"/opt/aws", NULL}, {"aws", NULL}};
    for (size_t i = 0; i < array_len(commands); i++) {
        cleanup(mem_free_ptr) char *user = mem_printf("exec: {apiVersion: " V1 "beta1, command: %s}", commands[i][0]);
        cleanup(mem_free_ptr) char *path = mem_printf("%s%s", folder, commands[i][1] != NULL ? commands[i][1] : "");
        cleanup(kube_access_fini) struct kube_access a = load_one("server: 'https://h'", user);
        ck_assert_str_eq(a.exec->command, commands[i][1] != NULL ? path : commands[i][0]);
        ck_assert_str_eq(a.exec->api_version, V1 "beta1"); /* which need not say anything of a terminal */
        ck_assert_ptr_null(a.exec->args[0]);
        ck_assert_ptr_null(a.exec->env[0]);
        ck_assert_ptr_null(a.exec->cluster_config);
        ck_assert(!a.exec->provide_cluster_info);
    }
}

TEST(credentials_beside_a_plugin_come_first)
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

TEST(no_file_at_all)
{
    struct error err = load_fails("/nowhere/a:/nowhere/b");
    assert_message(&err, "no such file: /nowhere/a:/nowhere/b");
    err = load_fails("");
    err = load_fails(folder);
    assert_message(&err, "Is a directory");
    assert_message(&err, folder);
}

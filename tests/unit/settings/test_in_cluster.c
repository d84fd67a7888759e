/* src/settings/kubeconfig: from inside a pod. */
#include "kubeconfig_files.h"

static int in_cluster(const char *host, const char *port, struct kube_access *ret, struct error *err)
{
    cleanup(mem_free_ptr) char *host_entry = mem_printf("KUBERNETES_SERVICE_HOST=%s", host);
    cleanup(mem_free_ptr) char *port_entry = mem_printf("KUBERNETES_SERVICE_PORT=%s", port);
    const char *const env[] = {"KUBERNETES_PORT=tcp://x:1", host_entry, port_entry, NULL};
    return kube_access_in_cluster((char *const *)env, folder, ret, err);
}

FIXTURE(set_up, folder_remove)

TEST(from_inside_a_pod)
{
    static const char *const hosts[][2] = {
        {"10.96.0.1", "https://10.96.0.1:443"},
        {"fd00::1", "https://[fd00::1]:443"},
        {"kubernetes.default.svc", "https://kubernetes.default.svc:443"},
    };
    char ca[128], token[128];
    snprintf(ca, sizeof(ca), "%s/ca.crt", folder);
    snprintf(token, sizeof(token), "%s/token", folder);
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

/* Nothing but a default comes of it, so that no namespace is no error. */
TEST(the_namespace_of_a_pod)
{
    static const struct {
        const char *text, *namespace; /* NULL: no such file; none */
    } rows[] = {
        {NULL, NULL},  {"ingress", "ingress"}, {"ingress\n", "ingress"}, {"ingress\r\n", "ingress"},
        {"", NULL},    {"\n", NULL},           {"In/gress", NULL},       {"two\nlines", "two"},
        {"-no", NULL},
    };
    static const char *const files[] = {"ca.crt", "token"};
    cleanup(mem_free_ptr) char *path = mem_printf("%s/namespace", folder);
    for (size_t i = 0; i < array_len(files); i++) {
        cleanup(mem_free_ptr) char *file = mem_printf("%s/%s", folder, files[i]);
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

TEST(not_inside_a_pod)
{
    static const struct {
        const char *host, *port, *says;
    } rows[] = {
        {"", "443", "neither KUBECONFIG nor KUBERNETES_SERVICE_HOST"},
        {"10.0.0.1", "", "KUBERNETES_SERVICE_PORT, which every pod has"},
        {"10.0.0.1", "0", "KUBERNETES_SERVICE_PORT: \"0\" is not a port number"},
        {"[fd00::1]", "443", "KUBERNETES_SERVICE_HOST: \"[fd00::1]\" is not an IP address"},
        {"10.0.0.1", "443", "/ca.crt: No such file or directory; does the pod have a service account"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct kube_access a;
        ck_assert_int_eq(in_cluster(rows[i].host, rows[i].port, &a, &flaw), -1);
        ck_assert_int_eq(flaw.kind, ERROR_FATAL);
        assert_message(&flaw, rows[i].says);
    }
    char ca[128];
    snprintf(ca, sizeof(ca), "%s/ca.crt", folder);
    write_file(ca, "x");
    struct kube_access a;
    ck_assert_int_eq(in_cluster("10.0.0.1", "443", &a, &flaw), -1);
    assert_message(&flaw, "/token: No such file");
}

/* The names, words and defaults of an operator for haproxy.cfg in a Secret, which count where its MODE is set. */
#include "../settings_text.h"

#define OPERATOR_LOGIN "DATAPLANE_USERNAME=u", "DATAPLANE_PASSWORD=p"

TEST(its_defaults)
{
    cleanup(parsed_fini) struct parsed p = parse("MODE=k8s", OPERATOR_LOGIN);
    assert_silent(&p);
    ck_assert_int_eq(p.settings.config_source, SETTINGS_CONFIG_SECRET);
    ck_assert_str_eq(p.settings.config_secret_namespace, "haproxy-operator");
    ck_assert_str_eq(p.settings.config_secret_name, "haproxy-config");
    ck_assert_str_eq(p.settings.config_secret_key, "haproxy.cfg");
    ck_assert_str_eq(p.settings.dataplanes[0].url, "https://haproxy:5555");
    ck_assert_str_eq(p.settings.dataplanes[0].username.value, "u");
    ck_assert_str_eq(p.settings.lease_name, "haproxy-operator.tlu.bcit.ca");
    ck_assert_uint_eq(p.settings.metrics_listen.port, 9090);
    ck_assert_uint_eq(p.settings.probe_listen.port, 8081);
    ck_assert_uint_eq(p.settings.mapping_count, 0);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_ptr_nonnull(strstr(text, "CONFIG_DRIFT=repair  # default with MODE\n"));
    ck_assert_ptr_nonnull(strstr(text, "CONFIG_SOURCE=secret  # from the environment\n"));
    ck_assert_ptr_nonnull(strstr(text, "CONFIG_SECRET_NAME=haproxy-config  # default with MODE\n"));
}

TEST(its_names)
{
    cleanup(parsed_fini) struct parsed p =
        parse("MODE=k8s", OPERATOR_LOGIN, "WATCH_NAMESPACE=ns", "SECRET_NAME=s", "SECRET_KEY=k",
              "DATAPLANE_URL=https://a:1/v3/", "DATAPLANE_CA_CERT=/ca", "DATAPLANE_CLIENT_CERT=/crt",
              "DATAPLANE_CLIENT_KEY=/key", "METRICS_ADDR=0", "PROBE_ADDR=[::1]:7", "LEADER_ELECT=true");
    assert_silent(&p);
    ck_assert_str_eq(p.settings.config_secret_namespace, "ns");
    ck_assert_str_eq(p.settings.config_secret_name, "s");
    ck_assert_str_eq(p.settings.config_secret_key, "k");
    ck_assert_str_eq(p.settings.dataplanes[0].url, "https://a:1");
    ck_assert_str_eq(p.settings.dataplane_ca_file, "/ca");
    ck_assert_str_eq(p.settings.dataplane_cert_file, "/crt");
    ck_assert_str_eq(p.settings.dataplane_key_file, "/key");
    ck_assert_ptr_null(p.settings.metrics_listen.host);
    ck_assert_str_eq(p.settings.probe_listen.host, "::1");
    ck_assert_uint_eq(p.settings.probe_listen.port, 7);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_ptr_nonnull(strstr(text, "METRICS_ADDRESS=0  # from the environment\n"));
    ck_assert_ptr_nonnull(strstr(text, "PROBE_ADDRESS=[::1]:7  # from the environment\n"));
}

TEST(local)
{
    cleanup(parsed_fini) struct parsed p =
        parse("MODE=local", OPERATOR_LOGIN, "LOCAL_CONFIG_PATH=/f", "LOCAL_WATCH=false");
    assert_silent(&p);
    ck_assert_int_eq(p.settings.config_source, SETTINGS_CONFIG_FILE);
    ck_assert_str_eq(p.settings.config_file, "/f");
    ck_assert(!p.settings.config_file_watch);
    ck_assert_str_eq(p.settings.dataplanes[0].url, "http://haproxy:5555");
    ck_assert(!settings_need_kubernetes(&p.settings));
}

static const struct {
    const char *given, *url;
} urls[] = {
    {"https://a/v3", "https://a:443"},
    {"http://a.b/v3/", "http://a.b:80"},
    {"https://a/p/v3", "https://a:443/p"},
    {"https://[2001:db8::1]/v3", "https://[2001:db8::1]:443"},
};

TEST_EACH(its_urls, array_len(urls))
{
    cleanup(mem_free_ptr) char *given = mem_printf("DATAPLANE_URL=%s", urls[_i].given);
    cleanup(parsed_fini) struct parsed p = parse("MODE=k8s", OPERATOR_LOGIN, given);
    assert_silent(&p);
    ck_assert_str_eq(p.settings.dataplanes[0].url, urls[_i].url);
}

/* Nobody else's MODE, SECRET_KEY or DATAPLANE_URL makes a difference. */
TEST(without_its_mode_they_are_nothing)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "SECRET_KEY=do not show", "SECRET_NAME=s", "WATCH_NAMESPACE=x");
    assert_silent(&p);
    ck_assert_int_eq(p.settings.config_source, SETTINGS_CONFIG_NONE);
    ck_assert_str_eq(p.settings.config_secret_key, "haproxy.cfg");
    ck_assert_ptr_null(p.settings.metrics_listen.host);
}

TEST(both_names_with_one_value)
{
    cleanup(parsed_fini) struct parsed p =
        parse("MODE=k8s", "CONFIG_SOURCE=secret", OPERATOR_LOGIN, LOGIN, "SECRET_NAME=s", "CONFIG_SECRET_NAME=s",
              "HAPROXY_DATAPLANE_URL=https://a:1", "DATAPLANE_URL=https://a:1/v3");
    assert_silent(&p);
    ck_assert_str_eq(p.settings.config_secret_name, "s");
}

static const struct {
    const char *env[3], *says;
} said[] = {
    {{"MODE=secret"}, "error: MODE=\"secret\": expected k8s or local\n"},
    {{"MODE=k8s", "CONFIG_SOURCE=file"},
     "error: CONFIG_SOURCE and MODE are two names of one setting and have different"},
    {{"MODE=k8s", "SECRET_NAME=a", "CONFIG_SECRET_NAME=b"}, "error: CONFIG_SECRET_NAME and SECRET_NAME are two names"},
    {{"MODE=k8s", "DATAPLANE_PASSWORD=hush", "HAPROXY_DATAPLANE_PASSWORD=whisper"},
     "error: HAPROXY_DATAPLANE_PASSWORD and DATAPLANE_PASSWORD are two names"},
    {{"MODE=k8s", "DATAPLANE_PASSWORD=hush", "HAPROXY_DATAPLANE_PASSWORD_FILE=/p"},
     "error: DATAPLANE_PASSWORD and HAPROXY_DATAPLANE_PASSWORD_FILE are both set: expected one of them\n"},
    {{"MODE=k8s", "SECRET_NAME=a/b"}, "error: SECRET_NAME=\"a/b\": expected a Secret's name"},
    {{"MODE=k8s", "METRICS_ADDR=9090"},
     "error: METRICS_ADDR=\"9090\": expected an address as LISTEN_ADDRESS, or 0 for "
     "none; did you mean :9090?\n"},
    {{"MODE=local"}, "error: CONFIG_SOURCE=file needs CONFIG_FILE: expected the absolute path of a haproxy.cfg\n"},
    {{"MODE=k8s", "KUBE_APISERVER=https://a"},
     "error: KUBE_APISERVER: name the API server in the file that KUBECONFIG names"},
    {{"MODE=k8s", "SPIRE_AGENT_SOCKET=/s", "DATAPLANE_CA_CERT=/c"},
     "error: HAPROXY_DATAPLANE_CA_FILE is set beside SPIRE_AGENT_SOCKET: expected one of them"},
    {{"PROBE_ADDRESS=:0"}, "error: PROBE_ADDRESS=\":0\": expected an address"},
    {{"LISTEN_ADDRESS=0"}, "error: LISTEN_ADDRESS=\"0\": expected :port"},
};

TEST_EACH(what_is_wrong_is_said_by_the_name_that_was_given, array_len(said))
{
    const char *const *e = said[_i].env;
    cleanup(parsed_fini) struct parsed p = parse(e[0], e[1], e[2]);
    assert_says(&p, said[_i].says);
    assert_does_not_say(&p, "hush");
    assert_does_not_say(&p, "whisper");
}

TEST(its_secrets_are_wiped)
{
    char mode[] = "MODE=k8s", password[] = "DATAPLANE_PASSWORD=hush", name[] = "SECRET_NAME=s";
    char *env[] = {mode, password, name, NULL};
    settings_wipe_environment(env);
    ck_assert_str_eq(password, "DATAPLANE_PASSWORD=");
    ck_assert_str_eq(password + strlen(password) + 1, "");
    ck_assert_str_eq(name, "SECRET_NAME=s");
}

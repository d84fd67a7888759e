#include "settings/parse.h"
#include "settings/settings.h"
#include "settings/environment.h"

#include "../test.h"

/* The findings of one entry, or of two: how many, and the text of the first. */
static size_t warn_beside(const char *entry, const char *other, char *ret_text, size_t size)
{
    const char *const env[] = {entry, other, NULL};
    struct settings_findings r = {0};
    unknown_report((char *const *)env, &r);
    size_t count = r.count;
    ret_text[0] = '\0';
    if (count > 0)
        snprintf(ret_text, size, "%s%s", r.list[0].is_error ? "error: " : "", r.list[0].text);
    ck_assert_uint_eq(r.error_count, str_has_prefix(ret_text, "error: ") ? 1 : 0);
    settings_findings_fini(&r);
    return count;
}

static size_t warn(const char *entry, char *ret_text, size_t size)
{
    return warn_beside(entry, NULL, ret_text, size);
}

/* A name that is not ours, and the one that was meant; NULL: none can be named, "" no warning at all. */
static const struct {
    const char *entry, *meant;
} rows[] = {
    {"HAPROXY_BAKEND_PORT=1", "HAPROXY_BACKEND_PORT"},
    {"HAPROXY_BACKENDPORT=1", "HAPROXY_BACKEND_PORT"},
    {"HAPROXY_PORT=443", "HAPROXY_BACKEND_PORT"},
    {"haproxy_backend_port=1", "HAPROXY_BACKEND_PORT"},
    {"BACKEND_PORT=1", "HAPROXY_BACKEND_PORT"},
    {"HAPROXY_DATA_PLANE_URL=x", "HAPROXY_DATAPLANE_URL"},
    {"HAPROXY_DATAPLANE_USER=x", "HAPROXY_DATAPLANE_USERNAME"},
    {"HAPROXY_DATAPLANE_PASSWORDFILE=x", "HAPROXY_DATAPLANE_PASSWORD_FILE"},
    {"HAPROXY_SEND_PROXY=x", "HAPROXY_SEND_PROXY_V2"},
    {"INGRESS_SERVICE=x", "INGRESS_SERVICE_NAME"},
    {"INGRESS_NS=x", NULL},
    {"HAPROXY_WHATEVER_THIS_IS_FOR=x", NULL},
    {"RESYNC_INTERVAL=x", "RESYNC_PERIOD"},
    {"KUBE_CONFIG=x", "KUBECONFIG"},
    {"LOG_LEVLE=x", "LOG_LEVEL"},
    {"INGRESS_SERVICE_PORT_NAME=https", "INGRESS_SERVICE_PORT"},
    {"INGRESS_PORT=443", "INGRESS_SERVICE_PORT"},
    {"NODESELECTOR=x", "NODE_SELECTOR"},
    {"IPFAMILY=x", "IP_FAMILY"},
    {"HAPROXY_DRY_RUN=true", "DRY_RUN"},
    {"INGRESS_IP_FAMILY=x", "IP_FAMILY"},
    {"HEALTH_CHECK=x", "HAPROXY_HEALTH_CHECK"},
    {"HAPROXY_CHECK=x", "HAPROXY_ADV_CHECK"},
    {"DRAIN_PERIOD=x", "DRAIN_TIMEOUT"},
    {"MAX_LOSS_PERCENTAGE=x", "MAX_LOSS_PERCENT"},
    {"DRYRUN=x", "DRY_RUN"},
    {"HAPROXY_DATAPLANE_URLS=x", "HAPROXY_DATAPLANE_URL"},
    {"HAPROXY_DATAPLANE_URL_FILE=x", "HAPROXY_DATAPLANE_URL"},
    {"HAPROXY_DATAPLANE_CREDENTIALS=x", "HAPROXY_DATAPLANE_CREDENTIALS_FILE"},
    {"HAPROXY_DATAPLANE_CREDENTIALS_FILE_FILE=x", "HAPROXY_DATAPLANE_CREDENTIALS_FILE"},
    {"PARK_TLL=x", "PARK_TTL"},
    {"PARK_SERVERS_FOR=x", NULL},
    /* Ours, or nobody's mistake. */
    {"HAPROXY_DATAPLANE_CREDENTIALS_FILE=x", ""},
    {"PARKING=x", ""},
    {"NODE_NAME=n1", ""},
    {"NODE_IP=10.0.0.1", ""},
    {"SERVER_NAME=x", ""},
    {"POD_IP=10.0.0.1", ""},
    {"INGRESS_SERVICE_PORT_HTTPS=443", ""},
    {"HAPROXY_BACKEND_PORT=1", ""},
    {"HAPROXY_DATAPLANE_TOKEN_FILE=x", ""},
    {"KUBECONFIG=", ""},
    {"KUBCONFIX=x", ""},
    {"ALLOW_EMPXX=x", "ALLOW_EMPTY"},
    {"ALLOW_EMXXX=x", ""},
    {"PATH=/bin", ""},
    {"all_proxy=http://p", ""},
    {"NO_PROXY=x", ""},
    {"LISTEN_FDS=1", ""},
    {"NOTIFY_SOCKET=x", ""},
    {"POD_NAMESPACE=x", ""},
    {"KUBERNETES_SERVICE_HOST=10.96.0.1", ""},
    {"HAPROXY_VERSION=3.2.0", ""},
    {"HAPROXY_MASTER_CLI=x", ""},
    /* Service links of Services that are called as our variables begin. */
    {"HAPROXY_PORT=tcp://10.96.0.5:443", ""},
    {"HAPROXY_DATAPLANE_PORT=tcp://10.96.0.5:5555", ""},
    {"HAPROXY_DATAPLANE_PORT_5555_TCP_ADDR=10.96.0.5", ""},
    {"HAPROXY_DATAPLANE_PORT_5555_TCP_PORT=5555", ""},
    {"HAPROXY_DATAPLANE_PORT_5555_UDP_PROTO=udp", ""},
    {"HAPROXY_DATAPLANE_SERVICE_HOST=10.96.0.5", ""},
    {"HAPROXY_DATAPLANE_SERVICE_PORT_API=5555", ""},
    {"INGRESS_PORT_80_PORT_80_TCP=tcp://10.96.0.5:80", ""},
};

TEST_EACH(a_near_miss_gets_the_right_name, array_len(rows))
{
    char text[512];
    size_t count = warn(rows[_i].entry, text, sizeof(text));
    if (str_eq(rows[_i].meant, "")) {
        ck_assert_msg(count == 0, "%s: %s", rows[_i].entry, text);
        return;
    }
    ck_assert_msg(count == 1, "%s: no warning", rows[_i].entry);
    char *asked = strstr(text, "did you mean ");
    if (rows[_i].meant == NULL) {
        ck_assert_msg(asked == NULL && strstr(text, "help settings") != NULL, "%s", text);
        return;
    }
    ck_assert_msg(asked != NULL, "%s", text);
    asked[strcspn(asked, "?")] = '\0';
    ck_assert_str_eq(asked + strlen("did you mean "), rows[_i].meant);
}

/* Of the settings without which more is written, or beside another daemon: what is said stops the start. */
static const struct {
    const char *entry, *meant;
} safety_rows[] = {
    {"DRYRUN=1", "DRY_RUN"},
    {"dry_run=1", "DRY_RUN"},
    {"DRY_RUNS=1", "DRY_RUN"},
    {"HAPROXY_DRY_RUN=1", "DRY_RUN"},
    {"ALLOWEMPTY=1", "ALLOW_EMPTY"},
    {"HAPROXY_ALLOW_EMPTY=1", "ALLOW_EMPTY"},
    {"MAX_LOSS=1", "MAX_LOSS_PERCENT"},
    {"MAXLOSS_PERCENT=1", "MAX_LOSS_PERCENT"},
    {"LEADER_ELECTION=1", "LEADER_ELECT"},
    {"LEADER_ELECTION_ENABLED=1", "LEADER_ELECT"},
    {"DRY_RUN_MODE=1", "DRY_RUN"},
    {"HAPROXY_LEADER_ELECT=1", "LEADER_ELECT"},
    {"KEEP_SERVERS=1", "HAPROXY_KEEP_SERVERS"},
    {"HAPROXY_KEEP=1", "HAPROXY_KEEP_SERVERS"},
    {"SECOMP=1", "SECCOMP"},
};

TEST_EACH(a_near_miss_of_a_safety_setting_is_an_error, array_len(safety_rows))
{
    char text[512], asked[100];
    ck_assert_uint_eq(warn(safety_rows[_i].entry, text, sizeof(text)), 1);
    snprintf(asked, sizeof(asked), "did you mean %s? It is not safe to ignore it", safety_rows[_i].meant);
    ck_assert_msg(str_has_prefix(text, "error: ") && strstr(text, asked) != NULL, "%s: %s", safety_rows[_i].entry,
                  text);
}

/* They look like nothing of ours, or like another setting, or it is only a guess. */
TEST(other_names_stay_warnings_or_nothing)
{
    static const char *const entries[] = {"HAPROXY_BAKEND_PORT=1",
                                          "PARK_TLL=1",
                                          "HAPROXY_KEEP_ALIVES=1",
                                          "ALLOW_EMPTY_PASSWORD=1",
                                          "KEEP_ALIVE=1",
                                          "DRAIN_PERIOD=1",
                                          "LEADER=1",
                                          "SECURITY=1",
                                          "HAPROXY_DATAPLANE_INSECUR=1",
                                          "HAPROXY_CREATE_BAKEND=1",
                                          "ALLOW_EMXXX=1",
                                          "DRY=1"};
    char text[512];
    for (size_t i = 0; i < array_len(entries); i++) {
        warn(entries[i], text, sizeof(text));
        ck_assert_msg(!str_has_prefix(text, "error: "), "%s: %s", entries[i], text);
    }
}

TEST(a_value_is_never_shown)
{
    char text[512];
    ck_assert_uint_eq(warn("HAPROXY_DATAPLANE_PASSWROD=hunter2", text, sizeof(text)), 1);
    ck_assert_ptr_null(strstr(text, "hunter2"));
    ck_assert_uint_eq(warn("DRYRUN=hunter2", text, sizeof(text)), 1);
    ck_assert_ptr_null(strstr(text, "hunter2"));
}

TEST(odd_names_do_no_harm)
{
    char text[512], longest[300];
    ck_assert_uint_eq(warn("HAPROXY_BACKEND\nPORT=x", text, sizeof(text)), 1);
    ck_assert_ptr_null(strchr(text, '\n'));
    memset(longest, 'H', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    longest[200] = '=';
    ck_assert_uint_eq(warn(longest, text, sizeof(text)), 0);
    ck_assert_uint_eq(warn("=x", text, sizeof(text)), 0);
    ck_assert_uint_eq(warn("HAPROXY_", text, sizeof(text)), 0);
    ck_assert_uint_eq(warn("HAPROXY_=", text, sizeof(text)), 1);
}

TEST(what_only_resembles_a_service_link)
{
    ck_assert(!environment_is_service_link("HAPROXY_PORT", "tcp://:443"));
    ck_assert(!environment_is_service_link("HAPROXY_PORT", "tcp://10.0.0.1:"));
    ck_assert(!environment_is_service_link("HAPROXY_PORT", "tcp://10.0.0.1:44x"));
    ck_assert(!environment_is_service_link("HAPROXY_PORT", "http://10.0.0.1:443"));
    ck_assert(!environment_is_service_link("HAPROXY_DATAPLANE_URL", "tcp://10.0.0.1:443"));
    ck_assert(!environment_is_service_link("HAPROXY_PORT_TCP", "x"));
    ck_assert(!environment_is_service_link("HAPROXY_PORT_443_TCP_NAME", "x"));
    ck_assert(!environment_is_service_link("HAPROXY_SERVICE_PORTS", "1"));
    ck_assert(!environment_is_service_link("HAPROXY_SERVICE_PORT", "https"));
    ck_assert(!environment_is_service_link("HAPROXY_SERVICE_PORT_HTTPS", "80x"));
    ck_assert(environment_is_service_link("HAPROXY_SERVICE_PORT_HTTPS", "443"));
    ck_assert(environment_is_service_link("HAPROXY_PORT", "tcp://10.0.0.1:443"));
}

/* Of variables that are ours, by name. */
TEST(what_a_service_puts_into_ours)
{
    static const struct {
        const char *name, *value;
        bool injected;
    } ours[] = {
        {"HAPROXY_BACKEND_PORT", "tcp://10.0.0.1:443", true},
        {"X_SERVICE_PORT", "udp://10.0.0.1:53", true},
        {"X_SERVICE_PORT", "443", true},
        {"X_SERVICE_PORT", "80", false},
        {"Y_SERVICE_PORT", "443", false}, /* of no protocol that Kubernetes has */
        {"Z_SERVICE_PORT", "443", false}, /* no host */
        {"X_SERVICE_PORT_HTTPS", "443", false},
        {"_SERVICE_PORT", "443", false},
        {"X_SERVICE_HOST", "10.0.0.1", false},
    };
    const char *const env[] = {"X_SERVICE_HOST=10.0.0.1", "X_PORT=tcp://10.0.0.1:443", "Y_SERVICE_HOST=10.0.0.1",
                               "Y_PORT=http://y:443",     "Z_PORT=tcp://10.0.0.1:443", NULL};
    for (size_t i = 0; i < array_len(ours); i++)
        ck_assert_msg(environment_is_injected((char *const *)env, ours[i].name, ours[i].value) == ours[i].injected,
                      "%s=%s", ours[i].name, ours[i].value);
}

TEST(environment_is_searched_by_whole_names)
{
    const char *const env[] = {"AB=1", "A=2", "A=3", "B", NULL};
    ck_assert_str_eq(environment_get((char *const *)env, "A"), "2");
    ck_assert_ptr_null(environment_get((char *const *)env, "B"));
    ck_assert_ptr_null(environment_get((char *const *)env, "C"));
}

/* What was a setting is none that is ignored: each has what takes its place. */
static const struct {
    const char *entry, *says;
} old_rows[] = {
    {"HAPROXY_RELOAD=command",
     "error: HAPROXY_RELOAD is no longer a setting, remove it: HAPROXY_MASTER_SOCKET reloads HAProxy"},
    {"HAPROXY_MAPS_DIR=/m", "remove it: it is maps in HAPROXY_STORAGE_DIR"},
    {"HAPROXY_CERTS_DIR=/c", "it is ssl in HAPROXY_STORAGE_DIR"},
    {"HAPROXY_FILES_DIR=/f", "it is general in HAPROXY_STORAGE_DIR"},
    {"PROXY_FROM_ENVIRONMENT=true", "proxy-url in the kubeconfig"},
    {"KUBE_ENCODING=json", "JSON"},
    {"CONFIG_REQUIRE_ALL=true", "gets the configuration once it is back"},
    {"ETCD_KEEP=9", "the last 5 versions"},
    {"TEMPLATE_MEMORY=512", "256 MB"},
    {"TEMPLATE_REFRACTORY=1s", "CONFIG_MIN_INTERVAL"},
    {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c", "set OTEL_EXPORTER_OTLP_ENDPOINT"},
    {"OTEL_EXPORTER_OTLP_TIMEOUT=1", "10 s"},
    {"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "http/json"},
    {"OTEL_SERVICE_NAME=a", "service.name in OTEL_RESOURCE_ATTRIBUTES"},
    {"OTEL_TRACES_SAMPLER=always_on", "all traces are recorded"},
    {"OTEL_TRACES_SAMPLER_ARG=0.5", "all traces are recorded"},
    {"OTEL_SDK_DISABLED=true", "without OTEL_EXPORTER_OTLP_ENDPOINT"},
};

TEST_EACH(an_old_name_is_an_error_with_its_fix, array_len(old_rows))
{
    char text[512], name[64];
    ck_assert_uint_eq(warn_beside("OTEL_EXPORTER_OTLP_ENDPOINT=http://c", old_rows[_i].entry, text, sizeof(text)), 1);
    ck_assert_msg(strstr(text, old_rows[_i].says) != NULL, "%s", text);
    ck_assert_msg(str_has_prefix(text, "error: ") && strstr(text, " is no longer a setting, remove it: ") != NULL, "%s",
                  text);
    size_t len = strcspn(old_rows[_i].entry, "=");
    snprintf(name, sizeof(name), "%.*s=", (int)len, old_rows[_i].entry);
    (void)warn(name, text, sizeof(text)); /* an empty one counts as not set */
    ck_assert_ptr_null(strstr(text, "is no longer a setting"));
}

/* They are OpenTelemetry's, for all containers of a namespace, and say nothing where this one has no traces. */
TEST(opentelemetrys_names_are_no_error_without_traces)
{
    char text[512];
    ck_assert_uint_eq(warn("OTEL_SERVICE_NAME=a", text, sizeof(text)), 1);
    ck_assert_str_eq(text, "OTEL_SERVICE_NAME is not used: set service.name in OTEL_RESOURCE_ATTRIBUTES");
    ck_assert_uint_eq(warn_beside("OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_SDK_DISABLED=true", text, sizeof(text)), 1);
    ck_assert_str_eq(text, "OTEL_SDK_DISABLED is not used: without OTEL_EXPORTER_OTLP_ENDPOINT there are no traces");
    ck_assert_uint_eq(warn("KUBE_ENCODING=json", text, sizeof(text)), 1);
    ck_assert(str_has_prefix(text, "error: "));
}

#include "settings/settings.h"

#include "settings/table.h"
#include "../settings_text.h"

#define A60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* NAME=value and what check-config prints for it; NULL: the same. */
static const struct {
    const char *entry, *shown;
} taken[] = {
    {"INGRESS_SERVICE_PORT=https", NULL},
    {"INGRESS_SERVICE_PORT=65535", NULL},
    {"NODE_MODE=endpoints", NULL},
    {"NODE_MODE=all", NULL},
    {"NODE_SELECTOR=node-role=edge,zone in (a,b),!legacy", NULL},
    /* One line, whatever it was. */
    {"NODE_SELECTOR=\n a,\r\n\tb \t", "NODE_SELECTOR=a,   b"},
    {"NODE_ADDRESS_TYPES=ExternalIP,InternalIP", NULL},
    {"NODE_ADDRESS_TYPES= Hostname,\tExternalIP ,, InternalIP\n", "NODE_ADDRESS_TYPES=Hostname,ExternalIP,InternalIP"},
    {"IP_FAMILY=dual", NULL},
    {"IP_FAMILY=IPv4", NULL},
    {"IP_FAMILY=IPv6", NULL},
    {"IP_FAMILY=IPv4,IPv6", NULL},
    {"IP_FAMILY=IPv6,IPv4", NULL},
    {"IP_FAMILY=IPv6 \t,\t IPv4", "IP_FAMILY=IPv6,IPv4"},
    {"SERVER_WEIGHTS=keep", NULL},
    {"SERVER_WEIGHTS=equal", NULL},
    {"SERVER_WEIGHTS=endpoints", NULL},
    {"ADOPT_SERVERS=keep", NULL},
    {"ADOPT_SERVERS=rename", NULL},
    {"ADOPT_SERVERS=no", NULL},
    {"SERVER_NAME_FORMAT={port}.{node}_{address}:k8s-1", NULL},
    {"HAPROXY_HEALTH_CHECK=backend", NULL},
    {"HAPROXY_HEALTH_CHECK=node-port", NULL},
    {"DRAIN_TIMEOUT=0", "DRAIN_TIMEOUT=0s"},
    {"DRAIN_TIMEOUT=1m30s", "DRAIN_TIMEOUT=90s"},
    {"DRAIN_TIMEOUT=24h", "DRAIN_TIMEOUT=1440m"},
    {"MAX_LOSS_PERCENT=0", NULL},
    {"MAX_LOSS_PERCENT=100", NULL},
    {"MAX_LOSS_PERCENT=07", "MAX_LOSS_PERCENT=7"},
    {"DRY_RUN=true", NULL},
    {"DRY_RUN=off", "DRY_RUN=false"},
};

TEST_EACH(a_good_value_is_taken, array_len(taken))
{
    const char *entry = taken[_i].entry;
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry);
    assert_silent(&p);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    cleanup(mem_free_ptr) char *line =
        mem_printf("%s  # from the environment\n", taken[_i].shown != NULL ? taken[_i].shown : entry);
    ck_assert_msg(strstr(text, line) != NULL, "%s: expected %s in:\n%s", entry, line, text);
}

TEST(values_reach_their_fields)
{
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, "INGRESS_SERVICE_PORT=https", "NODE_MODE=all", "NODE_SELECTOR=a=b",
              "NODE_ADDRESS_TYPES=Hostname,InternalIP", "IP_FAMILY=IPv6,IPv4", "SERVER_WEIGHTS=equal",
              "ADOPT_SERVERS=rename", "SERVER_NAME_FORMAT=x{address}", "HAPROXY_HEALTH_CHECK=node-port",
              "DRAIN_TIMEOUT=2m", "MAX_LOSS_PERCENT=25", "DRY_RUN=true");
    assert_silent(&p);
    const struct settings *c = &p.settings;
    ck_assert_str_eq(c->ingress_port, "https");
    ck_assert_str_eq(c->mappings[0].port, "https");
    ck_assert_int_eq(c->node_mode, NODE_MODE_ALL);
    ck_assert_str_eq(c->node_selector, "a=b");
    ck_assert_uint_eq(c->nodes.type_count, 2);
    ck_assert_int_eq(c->nodes.types[0], NODE_HOSTNAME);
    ck_assert_int_eq(c->nodes.types[1], NODE_INTERNAL_IP);
    ck_assert_int_eq(c->nodes.family, IP_FAMILY_IPV6_FIRST);
    ck_assert_int_eq(c->weights, WEIGHTS_EQUAL);
    ck_assert_int_eq(c->adopt, ADOPT_RENAME);
    ck_assert_str_eq(c->server_name_format, "x{address}");
    ck_assert_int_eq(c->health_check, SETTINGS_HEALTH_CHECK_NODE_PORT);
    ck_assert_uint_eq(c->drain_timeout_ms, 120000);
    ck_assert_uint_eq(c->max_loss_percent, 25);
    ck_assert(c->dry_run);
    ck_assert(setting_is_given(c, SETTING(dry_run)) && !setting_is_given(c, SETTING(log_level)));
}

/* HAPROXY_ADV_CHECK has its effect also beside node-port: for Services without such a port. */
TEST(a_check_beside_node_port_is_no_mistake)
{
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, "HAPROXY_HEALTH_CHECK=node-port", "HAPROXY_ADV_CHECK=ssl-hello-chk");
    assert_silent(&p);
}

#define PORT "expected the name or number of a port of the Service"
#define MODE "expected endpoints or all"
#define SELECTOR "expected a label selector as for kubectl get -l, such as node-role=edge,zone in (a,b),!legacy"
#define TYPES                                                                                                         \
    "expected InternalIP, ExternalIP or Hostname, or several of them in order of preference, separated by commas or " \
    "spaces"
#define FAMILY "expected dual, IPv4, IPv6, or both in order of preference: IPv4,IPv6 or IPv6,IPv4"
#define ADOPT "expected keep, rename or no"
#define FORMAT                                                                                                    \
    "expected letters, digits, '_', '.', ':', '-' and the placeholders {node}, {address}, {port} and {cluster}, " \
    "each at most once, with {node} or {address} among them, at most 64 characters"
#define SEPARATED                                                                                                    \
    FORMAT "; only a '_' separates {cluster} from another placeholder, because all other characters may be part of " \
           "a cluster's name, so that a server could be of two clusters: write {cluster}_{node}"
#define WEIGHTS "expected keep, equal or endpoints"
#define CHECK "expected backend or node-port"
#define DRAIN "expected a duration from 0 to 24h, such as 30s or 2m"
#define LOSS "expected a whole number from 0 to 100"
#define YES_NO "expected true or false"

/* NAME=value and what is said behind NAME="value": ; all of it. */
static const struct {
    const char *entry, *says;
} refused[] = {
    {"INGRESS_SERVICE_PORT=0", PORT "; as a number it is from 1 to 65535"},
    {"INGRESS_SERVICE_PORT=18446744073709551617", PORT "; as a number it is from 1 to 65535"},
    {"INGRESS_SERVICE_PORT=HTTPS", PORT "; names in Kubernetes have no upper-case letters"},
    {"INGRESS_SERVICE_PORT=a_b", PORT},
    {"INGRESS_SERVICE_PORT=80 ", PORT "; there is white space around the value"},
    {"INGRESS_SERVICE_PORT=" A60 "aaaa", PORT "; it has 64 characters"},
    {"NODE_MODE=All", MODE "; did you mean all?"},
    {"NODE_MODE=nodes", MODE},
    {"NODE_SELECTOR= ", SELECTOR "; it is nothing but white space"},
    {"NODE_SELECTOR=a=b,", SELECTOR "; at its end: the key of a label is missing here"},
    {"NODE_SELECTOR=zone in a", SELECTOR "; at character 9, \"a\": '(' must follow in and notin"},
    {"NODE_SELECTOR=a=\"b\"", SELECTOR "; at character 3, \"\\\"b\\\"\": a value has letters, digits, '-', '_' and '.' "
                                       "only, and begins and ends with a letter or digit"},
    {"NODE_SELECTOR='a=b'", SELECTOR "; the quotes are part of the value; leave them out"},
    {"NODE_ADDRESS_TYPES=,", TYPES "; there is none in it"},
    {"NODE_ADDRESS_TYPES=InternalIp", TYPES "; did you mean InternalIP?"},
    {"NODE_ADDRESS_TYPES=InternalIP ExternalIP InternalIP", TYPES "; InternalIP appears twice"},
    {"NODE_ADDRESS_TYPES=InternalIP;ExternalIP", TYPES},
    {"IP_FAMILY=ipv4", FAMILY "; did you mean IPv4?"},
    {"IP_FAMILY=ipv6, IPV4", FAMILY "; did you mean IPv6,IPv4?"},
    {"IP_FAMILY=4", FAMILY},
    {"IP_FAMILY=IPv4 IPv6", FAMILY "; did you mean IPv4,IPv6?"},
    {"IP_FAMILY= IPv4", FAMILY "; there is white space around the value"},
    {"SERVER_WEIGHTS=Equal", WEIGHTS "; did you mean equal?"},
    {"ADOPT_SERVERS=yes", ADOPT},
    {"SERVER_NAME_FORMAT={port}", FORMAT "; without {node} or {address} all servers would have the same name"},
    {"SERVER_NAME_FORMAT={cluster}", FORMAT "; without {node} or {address} all servers would have the same name"},
    {"SERVER_NAME_FORMAT={cluster}_{node}_{cluster}", FORMAT "; a placeholder is used twice"},
    {"SERVER_NAME_FORMAT={cluster}-{node}", SEPARATED},
    {"SERVER_NAME_FORMAT={cluster}:{port}_{node}", SEPARATED},
    {"SERVER_NAME_FORMAT={node}_{cluster}{port}", SEPARATED},
    {"SERVER_NAME_FORMAT=a_{cluster}-k8s-{node}", SEPARATED},
    {"SERVER_NAME_FORMAT={node}/{port}", FORMAT},
    {"SERVER_NAME_FORMAT={nodes}", FORMAT},
    {"SERVER_NAME_FORMAT={node", FORMAT},
    {"SERVER_NAME_FORMAT={node}" A60, FORMAT},
    {"HAPROXY_HEALTH_CHECK=nodeport", CHECK "; did you mean node-port?"},
    {"HAPROXY_HEALTH_CHECK=tcp-check", CHECK},
    {"DRAIN_TIMEOUT=30", DRAIN "; the unit is missing: 30s?"},
    {"DRAIN_TIMEOUT=24h1ms", DRAIN},
    {"MAX_LOSS_PERCENT=101", LOSS},
    {"MAX_LOSS_PERCENT=50%", LOSS "; leave out the '%'"},
    {"MAX_LOSS_PERCENT=0.5", LOSS},
    {"DRY_RUN=2", YES_NO},
};

TEST_EACH(a_bad_value_is_refused_with_a_reason, array_len(refused))
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, refused[_i].entry);
    ck_assert_uint_eq(p.report.count, 1);
    const char *text = p.report.list[0].text, *at = strstr(text, "\": expected ");
    ck_assert_msg(p.report.list[0].is_error && at != NULL, "%s", text);
    ck_assert_str_eq(at + 3, refused[_i].says);
    ck_assert_int_eq(strncmp(text, refused[_i].entry, strcspn(text, "=") + 1), 0);
}

TEST(a_secret_in_the_wrong_place_is_not_shown)
{
    static const char *const names[] = {"INGRESS_SERVICE_PORT", "INGRESS_SERVICES",   "NODE_MODE",
                                        "NODE_SELECTOR",        "NODE_ADDRESS_TYPES", "IP_FAMILY",
                                        "SERVER_WEIGHTS",       "DRAIN_TIMEOUT",      "MAX_LOSS_PERCENT"};
    static const char *const values[] = {"http://admin:hunter2@haproxy:5555", "admin,hunter2,x@haproxy",
                                         "a=b,hunter2 hunter2,x@haproxy:5555"};
    for (size_t i = 0; i < array_len(names); i++)
        for (size_t k = 0; k < array_len(values); k++) {
            cleanup(mem_free_ptr) char *entry = mem_printf("%s=%s", names[i], values[k]);
            cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry);
            ck_assert_uint_gt(p.report.error_count, 0);
            assert_does_not_say(&p, "hunter2");
        }
}

TEST(a_selector_fits_into_a_request)
{
    char entry[5000] = "NODE_SELECTOR=a in (";
    size_t used = strlen(entry), start = strcspn(entry, "=") + 1;
    memset(entry + used, ' ', 4096 - (used - start) - 1);
    entry[start + 4095] = ')';
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry);
    assert_silent(&p);
    ck_assert_uint_eq(strlen(p.settings.node_selector), 4096);
    entry[start + 4095] = ' ';
    entry[start + 4096] = ')';
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, entry);
    assert_says(&q, "; it has 4097 characters, and more than 4096 do not fit into a request");
}

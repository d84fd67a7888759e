#include "settings/parse.h"

#include <unistd.h>

#include "settings/table.h"
#include "../settings_text.h"

/* What is not set: where there is a default, docs/settings.md has it. */
TEST(what_there_is_without_a_setting)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN);
    assert_silent(&p);
    const struct settings *c = &p.settings;
    ck_assert_uint_eq(c->dataplane_count, 1);
    ck_assert_ptr_null(c->dataplanes[0].socket);
    ck_assert_str_eq(c->dataplanes[0].username.value, "u");
    ck_assert_str_eq(c->dataplanes[0].password.value, "p");
    ck_assert(!secret_is_set(&c->dataplanes[0].token));
    ck_assert_ptr_null(c->dataplane_credentials_file);
    ck_assert_str_eq(c->backend_name, "ingress-nginx");
    ck_assert_uint_eq(c->backend_port, 0);
    ck_assert_uint_eq(c->keep_servers.count, 0);
    ck_assert_ptr_null(c->kubeconfig);
    ck_assert(!secret_is_set(&c->dataplane_token));
    ck_assert_uint_eq(c->mapping_count, 1);
    ck_assert_str_eq(c->mappings[0].namespace, "ingress-nginx");
    ck_assert_str_eq(c->mappings[0].service, "ingress-nginx");
    ck_assert_ptr_null(c->mappings[0].port);
    ck_assert_str_eq(c->mappings[0].backend, "ingress-nginx");
    ck_assert_ptr_null(c->ingress_port);
    ck_assert_ptr_null(c->ingress_services);
    ck_assert_ptr_null(c->node_selector);
    ck_assert_uint_eq(c->nodes.type_count, 1);
}

TEST(empty_is_unset)
{
    cleanup(parsed_fini) struct parsed p = parse(
        LOGIN, "INGRESS_SERVICE_NAME=", "HAPROXY_DATAPLANE_URL=", "HAPROXY_BACKEND_NAME=", "HAPROXY_BACKEND_PORT=",
        "HAPROXY_BALANCE=", "HAPROXY_KEEP_SERVERS=", "RESYNC_PERIOD=", "KUBECONFIG=", "LISTEN_ADDRESS=", "LOG_LEVEL=",
        "HAPROXY_DATAPLANE_TOKEN=", "HAPROXY_DATAPLANE_TOKEN_FILE=", "HAPROXY_DATAPLANE_CREDENTIALS_FILE=", "PARK_TTL=",
        "PARK_NODES=", "HAPROXY_DATAPLANE_USERNAME_FILE=", "HAPROXY_DATAPLANE_PASSWORD_FILE=");
    assert_silent(&p);
    ck_assert_str_eq(p.settings.ingress_namespace, "ingress-nginx");
    ck_assert_ptr_null(p.settings.kubeconfig);
    ck_assert(!setting_is_given(&p.settings, SETTING(ingress_service)));
    /* This one, too, but not in silence. */
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, "INGRESS_NAMESPACE=");
    ck_assert_str_eq(q.settings.ingress_namespace, "ingress-nginx");
    ck_assert(!setting_is_given(&q.settings, SETTING(ingress_namespace)));
}

TEST(backend_name_follows_the_service)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "INGRESS_SERVICE_NAME=web");
    assert_silent(&p);
    ck_assert_str_eq(p.settings.backend_name, "web");
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, "INGRESS_SERVICE_NAME=web", "HAPROXY_BACKEND_NAME=be_1.x:y");
    assert_silent(&q);
    ck_assert_str_eq(q.settings.backend_name, "be_1.x:y");
}

/* NAME=value and what check-config prints for it ("NAME=...", the variable's own syntax). */
static const struct {
    const char *entry, *shown;
} accepted[] = {
    {"INGRESS_NAMESPACE=a", "INGRESS_NAMESPACE=a"},
    {"INGRESS_SERVICE_NAME=ingress-nginx-controller", "INGRESS_SERVICE_NAME=ingress-nginx-controller"},
    {"INGRESS_SERVICE_NAME=a23456789012345678901234567890123456789012345678901234567890123", NULL},
    {"HAPROXY_DATAPLANE_URL=http://haproxy:5555/", "HAPROXY_DATAPLANE_URL=http://haproxy:5555"},
    {"HAPROXY_DATAPLANE_URL=HTTPS://10.0.0.1:1", "HAPROXY_DATAPLANE_URL=https://10.0.0.1:1"},
    {"HAPROXY_DATAPLANE_URL=https://[2001:db8::1]:65535/dp//", "HAPROXY_DATAPLANE_URL=https://[2001:db8::1]:65535/dp"},
    {"HAPROXY_DATAPLANE_URL=unix:///run/dp.sock", "HAPROXY_DATAPLANE_URL=unix:/run/dp.sock"},
    {"HAPROXY_DATAPLANE_URL=/run/dp.sock", "HAPROXY_DATAPLANE_URL=unix:/run/dp.sock"},
    {"HAPROXY_DATAPLANE_URL=unix:"
     "/01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123.x",
     NULL},
    {"HAPROXY_DATAPLANE_URL=unix:////run/dp@ #.sock", "HAPROXY_DATAPLANE_URL=unix:/run/dp@ #.sock"},
    {"HAPROXY_DATAPLANE_URL=\n http://a:1 ,\n\thttps://b:2/x/ ,, unix:/run/d p.sock,\n",
     "HAPROXY_DATAPLANE_URL=http://a:1,https://b:2/x,unix:/run/d p.sock"},
    {"HAPROXY_DATAPLANE_URL=http://a:1,http://a:2,https://a:1,http://a:1/a,http://a:1/A",
     "HAPROXY_DATAPLANE_URL=http://a:1,http://a:2,https://a:1,http://a:1/a,http://a:1/A"},
    {"PARK_TTL=0", "PARK_TTL=0s"},
    {"PARK_TTL=720h", "PARK_TTL=43200m"},
    {"PARK_NODES=true", "PARK_NODES=true"},
    {"HAPROXY_BACKEND_PORT=1", "HAPROXY_BACKEND_PORT=1"},
    {"HAPROXY_BACKEND_PORT=65535", "HAPROXY_BACKEND_PORT=65535"},
    {"HAPROXY_SEND_PROXY_V2=true", "HAPROXY_SEND_PROXY_V2=true"},
    {"HAPROXY_BALANCE=leastconn", "HAPROXY_BALANCE=leastconn"},
    {"HAPROXY_BALANCE=keep", "HAPROXY_BALANCE=keep"},
    {"HAPROXY_ADV_CHECK=keep", "HAPROXY_ADV_CHECK=keep"},
    {"HAPROXY_ADV_CHECK=ssl-hello-chk", "HAPROXY_ADV_CHECK=ssl-hello-chk"},
    {"HAPROXY_KEEP_SERVERS=a,b c\td\n", "HAPROXY_KEEP_SERVERS=a,b,c,d"},
    {"HAPROXY_KEEP_SERVERS=, ,", "HAPROXY_KEEP_SERVERS="},
    {"HAPROXY_KEEP_SERVERS=st*-?[!a-c][]x]", "HAPROXY_KEEP_SERVERS=st*-?[!a-c][]x]"},
    {"HAPROXY_CREATE_BACKEND=yes", "HAPROXY_CREATE_BACKEND=true"},
    {"ALLOW_EMPTY=on", "ALLOW_EMPTY=true"},
    {"RESYNC_PERIOD=1s", "RESYNC_PERIOD=1s"},
    {"RESYNC_PERIOD=24h", "RESYNC_PERIOD=1440m"},
    {"RESYNC_PERIOD=1500ms", "RESYNC_PERIOD=1500ms"},
    {"KUBECONFIG=/a:/b c", "KUBECONFIG=/a:/b c"},
    {"LISTEN_ADDRESS=:1", "LISTEN_ADDRESS=:1"},
    {"LISTEN_ADDRESS=127.0.0.1:8080", "LISTEN_ADDRESS=127.0.0.1:8080"},
    {"LISTEN_ADDRESS=[::1]:8080", "LISTEN_ADDRESS=[::1]:8080"},
    {"LOG_FORMAT=json", "LOG_FORMAT=json"},
    {"LOG_LEVEL=debug", "LOG_LEVEL=debug"},
};

TEST_EACH(a_good_value_is_taken, array_len(accepted))
{
    const char *entry = accepted[_i].entry, *shown = accepted[_i].shown != NULL ? accepted[_i].shown : entry;
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry);
    assert_silent(&p);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    cleanup(mem_free_ptr) char *line = mem_printf("%s  # from the environment\n", shown);
    /* A list of nothing but separators is given, all the same. */
    ck_assert_msg(strstr(text, line) != NULL, "%s: expected %s in:\n%s", entry, line, text);
}

/* NAME=value and a part of what is said about it. */
static const struct {
    const char *entry, *says;
} refused[] = {
    {"INGRESS_NAMESPACE=Web", "upper-case"},
    {"INGRESS_NAMESPACE=-a", "expected a namespace's name"},
    {"INGRESS_NAMESPACE=a.b", "expected a namespace's name"},
    {"INGRESS_NAMESPACE= a", "there is white space around the value"},
    {"INGRESS_NAMESPACE=a\n", "INGRESS_NAMESPACE=\"a\\n\": expected"},
    {"INGRESS_NAMESPACE=\"a\"", "the quotes are part of the value"},
    {"INGRESS_NAMESPACE=\xc3\xa4", "\\xc3\\xa4"},
    {"INGRESS_SERVICE_NAME=ns/web", "set the namespace in INGRESS_NAMESPACE"},
    {"INGRESS_SERVICE_NAME=a234567890123456789012345678901234567890123456789012345678901234", "64 characters"},
    {"HAPROXY_DATAPLANE_URL=haproxy:5555", "does not begin with a scheme"},
    {"HAPROXY_DATAPLANE_URL=http://haproxy",
     "its port is missing (a URL without one means :80 with http, :443 with https)"},
    {"HAPROXY_DATAPLANE_URL=http:/haproxy:5555", "expected http://host:port"},
    {"HAPROXY_DATAPLANE_URL=http://haproxy:5555/v3", "leave out /v3"},
    {"HAPROXY_DATAPLANE_URL=http://haproxy:5555/v3/services/haproxy/", "leave out /v3"},
    {"HAPROXY_DATAPLANE_URL=http://haproxy:5555/v2", "version 2 of the API is not supported"},
    {"HAPROXY_DATAPLANE_URL=unix:run/dp.sock", "begins with '/'"},
    {"HAPROXY_DATAPLANE_URL=unix://host/dp.sock", "a unix socket has no host"},
    {"HAPROXY_DATAPLANE_URL=/run/", "a directory"},
    {"HAPROXY_DATAPLANE_URL=/run/a\nb", "control character"},
    {"HAPROXY_DATAPLANE_URL=/"
     "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
     "1234567890123456",
     "at most 107 bytes"},
    {"HAPROXY_DATAPLANE_URL=,", "it has 0"},
    {"HAPROXY_DATAPLANE_URL= http://a ", "none twice; its port is missing"},
    {"HAPROXY_DATAPLANE_URL=http://a:1,http://b",
     "separated by commas, none twice; entry 2, \"http://b\": its port is missing"},
    {"HAPROXY_DATAPLANE_URL=a:1, http://b:1, c:1",
     "; entry 1, \"a:1\": it does not begin with a scheme such as http://; entry 3, \"c:1\": it does not"},
    {"HAPROXY_DATAPLANE_URL=http://a:1,http://b:1,http://a:1/", "entry 3, \"http://a:1/\": it is the same as entry 1"},
    {"HAPROXY_DATAPLANE_URL=https://a:1/x,https://A:1/x/", "it is the same as entry 1"},
    {"HAPROXY_DATAPLANE_URL=/run/a,unix:///run/a", "it is the same as entry 1"},
    {"HAPROXY_DATAPLANE_URL=http://a:1 http://b:2", "; separate URLs by commas"},
    {"HAPROXY_DATAPLANE_URL=/run/a unix:/run/b,http://c:1", "entry 1, \"/run/a unix:/run/b\": separate URLs by commas"},
    {"HAPROXY_DATAPLANE_URL=\"http://a:1,http://b:2\"", "the quotes are part of the value"},
    {"HAPROXY_DATAPLANE_URL=/1,/2,/3,/4,/5,/6,/7,/8,/9,/10,/11,/12,/13,/14,/15,/16,/17",
     "up to 16 of them, separated by "
     "commas, none twice; it has 17"},
    {"PARK_TTL=30",
     "PARK_TTL=\"30\": expected a duration from 0 to 720h, such as 30m or 12h; the unit is missing: 30s?"},
    {"PARK_TTL=720h1ms", "expected a duration from 0 to 720h"},
    {"PARK_NODES=all", "PARK_NODES=\"all\": expected true or false"},
    {"HAPROXY_BACKEND_NAME=a/b", "expected a backend's name"},
    {"HAPROXY_BACKEND_NAME=a\"b", "HAPROXY_BACKEND_NAME=\"a\\\"b\": expected"},
    {"HAPROXY_BACKEND_NAME=a\nb", "\"a\\nb\""},
    {"HAPROXY_BACKEND_PORT=0", "expected a port number, 1 to 65535; leave it out for the Service's nodePort"},
    {"HAPROXY_BACKEND_PORT=70000", "HAPROXY_BACKEND_PORT=\"70000\": expected a port number, 1 to 65535"},
    {"HAPROXY_BACKEND_PORT=https", "expected a port number"},
    {"HAPROXY_BACKEND_PORT=18446744073709551617", "expected a port number"},
    {"HAPROXY_BACKEND_PORT=80%", "expected a port number, 1 to 65535; leave out the '%'"},
    {"HAPROXY_BACKEND_PORT=http://10.0.0.1:443", "expected a port number"},
    {"HAPROXY_SEND_PROXY_V2=server", "HAPROXY_SEND_PROXY_V2=\"server\": expected true or false"},
    {"HAPROXY_SEND_PROXY_V2=1", "expected true or false"},
    {"HAPROXY_BALANCE=round-robin", "expected roundrobin"},
    {"HAPROXY_BALANCE=hash", "it needs an expression"},
    {"HAPROXY_BALANCE=hdr", "it needs the name of a header as an argument"},
    {"HAPROXY_BALANCE=url_param", "set keep here"},
    {"HAPROXY_ADV_CHECK=tcp", "expected tcp-check"},
    {"HAPROXY_ADV_CHECK=pgsql-check", "it needs a user"},
    {"HAPROXY_KEEP_SERVERS=a,b/c", "character"},
    {"HAPROXY_KEEP_SERVERS=a,b[c", "'[' without ']'"},
    {"HAPROXY_KEEP_SERVERS=[]", "'[' without ']'"},
    {"HAPROXY_KEEP_SERVERS=a]", "']' without '['"},
    {"RESYNC_PERIOD=30", "the unit is missing: 30s?"},
    {"RESYNC_PERIOD=999ms", "expected a duration from 1s to 24h"},
    {"RESYNC_PERIOD=0", "such as 30s, 1m30s or 2h; it cannot be switched off"},
    {"RESYNC_PERIOD=24h1ms", "expected a duration from 1s to 24h"},
    {"KUBECONFIG=::", "expected paths"},
    {"KUBECONFIG=/a\n/b", "control character"},
    {"LISTEN_ADDRESS=8080", "did you mean :8080?"},
    {"LISTEN_ADDRESS=:0", "its port is not a number from 1 to 65535"},
    {"LISTEN_ADDRESS=::1:8080", "an IPv6 address goes in brackets"},
    {"LISTEN_ADDRESS=[127.0.0.1]:80", "not an IPv6 address"},
    {"LISTEN_ADDRESS=*:80", "leave out the '*'"},
    {"LISTEN_ADDRESS=localhost:80", "names are not resolved"},
    {"LOG_FORMAT=text", "expected logfmt or json"},
    {"LOG_FORMAT=JSON", "expected logfmt or json; did you mean json?"},
    {"LOG_LEVEL=ERROR", "expected debug, info, warn or error; did you mean error?"},
    {"LOG_LEVEL=trace", "LOG_LEVEL=\"trace\": expected debug, info, warn or error"},
};

TEST_EACH(a_bad_value_is_refused_by_name, array_len(refused))
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, refused[_i].entry);
    ck_assert_uint_eq(p.report.error_count, 1);
    assert_says(&p, refused[_i].says);
    assert_says(&p, ": expected ");
    cleanup(mem_free_ptr) char *name = mem_strndup(refused[_i].entry, strcspn(refused[_i].entry, "="));
    cleanup(mem_free_ptr) char *start = mem_printf("error: %s", name);
    assert_says(&p, start);
}

TEST(every_problem_at_once)
{
    cleanup(parsed_fini) struct parsed p =
        parse("INGRESS_NAMESPACE=X", "HAPROXY_BACKEND_PORT=0", "HAPROXY_DATAPLANE_USERNAME=u", "LOG_LEVEL=x",
              "HAPROXY_BAKEND_NAME=y", "RESYNC_PERIOD=x");
    ck_assert_uint_eq(p.report.error_count, 5);
    ck_assert_uint_eq(p.report.count, 6);
}

TEST(a_huge_value_is_shown_cut)
{
    char entry[70000] = "LOG_LEVEL=";
    memset(entry + strlen(entry), 'x', sizeof(entry) - 20);
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry);
    assert_says(&p, "x\"... (69980 bytes): expected debug");
    ck_assert_uint_lt(strlen(p.report.list[0].text), 300);
}

TEST(warnings_do_not_refuse)
{
    static const struct {
        const char *entry, *says;
    } rows[] = {
        {"HAPROXY_BALANCE=uri", "mode http only"},
        {"HAPROXY_BALANCE=rdp-cookie", "Remote Desktop"},
        {"HAPROXY_KEEP_SERVERS=a,*", "keeps every server"},
        {"INGRESS_NAMESPACE=", "the Service is the one in namespace ingress-nginx"},
        {"http_proxy=http://p:1",
         "http_proxy is set and not used: name a proxy in front of the API server as proxy-url"},
        {"HTTPS_PROXY=http://p:1", "HTTPS_PROXY is set and not used"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(parsed_fini) struct parsed p = parse(LOGIN, rows[i].entry);
        ck_assert_int_eq(p.rc, 0);
        ck_assert_uint_eq(p.report.count, 1);
        assert_says(&p, rows[i].says);
    }
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "PARK_NODES=true", "PARK_TTL=0");
    ck_assert_int_eq(p.rc, 0);
    ck_assert_uint_eq(p.report.count, 1);
    assert_says(&p, "PARK_NODES=true has no effect with PARK_TTL=0");
    cleanup(parsed_fini) struct parsed r = parse(LOGIN, "LEADER_ELECT=true", "DRY_RUN=true");
    ck_assert_int_eq(r.rc, 0);
    ck_assert_uint_eq(r.report.count, 1);
    assert_says(&r, "LEADER_ELECT=true has no effect with DRY_RUN=true");
    cleanup(parsed_fini) struct parsed w = parse(LOGIN, "HAPROXY_DATAPLANE_URL=https://h:5555", "SSL_CERT_DIR=/c");
    ck_assert_int_eq(w.rc, 0);
    assert_says(&w, "SSL_CERT_DIR is set and not used: set HAPROXY_DATAPLANE_CA_FILE");
    cleanup(parsed_fini) struct parsed x =
        parse(LOGIN, "HAPROXY_DATAPLANE_URL=https://h:5555", "SSL_CERT_FILE=/c", "HAPROXY_DATAPLANE_CA_FILE=/c");
    assert_silent(&x);
    cleanup(parsed_fini) struct parsed y = parse(LOGIN, "SSL_CERT_FILE=/c");
    assert_silent(&y);
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, "PARK_NODES=true", "PARK_TTL=x");
    ck_assert_uint_eq(q.report.count, 1); /* nothing beside the error */
}

TEST(too_many_globs)
{
    struct buf entry = {0};
    buf_add(&entry, "HAPROXY_KEEP_SERVERS=");
    for (int i = 0; i < 257; i++)
        buf_printf(&entry, "s%d,", i);
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry.data);
    assert_says(&p, "more than 256");
    *strrchr(entry.data, 's') = '\0';
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, entry.data);
    assert_silent(&q);
    ck_assert_uint_eq(q.settings.keep_servers.count, 256);
    ck_assert_str_eq(q.settings.keep_servers.list[255], "s255");
    buf_fini(&entry);
}

TEST(a_url_with_a_password_is_refused_without_showing_it)
{
    static const char *const urls[] = {
        "HAPROXY_DATAPLANE_URL=http://admin:hunter2@haproxy:5555",
        "HAPROXY_DATAPLANE_URL=http://admin:hun@hunter2?x@haproxy:5555",
        "HAPROXY_DATAPLANE_URL=admin:hunter2@haproxy:5555",
        "HAPROXY_DATAPLANE_URL=http://:hunter2@:x",
        "HAPROXY_DATAPLANE_URL=http://admin:5,hunter2@haproxy:5555",
        "HAPROXY_DATAPLANE_URL=http://admin:hunter,2@haproxy:5555",
        "HAPROXY_DATAPLANE_URL=http://admin:hunter2@haproxy:5555,http://b:1",
        "HAPROXY_DATAPLANE_URL=http://b:1 , admin:hunter2@haproxy:5555",
    };
    for (size_t i = 0; i < array_len(urls); i++) {
        cleanup(parsed_fini) struct parsed p = parse(LOGIN, urls[i]);
        ck_assert_uint_eq(p.report.error_count, 1);
        assert_says(&p, "HAPROXY_DATAPLANE_USERNAME and HAPROXY_DATAPLANE_PASSWORD");
        assert_does_not_say(&p, "hunter");
        assert_does_not_say(&p, "admin");
    }
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, "HAPROXY_DATAPLANE_URL=http://h:1/?token=hunter2");
    assert_does_not_say(&q, "hunter2");
    cleanup(parsed_fini) struct parsed cut = parse(LOGIN, "HAPROXY_DATAPLANE_URL=http://h:1/?token=a,hunter2");
    assert_does_not_say(&cut, "hunter2");
    /* Into the wrong variable altogether. */
    cleanup(parsed_fini) struct parsed r = parse(LOGIN, "LISTEN_ADDRESS=http://admin:hunter2@haproxy:5555");
    assert_does_not_say(&r, "hunter2");
}

TEST(service_links_are_ignored_with_a_warning)
{
    static const char *const links[] = {
        "HAPROXY_BACKEND_PORT=tcp://10.96.0.5:443",
        "HAPROXY_BACKEND_PORT=udp://10.96.0.5:53",
        "HAPROXY_BACKEND_PORT=tcp://[fd00::5]:443",
    };
    for (size_t i = 0; i < array_len(links); i++) {
        cleanup(parsed_fini) struct parsed p = parse(LOGIN, links[i]);
        ck_assert_int_eq(p.rc, 0);
        ck_assert_uint_eq(p.report.count, 1);
        assert_says(&p, "enableServiceLinks: false");
        assert_says(&p, "HAPROXY_BACKEND_PORT=\"");
        ck_assert_uint_eq(p.settings.backend_port, 0);
        ck_assert(!setting_is_given(&p.settings, SETTING(backend_port)));
    }
}

TEST(the_first_of_two_entries_counts)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "LOG_LEVEL=debug", "LOG_LEVEL=error", "no equals sign", "=x");
    assert_silent(&p);
    ck_assert_int_eq(p.settings.log_level, LOG_LEVEL_DEBUG);
}

TEST(it_is_printed_where_a_setting_comes_from)
{
    static const char *const lines[] = {
        "INGRESS_NAMESPACE=ingress-nginx  # default\n",
        "HAPROXY_DATAPLANE_USERNAME=  # default: no basic authentication\n",
        "HAPROXY_DATAPLANE_TOKEN=***  # from the environment\n",
        "HAPROXY_BACKEND_NAME=web  # default: the name of the Service\n",
        "HAPROXY_BACKEND_PORT=  # default: the Service's nodePort, or else the endpoint's own port\n",
        "KUBECONFIG=  # default: the service account of the pod\n",
        "LOG_LEVEL=info  # from the environment\n",
        "HAPROXY_DATAPLANE_URL=http://haproxy:5555  # default\n",
        "HAPROXY_DATAPLANE_CREDENTIALS_FILE=  # default: the settings above, for each URL\n",
        "PARK_TTL=60m  # default\n",
        "# HAProxy http://haproxy:5555: token *** by HAPROXY_DATAPLANE_TOKEN\n",
    };
    cleanup(parsed_fini) struct parsed p =
        parse("HAPROXY_DATAPLANE_TOKEN=hunter2", "INGRESS_SERVICE_NAME=web", "LOG_LEVEL=info");
    assert_silent(&p);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_ptr_null(strstr(text, "hunter2"));
    for (size_t i = 0; i < array_len(lines); i++)
        ck_assert_msg(strstr(text, lines[i]) != NULL, "expected %s in:\n%s", lines[i], text);
}

/* What check-config prints, without the remarks, is an environment that gives the same settings. */
TEST(the_printed_settings_parse_to_the_same)
{
    cleanup(parsed_fini) struct parsed p = parse(
        "HAPROXY_DATAPLANE_USERNAME=admin", "HAPROXY_DATAPLANE_PASSWORD=hunter2", "HAPROXY_BACKEND_PORT=30443",
        "HAPROXY_SEND_PROXY_V2=true", "HAPROXY_BALANCE=keep", "HAPROXY_ADV_CHECK=keep", "HAPROXY_KEEP_SERVERS=a b",
        "RESYNC_PERIOD=1h", "KUBECONFIG=/k", "LISTEN_ADDRESS=[::1]:9", "LOG_FORMAT=json",
        "HAPROXY_DATAPLANE_URL=/run/x, http://a:1/,,HTTP://b:1", "INGRESS_SERVICE_PORT=https", "NODE_MODE=all",
        "NODE_SELECTOR= a in (b,c),\t!d", "NODE_ADDRESS_TYPES=Hostname ExternalIP", "IP_FAMILY=IPv6, IPv4",
        "SERVER_WEIGHTS=endpoints", "HAPROXY_HEALTH_CHECK=node-port", "DRAIN_TIMEOUT=90m", "ADOPT_SERVERS=no",
        "SERVER_NAME_FORMAT={node}-{port}", "PARK_TTL=36h", "PARK_NODES=on", "MAX_LOSS_PERCENT=7", "DRY_RUN=yes");
    assert_silent(&p);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_ptr_null(strstr(text, "hunter2"));
    const char *env[SETTINGS_MAX + 1] = {0};
    size_t count = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0' && *line != '#';) {
        *strstr(line, "  # ") = '\0';
        ck_assert_ptr_nonnull(setting_table[count].name);
        env[count++] = line;
    }
    ck_assert_ptr_null(setting_table[count].name);
    cleanup(parsed_fini) struct parsed q = parse_env(env);
    assert_silent(&q);
    cleanup(mem_free_ptr) char *again = printed(&q.settings), *first = printed(&p.settings);
    /* The second time all is given; compare up to the remarks. */
    for (char *a = again, *b = first; *a != '#'; a = strchr(a, '\n') + 1, b = strchr(b, '\n') + 1) {
        size_t len = (size_t)(strstr(a, "  # ") - a);
        ck_assert_uint_eq(len, (size_t)(strstr(b, "  # ") - b));
        ck_assert_mem_eq(a, b, len);
    }
}

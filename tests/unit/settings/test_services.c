#include "settings/table.h"
#include "../settings_text.h"

#define A60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static char *mappings_of(const struct settings *c)
{
    struct buf out = {0};
    settings_print_mappings(c, &out);
    return buf_take(&out);
}

/* A value, and all the mappings that come of it. */
static const struct {
    const char *value, *mappings;
} taken[] = {
    {"ns/name:https=be_ingress_https, ns/name:http=be_ingress_http, other/web:80=be_web",
     "ns/name:https=be_ingress_https, ns/name:http=be_ingress_http, other/web:80=be_web"},
    {"ns/web", "ns/web=web"},
    {"ns/web=Be:1_.-", "ns/web=Be:1_.-"},
    {" ,\n ns/a,,b/c\t\r\n, ", "ns/a=a, b/c=c"},
    {"ns/web:1=a,ns/web:65535=b", "ns/web:1=a, ns/web:65535=b"},
    /* The same Service and port for two backends. */
    {"ns/web:80=a,ns/web:80=b", "ns/web:80=a, ns/web:80=b"},
    /* The same Service's name in two namespaces; a backend's case counts. */
    {"a/web=a,b/web=A", "a/web=a, b/web=A"},
    {"0/1:2-x", "0/1:2-x=1"},
};

TEST_EACH(a_list_is_taken, array_len(taken))
{
    cleanup(mem_free_ptr) char *entry = mem_printf("INGRESS_SERVICES=%s", taken[_i].value);
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry);
    assert_silent(&p);
    cleanup(mem_free_ptr) char *mappings = mappings_of(&p.settings);
    ck_assert_str_eq(mappings, taken[_i].mappings);
    /* What check-config prints of it is the same again. */
    cleanup(mem_free_ptr) char *again = mem_printf("INGRESS_SERVICES=%s", mappings);
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, again);
    assert_silent(&q);
    cleanup(mem_free_ptr) char *mappings_again = mappings_of(&q.settings);
    ck_assert_str_eq(mappings_again, mappings);
}

#define LABEL "(lower-case letters, digits and '-', at most 63 characters)"
#define NAMESPACE "expected a namespace's name " LABEL " before the '/'"
#define SERVICE "expected a Service's name " LABEL " after the '/'"
#define PORT "expected the name or number of a port of the Service after the ':'"
#define BACKEND "expected a backend's name (letters, digits, '-', '_', '.' and ':') after the '='"
#define SHAPE "expected namespace/service[:port][=backend]"
#define UPPER "; names in Kubernetes have no upper-case letters"
#define LIST                                                                                                       \
    "expected 1 to 64 entries namespace/service[:port][=backend], separated by commas or white space, no backend " \
    "twice"

/* A value, and everything that is said about it, in order, each without "error: INGRESS_SERVICES". */
static const struct {
    const char *value, *says;
} refused[] = {
    {",", "=\",\": " LIST "; it has 0\n"},
    {"\"ns/web\"", ", entry 1, \"\\\"ns/web\\\"\": " NAMESPACE "\n"
                   ", entry 1, \"\\\"ns/web\\\"\": " SERVICE "\n"},
    {"web", ", entry 1, \"web\": " SHAPE "; the namespace is missing\n"},
    {"Web", ", entry 1, \"Web\": " SHAPE "; the namespace is missing\n"
            ", entry 1, \"Web\": " SERVICE UPPER "\n"},
    {"/web", ", entry 1, \"/web\": " NAMESPACE "; there is nothing\n"},
    {"ns/web:", ", entry 1, \"ns/web:\": " PORT "; there is nothing\n"},
    {"a/b/c", ", entry 1, \"a/b/c\": " SERVICE "\n"},
    {"ns/web:a:b", ", entry 1, \"ns/web:a:b\": " PORT "\n"},
    {"ns/web=a/b", ", entry 1, \"ns/web=a/b\": " BACKEND "\n"},
    {"ns/web:65536", ", entry 1, \"ns/web:65536\": " PORT "; as a number it is from 1 to 65535\n"},
    {"ns/web:HTTPS", ", entry 1, \"ns/web:HTTPS\": " PORT UPPER "\n"},
    {"ns/" A60 "aaaa", ", entry 1, \"ns/" A60 "aaaa\": " SERVICE "; it has 64 characters\n"},
    /* As a user writes it who thinks of assignments. */
    {"ns/web = be", ", entry 2, \"=\": " SHAPE "; there is no white space around ':' and '='\n"
                    ", entry 2, \"=\": " BACKEND "; there is nothing\n"
                    ", entry 3, \"be\": " SHAPE "; the namespace is missing\n"},
    /* All of all entries. */
    {"NS/Web:0=b/c,ns/ok,x", ", entry 1, \"NS/Web:0=b/c\": " NAMESPACE UPPER "\n"
                             ", entry 1, \"NS/Web:0=b/c\": " SERVICE UPPER "\n"
                             ", entry 1, \"NS/Web:0=b/c\": " PORT "; as a number it is from 1 to 65535\n"
                             ", entry 1, \"NS/Web:0=b/c\": " BACKEND "\n"
                             ", entry 3, \"x\": " SHAPE "; the namespace is missing\n"},
    {"ns/a=be,ns/b=be", ", entry 2, \"ns/b=be\": expected a backend of its own; be is that of entry 1\n"},
    {"ns/web:http,ns/web:https", ", entry 2, \"ns/web:https\": expected a backend of its own; web is that of entry 1; "
                                 "without =backend it has the name of the Service\n"},
    {"ns/be,ns/b=be", ", entry 2, \"ns/b=be\": expected a backend of its own; be is that of entry 1; without =backend "
                      "it has the name of the Service\n"},
    /* What is none is nobody's either. */
    {"ns/W,ns/W", ", entry 1, \"ns/W\": " SERVICE UPPER "\n"
                  ", entry 2, \"ns/W\": " SERVICE UPPER "\n"},
    {"a/b=x,a/c=y,a/d=x,a/e=x,a/f=y", ", entry 3, \"a/d=x\": expected a backend of its own; x is that of entry 1\n"
                                      ", entry 4, \"a/e=x\": expected a backend of its own; x is that of entry 1\n"
                                      ", entry 5, \"a/f=y\": expected a backend of its own; y is that of entry 2\n"},
    {"ns/w\xc3\xa4", ", entry 1, \"ns/w\\xc3\\xa4\": " SERVICE "\n"},
    /* Into the wrong variable: no part of it is cut out and shown. */
    {"http://admin:hun,ter2@haproxy:5555", "=\"http://***@haproxy:5555\": " LIST "\n"},
};

TEST_EACH(every_problem_of_every_entry, array_len(refused))
{
    cleanup(mem_free_ptr) char *entry = mem_printf("INGRESS_SERVICES=%s", refused[_i].value);
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry);
    cleanup(mem_free_ptr) char *text = all_text(&p);
    struct buf expected = {0};
    for (const char *line = refused[_i].says; *line != '\0'; line = strchr(line, '\n') + 1)
        buf_printf(&expected, "error: INGRESS_SERVICES%.*s", (int)(strchr(line, '\n') + 1 - line), line);
    ck_assert_str_eq(text, buf_str(&expected));
    buf_fini(&expected);
}

TEST(as_many_as_there_may_be)
{
    struct buf entry = {0};
    buf_add(&entry, "INGRESS_SERVICES=");
    for (int i = 1; i <= SETTINGS_MAPPINGS_MAX; i++)
        buf_printf(&entry, "ns/s%d ", i);
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, buf_str(&entry));
    assert_silent(&p);
    ck_assert_uint_eq(p.settings.mapping_count, SETTINGS_MAPPINGS_MAX);
    ck_assert_str_eq(p.settings.mappings[63].service, "s64");
    buf_add(&entry, "ns/one-more");
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, buf_str(&entry));
    ck_assert_uint_eq(q.report.count, 1);
    assert_says(&q, LIST "; it has 65");
    buf_fini(&entry);
}

TEST(not_both_forms)
{
    static const struct {
        const char *entry, *name;
    } rows[] = {
        {"INGRESS_NAMESPACE=ingress-nginx", "INGRESS_NAMESPACE"}, /* given, though it is the default */
        {"INGRESS_SERVICE_NAME=x", "INGRESS_SERVICE_NAME"},
        {"INGRESS_SERVICE_PORT=https", "INGRESS_SERVICE_PORT"},
        {"HAPROXY_BACKEND_NAME=x", "HAPROXY_BACKEND_NAME"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(parsed_fini) struct parsed p = parse(LOGIN, "INGRESS_SERVICES=ns/web", rows[i].entry);
        cleanup(mem_free_ptr) char *text = all_text(&p);
        cleanup(mem_free_ptr) char *expected =
            mem_printf("error: INGRESS_SERVICES is set beside %s: expected either the "
                       "list or the variables for one Service\n",
                       rows[i].name);
        ck_assert_str_eq(text, expected);
    }
    cleanup(parsed_fini) struct parsed all =
        parse(LOGIN, "INGRESS_SERVICES=x", rows[3].entry, rows[2].entry, rows[1].entry, rows[0].entry);
    ck_assert_uint_eq(all.report.count, 2);
    assert_says(&all, "INGRESS_SERVICES is set beside INGRESS_NAMESPACE, INGRESS_SERVICE_NAME, INGRESS_SERVICE_PORT, "
                      "HAPROXY_BACKEND_NAME: expected");
    /* Empty ones count as not set. */
    cleanup(parsed_fini) struct parsed empty =
        parse(LOGIN, "INGRESS_SERVICES=ns/web", "INGRESS_NAMESPACE=", "INGRESS_SERVICE_NAME=", "HAPROXY_BACKEND_NAME=");
    assert_silent(&empty);
    cleanup(parsed_fini) struct parsed single = parse(LOGIN, "INGRESS_SERVICES=", "INGRESS_NAMESPACE=x");
    assert_silent(&single);
    ck_assert_str_eq(single.settings.mappings[0].namespace, "x");
}

TEST(a_fixed_port_is_for_one_backend)
{
    cleanup(parsed_fini) struct parsed one = parse(LOGIN, "INGRESS_SERVICES=ns/web", "HAPROXY_BACKEND_PORT=80");
    assert_silent(&one);
    cleanup(parsed_fini) struct parsed two = parse(LOGIN, "INGRESS_SERVICES=ns/web ns/api", "HAPROXY_BACKEND_PORT=80");
    cleanup(mem_free_ptr) char *text = all_text(&two);
    ck_assert_str_eq(text, "error: HAPROXY_BACKEND_PORT is set, but INGRESS_SERVICES has 2 entries: expected no fixed "
                           "port for several backends, because their Services have the ports\n");
    /* What a Service of that name puts there is nobody's desired state. */
    cleanup(parsed_fini) struct parsed link =
        parse(LOGIN, "INGRESS_SERVICES=ns/web ns/api", "HAPROXY_BACKEND_PORT=tcp://10.96.0.5:443");
    ck_assert_int_eq(link.rc, 0);
}

TEST(the_single_form_makes_one_mapping)
{
    static const struct {
        const char *entry, *mappings;
    } rows[] = {
        {"INGRESS_NAMESPACE=ns", "ns/ingress-nginx=ingress-nginx"},
        {"INGRESS_SERVICE_PORT=https", "ingress-nginx/ingress-nginx:https=ingress-nginx"},
        {"HAPROXY_BACKEND_NAME=be", "ingress-nginx/ingress-nginx=be"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(parsed_fini) struct parsed p = parse(LOGIN, rows[i].entry);
        assert_silent(&p);
        cleanup(mem_free_ptr) char *mappings = mappings_of(&p.settings);
        ck_assert_str_eq(mappings, rows[i].mappings);
    }
}

/* Two Services' links have the name INGRESS_SERVICE_PORT: those of ingress-service, and those of ingress. */
TEST(what_a_service_link_puts_into_the_port)
{
    static const struct {
        const char *port, *host, *link;
        bool ignored;
    } rows[] = {
        {"INGRESS_SERVICE_PORT=tcp://10.96.0.5:80", "INGRESS_SERVICE_SERVICE_HOST=10.96.0.5",
         "INGRESS_SERVICE_SERVICE_PORT=80", true},
        {"INGRESS_SERVICE_PORT=443", "INGRESS_SERVICE_HOST=10.96.0.5", "INGRESS_PORT=tcp://10.96.0.5:443", true},
        {"INGRESS_SERVICE_PORT=53", "INGRESS_SERVICE_HOST=fd00::5", "INGRESS_PORT=udp://[fd00::5]:53", true},
        /* A user's own word takes the place of the link. */
        {"INGRESS_SERVICE_PORT=https", "INGRESS_SERVICE_HOST=10.96.0.5", "INGRESS_PORT=tcp://10.96.0.5:443", false},
        {"INGRESS_SERVICE_PORT=43", "INGRESS_SERVICE_HOST=10.96.0.5", "INGRESS_PORT=tcp://10.96.0.5:443", false},
        {"INGRESS_SERVICE_PORT=443", "INGRESS_SERVICE_HOST=", "INGRESS_PORT=tcp://10.96.0.5:443", false},
        {"INGRESS_SERVICE_PORT=443", "INGRESS_SERVICE_HOST=10.96.0.5", "PATH=/bin", false},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(parsed_fini) struct parsed p = parse(LOGIN, rows[i].port, rows[i].host, rows[i].link);
        ck_assert_int_eq(p.rc, 0);
        ck_assert_uint_eq(p.report.count, rows[i].ignored ? 1 : 0);
        ck_assert_msg(setting_is_given(&p.settings, SETTING(ingress_port)) == !rows[i].ignored, "row %zu", i);
        ck_assert((p.settings.mappings[0].port == NULL) == rows[i].ignored);
        if (rows[i].ignored)
            assert_says(&p, "this comes from a Kubernetes Service of that name, not from you, and is ignored; set "
                            "enableServiceLinks: false");
    }
}

TEST(check_config_shows_what_is_in_effect)
{
    static const char *const lines[] = {
        "INGRESS_NAMESPACE=  # not used beside INGRESS_SERVICES\n",
        "INGRESS_SERVICE_NAME=  # not used beside INGRESS_SERVICES\n",
        "INGRESS_SERVICE_PORT=  # not used beside INGRESS_SERVICES\n",
        "INGRESS_SERVICES=ns/web:https=be_https, ns/web:80=be_http, other/api=api  # from the environment\n",
        "HAPROXY_BACKEND_NAME=  # not used beside INGRESS_SERVICES\n",
        "HAPROXY_BACKEND_PORT=  # default: the Service's nodePort, or else the endpoint's own port\n",
        "\n# backend be_https: Service ns/web, port https\n"
        "# backend be_http: Service ns/web, port 80\n"
        "# backend api: Service other/api, its only port\n",
    };
    cleanup(parsed_fini) struct parsed p =
        parse(LOGIN, "INGRESS_SERVICES=ns/web:https=be_https,ns/web:80=be_http,other/api");
    assert_silent(&p);
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    for (size_t i = 0; i < array_len(lines); i++)
        ck_assert_msg(strstr(text, lines[i]) != NULL, "expected %s in:\n%s", lines[i], text);
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, "HAPROXY_BACKEND_PORT=30443", "INGRESS_SERVICE_PORT=https");
    cleanup(mem_free_ptr) char *single = printed(&q.settings);
    ck_assert(str_has_suffix(
        single, "\n# backend ingress-nginx: Service ingress-nginx/ingress-nginx, port https, servers on port 30443\n"));
    ck_assert_ptr_nonnull(strstr(single, "INGRESS_SERVICES=  # default: one Service, from the settings above\n"));
}

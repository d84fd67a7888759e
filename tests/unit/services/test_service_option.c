/* src/services/option: each value of each option, as it is meant or refused. */

#include "services/option.h"

#include "../test.h"

#define LABEL_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct port_range ports[] = {{80, 80}, {8000, 8999}};

static const struct {
    const char *option, *value, *says; /* NULL: it is refused */
} rows[] = {
    {"hostname", "Shop.Example.COM", "host shop.example.com"},
    {"hostname", "a", "host a"},
    {"hostname", LABEL_63 ".b", "host " LABEL_63 ".b"},
    {"hostname", "a" LABEL_63 ".b", NULL},
    {"hostname", "CLUSTER-dashboard.example.com", "host east-dashboard.example.com"},
    {"hostname", "CLUSTER.CLUSTER", "host east.cluster"}, /* the first alone, as it was */
    {"hostname", "", NULL},
    {"hostname", "a b", NULL},
    {"hostname", "a..b", NULL},
    {"hostname", ".a", NULL},
    {"hostname", "a.", NULL},
    {"hostname", "-a", NULL},
    {"hostname", "a-.b", NULL},
    {"hostname", "a_b", NULL},
    {"hostname", "*.a", NULL},
    {"hostname", "\xc3\xa4.example", NULL},
    {"hostname", "a\"", NULL},
    {"hostname", "a\nserver x 1.2.3.4", NULL},
    {"listen-ip", "*", "ip all"},
    {"listen-ip", "10.0.0.1", "ip 10.0.0.1"},
    {"listen-ip", "fd00::1", "ip fd00::1"},
    {"listen-ip", "FD00:0::1", "ip fd00::1"}, /* one address, one frontend */
    {"listen-ip", "0.0.0.0", "ip all"},
    {"listen-ip", "::", "ip ::"},
    {"listen-ip", "10.0.0.256", NULL},
    {"listen-ip", "[::1]", NULL},
    {"listen-ip", "lb.example", NULL},
    {"listen-ip", "", NULL},
    {"listen-port", "80", "port 80"},
    {"listen-port", "8000", "port 8000"},
    {"listen-port", "8999", "port 8999"},
    {"listen-port", "9000", NULL},
    {"listen-port", "0", NULL},
    {"listen-port", "65536", NULL},
    {"listen-port", "http", NULL},
    {"haproxy-mode", "http", "mode http"},
    {"haproxy-mode", "tcp", "mode tcp"},
    {"haproxy-mode", "TCP", NULL},
    {"use-ssl", "true", "tls true"},
    {"use-ssl", "false", "tls false"},
    {"use-ssl", "yes", NULL},
    {"ssl-certificate", "shop.pem", "cert shop.pem"},
    {"ssl-certificate", "team/shop.example.pem", "cert team/shop.example.pem"},
    {"ssl-certificate", "../shadow", NULL},
    {"ssl-certificate", "a/../../shadow", NULL},
    {"ssl-certificate", "/etc/shadow", NULL},
    {"ssl-certificate", "a//b", NULL},
    {"ssl-certificate", "a/", NULL},
    {"ssl-certificate", ".hidden", NULL},
    {"ssl-certificate", "a b", NULL},
    {"ssl-certificate", "", NULL},
    {"ssl-certificate", "k8s-service_other_tls.pem", NULL},
    {"ssl-certificate", "ssl/k8s-service_other_tls.pem", NULL},
    {"ssl-certificate", "a-k8s-service_tls.pem", "cert a-k8s-service_tls.pem"},
    {"ssl-certificate", "secret:tls", "cert Secret shop/tls"},
    {"ssl-certificate", "secret:shop/a.b-c", "cert Secret shop/a.b-c"},
    {"ssl-certificate", "secret:certs/tls", "cert Secret certs/tls"},
    {"ssl-certificate", "secret:other/tls", NULL},
    {"ssl-certificate", "secret:", NULL},
    {"ssl-certificate", "secret:/tls", NULL},
    {"ssl-certificate", "secret:shop/", NULL},
    {"ssl-certificate", "secret:shop/a/b", NULL},
    {"ssl-certificate", "secret:TLS", NULL},
    {"ssl-certificate", "secret:.tls", NULL},
    {"ssl-certificate", "secret:tls-", NULL},
    {"ssl-certificate", "secret:a,b", NULL},
    {"ssl-certificate", "secret:a\n", NULL},
    {"ssl-certificate", "secret:..", NULL},
    {"ssl-certificate", "secret:sh.op/tls", NULL},
    {"ssl-certificate", "secret:" LABEL_63 LABEL_63, NULL},
    {"ssl-certificate", "Secret:tls", NULL},
    {"path", "/", "path none"},
    {"path", "/a", "path /a"},
    {"path", "/a/b-c_d.~!&*+,;=:@", "path /a/b-c_d.~!&*+,;=:@"},
    {"path", "/a//", "path /a"},
    {"path", "a", NULL},
    {"path", "", NULL},
    {"path", "/a b", NULL},
    {"path", "/a}", NULL},
    {"path", "/a%20", NULL},
    {"path", "/a#b", NULL},
    {"path", "/a\"", NULL},
    {"path", "/$(a)", NULL},
    {"http-redirect", "true", "redirect true"},
    {"http-redirect", "1", NULL},
    {"backends-balance-method", "leastconn", "balance leastconn"},
    {"backends-balance-method", "hdr(host)", NULL},
    {"backends-balance-method", "roundrobin\n", NULL},
    {"backends-use-ssl", "false", "backends false"},
    {"backends-use-ssl", "", NULL},
    {"backends-verify-ssl", "true", "verify true"},
    {"backends-verify-ssl", "TRUE", NULL},
    {"send-proxy-v2", "true", "proxy true"},
    {"send-proxy-v2", "2", NULL},
    {"health-path", "/healthz", "health /healthz"},
    {"health-path", "healthz", NULL},
};

static const char *word(bool on)
{
    return on ? "true" : "false";
}

static char *text_of(const char *option, const struct port_options *o)
{
    const struct {
        const char *option, *name;
        char *value;
    } said[] = {{"hostname", "host", mem_strdup(o->hostname)},
                {"listen-ip", "ip", mem_strdup(o->listen_ip != NULL ? o->listen_ip : "all")},
                {"listen-port", "port", mem_printf("%u", o->listen_port)},
                {"haproxy-mode", "mode", mem_strdup(o->tcp ? "tcp" : "http")},
                {"use-ssl", "tls", mem_strdup(word(o->tls))},
                {"ssl-certificate", "cert",
                 o->secret != NULL ? mem_printf("Secret %s", o->secret) : mem_strdup(o->certificate)},
                {"path", "path", mem_strdup(o->path != NULL ? o->path : "none")},
                {"http-redirect", "redirect", mem_strdup(word(o->redirect))},
                {"backends-balance-method", "balance", mem_strdup(o->balance)},
                {"backends-use-ssl", "backends", mem_strdup(word(o->backends_tls))},
                {"backends-verify-ssl", "verify", mem_strdup(word(o->backends_verify))},
                {"send-proxy-v2", "proxy", mem_strdup(word(o->proxy_v2))},
                {"health-path", "health", mem_strdup(o->health_path)}};
    char *ret = NULL;
    ck_assert_uint_eq(array_len(said), service_option_count);
    for (size_t i = 0; i < array_len(said); i++) {
        if (str_eq(said[i].option, option))
            ret = mem_printf("%s %s", said[i].name, said[i].value);
        free(said[i].value);
    }
    return ret;
}

TEST_EACH(values, array_len(rows))
{
    char *namespaces[] = {(char *)"certs"};
    const struct option_rules rules = {.cluster = "east",
                                       .ports = ports,
                                       .port_count = array_len(ports),
                                       .namespace = "shop",
                                       .secret_namespaces = namespaces,
                                       .secret_namespace_count = 1};
    const struct service_option *option = service_option_find(rows[_i].option);
    cleanup(buf_fini) struct buf why = {0};
    struct port_options o;
    port_options_init(&o);
    ck_assert_ptr_nonnull(option);
    int parsed = service_option_parse(option, &o, rows[_i].value, &rules, &why);
    ck_assert_msg((parsed == 0) == (rows[_i].says != NULL), "%s \"%s\"", rows[_i].option, rows[_i].value);
    cleanup(mem_free_ptr) char *text = text_of(rows[_i].option, &o);
    if (parsed == 0)
        ck_assert_str_eq(text, rows[_i].says);
    port_options_fini(&o);
}

static bool may_listen_at(const char *value, const char *all, const char *one)
{
    char *addresses[] = {(char *)(uintptr_t)all, (char *)(uintptr_t)one};
    const struct option_rules rules = {.addresses = addresses, .address_count = 2};
    cleanup(buf_fini) struct buf why = {0};
    struct port_options o;
    port_options_init(&o);
    bool may = service_option_parse(service_option_find("listen-ip"), &o, value, &rules, &why) == 0;
    ck_assert_str_eq(buf_str(&why), may ? "" : "it is none of SERVICES_ADDRESSES");
    port_options_fini(&o);
    return may;
}

TEST(addresses_that_may_be_listened_at)
{
    ck_assert(may_listen_at("*", "*", "10.0.0.1") && may_listen_at("10.0.0.1", "*", "10.0.0.1"));
    ck_assert(may_listen_at("0.0.0.0", "*", "fd00::1") && may_listen_at("fd00:0::1", "*", "fd00::1"));
    ck_assert(!may_listen_at("10.0.0.2", "*", "10.0.0.1") && !may_listen_at("*", "10.0.0.1", "10.0.0.2"));
}

TEST(every_option_has_rows)
{
    for (size_t i = 0; i < service_option_count; i++) {
        size_t good = 0, bad = 0;
        for (size_t k = 0; k < array_len(rows); k++) {
            bool of = str_eq(rows[k].option, service_options[i].name);
            good += of && rows[k].says != NULL;
            bad += of && rows[k].says == NULL;
        }
        ck_assert_msg(good > 0 && bad > 0, "%s", service_options[i].name);
    }
    ck_assert_ptr_null(service_option_find("hostnam"));
}

#define PAGE "docs/services.md"
#define BEGIN "<!-- options -->\n"
#define END "<!-- /options -->\n"
#define RENEW "RENEW_OPTIONS=1 build/unit/test_service_option"

static char *page_with_options(const char *page)
{
    struct buf out = {0};
    const char *begin = strstr(page, BEGIN), *end = strstr(page, END);
    ck_assert_ptr_nonnull(begin);
    ck_assert_ptr_nonnull(end);
    buf_addn(&out, page, (size_t)(begin - page) + strlen(BEGIN));
    buf_add(&out, "| option | default | |\n|---|---|---|\n");
    for (size_t i = 0; i < service_option_count; i++) {
        const struct service_option *o = &service_options[i];
        buf_printf(&out, "| `%s` | %s | %s Expected: %s. |\n", o->name, str_eq(o->fallback, "*") ? "`*`" : o->fallback,
                   o->help,
                   str_has_prefix(o->expected, "* ") ? "`*` or an IP address, of SERVICES_ADDRESSES" : o->expected);
    }
    buf_add(&out, end);
    return buf_take(&out);
}

TEST(the_page_has_them)
{
    cleanup(buf_fini) struct buf page = {0};
    ck_assert_int_eq(buf_read_file(&page, PAGE), 0);
    cleanup(mem_free_ptr) char *should = page_with_options(buf_str(&page));
    if (getenv("RENEW_OPTIONS") != NULL) {
        FILE *f = fopen(PAGE, "w");
        ck_assert_ptr_nonnull(f);
        fputs(should, f);
        ck_assert_int_eq(fclose(f), 0);
    } else {
        ck_assert_msg(str_eq(should, buf_str(&page)), PAGE " is not as the table of options; renew it by " RENEW);
    }
}

TEST(what_others_say)
{
    const struct option_rules rules = {0};
    cleanup(buf_fini) struct buf why = {0};
    struct port_options o;
    port_options_init(&o);
    ck_assert_int_eq(service_option_parse(service_option_find("hostname"), &o, "CLUSTER.a", &rules, &why), -1);
    ck_assert_str_eq(buf_str(&why), "it has CLUSTER, and CLUSTER_NAME is not set");
    ck_assert_int_eq(service_option_parse(service_option_find("hostname"), &o, "a.example", &rules, &why), 0);
    ck_assert_int_eq(service_option_parse(service_option_find("listen-port"), &o, "0", &rules, &why), -1);
    ck_assert_int_eq(service_option_parse(service_option_find("listen-port"), &o, "65535", &rules, &why), 0);
    port_options_settle(&o);
    ck_assert(o.tls && o.backends_tls && !o.backends_verify);
    ck_assert_str_eq(o.certificate, "a.example.pem");
    port_options_fini(&o);

    const struct option_rules alone = {.namespace = "shop"};
    buf_clear(&why);
    port_options_init(&o);
    ck_assert_int_eq(service_option_parse(service_option_find("hostname"), &o, "a.example", &alone, &why), 0);
    ck_assert_int_eq(service_option_parse(service_option_find("ssl-certificate"), &o, "secret:certs/tls", &alone, &why),
                     -1);
    ck_assert_str_eq(buf_str(&why), "it is in another namespace, which is none of SERVICES_SECRET_NAMESPACES");
    ck_assert_int_eq(service_option_parse(service_option_find("ssl-certificate"), &o, "secret:tls", &alone, &why), 0);
    port_options_settle(&o);
    ck_assert_ptr_null(o.certificate);
    port_options_fini(&o);

    port_options_init(&o);
    ck_assert_int_eq(service_option_parse(service_option_find("haproxy-mode"), &o, "tcp", &rules, &why), 0);
    port_options_settle(&o);
    ck_assert(!o.tls && !o.backends_tls && o.certificate == NULL && o.listen_port == 443);
    ck_assert_str_eq(o.balance, "roundrobin");
    port_options_fini(&o);

    port_options_init(&o);
    ck_assert_int_eq(service_option_parse(service_option_find("use-ssl"), &o, "false", &rules, &why), 0);
    ck_assert_int_eq(service_option_parse(service_option_find("backends-use-ssl"), &o, "true", &rules, &why), 0);
    port_options_settle(&o);
    ck_assert(!o.tls && o.backends_tls);
    port_options_fini(&o);
}

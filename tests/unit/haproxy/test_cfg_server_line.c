/* src/haproxy/cfg/unsupported_lines, cfg_keywords: a server line against the object that the API shows of it. */
#include <yyjson.h>

#include "haproxy/cfg/keywords.h"
#include "haproxy/cfg/unsupported_lines.h"

#include "../test.h"

TEST(every_keyword_is_found_by_its_name_alone)
{
    cleanup(mem_free_ptr) char *names =
        mem_strdup("addr ws weight no-tfo check enabled disabled non-stick agent-addr "
                   "set-proxy-v2-tlv-fmt set-proxy-v2-tlv-fmt(0x20) verifyhost ! a chec "
                   "checkk weight(3) check( zzz Check set-proxy-v2-tlv-fm "
                   "set-proxy-v2-tlv-fmtx 0 ");
    char *rest = names;
    bool known = true; /* up to "!" */
    for (char *name; (name = strsep(&rest, " ")) != NULL;) {
        known = known && !str_eq(name, "!");
        ck_assert_msg((cfg_keyword_find(name) != NULL) == known, "%s", name);
    }
    ck_assert_str_eq(cfg_keyword_find("port")->key, "health_check_port");
    ck_assert_str_eq(cfg_keyword_find("disabled")->key, "maintenance");
    ck_assert_int_eq(cfg_keyword_find("enabled")->form, RAWCFG_OFF);
}

/* What HAProxy 2.8 says of itself with -dKcfg: "weight +1" takes one argument, "check" none. */
TEST(every_keyword_of_haproxy_is_known_with_its_arguments)
{
    cleanup(buf_fini) struct buf text = {0};
    size_t count = 0;
    ck_assert_int_eq(buf_read_file(&text, "tests/data/dataplane/server-keywords-haproxy-2.8.txt"), 0);
    char *at = text.data, *line;
    while ((line = strsep(&at, "\n")) != NULL && line[0] != '\0') {
        char *argument = strstr(line, " +"); /* "source +-1": as many as there are */
        if (argument != NULL)
            *argument = '\0';
        const struct cfg_keyword *k = cfg_keyword_find(line);
        ck_assert_msg(k != NULL, "%s", line);
        ck_assert_msg(
            (k->form != RAWCFG_ON && k->form != RAWCFG_OFF && k->form != RAWCFG_TRUE) ==
                (argument != NULL || str_eq(line, "usesrc")), /* listed only to be refused outside of source */
            "%s", line);
        count++;
    }
    ck_assert_uint_eq(count, 101);
}

static const struct {
    const char *line, *json, *problem; /* problem NULL: none */
} servers[] = {
    {"server a 10.0.0.1:80", "{\"address\":\"10.0.0.1\",\"port\":80}", NULL},
    {"server a 10.0.0.1", "{\"address\":\"10.0.0.1\"}", NULL},
    {"server a 10.0.0.1", "{\"address\":\"10.0.0.1\",\"port\":null}", NULL},
    {"server a [fd00::1]:80", "{\"address\":\"fd00::1\",\"port\":80}", NULL},
    {"server a fd00::1:80", "{\"address\":\"fd00::1\",\"port\":80}", NULL},
    {"server a unix@/run/x.sock", "{\"address\":\"unix@/run/x.sock\"}", NULL},
    {"server a host.example:443", "{\"address\":\"host.example\",\"port\":443}", NULL},
    {"server a 10.0.0.1:+80", "{\"address\":\"10.0.0.1\",\"port\":80}",
     "shows the address 10.0.0.1:+80 as something else"},
    {"server a 10.0.0.1:80", "{\"address\":\"10.0.0.1\",\"port\":81}", "shows the address"},
    {"server a 10.0.0.1:80", "{\"address\":\"10.0.0.1\"}", "shows the address"},
    {"server a 10.0.0.1", "{\"address\":\"10.0.0.1\",\"port\":80}", "shows the address"},
    {"server a 10.0.0.11:80", "{\"address\":\"10.0.0.1\",\"port\":80}", "shows the address"},
    {"server a [fd00::1]:80", "{\"address\":\"fd00::\",\"port\":80}", "shows the address"},
    {"server a [fd00::1x:80", "{\"address\":\"fd00::1\",\"port\":80}", "shows the address"},
    {"server a 10.0.0.1:80", "{}", "shows the address"},
    {"server a 10.0.0.1:80", "{\"address\":7}", "shows the address"},
    /* lines of our own, as 3.0 and 3.3 write and show them */
    {"server old 127.0.9.1:30443 check disabled port 32001 weight 100",
     "{\"check\":\"enabled\",\"health_check_port\":32001,\"maintenance\":\"enabled\",\"weight\":100,\"address\":\"127."
     "0.9.1\","
     "\"name\":\"old\",\"port\":30443}",
     NULL},
    {"server dns nowhere.invalid:30443 check init-addr last,libc,none send-proxy-v2 weight 100",
     "{\"check\":\"enabled\",\"init-addr\":\"last,libc,none\",\"send-proxy-v2\":\"enabled\",\"weight\":100,"
     "\"address\":\"nowhere.invalid\",\"name\":\"dns\",\"port\":30443}",
     NULL},
    {"port 8080", "{}", "does not show \"port 8080\""},
    {"disabled", "{}", "does not show \"disabled\""},
    /* switches */
    {"check disabled backup", "{\"check\":\"enabled\",\"maintenance\":\"enabled\",\"backup\":\"enabled\"}", NULL},
    {"check enabled", "{\"check\":\"enabled\",\"maintenance\":\"disabled\"}", NULL},
    {"no-check non-stick", "{\"check\":\"disabled\",\"stick\":\"disabled\"}", NULL},
    {"no-send-proxy-v2", "{\"send-proxy-v2\":\"disabled\"}", NULL},
    {"no-sslv3 no-tlsv10 force-tlsv12",
     "{\"no_sslv3\":\"enabled\",\"force_tlsv10\":\"disabled\",\"force_tlsv12\":\"enabled\"}", NULL},
    {"allow-0rtt strict-maxconn", "{\"allow_0rtt\":true,\"strict-maxconn\":true}", NULL},
    {"check", "{}", "does not show \"check\", and may lose it"},
    {"check", "{\"check\":\"disabled\"}", "shows \"check\" as something else"},
    {"no-verifyhost", "{}", "does not show \"no-verifyhost\""}, /* 3.0.15 reads it and forgets it */
    {"strict-maxconn", "{}", "does not show \"strict-maxconn\""},
    {"allow-0rtt", "{\"allow_0rtt\":\"enabled\"}", "as something else"},
    /* the last word for a field decides */
    {"check no-check check", "{\"check\":\"enabled\"}", NULL},
    {"enabled disabled", "{\"maintenance\":\"enabled\"}", NULL},
    {"enabled disabled", "{\"maintenance\":\"disabled\"}", "shows \"disabled\" as something else"},
    /* arguments */
    {"weight 100 maxconn 0 rise 2 max-reuse -1", "{\"weight\":100,\"maxconn\":0,\"rise\":2,\"max_reuse\":-1}", NULL},
    {"weight 100", "{\"weight\":10}", "shows \"weight 100\" as something else"},
    {"weight 100", "{}", "does not show \"weight 100\""},
    {"weight 10x", "{\"weight\":10}", "as something else"},
    {"weight", "{\"weight\":10}", "\"weight\" lacks its argument"},
    {"shard 0 error-limit 0", "{}", NULL}, /* what 0 means anyway is not shown */
    {"shard 1", "{}", "does not show \"shard 1\""},
    {"port 8080 addr 10.9.9.9", "{\"health_check_port\":8080,\"health_check_address\":\"10.9.9.9\"}", NULL},
    {"ca-file /a crt /b ssl", "{\"ssl_cafile\":\"/a\",\"ssl_certificate\":\"/b\",\"ssl\":\"enabled\"}", NULL},
    {"sni str(x) init-addr last,libc,none", "{\"sni\":\"str(x)\",\"init-addr\":\"last,libc,none\"}", NULL},
    {"sni str(x)", "{\"sni\":\"str(y)\"}", "shows \"sni str(x)\" as something else"},
    {"cookie \"a b\"", "{\"cookie\":\"\\\"a b\\\"\"}", NULL}, /* as 3.x has it: with the quotes */
    {"cookie \"a b\"", "{\"cookie\":\"a b\"}", NULL},
    {"cookie a\\ b", "{\"cookie\":\"a\\\\ b\"}", NULL},
    {"cookie a\\ b", "{\"cookie\":\"a\\\\\"}", "as something else"},
    {"cookie check", "{\"cookie\":\"check\"}", NULL},
    /* times are milliseconds there */
    {"inter 5s fastinter 500 downinter 1m slowstart 1h pool-purge-delay 1d",
     "{\"inter\":5000,\"fastinter\":500,\"downinter\":60000,\"slowstart\":3600000,\"pool_purge_delay\":86400000}",
     NULL},
    {"inter 5ms tcp-ut 3000us", "{\"inter\":5,\"tcp_ut\":3}", NULL},
    {"inter 1500us", "{\"inter\":1}", "as something else"},
    {"inter 500us", "{\"inter\":1}", "shows \"inter 500us\" as something else"},
    {"inter 5s", "{\"inter\":5}", "as something else"},
    {"inter s", "{\"inter\":5}", "as something else"},
    {"inter 5w", "{\"inter\":5}", "as something else"},
    {"inter 99999999999", "{\"inter\":99999999999}", "as something else"},
    /* the odd ones */
    {"proxy-v2-options crc32c,unique-id", "{\"proxy-v2-options\":[\"crc32c\",\"unique-id\"]}", NULL},
    {"proxy-v2-options crc32c,unique-id", "{\"proxy-v2-options\":[\"crc32c\"]}", "as something else"},
    {"proxy-v2-options crc32c", "{\"proxy-v2-options\":\"crc32c\"}", "as something else"},
    {"proxy-v2-options crc32c", "{\"proxy-v2-options\":[1]}", "as something else"},
    {"set-proxy-v2-tlv-fmt(0x20) %[fc_pp_tlv(0x20)]",
     "{\"set-proxy-v2-tlv-fmt\":{\"id\":\"0x20\",\"value\":\"%[fc_pp_tlv(0x20)]\"}}", NULL},
    {"set-proxy-v2-tlv-fmt(0x20) a set-proxy-v2-tlv-fmt(0x21) b",
     "{\"set-proxy-v2-tlv-fmt\":{\"id\":\"0x21\",\"value\":\"b\"}}",
     "\"set-proxy-v2-tlv-fmt(0x20) a\" as something else"},
    {"set-proxy-v2-tlv-fmt a", "{\"set-proxy-v2-tlv-fmt\":{\"id\":\"\",\"value\":\"a\"}}", "as something else"},
    {"source 10.0.0.9 usesrc clientip interface eth0", "{\"source\":\"10.0.0.9 usesrc clientip interface eth0\"}",
     NULL},
    {"source 10.0.0.9 interface eth0", "{\"source\":\"10.0.0.9\"}", "as something else"},
    {"quic-cc-algo cubic(10m)", "{\"quic-cc-algo\":\"cubic\",\"quic_cc_algo_max_window\":10}", NULL},
    {"quic-cc-algo bbr", "{\"quic-cc-algo\":\"cubic\"}", "as something else"},
    /* not in the table: newer than it, or nobody's */
    {"check shiny 5 weight 3", "{\"check\":\"enabled\",\"weight\":3}", "\"shiny\" is not known to the Data Plane API"},
    {"check shiny 5 weight 3", "{\"check\":\"enabled\",\"weight\":3,\"shiny\":5}", NULL},
    {"very-shiny x no-glitter check", "{\"very_shiny\":\"x\",\"glitter\":\"disabled\",\"check\":\"enabled\"}", NULL},
    {"check very-shiny", "{\"very-shiny\":true,\"check\":\"enabled\"}", NULL},
    {"check very-shiny", "{\"very-shiny\":\"disabled\",\"check\":\"enabled\"}", NULL},
    {"shiny", "{\"shiny\":\"x\"}", "\"shiny\" lacks its argument"},
    {"metadata", "{\"metadata\":{}}", "\"metadata\" is not known to the Data Plane API"},
    {"name x", "{\"name\":\"x\"}", "\"name\" is not known to the Data Plane API"},
    {"CHECK", "{\"check\":\"enabled\"}", "\"CHECK\" is not known to the Data Plane API"},
};

TEST_EACH(a_server_line_against_what_is_shown, array_len(servers))
{
    struct cfg_line l;
    bool whole = str_has_prefix(servers[_i].line, "server ");
    char *line = mem_printf("%s%s", whole ? "" : "server a 10.0.0.1 ", servers[_i].line);
    yyjson_doc *doc = yyjson_read(servers[_i].json, strlen(servers[_i].json), 0);
    ck_assert_ptr_nonnull(doc);
    cfg_line_init(&l);
    cfg_line_split(&l, line, strlen(line));
    char *problem = whole ? cfg_server_problem(&l, yyjson_doc_get_root(doc))
                          : cfg_keywords_problem(&l, 3, yyjson_doc_get_root(doc), true);
    if (servers[_i].problem == NULL)
        ck_assert_msg(problem == NULL, "%s: %s", line, problem);
    else
        ck_assert_msg(problem != NULL && strstr(problem, servers[_i].problem) != NULL, "%s: %s", line, problem);
    free(problem);
    free(line);
    cfg_line_fini(&l);
    yyjson_doc_free(doc);
}

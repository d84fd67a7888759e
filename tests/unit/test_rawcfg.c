/* src/dataplane/rawcfg*: what of haproxy.cfg the API does not show, or would damage. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "dataplane/codec.h"
#include "dataplane/rawcfg.h"
#include "dataplane/rawcfg_keywords.h"
#include "dataplane/rawcfg_server.h"
#include "dataplane/rawcfg_words.h"

#define RECORDINGS "../shared/data/dataplane/"

/* ---- words ---- */

/* As HAProxy 2.6 itself reads them (`.notice WORD` prints what it made of one).
 * Words joined by '|'; a word that is not plain is followed by '~', a broken line by '!'. */
static const struct {
    const char *line, *words;
} lines[] = {
    {"", ""},
    {"   \t", ""},
    {"# server x", ""},
    {"server n1 10.0.0.1:80 check", "server|n1|10.0.0.1:80|check"},
    {"\tserver\tn1  a\r", "server|n1|a"},
    {"server\vn1\fa", "server|n1|a"},
    {"a # b", "a"},
    {"a#b c", "a"},
    {"a\\#b", "a#b~"},
    {"a\\ b c", "a b~|c"},
    {"a\\\\ b", "a\\~|b"},
    {"\"a b\" c", "a b~|c"},
    {"'a b' c", "a b~|c"},
    {"a\" \"b'#'c", "a b#c~"},
    {"'a\\'b", "a\\b~"},
    {"\"a\\\"b\" c", "a\"b~|c"},
    {"\"a\\nb\"", "a\nb~"},
    {"\"a\\#b\\ c\\'d\\x41\\qe\"", "a#b c'dA\\qe~"},
    {"a\\'b\\\"c", "a'b\"c~"},
    {"a\\$b", "a\\$b~"},
    {"a\\nb\\tc\\rd", "a\nb\tc\rd~"},
    {"a\\x41\\x7", "aA\\x7~"},
    {"a\\xzz", "a\\xzz~"},
    {"a\\x00b c", "a\\x00b~|c"},
    {"a\\q", "a\\q~"},
    {"a\\", "a\\~"},
    {"\"a\\$b\" \"$c\" $d", "a$b~|$c~|$d"},
    {"''", "~"},
    {"a \"b", "a|b~!"},
    {"a 'b", "a|b~!"},
    {"\xc3\xa4 \xff", "\xc3\xa4|\xff"},
};

static char *join(const struct rawcfg_line *l)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < l->count; i++)
        buf_printf(&b, "%s%s%s", i > 0 ? "|" : "", l->words[i].text, l->words[i].plain ? "" : "~");
    buf_add(&b, l->broken ? "!" : "");
    return buf_take(&b);
}

START_TEST(words_of_a_line)
{
    struct rawcfg_line l;
    size_t len = strlen(lines[_i].line);
    char *exact = mem_alloc(len); /* no byte behind it: reading on would be seen */
    memcpy(exact, lines[_i].line, len);
    rawcfg_line_init(&l);
    rawcfg_line_split(&l, exact, len);
    char *got = join(&l);
    ck_assert_str_eq(got, lines[_i].words);
    for (size_t i = 0; i < l.count; i++)
        ck_assert(!l.words[i].plain || (strlen(l.words[i].text) == l.words[i].raw_len &&
                                        memcmp(l.words[i].text, l.words[i].raw, l.words[i].raw_len) == 0));
    ck_assert_str_eq(rawcfg_word(&l, l.count), "");
    free(got);
    free(exact);
    rawcfg_line_fini(&l);
}
END_TEST

START_TEST(too_many_words_are_no_line)
{
    struct rawcfg_line l;
    struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < RAWCFG_MAX_WORDS; i++)
        buf_add(&text, "word ");
    rawcfg_line_init(&l);
    rawcfg_line_split(&l, text.data, text.len);
    ck_assert(!l.broken && l.count == RAWCFG_MAX_WORDS);
    buf_add(&text, "x");
    rawcfg_line_split(&l, text.data, text.len);
    ck_assert(l.broken && l.count == RAWCFG_MAX_WORDS);
    rawcfg_line_fini(&l);
    buf_fini(&text);
}
END_TEST

/* ---- keywords ---- */

START_TEST(every_keyword_is_found_by_its_name_alone)
{
    static const char *const known[] = {"addr",
                                        "ws",
                                        "weight",
                                        "no-tfo",
                                        "check",
                                        "enabled",
                                        "disabled",
                                        "non-stick",
                                        "set-proxy-v2-tlv-fmt",
                                        "set-proxy-v2-tlv-fmt(0x20)",
                                        "agent-addr",
                                        "verifyhost"};
    static const char *const unknown[] = {"",
                                          "a",
                                          "chec",
                                          "checkk",
                                          "weight(3)",
                                          "check(",
                                          "zzz",
                                          "Check",
                                          "set-proxy-v2-tlv-fm",
                                          "set-proxy-v2-tlv-fmtx",
                                          "0"};
    for (size_t i = 0; i < array_len(known); i++)
        ck_assert_msg(rawcfg_keyword_find(known[i]) != NULL, "%s", known[i]);
    for (size_t i = 0; i < array_len(unknown); i++)
        ck_assert_msg(rawcfg_keyword_find(unknown[i]) == NULL, "%s", unknown[i]);
    ck_assert_str_eq(rawcfg_keyword_find("port")->key, "health_check_port");
    ck_assert_str_eq(rawcfg_keyword_find("disabled")->key, "maintenance");
    ck_assert_int_eq(rawcfg_keyword_find("enabled")->form, RAWCFG_OFF);
}
END_TEST

/* What HAProxy 2.8 says of itself with -dKcfg: "weight +1" takes one argument, "check" none. */
START_TEST(every_keyword_of_haproxy_is_known_with_its_arguments)
{
    struct buf text;
    size_t count = 0;
    buf_init(&text, 0);
    ck_assert_int_eq(buf_read_file(&text, "tests/data/dataplane/server-keywords-haproxy-2.8.txt"), 0);
    char *at = text.data, *line;
    while ((line = strsep(&at, "\n")) != NULL && line[0] != '\0') {
        char *argument = strstr(line, " +"); /* "source +-1": as many as there are */
        if (argument != NULL)
            *argument = '\0';
        const struct rawcfg_keyword *k = rawcfg_keyword_find(line);
        ck_assert_msg(k != NULL, "%s", line);
        ck_assert_msg(
            (k->form != RAWCFG_ON && k->form != RAWCFG_OFF && k->form != RAWCFG_TRUE) ==
                (argument != NULL || str_eq(line, "usesrc")), /* listed only to be refused outside of source */
            "%s", line);
        count++;
    }
    ck_assert_uint_eq(count, 101);
    buf_fini(&text);
}
END_TEST

/* ---- one server line against its object ---- */

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

START_TEST(a_server_line_against_what_is_shown)
{
    struct rawcfg_line l;
    bool whole = str_has_prefix(servers[_i].line, "server ");
    char *line = mem_printf("%s%s", whole ? "" : "server a 10.0.0.1 ", servers[_i].line);
    yyjson_doc *doc = yyjson_read(servers[_i].json, strlen(servers[_i].json), 0);
    ck_assert_ptr_nonnull(doc);
    rawcfg_line_init(&l);
    rawcfg_line_split(&l, line, strlen(line));
    char *problem = whole ? rawcfg_server_problem(&l, yyjson_doc_get_root(doc))
                          : rawcfg_keywords_problem(&l, 3, yyjson_doc_get_root(doc), true);
    if (servers[_i].problem == NULL)
        ck_assert_msg(problem == NULL, "%s: %s", line, problem);
    else
        ck_assert_msg(problem != NULL && strstr(problem, servers[_i].problem) != NULL, "%s: %s", line, problem);
    free(problem);
    free(line);
    rawcfg_line_fini(&l);
    yyjson_doc_free(doc);
}
END_TEST

/* ---- whole files ---- */

/* A file, what the API shows of backend "be" (servers by name and address 10.0.0.1:80, or as JSON), and what is found:
 * "line: part of the reason" lines, "" for nothing, "!" for an error with that text. */
static const struct {
    const char *file, *servers, *templates, *found;
} files[] = {
    {"backend be\n server a 10.0.0.1:80\n server b 10.0.0.1:80\n", "a b", "", ""},
    {"backend be from defs # why\r\n\tserver a 10.0.0.1:80 # first\r\n", "a", "", ""},
    {"backend be\nserver a 10.0.0.1:80", "a", "", ""},
    {"global\n log x\nbackend be\nbackend be2\n server x 1\nbackend b\n server y 1\n", "", "", ""},
    {"backend be2\n server x 1\nbackend be\n server a 10.0.0.1:80\nlisten be\n server z 1\n", "a", "", ""},
    {"backend \"be\"\n server a 10.0.0.1:80\n", "a", "", ""},
    {"backend be\n server a 10.0.0.1:80\npeers p\n server z 1\nring r\n server z 2\n", "a", "", ""},
    {"backend be\n server a 10.0.0.1:80\nring r\n server z 2\n", "a", "", ""},
    {"# _version=7\nbackend be\n server hidden 1\n", "", "", "3: server hidden is not shown"},
    /* another version: the API's view is another configuration */
    {"# _version=6\nbackend be\n server hidden 1\n", "x", "", ""},
    {"# _version=7\nbackend be\n server a 10.0.0.1:80 shiny 1\n", "a", "",
     "3: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n server a 10.0.0.1:80 shiny\n", "", "",
     "2: server a is not shown by the Data Plane API: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n server a 10.0.0.1:80\n", "a b", "", "1: shows server b"},
    {"backend be\n server a 10.0.0.1:80\n server a 10.0.0.1:80\n", "a", "", "3: line 2 has a server of that name"},
    {"backend be\n server a\n", "", "", "2: needs a name and an address"},
    {"backend be\n server \"a\" 10.0.0.1:80\n", "a", "", "2: name is quoted|1: shows server a"},
    {"backend be\n server a\\ b 10.0.0.1:80\n", "", "", "2: name is quoted"},
    {"backend be\n server a 10.0.0.1:80 cookie 'x\n", "a", "", "2: a quote does not end|1: shows server a"},
    {"backend be\n.if defined(X)\n server a 10.0.0.1:80\n.else\n server b 1\n.endif\n server c 10.0.0.1:80\n", "a c",
     "", "3: inside .if|5: inside .if"},
    {"backend be\n.if x\n server b 10.0.0.1:80\n.else\n server b 10.0.0.1:80\n.endif\n server c 10.0.0.1:80\n", "b c b",
     "", "3: inside .if|5: inside .if"},
    {"backend be\n server a 10.0.0.1:80\n server a 10.0.0.1:80\n server a 10.0.0.1:80\n", "a b a a", "",
     "3: line 2 has|4: line 2 has|1: shows server b"},
    {".if defined(X)\nbackend be\n server a 10.0.0.1:80\n.endif\n", "a", "", "3: inside .if"},
    {".if a\n.if b\n.endif\nbackend be\n server a 10.0.0.1:80\n.endif\n.endif\n.endif\nbackend c\n", "a", "",
     "5: inside .if"},
    {".endif\nbackend be\n server a 10.0.0.1:80\n", "a", "", ""},
    {"backend be\n server a 10.0.0.1:80\nfrontend f\nbackend be\n server b 10.0.0.1:80\n", "a b", "",
     "4: line 1 begins a backend of that name"},
    {"backend be\n server a 10.0.0.1:80 # shiny \\\n # server b\n", "a", "", ""},
    /* templates are no servers, servers no templates */
    {"backend be\n server-template slot 3 10.0.0.1:80 check disabled\n", "", "slot", ""},
    {"backend be\n server-template slot 3 10.0.0.1:80 check shiny\n", "", "slot",
     "2: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n server-template slot 3 10.0.0.1:80\n", "", "", "2: server-template slot is not shown"},
    {"backend be\n server-template slot 3 10.0.0.1:80 shiny\n", "", "",
     "2: server-template slot is not shown by the Data Plane API: \"shiny\" is not known"},
    {"backend be\n server-template slot 3\n", "", "slot", "2: needs a prefix, a range and an address"},
    {"backend be\n.if x\n server-template slot 3 10.0.0.1\n.endif\n", "", "slot", "3: inside .if"},
    {"backend be\n server slot1 10.0.0.1:80\n server-template slot 3 10.0.0.1\n", "slot1", "slot", ""},
    /* default-server: the backend's object below has inter and rise */
    {"backend be\n default-server inter 5s rise 2\n", "", "", ""},
    {"backend be\n default-server inter 5s\n default-server rise 2 inter 7s # twice\n", "", "", ""},
    {"backend be\n default-server inter 5s shiny 1\n", "", "", "2: \"shiny\" is not known to the Data Plane API"},
    {"backend be\n default-server fall 2\n", "", "", "2: does not show \"fall 2\""},
    {"backend be\n default-server error-limit 0\n", "", "", ""},
    {"backend be\n default-server inter \"5s\n", "", "", "2: a quote does not end"},
    {"backend be\n.if x\n default-server inter 5s\n.endif\n", "", "", "3: inside .if"},
    /* no configuration */
    {"", "", "", "!has no section at all"},
    {"<html><body>502 Bad Gateway</body></html>", "", "", "!has no section at all: \"<html>"},
    {"# only a comment\n\n", "", "", "!has no section at all"},
    {"global\nbackend other\n server a 1\n", "", "", "!haproxy.cfg has none of that name"},
};

static void show_servers(struct backend *b, const char *names)
{
    char *copy = mem_strdup(names), *at = copy, *name;
    while ((name = strsep(&at, " ")) != NULL) {
        if (name[0] == '\0')
            continue;
        b->servers = mem_resize(b->servers, b->server_count + 1, sizeof(*b->servers));
        b->servers[b->server_count++] =
            (struct backend_server){.name = mem_strdup(name),
                                    .address = mem_strdup("10.0.0.1"),
                                    .port = 80,
                                    .json = mem_printf("{\"name\":\"%s\",\"address\":\"10.0.0.1\",\"port\":80}", name)};
    }
    free(copy);
}

static void make_backend(struct backend *b, const char *names, const char *template)
{
    backend_init(b);
    b->name = mem_strdup("be");
    b->exists = true;
    b->version = 7;
    b->json = mem_strdup("{\"name\":\"be\",\"default_server\":{\"inter\":5000,\"rise\":2}}");
    show_servers(b, names);
    if (template[0] != '\0') {
        b->templates = mem_array(1, sizeof(*b->templates));
        b->template_count = 1;
        b->templates[0] = (struct backend_template){.prefix = mem_strdup(template), .first = 1, .last = 3};
    }
}

static void check_found(const struct backend *b, const char *file, const char *found)
{
    char *copy = mem_strdup(found), *at = copy, *one;
    size_t i = 0;
    for (; (one = strsep(&at, "|")) != NULL; i++) {
        if (one[0] == '\0')
            break;
        char *reason;
        unsigned line = (unsigned)strtoul(one, &reason, 10);
        ck_assert_msg(i < b->alien_count, "%s: \"%s\" was not found", file, one);
        ck_assert_msg(b->aliens[i].line == line && strstr(b->aliens[i].reason, reason + 2) != NULL, "%s: %u \"%s\": %s",
                      file, b->aliens[i].line, b->aliens[i].text, b->aliens[i].reason);
    }
    ck_assert_msg(b->alien_count == i, "%s: also %s", file, b->alien_count > i ? b->aliens[i].reason : "");
    free(copy);
}

START_TEST(aliens_of_a_file)
{
    struct backend b;
    struct error err = {0};
    const char *found = files[_i].found, *file = files[_i].file;
    size_t len = strlen(file);
    char *exact = mem_alloc(len);
    memcpy(exact, file, len);
    make_backend(&b, files[_i].servers, files[_i].templates);
    int status = rawcfg_find_aliens(exact, len, &b, &err);
    if (found[0] == '!') {
        ck_assert_int_eq(status, -1);
        ck_assert_int_eq(err.kind, ERROR_INVALID);
        ck_assert_msg(strstr(err.message, found + 1) != NULL, "%s", err.message);
    } else {
        ck_assert_msg(status == 0, "%s", err.message);
        check_found(&b, file, found);
        ck_assert_int_eq(rawcfg_find_aliens(exact, len, &b, &err), 0); /* again: not added to the old ones */
        check_found(&b, file, found);
    }
    free(exact);
    backend_fini(&b);
}
END_TEST

START_TEST(a_nul_is_no_configuration)
{
    struct backend b;
    struct error err = {0};
    make_backend(&b, "", "");
    ck_assert_int_eq(rawcfg_find_aliens("backend be\n\0", 12, &b, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "NUL"));
    backend_fini(&b);
}
END_TEST

START_TEST(without_an_object_of_the_backend_default_servers_are_only_read)
{
    struct backend b;
    struct error err = {0};
    const char *file = "backend be\n default-server inter 5s fall 2\n default-server shiny\n default-server\n";
    make_backend(&b, "", "");
    free(b.json);
    b.json = NULL;
    ck_assert_int_eq(rawcfg_find_aliens(file, strlen(file), &b, &err), 0);
    check_found(&b, file, "3: \"shiny\" is not known to the Data Plane API");
    free(b.json);
    b.json = mem_strdup("{\"name\":\"be\"}"); /* 3.4 leaves out a line that it cannot read, good keywords and all */
    ck_assert_int_eq(rawcfg_find_aliens(file, strlen(file), &b, &err), 0);
    check_found(&b, file,
                "2: default-server is not shown|3: default-server is not shown by the Data Plane API: \"shiny\" is not "
                "known to the Data Plane API");
    backend_fini(&b);
}
END_TEST

START_TEST(many_aliens_and_long_lines_are_capped)
{
    struct backend b;
    struct error err = {0};
    struct buf file;
    make_backend(&b, "", "");
    buf_init(&file, 0);
    buf_add(&file, "backend be\n");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&file, "  server n%d 1 \x1b[31m cookie ", i);
        for (int k = 0; k < 100; k++)
            buf_add(&file, "\xc3\xa4xxxxxxxx");
        buf_add(&file, "  \n");
    }
    ck_assert_int_eq(rawcfg_find_aliens(file.data, file.len, &b, &err), 0);
    ck_assert_uint_eq(b.alien_count, 64);
    ck_assert_uint_eq(strlen(b.aliens[0].text), 203);
    ck_assert(str_has_prefix(b.aliens[0].text, "server n0 1  [31m cookie") && str_has_suffix(b.aliens[0].text, "..."));
    backend_fini(&b);
    buf_fini(&file);
}
END_TEST

START_TEST(version_of_a_file)
{
    static const struct {
        const char *text;
        int64_t version;
    } rows[] = {{"", -1},
                {"global\n", -1},
                {"# _version=1\n", 1},
                {"# _md5hash=ab\n# _version=42\r\nglobal\n# _version=7\n", 42},
                {"# _version=0", 0},
                {"# _version=", -1},
                {"# _version=x\n", -1},
                {"# _version=-1\n", -1},
                {"# _version=99999999999999999999\n", -1},
                {"# _version=9223372036854775807\n", INT64_MAX},
                {" # _version=1\n", -1},
                {"# _version=5 \n", 5}};
    for (size_t i = 0; i < array_len(rows); i++)
        ck_assert_msg(rawcfg_version(rows[i].text, strlen(rows[i].text)) == rows[i].version, "%s", rows[i].text);
}
END_TEST

/* ---- a real file and what the real API showed of it ---- */

static yyjson_val *line_with(yyjson_doc **docs, size_t count, const char *group, const char *step)
{
    for (size_t i = 0; i < count; i++) {
        yyjson_val *root = yyjson_doc_get_root(docs[i]);
        if (yyjson_equals_str(yyjson_obj_get(root, "group"), group) &&
            yyjson_equals_str(yyjson_obj_get(root, "step"), step))
            return root;
    }
    ck_abort_msg("no step %s in group %s", step, group);
    return NULL;
}

static char *answer_of(yyjson_val *line)
{
    char *text = yyjson_val_write(yyjson_obj_get(line, "response"), 0, NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}

/* Three pairs of "what the API showed" and "the file at that time". */
static void compare_recording(yyjson_doc **docs, size_t count)
{
    struct backend b;
    struct error err = {0};
    backend_init(&b);
    /* group transactions: old was deleted after that list, n1 changed: so the file after the commit has three aliens */
    char *list = answer_of(line_with(docs, count, "transactions", "list inside"));
    const char *file =
        yyjson_get_str(yyjson_obj_get(line_with(docs, count, "transactions", "file after the commit"), "file"));
    char *backend = answer_of(line_with(docs, count, "transactions", "merged backend"));
    ck_assert_int_eq(codec_read_backend(backend, strlen(backend), &b, &err), 0);
    ck_assert_int_eq(codec_read_servers(list, strlen(list), &b, &err), 0);
    ck_assert_msg(rawcfg_find_aliens(file, strlen(file), &b, &err) == 0, "%s", err.message);
    check_found(&b, file, "28: shows the address 127.0.9.2:30444 as something else|22: shows server old");
    free(list);
    free(backend);
    backend_fini(&b);
    /* group sections: untouched, as the API shows it */
    file = yyjson_get_str(yyjson_obj_get(line_with(docs, count, "sections", "file after it"), "file"));
    list = answer_of(line_with(docs, count, "sections", "full backend"));
    yyjson_doc *full = yyjson_read(list, strlen(list), 0);
    yyjson_val *servers_by_name = yyjson_obj_get(yyjson_doc_get_root(full), "servers"), *key, *val;
    size_t i, max;
    struct buf array;
    buf_init(&array, 0);
    yyjson_obj_foreach (servers_by_name, i, max, key, val) {
        char *one = yyjson_val_write(val, 0, NULL);
        buf_printf(&array, "%s%s", i == 0 ? "[" : ",", one);
        free(one);
    }
    buf_add(&array, "]");
    ck_assert_int_eq(codec_read_backend(list, strlen(list), &b, &err), 0);
    ck_assert_int_eq(codec_read_servers(array.data, array.len, &b, &err), 0);
    ck_assert_uint_eq(b.server_count, 2);
    ck_assert_int_eq(rawcfg_find_aliens(file, strlen(file), &b, &err), 0);
    check_found(&b, file, "");
    ck_assert_int_eq(rawcfg_version(file, strlen(file)), 2);
    yyjson_doc_free(full);
    buf_fini(&array);
    free(list);
    backend_fini(&b);
}

START_TEST(recorded_files)
{
    static const char *const names[] = {"3.0.15-haproxy-2.8.jsonl", "3.4.0-haproxy-3.2.jsonl",
                                        "3.4.0-haproxy-2.6-master-socket.jsonl"};
    char *path = mem_printf("%s%s", RECORDINGS, names[_i]);
    struct buf text;
    yyjson_doc *docs[400];
    size_t count = 0;
    buf_init(&text, 0);
    if (buf_read_file(&text, path) != 0) {
        fprintf(stderr, "SKIPPED: recorded answers not found: %s\n", path);
        free(path);
        return;
    }
    char *at = text.data, *line;
    while ((line = strsep(&at, "\n")) != NULL && count < array_len(docs))
        if ((docs[count] = yyjson_read(line, strlen(line), 0)) != NULL)
            count++;
    compare_recording(docs, count);
    for (size_t i = 0; i < count; i++)
        yyjson_doc_free(docs[i]);
    free(path);
    buf_fini(&text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rawcfg");
    TCase *t = tcase_create("rawcfg");
    tcase_add_loop_test(t, words_of_a_line, 0, array_len(lines));
    tcase_add_test(t, too_many_words_are_no_line);
    tcase_add_test(t, every_keyword_is_found_by_its_name_alone);
    tcase_add_test(t, every_keyword_of_haproxy_is_known_with_its_arguments);
    tcase_add_loop_test(t, a_server_line_against_what_is_shown, 0, array_len(servers));
    tcase_add_loop_test(t, aliens_of_a_file, 0, array_len(files));
    tcase_add_test(t, a_nul_is_no_configuration);
    tcase_add_test(t, without_an_object_of_the_backend_default_servers_are_only_read);
    tcase_add_test(t, many_aliens_and_long_lines_are_capped);
    tcase_add_test(t, version_of_a_file);
    tcase_add_loop_test(t, recorded_files, 0, 3);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}

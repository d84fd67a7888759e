/* src/haproxy/siblings: what a new server line has, because those beside it have it. */
#include "haproxy/siblings.h"

#include "../test.h"
#include "base/shared_text.h"
#include "json/read.h"

static const struct {
    const char *line, *rest; /* NULL: nothing */
} lines[] = {
    {"server n1 10.0.0.1:80 check port 81 weight 5 init-addr none send-proxy-v2 disabled", NULL},
    {"server n1 10.0.0.1:80 check ssl verify none fall 3 # x", "ssl verify none fall 3"},
    {"server n1 10.0.0.1:80 sni 'str(a b)' tfo", "sni 'str(a b)' tfo"},
    /* one server's own */
    {"server n1 10.0.0.1:80 id 7 guid g cookie c track b/a backup ssl", "ssl"},
    /* what a keyword takes is none */
    {"server n1 10.0.0.1:80 sni check tfo", "sni check tfo"},
    {"server n1 10.0.0.1:80 cookie ssl tfo", "tfo"},
    /* whose argument that is is not known */
    {"server n1 10.0.0.1:80 fall 3 nobody-knows ssl", "fall 3"},
};

TEST_EACH(the_rest_of_a_line, array_len(lines))
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    cfg_line_split(&words, lines[_i].line, strlen(lines[_i].line));
    const char *rest = siblings_rest_of_line(&words);
    ck_assert_msg(str_eq(rest, lines[_i].rest), "%s: %s", lines[_i].line, rest);
    shared_text_free(rest);
}

static const struct {
    const char *object, *rest;
} objects[] = {
    {"{\"name\":\"n1\",\"address\":\"10.0.0.1\",\"port\":80,\"weight\":5,\"check\":\"enabled\"}", NULL},
    {"{\"name\":\"n1\",\"id\":\"7\",\"ssl\":\"enabled\",\"cookie\":\"c\",\"fall\":3,\"metadata\":{\"a\":1}}",
     "{\"ssl\":\"enabled\",\"fall\":3}"},
};

TEST_EACH(the_rest_of_an_object, array_len(objects))
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        json_parse(objects[_i].object, strlen(objects[_i].object), 0, "the server", &flaw);
    const char *rest = siblings_rest_of_object(yyjson_doc_get_root(doc));
    ck_assert_msg(str_eq(rest, objects[_i].rest), "%s: %s", objects[_i].object, rest);
    shared_text_free(rest);
}

static const struct {
    const char *a, *b, *common, *beyond; /* what `a` has beyond it */
} pairs[] = {
    {"ssl verify none", "ssl verify none", "ssl verify none", NULL},
    {"ssl verify none fall 3", "fall 4 ssl verify none", "ssl verify none", "fall"},
    {"fall 3", "rise 3", NULL, "fall"},
    {"source 1.1.1.1 usesrc client tfo", "source 2.2.2.2 usesrc client tfo", "tfo", "source"},
    {"source 1.1.1.1 interface eth0", "source 1.1.1.1 interface eth0 tfo", "source 1.1.1.1 interface eth0", NULL},
    {"fall 3 tfo", "fall 3", "fall 3", "tfo"},
    {"ssl", NULL, NULL, "ssl"},
    {NULL, "ssl", NULL, NULL},
    {NULL, NULL, NULL, NULL},
    {"ssl verify none fall 3 rise 2 inter 1s tfo", NULL, NULL, "ssl, verify, fall, rise, inter and 1 more"},
    {"{\"ssl\":\"enabled\",\"fall\":3}", "{\"fall\":3,\"ssl\":\"disabled\"}", "{\"fall\":3}", "ssl"},
    {"{\"fall\":3}", "{\"rise\":3}", NULL, "fall"},
    {"{\"fall\":3}", NULL, NULL, "fall"},
};

TEST_EACH(what_two_have_in_common, array_len(pairs))
{
    const char *common = siblings_common(pairs[_i].a, pairs[_i].b);
    cleanup(mem_free_ptr) char *beyond = siblings_beyond(pairs[_i].a, common);
    ck_assert_msg(str_eq(common, pairs[_i].common), "%s, %s: %s", pairs[_i].a, pairs[_i].b, common);
    ck_assert_msg(str_eq(beyond, pairs[_i].beyond), "%s, %s: beyond %s", pairs[_i].a, pairs[_i].b, beyond);
    shared_text_free(common);
}

static const struct {
    const char *rest, *words; /* NULL: refused */
} printed[] = {
    {"ssl verify none fall 3", " ssl verify none fall 3"},
    {"{\"ssl\":\"enabled\",\"verify\":\"none\",\"fall\":3,\"inter\":5000}", " ssl verify none fall 3 inter 5000"},
    {"{\"tls_tickets\":\"disabled\",\"allow_0rtt\":true}", " no-tls-tickets allow-0rtt"},
    {"{\"proxy-v2-options\":[\"ssl\",\"crc32c\"]}", " proxy-v2-options ssl,crc32c"},
    {"{\"sni\":\"str(a b)\"}", NULL},
    {"{\"source\":\"10.0.0.1\"}", NULL},
    {"{\"check-send-proxy\":\"perhaps\"}", NULL},
    {"{\"what\":\"enabled\"}", NULL},
};

TEST_EACH(what_they_have_as_words_of_a_line, array_len(printed))
{
    cleanup(buf_fini) struct buf out = {0};
    struct error err = {0};
    int status = siblings_print(printed[_i].rest, &out, &err);
    ck_assert_int_eq(status, printed[_i].words != NULL ? 0 : -1);
    if (status == 0)
        ck_assert_str_eq(buf_str(&out), printed[_i].words);
}

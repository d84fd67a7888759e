/* src/configuration/promised: which listeners and backends a haproxy.cfg has, for sure. */
#include "configuration/promised.h"

#include "haproxy/cfg/file.h"

#include "../test.h"

static const struct {
    const char *text, *listeners, *backends; /* with a comma behind each */
} rows[] = {
    {"", "", ""},
    {"frontend a\n  bind :80\n", "a,", ""},
    {"frontend a\n\tbind\t:80\n", "a,", ""},
    {"frontend a\n  default_backend b\n", "", ""}, /* HAProxy warns */
    {"frontend a\n  binder x\n", "", ""},
    {"listen a\n  bind :80\n  server s 10.0.0.1:80\n", "a,", "a,"},
    {"listen a\n  server s 10.0.0.1:80\n", "", "a,"},
    {"backend b\n  server s 10.0.0.1:80\n", "", "b,"},
    {"backend b\n  server-template s 3 10.0.0.1:80\n", "", "b,"},
    {"backend b\n  bind :80\n", "", ""},
    {"backend b\n", "", ""},
    {"peers p\n  bind :80\n  server s 10.0.0.1:80\n", "", ""},
    /* on purpose */
    {"backend b\n  server s 10.0.0.1:80 disabled\n", "", ""},
    {"backend b\n  server s 10.0.0.1:80 check weight 0\n", "", ""},
    {"backend b\n  server s 10.0.0.1:80 disabled\n  server t 10.0.0.1:80 weight 10\n", "", "b,"},
    {"backend b\n  disabled\n  server s 10.0.0.1:80\n", "", ""},
    {"frontend a\n  bind :80\n  disabled\n", "", ""},
    {"frontend a\n  disabled\n  bind :80\n  enabled\n", "a,", ""},
    {"defaults\n  disabled\nfrontend a\n  bind :80\n", "", ""},
    {"defaults\n  disabled\nfrontend a\n  bind :80\n  enabled\n", "a,", ""},
    {"defaults x\n  disabled\ndefaults y\nfrontend a from x\n  bind :80\nfrontend b\n  bind :81\n", "b,", ""},
    /* nobody knows */
    {".if defined(X)\nfrontend a\n  bind :80\n.endif\nfrontend b\n  bind :81\n", "b,", ""},
    {".if defined(X)\n.if defined(Y)\n.endif\nfrontend a\n  bind :80\n.endif\n", "", ""},
    {"frontend \"$A\"\n  bind :80\n", "", ""},
    {".endif\nfrontend a\n  bind :80\n", "a,", ""},
};

static void names(const struct promised_names *n, struct buf *out)
{
    for (size_t i = 0; i < n->count; i++)
        buf_printf(out, "%s,", n->list[i]);
}

TEST_EACH(it_is, array_len(rows))
{
    struct cfg_file f;
    struct promised p;
    cleanup(buf_fini) struct buf listeners = {0}, backends = {0};
    cfg_file_parse(&f, rows[_i].text, strlen(rows[_i].text));
    promised_init(&p, &f);
    names(&p.listeners, &listeners);
    names(&p.backends, &backends);
    ck_assert_str_eq(buf_str(&listeners), rows[_i].listeners);
    ck_assert_str_eq(buf_str(&backends), rows[_i].backends);
    promised_fini(&p);
    cfg_file_fini(&f);
}

TEST(there_may_be_many)
{
    struct cfg_file f;
    struct promised p;
    cleanup(buf_fini) struct buf text = {0};
    for (unsigned i = 0; i < 100; i++)
        buf_printf(&text, "listen l%u\n  bind :%u\n  server s 10.0.0.1:80\n", i, 1000 + i);
    cfg_file_parse(&f, buf_str(&text), text.len);
    promised_init(&p, &f);
    ck_assert_uint_eq(p.listeners.count, 100);
    ck_assert_uint_eq(p.backends.count, 100);
    promised_fini(&p);
    cfg_file_fini(&f);
}

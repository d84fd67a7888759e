#include "settings/url.h"

#include "../settings_text.h"

/* The variables' credentials are each one's own, so that each reads their files again by itself. */
TEST(each_has_the_credentials_of_the_variables)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "HAPROXY_DATAPLANE_URL=http://a:1,http://b:1");
    assert_silent(&p);
    const struct settings_dataplane *a = &p.settings.dataplanes[0], *b = &p.settings.dataplanes[1];
    ck_assert_str_eq(a->username.value, "u");
    ck_assert_str_eq(b->password.value, "p");
    ck_assert_ptr_ne(a->password.value, b->password.value);
    ck_assert(!secret_is_set(&b->token));
    cleanup(mem_free_ptr) char *text = printed(&p.settings);
    ck_assert_ptr_nonnull(strstr(text,
                                 "# HAProxy http://a:1: user name u, password *** by HAPROXY_DATAPLANE_USERNAME and "
                                 "_PASSWORD\n# HAProxy http://b:1: user name u, password *** by "));
}

/* A password that leaves the machine unencrypted, by which of the URLs. */
TEST_EACH(a_password_over_http_is_a_warning, 10)
{
    static const struct {
        const char *url;
        size_t warnings;
    } rows[] = {
        {"HAPROXY_DATAPLANE_URL=http://lb:1", 1},
        {"HAPROXY_DATAPLANE_URL=http://10.0.0.1:1,https://b:1,http://c:1", 2},
        {"HAPROXY_DATAPLANE_URL=http://localhost.example.com:1", 1},
        {"HAPROXY_DATAPLANE_URL=http://127.example.com:1", 1},
        {"HAPROXY_DATAPLANE_URL=http://[::2]:1", 1},
        {"HAPROXY_DATAPLANE_URL=http://128.0.0.1:1", 1},
        {"HAPROXY_DATAPLANE_URL=http://127.1.2.3:1,http://LocalHost:1,http://[::1]:1", 0},
        {"HAPROXY_DATAPLANE_URL=https://lb:1,unix:/run/api.sock", 0},
        {"", 1}, /* the default URL */
        {"CONFIG_TARGET=etcd", 1},
    };
    bool etcd = str_eq(rows[_i].url, "CONFIG_TARGET=etcd");
    cleanup(parsed_fini) struct parsed p =
        etcd ? parse("CONFIG_TARGET=etcd", "CONFIG_SOURCE=file", "CONFIG_FILE=/f", "ETCD_USER=u", "ETCD_PASSWORD=p",
                     "ETCD_ENDPOINTS=http://e:1,https://f:1,http://127.0.0.1:1")
             : parse(LOGIN, rows[_i].url);
    ck_assert_int_eq(p.rc, 0);
    ck_assert_uint_eq(p.plain, rows[_i].warnings);
    cleanup(parsed_fini) struct parsed token = parse("HAPROXY_DATAPLANE_TOKEN=t", etcd ? "" : rows[_i].url);
    ck_assert_uint_eq(token.plain, rows[_i].warnings);
    cleanup(parsed_fini) struct parsed without =
        etcd ? parse("CONFIG_TARGET=etcd", "CONFIG_SOURCE=file", "CONFIG_FILE=/f", "ETCD_ENDPOINTS=http://e:1")
             : parse(rows[_i].url, "DRY_RUN=true");
    ck_assert_uint_eq(without.plain, 0);
}

TEST(all_wrong_entries_are_reported_and_the_text_stays_short)
{
    struct buf entry = {0};
    buf_add(&entry, "HAPROXY_DATAPLANE_URL=");
    for (int i = 0; i < 16; i++)
        buf_printf(&entry, "%0300d,", i);
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, entry.data);
    ck_assert_uint_eq(p.report.error_count, 1);
    assert_says(&p, "; entry 1, \"000");
    assert_says(&p, "; entry 16, \"000");
    ck_assert_uint_lt(strlen(p.report.list[0].text), 5000);
    buf_fini(&entry);
}

/* Where anything looks as if it were secret, entries are named by number only: a ',' may have cut a password in two. */
TEST(entries_are_not_shown_beside_a_password)
{
    cleanup(parsed_fini) struct parsed p = parse(LOGIN, "HAPROXY_DATAPLANE_URL=http://admin:x,hunter2,http://@b:1");
    assert_says(&p, "; entry 1: its port is not a number from 1 to 65535; entry 2: it does not begin with a scheme");
    assert_says(&p, "or into the file of HAPROXY_DATAPLANE_CREDENTIALS_FILE");
    assert_does_not_say(&p, "hunter2");
    /* That a path holds one is no reason to speak of user names. */
    cleanup(parsed_fini) struct parsed q = parse(LOGIN, "HAPROXY_DATAPLANE_URL=unix:/run/a@b,http://b");
    assert_says(&q, "; entry 2: its port is missing");
    assert_does_not_say(&q, "HAPROXY_DATAPLANE_USERNAME");
    cleanup(parsed_fini) struct parsed r = parse(LOGIN, "HAPROXY_DATAPLANE_URL=unix:run/a@b,http://b:1");
    assert_says(&r, "; entry 1: the path of a unix socket begins with '/'");
    assert_does_not_say(&r, "HAPROXY_DATAPLANE_USERNAME");
}

TEST(which_are_the_same)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"http://a:1", "http://a:1", true},     {"http://a:1", "http://A:1", true},
        {"http://a:1/x", "http://A:1/x", true}, {"http://a:1/x", "http://a:1/X", false},
        {"http://a:1", "http://a:1/x", false},  {"http://a:1/x", "http://a:1", false},
        {"http://a:1", "https://a:1", false},   {"http://a:1", "http://a:11", false},
        {"http://a:11", "http://a:1", false},   {"unix:/a", "unix:/a", true},
        {"unix:/a", "unix:/A", false},          {"unix:/a", "http://a:1", false},
        {"unix:/h://a", "unix:/H://a", false},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        ck_assert_msg(dataplane_url_same(rows[i].a, rows[i].b) == rows[i].same, "%s %s", rows[i].a, rows[i].b);
        ck_assert_msg(dataplane_url_same(rows[i].b, rows[i].a) == rows[i].same, "%s %s", rows[i].b, rows[i].a);
    }
}

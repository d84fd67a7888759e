#include "settings/url.h"

#include "../test.h"

/* url NULL: refused, and why holds a part of the reason. */
static const struct {
    const char *text;
    unsigned rules;
    const char *url, *why;
} rows[] = {
    {"https://h", URL_PLAIN, "https://h", NULL},
    {"https://h:6443/k8s/clusters/c-1///", URL_PLAIN, "https://h:6443/k8s/clusters/c-1", NULL},
    {"HTTP://h:80", URL_PLAIN, "http://h:80", NULL},
    {"https://[fe80::1%25eth0]:6443", URL_PLAIN, "https://[fe80::1%25eth0]:6443", NULL},
    {"https://h_1.local:1", URL_NEED_PORT, "https://h_1.local:1", NULL},
    {"https://h", URL_NEED_PORT, NULL, "port is missing"},
    {"https://h:0", URL_PLAIN, NULL, "from 1 to 65535"},
    {"https://h:1x", URL_PLAIN, NULL, "from 1 to 65535"},
    {"", URL_PLAIN, NULL, "scheme"},
    {"https:h:1", URL_PLAIN, NULL, "scheme"},
    {"https://", URL_PLAIN, NULL, "host is missing"},
    {"://h", URL_PLAIN, NULL, ""},
    {"https://h\"x", URL_PLAIN, NULL, "missing or invalid"},
    {"https://[::zz]:1", URL_PLAIN, NULL, "not an IPv6"},
    {"https://h\t", URL_PLAIN, NULL, "space"},
    {"https://h\n.evil", URL_PLAIN, NULL, "control character"},
    {"https://\xc3\xa4", URL_PLAIN, NULL, "ASCII"},
    {"https://h?", URL_PLAIN, NULL, "query"},
    {"https://u@h", URL_PLAIN, NULL, "user name"},
    {"ftp://h", URL_PLAIN, NULL, "neither http nor https"},
    {"socks5://h:1", URL_PLAIN, NULL, "neither http nor https"},
    {"socks5://h:1", URL_PROXY, "socks5://h:1", NULL},
    {"socks5h://h:1/", URL_PROXY, "socks5h://h:1", NULL},
    {"http://u:p@h:1/", URL_PROXY, "http://u:p@h:1", NULL},
    {"http://h:1/x", URL_PROXY, NULL, "no path"},
    {"ftp://h:1", URL_PROXY, NULL, "socks5h"},
};

TEST_EACH(urls_are_checked, array_len(rows))
{
    char *url = NULL;
    const char *why = NULL;
    int rc = url_check(rows[_i].text, rows[_i].rules, &url, &why);
    if (rows[_i].url == NULL) {
        ck_assert_msg(rc == -1 && url == NULL, "%s was taken", rows[_i].text);
        ck_assert_msg(strstr(why, rows[_i].why) != NULL, "%s: %s", rows[_i].text, why);
    } else {
        ck_assert_msg(rc == 0, "%s: %s", rows[_i].text, rc == 0 ? "" : why);
        ck_assert_str_eq(url, rows[_i].url);
    }
    free(url);
}

TEST(which_hosts_are_this_machine)
{
    static const char *const local[] = {"http://127.0.0.1", "http://127.255.0.9:1/x", "https://localhost:1",
                                        "http://[::1]:1", "http://[0:0::1]"};
    static const char *const others[] = {"http://127.0.0.1.example.com", "http://localhost.", "http://[::]:1",
                                         "http://0.0.0.0", "http://127"};
    for (size_t i = 0; i < array_len(local); i++)
        ck_assert_msg(url_is_local(local[i]), "%s", local[i]);
    for (size_t i = 0; i < array_len(others); i++)
        ck_assert_msg(!url_is_local(others[i]), "%s", others[i]);
}

TEST(what_may_be_secret_is_masked)
{
    static const char *const pairs[][2] = {
        {"http://u:p@h:1/x", "http://***@h:1/x"},
        {"http://u:p@q/r?s#t@h:1", "http://***@h:1"},
        {"u:p@h", "***@h"},
        {"u:p@http://h", "***@http://h"},
        {"http://h/?token=x", "http://h/?***"},
        {"http://h/#x", "http://h/#***"},
        {"http://u@h?x", "http://***@h?***"},
        {"@", "***@"},
    };
    for (size_t i = 0; i < array_len(pairs); i++) {
        cleanup(mem_free_ptr) char *masked = url_masked(pairs[i][0]);
        ck_assert_str_eq(masked, pairs[i][1]);
    }
}

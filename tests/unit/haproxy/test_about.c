/* haproxy/dataplane/about: what a Data Plane API says about itself, in the shapes that real ones have, and in bad ones. */
#include "haproxy/dataplane/about.h"

#include "../test.h"

static int read_api(const char *json, char **ret)
{
    *ret = NULL;
    return about_read_api(json, strlen(json), ret, &flaw);
}

TEST(the_api)
{
    static const struct {
        const char *json, *version;
    } good[] = {
        {"{\"api\":{\"build_date\":\"0001-01-01T00:00:00.000Z\",\"version\":\"v3.4.0 679db0ea.dirty\"},\"system\":{}}",
         "3.4.0"},
        {"{\"api\":{\"version\":\"2.9.1\"}}", "2.9.1"},
        {"{\"api\":{\"version\":\" dev.dirty\"}}", NULL},
        {"{\"api\":{\"version\":\"\"}}", NULL},
        {"{\"api\":{}}", NULL},
        {"{\"api\":{\"version\":7}}", NULL},
    };
    static const char *const bad[] = {"", "<html>", "[]", "{}", "{\"api\":\"3\"}"};
    char *version;
    for (size_t i = 0; i < array_len(good); i++) {
        ck_assert_int_eq(read_api(good[i].json, &version), 0);
        ck_assert_msg(str_eq(version, good[i].version), "%s: %s", good[i].json, version);
        free(version);
    }
    for (size_t i = 0; i < array_len(bad); i++)
        ck_assert_int_eq(read_api(bad[i], &version), -1);
}

static struct about_haproxy read_haproxy(const char *json)
{
    struct about_haproxy a = {0};
    ck_assert_msg(about_read_haproxy(json, strlen(json), &a, &flaw) == 0, "%s", flaw.message);
    return a;
}

TEST(the_running_one)
{
    struct about_haproxy a =
        read_haproxy("{\"info\":{\"pid\":77,\"uptime\":5,\"version\":\"2.8.25\"},\"runtimeAPI\":\"/run/h.sock\"}");
    ck_assert_str_eq(a.version, "2.8.25");
    ck_assert_str_eq(a.socket, "/run/h.sock");
    ck_assert_ptr_null(a.problem);
    ck_assert_int_eq(a.pid, 77);
    about_haproxy_fini(&a);
    a = read_haproxy("{\"error\":\"dial unix /run/h.sock: no such file\",\"runtimeAPI\":\"/run/h.sock\"}");
    ck_assert_str_eq(a.problem, "dial unix /run/h.sock: no such file");
    ck_assert_ptr_null(a.version);
    ck_assert_int_eq(a.pid, -1);
    about_haproxy_fini(&a);
    a = read_haproxy("{}");
    ck_assert_ptr_nonnull(a.problem);
    about_haproxy_fini(&a);
    ck_assert_int_eq(about_read_haproxy("[]", 2, &a, &flaw), -1);
}

TEST(the_global_section)
{
    static const struct {
        const char *json;
        struct about_global wanted;
    } rows[] = {
        {"{\"runtime_apis\":[{\"address\":\"/a\",\"level\":\"admin\"}]}", {.sockets = 1, .admin_socket = true}},
        {"{\"runtime_apis\":[{\"address\":\"/a\",\"level\":\"user\"},{\"address\":\"/b\"}]}", {.sockets = 2}},
        {"{\"master-worker\":true}", {.master_worker = true}},
        {"{\"master-worker\":\"yes\",\"runtime_apis\":7}", {0}},
        {"{}", {0}},
    };
    struct about_global g;
    for (size_t i = 0; i < array_len(rows); i++) {
        ck_assert_int_eq(about_read_global(rows[i].json, strlen(rows[i].json), &g, &flaw), 0);
        ck_assert_msg(g.master_worker == rows[i].wanted.master_worker && g.sockets == rows[i].wanted.sockets &&
                          g.admin_socket == rows[i].wanted.admin_socket,
                      "%s", rows[i].json);
    }
    ck_assert_int_eq(about_read_global("null", 4, &g, &flaw), -1);
}

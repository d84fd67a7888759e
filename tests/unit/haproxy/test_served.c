/* haproxy/served, and where it comes from: `show stat` as HAProxy 2.6.12 and 3.4.0 answer it, and the Data Plane API's
 * statistics as 3.0.15 and 3.4.0 do. */
#include "haproxy/served.h"

#include "haproxy/dataplane/codec.h"
#include "haproxy/local/cli_stat.h"

#include "../test.h"

#define HEAD "# pxname,svname,qcur,status,weight,act,bck,chkfail,type,rate,\n"

TEST(proxies_are_found_by_name)
{
    cleanup(served_fini) struct served s = {.answers = true}, copy = {.pid = 7};
    static const char *const added[] = {"b", "z", "a", "m"};
    for (size_t i = 0; i < array_len(added); i++)
        served_add_backend(&s, added[i], (unsigned)i);
    served_add_frontend(&s, "f", true);
    served_sort(&s);
    for (size_t i = 0; i < array_len(added); i++)
        ck_assert_uint_eq(served_up(&s, added[i]), i);
    ck_assert_uint_eq(served_up(&s, "none"), 0);
    ck_assert_ptr_null(served_find(&s.frontends, "g"));
    s.pid = 8;
    s.lists = true;
    served_add_frontend(&copy, "old", true);
    served_copy(&copy, &s);
    ck_assert_int_eq(copy.pid, 8);
    ck_assert(copy.answers && copy.lists && served_find(&copy.frontends, "f")->open);
    ck_assert_uint_eq(copy.frontends.count, 1);
    ck_assert_uint_eq(served_up(&copy, "m"), 3);
}

TEST(of_show_stat)
{
    struct served s = {.answers = true};
    ck_assert_int_eq(cli_stat_read(&s,
                                   HEAD "web,FRONTEND,,OPEN,,,,,0,0,\n"
                                        "off,FRONTEND,,STOP,,,,,0,0,\n"
                                        "l,FRONTEND,,PAUSED,,,,,0,0,\n"
                                        "l,BACKEND,0,UP,3,2,1,,1,0,\n"
                                        "be,s1,0,no check,1,1,0,,2,0,\n"
                                        "be,BACKEND,0,DOWN,0,0,0,,1,0,\n\n",
                                   &flaw),
                     0);
    ck_assert(s.lists);
    ck_assert_uint_eq(s.frontends.count, 3);
    ck_assert(served_find(&s.frontends, "web")->open);
    ck_assert(!served_find(&s.frontends, "off")->open && !served_find(&s.frontends, "l")->open);
    ck_assert_uint_eq(s.backends.count, 2);
    ck_assert_uint_eq(served_up(&s, "l"), 3);
    ck_assert_uint_eq(served_up(&s, "be"), 0);
    served_fini(&s);
    ck_assert_int_eq(cli_stat_read(&s, HEAD "\n", &flaw), 0);
    ck_assert(s.lists);
    served_fini(&s);
}

#define WITH_CHECKS "# pxname,svname,status,act,bck,check_status,last_chk,\n"

static void failure_is(const struct served *s, const char *server, const char *check, const char *detail)
{
    const struct served_failure *f = served_failure_of(s, "be", server);
    ck_assert_ptr_nonnull(f);
    ck_assert_str_eq(f->check, check);
    ck_assert_str_eq(f->detail, detail);
}

TEST(of_show_stat_with_servers)
{
    cleanup(served_fini) struct served s = {.answers = true}, copy = {0};
    ck_assert_int_eq(cli_stat_read(&s,
                                   WITH_CHECKS "be,up,UP,1,0,L4OK,,\n"
                                               "be,refused,DOWN,0,1,* L4CON,\"Connection refused, \"\"twice\"\"\",\n"
                                               "be,late,DOWN 1/2,0,1,L4TOUT,,\n"
                                               "be,off,MAINT,0,1,,,\n"
                                               "other,late,DOWN,0,1,L7STS,404,\n"
                                               "be,BACKEND,UP,1,0,,,\n",
                                   &flaw),
                     0);
    ck_assert_uint_eq(s.failures.count, 3);
    failure_is(&s, "refused", "L4CON", "Connection refused, \"twice\"");
    failure_is(&s, "late", "L4TOUT", "");
    ck_assert_str_eq(served_failure_of(&s, "other", "late")->check, "L7STS");
    ck_assert_ptr_null(served_failure_of(&s, "be", "up"));
    ck_assert_ptr_null(served_failure_of(&s, "be", "off"));
    served_copy(&copy, &s);
    failure_is(&copy, "refused", "L4CON", "Connection refused, \"twice\"");
}

TEST(of_show_stat_that_is_none)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "Unknown command: 'show stat', but maybe one of the following ones\n",
                                      "# pxname,svname,status,act\nweb,FRONTEND,OPEN,\n",
                                      HEAD "web,FRONTEND\n",
                                      HEAD "be,BACKEND,0,UP,3,x,1,,1,0,\n",
                                      HEAD "be,BACKEND,0,UP,3,1,-1,,1,0,\n"};
    for (size_t i = 0; i < array_len(bad); i++) {
        struct served s = {.answers = true};
        ck_assert_msg(cli_stat_read(&s, bad[i], &flaw) == -1, "%s", bad[i]);
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
        served_fini(&s);
    }
}

#define FRONTENDS                                                                                                     \
    "{\"runtimeAPI\":\"/s\",\"stats\":[{\"name\":\"web\",\"stats\":{\"status\":\"OPEN\",\"mode\":\"http\"},\"type\":" \
    "\"frontend\"},{\"name\":\"off\",\"stats\":{\"status\":\"STOP\"},\"type\":\"frontend\"}]}"

static int read_json(struct served *s, const char *json, bool backends, struct error *err)
{
    enum codec_served of = backends ? CODEC_SERVED_BACKENDS : CODEC_SERVED_FRONTENDS;
    int status = codec_read_served(json, strlen(json), of, s, err);
    served_sort(s);
    return status;
}

TEST(of_an_api)
{
    static const char *const lists[] = {FRONTENDS, "[" FRONTENDS "]"};
    for (size_t i = 0; i < array_len(lists); i++) {
        struct served s = {0};
        ck_assert_int_eq(read_json(&s, lists[i], false, &flaw), 0);
        ck_assert_int_eq(read_json(&s,
                                   "{\"stats\":[{\"name\":\"b\",\"stats\":{\"act\":2,\"bck\":1,\"status\":\"UP\"}},"
                                   "{\"name\":\"none\",\"stats\":{\"status\":\"DOWN\"}}]}",
                                   true, &flaw),
                         0);
        ck_assert(s.lists && served_find(&s.frontends, "web")->open && !served_find(&s.frontends, "off")->open);
        ck_assert_uint_eq(served_up(&s, "b"), 3);
        ck_assert_uint_eq(served_up(&s, "none"), 0);
        served_fini(&s);
    }
}

TEST(of_an_api_with_servers)
{
    static const char json[] =
        "{\"stats\":[{\"name\":\"n1\",\"backend_name\":\"be\",\"stats\":{\"status\":\"DOWN\",\"check_status\":\"* "
        "L4TOUT\"}},"
        "{\"name\":\"n2\",\"backend_name\":\"be\",\"stats\":{\"status\":\"DOWN\",\"check_status\":\"L4CON\",\"last_"
        "chk\":\"no\"}},"
        "{\"name\":\"n3\",\"backend_name\":\"be\",\"stats\":{\"status\":\"UP\",\"check_status\":\"L4OK\"}}]}";
    struct served s = {0};
    ck_assert_int_eq(codec_read_served(json, strlen(json), CODEC_SERVED_SERVERS, &s, &flaw), 0);
    ck_assert_uint_eq(s.failures.count, 2);
    failure_is(&s, "n1", "L4TOUT", "");
    failure_is(&s, "n2", "L4CON", "no");
    served_fini(&s);
    static const char bad[] = "{\"stats\":[{\"name\":\"n1\",\"stats\":{\"status\":\"DOWN\"}}]}";
    ck_assert_int_eq(codec_read_served(bad, strlen(bad), CODEC_SERVED_SERVERS, &s, &flaw), -1);
    served_fini(&s);
}

/* It cannot read what HAProxy 2.6 says through its master socket: there is no list then. */
TEST(of_an_api_that_cannot_read_it)
{
    cleanup(served_fini) struct served s = {0};
    ck_assert_int_eq(read_json(&s, "{\"runtimeAPI\":\"/m@1\"}", false, &flaw), 0);
    ck_assert_int_eq(read_json(&s, "{\"runtimeAPI\":\"/m@1\"}", true, &flaw), 0);
    ck_assert(!s.lists);
    ck_assert_int_eq(read_json(&s, "{\"runtimeAPI\":\"/m\",\"stats\":[]}", true, &flaw), 0);
    ck_assert(s.lists);
}

TEST(of_an_api_that_says_none)
{
    static const struct {
        const char *json;
        enum error_kind kind;
    } bad[] = {{"", ERROR_INVALID},
               {"7", ERROR_INVALID},
               {"[7]", ERROR_INVALID},
               {"{\"error\":\"dial unix /s: connect: connection refused\"}", ERROR_RETRY},
               {"[{\"error\":\"refused\",\"stats\":null}]", ERROR_RETRY},
               {"{\"stats\":{}}", ERROR_INVALID},
               {"{\"stats\":[{\"stats\":{}}]}", ERROR_INVALID},
               {"{\"stats\":[{\"name\":\"b\"}]}", ERROR_INVALID},
               {"{\"stats\":[{\"name\":\"b\",\"stats\":{\"act\":\"1\"}}]}", ERROR_INVALID},
               {"{\"stats\":[{\"name\":\"b\",\"stats\":{\"act\":-1}}]}", ERROR_INVALID}};
    for (size_t i = 0; i < array_len(bad); i++) {
        struct served s = {0};
        ck_assert_msg(read_json(&s, bad[i].json, true, &flaw) == -1, "%s", bad[i].json);
        ck_assert_int_eq(flaw.kind, bad[i].kind);
        served_fini(&s);
    }
}

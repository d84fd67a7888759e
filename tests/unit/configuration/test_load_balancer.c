/* src/configuration/load_balancer: how a load balancer says in etcd that it stands. */

#include "configuration/load_balancer.h"

#include "../test.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST_EACH(what_is_said_comes_back, 3)
{
    static const struct {
        uint64_t version;
        const char *sha256, *reason;
        size_t haproxies;
    } said[] = {{7, HASH, "", 1}, {0, "", "no key: \"x\"\\ and tab\\t", 0}, {INT64_MAX, HASH, "it is away", 64}};
    for (int state = 0; state < LOAD_BALANCER_STATES; state++) {
        cleanup(load_balancer_fini) struct load_balancer l = {.state = (enum load_balancer_state)state};
        cleanup(load_balancer_fini) struct load_balancer back = {0};
        cleanup(buf_fini) struct buf json = {0}, again = {0};
        l.name = mem_strdup("lb-1");
        l.version = said[_i].version;
        memcpy(l.sha256, said[_i].sha256, strlen(said[_i].sha256) + 1);
        l.reason = mem_strdup(said[_i].reason);
        l.accepted = state == LOAD_BALANCER_BEHIND;
        l.refused = mem_printf("%s!", said[_i].reason);
        l.since_ms = 1764237600123;
        l.haproxies = mem_array(said[_i].haproxies, sizeof(l.haproxies[0]));
        while (l.haproxy_count < said[_i].haproxies) {
            l.haproxies[l.haproxy_count] = mem_printf("/etc/%zu.cfg", l.haproxy_count);
            l.haproxy_count++;
        }
        load_balancer_print(&l, &json);
        ck_assert_msg(load_balancer_parse(json.data, json.len, &back, &flaw) == 0, "%s", flaw.message);
        ck_assert_str_eq(back.name, l.name);
        ck_assert_uint_eq(back.version, l.version);
        ck_assert_str_eq(back.sha256, l.sha256);
        ck_assert_int_eq((int)back.state, state);
        ck_assert_str_eq(back.reason, l.reason);
        ck_assert_int_eq(back.accepted, l.accepted);
        ck_assert_str_eq(back.refused, l.refused);
        ck_assert_int_eq(back.since_ms, l.since_ms);
        ck_assert_uint_eq(back.haproxy_count, l.haproxy_count);
        load_balancer_print(&back, &again);
        ck_assert_str_eq(buf_str(&json), buf_str(&again));
    }
}

/* As docs/etcd.md shows it; what is absent is empty. */
TEST(json_of_others)
{
    static const char full[] =
        "{\"name\":\"lb-1\",\"version\":7,\"sha256\":\"" HASH "\",\"state\":\"failed\","
        "\"reason\":\"why\",\"haproxies\":[\"/a\",\"/b\"],\"since\":\"2026-11-27T10:00:00.000Z\"}";
    cleanup(load_balancer_fini) struct load_balancer l = {0}, least = {0};
    ck_assert_int_eq(load_balancer_parse(full, strlen(full), &l, &flaw), 0);
    ck_assert_str_eq(l.haproxies[1], "/b");
    ck_assert_int_eq(l.since_ms, 1795773600000);
    ck_assert_str_eq(load_balancer_state_name(l.state), "failed");
    ck_assert_int_eq(load_balancer_parse("{\"state\":\"behind\"}", 18, &least, &flaw), 0);
    ck_assert_str_eq(least.name, "");
    ck_assert_str_eq(least.sha256, "");
    ck_assert_str_eq(least.reason, "");
    ck_assert_str_eq(least.refused, "");
    ck_assert(!least.accepted);
    ck_assert_uint_eq(least.version, 0);
    ck_assert_uint_eq(least.haproxy_count, 0);
    ck_assert_int_eq(least.since_ms, 0);
}

static const struct {
    const char *json, *why;
} bad[] = {
    {"", "JSON"},
    {"[]", "it"},
    {"{}", "\"state\""},
    {"{\"state\":\"well\"}", "state"},
    {"{\"state\":1}", "state"},
    {"{\"state\":\"failed\",\"version\":-1}", "version"},
    {"{\"state\":\"failed\",\"version\":\"7\"}", "version"},
    {"{\"state\":\"failed\",\"sha256\":\"" HASH "0\"}", "sha256"},
    {"{\"state\":\"failed\",\"reason\":[]}", "reason"},
    {"{\"state\":\"failed\",\"refused\":1}", "refused"},
    {"{\"state\":\"failed\",\"accepted\":1}", "accepted"},
    {"{\"state\":\"failed\",\"haproxies\":{}}", "haproxies"},
    {"{\"state\":\"failed\",\"haproxies\":[{}]}", "a HAProxy"},
    {"{\"state\":\"failed\",\"since\":\"yesterday\"}", "since"},
};

TEST_EACH(what_is_none, array_len(bad))
{
    struct load_balancer l = {0};
    ck_assert_int_eq(load_balancer_parse(bad[_i].json, strlen(bad[_i].json), &l, &flaw), -1);
    ck_assert_int_eq((int)flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, bad[_i].why) != NULL, "%s: %s", bad[_i].json, flaw.message);
    ck_assert_ptr_null(l.name);
}

TEST(too_many_haproxies)
{
    cleanup(buf_fini) struct buf json = {0};
    struct load_balancer l = {0};
    buf_add(&json, "{\"state\":\"failed\",\"haproxies\":[\"a\"");
    for (int i = 0; i < 64; i++)
        buf_add(&json, ",\"a\"");
    buf_add(&json, "]}");
    ck_assert_int_eq(load_balancer_parse(json.data, json.len, &l, &flaw), -1);
    ck_assert_msg(strstr(flaw.message, "65 entries") != NULL, "%s", flaw.message);
}

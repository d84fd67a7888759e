/* src/serve/server, web_page: the status page and its JSON; net/digest, by which the page's policy knows its script. */

#include "net/digest.h"

#include "status_streams.h"

static void expect_hash(const char *policy, const char *directive, const char *page, const char *tag)
{
    cleanup(mem_free_ptr) char *open = mem_printf("<%s>", tag), *close = mem_printf("</%s>", tag);
    const char *from = strstr(page, open) + strlen(open), *to = strstr(from, close);
    char hash[DIGEST_SHA256_TEXT_BYTES];
    digest_sha256(from, (size_t)(to - from), hash);
    cleanup(mem_free_ptr) char *wanted = mem_printf("%s 'sha256-%s';", directive, hash);
    ck_assert_msg(strstr(policy, wanted) != NULL, "%s, not %s", policy, wanted);
    ck_assert_msg(strstr(to, open) == NULL, "a second <%s> would not run", tag);
}

FIXTURE(setup, fixture_end)

TEST(the_page_and_its_policy)
{
    cleanup(mem_free_ptr) char *answer = get("/");
    expect(answer, "200", "text/html; charset=utf-8", NULL);
    const char *page = body_of(answer);
    ck_assert(str_has_prefix(page, "<!doctype html>"));
    ck_assert_uint_gt(strlen(page), 1000);
    ck_assert_uint_le(strlen(page), 68 * 1024);
    ck_assert_pstr_eq(header(answer, "X-Frame-Options"), "DENY");
    ck_assert_pstr_eq(header(answer, "X-Content-Type-Options"), "nosniff");
    ck_assert_pstr_eq(header(answer, "Referrer-Policy"), "no-referrer");
    cleanup(mem_free_ptr) char *policy = mem_strdup(strstr(answer, "\r\nContent-Security-Policy: "));
    ck_assert_ptr_nonnull(policy);
    policy[strcspn(policy + 2, "\r") + 2] = '\0';
    expect_hash(policy, "style-src", page, "style");
    expect_hash(policy, "script-src", page, "script");
    static const char *const wanted[] = {"default-src 'none';", "connect-src 'self';", "frame-ancestors 'none';",
                                         "base-uri 'none';",    "form-action 'none';", "require-trusted-types-for"};
    for (size_t i = 0; i < array_len(wanted); i++)
        ck_assert_msg(strstr(policy, wanted[i]) != NULL, "%s: %s", wanted[i], policy);
    ck_assert_ptr_null(strstr(policy, "unsafe"));
}

/* What would get others' text into the page as markup, or the page's policy in its way. */
TEST(the_page_has_no_markup_by_script_and_nothing_from_elsewhere)
{
    static const char *const never[] = {"innerHTML", "outerHTML", "insertAdjacent", "document.write",
                                        "eval(",     "style=\"",  "onclick=",       "<link rel=\"stylesheet",
                                        "src=",      "@import",   "https://",       "url("};
    cleanup(mem_free_ptr) char *answer = get("/");
    for (size_t i = 0; i < array_len(never); i++)
        ck_assert_msg(strstr(body_of(answer), never[i]) == NULL, "%s", never[i]);
    /* The one address in it is a name, not a place. */
    for (const char *at = body_of(answer); (at = strstr(at, "http://")) != NULL; at++)
        ck_assert_msg(str_has_prefix(at, "http://www.w3.org/2000/svg"), "%.40s", at);
}

TEST(json_is_built_once_in_a_pace)
{
    struct status_feed_times slow = times();
    slow.pace_ms = NEVER_MS;
    status_feed_set_times(server_status_feed(f.server), &slow);
    ck_assert_uint_eq(f.built, 0);
    for (unsigned i = 0; i < 3; i++) {
        cleanup(mem_free_ptr) char *answer = get("/status?x=1");
        expect(answer, "200", "application/json", "{\"built\":1,\"news\":0,\"padding\":\"\"}");
    }
    slow.pace_ms = 0;
    status_feed_set_times(server_status_feed(f.server), &slow);
    cleanup(mem_free_ptr) char *answer = get("/status");
    ck_assert_str_eq(body_of(answer), "{\"built\":2,\"news\":0,\"padding\":\"\"}");
}

TEST(nothing_is_built_while_nobody_follows)
{
    f.news++;
    server_status_changed(f.server);
    turn_for_ms(50);
    ck_assert_uint_eq(f.built, 0);
    cleanup(mem_free_ptr) char *answer = get("/status");
    turn_for_ms(50);
    ck_assert_uint_eq(f.built, 1);
    server_status_changed(NULL);
}

TEST(head_and_other_methods)
{
    static const struct {
        const char *path, *type;
    } rows[] = {
        {"/", "text/html; charset=utf-8"}, {"/status", "application/json"}, {"/status/stream", "text/event-stream"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *head = mem_printf("HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n", rows[i].path),
                                   *post = mem_printf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
                                                      rows[i].path);
        cleanup(mem_free_ptr) char *answer = ask(head), *refused = ask(post);
        ck_assert_msg(strstr(answer, " 200 ") != NULL, "%s", answer);
        ck_assert_pstr_eq(header(answer, "Content-Type"), rows[i].type);
        ck_assert_str_eq(body_of(answer), "");
        expect(refused, "405", TEXT, NULL);
        ck_assert_uint_eq(streams(), 0);
    }
    cleanup(mem_free_ptr) char *lost = get("/nothing");
    expect(lost, "404", TEXT, NULL);
    ck_assert_msg(strstr(lost, "/status/stream") != NULL, "%s: says what there is", lost);
}

TEST(plan)
{
    cleanup(mem_free_ptr) char *all = get("/plan?json,100,0"), *none = get("/plan");
    expect(all, "200", "application/json", "[\"json,100,0\"]");
    expect(none, "200", "application/json", "[\"\"]");
}

TEST(switched_off)
{
    static const char *const paths[] = {"/", "/status", "/status/stream", "/plan"};
    fixture_end();
    fixture_begin();
    for (size_t i = 0; i < array_len(paths); i++) {
        cleanup(mem_free_ptr) char *answer = get(paths[i]);
        expect(answer, "404", TEXT, NULL);
        ck_assert_msg(strstr(body_of(answer), "/status") == NULL, "%s", answer);
    }
    server_status_changed(f.server);
    ck_assert_ptr_null(server_status_feed(f.server));
}

TEST(digest)
{
    static const struct {
        const char *text, *hash;
    } rows[] = {
        /* FIPS 180-4 */
        {"", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
        {"abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        char hash[DIGEST_SHA256_TEXT_BYTES];
        digest_sha256(rows[i].text, strlen(rows[i].text), hash);
        ck_assert_str_eq(hash, rows[i].hash);
    }
}

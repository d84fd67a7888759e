/* src/haproxy/dataplane/codec_status: transactions, reloads, and messages that are safe to log. */
#include "haproxy/dataplane/codec.h"

#include "../test.h"

TEST(transactions)
{
    struct codec_transaction *list = NULL, one = {0};
    size_t count = 99;
    const char *two =
        "[{\"_version\":1,\"id\":\"a\",\"status\":\"in_progress\"},{\"id\":\"b\",\"status\":\"outdated\"}]";
    ck_assert_int_eq(codec_read_transactions(two, strlen(two), &list, &count, &flaw), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(list[0].id, "a");
    ck_assert_str_eq(list[1].status, "outdated");
    codec_transactions_free(list, count);
    for (size_t i = 0; i < 2; i++) {
        const char *empty = i == 0 ? "[]" : "null";
        ck_assert_int_eq(codec_read_transactions(empty, strlen(empty), &list, &count, &flaw), 0);
        ck_assert_uint_eq(count, 0);
        codec_transactions_free(list, count);
    }
    ck_assert_int_eq(codec_read_transaction("{\"id\":\"x\"}", 10, &one, &flaw), 0);
    ck_assert_str_eq(one.id, "x");
    ck_assert_str_eq(one.status, "");
    codec_transaction_fini(&one);
    static const char *const bad[] = {
        "", "[]", "{}", "{\"id\":\"\"}", "{\"id\":7}", "{\"id\":null}", "\"id\"", "{\"id\":\"a\",\"status\":1}"};
    for (size_t i = 0; i < array_len(bad); i++) {
        ck_assert_int_eq(codec_read_transaction(bad[i], strlen(bad[i]), &one, &flaw), -1);
        ck_assert(flaw.kind == ERROR_INVALID && strstr(flaw.message, "the transaction") != NULL);
        char *in_list = mem_printf("[{\"id\":\"good\"},%s]", bad[i]);
        ck_assert_int_eq(codec_read_transactions(in_list, strlen(in_list), &list, &count, &flaw), -1);
        free(in_list);
    }
}

TEST(reloads)
{
    struct codec_reload_status r = {0};
    const char *progress = "{\"status\":\"in_progress\"}";
    const char *failed = "{\"id\":\"2026-11-21-0\",\"status\":\"failed\",\"response\":\"[ALERT] no\"}";
    const char *done = "{\"id\":\"x\",\"reload_timestamp\":1,\"status\":\"succeeded\",\"response\":null}";
    ck_assert_int_eq(codec_read_reload(progress, strlen(progress), &r, &flaw), 0);
    ck_assert_int_eq(r.state, RELOAD_IN_PROGRESS);
    ck_assert_str_eq(r.response, "");
    codec_reload_fini(&r);
    ck_assert_int_eq(codec_read_reload(failed, strlen(failed), &r, &flaw), 0);
    ck_assert_int_eq(r.state, RELOAD_FAILED);
    ck_assert_str_eq(r.response, "[ALERT] no");
    codec_reload_fini(&r);
    ck_assert_int_eq(codec_read_reload(done, strlen(done), &r, &flaw), 0);
    ck_assert_int_eq(r.state, RELOAD_SUCCEEDED);
    codec_reload_fini(&r);
    static const char *const bad[] = {
        "", "[]", "{}", "{\"status\":\"maybe\"}", "{\"status\":1}", "{\"status\":\"failed\",\"response\":[]}"};
    for (size_t i = 0; i < array_len(bad); i++) {
        ck_assert_int_eq(codec_read_reload(bad[i], strlen(bad[i]), &r, &flaw), -1);
        ck_assert(flaw.kind == ERROR_INVALID && strstr(flaw.message, "the reload") != NULL);
    }
}

static const struct {
    const char *body, *expected;
} messages[] = {
    {"", ""},
    {"{\"code\":409,\"message\":\"version mismatch\"}", "version mismatch"},
    {"{\"code\":400,\"message\":\"validation error:\\n\\n  msg=\\\"x\\\"\\n\"}", "validation error: msg=\"x\""},
    {"{\"code\":400,\"message\":\"\"}", "{\"code\":400,\"message\":\"\"}"},
    {"{\"code\":400,\"message\":7}", "{\"code\":400,\"message\":7}"},
    {"plain\r\ntext\x1b[2J\x7f", "plain text [2J"},
    {"<html><head><title>502 Bad Gateway</title><style>b{c:d}</style></head><body><script>x<y</script>\n<h1>nginx</h1>"
     "</body></html>",
     "502 Bad Gateway nginx"},
    {"  <!DOCTYPE html>\n<p>a&amp;b", "a&amp;b"},
    {"<", ""},
    {"<b", ""},
    {"<script>never ends", ""},
    {"<style", ""},
    {"<scripting>shown", "shown"},
    {"a < b", "a < b"},
    {"{broken", "{broken"},
    {"0123456789012345678901234567890123456789", "0123456789012345678901234567"
                                                 "..."},
    {"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4x\xc3\xa4"
     "\xc3\xa4\xc3\xa4",
     "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4x..."},
};

TEST_EACH(a_message_is_short_and_safe, array_len(messages))
{
    char text[32];
    codec_error_message(messages[_i].body, strlen(messages[_i].body), text, sizeof(text));
    ck_assert_str_eq(text, messages[_i].expected);
}

TEST(a_message_fits_any_room)
{
    const char *body = "{\"message\":\"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac and so on\"}";
    for (size_t max = 8; max < 40; max++) {
        char *room = mem_alloc(max + 1);
        memset(room, 'x', max + 1);
        codec_error_message(body, strlen(body), room, max);
        ck_assert_int_eq(room[max], 'x');
        ck_assert(memchr(room, '\0', max) != NULL);
        size_t text_len = max < 20 ? strspn(room, "\xe2\x82\xac") : 9;
        ck_assert_msg(text_len % 3 == 0, "room for %zu: %s", max, room);
        free(room);
    }
    char text[64];
    codec_error_message("a\0b", 3, text, sizeof(text));
    ck_assert_str_eq(text, "a b");
}

TEST(a_refusal_is_what_the_api_says)
{
    static const struct {
        const char *body, *says;
    } answers[] = {
        {"{\"code\":500,\"message\":\"write /x/haproxy.cfg.a-b:\\n no space\"}",
         "write /x/haproxy.cfg.a-b:\n no space"},
        {" { \"message\" : \"m\" } ", "m"},
        {"{\"code\":500,\"message\":\"\"}", NULL},
        {"{\"code\":500}", NULL},
        {"{\"message\":5}", NULL},
        {"{\"error\":{\"message\":\"of another\"}}", NULL},
        {"[{\"message\":\"m\"}]", NULL},
        {"\"message\"", NULL},
        {"<html>{\"message\":\"m\"}</html>", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < array_len(answers); i++) {
        cleanup(mem_free_ptr) char *says = codec_refusal(answers[i].body, strlen(answers[i].body));
        ck_assert_msg(str_eq(says, answers[i].says), "%s: %s", answers[i].body, says);
    }
    cleanup(mem_free_ptr) char *longer = mem_alloc(2 * CODEC_MAX_REFUSAL_BYTES);
    size_t len =
        (size_t)snprintf(longer, 2 * CODEC_MAX_REFUSAL_BYTES, "{\"message\":\"%0*d\"}", CODEC_MAX_REFUSAL_BYTES + 5, 7);
    cleanup(mem_free_ptr) char *says = codec_refusal(longer, len);
    ck_assert_uint_eq(strlen(says), CODEC_MAX_REFUSAL_BYTES);
}

TEST(an_agent_is_a_field_not_a_text)
{
    ck_assert(codec_has_agent("{\"name\":\"n\",\"agent-check\":\"enabled\",\"agent-port\":81}"));
    ck_assert(codec_has_agent("{ \"name\" : \"n\", \"agent-check\" : \"enabled\" }"));
    ck_assert(!codec_has_agent("{\"agent-check\":\"disabled\"}"));
    ck_assert(!codec_has_agent("{\"agent-check\":true}"));
    ck_assert(!codec_has_agent("{\"metadata\":{\"agent-check\":\"enabled\"}}"));
    ck_assert(!codec_has_agent("{\"cookie\":\"x\"}"));
    ck_assert(!codec_has_agent(NULL) && !codec_has_agent(""));
}

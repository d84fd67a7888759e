/* src/kube/writer: which request it makes, and what each answer means. The client below it is this file's; over real HTTP it
 * is seen by tests/functional/test_events.py. */
#include "kube/writer.h"

#include "client_double.h"

static struct {
    unsigned calls;
    enum event_outcome outcome;
    int64_t retry_after_ms;
    char message[ERROR_MESSAGE_BYTES];
} done;

static void on_done(void *arg, enum event_outcome outcome, int64_t retry_after_ms, const struct error *err)
{
    done.calls++;
    done.outcome = outcome;
    done.retry_after_ms = retry_after_ms;
    snprintf(done.message, sizeof(done.message), "%s", err != NULL ? err->message : "");
}

static const struct event_object object = {.namespace = "ing",
                                           .name = "web.1",
                                           .kind = "Service",
                                           .about = "web",
                                           .reason = "Synced",
                                           .message = "m",
                                           .host = "h",
                                           .count = 1};
static struct event_writer *w;

static void setup(void)
{
    memset(&api, 0, sizeof(api));
    memset(&done, 0, sizeof(done));
    api.retry_after_ms = -1;
    w = event_writer_new(NULL, on_done, NULL);
}

static void teardown(void)
{
    event_writer_free(w);
    free(api.body);
}

static void send_it(bool again)
{
    ck_assert_msg(event_writer_send(w, &object, again, &flaw) == 0, "%s", flaw.message);
}

FIXTURE(setup, teardown)

TEST(a_new_one_is_posted)
{
    cleanup(mem_free_ptr) char *json = event_encode_new(&object);
    send_it(false);
    ck_assert_str_eq(api.method, "POST");
    ck_assert_str_eq(api.path, "/api/v1/namespaces/ing/events");
    ck_assert_str_eq(api.content_type, "application/json");
    ck_assert_str_eq(api.body, json);
    ck_assert_uint_gt(api.timeout_ms, 0);
    api_answer(201, "{}");
    ck_assert_int_eq(done.outcome, EVENT_WRITTEN);
    ck_assert_uint_eq(done.calls, 1);
}

TEST(one_that_is_there_is_patched)
{
    cleanup(mem_free_ptr) char *json = event_encode_again(&object);
    send_it(true);
    ck_assert_str_eq(api.method, "PATCH");
    ck_assert_str_eq(api.path, "/api/v1/namespaces/ing/events/web.1");
    ck_assert_str_eq(api.content_type, "application/merge-patch+json");
    ck_assert_str_eq(api.body, json);
    api_answer(200, "{}");
    ck_assert_int_eq(done.outcome, EVENT_WRITTEN);
}

static const struct {
    int status;
    enum event_outcome anew, again;
} answers[] = {
    {200, EVENT_WRITTEN, EVENT_WRITTEN}, {201, EVENT_WRITTEN, EVENT_WRITTEN}, {202, EVENT_WRITTEN, EVENT_WRITTEN},
    {301, EVENT_REFUSED, EVENT_REFUSED}, {400, EVENT_REFUSED, EVENT_REFUSED}, {401, EVENT_LATER, EVENT_LATER},
    {403, EVENT_DENIED, EVENT_DENIED},   {404, EVENT_REFUSED, EVENT_GONE},    {405, EVENT_REFUSED, EVENT_REFUSED},
    {408, EVENT_LATER, EVENT_LATER},     {409, EVENT_EXISTS, EVENT_LATER},    {410, EVENT_REFUSED, EVENT_GONE},
    {413, EVENT_REFUSED, EVENT_REFUSED}, {415, EVENT_REFUSED, EVENT_REFUSED}, {422, EVENT_REFUSED, EVENT_REFUSED},
    {429, EVENT_LATER, EVENT_LATER},     {500, EVENT_LATER, EVENT_LATER},     {502, EVENT_LATER, EVENT_LATER},
    {503, EVENT_LATER, EVENT_LATER},     {504, EVENT_LATER, EVENT_LATER},
};

TEST_EACH(what_each_answer_means, array_len(answers))
{
    for (int again = 0; again < 2; again++) {
        send_it(again);
        api_answer(answers[_i].status, "{\"kind\":\"Status\",\"message\":\"so it is\"}");
        ck_assert_int_eq(done.outcome, again ? answers[_i].again : answers[_i].anew);
        ck_assert_int_eq((int)done.retry_after_ms, -1);
        ck_assert_uint_eq(api.refused, answers[_i].status == 401 ? (unsigned)again + 1 : 0);
        if (done.outcome != EVENT_WRITTEN) {
            char what[128];
            snprintf(what, sizeof(what), "%s https://api/api/v1/namespaces/ing/events%s: HTTP %d: so it is",
                     again ? "PATCH" : "POST", again ? "/web.1" : "", answers[_i].status);
            ck_assert_str_eq(done.message, what);
        }
    }
}

TEST(when_the_api_wants_it_again)
{
    api.retry_after_ms = 7000;
    send_it(false);
    api_answer(429, "");
    ck_assert_int_eq((int)done.retry_after_ms, 7000);
    api.retry_after_ms = -1;
    send_it(false);
    api_answer(429, "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":9}}");
    ck_assert_int_eq((int)done.retry_after_ms, 9000);
    send_it(false);
    api_answer(500, "<html>no JSON</html>");
    ck_assert_int_eq(done.outcome, EVENT_LATER);
    ck_assert_int_eq((int)done.retry_after_ms, -1);
}

TEST(no_answer)
{
    error_set(&flaw, ERROR_RETRY, "timeout");
    send_it(false);
    api.callbacks->on_done(api.arg, NULL, &flaw);
    ck_assert_int_eq(done.outcome, EVENT_LATER);
    ck_assert_str_eq(done.message, "timeout");
}

TEST(no_credentials_yet)
{
    api.no_credentials = true;
    ck_assert_int_eq(event_writer_send(w, &object, false, &flaw), -1);
    ck_assert_str_eq(flaw.message, "waiting for the credential plugin");
    ck_assert_uint_eq(done.calls, 0);
    api.no_credentials = false;
    send_it(false);
    api_answer(201, "{}");
    ck_assert_int_eq(done.outcome, EVENT_WRITTEN);
}

TEST(the_end_takes_what_is_under_way_along)
{
    send_it(false);
    event_writer_free(w);
    w = NULL;
    ck_assert_uint_eq(api.cancelled, 1);
    ck_assert_uint_eq(done.calls, 0);
}

/* src/kube/outage: what is an outage of an API server, and how often it is said. */

#include "kube/outage.h"
#include "net/http.h"

#include "../test.h"

#define ANONYMOUS "nodes is forbidden: User \"system:anonymous\" cannot list resource \"nodes\""
#define NAMED "nodes is forbidden: User \"system:serviceaccount:a:b\" cannot list resource \"nodes\""

static const struct {
    const char *reason, *detail;
    bool is;
} watches[] = {
    {"unreachable", "", true},          {"unauthorized", "", true}, {"forbidden", NAMED, false},
    {"forbidden", ANONYMOUS, true},     {"lost", "", false},        {"silent", "", false},
    {"server_error", ANONYMOUS, false},
};

TEST_EACH(by_the_reason_of_a_watch, array_len(watches))
{
    ck_assert_int_eq(kube_outage_is(watches[_i].reason, watches[_i].detail), watches[_i].is);
}

static const struct {
    int status;
    const char *body, *reason;
} answers[] = {
    {200, "", NULL},
    {401, "", "unauthorized"},
    {403, "{\"message\": \"User \\\"system:anonymous\\\" cannot\"}", "forbidden"},
    {403, "{\"message\": \"User \\\"system:anonymous-2\\\" cannot\"}", NULL},
    {500, "system:anonymous\"", NULL},
    {503, "", NULL},
};

TEST_EACH(by_an_answer, array_len(answers))
{
    struct kube_outage o;
    struct buf body = {0};
    kube_outage_init(&o, "https://api:6443");
    buf_addn(&body, answers[_i].body, strlen(answers[_i].body));
    const struct http_response r = {.status = answers[_i].status, .body = &body, .progress = HTTP_ANSWERED};
    const char *reason = kube_outage_reason(&o, &r, NULL);
    ck_assert_msg(str_eq(reason, answers[_i].reason), "%s", reason != NULL ? reason : "none");
    buf_fini(&body);
}

/* Without a request there was no connection. */
TEST(by_a_connection)
{
    struct kube_outage o;
    const struct error err = {.kind = ERROR_RETRY, .message = "refused"};
    const struct http_response r = {.progress = HTTP_NOT_SENT};
    kube_outage_init(&o, "https://api:6443");
    ck_assert_str_eq(kube_outage_reason(&o, &r, &err), "unreachable");
}

static bool begin(struct kube_outage *o, const char *reason, uint64_t now_ms)
{
    const struct kube_outage_loss loss = {.text = "away", .reason = reason, .error = ""};
    return kube_outage_begin(o, NULL, &loss, now_ms);
}

TEST(reasons_that_take_turns_pass_once_each)
{
    struct kube_outage o;
    kube_outage_init(&o, "https://api:6443");
    ck_assert(begin(&o, "unreachable", 1000));
    ck_assert(begin(&o, "unauthorized", 1001));
    ck_assert(!begin(&o, "unreachable", 1002));
    ck_assert(!begin(&o, "unauthorized", 1003));
    ck_assert(o.was_said && !o.met);
    ck_assert_uint_eq(o.lost_ms, 1000);
    kube_outage_end(&o, NULL, 2000);
    ck_assert(!o.was_said && o.met);
    ck_assert_uint_eq(o.lost_ms, 0);
    ck_assert(begin(&o, "unreachable", 61000));
}

/* The messages of a stream, by whom, and whether each has a line of its own. */
static const struct {
    uint64_t at_ms;
    bool is_watch, has_line;
    const char *message;
} stream[] = {
    {0, true, true, "watch: unexpected answer: HTTP 503: <html>busy</html>"},
    {0, true, false, "list: unexpected answer: HTTP 503: <html>busy</html>"},
    {2000, false, false, "PUT https://api:6443/apis/leases: HTTP 503: <html>busy</html>"},
    {5001, false, false, "PUT https://api:6443/apis/leases: HTTP 503: <html>busy</html>"},
    {5001, true, true, "watch: server error: HTTP 500: etcdserver: request timed out"},
    {59999, false, false, "PUT https://api:6443/apis/leases: HTTP 503: <html>busy</html>"},
    {60000, false, true, "GET https://api:6443/apis/leases: HTTP 503: <html>busy</html>"},
    {60001, true, true, "watch: unexpected answer: HTTP 503: <html>busy</html>"}, /* it has more to say */
    {60002, false, false, "PATCH https://api:6443/api/v1/events: HTTP 503: <html>busy</html>"},
    {70000, false, false, "PATCH https://api:6443/api/v1/events: HTTP 429"}, /* the watches may meet it, too */
    {72999, false, false, "PATCH https://api:6443/api/v1/events: HTTP 429"},
    {73000, false, true, "PATCH https://api:6443/api/v1/events: HTTP 429"},
    {73001, false, false, "PUT https://api:6443/apis/leases: HTTP 429"},
    {73001, true, true, "watch: throttled by the server: HTTP 429"},
    {130000, true, true, "watch: no answer in time"},
    {130000, true, false, "streaming list: no answer in time"},
    {130000, false, true, "PUT https://api:6443/apis/leases: no answer in time"},
    {200000, true, true, "watch: forbidden: HTTP 403: no"},
    {200000, true, true, "watch: forbidden: HTTP 403: no"},
    {200000, false, true, "PUT https://api:6443/apis/leases: HTTP 403: no"},
    {300000, true, true, "no words before it"},
    {300000, true, false, "no words before it"},
};

TEST(the_same_words)
{
    struct kube_outage o;
    kube_outage_init(&o, "https://api:6443");
    for (size_t i = 0; i < array_len(stream); i++) {
        bool no_line =
            (stream[i].is_watch ? kube_outage_is_shared : kube_outage_holds)(&o, stream[i].message, stream[i].at_ms);
        ck_assert_msg(no_line != stream[i].has_line, "%zu: %s", i, stream[i].message);
    }
}

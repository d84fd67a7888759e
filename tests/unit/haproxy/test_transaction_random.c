/* src/haproxy/dataplane/transaction against an API that fails in every way: nothing is lost, no commit is claimed that was none. */
#include "txn_play.h"

#include "../test.h"

struct api {
    unsigned seed;
    unsigned next_id;
    unsigned ours[64]; /* begun and neither committed nor deleted */
    size_t our_count;
    unsigned unknown; /* begun, but the answer was lost */
    unsigned commits, changes;
};

static unsigned next_random(struct api *api)
{
    api->seed = api->seed * 1664525u + 1013904223u;
    return api->seed >> 8;
}

static bool drop(struct api *api, unsigned id)
{
    for (size_t i = 0; i < api->our_count; i++) {
        if (api->ours[i] == id) {
            api->ours[i] = api->ours[--api->our_count];
            return true;
        }
    }
    return false;
}

static unsigned id_in(const char *path)
{
    const char *id = strstr(path, "id-");
    return id != NULL ? (unsigned)strtoul(id + 3, NULL, 10) : 0;
}

/* What a sound API does; the body is filled. Returns the status. */
static int do_request(struct api *api, const struct transaction_action *x, char *body, size_t max)
{
    unsigned id = id_in(x->path);
    if (str_has_prefix(x->path, "/configuration")) {
        api->changes++;
        return 202;
    }
    if (str_eq(x->method, "POST")) {
        ck_assert_uint_lt(api->our_count, array_len(api->ours));
        api->ours[api->our_count++] = ++api->next_id;
        snprintf(body, max, "{\"id\":\"id-%u\",\"status\":\"in_progress\"}", api->next_id);
        return 201;
    }
    if (str_eq(x->method, "GET")) {
        snprintf(body, max, "[]");
        return 200;
    }
    if (!drop(api, id))
        return 404;
    if (str_eq(x->method, "DELETE"))
        return 204;
    api->commits++;
    snprintf(body, max, "{\"id\":\"id-%u\",\"status\":\"success\"}", id);
    return 202;
}

/* Does it and answers, does it and loses the answer, or does not do it and fails in one of many ways. */
static void at_random(struct api *api, const struct transaction_action *x, struct reply *r, char *body, size_t max)
{
    static const char *const undone[] = {"lost", "refused", "400", "401", "409", "422",
                                         "429",  "500",     "502", "504", "html"};
    static const char *const done[] = {"lost", "500", "502", "504"};
    unsigned dice = next_random(api) % 16;
    if (dice < 4) {
        make_reply(r, undone[next_random(api) % array_len(undone)], '?', "");
        return;
    }
    int status = do_request(api, x, body, max);
    if (dice == 4) {
        make_reply(r, done[next_random(api) % array_len(done)], '?', "");
        api->unknown += status == 201;
        return;
    }
    make_reply(r, "200", '?', "");
    r->a.status = status;
    r->a.body = body;
    r->a.body_len = strlen(body);
    r->a.version = str_eq(x->method, "PUT") && status == 202 ? 8 : 7;
}

TEST_EACH(random_failures_never_lose_a_transaction_or_claim_a_wrong_commit, 4)
{
    struct api api = {.seed = (unsigned)_i * 7919u + 1};
    size_t results[TRANSACTION_ABORTED + 1] = {0};
    for (int round = 0; round < 4000; round++) {
        struct transaction t;
        size_t count = next_random(&api) % 4, sent = 0;
        unsigned commits = api.commits;
        api.our_count = api.unknown = api.changes = 0;
        transaction_init(&t);
        struct transaction_action x = transaction_start(&t, 7, make_steps(count), count);
        for (; x.type == TRANSACTION_SEND; sent++) {
            struct reply r;
            char body[128] = "";
            at_random(&api, &x, &r, body, sizeof(body));
            if (next_random(&api) % 32 == 0)
                transaction_abort(&t);
            x = transaction_answer(&t, &r.a);
        }
        ck_assert_uint_le(sent, count + 6);
        ck_assert_ptr_null(t.id);
        /* nothing that we know of stays without being remembered */
        ck_assert_uint_le(api.our_count, t.held_count + api.unknown);
        if (t.result == TRANSACTION_COMMITTED) {
            ck_assert_uint_eq(api.commits, commits + 1);
            ck_assert_uint_eq(api.changes, count);
        } else if (t.result != TRANSACTION_UNKNOWN) {
            ck_assert_msg(api.commits == commits, "%s: %s", transaction_result_name(t.result), t.error.message);
        }
        results[t.result]++;
        transaction_fini(&t);
    }
    ck_assert_uint_gt(results[TRANSACTION_COMMITTED], 500); /* the API was not just broken */
    ck_assert(results[TRANSACTION_UNKNOWN] > 0 && results[TRANSACTION_CONFLICT] > 0 && results[TRANSACTION_LIMIT] > 0 &&
              results[TRANSACTION_ABORTED] > 0 && results[TRANSACTION_REJECTED] > 0 &&
              results[TRANSACTION_UNAVAILABLE] > 0);
}

/* Answers that no API would give, in any order: it ends, and soon. */
TEST_EACH(any_nonsense_ends, 4)
{
    static const char *const words[] = {"100", "199", "200", "201", "204", "299", "304", "400", "400v0", "404",
                                        "406", "409", "410", "418", "429", "451", "500", "599", "lost",  "html"};
    struct api api = {.seed = (unsigned)_i + 1};
    for (int round = 0; round < 2000; round++) {
        struct transaction t;
        size_t sent = 0;
        transaction_init(&t);
        struct transaction_action x =
            round % 5 == 0 ? transaction_start_cleanup(&t) : transaction_start(&t, 7, make_steps(3), 3);
        for (; x.type == TRANSACTION_SEND; sent++) {
            struct reply r;
            static const char requests[] = {'B', 'K', 'L', '?'};
            make_reply(&r, words[next_random(&api) % array_len(words)], requests[next_random(&api) % 4], default_list);
            if (r.a.status == 100 || r.a.status == 199)
                r.a.version = -1;
            x = transaction_answer(&t, &r.a);
        }
        ck_assert_uint_le(sent, 3 + 8);
        ck_assert_int_eq(t.state, TRANSACTION_DONE);
        ck_assert(t.result == TRANSACTION_COMMITTED || t.result == TRANSACTION_CLEANED || t.error.kind != ERROR_NONE);
        transaction_fini(&t);
    }
}

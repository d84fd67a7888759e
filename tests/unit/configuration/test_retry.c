/* src/configuration/retry: pauses by the class of a failure. */

#include "configuration/retry.h"

#include "../test.h"

#define NOW 1000000u

static struct retry r;

static void setup(void)
{
    retry_init(&r, 1);
}

static struct error failure(int status, enum error_kind kind)
{
    struct error err = {0};
    if (status != 0)
        (void)error_set_http(&err, status, "status %d", status);
    else
        (void)error_set(&err, kind, "no answer");
    return err;
}

static const struct {
    int status;
    enum error_kind kind;
    const char *name;
} classes[] = {
    {401, ERROR_NONE, "AuthError"},
    {403, ERROR_NONE, "AuthError"},
    {0, ERROR_AUTH, "AuthError"},
    {409, ERROR_NONE, "ConflictError"},
    {429, ERROR_NONE, "RateLimited"},
    {500, ERROR_NONE, "DataplaneServerError"},
    {503, ERROR_NONE, "DataplaneServerError"},
    {413, ERROR_NONE, "UnknownError"},
    {404, ERROR_NONE, "UnknownError"},
    {0, ERROR_INVALID, "TLSConnectionError"},
    {0, ERROR_RETRY, "ConnectionError"},
};

FIXTURE(setup, NULL)

TEST_EACH(classes_have_the_operators_names, array_len(classes))
{
    const struct error err = failure(classes[_i].status, classes[_i].kind);
    ck_assert_str_eq(retry_class_name(retry_class_of(&err)), classes[_i].name);
}

/* Fails, and says after how long it is tried again; 0: at once, or as soon as it can be read. */
static uint64_t fails(int status, int64_t retry_after_ms)
{
    const struct error err = failure(status, ERROR_RETRY);
    retry_failed(&r, &err, retry_after_ms, NOW);
    ck_assert(retry_waits(&r, NOW) == (r.not_before_ms > NOW));
    return r.not_before_ms > NOW ? r.not_before_ms - NOW : 0;
}

static void check_pause(uint64_t pause, unsigned number)
{
    uint64_t limit = 30000ull << number;
    limit = limit < 300000 ? limit : 300000;
    ck_assert_msg(pause >= 30000 && pause >= limit - limit / 4 && pause <= limit, "pause %u is %llu ms", number,
                  (unsigned long long)pause);
}

/* 30 s, 60 s, 120 s, 240 s, 5 min, 5 min; with another seed another part of it. */
TEST(pauses_grow)
{
    uint64_t last[2] = {0};
    for (unsigned seed = 1; seed <= 2; seed++) {
        retry_init(&r, seed);
        for (unsigned i = 0; i < 40; i++)
            check_pause(last[seed - 1] = fails(503, -1), i < 10 ? i : 10);
    }
    ck_assert_uint_ne(last[0], last[1]);
    retry_forget(&r);
    ck_assert(!retry_waits(&r, NOW));
    ck_assert_ptr_null(retry_class_name(r.class));
    check_pause(fails(503, -1), 0);
}

TEST(each_class_begins_anew)
{
    for (unsigned i = 0; i < 5; i++)
        check_pause(fails(503, -1), i);
    check_pause(fails(401, -1), 0);
    check_pause(fails(401, -1), 1);
}

TEST(the_first_conflicts_are_tried_again_at_once)
{
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(fails(409, -1), 0);
    check_pause(fails(409, -1), 0);
    check_pause(fails(409, -1), 1);
}

/* One lost answer is no pause: what came of it shows the next reading. Then only an API that was gone is asked at
 * once. */
TEST(an_api_that_is_back_is_asked_at_once)
{
    check_pause(fails(0, -1), 0);
    retry_readable(&r);
    ck_assert(!retry_waits(&r, NOW));
    for (unsigned i = 0; i < 3; i++) {
        check_pause(fails(0, -1), i);
        retry_readable(&r);
        ck_assert(retry_waits(&r, NOW));
    }
    retry_unreadable(&r);
    ck_assert(retry_waits(&r, NOW));
    retry_readable(&r);
    ck_assert(!retry_waits(&r, NOW));
    /* of an answer a reading says nothing */
    check_pause(fails(503, -1), 0);
    retry_readable(&r);
    ck_assert(retry_waits(&r, NOW));
    retry_unreadable(&r);
    retry_readable(&r);
    ck_assert(!retry_waits(&r, NOW));
}

TEST(retry_after_is_obeyed)
{
    ck_assert_uint_eq(fails(429, 400000), 400000);
    retry_unreadable(&r);
    retry_readable(&r);
    ck_assert(retry_waits(&r, NOW + 399999) && !retry_waits(&r, NOW + 400000));
    retry_new_document(&r);
    ck_assert(retry_waits(&r, NOW + 399999));
    retry_forget(&r); /* by an operator */
    ck_assert(!retry_waits(&r, NOW));
    check_pause(fails(429, 1000), 0); /* it says when at the earliest */
    check_pause(fails(429, 0), 1);
}

TEST(another_document_is_tried_at_once)
{
    for (unsigned i = 0; i < 4; i++)
        (void)fails(500, -1);
    retry_new_document(&r);
    ck_assert(!retry_waits(&r, NOW));
    check_pause(fails(500, -1), 0);
}

/* src/kube/writer, annotations: which request it makes, and what each answer means. The client below it is this file's. */
#include "kube/writer.h"

#include "client_double.h"

#define PATH "/api/v1/namespaces/ns/secrets/s"

static struct {
    unsigned calls;
    enum annotate_outcome outcome;
    struct error error;
} done;

static void on_done(void *arg, enum annotate_outcome outcome, const struct error *err)
{
    ck_assert_ptr_eq(arg, &done);
    done.calls++;
    done.outcome = outcome;
    done.error = err != NULL ? *err : (struct error){.kind = ERROR_NONE};
}

static struct annotator *a;

static void setup(void)
{
    memset(&api, 0, sizeof(api));
    memset(&done, 0, sizeof(done));
    a = annotator_new(NULL, on_done, &done);
}

static void teardown(void)
{
    annotator_free(a);
    free(api.body);
}

static int send_it(struct error *err)
{
    static const struct annotation list[] = {{"x/status", "Applied"}, {"x/message", "a \"b\""}, {"x/gone", NULL}};
    return annotator_send(a, PATH, "42", list, 3, err);
}

/* Nothing but those annotations, at the version that was read. */
FIXTURE(setup, teardown)

TEST(it_is_a_merge_patch_at_a_version)
{
    struct error err = {0};
    ck_assert_int_eq(send_it(&err), 0);
    ck_assert_str_eq(api.method, "PATCH");
    ck_assert_str_eq(api.path, PATH);
    ck_assert_str_eq(api.content_type, "application/merge-patch+json");
    ck_assert_str_eq(api.body, "{\"metadata\":{\"resourceVersion\":\"42\",\"annotations\":{\"x/status\":\"Applied\","
                               "\"x/message\":\"a \\\"b\\\"\",\"x/gone\":null}}}");
    api_answer(200, "{}");
    ck_assert_uint_eq(done.calls, 1);
    ck_assert_int_eq((int)done.outcome, ANNOTATE_WRITTEN);
    ck_assert_int_eq((int)done.error.kind, ERROR_NONE);
}

TEST(of_a_configmap_it_is_the_data)
{
    static const struct annotation list[] = {{"status", "Applied"}, {"status-message", NULL}};
    ck_assert_int_eq(annotator_send(a, "/api/v1/namespaces/ns/configmaps/m", NULL, list, 2, &flaw), 0);
    ck_assert_str_eq(api.body, "{\"data\":{\"status\":\"Applied\",\"status-message\":null}}");
    api_answer(200, "{}");
    ck_assert_int_eq((int)done.outcome, ANNOTATE_WRITTEN);
}

static const struct {
    int status;
    enum annotate_outcome outcome;
    unsigned refused;
} answers[] = {
    {201, ANNOTATE_WRITTEN, 0},  {202, ANNOTATE_WRITTEN, 0}, {302, ANNOTATE_LATER, 0},
    {401, ANNOTATE_LATER, 1},    {403, ANNOTATE_DENIED, 0},  {404, ANNOTATE_LATER, 0},
    {409, ANNOTATE_CONFLICT, 0}, {422, ANNOTATE_LATER, 0},   {503, ANNOTATE_LATER, 0},
};

TEST_EACH(what_an_answer_means, array_len(answers))
{
    ck_assert_int_eq(send_it(&flaw), 0);
    api_answer(answers[_i].status, "{\"kind\":\"Status\",\"message\":\"words of the API\"}");
    ck_assert_int_eq((int)done.outcome, (int)answers[_i].outcome);
    ck_assert_uint_eq(api.refused, answers[_i].refused);
    if (done.outcome == ANNOTATE_WRITTEN)
        return;
    ck_assert_int_eq(done.error.http_status, answers[_i].status);
    cleanup(mem_free_ptr) char *text =
        mem_printf("PATCH https://api" PATH ": HTTP %d: words of the API", answers[_i].status);
    ck_assert_str_eq(done.error.message, text);
}

TEST(without_an_answer)
{
    struct error lost = {0}, err = {0};
    api.no_credentials = true;
    ck_assert_int_eq(send_it(&err), -1);
    ck_assert_uint_eq(done.calls, 0);
    api.no_credentials = false;
    ck_assert_int_eq(send_it(&err), 0);
    error_set(&lost, ERROR_RETRY, "connection lost");
    api.callbacks->on_done(api.arg, NULL, &lost);
    ck_assert_int_eq((int)done.outcome, ANNOTATE_LATER);
    ck_assert_str_eq(done.error.message, "connection lost");
}

TEST(its_end_cancels)
{
    ck_assert_int_eq(send_it(&flaw), 0);
    annotator_free(a);
    ck_assert_uint_eq(api.cancelled, 1);
    ck_assert_uint_eq(done.calls, 0);
    a = NULL;
}

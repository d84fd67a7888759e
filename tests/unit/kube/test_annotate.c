/* src/kube/annotate: which request it makes, and what each answer means. The client below it is this file's. */
#include "kube/annotate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "net/http.h"

#include "../test.h"

#define PATH "/api/v1/namespaces/ns/secrets/s"

static struct {
    char *method, *path, *type, *body;
    const struct http_callbacks *callbacks;
    void *arg;
    unsigned cancelled, refused;
    bool no_credentials;
} api;

static struct {
    unsigned calls;
    enum annotate_outcome outcome;
    struct error error;
} done;

#define REQUEST ((struct http_request *)&api)

struct http_request *kube_client_start(struct kube_client *c, struct http_request_options *o,
                                       const struct http_callbacks *callbacks, void *arg, struct error *err)
{
    (void)c;
    if (api.no_credentials) {
        error_set(err, ERROR_RETRY, "waiting for the credential plugin");
        return NULL;
    }
    api.method = mem_strdup(o->method);
    api.path = mem_strdup(o->path);
    api.type = mem_strdup(o->content_type);
    api.body = mem_strndup(o->body, o->body_len);
    api.callbacks = callbacks;
    api.arg = arg;
    return REQUEST;
}

void kube_client_note_answer(struct kube_client *c, const struct http_response *r, const struct error *err)
{
    (void)c;
    api.refused += err == NULL && r->status == 401;
}

const char *kube_client_server(const struct kube_client *c)
{
    (void)c;
    return "https://api";
}

void http_cancel(struct http_request *q)
{
    api.cancelled += q != NULL;
}

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
    free(api.method);
    free(api.path);
    free(api.type);
    free(api.body);
}

static int send_it(struct error *err)
{
    static const struct annotation list[] = {{"x/status", "Applied"}, {"x/message", "a \"b\""}, {"x/gone", NULL}};
    return annotator_send(a, PATH, "42", list, 3, err);
}

static void answer(int status, const char *body)
{
    cleanup(buf_fini) struct buf b = {0};
    buf_add(&b, body);
    const struct http_response r = {.status = status, .body = &b};
    api.callbacks->on_done(api.arg, &r, NULL);
}

/* Nothing but those annotations, at the version that was read. */
FIXTURE(setup, teardown)

TEST(it_is_a_merge_patch_at_a_version)
{
    struct error err = {0};
    ck_assert_int_eq(send_it(&err), 0);
    ck_assert_str_eq(api.method, "PATCH");
    ck_assert_str_eq(api.path, PATH);
    ck_assert_str_eq(api.type, "application/merge-patch+json");
    ck_assert_str_eq(api.body, "{\"metadata\":{\"resourceVersion\":\"42\",\"annotations\":{\"x/status\":\"Applied\","
                               "\"x/message\":\"a \\\"b\\\"\",\"x/gone\":null}}}");
    answer(200, "{}");
    ck_assert_uint_eq(done.calls, 1);
    ck_assert_int_eq((int)done.outcome, ANNOTATE_WRITTEN);
    ck_assert_int_eq((int)done.error.kind, ERROR_NONE);
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
    struct error err = {0};
    ck_assert_int_eq(send_it(&err), 0);
    answer(answers[_i].status, "{\"kind\":\"Status\",\"message\":\"words of the API\"}");
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
    struct error err = {0};
    ck_assert_int_eq(send_it(&err), 0);
    annotator_free(a);
    ck_assert_uint_eq(api.cancelled, 1);
    ck_assert_uint_eq(done.calls, 0);
    a = NULL;
}

/* kube/discovery, of this client: what is asked, and what is made of the answers. */
#include "kube/discovery.h"

#include "../test.h"

TEST(the_question)
{
    static const struct {
        struct access_right right;
        const char *json;
    } asked[] = {
        {{.group = "", .resource = "nodes", .verb = "list"}, "{\"verb\":\"list\",\"resource\":\"nodes\"}"},
        {{.group = "discovery.k8s.io", .resource = "endpointslices", .verb = "watch", .namespace = "ns"},
         "{\"namespace\":\"ns\",\"verb\":\"watch\",\"group\":\"discovery.k8s.io\",\"resource\":\"endpointslices\"}"},
        {{.group = "coordination.k8s.io", .resource = "leases", .verb = "update", .namespace = "ns", .name = "l\"1"},
         "{\"namespace\":\"ns\",\"verb\":\"update\",\"group\":\"coordination.k8s.io\",\"resource\":\"leases\",\"name\":"
         "\"l\\\"1\"}"},
    };
    for (size_t i = 0; i < array_len(asked); i++) {
        cleanup(mem_free_ptr) char *body = access_review_encode(&asked[i].right);
        cleanup(mem_free_ptr) char *wanted =
            mem_printf("{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":{"
                       "\"resourceAttributes\":%s}}",
                       asked[i].json);
        ck_assert_str_eq(body, wanted);
    }
}

#define REVIEW(status) \
    "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"status\":" status "}"

static const struct {
    const char *json;
    bool allowed;
    const char *reason;
} good[] = {
    {REVIEW("{\"allowed\":true,\"reason\":\"RBAC: allowed by ClusterRoleBinding \\\"x\\\"\"}"), true,
     "RBAC: allowed by ClusterRoleBinding \"x\""},
    {REVIEW("{\"allowed\":false}"), false, ""},
    {REVIEW("{\"allowed\":false,\"denied\":true,\"reason\":\"no\"}"), false, "no"},
    {REVIEW("{\"allowed\":false,\"evaluationError\":\"webhook is down\"}"), false, "webhook is down"},
};

TEST_EACH(an_answer, array_len(good))
{
    struct access_review r = {0};
    ck_assert_msg(access_review_decode(good[_i].json, strlen(good[_i].json), &r, &flaw) == 0, "%s", flaw.message);
    ck_assert(r.allowed == good[_i].allowed);
    ck_assert_str_eq(r.reason, good[_i].reason);
    access_review_fini(&r);
}

static const struct {
    const char *json, *says;
} bad[] = {
    {"", "0 bytes"},
    {"<html>", "not JSON"},
    {"null", "not a SelfSubjectAccessReview"},
    {"{\"kind\":\"Status\",\"code\":403}", "not a SelfSubjectAccessReview"},
    {REVIEW("{}"), "whether it is allowed"},
    {REVIEW("{\"allowed\":\"true\"}"), "whether it is allowed"},
    {REVIEW("null"), "whether it is allowed"},
};

TEST_EACH(no_answer, array_len(bad))
{
    struct access_review r = {0};
    ck_assert_int_eq(access_review_decode(bad[_i].json, strlen(bad[_i].json), &r, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, bad[_i].says) != NULL, "%s: %s", bad[_i].json, flaw.message);
    ck_assert_ptr_null(r.reason);
}

TEST(too_long)
{
    struct access_review r = {0};
    cleanup(mem_free_ptr) char *much = mem_alloc(ACCESS_REVIEW_MAX_BYTES + 2);
    memset(much, ' ', ACCESS_REVIEW_MAX_BYTES + 1);
    ck_assert_int_eq(access_review_decode(much, strlen(much), &r, &flaw), -1);
}

TEST(who_we_are)
{
    static const char json[] =
        "{\"kind\":\"SelfSubjectReview\",\"status\":{\"userInfo\":{\"username\":\"system:serviceaccount:a:b\","
        "\"groups\":[\"x\"]}}}";
    static const char *const none[] = {"{\"kind\":\"SelfSubjectReview\"}",
                                       "{\"kind\":\"SelfSubjectReview\",\"status\":{\"userInfo\":{\"username\":\"\"}}}",
                                       "{\"kind\":\"SelfSubjectReview\",\"status\":{\"userInfo\":{\"username\":7}}}",
                                       "[]"};
    char *user = NULL;
    ck_assert_int_eq(self_review_decode(json, strlen(json), &user, &flaw), 0);
    ck_assert_str_eq(user, "system:serviceaccount:a:b");
    free(user);
    user = NULL;
    for (size_t i = 0; i < array_len(none); i++) {
        ck_assert_int_eq(self_review_decode(none[i], strlen(none[i]), &user, &flaw), -1);
        ck_assert_ptr_null(user);
    }
    ck_assert_str_eq(self_review_body, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}");
}

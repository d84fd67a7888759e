/* The hint for a 403: rights for who is known, credentials for who is not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kube/client.h"

#define OF(user)                                                                                                   \
    "HTTP 403: nodes is forbidden: User " user " cannot list resource \"nodes\" in API group \"\" at the cluster " \
    "scope"
#define RIGHTS "deploy/rbac.yaml grants it"
#define SECRETS "deploy/config/rbac.yaml grants it"
#define TEMPLATES "a Role or ClusterRole has to grant it, which the chart makes of templates.watch"
#define CREDENTIALS "no credentials are sent"

static const struct {
    const char *said, *wanted;
} rows[] = {
    {OF("\"system:anonymous\""), CREDENTIALS},
    {OF("\"system:serviceaccount:ingress-nginx:haproxy-k8s-sync\""), RIGHTS},
    {OF("\"system:anonymous-2\""), RIGHTS},
    {"secrets \"a\" is forbidden: User \"u\" cannot watch resource \"secrets\" in API group", SECRETS},
    {"secrets \"a\" is forbidden: User \"system:anonymous\" cannot watch resource \"secrets\"", CREDENTIALS},
    {"endpoints \"secrets\" is forbidden: User \"u\" cannot watch resource \"endpoints\" in API group", RIGHTS},
    {"pods is forbidden: User \"u\" cannot watch resource \"pods\" in API group \"\" in the namespace \"shop\"",
     TEMPLATES},
    {"nodesets is forbidden: User \"u\" cannot list resource \"nodesets\" in API group \"example.com\"", TEMPLATES},
    {"no", RIGHTS},
    {"", RIGHTS},
};

START_TEST(cure_of_a_refusal)
{
    const char *hint = kube_client_refusal_hint(rows[_i].said);
    ck_assert_msg(strncmp(hint, rows[_i].wanted, strlen(rows[_i].wanted)) == 0, "%s: %s", rows[_i].said, hint);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refusal");
    TCase *t = tcase_create("refusal");
    tcase_add_loop_test(t, cure_of_a_refusal, 0, (int)array_len(rows));
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

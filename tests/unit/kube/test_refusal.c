/* The hint for a 403: rights for who is known, credentials for who is not. */

#include "kube/client.h"

#include "../test.h"
#include "kube/outage.h"

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

TEST_EACH(cure_of_a_refusal, array_len(rows))
{
    const char *hint = kube_refusal_hint(rows[_i].said);
    ck_assert_msg(strncmp(hint, rows[_i].wanted, strlen(rows[_i].wanted)) == 0, "%s: %s", rows[_i].said, hint);
}

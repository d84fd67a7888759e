#include "kube/refusal.h"

#include <string.h>

const char *refusal_hint(const char *said)
{
    return strstr(said, "\"system:anonymous\"") != NULL
               ? "no credentials are sent: the kubeconfig's user needs a token, a client certificate or a plugin"
               : "deploy/rbac.yaml grants it";
}

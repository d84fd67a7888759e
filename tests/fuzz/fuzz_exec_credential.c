/* Whatever a credential plugin prints: whole credentials that can go into a header, or an error with a text. */
#include "settings/kubeconfig/kubeconfig.h"
#include "kube/exec_plugin.h"
#include "fuzz.h"

static void check_answer(const struct exec_answer *a)
{
    check(a->token != NULL || a->cert_pem != NULL);
    check((a->cert_pem == NULL) == (a->key_pem == NULL));
    check(a->cert_pem == NULL || (a->cert_pem[0] != '\0' && a->key_pem[0] != '\0'));
    for (const char *s = a->token; s != NULL && *s != '\0'; s++)
        check(*s > ' ' && *s < 0x7f);
    int64_t at = exec_credential_renew_at_ms(a->expires_ms, 1795292101000, EXEC_CREDENTIAL_NEVER);
    check((at == EXEC_CREDENTIAL_NEVER) == (a->expires_ms == EXEC_CREDENTIAL_NEVER));
    check(at == EXEC_CREDENTIAL_NEVER || at <= a->expires_ms + 1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exec_answer a;
    struct error err;
    error_clear(&err);
    if (exec_credential_decode((const char *)data, size, KUBE_EXEC_V1, &a, &err) == 0) {
        check_answer(&a);
        exec_answer_fini(&a);
    } else {
        check(err.kind == ERROR_INVALID && err.message[0] != '\0');
    }
    return 0;
}

/*
 * The two texts between the daemon and a credential plugin: its input (in KUBERNETES_EXEC_INFO), and what it answers on its
 * standard output. Both are an ExecCredential of client.authentication.k8s.io, v1 or v1beta1; what is demanded of the
 * answer is what client-go 1.34 demands. https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
 */
#ifndef KUBE_EXEC_CREDENTIAL_H
#define KUBE_EXEC_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

struct kube_access;

#define EXEC_CREDENTIAL_MAX_BYTES (1u << 20)   /* of an answer */
#define EXEC_CREDENTIAL_MAX_TOKEN (64u * 1024) /* what no server takes in a header */
#define EXEC_CREDENTIAL_NEVER INT64_MAX

/* Secrets; each NULL where the answer does not have it. */
struct exec_answer {
    char *token;
    char *cert_pem, *key_pem; /* both or neither; not parsed yet */
    int64_t expires_ms;       /* since the Unix epoch; EXEC_CREDENTIAL_NEVER: not said */
};

/* The JSON for KUBERNETES_EXEC_INFO. ca_pem: the CA's certificates as they are now, NULL: the system's; of use only
 * where the plugin asks for the cluster. Allocates. */
char *exec_credential_request(const struct kube_access *access, const char *ca_pem) must_check;

/* json: of at most EXEC_CREDENTIAL_MAX_BYTES. ERROR_INVALID, with nothing of the answer's secrets in its text. */
int exec_credential_decode(const char *json, size_t len, const char *api_version, struct exec_answer *ret,
                           struct error *err) must_check;
void exec_answer_fini(struct exec_answer *a); /* wipes */

/* When to run the plugin again, since the Unix epoch; EXEC_CREDENTIAL_NEVER: only when the credentials are refused.
 * previous_ms: when the credentials before these expired. */
int64_t exec_credential_renew_at_ms(int64_t expires_ms, int64_t received_ms, int64_t previous_ms);

#endif

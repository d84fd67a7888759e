/*
 * Credentials by a plugin: the program runs as a child process, its answer is kept, and it is run again
 *   - a little before the answer expires (exec_credential_renew_at_ms), by the wall clock, which is read once a minute,
 *   - when the server refuses the answer: once for each answer,
 *   - after it failed, with a pause of 1 s to 1 min; the same pauses hold where each new answer is refused, too.
 * Never two at a time, and none before credentials are needed. The last answer stays in use, also an expired one, while
 * the plugin runs again or fails; a refused one is not used while the plugin runs, but it is after that has failed,
 * since a server that starts may refuse everything for a while.
 *
 * Two texts go between the daemon and a plugin: its input (in KUBERNETES_EXEC_INFO), and what it answers on its standard
 * output. Both are an ExecCredential of client.authentication.k8s.io, v1 or v1beta1; what is demanded of the answer is what
 * client-go 1.34 demands. https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/log.h"

struct event_base;
struct exec_plugin;
struct kube_access;
struct tls_files;

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

struct exec_plugin_options {
    struct event_base *base;
    const struct kube_access *access; /* with an exec; what is needed of it is copied */
    struct tls_files *tls;            /* borrowed; gets the client certificates, has the CA */
    const struct log *log;            /* borrowed */
    uint64_t timeout_ms;              /* of one run; 0: 60 s */
    uint64_t pause_ms;                /* the shortest between two runs; 0: 1 s */
};

/* changed: a run has ended, and in the meantime a caller had to wait, or reported a refusal. From the loop, never
 * from inside a call of this one. */
struct exec_plugin *exec_plugin_new(const struct exec_plugin_options *options, void (*changed)(void *arg),
                                    void *arg) must_check;
void exec_plugin_free(struct exec_plugin *p); /* kills the program; NULL is allowed */

/* 0: *ret_token is what to send, valid until the loop turns, or NULL where a client certificate is all. -1,
 * ERROR_RETRY: there are no credentials yet; the plugin runs, or why it failed and when it is run again. */
int exec_plugin_use(struct exec_plugin *p, const char **ret_token, struct error *err) must_check;

/* Whether it would fail. */
bool exec_plugin_lacks(const struct exec_plugin *p);

/* A request with the last answer got a 401. */
void exec_plugin_refused(struct exec_plugin *p);

/* Adds how it stands; true where there are credentials that are good as far as is known. */
bool exec_plugin_ready(const struct exec_plugin *p, const char **ret_command, struct buf *text);

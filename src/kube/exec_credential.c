#include "kube/exec_credential.h"

#include <stdbool.h>
#include <string.h>
#include <yyjson.h>

#include "base/rfc3339.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/write.h"
#include "base/base64.h"
#include "settings/kubeconfig/kubeconfig.h"

#define KIND "ExecCredential"
#define GO_ZERO_TIME_MS (-62135596800000) /* 0001-01-01T00:00:00Z: how a program in Go says nothing */
#define LEAD_MS 30000
#define AFTER_MS 1000

/* ---- its input ---- */

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *key, const char *value)
{
    if (value != NULL)
        json_put_text(doc, to, key, value);
}

char *exec_credential_request(const struct kube_access *access, const char *ca_pem)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    put_text(doc, root, "kind", KIND);
    put_text(doc, root, "apiVersion", access->exec->api_version);
    yyjson_mut_val *spec = json_put_object(doc, root, "spec");
    if (access->exec->provide_cluster_info) {
        /* In the order and with the omissions of client-go. */
        yyjson_mut_val *cluster = json_put_object(doc, spec, "cluster");
        cleanup(mem_free_ptr) char *ca = ca_pem != NULL ? base64_encode(ca_pem, strlen(ca_pem)) : NULL;
        put_text(doc, cluster, "server", access->server);
        put_text(doc, cluster, "tls-server-name", access->server_name);
        if (access->insecure)
            json_put_bool(doc, cluster, "insecure-skip-tls-verify", true);
        put_text(doc, cluster, "certificate-authority-data", ca);
        put_text(doc, cluster, "proxy-url", access->proxy_url);
        const char *config = access->exec->cluster_config != NULL ? access->exec->cluster_config : "null";
        json_put(doc, cluster, "config", yyjson_mut_rawcpy(doc, config));
    }
    json_put_bool(doc, spec, "interactive", false);
    return json_take(doc);
}

/* ---- what it answers ---- */

/* *ret NULL: absent, null or "". */
static int get_text(yyjson_val *of, const char *key, char **ret, struct error *err)
{
    yyjson_val *v = yyjson_obj_get(of, key);
    *ret = NULL;
    if (v == NULL || yyjson_is_null(v))
        return 0;
    if (!yyjson_is_str(v) || strlen(yyjson_get_str(v)) != yyjson_get_len(v))
        return error_set(err, ERROR_INVALID, "status.%s is not a string", key);
    if (yyjson_get_len(v) > 0)
        *ret = mem_strdup(yyjson_get_str(v));
    return 0;
}

static int exec_credential_read_status(yyjson_val *status, struct exec_answer *a, struct error *err)
{
    if (status == NULL || yyjson_is_null(status))
        return error_set(err, ERROR_INVALID, "it has no status");
    if (!yyjson_is_obj(status))
        return error_set(err, ERROR_INVALID, "its status is not an object");
    if (get_text(status, "token", &a->token, err) != 0 ||
        get_text(status, "clientCertificateData", &a->cert_pem, err) != 0 ||
        get_text(status, "clientKeyData", &a->key_pem, err) != 0)
        return -1;
    yyjson_val *expiry = yyjson_obj_get(status, "expirationTimestamp");
    int64_t us;
    if (expiry != NULL && !yyjson_is_null(expiry)) {
        if (!yyjson_is_str(expiry) || rfc3339_parse(yyjson_get_str(expiry), &us) != 0)
            return error_set(err, ERROR_INVALID,
                             "status.expirationTimestamp is not an RFC 3339 time such as 2030-01-02T15:04:05Z");
        if (us / 1000 != GO_ZERO_TIME_MS)
            a->expires_ms = us / 1000000 * 1000; /* without a fraction */
    }
    if (a->token == NULL && a->cert_pem == NULL && a->key_pem == NULL)
        return error_set(err, ERROR_INVALID, "it has neither a token nor a client certificate");
    if ((a->cert_pem == NULL) != (a->key_pem == NULL))
        return error_set(err, ERROR_INVALID, "it has a client %s without its %s",
                         a->cert_pem != NULL ? "certificate" : "key", a->cert_pem != NULL ? "key" : "certificate");
    /* The token goes into a header as it is. */
    if (a->token != NULL && strlen(a->token) > EXEC_CREDENTIAL_MAX_TOKEN)
        return error_set(err, ERROR_INVALID, "status.token is longer than 64 KiB");
    for (const char *s = a->token; s != NULL && *s != '\0'; s++)
        if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
            return error_set(err, ERROR_INVALID,
                             "status.token holds a line break, a space or another character that no token has");
    return 0;
}

static int exec_credential_read_answer(const char *json, size_t len, yyjson_alc *memory, const char *api_version,
                                       struct exec_answer *a, struct error *err)
{
    yyjson_read_err why;
    /* Without YYJSON_READ_INSITU it only reads. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, len, 0, memory, &why);
    if (doc == NULL)
        return error_set(err, ERROR_INVALID, "not JSON (%zu bytes): at byte %zu: %s", len, why.pos + 1, why.msg);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *version = yyjson_get_str(yyjson_obj_get(root, "apiVersion"));
    if (!yyjson_equals_str(yyjson_obj_get(root, "kind"), KIND))
        return error_set(err, ERROR_INVALID, "it is not an object of kind " KIND);
    if (!str_eq(version, api_version))
        return error_set(err, ERROR_INVALID, "its apiVersion is %.100s: the kubeconfig asks for %s",
                         version != NULL ? version : "missing", api_version);
    return exec_credential_read_status(yyjson_obj_get(root, "status"), a, err);
}

int exec_credential_decode(const char *json, size_t len, const char *api_version, struct exec_answer *ret,
                           struct error *err)
{
    if (len == 0)
        return error_set(err, ERROR_INVALID, "it printed nothing");
    if (len > EXEC_CREDENTIAL_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "more than 1 MiB");
    /* Memory of our own, so that it can be wiped: the parser copies what it reads. */
    size_t size = yyjson_read_max_memory_usage(len, 0);
    char *memory = mem_alloc(size);
    yyjson_alc pool;
    struct exec_answer a = {.expires_ms = EXEC_CREDENTIAL_NEVER};
    if (!yyjson_alc_pool_init(&pool, memory, size))
        abort(); /* it is as large as it was said to have to be */
    int rc = exec_credential_read_answer(json, len, &pool, api_version, &a, err);
    explicit_bzero(memory, size);
    free(memory);
    if (rc == 0)
        *ret = a;
    else
        exec_answer_fini(&a);
    return rc;
}

void exec_answer_fini(struct exec_answer *a)
{
    mem_wipe_free(a->token);
    mem_wipe_free(a->cert_pem);
    mem_wipe_free(a->key_pem);
    *a = (struct exec_answer){.expires_ms = EXEC_CREDENTIAL_NEVER};
}

/*
 * client-go runs a plugin when a request finds its credentials expired, and lets that request wait. Here nothing waits:
 * it is run so much earlier that the new ones are there in time, which is more than a plugin needs and little of the
 * minutes that such credentials live; of short-lived ones, a tenth. A plugin that keeps its credentials until they
 * expire gives the same ones again then: it is asked right after.
 */
int64_t exec_credential_renew_at_ms(int64_t expires_ms, int64_t received_ms, int64_t previous_ms)
{
    if (expires_ms == EXEC_CREDENTIAL_NEVER)
        return EXEC_CREDENTIAL_NEVER;
    if (expires_ms == previous_ms || expires_ms <= received_ms)
        return expires_ms + AFTER_MS;
    int64_t tenth = (expires_ms - received_ms) / 10;
    return expires_ms - (tenth < LEAD_MS ? tenth : LEAD_MS);
}

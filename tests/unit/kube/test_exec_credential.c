/* What a credential plugin is given and what is made of its answers. */
#include "kube/exec_plugin.h"

#include "settings/kubeconfig/kubeconfig.h"

#include "../test.h"

#define V1 "client.authentication.k8s.io/v1"
#define HEAD "\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\""
#define ANSWER(status) "{" HEAD ",\"status\":{" status "}}"

static char server[] = "https://10.0.0.1:6443", v1[] = V1, v1beta1[] = V1 "beta1", command[] = "aws";
static char *none[] = {NULL};

TEST(without_the_cluster)
{
    struct kube_exec exec = {.api_version = v1, .command = command, .args = none, .env = none};
    struct kube_access access = {.server = server, .exec = &exec};
    cleanup(mem_free_ptr) char *text = exec_credential_request(&access, "x");
    ck_assert_str_eq(text, "{" HEAD ",\"spec\":{\"interactive\":false}}");
    exec.api_version = v1beta1;
    cleanup(mem_free_ptr) char *beta = exec_credential_request(&access, "x");
    ck_assert_str_eq(beta,
                     "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\",\"spec\":{\"interactive\":false}}");
}

TEST(with_the_cluster)
{
    char name[] = "api", proxy[] = "http://me:pw@proxy:3128", config[] = "{\"audience\":\"x\",\"n\":[1,null]}";
    struct kube_exec exec = {
        .api_version = v1, .command = command, .args = none, .env = none, .provide_cluster_info = true};
    struct kube_access access = {.server = server, .exec = &exec};
    cleanup(mem_free_ptr) char *least = exec_credential_request(&access, NULL);
    ck_assert_str_eq(least, "{" HEAD ",\"spec\":{\"cluster\":{\"server\":\"https://10.0.0.1:6443\",\"config\":null},"
                            "\"interactive\":false}}");
    exec.cluster_config = config;
    access.server_name = name;
    access.insecure = true;
    access.proxy_url = proxy;
    cleanup(mem_free_ptr) char *most = exec_credential_request(&access, "-----BEGIN\n");
    ck_assert_str_eq(most, "{" HEAD
                           ",\"spec\":{\"cluster\":{\"server\":\"https://10.0.0.1:6443\",\"tls-server-name\":\"api\","
                           "\"insecure-skip-tls-verify\":true,\"certificate-authority-data\":\"LS0tLS1CRUdJTgo=\","
                           "\"proxy-url\":\"http://me:pw@proxy:3128\",\"config\":{\"audience\":\"x\",\"n\":[1,null]}},"
                           "\"interactive\":false}}");
}

#define NEVER EXEC_CREDENTIAL_NEVER
static const struct {
    const char *json, *token, *cert, *key;
    int64_t expires_ms;
} good[] = {
    {ANSWER("\"token\":\"t\""), "t", NULL, NULL, NEVER},
    {"\n { \"apiVersion\": \"" V1 "\", \"kind\": \"ExecCredential\", \"spec\": {\"interactive\": true}, \"more\": 1,\n"
     "\"status\": {\"token\": \"a.b-c_d~+/=\", \"more\": []} }\n\n",
     "a.b-c_d~+/=", NULL, NULL, NEVER},
    {ANSWER("\"clientCertificateData\":\"C\\n\",\"clientKeyData\":\"K\\n\""), NULL, "C\n", "K\n", NEVER},
    {ANSWER("\"token\":\"t\",\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\""), "t", "C", "K", NEVER},
    {ANSWER("\"token\":\"t\",\"clientCertificateData\":\"\",\"clientKeyData\":null"), "t", NULL, NULL, NEVER},
    {ANSWER("\"token\":\"t\",\"expirationTimestamp\":null"), "t", NULL, NULL, NEVER},
    {ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"2026-11-21T20:15:01Z\""), "t", NULL, NULL, 1795292101000},
    {ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"2026-11-21T22:15:01+02:00\""), "t", NULL, NULL, 1795292101000},
    {ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"1969-12-31T23:59:59Z\""), "t", NULL, NULL, -1000},
    {ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"0001-01-01T00:00:00Z\""), "t", NULL, NULL, NEVER},
    {ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"9999-12-31T23:59:59Z\""), "t", NULL, NULL, 253402300799000},
};

TEST_EACH(good_answers, array_len(good))
{
    cleanup(exec_answer_fini) struct exec_answer a = {0};
    int rc = exec_credential_decode(good[_i].json, strlen(good[_i].json), V1, &a, &flaw);
    ck_assert_msg(rc == 0, "%s", rc == 0 ? "" : flaw.message);
    ck_assert_pstr_eq(a.token, good[_i].token);
    ck_assert_pstr_eq(a.cert_pem, good[_i].cert);
    ck_assert_pstr_eq(a.key_pem, good[_i].key);
    ck_assert_int_eq(a.expires_ms, good[_i].expires_ms);
}

TEST(the_old_version_is_the_same_but_for_its_name)
{
    static const char json[] =
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\",\"status\":{\"token\":\"t\"}}";
    struct exec_answer a = {0};
    ck_assert_int_eq(exec_credential_decode(json, strlen(json), V1, &a, &flaw), -1);
    ck_assert_str_eq(flaw.message, "its apiVersion is " V1 "beta1: the kubeconfig asks for " V1);
    ck_assert_int_eq(exec_credential_decode(json, strlen(json), V1 "beta1", &a, &flaw), 0);
    exec_answer_fini(&a);
}

#define EXPIRES(time) ANSWER("\"token\":\"hunter2\",\"expirationTimestamp\":" time)
#define NO_TIME "status.expirationTimestamp is not an RFC 3339 time"
static const struct {
    const char *json, *says;
} bad[] = {
    {"", "it printed nothing"},
    {"hunter2\n", "not JSON (8 bytes): at byte 1: "},
    {"{\"token\": \"hunter2\"", "not JSON (19 bytes): at byte 20: "},
    {ANSWER("\"token\":\"hunter2\"") "{}", "not JSON"},
    {ANSWER("\"token\":\"hunter2\xff\""), "not JSON"},
    {"[]", "it is not an object of kind ExecCredential"},
    {"{\"kind\":\"TokenReview\",\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"hunter2\"}}",
     "not an object of kind"},
    {"{\"kind\":1,\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"hunter2\"}}", "not an object of kind"},
    {"{\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"hunter2\"}}", "not an object of kind"},
    {"{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"hunter2\"}}",
     "its apiVersion is missing: the kubeconfig asks for " V1},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\",\"status\":{\"token\":\"hunter2\"}}",
     "its apiVersion is v1: "},
    {"{" HEAD "}", "it has no status"},
    {"{" HEAD ",\"Status\":{\"token\":\"hunter2\"}}", "it has no status"},
    {"{" HEAD ",\"status\":\"hunter2\"}", "its status is not an object"},
    {ANSWER(""), "it has neither a token nor a client certificate"},
    {ANSWER("\"Token\":\"hunter2\""), "it has neither a token"},
    {ANSWER("\"token\":12345"), "status.token is not a string"},
    {ANSWER("\"token\":\"hunter2\\n\""), "status.token holds a line break"},
    {ANSWER("\"token\":\"hunter2 b\""), "status.token holds a line break, a space"},
    {ANSWER("\"token\":\"hunter2\\u00e9\""), "another character that no token has"},
    {ANSWER("\"clientCertificateData\":\"hunter2\""), "a client certificate without its key"},
    {ANSWER("\"clientKeyData\":\"hunter2\""), "a client key without its certificate"},
    {ANSWER("\"token\":\"t\",\"clientKeyData\":1"), "status.clientKeyData is not a string"},
    {ANSWER("\"token\":\"t\",\"clientCertificateData\":{}"), "status.clientCertificateData is not a string"},
    {EXPIRES("1795292101"), NO_TIME},
    {EXPIRES("\"tomorrow\""), NO_TIME},
    {EXPIRES("\"2026-11-21T20:15:01\""), NO_TIME},
    {EXPIRES("\"2026-11-21T20:15:01+0200\""), NO_TIME},
    {EXPIRES("\"2026-02-29T20:15:01Z\""), NO_TIME},
    {EXPIRES("\"2026-11-21T20:15:60Z\""), NO_TIME},
};

TEST_EACH(bad_answers, array_len(bad))
{
    char untouched[] = "untouched";
    struct exec_answer a = {.token = untouched};
    ck_assert_int_eq(exec_credential_decode(bad[_i].json, strlen(bad[_i].json), V1, &a, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, bad[_i].says) != NULL, "%s", flaw.message);
    ck_assert_msg(strstr(flaw.message, "hunter2") == NULL, "a secret is shown: %s", flaw.message);
    ck_assert_ptr_eq(a.token, untouched);
}

static int decode_token(size_t len, struct error *err)
{
    cleanup(mem_free_ptr) char *token = mem_alloc(len + 1);
    memset(token, 'x', len);
    cleanup(mem_free_ptr) char *json = mem_printf(ANSWER("\"token\":\"%s\""), token);
    cleanup(exec_answer_fini) struct exec_answer a = {0};
    return exec_credential_decode(json, strlen(json), V1, &a, err);
}

TEST(large_answers)
{
    ck_assert_int_eq(decode_token(64 * 1024, &flaw), 0);
    ck_assert_int_eq(decode_token(64 * 1024 + 1, &flaw), -1);
    ck_assert_str_eq(flaw.message, "status.token is longer than 64 KiB");
    ck_assert_int_eq(decode_token(1 << 20, &flaw), -1);
    ck_assert_str_eq(flaw.message, "more than 1 MiB");
    struct buf deep = {0};
    for (int i = 0; i < 300000; i++)
        buf_add(&deep, "[[[");
    struct exec_answer a;
    ck_assert_int_eq(exec_credential_decode(deep.data, deep.len, V1, &a, &flaw), -1);
    buf_fini(&deep);
}

static const struct {
    int64_t expires, received, previous, at;
} renewals[] = {
    {NEVER, 5000, NEVER, NEVER},     {NEVER, 5000, 900000, NEVER},
    {905000, 5000, NEVER, 875000},                                     /* 15 minutes: half a minute earlier */
    {305000, 5000, NEVER, 275000},   {105000, 5000, NEVER, 95000},     /* a tenth earlier */
    {15000, 5000, NEVER, 14000},     {905000, 880000, 905000, 906000}, /* it keeps them to the end */
    {905000, 907000, NEVER, 906000},                                   /* expired already */
    {905000, 905000, NEVER, 906000},
};

TEST_EACH(when_it_is_run_again, array_len(renewals))
{
    int64_t at = exec_credential_renew_at_ms(renewals[_i].expires, renewals[_i].received, renewals[_i].previous);
    ck_assert_int_eq(at, renewals[_i].at);
}

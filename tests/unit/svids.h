/* X.509 SVIDs and what a SPIFFE Workload API says of them, made by OpenSSL, for tests. */
#pragma once

#include "test.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define DOMAIN "spiffe://example.test"
#define OURS DOMAIN "/us"
#define AN_HOUR_S 3600

/* ---- certificates ---- */

struct authority {
    EVP_PKEY *key;
    X509 *x;
};

static struct authority ca, other;
static EVP_PKEY *leaf_key;

static inline void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    ck_assert_msg(e != NULL, "%s", value);
    X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
}

/* by NULL: itself. */
static inline X509 *certificate(EVP_PKEY *key, const char *name, const struct authority *by, long seconds)
{
    static long serial;
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), seconds < 0 ? seconds - AN_HOUR_S : -AN_HOUR_S);
    X509_gmtime_adj(X509_getm_notAfter(x), seconds);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, by != NULL ? X509_get_subject_name(by->x) : X509_get_subject_name(x));
    X509_set_pubkey(x, key);
    return x;
}

static inline struct authority new_authority(const char *name)
{
    struct authority a = {.key = EVP_EC_gen("P-256")};
    a.x = certificate(a.key, name, NULL, AN_HOUR_S);
    extend(a.x, a.x, NID_basic_constraints, "critical,CA:TRUE");
    extend(a.x, a.x, NID_key_usage, "critical,keyCertSign,cRLSign");
    ck_assert_int_gt(X509_sign(a.x, a.key, EVP_sha256()), 0);
    return a;
}

struct kind {
    const struct authority *by;
    const char *names, *constraints, *usage, *purpose; /* NULL: none */
    long seconds;
};

static inline X509 *leaf(const struct kind *k)
{
    X509 *x = certificate(leaf_key, "leaf", k->by, k->seconds != 0 ? k->seconds : AN_HOUR_S);
    extend(x, k->by->x, NID_basic_constraints, k->constraints != NULL ? k->constraints : "critical,CA:FALSE");
    if (k->names != NULL)
        extend(x, k->by->x, NID_subject_alt_name, k->names);
    if (k->usage != NULL)
        extend(x, k->by->x, NID_key_usage, k->usage);
    if (k->purpose != NULL)
        extend(x, k->by->x, NID_ext_key_usage, k->purpose);
    ck_assert_int_gt(X509_sign(x, k->by->key, EVP_sha256()), 0);
    return x;
}

static inline void svids_setup(void)
{
    ca = new_authority("ca");
    other = new_authority("other");
    leaf_key = EVP_EC_gen("P-256");
}

static inline void svids_teardown(void)
{
    X509_free(ca.x);
    X509_free(other.x);
    EVP_PKEY_free(ca.key);
    EVP_PKEY_free(other.key);
    EVP_PKEY_free(leaf_key);
}

/* ---- messages ---- */

static inline void add_field(struct buf *out, unsigned number, const void *bytes, size_t len)
{
    unsigned char head[] = {(unsigned char)(number << 3 | 2), 0, 0, 0};
    for (int i = 1; i < 4; i++)
        head[i] = (unsigned char)(((len >> (7 * (i - 1))) & 0x7f) | (i < 3 ? 0x80 : 0));
    buf_addn(out, (const char *)head, sizeof(head));
    buf_addn(out, bytes, len);
}

static inline void add_text(struct buf *out, unsigned number, const char *text)
{
    add_field(out, number, text, strlen(text));
}

static inline void add_der(struct buf *out, X509 *x)
{
    unsigned char *der = NULL;
    int len = i2d_X509(x, &der);
    buf_addn(out, (const char *)der, (size_t)len);
    OPENSSL_free(der);
}

static inline void add_certificate(struct buf *out, unsigned number, X509 *x)
{
    cleanup(buf_fini) struct buf der = {0};
    add_der(&der, x);
    add_field(out, number, der.data, der.len);
}

static inline void add_key(struct buf *out, EVP_PKEY *key)
{
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    unsigned char *der = NULL;
    int len = i2d_PKCS8_PRIV_KEY_INFO(info, &der);
    add_field(out, 3, der, (size_t)len);
    OPENSSL_free(der);
    PKCS8_PRIV_KEY_INFO_free(info);
}

static inline void add_svid(struct buf *out, const char *id, X509 *x, EVP_PKEY *key, X509 *bundle)
{
    cleanup(buf_fini) struct buf svid = {0};
    add_text(&svid, 1, id);
    add_certificate(&svid, 2, x);
    add_key(&svid, key);
    add_certificate(&svid, 4, bundle);
    add_text(&svid, 5, "a hint");
    add_field(out, 1, svid.data, svid.len);
}

static inline void add_federated(struct buf *out, const char *domain, X509 *bundle)
{
    cleanup(buf_fini) struct buf entry = {0};
    add_text(&entry, 1, domain);
    add_certificate(&entry, 2, bundle);
    add_field(out, 3, entry.data, entry.len);
}

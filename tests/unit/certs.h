/* Throwaway keys and self-signed certificates as PEM text, for tests of TLS material. */
#pragma once

#include "test.h"
#include <openssl/pem.h>
#include <openssl/x509.h>

static inline char *certs_text(BIO *out)
{
    char *at;
    long len = BIO_get_mem_data(out, &at);
    char *text = mem_strndup(at, (size_t)len);
    BIO_free(out);
    return text;
}

/* passphrase NULL: in the clear. */
static inline char *certs_key_pem(EVP_PKEY *key, const char *passphrase)
{
    BIO *out = BIO_new(BIO_s_mem());
    ck_assert_int_eq(PEM_write_bio_PKCS8PrivateKey(out, key, passphrase != NULL ? EVP_aes_128_cbc() : NULL, passphrase,
                                                   passphrase != NULL ? (int)strlen(passphrase) : 0, NULL, NULL),
                     1);
    return certs_text(out);
}

/* Ends in so many seconds, which may be negative. */
static inline char *certs_cert_pem_for(EVP_PKEY *key, long seconds)
{
    X509 *x = X509_new();
    X509_NAME *name = X509_get_subject_name(x);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), seconds < 0 ? seconds - 3600 : 0);
    X509_gmtime_adj(X509_getm_notAfter(x), seconds);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_set_pubkey(x, key);
    ck_assert_int_gt(X509_sign(x, key, EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256()), 0);
    BIO *out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, x);
    X509_free(x);
    return certs_text(out);
}

static inline char *certs_cert_pem(EVP_PKEY *key)
{
    return certs_cert_pem_for(key, 3600);
}

#include "net/pem.h"

#include <openssl/core_names.h>
#include <time.h>
#include <unistd.h>

#include "../certs.h"

static EVP_PKEY *key, *other;
static char *cert, *key_pem, *other_pem, *locked_pem;

static void setup(void)
{
    key = EVP_EC_gen("P-256");
    other = EVP_EC_gen("P-256");
    cert = certs_cert_pem(key);
    key_pem = certs_key_pem(key, NULL);
    other_pem = certs_key_pem(other, NULL);
    locked_pem = certs_key_pem(key, "secret");
}

static void teardown(void)
{
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
    free(cert);
    free(key_pem);
    free(other_pem);
    free(locked_pem);
}

static void assert_bad_certificates(const char *pem, const char *message)
{
    ck_assert_int_eq(pem_check_certificates(pem, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_FATAL);
    ck_assert_msg(strstr(flaw.message, message) != NULL, "%s has no %s", flaw.message, message);
}

FIXTURE(setup, teardown)

static void assert_bad_key(const char *pem, const char *cert_pem, const char *message)
{
    ck_assert_int_eq(pem_check_key(pem, cert_pem, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_FATAL);
    ck_assert_msg(strstr(flaw.message, message) != NULL, "%s has no %s", flaw.message, message);
}

/* Of a certificate that says it is encrypted OpenSSL asks the passphrase at the terminal, or of standard input: a daemon that
 * waits there is dead. */
TEST(nobody_is_asked_for_a_passphrase)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----\n";
    cleanup(mem_free_ptr) char *locked =
        mem_printf("%sProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n%s", begin,
                   cert + strlen(begin));
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0); /* nothing will ever come */
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    setsid();
    assert_bad_certificates(locked, "certificate 1 cannot be read");
    assert_bad_key(key_pem, locked, "does not belong");
    ck_assert(pem_not_after_s(locked, true) == INT64_MAX);
}

TEST(a_key_that_is_too_short_for_today)
{
    EVP_PKEY *rsa = EVP_RSA_gen(1024);
    cleanup(mem_free_ptr) char *rsa_cert = certs_cert_pem(rsa), *rsa_pem = certs_key_pem(rsa, NULL);
    ck_assert_int_eq(pem_check_certificates(rsa_cert, &flaw), 0);
    assert_bad_key(rsa_pem, rsa_cert, "key too small");
    EVP_PKEY_free(rsa);
}

/* By another one's key. */
static char *certs_signed_pem(EVP_PKEY *its, EVP_PKEY *issuer, const EVP_MD *digest)
{
    cleanup(mem_free_ptr) char *own = certs_cert_pem(issuer);
    BIO *in = BIO_new_mem_buf(own, -1), *out = BIO_new(BIO_s_mem());
    X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
    X509_NAME *name = X509_NAME_new();
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"shop", -1, -1, 0);
    X509_set_subject_name(x, name);
    X509_NAME_free(name);
    X509_set_pubkey(x, its);
    ck_assert_int_gt(X509_sign(x, issuer, digest), 0);
    PEM_write_bio_X509(out, x);
    X509_free(x);
    BIO_free(in);
    return certs_text(out);
}

static void assert_not_served(const char *pem, const char *message)
{
    ck_assert_int_eq(pem_check_served(pem, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, message) != NULL, "%s has no %s", flaw.message, message);
}

TEST(a_server_shows_no_weak_one_alone_or_in_its_chain)
{
    EVP_PKEY *rsa = EVP_RSA_gen(1024);
    cleanup(mem_free_ptr) char *weak = certs_cert_pem(rsa), *good = mem_printf("%s%s", cert, key_pem),
                               *chain = mem_printf("%s%s%s", cert, weak, key_pem),
                               *fine = mem_printf("%s%s%s", cert, cert, key_pem);
    EVP_PKEY_free(rsa);
    ck_assert_int_eq(pem_check_served(good, &flaw), 0);
    ck_assert_int_eq(pem_check_served(fine, &flaw), 0);
    assert_not_served(weak, "certificate 1 of it: ee key too small");
    assert_not_served(chain, "certificate 2 of it: ca key too small");
}

/* Curves that are too short, and what another one has signed by SHA-1. */
TEST(a_server_shows_no_odd_curve_and_no_old_digest)
{
    static const struct {
        const char *curve;
        const EVP_MD *(*digest)(void);
        const char *says; /* NULL: it is served */
    } rows[] = {{"P-256", EVP_sha256, NULL},
                {"prime192v1", EVP_sha256, "ee key too small"},
                {"SM2", EVP_sha256, "unknown certificate type"},
                {"P-256", EVP_sha1, "ca md too weak"}};
    EVP_PKEY *issuer = EVP_EC_gen("P-256");
    for (size_t i = 0; i < array_len(rows); i++) {
        EVP_PKEY *its = EVP_EC_gen(rows[i].curve);
        cleanup(mem_free_ptr) char *pem = certs_signed_pem(its, issuer, rows[i].digest());
        EVP_PKEY_free(its);
        if (rows[i].says != NULL)
            assert_not_served(pem, rows[i].says);
        else
            ck_assert_int_eq(pem_check_served(pem, &flaw), 0);
    }
    EVP_PKEY_free(issuer);
}

static EVP_PKEY *key_of(const char *kind, int selection, OSSL_PARAM *numbers)
{
    EVP_PKEY *made = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    ck_assert_int_eq(EVP_PKEY_fromdata_init(context), 1);
    ck_assert_int_eq(EVP_PKEY_fromdata(context, &made, selection, numbers), 1);
    EVP_PKEY_CTX_free(context);
    return made;
}

/* Its certificate with a private key that has one number of that many bits. */
static char *server_with_exponent(EVP_PKEY *rsa, unsigned bits)
{
    unsigned char number[8192 / 8 + 1];
    OSSL_PARAM *numbers, *at;
    ck_assert_int_eq(EVP_PKEY_todata(rsa, EVP_PKEY_KEYPAIR, &numbers), 1);
    at = OSSL_PARAM_locate(numbers, OSSL_PKEY_PARAM_RSA_EXPONENT1);
    at->data = memset(number, 0x81, sizeof(number));
    at->data_size = bits / 8;
    EVP_PKEY *made = key_of("RSA", EVP_PKEY_KEYPAIR, numbers);
    cleanup(mem_free_ptr) char *pem = certs_key_pem(made, NULL), *its = certs_cert_pem(rsa);
    EVP_PKEY_free(made);
    OSSL_PARAM_free(numbers);
    return mem_join(its, pem);
}

static char *server_with_dh(unsigned bits)
{
    unsigned char prime[4096 / 8 + 1], two = 2;
    memset(prime, 0x81, sizeof(prime));
    OSSL_PARAM numbers[] = {OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_FFC_P, prime, bits / 8),
                            OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_FFC_G, &two, 1), OSSL_PARAM_construct_end()};
    EVP_PKEY *made = key_of("DH", EVP_PKEY_KEY_PARAMETERS, numbers);
    BIO *out = BIO_new(BIO_s_mem());
    ck_assert_int_eq(PEM_write_bio_Parameters(out, made), 1);
    EVP_PKEY_free(made);
    cleanup(mem_free_ptr) char *dh = certs_text(out);
    return mem_printf("%s%s%s", cert, key_pem, dh);
}

/* Clients would make HAProxy's watchdog end it, by one handshake. */
TEST(a_server_has_no_numbers_that_stop_it_for_seconds)
{
    EVP_PKEY *rsa = EVP_RSA_gen(2048);
    const struct {
        char *pem;
        const char *message; /* NULL: it is taken */
    } rows[] = {{server_with_exponent(rsa, 8192), NULL},
                {server_with_exponent(rsa, 8200), "a number of its private key has 8200 bits, and more than 8192"},
                {server_with_dh(4096), NULL},
                {server_with_dh(4104), "a number of its DH parameters has 4104 bits, and more than 4096"}};
    EVP_PKEY_free(rsa);
    for (size_t i = 0; i < array_len(rows); i++) {
        bool common;
        ck_assert_int_eq(pem_check_server(rows[i].pem, &common, &flaw), rows[i].message != NULL ? -1 : 0);
        ck_assert(rows[i].message == NULL || strstr(flaw.message, rows[i].message) != NULL);
        free(rows[i].pem);
    }
}

TEST(when_they_end)
{
    const int64_t now_s = (int64_t)time(NULL);
    cleanup(mem_free_ptr) char *soon = certs_cert_pem_for(key, 60), *past = certs_cert_pem_for(key, -86400 * 40);
    cleanup(mem_free_ptr) char *all = mem_printf("%s%s%s", cert, past, soon);
    const struct {
        const char *pem;
        bool of_all;
        int64_t in_s;
    } rows[] = {{cert, false, 3600},
                {soon, true, 60},
                {past, false, -86400 * 40},
                {all, false, 3600},
                {all, true, -86400 * 40}};
    for (size_t i = 0; i < array_len(rows); i++) {
        int64_t in_s = pem_not_after_s(rows[i].pem, rows[i].of_all) - now_s;
        ck_assert_msg(llabs(in_s - rows[i].in_s) < 60, "row %zu: in %lld s", i, (long long)in_s);
    }
    ck_assert(pem_not_after_s("", true) == INT64_MAX);
}

/* As HAProxy and `openssl x509 -fingerprint` print it, without colons. */
TEST(which_they_are)
{
    cleanup(mem_free_ptr) char *issuer = certs_cert_pem(other);
    cleanup(mem_free_ptr) char *with_key = mem_join(key_pem, cert), *all = mem_join(with_key, issuer);
    BIO *in = BIO_new_mem_buf(cert, -1);
    X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
    unsigned char digest[20];
    ck_assert_int_eq(X509_digest(x, EVP_sha1(), digest, NULL), 1);
    const struct pem_identity one = pem_identify(with_key), two = pem_identify(all), none = pem_identify(key_pem);
    for (size_t i = 0; i < sizeof(digest); i++) {
        char byte[3];
        snprintf(byte, sizeof(byte), "%02X", digest[i]);
        ck_assert_int_eq(strncmp(one.sha1 + 2 * i, byte, 2), 0);
    }
    ck_assert_uint_eq(strlen(one.sha1), 40);
    ck_assert_str_eq(two.sha1, one.sha1);
    ck_assert(one.certificates == 1 && two.certificates == 2 && none.certificates == 0);
    ck_assert_str_eq(none.sha1, "");
    X509_free(x);
    BIO_free(in);
}

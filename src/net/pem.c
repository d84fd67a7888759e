#include "net/pem.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/str.h"

/* Beyond them one handshake can take a thread of HAProxy longer than its watchdog lets it, which ends the process. */
#define KEY_MAX_BITS 8192
#define DH_MAX_BITS 4096

/* For cleanup(): what_free_ptr. */
#define FREE_PTR(what, pointer, free_it)                \
    static void what##_free_ptr(__typeof__(pointer) *p) \
    {                                                   \
        free_it(*p);                                    \
    }
FREE_PTR(bio, BIO *, BIO_free)
FREE_PTR(x509, X509 *, X509_free)
FREE_PTR(key, EVP_PKEY *, EVP_PKEY_free)
FREE_PTR(context, SSL_CTX *, SSL_CTX_free)
FREE_PTR(time, ASN1_TIME *, ASN1_TIME_free)

/* OpenSSL's own word for what just failed. */
static const char *why(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = ERR_reason_error_string(code);
    return text != NULL ? text : "unknown reason";
}

static BIO *pem_reader(const char *pem)
{
    ERR_clear_error();
    return BIO_new_mem_buf(pem, -1);
}

/* Without this OpenSSL would ask for a passphrase at the terminal, or of standard input, and wait. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

/* The next one; NULL: none that can be read. */
static X509 *read_certificate(BIO *in)
{
    return PEM_read_bio_X509(in, NULL, no_passphrase, NULL);
}

/* All of them; ret_first: to be freed, NULL where there is none. */
static int read_certificates(const char *pem, X509 **ret_first, struct error *err)
{
    cleanup(bio_free_ptr) BIO *in = pem_reader(pem);
    unsigned count = 0;
    *ret_first = NULL;
    for (;; count++) {
        X509 *x = read_certificate(in);
        if (x == NULL)
            break;
        if (count == 0)
            *ret_first = x;
        else
            X509_free(x);
    }
    int status = 0;
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) /* that one is the end of the text */
        status = error_set(err, ERROR_FATAL, "certificate %u cannot be read: %s", count + 1, why());
    else if (count == 0)
        status = error_set(err, ERROR_FATAL, "no PEM certificate in it (\"-----BEGIN CERTIFICATE-----\")");
    ERR_clear_error();
    return status;
}

int pem_check_certificates(const char *pem, struct error *err)
{
    cleanup(x509_free_ptr) X509 *first = NULL;
    return read_certificates(pem, &first, err);
}

int pem_check_key(const char *key_pem, const char *cert_pem, struct error *err)
{
    cleanup(bio_free_ptr) BIO *cert_in = pem_reader(cert_pem), *key_in = pem_reader(key_pem);
    cleanup(x509_free_ptr) X509 *x = read_certificate(cert_in);
    cleanup(key_free_ptr) EVP_PKEY *key = PEM_read_bio_PrivateKey(key_in, NULL, no_passphrase, NULL);
    cleanup(context_free_ptr) SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int status = 0;
    if (key == NULL)
        status = error_set(err, ERROR_FATAL, "no PEM private key that can be read (one with a passphrase cannot): %s",
                           why());
    else if (x == NULL || X509_check_private_key(x, key) != 1)
        status = error_set(err, ERROR_FATAL, "the private key does not belong to the client certificate");
    /* What libcurl will do with them: this knows what else OpenSSL does not like, such as a short key or an old
     * signature. */
    else if (context == NULL || SSL_CTX_use_certificate(context, x) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1)
        status = error_set(err, ERROR_FATAL, "OpenSSL does not accept the client certificate: %s", why());
    ERR_clear_error();
    return status;
}

/* All of its numbers count: a private exponent may be far longer than the modulus that EVP_PKEY_get_bits returns. */
static int check_cost(const EVP_PKEY *key, int selection, unsigned max_bits, struct error *err)
{
    OSSL_PARAM *numbers = NULL;
    size_t longest = 0;
    if (key == NULL || EVP_PKEY_todata(key, selection, &numbers) != 1)
        return 0;
    for (const OSSL_PARAM *at = numbers; at->key != NULL; at++)
        if (at->data_type == OSSL_PARAM_UNSIGNED_INTEGER && at->data_size > longest)
            longest = at->data_size;
    OSSL_PARAM_free(numbers);
    if (longest <= max_bits / 8)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "a number of its %s has %zu bits, and more than %u are not taken: a handshake would stop HAProxy "
                     "for too long",
                     selection == EVP_PKEY_KEYPAIR ? "private key" : "DH parameters", longest * 8, max_bits);
}

int pem_check_server(const char *pem, bool *ret_common, struct error *err)
{
    cleanup(x509_free_ptr) X509 *x = NULL;
    if (read_certificates(pem, &x, err) != 0)
        return error_set(err, ERROR_INVALID, "%s", err->message);
    cleanup(bio_free_ptr) BIO *in = pem_reader(pem), *dh_in = pem_reader(pem);
    cleanup(key_free_ptr) EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL);
    cleanup(key_free_ptr) EVP_PKEY *dh = PEM_read_bio_Parameters(dh_in, NULL);
    int status = 0;
    if (key == NULL)
        status = error_set(err, ERROR_INVALID,
                           "no PEM private key that can be read beside the certificate (one with a passphrase cannot); "
                           "what has none, a CA for one, belongs to files/");
    else if (X509_check_private_key(x, key) != 1)
        status = error_set(err, ERROR_INVALID, "the private key does not belong to the first certificate");
    else if (check_cost(key, EVP_PKEY_KEYPAIR, KEY_MAX_BITS, err) != 0 ||
             check_cost(dh, EVP_PKEY_KEY_PARAMETERS, DH_MAX_BITS, err) != 0)
        status = -1;
    else
        *ret_common = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA || EVP_PKEY_get_base_id(key) == EVP_PKEY_EC;
    ERR_clear_error();
    return status;
}

/* As HAProxy does: the first one, then each other one as its chain. */
int pem_check_served(const char *pem, struct error *err)
{
    cleanup(bio_free_ptr) BIO *in = pem_reader(pem);
    cleanup(context_free_ptr) SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int status = 0;
    for (unsigned number = 1; status == 0 && context != NULL; number++) {
        cleanup(x509_free_ptr) X509 *x = read_certificate(in);
        if (x == NULL)
            break;
        if ((number == 1 ? SSL_CTX_use_certificate(context, x) : (int)SSL_CTX_add1_chain_cert(context, x)) != 1)
            status = error_set(err, ERROR_INVALID, "HAProxy's OpenSSL does not take certificate %u of it: %s", number,
                               why());
    }
    ERR_clear_error();
    return status;
}

bool pem_has_serial(const char *pem, const char *serial)
{
    cleanup(bio_free_ptr) BIO *in = pem_reader(pem);
    bool found = false;
    while (!found) {
        cleanup(x509_free_ptr) X509 *x = read_certificate(in);
        if (x == NULL)
            break;
        BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
        char *text = number != NULL ? BN_bn2dec(number) : NULL;
        found = text != NULL && str_eq(text, serial);
        OPENSSL_free(text);
        BN_free(number);
    }
    ERR_clear_error();
    return found;
}

struct pem_identity pem_identify(const char *pem)
{
    cleanup(bio_free_ptr) BIO *in = pem_reader(pem);
    struct pem_identity i = {.certificates = 0};
    for (;; i.certificates++) {
        cleanup(x509_free_ptr) X509 *x = read_certificate(in);
        if (x == NULL)
            break;
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned len = 0;
        size_t written;
        if (i.certificates == 0 &&
            (X509_digest(x, EVP_sha1(), digest, &len) != 1 ||
             OPENSSL_buf2hexstr_ex(i.sha1, PEM_SHA1_HEX_BYTES, &written, digest, len, '\0') != 1))
            i.sha1[0] = '\0';
    }
    ERR_clear_error();
    return i;
}

int64_t pem_certificate_not_after_s(const X509 *x)
{
    cleanup(time_free_ptr) ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0, seconds = 0;
    if (epoch == NULL || ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(x)) != 1)
        return INT64_MAX;
    return (int64_t)days * 86400 + seconds;
}

int64_t pem_not_after_s(const char *pem, bool of_all)
{
    cleanup(bio_free_ptr) BIO *in = pem_reader(pem);
    int64_t soonest = INT64_MAX;
    do {
        cleanup(x509_free_ptr) X509 *x = read_certificate(in);
        if (x == NULL)
            break;
        int64_t end = pem_certificate_not_after_s(x);
        soonest = end < soonest ? end : soonest;
    } while (of_all);
    ERR_clear_error();
    return soonest;
}

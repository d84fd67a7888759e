#include "net/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static void bio_free_ptr(BIO **b)
{
    BIO_free(*b);
}

static void x509_free_ptr(X509 **x)
{
    X509_free(*x);
}

static void key_free_ptr(EVP_PKEY **k)
{
    EVP_PKEY_free(*k);
}

/* OpenSSL's own word for what just failed. */
static const char *why(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = ERR_reason_error_string(code);
    return text != NULL ? text : "unknown reason";
}

static BIO *reader(const char *pem)
{
    ERR_clear_error();
    return BIO_new_mem_buf(pem, -1);
}

int pem_check_certificates(const char *pem, struct error *err)
{
    cleanup(bio_free_ptr) BIO *in = reader(pem);
    unsigned count = 0;
    for (;; count++) {
        cleanup(x509_free_ptr) X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
        if (x == NULL)
            break;
    }
    int status = 0;
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) /* that one is the end of the text */
        status = error_set(err, ERROR_FATAL, "certificate %u cannot be read: %s", count + 1, why());
    else if (count == 0)
        status = error_set(err, ERROR_FATAL, "no PEM certificate in it (\"-----BEGIN CERTIFICATE-----\")");
    ERR_clear_error();
    return status;
}

/* Without this OpenSSL would ask for a passphrase on the terminal. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

int pem_check_key(const char *key_pem, const char *cert_pem, struct error *err)
{
    cleanup(bio_free_ptr) BIO *cert_in = reader(cert_pem), *key_in = reader(key_pem);
    cleanup(x509_free_ptr) X509 *x = PEM_read_bio_X509(cert_in, NULL, NULL, NULL);
    cleanup(key_free_ptr) EVP_PKEY *key = PEM_read_bio_PrivateKey(key_in, NULL, no_passphrase, NULL);
    int status = 0;
    if (key == NULL)
        status = error_set(err, ERROR_FATAL, "no PEM private key that can be read (one with a passphrase cannot): %s",
                           why());
    else if (x == NULL || X509_check_private_key(x, key) != 1)
        status = error_set(err, ERROR_FATAL, "the private key does not belong to the client certificate");
    ERR_clear_error();
    return status;
}

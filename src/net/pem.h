/*
 * PEM text (RFC 7468) tried with OpenSSL before libcurl gets it: libcurl would say "error setting certificate" at the
 * first request, this says what is wrong at start.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct x509_st; /* OpenSSL's X509 */

/* At least one certificate, and all of them readable. ERROR_FATAL. */
int pem_check_certificates(const char *pem, struct error *err) must_check;

/* A private key without a passphrase that belongs to the first certificate of cert_pem, and that OpenSSL takes in a TLS
 * client (not too short, say). ERROR_FATAL. */
int pem_check_key(const char *key_pem, const char *cert_pem, struct error *err) must_check;

/* Certificates of a server with the private key of the first one, in any order, in one text. ret_common: the key is one
 * of RSA or of an elliptic curve. None is taken whose handshakes would make HAProxy's watchdog end it: numbers of more than 8192 bits
 * in the key, 4096 in DH parameters beside it. ERROR_INVALID. */
int pem_check_server(const char *pem, bool *ret_common, struct error *err) must_check;
/* The same text: whether a TLS server of this machine takes it, at OpenSSL's security level here: no key that is too short, no old
 * digest, also of the chain. ERROR_INVALID. */
int pem_check_served(const char *pem, struct error *err) must_check;

/* One of its certificates has that serial number, in decimal. */
bool pem_has_serial(const char *pem, const char *serial);

#define PEM_SHA1_HEX_BYTES 41

struct pem_identity {
    char sha1[PEM_SHA1_HEX_BYTES]; /* of the first certificate, in upper case; "": there is none */
    unsigned certificates;
};

struct pem_identity pem_identify(const char *pem);

/* When certificates that pem_check_certificates has passed end, in seconds since the Unix epoch: the first one (a
 * client's own, before its chain), or the one of all that ends soonest. INT64_MAX where there is none. */
int64_t pem_not_after_s(const char *pem, bool of_all);
int64_t pem_certificate_not_after_s(const struct x509_st *x);

/*
 * PEM text (RFC 7468) tried with OpenSSL before libcurl gets it: libcurl would say "error setting certificate" at the first
 * request, this says what is wrong at start.
 */
#ifndef NET_PEM_H
#define NET_PEM_H

#include "base/error.h"

/* At least one certificate, and all of them readable. ERROR_FATAL. */
int pem_check_certificates(const char *pem, struct error *err) must_check;

/* A private key without a passphrase that belongs to the first certificate of cert_pem. ERROR_FATAL. */
int pem_check_key(const char *key_pem, const char *cert_pem, struct error *err) must_check;

#endif

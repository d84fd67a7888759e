/* SHA-256: in base64, as a Content-Security-Policy names a script that may run; in hexadecimal digits, as sha256sum. */
#pragma once

#include <stddef.h>

#define DIGEST_SHA256_TEXT_BYTES 45 /* with the NUL */

/* Aborts where OpenSSL has no SHA-256, without which nothing else here would work either. */
void digest_sha256(const void *bytes, size_t len, char ret[DIGEST_SHA256_TEXT_BYTES]);
#define DIGEST_SHA256_HEX_BYTES 65
void digest_sha256_hex(const void *bytes, size_t len, char ret[DIGEST_SHA256_HEX_BYTES]);

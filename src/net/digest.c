#include "net/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES 32

static void digest_of(const void *bytes, size_t len, unsigned char ret[BYTES])
{
    unsigned size = 0;
    if (EVP_Digest(bytes, len, ret, &size, EVP_sha256(), NULL) != 1 || size != BYTES)
        abort();
}

void digest_sha256(const void *bytes, size_t len, char ret[DIGEST_SHA256_TEXT_BYTES])
{
    unsigned char hash[BYTES];
    digest_of(bytes, len, hash);
    EVP_EncodeBlock((unsigned char *)ret, hash, BYTES);
}

void digest_sha256_hex(const void *bytes, size_t len, char ret[DIGEST_SHA256_HEX_BYTES])
{
    unsigned char hash[BYTES];
    digest_of(bytes, len, hash);
    for (size_t i = 0; i < BYTES; i++)
        snprintf(ret + i * 2, 3, "%02x", hash[i]);
}

#include "net/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

void digest_sha256(const void *bytes, size_t len, char ret[DIGEST_SHA256_TEXT_BYTES])
{
    unsigned char hash[32];
    unsigned size = 0;
    if (EVP_Digest(bytes, len, hash, &size, EVP_sha256(), NULL) != 1 || size != sizeof(hash))
        abort();
    EVP_EncodeBlock((unsigned char *)ret, hash, (int)size);
}

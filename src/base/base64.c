#include "base/base64.h"

#include <limits.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

char *base64_decode(const char *s, size_t *ret_len)
{
    size_t len = strlen(s), size = len / 4 * 3 + 4;
    unsigned char *out = mem_alloc(size);
    EVP_ENCODE_CTX *ctx = EVP_ENCODE_CTX_new();
    int head = 0, tail = 0;
    if (ctx == NULL)
        abort(); /* out of memory */
    EVP_DecodeInit(ctx);
    /* A '-' is the end to OpenSSL, which stops there in silence. */
    bool good = len < INT_MAX / 2 && strchr(s, '-') == NULL &&
                EVP_DecodeUpdate(ctx, out, &head, (const unsigned char *)s, (int)len) >= 0 &&
                EVP_DecodeFinal(ctx, out + head, &tail) == 1;
    EVP_ENCODE_CTX_free(ctx);
    if (!good) {
        mem_wiping_free(out);
        return NULL;
    }
    *ret_len = (size_t)head + (size_t)tail;
    out[*ret_len] = '\0';
    return (char *)out;
}

char *base64_decode_text(const char *s)
{
    size_t len = 0;
    char *text = base64_decode(s, &len);
    if (text != NULL && len > 0 && strlen(text) == len)
        return text;
    mem_wiping_free(text);
    return NULL;
}

char *base64_encode(const void *bytes, size_t len)
{
    char *out = mem_alloc((len + 2) / 3 * 4 + 1);
    EVP_EncodeBlock((unsigned char *)out, bytes, (int)len);
    return out;
}

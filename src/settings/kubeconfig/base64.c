#include "settings/kubeconfig/base64.h"

#include <limits.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

char *base64_decode_text(const char *s)
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
    size_t text_len = good ? (size_t)head + (size_t)tail : 0;
    if (text_len == 0 || memchr(out, '\0', text_len) != NULL) {
        explicit_bzero(out, size);
        free(out);
        return NULL;
    }
    out[text_len] = '\0';
    return (char *)out;
}

char *base64_encode(const char *text)
{
    size_t len = strlen(text);
    char *out = mem_alloc((len + 2) / 3 * 4 + 1);
    EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
    return out;
}

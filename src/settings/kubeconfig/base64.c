#include "settings/kubeconfig/base64.h"

#include <ctype.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

/* s without white space; NULL where it holds anything that is not of base64 or padding that is not at its end. EVP's
 * decoder is told nothing else: it takes a '-' for the end and stops in silence. */
static char *packed(const char *s, size_t *ret_len, size_t *ret_padding)
{
    char *out = mem_alloc(strlen(s) + 1);
    size_t len = 0, padding = 0;
    bool good = true;
    for (; *s != '\0' && good; s++) {
        unsigned char c = (unsigned char)*s;
        if (isspace(c))
            continue;
        padding += c == '=' ? 1 : 0;
        good = c == '=' ? padding <= 2 : padding == 0 && c < 0x80 && (isalnum(c) || c == '+' || c == '/');
        out[len++] = (char)c;
    }
    if (!good || len % 4 != 0 || len == 0 || len > INT_MAX / 2) {
        mem_wipe_free(out);
        return NULL;
    }
    *ret_len = len;
    *ret_padding = padding;
    return out;
}

char *base64_decode_text(const char *s)
{
    size_t len, padding;
    char *in = packed(s, &len, &padding);
    if (in == NULL)
        return NULL;
    char *out = mem_alloc(len / 4 * 3 + 1);
    int n = EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)in, (int)len);
    mem_wipe_free(in);
    size_t out_len = n > (int)padding ? (size_t)n - padding : 0;
    /* The decoder gives a zero for each '='; only a NUL before them is one of the text. */
    if (n < 0 || memchr(out, '\0', out_len) != NULL) {
        explicit_bzero(out, len / 4 * 3);
        free(out);
        return NULL;
    }
    out[out_len] = '\0';
    return out;
}

char *base64_encode(const char *text)
{
    size_t len = strlen(text);
    char *out = mem_alloc((len + 2) / 3 * 4 + 1);
    EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
    return out;
}

#include "net/library_memory.h"

#include <curl/curl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* OpenSSL adds the place in its source, too. */
static void *crypto_malloc(size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return malloc(bytes);
}

static void *crypto_realloc(void *p, size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return mem_wiping_realloc(p, bytes);
}

static void crypto_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    mem_wiping_free(p);
}

int library_memory_wipe(struct error *err)
{
    if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) != 1)
        return error_set(err, ERROR_FATAL, "OpenSSL is in use already: what it frees would not be wiped");
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, mem_wiping_free, mem_wiping_realloc, strdup, calloc) !=
        CURLE_OK)
        return error_set(err, ERROR_FATAL, "libcurl cannot be initialised");
    return 0;
}

/*
 * The one door to uthash, and the one hash of text where only the number is kept: FNV-1a, stable over restarts, of use
 * where no attacker gains from a collision.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/* uthash's own answer to a full memory is exit(); here it is the one of base/mem. */
#define uthash_malloc(bytes) mem_alloc(bytes)
#define uthash_free(pointer, bytes) free(pointer)
#include <uthash.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* h: HASH_START, or what the bytes before these gave. */
static inline uint64_t hash_bytes(uint64_t h, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* With its NUL, so that of two texts one behind the other it counts where the first ends. */
static inline uint64_t hash_string(uint64_t h, const char *text)
{
    return hash_bytes(h, text, strlen(text) + 1);
}

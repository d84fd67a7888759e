/*
 * What a plain object consists of, as a table of its members; equality, a packed copy and freeing come from it. A
 * member without a row is not copied, so no reader of a cache ever sees it: a forgotten row shows at once, not as a
 * change that goes unnoticed.
 *
 * The first row of an object that a cache holds is its name, a MEMBER_TEXT at offset 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct record;

struct record_member {
    enum { MEMBER_PLAIN, MEMBER_TEXT, MEMBER_LIST } type;
    size_t at;
    size_t bytes;            /* PLAIN */
    size_t count_at;         /* LIST: of an uint32_t, the number of its elements */
    const struct record *of; /* LIST: what each of them is; as aligned as a pointer */
};

#define RECORD_PLAIN(type, member)                                                 \
    {                                                                              \
        MEMBER_PLAIN, offsetof(type, member), sizeof(((type *)0)->member), 0, NULL \
    }
#define RECORD_TEXT(type, member) /* char *; NULL is a value of its own */ \
    {                                                                      \
        MEMBER_TEXT, offsetof(type, member), 0, 0, NULL                    \
    }
#define RECORD_LIST(type, member, count, of)                              \
    {                                                                     \
        MEMBER_LIST, offsetof(type, member), 0, offsetof(type, count), of \
    }

struct record {
    size_t bytes;
    const struct record_member *members;
    size_t member_count;
    bool secret; /* its texts, and those in its lists, are overwritten before they are freed; not for a cache */
};

/* Same in every member. */
bool record_eq(const struct record *r, const void *a, const void *b);

/* Frees an object and all it points to (not a packed one); NULL is allowed. */
void record_free(const struct record *r, void *object);

/* A header of so many zeroed bytes (as aligned as a pointer), and behind it a copy of the object and of all it points
 * to, in one allocation: free() it. A text that is the object's name is there once. *ret_bytes: of the copy. */
void *record_pack(const struct record *r, const void *object, size_t header_bytes, size_t *ret_bytes) must_check;

static inline const char *record_name(const void *object)
{
    return *(const char *const *)object;
}

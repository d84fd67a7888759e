#include "base/shared_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct shared {
    UT_hash_handle hh;
    size_t refs;
    char text[];
};

static struct shared *all;

const char *shared_text(const char *s)
{
    if (s == NULL)
        return NULL;
    struct shared *found;
    size_t len = strlen(s);
    unsigned hash;
    HASH_VALUE(s, len, hash);
    HASH_FIND_BYHASHVALUE(hh, all, s, len, hash, found);
    if (found == NULL) {
        found = mem_alloc(sizeof(*found) + len + 1);
        memcpy(found->text, s, len + 1);
        HASH_ADD_KEYPTR_BYHASHVALUE(hh, all, found->text, len, hash, found);
    }
    found->refs++;
    return found->text;
}

const char *shared_text_take(char *s)
{
    const char *ret = shared_text(s);
    free(s);
    return ret;
}

void shared_text_free(const char *s)
{
    if (s == NULL)
        return;
    struct shared *one = (struct shared *)((uintptr_t)s - offsetof(struct shared, text));
    if (--one->refs != 0)
        return;
    HASH_DELETE(hh, all, one);
    free(one);
}

void shared_text_set(const char **at, const char *s)
{
    const char *old = *at;
    *at = shared_text(s);
    shared_text_free(old);
}

size_t shared_text_count(void)
{
    return HASH_COUNT(all);
}

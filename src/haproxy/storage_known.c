#include "haproxy/storage_known.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct known_certificate {
    char hash[DIGEST_SHA256_HEX_BYTES];
    enum storage_kind place;
    bool asked; /* since the last end */
    UT_hash_handle hh;
};

struct storage_known {
    struct known_certificate *all;
    bool here;
};

struct storage_known *storage_known_new(bool here)
{
    struct storage_known *k = mem_alloc(sizeof(*k));
    k->here = here;
    return k;
}

bool storage_known_is_here(const struct storage_known *k)
{
    return k->here;
}

void storage_known_free(struct storage_known *k)
{
    struct known_certificate *next;
    if (k == NULL)
        return;
    struct known_certificate *c = k->all;
    HASH_CLEAR(hh, k->all); /* the list through them stays readable */
    for (; c != NULL; c = next) {
        next = c->hh.next;
        free(c);
    }
    free(k);
}

bool storage_known_find(struct storage_known *k, const char *hash, enum storage_kind *ret_place)
{
    struct known_certificate *c;
    HASH_FIND_STR(k->all, hash, c);
    if (c == NULL)
        return false;
    c->asked = true;
    *ret_place = c->place;
    return true;
}

void storage_known_add(struct storage_known *k, const char *hash, enum storage_kind place)
{
    enum storage_kind there;
    if (storage_known_find(k, hash, &there))
        return;
    struct known_certificate *c = mem_alloc(sizeof(*c));
    *c = (struct known_certificate){.place = place, .asked = true};
    memcpy(c->hash, hash, strnlen(hash, sizeof(c->hash) - 1));
    HASH_ADD_STR(k->all, hash, c);
}

void storage_known_end(struct storage_known *k)
{
    struct known_certificate *c, *next;
    HASH_ITER (hh, k->all, c, next) {
        if (!c->asked) {
            /* The analyzer does not see that the table's own list has no c any more. */
            HASH_DEL(k->all, c); /* NOLINT(clang-analyzer-unix.Malloc) */
            free(c);
        } else {
            c->asked = false;
        }
    }
}

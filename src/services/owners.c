#include "services/owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct service_owner {
    UT_hash_handle hh;
    char *owner;
    char key[];
};

static struct service_owner *owner_find(const struct service_owners *o, const char *key)
{
    struct service_owner *found;
    HASH_FIND_STR(o->all, key, found);
    return found;
}

const char *service_owners_find(const struct service_owners *o, const char *key)
{
    const struct service_owner *found = o != NULL ? owner_find(o, key) : NULL;
    return found != NULL ? found->owner : NULL;
}

void service_owners_set(struct service_owners *o, const char *key, const char *owner)
{
    struct service_owner *one = owner_find(o, key);
    if (one == NULL) {
        size_t bytes = strlen(key) + 1;
        one = mem_alloc(sizeof(*one) + bytes);
        memcpy(one->key, key, bytes);
        HASH_ADD_STR(o->all, key, one);
    }
    free(one->owner);
    one->owner = mem_strdup(owner);
}

void service_owners_keep(struct service_owners *o, const struct service_owners *from, const struct service_owners *of)
{
    for (const struct service_owner *one = from->all; one != NULL; one = one->hh.next)
        if (strchr(one->key, ':') == NULL && owner_find(of, one->owner) != NULL)
            service_owners_set(o, one->key, one->owner);
}

void service_owners_fini(struct service_owners *o)
{
    struct service_owner *one, *next;
    HASH_ITER (hh, o->all, one, next) {
        HASH_DEL(o->all, one); /* NOLINT(clang-analyzer-unix.Malloc) */
        mem_free_all(one->owner, one);
    }
}

static int owner_order(const struct service_owner *a, const struct service_owner *b)
{
    return strcmp(a->key, b->key);
}

void service_owners_print(struct service_owners *o, struct buf *out)
{
    HASH_SORT(o->all, owner_order);
    for (const struct service_owner *one = o->all; one != NULL; one = one->hh.next)
        buf_printf(out, "%s %s\n", one->key, one->owner);
}

void service_owners_read(struct service_owners *o, const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *space = strchr(line, ' ');
        if (space == NULL || space == line || space[1] == '\0')
            continue;
        *space = '\0';
        service_owners_set(o, line, space + 1);
    }
}

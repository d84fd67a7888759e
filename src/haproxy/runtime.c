#include "haproxy/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"

void runtime_init(struct runtime *r)
{
    *r = (struct runtime){.readable = false};
}

void runtime_server_fini(struct runtime_server *s)
{
    shared_text_free(s->name);
    shared_text_free(s->address);
    *s = (struct runtime_server){.weight = -1};
}

void runtime_fini(struct runtime *r)
{
    for (size_t i = 0; i < r->count; i++)
        runtime_server_fini(&r->servers[i]);
    mem_free_all(r->servers, r->why);
    runtime_init(r);
}

void runtime_unreadable(struct runtime *r, const char *why)
{
    runtime_fini(r);
    r->why = mem_strdup(why);
}

static int runtime_name_order(const void *a, const void *b)
{
    return strcmp(((const struct runtime_server *)a)->name, ((const struct runtime_server *)b)->name);
}

void runtime_sort(struct runtime *r)
{
    if (r->count > 1)
        qsort(r->servers, r->count, sizeof(r->servers[0]), runtime_name_order);
}

bool runtime_same(const struct runtime *a, const struct runtime *b)
{
    if (a->readable != b->readable || a->count != b->count || !str_eq(a->why, b->why))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct runtime_server *x = &a->servers[i], *y = &b->servers[i];
        if (x->name != y->name || x->address != y->address || x->port != y->port || x->weight != y->weight ||
            x->admin != y->admin || x->down != y->down || x->unresolved != y->unresolved ||
            x->unchecked != y->unchecked || x->from_file != y->from_file)
            return false;
    }
    return true;
}

static int compare_name(const void *name, const void *server)
{
    return strcmp(name, ((const struct runtime_server *)server)->name);
}

const struct runtime_server *runtime_find(const struct runtime *r, const char *name)
{
    return r->count > 0 ? bsearch(name, r->servers, r->count, sizeof(r->servers[0]), compare_name) : NULL;
}

const struct runtime_server *runtime_find_next(const struct runtime *r, const char *name, size_t *at)
{
    const struct runtime_server *found =
        *at < r->count && strcmp(r->servers[*at].name, name) == 0 ? &r->servers[*at] : runtime_find(r, name);
    if (found != NULL)
        *at = (size_t)(found - r->servers) + 1;
    return found;
}

void runtime_give_up(struct runtime *r, const char *why)
{
    if (!r->readable && r->why == NULL)
        r->why = mem_strdup(why);
}

const char *runtime_admin_name(enum runtime_admin a)
{
    static const char *const names[] = {
        [RUNTIME_READY] = "ready", [RUNTIME_DRAIN] = "drain", [RUNTIME_MAINT] = "maint"};
    return (size_t)a < array_len(names) ? names[a] : "invalid";
}

void runtime_set_admin(struct runtime_server *s, enum runtime_admin admin)
{
    if ((s->admin == RUNTIME_MAINT) != (admin == RUNTIME_MAINT))
        s->down = admin == RUNTIME_MAINT;
    s->admin = admin;
}

bool runtime_fails_check(const struct runtime_server *s)
{
    return s->down && s->admin != RUNTIME_MAINT;
}

void runtime_keep_since(struct runtime *r, const struct runtime *before, uint32_t now_s)
{
    for (size_t i = 0; i < r->count; i++) {
        struct runtime_server *s = &r->servers[i];
        const struct runtime_server *was = runtime_fails_check(s) ? runtime_find(before, s->name) : NULL;
        s->down_since_s = !runtime_fails_check(s)                 ? 0
                          : was != NULL && was->down_since_s != 0 ? was->down_since_s
                                                                  : now_s;
    }
}

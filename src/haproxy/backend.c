#include "haproxy/backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void backend_init(struct backend *b)
{
    *b = (struct backend){.version = -1};
}

void backend_server_fini(struct backend_server *s)
{
    free(s->name);
    free(s->address);
    free(s->json);
    *s = (struct backend_server){.weight = -1};
}

void backend_fini(struct backend *b)
{
    for (size_t i = 0; i < b->server_count; i++)
        backend_server_fini(&b->servers[i]);
    for (size_t i = 0; i < b->template_count; i++)
        free(b->templates[i].prefix);
    for (size_t i = 0; i < b->unsupported_count; i++) {
        free(b->unsupported[i].text);
        free(b->unsupported[i].reason);
    }
    free(b->servers);
    free(b->templates);
    free(b->unsupported);
    free(b->name);
    free(b->mode);
    free(b->balance);
    free(b->adv_check);
    free(b->json);
    backend_init(b);
}

void backend_server_copy(struct backend_server *to, const struct backend_server *from)
{
    *to = *from;
    to->name = mem_strdup(from->name);
    to->address = mem_strdup(from->address);
    to->json = mem_strdup(from->json);
}

static bool backend_server_same(const struct backend_server *a, const struct backend_server *b)
{
    return str_eq(a->name, b->name) && str_eq(a->json, b->json) && a->maintenance == b->maintenance &&
           a->default_disabled == b->default_disabled && a->default_backup == b->default_backup;
}

bool backend_same(const struct backend *a, const struct backend *b)
{
    if (a->exists != b->exists || a->server_count != b->server_count || a->template_count != b->template_count ||
        !str_eq(a->json, b->json))
        return false;
    for (size_t i = 0; i < a->server_count; i++)
        if (!backend_server_same(&a->servers[i], &b->servers[i]))
            return false;
    for (size_t i = 0; i < a->template_count; i++)
        if (!str_eq(a->templates[i].prefix, b->templates[i].prefix) || a->templates[i].first != b->templates[i].first ||
            a->templates[i].last != b->templates[i].last)
            return false;
    return true;
}

const struct backend_server *backend_find(const struct backend *b, const char *name)
{
    for (size_t i = 0; i < b->server_count; i++)
        if (str_eq(b->servers[i].name, name))
            return &b->servers[i];
    return NULL;
}

static bool template_makes(const struct backend_template *t, const char *name)
{
    uint64_t n;
    if (!str_has_prefix(name, t->prefix))
        return false;
    const char *number = name + strlen(t->prefix);
    if (number[0] == '0' && number[1] != '\0')
        return false;
    return str_parse_uint(number, UINT32_MAX, &n) == 0 && n >= t->first && n <= t->last;
}

const struct backend_template *backend_find_template(const struct backend *b, const char *name)
{
    for (size_t i = 0; i < b->template_count; i++)
        if (template_makes(&b->templates[i], name))
            return &b->templates[i];
    return NULL;
}

#include "haproxy/backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"

bool backend_algorithm_is_dynamic(const char *algorithm)
{
    return str_eq(algorithm, "roundrobin") || str_eq(algorithm, "leastconn") || str_has_prefix(algorithm, "random");
}

bool backend_algorithm_is_hashed(const char *algorithm)
{
    return !str_eq(algorithm, "roundrobin") && !str_eq(algorithm, "leastconn") && !str_eq(algorithm, "static-rr") &&
           !str_eq(algorithm, "first");
}

void backend_init(struct backend *b)
{
    *b = (struct backend){.version = -1};
}

void backend_server_fini(struct backend_server *s)
{
    shared_text_free(s->name);
    shared_text_free(s->address);
    shared_text_free(s->json);
    shared_text_free(s->rest);
    *s = (struct backend_server){.weight = -1};
}

void backend_forget_unsupported(struct backend *b)
{
    for (size_t i = 0; i < b->unsupported_count; i++) {
        mem_free_all(b->unsupported[i].text, b->unsupported[i].reason);
    }
    free(b->unsupported);
    b->unsupported = NULL;
    b->unsupported_count = 0;
}

void backend_fini(struct backend *b)
{
    for (size_t i = 0; i < b->server_count; i++)
        backend_server_fini(&b->servers[i]);
    for (size_t i = 0; i < b->template_count; i++)
        free(b->templates[i].prefix);
    backend_forget_unsupported(b);
    mem_free_all(b->servers, b->templates, b->name, b->mode, b->balance, b->adv_check, b->json);
    backend_init(b);
}

void backend_server_copy(struct backend_server *to, const struct backend_server *from)
{
    *to = *from;
    to->name = shared_text(from->name);
    to->address = shared_text(from->address);
    to->json = shared_text(from->json);
    to->rest = shared_text(from->rest);
}

bool backend_server_same(const struct backend_server *a, const struct backend_server *b)
{
    return a->name == b->name && a->address == b->address && a->json == b->json && a->port == b->port &&
           a->weight == b->weight && a->check == b->check && a->backup == b->backup &&
           a->maintenance == b->maintenance && a->enabled == b->enabled && a->no_backup == b->no_backup &&
           a->default_disabled == b->default_disabled && a->default_backup == b->default_backup &&
           a->check_port == b->check_port && a->send_proxy_v2 == b->send_proxy_v2 && a->tracks == b->tracks &&
           a->rest == b->rest;
}

static bool backend_same_lists(const struct backend *a, const struct backend *b)
{
    if (a->server_count != b->server_count || a->template_count != b->template_count ||
        a->unsupported_count != b->unsupported_count)
        return false;
    for (size_t i = 0; i < a->server_count; i++)
        if (!backend_server_same(&a->servers[i], &b->servers[i]))
            return false;
    for (size_t i = 0; i < a->template_count; i++) {
        const struct backend_template *x = &a->templates[i], *y = &b->templates[i];
        if (!str_eq(x->prefix, y->prefix) || x->first != y->first || x->last != y->last)
            return false;
    }
    for (size_t i = 0; i < a->unsupported_count; i++) {
        const struct backend_unsupported_line *x = &a->unsupported[i], *y = &b->unsupported[i];
        if (x->line != y->line || !str_eq(x->text, y->text) || !str_eq(x->reason, y->reason) ||
            x->only_shown != y->only_shown)
            return false;
    }
    return true;
}

bool backend_same(const struct backend *a, const struct backend *b)
{
    return str_eq(a->name, b->name) && a->exists == b->exists && str_eq(a->mode, b->mode) &&
           str_eq(a->balance, b->balance) && str_eq(a->adv_check, b->adv_check) &&
           a->httpchk_params == b->httpchk_params && a->default_send_proxy_v2 == b->default_send_proxy_v2 &&
           a->takes_no_weights == b->takes_no_weights && a->disabled_line == b->disabled_line &&
           a->backup_line == b->backup_line && str_eq(a->json, b->json) && backend_same_lists(a, b);
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

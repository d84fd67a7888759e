/* What HAProxy has once a difference is written, for tests that go on from there. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "servers/change/diff.h"

static void set_string(char **at, const char *s)
{
    if (s == NULL)
        return;
    free(*at);
    *at = mem_strdup(s);
}

static void apply_settings(const struct diff *d, const struct diff_rules *rules, struct backend *b)
{
    if (!d->create_backend && !d->backend_change)
        return;
    if (d->create_backend) {
        b->exists = true;
        set_string(&b->mode, "tcp");
    }
    set_string(&b->balance, rules->balance);
    set_string(&b->adv_check, d->settings.adv_check);
    if (d->settings.adv_check != NULL)
        b->httpchk_params =
            str_eq(d->settings.adv_check, "httpchk") && (b->httpchk_params || d->settings.httpchk_healthz);
    if (rules->proxy_v2)
        b->default_send_proxy_v2 = true;
}

static struct backend_server *find_managed(struct backend *b, const char *name, const struct diff_rules *rules)
{
    for (size_t i = 0; i < b->server_count; i++)
        if (strcmp(b->servers[i].name, name) == 0 && !diff_server_is_foreign(&b->servers[i], rules, NULL))
            return &b->servers[i];
    return NULL;
}

static void apply_change(const struct diff_change *c, const struct diff_rules *rules, struct backend *b)
{
    struct backend_server *at = c->op == DIFF_ADD ? NULL : find_managed(b, c->server.name, rules);
    if (c->op == DIFF_ADD) {
        b->servers = mem_resize(b->servers, b->server_count + 1, sizeof(b->servers[0]));
        at = &b->servers[b->server_count++];
        *at = (struct backend_server){.weight = -1};
    }
    if (at == NULL)
        return;
    backend_server_fini(at);
    if (c->op != DIFF_REMOVE) {
        backend_server_copy(at, &c->server);
        return;
    }
    b->server_count--;
    memmove(at, at + 1, (size_t)(&b->servers[b->server_count] - at) * sizeof(*at));
}

static inline void diff_apply(const struct diff *d, const struct diff_rules *rules, struct backend *b)
{
    apply_settings(d, rules, b);
    for (size_t i = 0; i < d->change_count; i++)
        apply_change(&d->changes[i], rules, b);
}

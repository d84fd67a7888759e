/* The settings in effect, as check-config prints them. */
#include <stdbool.h>

#include "settings/settings.h"
#include "settings/table.h"
#include "settings/types.h"

#define NOT_SHOWN "***"

static bool has_line(const struct settings_dataplane *d)
{
    return d->token.url != NULL;
}

/* Whether each URL has credentials of its own. */
static bool is_unused(const struct settings *s, const struct setting *row)
{
    for (size_t i = 0; i < s->dataplane_count; i++)
        if (!has_line(&s->dataplanes[i]))
            return false;
    return row->or_file && row != SETTING(statistics_password) && row != SETTING(etcd.password) &&
           row != SETTING(traces.headers) && s->dataplane_count > 0 && setting_is_given(s, row);
}

/* Where the value comes from. */
static void show_add_remark(struct buf *out, const struct settings *s, const struct setting *row, bool is_replaced)
{
    const char *path = row->or_file ? SETTING_MEMBER(const struct secret, row, s).path : NULL;
    if (is_unused(s, row))
        buf_add(out, "not used: each URL has its line in the credentials file");
    else if (path != NULL)
        buf_printf(out, "from the file %s", path);
    else if (is_replaced)
        buf_add(out, "not used beside INGRESS_SERVICES");
    else if (setting_is_given(s, row))
        buf_add(out, "from the environment");
    else if (s->beside_mode && row->alias_fallback != NULL)
        buf_add(out, "default beside MODE");
    else
        buf_printf(out, "default%s%s", row->fallback == NULL ? ": " : "", row->fallback == NULL ? row->unset : "");
}

static void show_add_dataplanes(struct buf *out, const struct settings *c)
{
    for (size_t i = 0; i < c->dataplane_count; i++) {
        const struct settings_dataplane *d = &c->dataplanes[i];
        buf_printf(out, "# HAProxy %s: ", d->url);
        if (secret_is_set(&d->token))
            buf_add(out, "token " NOT_SHOWN);
        else if (secret_is_set(&d->username))
            buf_printf(out, "user name %s, password " NOT_SHOWN, d->username.value != NULL ? d->username.value : "");
        else
            buf_add(out, "no credentials");
        if (has_line(d))
            buf_printf(out, " by its line in %s", d->token.path);
        else if (secret_is_set(&d->token) || secret_is_set(&d->username))
            buf_printf(out, " by %s",
                       secret_is_set(&d->token) ? "HAPROXY_DATAPLANE_TOKEN"
                                                : "HAPROXY_DATAPLANE_USERNAME and _PASSWORD");
        buf_add(out, "\n");
    }
}

static void show_add_backends(struct buf *out, const struct settings *c)
{
    for (size_t i = 0; i < c->mapping_count; i++) {
        const struct settings_mapping *m = &c->mappings[i];
        buf_printf(out, "# backend %s: Service %s/%s", m->backend, m->namespace, m->service);
        if (m->port != NULL)
            buf_printf(out, ", port %s", m->port);
        if (c->backend_port != 0)
            buf_printf(out, ", servers on port %u", (unsigned)c->backend_port);
        else if (m->port == NULL)
            buf_add(out, ", its only port");
        buf_add(out, "\n");
    }
}

void settings_print(const struct settings *s, struct buf *out)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        bool is_replaced = row->single && s->ingress_services != NULL;
        buf_printf(out, "%s=", row->name);
        if (!is_replaced)
            row->type->print(row, s, out);
        buf_add(out, "  # ");
        show_add_remark(out, s, row, is_replaced);
        buf_add(out, "\n");
    }
    show_add_dataplanes(out, s);
    show_add_backends(out, s);
}

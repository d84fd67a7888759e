#include "settings/show.h"

#include "base/str.h"
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

/* The flag that gave it; NULL: none. */
static const char *show_flag(const struct settings_show *how, const struct setting *row)
{
    for (size_t i = 0; i < how->flag_count; i++)
        if (str_eq(how->flags[i].name, row->name) || str_eq(how->flags[i].name, row->alias))
            return how->flags[i].word;
    return NULL;
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

/* The default, or what is no more than that; both by what is shown of them. */
static bool show_is_default(const struct settings *s, const struct setting *row)
{
    cleanup(buf_fini) struct buf is = {0}, usual = {0}, note = {0};
    struct settings by_default = {0};
    row->type->print(row, s, &is);
    if (!setting_is_given(s, row) && !(s->beside_mode && row->alias_fallback != NULL))
        return true;
    if (row->fallback == NULL || row->type->parse == NULL)
        return is.len == 0;
    if (row->type->parse(row, row->fallback, &by_default, &note) == 0)
        row->type->print(row, &by_default, &usual);
    if (row->type->fini != NULL)
        row->type->fini(row, &by_default);
    return str_eq(buf_str(&is), buf_str(&usual));
}

void settings_print_as(const struct settings *s, const struct settings_show *how, struct buf *out)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        bool is_replaced = row->single && s->ingress_services != NULL;
        if (how->changed && (is_replaced || show_is_default(s, row)))
            continue;
        buf_printf(out, "%s=", row->name);
        if (!is_replaced)
            row->type->print(row, s, out);
        buf_add(out, "  # ");
        /* Where the value comes from. */
        const char *flag = show_flag(how, row);
        const char *path = row->or_file ? SETTING_MEMBER(const struct secret, row, s).path : NULL;
        if (is_unused(s, row))
            buf_add(out, "not used: each URL has its line in the credentials file");
        else if (path != NULL)
            buf_printf(out, "from the file %s", path);
        else if (is_replaced)
            buf_add(out, "not used beside INGRESS_SERVICES");
        else if (flag != NULL)
            buf_printf(out, "by %s", flag);
        else if (setting_is_given(s, row))
            buf_add(out, "from the environment");
        else if (s->beside_mode && row->alias_fallback != NULL)
            buf_add(out, "default beside MODE");
        else
            buf_printf(out, "default%s%s", row->fallback == NULL ? ": " : "", row->fallback == NULL ? row->unset : "");
        buf_add(out, "\n");
    }
    if (how->changed && out->len == 0)
        buf_add(out, "# all settings are at their defaults\n");
    if (how->changed)
        return;
    show_add_dataplanes(out, s);
    for (size_t i = 0; i < s->mapping_count; i++) {
        const struct settings_mapping *m = &s->mappings[i];
        buf_printf(out, "# backend %s: Service %s/%s", m->backend, m->namespace, m->service);
        if (m->port != NULL)
            buf_printf(out, ", port %s", m->port);
        if (s->backend_port != 0)
            buf_printf(out, ", servers on port %u", (unsigned)s->backend_port);
        else if (m->port == NULL)
            buf_add(out, ", its only port");
        buf_add(out, "\n");
    }
}

void settings_print(const struct settings *s, struct buf *out)
{
    static const struct settings_show whole = {0};
    settings_print_as(s, &whole, out);
}

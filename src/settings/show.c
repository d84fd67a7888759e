#include "settings/show.h"

#include <ctype.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/page.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "settings/types.h"

#define NOT_SHOWN "***"
#define HELP_WIDTH 110
#define HELP_MARGIN 6

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
        const char *flag = NULL;
        for (size_t i = 0; flag == NULL && i < how->flag_count; i++)
            if (str_eq(how->flags[i].name, row->name) || str_eq(how->flags[i].name, row->alias))
                flag = how->flags[i].word;
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
            buf_add(out, "default with MODE");
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

/* ---- help settings ---- */

static void pages_add_paragraph(struct page *p, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s%s%s", word, word[0] != '\0' ? ": " : "", text);
    page_to(p, HELP_MARGIN);
    page_flow_line(p, INK_PLAIN, line);
}

static void pages_add_setting(struct page *p, const struct setting *row)
{
    page_printf(p, INK_PLAIN, "  %s%s%s%s", row->name, row->or_file ? " or " : "", row->or_file ? row->name : "",
                row->or_file ? "_FILE" : "");
    page_end_line(p);
    pages_add_paragraph(p, "", row->help);
    pages_add_paragraph(p, "expected", row->expected);
    pages_add_paragraph(p, row->fallback != NULL ? "default" : "not set",
                        row->fallback != NULL ? row->fallback : row->unset);
    if (row->alias != NULL || row->alias_fallback != NULL) {
        cleanup(mem_free_ptr) char *alias = setting_alias_text(row);
        pages_add_paragraph(p, "with MODE", alias);
    }
    if (row->flag != NULL && row->alias == NULL) {
        cleanup(mem_free_ptr) char *flag = mem_printf("--%s%s", row->flag, row->type == &type_flag ? "" : "=...");
        pages_add_paragraph(p, "flag", flag);
    }
}

static const char help_head[] =
    "Settings are environment variables. An empty one counts as not set. The start checks all of them, lists every\n"
    "problem and exits with status 78 if one is invalid. Some are flags, too, which are stronger. With MODE, the\n"
    "names of an operator for a haproxy.cfg in a Secret count, too, and each is a flag (MODE=k8s is --mode=k8s).\n"
    "\n";

void settings_print_help(struct buf *out)
{
    struct page p;
    page_init(&p, out, false, HELP_WIDTH);
    buf_add(out, help_head);
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        pages_add_setting(&p, row);
}

int settings_print_help_of(const char *name, struct buf *out, char **ret_nearest)
{
    struct page p;
    cleanup(nearest_fini) struct nearest n;
    cleanup(mem_free_ptr) char *upper = mem_strdup(name);
    for (char *at = upper; *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    page_init(&p, out, false, HELP_WIDTH);
    nearest_init(&n, upper);
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        if (str_eq(upper, row->name) || str_eq(upper, row->alias)) {
            pages_add_setting(&p, row);
            return 0;
        }
        nearest_add(&n, row->name, nearest_distance(&n, row->name));
    }
    *ret_nearest = nearest_text(&n);
    return -1;
}

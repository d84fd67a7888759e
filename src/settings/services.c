#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/parse.h"
#include "settings/names.h"
#include "settings/table.h"
#include "settings/types.h"

#define PREFIX_MAX 128
#define CLUSTER_NAME_MAX 63
#define PORT_RANGES_MAX 64

/* One entry of INGRESS_SERVICES. */
struct entry {
    size_t number;    /* from 1 */
    const char *text; /* borrowed while it is parsed */
    bool own_backend; /* it names one */
};

static int services_parse_list(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    size_t count = 0;
    const char *rest = value;
    (void)row;
    for (char *entry; (entry = value_next_entry(&rest)) != NULL; count++)
        free(entry);
    /* No entry holds what makes it delicate, and its parts could not be shown. */
    if (finding_is_delicate(value))
        return -1;
    if (count == 0 || count > SETTINGS_MAPPINGS_MAX) {
        buf_printf(note, "it has %zu", count);
        return -1;
    }
    s->ingress_services = mem_strdup(value);
    return 0;
}

void settings_print_mappings(const struct settings *s, struct buf *out)
{
    for (size_t i = 0; i < s->mapping_count; i++) {
        const struct settings_mapping *m = &s->mappings[i];
        buf_printf(out, "%s%s/%s%s%s=%s", i > 0 ? ", " : "", m->namespace, m->service, m->port != NULL ? ":" : "",
                   m->port != NULL ? m->port : "", m->backend);
    }
}

static void services_print_list(const struct setting *row, const struct settings *s, struct buf *out)
{
    (void)row;
    if (s->ingress_services != NULL)
        settings_print_mappings(s, out);
}

static void services_fini(const struct setting *row, struct settings *s)
{
    (void)row;
    for (size_t i = 0; i < s->mapping_count; i++) {
        struct settings_mapping *m = &s->mappings[i];
        mem_free_all(m->namespace, m->service, m->port, m->backend);
    }
    mem_free_all(s->mappings, s->ingress_services);
}

const struct setting_type type_services = {services_parse_list, services_print_list, services_fini};

/* ---- CONFIG_KEEP_BACKENDS, CONFIG_CERTS_SECRETS, SERVICES_NAMESPACES, SERVICES_ADDRESSES, SERVICES_SECRET_NAMESPACES, SHARED_HOSTS, TRUSTED_PROXIES,
 * HAPROXY_CHECK_FILES ---- */

static int check_network(const char *text)
{
    const char *slash = strchr(text, '/');
    cleanup(mem_free_ptr) char *address = slash != NULL ? mem_strndup(text, (size_t)(slash - text)) : mem_strdup(text);
    uint64_t bits;
    if (str_ip_family(address) == 0)
        return -1;
    return slash == NULL ? 0 : str_parse_uint(slash + 1, strchr(address, ':') != NULL ? 128 : 32, &bits);
}

static int names_check(const struct setting *row, const char *name, struct buf *note)
{
    if (row == SETTING(local.check_files))
        return check_absolute_path(name, note);
    if (row == SETTING(services_secret_namespaces) || row == SETTING(services_namespaces))
        return name_check_label(name, note);
    if (row == SETTING(services_addresses))
        return str_eq(name, "*") || str_ip_family(name) != 0 ? 0 : -1;
    if (row == SETTING(trusted_proxies))
        return check_network(name);
    if (row == SETTING(shared_hosts) && str_eq(name, "*"))
        return 0;
    if (row == SETTING(shared_hosts) && str_has_prefix(name, "*."))
        name += strlen("*.");
    return row == SETTING(config_keep_backends) ? name_check_backend(name, note) : name_check_subdomain(name, note);
}

static int names_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct settings_names *ret = &SETTING_MEMBER(struct settings_names, row, s);
    ret->list = mem_array(SETTINGS_MAPPINGS_MAX, sizeof(ret->list[0]));
    for (char *name; (name = value_next_entry(&value)) != NULL;) {
        bool bad = names_check(row, name, note) != 0 || ret->count == SETTINGS_MAPPINGS_MAX;
        for (size_t i = 0; !bad && i < ret->count; i++)
            bad = str_eq(ret->list[i], name);
        if (bad) {
            free(name);
            return -1;
        }
        ret->list[ret->count++] = name;
    }
    return ret->count > 0 ? 0 : -1;
}

void names_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const struct settings_names *names = &SETTING_MEMBER(const struct settings_names, row, s);
    for (size_t i = 0; i < names->count; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", names->list[i]);
}

void names_fini(const struct setting *row, struct settings *s)
{
    struct settings_names *names = &SETTING_MEMBER(struct settings_names, row, s);
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
}

const struct setting_type type_names = {names_parse, names_print, names_fini};

/* ---- ANNOTATION_PREFIX, CLUSTER_NAME, SERVICES_PORTS ---- */

/* A qualified name's beginning, as annotations have it: a part before a slash, and behind it what PORTNAME.OPTION follows. */
int check_annotation_prefix(const char *s, struct buf *note)
{
    const char *slash = strchr(s, '/');
    size_t len = strlen(s);
    (void)note;
    return len <= PREFIX_MAX && name_made_of(s, NAME_ALNUM "-_./") && strchr("-_./", s[0]) == NULL &&
                   strchr("._/", s[len - 1]) == NULL && (slash == NULL || strchr(slash + 1, '/') == NULL)
               ? 0
               : -1;
}

int check_cluster_name(const char *s, struct buf *note)
{
    (void)note;
    return strlen(s) <= CLUSTER_NAME_MAX && name_made_of(s, NAME_ALNUM "-.") ? 0 : -1;
}

/* "8000-8999", or one port. */
static int ports_parse_range(const char *text, struct port_range *ret)
{
    uint64_t from, to;
    const char *dash = strchr(text, '-');
    cleanup(mem_free_ptr) char *first = dash != NULL ? mem_strndup(text, (size_t)(dash - text)) : mem_strdup(text);
    if (str_parse_uint(first, UINT16_MAX, &from) != 0 ||
        str_parse_uint(dash != NULL ? dash + 1 : first, UINT16_MAX, &to) != 0 || from == 0 || from > to)
        return -1;
    *ret = (struct port_range){(uint16_t)from, (uint16_t)to};
    return 0;
}

static int ports_parse(const struct setting *row, const char *value, struct settings *s, struct buf *note)
{
    struct settings_ports *ret = &SETTING_MEMBER(struct settings_ports, row, s);
    (void)note;
    ret->list = mem_array(PORT_RANGES_MAX, sizeof(ret->list[0]));
    for (char *range; (range = value_next_entry(&value)) != NULL;) {
        bool good = ret->count < PORT_RANGES_MAX && ports_parse_range(range, &ret->list[ret->count]) == 0;
        free(range);
        if (!good)
            return -1;
        ret->count++;
    }
    return ret->count > 0 ? 0 : -1;
}

static void ports_print(const struct setting *row, const struct settings *s, struct buf *out)
{
    const struct settings_ports *ports = &SETTING_MEMBER(const struct settings_ports, row, s);
    for (size_t i = 0; i < ports->count; i++) {
        buf_printf(out, "%s%u", i > 0 ? "," : "", ports->list[i].from);
        if (ports->list[i].to != ports->list[i].from)
            buf_printf(out, "-%u", ports->list[i].to);
    }
}

static void ports_fini(const struct setting *row, struct settings *s)
{
    free(SETTING_MEMBER(struct settings_ports, row, s).list);
}

const struct setting_type type_ports = {ports_parse, ports_print, ports_fini};

/* ---- INGRESS_SERVICES ---- */

static void services_refuse(const struct entry *e, const char *expected, const char *note,
                            struct settings_findings *found)
{
    cleanup(mem_free_ptr) char *shown = finding_quoted(e->text);
    finding_error(found, "INGRESS_SERVICES, entry %zu, %s: expected %s%s%s", e->number, shown, expected,
                  str_empty(note) ? "" : "; ", note);
}

/* A copy of part where it is what the row takes; otherwise NULL, reported. */
static char *services_take_part(const struct entry *e, const char *part, const char *where, const struct setting *row,
                                int (*check)(const char *, struct buf *), struct settings_findings *found)
{
    cleanup(buf_fini) struct buf note = {0};
    if (check(part, &note) == 0)
        return mem_strdup(part);
    cleanup(mem_free_ptr) char *expected = mem_printf("%s %s", row->expected, where);
    services_refuse(e, expected, part[0] == '\0' ? "there is nothing" : buf_str(&note), found);
    return NULL;
}

/* Cuts text at the first c; what stands behind it, or NULL. */
static char *cut(char *text, char c)
{
    char *at = strchr(text, c);
    if (at != NULL)
        *at++ = '\0';
    return at;
}

static void services_parse_entry(struct entry *e, struct settings_mapping *m, struct settings_findings *found)
{
    cleanup(mem_free_ptr) char *text = mem_strdup(e->text);
    char *backend = cut(text, '='), *name = cut(text, '/'), *namespace = name != NULL ? text : NULL;
    if (name == NULL)
        name = text;
    char *port = cut(name, ':');
    e->own_backend = backend != NULL;
    if (namespace == NULL)
        services_refuse(e, "namespace/service[:port][=backend]",
                        name[0] == '\0' ? "there is no white space around ':' and '='" : "the namespace is missing",
                        found);
    else
        m->namespace =
            services_take_part(e, namespace, "before the '/'", SETTING(ingress_namespace), name_check_label, found);
    if (namespace != NULL || name[0] != '\0')
        m->service = services_take_part(e, name, "after the '/'", SETTING(ingress_service), name_check_label, found);
    if (port != NULL)
        m->port = services_take_part(e, port, "after the ':'", SETTING(ingress_port), name_check_port, found);
    if (backend != NULL)
        m->backend = services_take_part(e, backend, "after the '='", SETTING(backend_name), name_check_backend, found);
    else
        m->backend = mem_strdup(m->service);
}

static void services_parse_entries(struct settings *c, struct settings_findings *found)
{
    struct entry entries[SETTINGS_MAPPINGS_MAX];
    const char *rest = c->ingress_services;
    c->mappings = mem_array(SETTINGS_MAPPINGS_MAX, sizeof(c->mappings[0]));
    while (c->mapping_count < SETTINGS_MAPPINGS_MAX) {
        cleanup(mem_free_ptr) char *text = value_next_entry(&rest);
        if (text == NULL)
            return;
        size_t i = c->mapping_count++;
        entries[i] = (struct entry){.number = i + 1, .text = text};
        services_parse_entry(&entries[i], &c->mappings[i], found);
        const char *backend = c->mappings[i].backend;
        size_t k = 0;
        while (k < i && (backend == NULL || !str_eq(backend, c->mappings[k].backend)))
            k++;
        if (k < i) {
            bool add = !entries[i].own_backend || !entries[k].own_backend;
            cleanup(mem_free_ptr) char *note =
                mem_printf("%s is that of entry %zu%s", backend, entries[k].number,
                           add ? "; without =backend it has the name of the Service" : "");
            services_refuse(&entries[i], "a backend of its own", note, found);
        }
        entries[i].text = NULL;
    }
}

static void services_check_beside(const struct settings *c, struct settings_findings *found)
{
    cleanup(buf_fini) struct buf names = {0};
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        if (row->single && setting_is_given(c, row))
            buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", row->name);
    if (names.len > 0)
        finding_error(found,
                      "INGRESS_SERVICES is set beside %s: expected either the list or the variables for one Service",
                      buf_str(&names));
    if (setting_is_given(c, SETTING(backend_port)) && c->mapping_count > 1)
        finding_error(found,
                      "HAPROXY_BACKEND_PORT is set, but INGRESS_SERVICES has %zu entries: expected no fixed port for "
                      "several backends, because their Services have the ports",
                      c->mapping_count);
}

void services_parse(struct settings *c, struct settings_findings *found)
{
    if (c->backend_name == NULL)
        c->backend_name = mem_strdup(c->ingress_service);
    if (c->ingress_services != NULL)
        services_parse_entries(c, found);
    if (setting_is_given(c, SETTING(ingress_services))) {
        services_check_beside(c, found);
        return;
    }
    /* With a whole configuration, servers are managed only where one of the single variables is set. */
    bool single = c->config_source == SETTINGS_CONFIG_NONE;
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        single = single || (row->single && setting_is_given(c, row));
    if (!single)
        return;
    c->mappings = mem_array(1, sizeof(c->mappings[0]));
    c->mapping_count = 1;
    c->mappings[0] = (struct settings_mapping){.namespace = mem_strdup(c->ingress_namespace),
                                               .service = mem_strdup(c->ingress_service),
                                               .port = mem_strdup(c->ingress_port),
                                               .backend = mem_strdup(c->backend_name)};
}

bool settings_need_kubernetes(const struct settings *c)
{
    return c->mapping_count > 0 || c->leader_elect || c->config_source == SETTINGS_CONFIG_SECRET ||
           c->config_source == SETTINGS_CONFIG_TEMPLATE || c->config_source == SETTINGS_CONFIG_SERVICES;
}

const char *settings_first_namespace(const struct settings *c)
{
    return c->mapping_count > 0                 ? c->mappings[0].namespace
           : c->config_secret_namespace != NULL ? c->config_secret_namespace
           : c->template_from.namespace != NULL ? c->template_from.namespace
                                                : c->ingress_namespace;
}

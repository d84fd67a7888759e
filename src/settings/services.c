#include "settings/services.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/fields.h"
#include "settings/names.h"
#include "settings/report.h"
#include "settings/values.h"

static const char separators[] = ", \t\r\n";

/* One entry of INGRESS_SERVICES. */
struct entry {
    size_t number;    /* from 1 */
    const char *text; /* borrowed while it is parsed */
    bool own_backend; /* it names one */
};

/* The next entry from *rest on, which is moved behind it; NULL: none. Allocates. */
static char *next_entry(const char **rest)
{
    const char *start = *rest + strspn(*rest, separators);
    size_t len = strcspn(start, separators);
    *rest = start + len;
    return len > 0 ? mem_strndup(start, len) : NULL;
}

static size_t count_entries(const char *value)
{
    size_t count = 0;
    for (const char *p = value + strspn(value, separators); *p != '\0'; p += strspn(p, separators)) {
        p += strcspn(p, separators);
        count++;
    }
    return count;
}

int value_services(const char *value, struct settings *c, struct buf *note)
{
    size_t count = count_entries(value);
    /* No entry holds what makes it delicate, and its parts could not be shown. */
    if (report_is_delicate(value))
        return -1;
    if (count == 0 || count > SETTINGS_MAPPINGS_MAX) {
        buf_printf(note, "it has %zu", count);
        return -1;
    }
    free(c->ingress_services);
    c->ingress_services = mem_strdup(value);
    return 0;
}

static void refuse(const struct entry *e, const char *expected, const char *note, struct settings_report *report)
{
    cleanup(mem_free_ptr) char *shown = report_quoted(e->text);
    report_error(report, "INGRESS_SERVICES, entry %zu, %s: expected %s%s%s", e->number, shown, expected,
                 str_empty(note) ? "" : "; ", note);
}

/* A copy of part where it is what `field` takes; otherwise NULL, reported. */
static char *take_part(const struct entry *e, const char *part, const char *where, enum setting_id field,
                       int (*check)(const char *, struct buf *), struct settings_report *report)
{
    cleanup(buf_fini) struct buf note;
    buf_init(&note, 0);
    if (check(part, &note) == 0)
        return mem_strdup(part);
    cleanup(mem_free_ptr) char *expected = mem_printf("%s %s", setting(field)->expected, where);
    refuse(e, expected, part[0] == '\0' ? "there is nothing" : buf_str(&note), report);
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

static void parse_entry(struct entry *e, struct settings_mapping *m, struct settings_report *report)
{
    cleanup(mem_free_ptr) char *text = mem_strdup(e->text);
    char *backend = cut(text, '='), *name = cut(text, '/'), *namespace = name != NULL ? text : NULL;
    if (name == NULL)
        name = text;
    char *port = cut(name, ':');
    e->own_backend = backend != NULL;
    if (namespace == NULL)
        refuse(e, "namespace/service[:port][=backend]",
               name[0] == '\0' ? "there is no white space around ':' and '='" : "the namespace is missing", report);
    else
        m->namespace = take_part(e, namespace, "before the '/'", SETTINGS_INGRESS_NAMESPACE, name_check_label, report);
    if (namespace != NULL || name[0] != '\0')
        m->service = take_part(e, name, "behind the '/'", SETTINGS_INGRESS_SERVICE_NAME, name_check_label, report);
    if (port != NULL)
        m->port = take_part(e, port, "behind the ':'", SETTINGS_INGRESS_SERVICE_PORT, name_check_port, report);
    if (backend != NULL)
        m->backend = take_part(e, backend, "behind the '='", SETTINGS_BACKEND_NAME, name_check_backend, report);
    else
        m->backend = mem_strdup(m->service);
}

static void check_backend(const struct settings *c, const struct entry *entries, size_t i,
                          struct settings_report *report)
{
    const char *backend = c->mappings[i].backend;
    for (size_t k = 0; backend != NULL && k < i; k++) {
        if (!str_eq(backend, c->mappings[k].backend))
            continue;
        bool add = !entries[i].own_backend || !entries[k].own_backend;
        cleanup(mem_free_ptr) char *note = mem_printf("%s is that of entry %zu%s", backend, entries[k].number,
                                                      add ? "; without =backend it is called like the Service" : "");
        refuse(&entries[i], "a backend of its own", note, report);
        return;
    }
}

static void parse_entries(struct settings *c, struct settings_report *report)
{
    struct entry entries[SETTINGS_MAPPINGS_MAX];
    const char *rest = c->ingress_services;
    c->mappings = mem_array(SETTINGS_MAPPINGS_MAX, sizeof(c->mappings[0]));
    while (c->mapping_count < SETTINGS_MAPPINGS_MAX) {
        cleanup(mem_free_ptr) char *text = next_entry(&rest);
        if (text == NULL)
            return;
        size_t i = c->mapping_count++;
        entries[i] = (struct entry){.number = i + 1, .text = text};
        parse_entry(&entries[i], &c->mappings[i], report);
        check_backend(c, entries, i, report);
        entries[i].text = NULL;
    }
}

static void check_conflicts(const struct settings *c, struct settings_report *report)
{
    static const enum setting_id single[] = {SETTINGS_INGRESS_NAMESPACE, SETTINGS_INGRESS_SERVICE_NAME,
                                             SETTINGS_INGRESS_SERVICE_PORT, SETTINGS_BACKEND_NAME};
    cleanup(buf_fini) struct buf names;
    buf_init(&names, 0);
    for (size_t i = 0; i < array_len(single); i++)
        if (settings_is_given(c, single[i]))
            buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", setting(single[i])->name);
    if (names.len > 0)
        report_error(report,
                     "INGRESS_SERVICES is set beside %s: expected either the list or the variables for one Service",
                     buf_str(&names));
    if (settings_is_given(c, SETTINGS_BACKEND_PORT) && c->mapping_count > 1)
        report_error(report,
                     "HAPROXY_BACKEND_PORT is set, but INGRESS_SERVICES has %zu entries: expected no fixed port for "
                     "several backends, whose ports the Services say",
                     c->mapping_count);
}

static void take_single(struct settings *c)
{
    c->mappings = mem_array(1, sizeof(c->mappings[0]));
    c->mapping_count = 1;
    c->mappings[0] = (struct settings_mapping){.namespace = mem_strdup(c->ingress_namespace),
                                               .service = mem_strdup(c->ingress_service),
                                               .port = mem_strdup(c->ingress_port),
                                               .backend = mem_strdup(c->backend_name)};
}

void services_parse(struct settings *c, struct settings_report *report)
{
    if (c->backend_name == NULL)
        c->backend_name = mem_strdup(c->ingress_service);
    if (c->ingress_services != NULL)
        parse_entries(c, report);
    if (settings_is_given(c, SETTINGS_INGRESS_SERVICES))
        check_conflicts(c, report);
    else
        take_single(c);
}

void services_fini(struct settings *c)
{
    for (size_t i = 0; i < c->mapping_count; i++) {
        struct settings_mapping *m = &c->mappings[i];
        free(m->namespace);
        free(m->service);
        free(m->port);
        free(m->backend);
    }
    free(c->mappings);
}
